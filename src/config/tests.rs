use crate::lichess::model::Speed;
use std::path::Path;

use super::*;

fn sources(file: &Path) -> Sources {
    Sources {
        file: Some(file.to_owned()),
        ..Sources::default()
    }
}

fn written(text: &str) -> (tempfile::TempDir, Sources) {
    let directory = tempfile::tempdir().expect("a directory for temporary files");
    let file = directory.path().join("config.toml");
    std::fs::write(&file, text).expect("a writable directory");
    let sources = sources(&file);
    (directory, sources)
}

fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    variables.iter().map(owned).collect()
}

#[test]
fn later_layer_overrides_earlier() {
    let (_directory, mut sources) =
        written("[engine]\nhash_mib = 1\nthreads = 1\nmove_overhead_ms = 1\n");
    sources.environment = environment(&[
        ("KNIGHTWATCH__ENGINE__THREADS", "2"),
        ("KNIGHTWATCH__ENGINE__MOVE_OVERHEAD_MS", "2"),
        ("KNIGHTWATCH__CHALLENGE__SPEEDS", "blitz,rapid"),
    ]);
    sources.set = vec![("engine.move_overhead_ms".to_owned(), "3".to_owned())];
    let settings = Settings::load(&sources).expect("valid settings");
    let engine = &settings.engine;
    assert_eq!(
        (engine.hash_mib, engine.threads, engine.move_overhead_ms),
        (1, 2, 3)
    );
    assert_eq!(settings.challenge.speeds, [Speed::Blitz, Speed::Rapid]);
    assert_eq!(settings.games, Games::default());
}

#[test]
fn later_layer_replaces_tables_as_a_whole() {
    let (_directory, mut sources) = written(
        "engine.strength = { elo = 1500, allow_rated = true }\nbook.variants = { atomic = 'a.bin' }\n",
    );
    let shown = effective_text(&sources, None).expect("valid settings");
    let line = shown.lines().find(|line| line.starts_with("strength"));
    assert!(
        line.is_some_and(|line| line.contains("config.toml")),
        "{shown}"
    );
    sources.set = vec![
        ("engine.strength".to_owned(), "{ elo = 1200 }".to_owned()),
        ("book.variants".to_owned(), "{}".to_owned()),
    ];
    let settings = Settings::load(&sources).expect("valid settings");
    assert!(!settings.engine.strength.allow_rated);
    assert_eq!(settings.book.variants, Book::default().variants);
    // Both together would be an error.
    sources.set[0].1 = "{ adaptive = true }".to_owned();
    assert!(Settings::load(&sources).is_ok());
}

#[test]
fn directory_of_service_is_that_of_all_accounts() {
    let account = Settings {
        file: Some(SERVICE_CONFIG.into()),
        ..Settings::default()
    };
    let settings = Settings {
        account: vec![account.clone()],
        ..account
    };
    let settings = settings.with_service_defaults();
    assert_eq!(settings.data_directories(), [Path::new(SERVICE_STATE)]);
    assert_eq!(
        settings.account[0].data_directories(),
        [Path::new(SERVICE_STATE)]
    );
    let other = Settings::default().with_service_defaults();
    assert_eq!(other, Settings::default());
}

#[test]
fn password_of_wrong_type_is_not_shown() {
    let (_directory, sources) = written("tournaments.password = 123456\n");
    let error = Settings::load(&sources).expect_err("a number").to_string();
    assert!(
        error.contains("the value does not fit `password`"),
        "{error}"
    );
    assert!(!error.contains("123456"), "{error}");
}

#[test]
fn socket_with_a_long_path_is_rejected() {
    let (_directory, sources) = written(&format!("daemon.socket = '/{}'\n", "s".repeat(107)));
    let error = Settings::load(&sources).expect_err("too long").to_string();
    assert!(error.contains("at most 107 bytes"), "{error}");
}

#[test]
fn text_of_chat_is_measured_in_utf16() {
    let (_directory, sources) = written(&format!("chat.greeting = '{}'\n", "🙂".repeat(100)));
    let error = Settings::load(&sources).expect_err("too long").to_string();
    assert!(error.contains("200 characters"), "{error}");
}

