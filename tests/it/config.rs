//! `config.example.toml` against the defaults, and the exact error messages for invalid configurations.

use std::path::{Path, PathBuf};
use std::process::Command;

use knightwatch::config::{Settings, Sources};
use knightwatch::lichess::model::Variant;

const EXAMPLE: &str = include_str!("../../config.example.toml");

fn load(file: &Path) -> Result<Settings, String> {
    let sources = Sources {
        file: Some(file.to_owned()),
        environment: [
            (
                "CREDENTIALS_DIRECTORY".to_owned(),
                "/run/credentials".to_owned(),
            ),
            ("HOME".to_owned(), "/home/me".to_owned()),
        ]
        .into(),
        set: Vec::new(),
        ..Sources::default()
    };
    Settings::load(&sources).map_err(|error| error.to_string())
}

fn load_text(text: &str) -> Result<Settings, String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config.toml");
    std::fs::write(&file, text).unwrap();
    load(&file).map(|settings| Settings {
        file: None,
        ..settings
    })
}

/// Commented keys: each line `#key = value` below the heading of its section.
fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut section = "";
    let mut in_rule = false;
    EXAMPLE.lines().filter_map(move |line| {
        if line.starts_with('[') {
            section = line;
        }
        in_rule = line.starts_with('#') && (in_rule || line.starts_with("#[["));
        let example = line
            .strip_prefix('#')
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))?;
        (!in_rule).then_some((section, example))
    })
}