#[test]
fn environment_without_file_is_sufficient() {
    let (_directory, mut sources) = written("");
    sources.environment = environment(&[
        ("LICHESS_TOKEN", "lip_me"),
        ("KNIGHTWATCH__LICHESS__URL", "http://127.0.0.1:9663"),
    ]);
    let settings = Settings::load(&sources).expect("valid settings");
    assert_eq!(settings.lichess.url.as_str(), "http://127.0.0.1:9663/");
    assert_eq!(settings.token, Some(TokenSource::Environment));
    assert!(!format!("{settings:?}").contains("lip_me"));
}

#[test]
fn empty_file_gives_defaults() {
    let (_directory, sources) = written("");
    let settings = Settings::load(&sources).expect("valid settings");
    let file = sources.file;
    assert_eq!(
        settings,
        Settings {
            file,
            ..Settings::default()
        }
    );
}

#[test]
fn paths_are_relative_to_their_file() {
    let (directory, mut sources) =
        written("lichess.token_file = 'token'\nbook.files = ['~/a.bin', '/b.bin']");
    sources.environment = environment(&[("HOME", "/home/anna")]);
    let settings = Settings::load(&sources).expect("valid settings");
    let token = directory.path().join("token");
    assert_eq!(settings.lichess.token_file, Some(token.clone()));
    assert_eq!(settings.token, Some(TokenSource::File(token)));
    assert_eq!(
        settings.book.files,
        [Path::new("/home/anna/a.bin"), Path::new("/b.bin")]
    );
}

#[test]
fn percent_d_is_credentials_directory() {
    let (_directory, mut sources) = written("lichess.token_file = '%d/token'");
    // Commands that read no token need no credentials.
    let settings = Settings::load(&sources).expect("valid settings");
    let error = settings.token.unwrap().read().unwrap_err().to_string();
    assert!(error.contains("CREDENTIALS_DIRECTORY"), "{error}");
    sources.environment = environment(&[("CREDENTIALS_DIRECTORY", "/run/credentials/x")]);
    let settings = Settings::load(&sources).expect("valid settings");
    assert_eq!(
        settings.lichess.token_file.as_deref(),
        Some(Path::new("/run/credentials/x/token"))
    );
}

#[test]
fn missing_named_file_fails() {
    let error =
        Settings::load(&sources(Path::new("/nowhere/config.toml"))).expect_err("no such file");
    assert!(
        error
            .to_string()
            .contains("cannot read /nowhere/config.toml"),
        "{error}"
    );
}

#[test]
fn blank_token_variable_is_ignored() {
    let (_directory, mut sources) = written("");
    sources.environment = environment(&[("LICHESS_TOKEN", " ")]);
    assert_eq!(
        Settings::load(&sources).expect("valid settings").token,
        None
    );
}

#[test]
fn search_path_contains_file_of_user() {
    let mut sources = Sources::default();
    assert_eq!(sources.user_file(), None);
    sources.environment = environment(&[("HOME", "/home/anna")]);
    let expected = Path::new("/home/anna/.config/knightwatch/config.toml");
    assert_eq!(sources.user_file().as_deref(), Some(expected));
    sources.environment = environment(&[("HOME", "/home/anna"), ("XDG_CONFIG_HOME", "/etc/anna")]);
    assert!(
        sources
            .search_path()
            .contains(&"/etc/anna/knightwatch/config.toml".into())
    );
}

#[test]
fn search_path_of_root_begins_with_service() {
    let mut sources = Sources {
        environment: environment(&[("HOME", "/root")]),
        ..Sources::default()
    };
    let [own, service] = ["/root/.config/knightwatch/config.toml", SERVICE_CONFIG];
    assert_eq!(
        sources.search_path(),
        ["knightwatch.toml", own, service].map(PathBuf::from)
    );
    sources.superuser = true;
    assert_eq!(
        sources.search_path(),
        ["knightwatch.toml", service, own].map(PathBuf::from)
    );
}

#[test]
fn service_credential_needs_no_setting() {
    let (directory, mut sources) = written("");
    let token = |sources: &Sources| Settings::load(sources).expect("valid settings").token;
    let credentials = directory.path().to_str().expect("UTF-8");
    sources.environment = environment(&[("CREDENTIALS_DIRECTORY", credentials)]);
    assert_eq!(token(&sources), None);
    let file = directory.path().join("token");
    std::fs::write(&file, "lip_a").expect("a writable directory");
    assert_eq!(token(&sources), Some(TokenSource::File(file)));
    // An explicit setting takes precedence.
    sources.set = vec![("lichess.token_file".into(), "/other".into())];
    assert_eq!(token(&sources), Some(TokenSource::File("/other".into())));
    sources.set.clear();
    let both = [
        ("CREDENTIALS_DIRECTORY", credentials),
        ("LICHESS_TOKEN", "lip_b"),
    ];
    sources.environment = environment(&both);
    assert_eq!(token(&sources), Some(TokenSource::Environment));
}

#[test]
fn empty_list_is_valid() {
    let (_directory, sources) = written("[challenge]\nspeeds = []\naccept = false\n");
    let settings = Settings::load(&sources).expect("valid settings");
    assert_eq!(settings.challenge.speeds, []);
}

#[test]
fn oversized_file_is_rejected() {
    let (_directory, sources) = written(&"# words\n".repeat(100_000));
    let error = Settings::load(&sources).expect_err("too long").to_string();
    assert!(error.contains("the file is larger than 256 KiB"), "{error}");
    // A long file in which nothing is valid.
    let nonsense = format!("[challenge]\nspeeds = [{}]\n", "7, ".repeat(20_000));
    let (_directory, sources) = written(&nonsense);
    let error = Settings::load(&sources).expect_err("numbers");
    assert_eq!(error.problems().len(), 20);
    assert_eq!(
        error.more().as_deref(),
        Some("19980 more problems are not shown")
    );
    assert!(error.to_string().len() < 20_000);
    for problem in error.problems() {
        assert!(problem.to_string().len() < 1_000);
    }
}

#[test]
fn misspelled_variable_warns_with_right_name() {
    for (name, meant) in [
        ("KNIGHTWATCH_LICHESS_TOKEN", "LICHESS_TOKEN"),
        ("KNIGHTWATCH_TOKEN", "LICHESS_TOKEN"),
        (
            "KNIGHTWATCH_LICHESS_TOKEN_FILE",
            "KNIGHTWATCH__LICHESS__TOKEN_FILE",
        ),
        (
            "KNIGHTWATCH_ENGINE__HASH_MIB",
            "KNIGHTWATCH__ENGINE__HASH_MIB",
        ),
        ("KNIGHTWATCH_HASH_MIB", "KNIGHTWATCH__ENGINE__HASH_MIB"),
    ] {
        let sources = Sources {
            environment: environment(&[(name, "1")]),
            ..Sources::default()
        };
        let settings = Settings::from_text(String::new(), &sources).expect("valid settings");
        let warning = format!("the environment variable {name} sets nothing: write {meant}");
        assert_eq!(settings.warnings, [warning]);
    }
    let sources = Sources {
        environment: environment(&[("KNIGHTWATCH_PYTHON", "python3")]),
        ..Sources::default()
    };
    let settings = Settings::from_text(String::new(), &sources).expect("valid settings");
    assert_eq!(settings.warnings, [""; 0]);
}

#[test]
fn variable_with_one_separator_is_rejected_with_right_name() {
    let sources = Sources {
        environment: environment(&[("KNIGHTWATCH__ENGINE_HASH_MIB", "1")]),
        ..Sources::default()
    };
    let error = Settings::from_text(String::new(), &sources).expect_err("an invalid name");
    let hint = "hint: write KNIGHTWATCH__ENGINE__HASH_MIB";
    assert!(error.to_string().ends_with(hint), "{error}");
}

#[test]
fn error_in_a_list_of_tables_points_at_its_table() {
    let text = "[[engine.external]]\nname = \"a\"\ncommand = [\"a\"]\n\n\
        [[engine.external]]\nname = \"b\"\ncommand = [\"b\"]\nnodes = 0\n\n\
        [[engine.external]]\nname = \"c\"\ncommand = []\n\n\
        [matchmaking]\nenabled = true\n\n\
        [[matchmaking.profile]]\nclock = \"3+2\"\n\n\
        [[matchmaking.profile]]\nclock = \"3+2\"\nweight = 0\n";
    let (_directory, sources) = written(text);
    let error = Settings::load(&sources).expect_err("contradictions");
    let error = error.to_string();
    for (line, sentence) in [
        (5, "a limit of the engine b is 0"),
        (12, "the list of `command` is empty"),
        (20, "with weight = 0 it is never used"),
    ] {
        let (_, after) = error
            .split_once(sentence)
            .unwrap_or_else(|| panic!("{error}"));
        let place = format!(".toml:{line}:");
        assert!(
            after.lines().nth(1).is_some_and(|it| it.contains(&place)),
            "{place}: {error}"
        );
    }
    assert_eq!(error.matches("error:").count(), 3, "{error}");
}