/// Commented tables: the lines after each `#[[name]]`.
fn tables(name: &str) -> Vec<String> {
    let heading = format!("[[{name}]]\n");
    let before = format!("\n#{heading}");
    let texts = EXAMPLE.split(&before).skip(1);
    let table = |text: &str| {
        let lines = text.lines().map_while(|line| line.strip_prefix('#'));
        let keys = lines.take_while(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        keys.fold(heading.clone(), |table, key| table + key + "\n")
    };
    texts.map(table).collect()
}

#[test]
fn config_example_equals_defaults() {
    assert_eq!(load_text(EXAMPLE), Ok(Settings::default()));
}

#[test]
fn config_example_has_every_key() {
    let example: toml::Table = EXAMPLE.parse().unwrap();
    let defaults = toml::Table::try_from(Settings::default()).unwrap();
    for (section, keys) in &defaults {
        for key in keys.as_table().unwrap().keys() {
            let there = example.get(section).and_then(|section| section.get(key));
            assert!(there.is_some(), "[{section}] {key} is missing");
        }
    }
    assert!(
        examples().any(|(section, line)| section == "[lichess]" && line.starts_with("token_file"))
    );
}

#[test]
fn config_example_explains_every_key() {
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    for pair in lines.windows(2) {
        let is_key =
            pair[1].starts_with(|c: char| c.is_ascii_lowercase()) || pair[1].starts_with('[');
        assert!(
            !is_key || pair[0].starts_with("# "),
            "nothing is said about `{}`",
            pair[1]
        );
    }
}

#[test]
fn config_example_commented_keys_are_valid() {
    assert!(examples().count() >= 5);
    for (section, example) in examples() {
        let settings =
            load_text(&format!("{section}\n{example}\n")).unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(
            settings,
            Settings::default(),
            "`{example}` only says the default"
        );
    }
}

#[test]
fn config_example_rules_are_valid() {
    let rules = tables("rule");
    assert!(rules.len() >= 4, "{rules:?}");
    let together = load_text(&rules.concat()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(together.rule.len(), rules.len());
    for rule in rules {
        load_text(&rule).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn config_example_profiles_are_valid() {
    let profiles = tables("matchmaking.profile");
    assert!(profiles.len() >= 2, "{profiles:?}");
    let text = "[matchmaking]\nenabled = true\n".to_owned() + &profiles.concat();
    let together = load_text(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(together.matchmaking.profile.len(), profiles.len());
}

#[test]
fn config_example_explains_every_rule_key() {
    let text = "[[rule]]\nx = 1\nmatch.x = 1\nlimit.x = 1\nplay.x = 1\n";
    assert_keys_explained("# Exceptions to [challenge]", text, 30);
}

#[test]
fn config_example_explains_every_profile_key() {
    let text = "[[matchmaking.profile]]\nx = 1\n";
    assert_keys_explained("# Whom to challenge, and to what", text, 7);
}

/// Asserts that the text after `heading` mentions each of the more than `min_keys` keys listed in the error for `written`.
fn assert_keys_explained(heading: &str, written: &str, min_keys: usize) {
    let (_, text) = EXAMPLE.split_once(heading).unwrap();
    let printed = load_error(written, &[], &[]);
    let lists = printed
        .lines()
        .filter_map(|line| line.strip_prefix("hint: keys of "));
    let keys: Vec<&str> = lists
        .flat_map(|list| list.split_once(": ").unwrap().1.split(", "))
        .collect();
    assert!(keys.len() > min_keys, "{printed}");
    for key in keys {
        let is_it = |word: &str| word == key;
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        assert!(words.any(is_it), "nothing is said about `{key}`");
    }
}

/// The error message of the program for a configuration file.
fn load_error(text: &str, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("bad.toml"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["run", "--config", "bad.toml"])
        .args(arguments)
        .current_dir(directory.path())
        .env_clear()
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn unknown_keys_list_valid_keys() {
    insta::assert_snapshot!(load_error(
        "[engin]\nhash_mib = 64\n\n[engine]\nhash = 64\nconcurrency = 2\nfrobnicate = 1\n",
        &[],
        &[]
    ));
}

#[test]
fn invalid_values_list_valid_values() {
    let text = "[challenge]\nspeeds = [\n  \"blitz\",\n  \"blizt\",\n  \"ultraBullet\",\n]\nrated = \"yes\"\nmin_rating = -5\n\n\
                [book]\nselection = \"randomly\"\nmin_weight = 70000\nfiles = \"one.bin\"\n\n[lichess]\nurl = \"lichess.org\"\nengine_url = \"x\"\n";
    insta::assert_snapshot!(load_error(text, &[], &[]));
}

#[test]
fn contradictions_are_reported() {
    let text = "[challenge]\nrated = false\ncasual = false\nvariants = []\nmin_base_s = 600\nmax_base_s = 300\n\n\
                [book]\nembedded = false\n\n[games]\nconcurrency = 0\n\n[chat]\ngreeting = \"Hello {name}!\"\n\n\
                [resign]\nenabled = true\nscore_cp = 5\n";
    insta::assert_snapshot!(load_error(text, &[], &[]));
}

#[test]
fn speed_without_matching_clock_is_contradiction() {
    insta::assert_snapshot!(load_error(
        "[challenge]\nspeeds = [\"bullet\"]\nmin_base_s = 600\n",
        &[],
        &[]
    ));
}

#[test]
fn play_as_outside_simulator_is_rejected() {
    let printed = load_error("[web]\nplay_as = \"Anna\"\n", &[], &[]);
    assert!(
        printed.contains("only with a simulator on this machine"),
        "{printed}"
    );
    let text = "[lichess]\nurl = \"http://127.0.0.1:1\"\n[web]\nplay_as = \"no name!\"\n";
    let printed = load_error(text, &[], &[]);
    assert!(
        printed.contains("`no name!` is not a user name"),
        "{printed}"
    );
}

#[test]
fn rules_are_checked_key_by_key() {
    let text = "[[rule]]\nmatch = { bots = true, speed = [\"bullet\", \"blizt\"], rating = \"high\", accept = true }\n\
                decline = \"toofast\"\nbot = true\nacept = true\n\n\
                [[rule]]\nmatch = \"everybody\"\nlimit = { per_day = -1 }\nplay = { strength = 900, skill = 3 }\n\n\
                [[rule]]\nmatch = { clock = \"3\", name = [], variant = \"bughouse\" }\npriority = 1.5\n\n\
                [[rule]]\nmatch = { hours = \"8-22\", engine = \"-\" }\nlimit = { per_user = \"2 a day\" }\n";
    insta::assert_snapshot!(load_error(text, &[], &[]));
}

#[test]
fn rule_contradictions_are_reported() {
    let text = "[[rule]]\nname = \"one\"\nmatch = { bot = true }\n\n\
                [[rule]]\nname = \"one\"\naccept = false\n\n\
                [[rule]]\naccept = true\ndecline = \"later\"\nplay = { book = false }\n\n\
                [[rule]]\nmatch = { tournament = true }\nlimit = {}\n\n\
                [[rule]]\nname = \"a\\nb\"\nmatch = { age_days = \"..3\" }\nplay = { max_depth = 0 }\n\n\
                [[rule]]\nmatch = { listed = true }\ndecline = \"later\"\n";
    insta::assert_snapshot!(load_error(text, &[], &[]));
}

#[test]
fn rule_with_unknown_book_is_rejected() {
    let text = "[book]\nfiles = [\"books/white.bin\"]\n\n\
                [[rule]]\nplay = { book = [\"white.bin\", \"black.bin\", \"default\"] }\n\n\
                [[rule]]\nplay = { book = 7 }\n";
    let printed = load_error(text, &[], &[]);
    for words in [
        "there is no book `black.bin`: a rule names some of those in book.files and book.variants, or the embedded one, default; \
         there are white.bin, default",
        "true, false, or the names of some of book.files",
    ] {
        assert!(printed.contains(words), "{printed}");
    }
    assert!(
        !printed.contains("no book `white.bin`") && !printed.contains("no book `default`"),
        "{printed}"
    );
}

#[test]
fn books_of_variants_are_read() {
    let text = "[book.variants]\natomic = [\"a.bin\", \"/b.bin\"]\nkingOfTheHill = \"~/hill.bin\"\n\n\
                [[rule]]\nmatch = { variant = \"atomic\" }\nplay = { book = [\"a.bin\", \"default\"] }\n";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config.toml");
    std::fs::write(&file, text).unwrap();
    let book = load(&file).unwrap().book;
    let files = |variant| -> Vec<PathBuf> { book.files_for(variant).map(Path::to_owned).collect() };
    let atomic = [directory.path().join("a.bin"), "/b.bin".into()];
    assert_eq!(files(Variant::Atomic), atomic);
    assert_eq!(
        files(Variant::KingOfTheHill),
        [Path::new("/home/me/hill.bin")]
    );
    assert!(files(Variant::Standard).is_empty());

    let wrong = |text: &str| load_text(text).unwrap_err();
    let unknown = wrong("[book]\nvariants = { atomc = [\"a.bin\"] }\n");
    assert!(unknown.contains("did you mean `atomic`?"), "{unknown}");
    let standard = wrong("[book]\nvariants = { standard = [\"a.bin\"] }\n");
    assert!(
        standard.contains("`standard` is not a valid value"),
        "{standard}"
    );
    for text in [
        "[book]\nvariants = { atomic = 5 }\n",
        "[book]\nvariants = 5\n",
    ] {
        let printed = wrong(text);
        assert!(
            printed.contains("as in { atomic = [\"atomic.bin\"] }"),
            "{printed}"
        );
    }
    // A rule for one variant names its books.
    let rule = "match = { variant = \"horde\" }\nplay = { book = \"a.bin\" }\n";
    let printed = wrong(&format!(
        "[book.variants]\natomic = \"a.bin\"\n\n[[rule]]\n{rule}"
    ));
    assert!(printed.contains("there is no book `a.bin`"), "{printed}");
}

#[test]
fn profiles_are_checked_key_by_key() {
    let text = "[matchmaking]\nenabled = true\nreserved_games = 100\nchallenge_timeout_s = 0\n\n\
                [[matchmaking.profile]]\nclok = \"3+2\"\nclock = [\"3+2\", \"3\"]\nrated = \"yes\"\nvariant = []\ncolor = \"blue\"\n\n\
                [[matchmaking.profile]]\nname = \"fast\"\nweight = 0\nclock = [\"0.25+0\", \"unlimited\", \"1.25+1\"]\n\n\
                [[matchmaking.profile]]\nclock = [\"3+2\", \"2d\"]\nvariant = [\"chess960\", \"fromPosition\"]\n";
    insta::assert_snapshot!(load_error(text, &[], &[]));
    insta::assert_snapshot!(load_error(
        "[matchmaking]\nprofile = 3\n",
        &[],
        &["--set", "matchmaking.profile=3+2"]
    ));
}

#[test]
fn rules_outside_file_are_rejected() {
    let environment = [("KNIGHTWATCH__RULE__ACCEPT", "true")];
    let arguments = ["--set", "rule.accept=true"];
    insta::assert_snapshot!(load_error("rule = 1\n", &environment, &arguments));
}

#[test]
fn misspelled_heading_gets_suggestion() {
    for (heading, meant) in [
        ("[[rules]]", "[[rule]]"),
        ("[[accounts]]", "[[account]]"),
        ("[game]", "[games]"),
        ("[[profile]]", "[[matchmaking.profile]]"),
    ] {
        let printed = load_error(&format!("{heading}\nname = \"x\"\n"), &[], &[]);
        assert!(
            printed.contains(&format!("did you mean `{meant}`?")),
            "{printed}"
        );
    }
    let printed = load_error("[weather]\nsun = true\n", &[], &[]);
    assert!(!printed.contains("did you mean"), "{printed}");
    for heading in [
        "[lichess]",
        "[[rule]]",
        "[[matchmaking.profile]]",
        "[[account]]",
    ] {
        assert!(printed.contains(heading), "{printed}");
    }
}

#[test]
fn invalid_value_is_quoted_as_written() {
    let printed = load_error("[engine]\nhash_mib = \"64\"\n", &[], &[]);
    assert!(
        printed.contains("`\"64\"` does not fit `hash_mib`"),
        "{printed}"
    );
    assert!(
        printed.contains("a whole number, 0 or more, without quotes"),
        "{printed}"
    );
    let printed = load_error(
        "[engine]\nponder = \"true\"\n[chat]\ngreeting = 7\n",
        &[],
        &[],
    );
    assert!(
        printed.contains("true or false, without quotes"),
        "{printed}"
    );
    assert!(printed.contains("`7` does not fit `greeting`"), "{printed}");
    let printed = load_error("", &[("KNIGHTWATCH__ENGINE__HASH_MIB", "a lot")], &[]);
    assert!(
        printed.contains("`a lot` does not fit") && !printed.contains("without quotes"),
        "{printed}"
    );
    let printed = load_error("", &[], &["--set", "engine.hash_mib=[1, 2]"]);
    assert!(printed.contains("`[1, 2]` does not fit"), "{printed}");
    let printed = load_error(
        "[engine]\nthreads = [2]\n[[rule]]\npriority = [7]\naccept = true\n",
        &[],
        &[],
    );
    assert!(
        printed.contains("`[2]` does not fit `threads`"),
        "{printed}"
    );
    assert!(
        printed.contains("`[7]` does not fit `priority`"),
        "{printed}"
    );
}

#[test]
fn excessive_concurrency_is_rejected() {
    let printed = load_error("games.concurrency = 100000\n", &[], &[]);
    assert!(printed.contains("the maximum is 1000"), "{printed}");
}

#[test]
fn yaml_configuration_is_recognized() {
    let text = "token: \"xxxxxxxx\"\nurl: \"https://lichess.org/\"\nengine:\n  dir: \"./engines/\"\n  name: \"x\"\n\
                challenge:\n  concurrency: 1\n  variants:\n    - standard\n";
    let printed = load_error(text, &[], &[]);
    assert!(
        printed.contains("is YAML; knightwatch reads TOML"),
        "{printed}"
    );
    assert_eq!(printed.matches("error: ").count(), 1, "{printed}");
    // A mistake in TOML is not YAML.
    let printed = load_error("[engine]\nhash_mib: 64\n", &[], &[]);
    assert!(!printed.contains("YAML"), "{printed}");
}

#[test]
fn table_in_environment_and_arguments_is_read() {
    let sources = |environment: &[(&str, &str)], set: &[(&str, &str)]| Sources {
        file: None,
        environment: environment.iter().copied().map(to_owned_pair).collect(),
        set: set.iter().copied().map(to_owned_pair).collect(),
        superuser: false,
    };
    fn to_owned_pair((name, value): (&str, &str)) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }
    let by_environment = sources(&[("KNIGHTWATCH__ENGINE__STRENGTH", "{ elo = 1500 }")], &[]);
    let by_argument = sources(&[], &[("engine.strength", "{elo=1500}")]);
    for sources in [by_environment, by_argument] {
        let settings = Settings::load(&sources).unwrap();
        assert_eq!(settings.engine.strength.to_string(), "at 1500 Elo");
    }
    let wrong = sources(&[], &[("engine.strength", "{ elo = 15 }")]);
    let error = Settings::load(&wrong).unwrap_err().to_string();
    assert!(
        error.contains("`{ elo = 15 }` does not fit") && error.contains("1000 to 2800"),
        "{error}"
    );
}

#[test]
fn suspicious_settings_warn() {
    let sources = Sources {
        file: None,
        environment: [("KNIGHTWATCH_ENGINE_HASH_MIB".to_owned(), "32".to_owned())].into(),
        set: vec![
            ("matchmaking.enabled".to_owned(), "true".to_owned()),
            ("challenge.bots".to_owned(), "false".to_owned()),
        ],
        superuser: false,
    };
    let settings = Settings::load(&sources).unwrap();
    let [variable, one_way] = &settings.warnings[..] else {
        panic!("{:?}", settings.warnings);
    };
    assert!(
        variable.contains(
            "KNIGHTWATCH_ENGINE_HASH_MIB sets nothing: write KNIGHTWATCH__ENGINE__HASH_MIB"
        ),
        "{variable}"
    );
    assert!(one_way.contains("bots = true"), "{one_way}");
    let fair = load_text("matchmaking.enabled = true\n").unwrap();
    assert_eq!(fair.warnings, [""; 0]);
}

#[test]
fn addresses_are_accepted_as_ids() {
    let text = "[tournaments]\njoin = [\"https://lichess.org/tournament/may24bot\"]\n\
                teams = [\"https://lichess.org/team/our-team\"]\n\
                [challenge]\nblock = [\"https://lichess.org/@/Rival\"]\n\
                [[rule]]\nmatch = { name = \"lichess.org/@/Anna\" }\naccept = true\n";
    let plain = "[tournaments]\njoin = [\"may24bot\"]\nteams = [\"our-team\"]\n\
                 [challenge]\nblock = [\"Rival\"]\n\
                 [[rule]]\nmatch = { name = \"Anna\" }\naccept = true\n";
    assert_eq!(load_text(text), load_text(plain));
}

#[test]
fn effective_settings_are_printed_with_source() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config.toml");
    std::fs::write(
        &file,
        "[engine]\nhash_mib = 32\n[tournaments]\nteams = [\"our-team\"]\npassword = \"secret\"\n",
    )
    .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["config", "--set", "games.concurrency=3", "--config"])
        .arg(&file)
        .env("KNIGHTWATCH__ENGINE__THREADS", "2")
        .env("LICHESS_TOKEN", "lip_verysecret")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let from = |setting: &str| {
        let line = text.lines().find(|line| line.starts_with(setting));
        line.and_then(|line| line.rsplit_once("  # "))
            .unwrap_or_else(|| panic!("{text}"))
            .1
    };
    assert!(from("hash_mib = 32").ends_with("config.toml:2"), "{text}");
    assert_eq!(
        from("threads = 2"),
        "environment variable KNIGHTWATCH__ENGINE__THREADS"
    );
    assert_eq!(from("concurrency = 3"), "--set");
    assert_eq!(from("move_overhead_ms = 50"), "default");
    assert!(
        text.contains("the token: in the environment variable LICHESS_TOKEN"),
        "{text}"
    );
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn syntax_errors_show_place() {
    insta::assert_snapshot!(load_error(
        "[engine]\nhash_mib = \nthreads = 1\n\n[book\nenabled = maybe\n\n[draw]\nofer = true\n",
        &[],
        &[]
    ));
}

#[test]
fn token_in_config_is_rejected_and_masked() {
    let printed = load_error(
        "[lichess]\ntoken = \"lip_verysecret\"\ntoken_fil = \"lip_alsosecret\"\n",
        &[("KNIGHTWATCH__LICHESS__TOKEN", "lip_mostsecret")],
        &[],
    );
    assert!(!printed.contains("secret"), "{printed}");
    insta::assert_snapshot!(printed);
}

#[test]
fn two_tokens_are_rejected() {
    insta::assert_snapshot!(load_error(
        "lichess = { token_file = \"/etc/token\" }\n",
        &[("LICHESS_TOKEN", "lip_me")],
        &[]
    ));
}

#[test]
fn accounts_are_checked_key_by_key() {
    let text = "lichess = { token_file = \"token\" }\n\
                [[account]]\nname = \"one\"\ntoken_file = \"one\"\nengine = { hash_mib = 1 }\nchallange = {}\n\
                token = \"lip_x\"\nrated = false\n\n\
                [[account]]\nname = \"two\"\ntoken_file = 2\nchat = { greting = \"Hi\" }\n\
                [[account.rule]]\nmatch = { bots = true }\naccept = true\n\n\
                [[account]]\nname = \"ONE\"\ntoken_file = \"three\"\ngames = { concurrency = 0 }\n\n\
                [[account]]\nname = \"f o\"\n\n[[account]]\ntoken_file = \"five\"\n\n\
                [[account]]\nname = \"six\"\ntoken_file = \"six\"\ndraw = { max_win_percent = 50 }\n";
    insta::assert_snapshot!(load_error(text, &[("LICHESS_TOKEN_SIX", "lip_six")], &[]));
    insta::assert_snapshot!(load_error(
        "account = 1\n",
        &[("KNIGHTWATCH__ACCOUNT__NAME", "one")],
        &["--set", "account.name=one"]
    ));
}

#[test]
fn config_example_accounts_are_valid() {
    let accounts = tables("account");
    assert!(accounts.len() >= 2, "{accounts:?}");
    let together = load_text(&accounts.concat()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(together.account.len(), accounts.len());
}

#[test]
fn account_settings_override_common_settings() {
    let text = "chat.greeting = \"Hi\"\ngames.concurrency = 3\n\
                [[rule]]\nname = \"all\"\nmatch = { bot = true }\naccept = true\n\
                [[account]]\nname = \"Anna\"\ntoken_file = \"anna\"\n\
                [account.chat]\nfarewell = \"Bye\"\n\
                [[account.rule]]\nname = \"own\"\nmatch = { bot = false }\ndecline = \"later\"\n\
                [[account]]\nname = \"Bert\"\ntoken_file = \"bert\"\ngames = { concurrency = 1 }\n";
    let settings = load_text(text).unwrap();
    let [anna, bert] = &settings.account[..] else {
        panic!("{:?}", settings.account);
    };
    let rules = |settings: &Settings| -> Vec<String> {
        settings.rule.iter().map(|rule| rule.name.clone()).collect()
    };
    assert_eq!(
        (rules(anna), rules(bert)),
        (
            vec!["own".to_owned(), "all".to_owned()],
            vec!["all".to_owned()]
        )
    );
    assert_eq!((&*anna.chat.greeting, &*anna.chat.farewell), ("Hi", "Bye"));
    assert_eq!(bert.chat.farewell, Settings::default().chat.farewell);
    assert_eq!((anna.games.concurrency, bert.games.concurrency), (3, 1));
    assert!(
        anna.is_own_account("bert") && !anna.is_own_account("anna") && anna.is_account_name("ANNA")
    );
    assert_eq!(anna.state_name(), "anna@lichess.org");
    assert_eq!(
        settings.clone().for_account(Some("BERT")).as_ref().ok(),
        Some(bert)
    );
    for (name, why) in [
        (None, "add --account NAME: Anna, Bert"),
        (Some("Cleo"), "no account `Cleo`"),
    ] {
        let error = settings.clone().for_account(name).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let alone = Settings::default();
    assert_eq!(alone.clone().for_account(None).ok(), Some(alone.clone()));
    assert_eq!(alone.state_name(), "lichess.org");
    let changed = load_text(&text.replace("Bert", "Cleo")).unwrap();
    let changes: Vec<String> = settings
        .changes(&changed)
        .iter()
        .map(ToString::to_string)
        .collect();
    for change in ["account `Bert`: is gone", "account `Cleo`: is new"] {
        assert!(changes.iter().any(|shown| shown == change), "{changes:?}");
    }
}

#[test]
fn contradiction_that_every_account_overrides_is_accepted() {
    let text = "matchmaking.enabled = true\ngames = { concurrency = 1, reserved_for_humans = 1 }\n\
                [[account]]\nname = \"Anna\"\ntoken_file = \"anna\"\ngames.reserved_for_humans = 0\n\
                [[account]]\nname = \"Bert\"\ntoken_file = \"bert\"\n";
    let error = load_text(text).unwrap_err();
    assert_eq!(
        error.matches("all slots are reserved").count(),
        1,
        "{error}"
    );
    let settings = load_text(&format!("{text}matchmaking.enabled = false\n")).unwrap();
    assert_eq!(settings.account.len(), 2);
}

#[test]
fn environment_and_arguments_are_checked() {
    let environment = [
        ("KNIGHTWATCH__ENGINE__HASH_MIB", "lots"),
        ("KNIGHTWATCH__GAME__CONCURRENCY", "1"),
        ("KNIGHTWATCH__HASH", "1"),
        ("KNIGHTWATCH__CHALLENGE__SPEEDS", "blitz,blizt"),
    ];
    let arguments = [
        "--set",
        "engine.threads=1000",
        "--set",
        "threads=1",
        "--set",
        "daemon.log_level=loud",
    ];
    insta::assert_snapshot!(load_error(
        "[engine]\nthreads = 2\n",
        &environment,
        &arguments
    ));
}

/// The output of `knightwatch config`.
fn effective_text(text: &str, set: &[(&str, &str)], account: Option<&str>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config.toml");
    std::fs::write(&file, text).unwrap();
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let sources = Sources {
        file: Some(file),
        environment: [("KNIGHTWATCH__ENGINE__THREADS".to_owned(), "3".to_owned())].into(),
        set: set.iter().map(owned).collect(),
        superuser: false,
    };
    knightwatch::config::effective_text(&sources, account).unwrap()
}

fn source_of(text: &str, setting: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(setting));
    let line = line.unwrap_or_else(|| panic!("{setting}: {text}"));
    let (_, place) = line.rsplit_once("  # ").unwrap();
    place.rsplit('/').next().unwrap().to_owned()
}

#[test]
fn effective_value_shows_its_layer() {
    let written = "[engine]\nhash_mib = 32\nthreads = 2\n[tournaments]\njoin = [\"may24bot:secret\"]\n\
                   [[rule]]\nmatch = { bot = true }\naccept = true\n[[matchmaking.profile]]\nweight = 3\n";
    let set = [
        ("games.concurrency", "7"),
        ("records.directory", "\"/var/games\""),
    ];
    let text = effective_text(written, &set, None);
    for (setting, from) in [
        ("directory = \"/var/games\" ", "--set"),
        ("hash_mib = 32 ", "config.toml:2"),
        (
            "threads = 3 ",
            "environment variable KNIGHTWATCH__ENGINE__THREADS",
        ),
        ("concurrency = 7 ", "--set"),
        ("move_overhead_ms = 50 ", "default"),
        ("join = [\"may24bot:***\"]", "config.toml:5"),
        ("[[rule]]", "config.toml:6"),
        ("[[matchmaking.profile]]", "config.toml:9"),
    ] {
        assert_eq!(source_of(&text, setting), from, "{setting}");
    }
    assert!(text.contains("\naccept = true\n"), "{text}");
    assert!(text.contains("# the token: there is none"), "{text}");
    assert!(!text.contains("secret"), "{text}");
    // It is a configuration, too.
    let read = Settings::from_text(text.clone(), &Sources::default());
    assert!(read.is_ok(), "{text}\n{}", read.unwrap_err());
}

#[test]
fn effective_settings_of_account_include_overrides() {
    let written = "challenge.rated = false\n[[rule]]\nmatch = { bot = true }\naccept = true\n\
                   [[account]]\nname = \"Anna\"\ntoken_file = \"a\"\nchallenge.rated = true\n\
                   [[account.rule]]\nmatch = { bot = false }\naccept = true\n\
                   [[account]]\nname = \"Bert\"\ntoken_file = \"b\"\n";
    let all = effective_text(written, &[], None);
    assert_eq!(source_of(&all, "rated = false"), "config.toml:1");
    assert_eq!(source_of(&all, "challenge.rated = true"), "config.toml:8");
    let anna = effective_text(written, &[], Some("anna"));
    assert_eq!(source_of(&anna, "rated = true"), "config.toml:8");
    let rules: Vec<&str> = anna
        .lines()
        .filter(|line| line.starts_with("[[rule]]"))
        .collect();
    let lines: Vec<&str> = rules
        .iter()
        .filter_map(|rule| rule.rsplit(':').next())
        .collect();
    assert_eq!(lines, ["9", "2"], "{anna}");
    let bert = effective_text(written, &[], Some("https://lichess.org/@/Bert"));
    assert_eq!(source_of(&bert, "rated = false"), "config.toml:1");
}

#[test]
fn many_problems_are_truncated() {
    let text: String = (0..12_000).map(|n| format!("wrong{n} = 1\n")).collect();
    let printed = load_error(&text, &[], &[]);
    assert_eq!(printed.matches("error: ").count(), 20, "{printed}");
    assert!(
        printed.contains("wrong0") && printed.contains("wrong19"),
        "{printed}"
    );
    assert!(
        printed.contains("11980 more problems are not shown"),
        "{printed}"
    );
    assert!(!printed.contains("are missing here"), "{printed}");
}
