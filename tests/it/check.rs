//! `check`, `upgrade` and `demo` of the real program.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use knightwatch::book::{Book, Record};
use knightwatch::chess::Variant;
use knightwatch::sim::{Endpoint, Fault, FaultRule, NewUser, Skew};

use crate::cli;
use crate::common::{BOT, Daemon, Site, wait};

fn knightwatch(site: &Site, user: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(arguments)
        .env("LICHESS_TOKEN", site.sim.token_of(user))
        .env("KNIGHTWATCH__LICHESS__URL", &site.url)
        .env("KNIGHTWATCH__ENGINE__HASH_MIB", "8")
        .env("HOME", "/nonexistent")
        .env_remove("XDG_CONFIG_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn code_and_text(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn check_of_ready_bot_succeeds() {
    let site = Site::new([]);
    let (code, text) = code_and_text(&knightwatch(&site, BOT, &["check"]));
    assert_eq!(code, Some(0), "{text}");
    for part in [
        "configuration",
        "lichess",
        "clock",
        "files",
        "token",
        "account",
        "book",
        "page",
        "engine",
    ] {
        assert!(
            text.contains(&format!("ok       {part}")),
            "{part} in {text}"
        );
    }
}

#[test]
fn check_of_running_bot_shows_pid_and_name() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let socket = format!("daemon.socket={}", bot.socket().display());
    let check = ["check", "--set", &socket];
    let text = wait("it is known whom it plays", || {
        let (code, text) = code_and_text(&knightwatch(&site, BOT, &check));
        assert_eq!(code, Some(0), "{text}");
        text.contains("already running").then_some(text)
    });
    for words in [
        format!("of {BOT}, with bot:play"),
        format!("the bot is already running (pid {})", bot.pid()),
        "it is running; knightwatch reload applies changes".to_owned(),
    ] {
        assert!(text.contains(&words), "{words}: {text}");
    }
}

#[test]
fn run_suggests_upgrade_only_if_possible() {
    let site = Site::new([
        NewUser::human("Anna"),
        NewUser {
            games: 3,
            ..NewUser::human("Bert")
        },
    ]);
    for (user, expected, unexpected) in [
        ("Anna", "knightwatch upgrade", "make a new account"),
        ("Bert", "make a new account", "upgrade"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("control.sock");
        let socket = format!("daemon.socket={}", socket.display());
        let records = format!("records.directory={}", home.path().display());
        let sets = ["web.listen=", socket.as_str(), records.as_str()];
        let arguments: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
        let arguments = [&["run"], &arguments[..]].concat();
        let (code, text) = code_and_text(&knightwatch(&site, user, &arguments));
        assert_eq!(code, Some(77), "{text}");
        let error = text
            .lines()
            .find(|line| line.contains("is not a bot account"));
        let error = error.unwrap_or_else(|| panic!("{text}"));
        assert!(
            error.contains(expected) && !error.contains(unexpected),
            "{error}"
        );
    }
}

#[test]
fn check_without_takeback_preference_warns() {
    let blind = NewUser {
        scopes: vec!["bot:play".to_owned(), "challenge:read".to_owned()],
        ..NewUser::bot("Blind")
    };
    let kind = NewUser {
        takebacks: true,
        ..NewUser::bot("Kind")
    };
    let site = Site::new([blind, kind]);
    for (user, set, expected) in [
        (BOT, "casual", "nobody may propose them to this account"),
        ("Kind", "casual", "opponents can ask for them"),
        (
            "Blind",
            "casual",
            "if the account allows opponents to ask for them",
        ),
        (BOT, "never", ""),
    ] {
        let set = format!("games.takebacks={set}");
        let (code, text) = code_and_text(&knightwatch(&site, user, &["check", "--set", &set]));
        assert_eq!(code, Some(0), "{user}: {text}");
        assert_eq!(text.contains("takebacks"), !expected.is_empty(), "{text}");
        assert!(text.contains(expected), "{user}: {text}");
    }
}

#[test]
fn check_of_unsuitable_account_exits_with_77() {
    let site = Site::new([
        NewUser::human("Anna"),
        NewUser {
            games: 3,
            ..NewUser::human("Bert")
        },
        NewUser {
            scopes: vec!["email:read".to_owned()],
            ..NewUser::bot("Scopeless")
        },
    ]);
    for (user, expected) in [
        ("Anna", "knightwatch upgrade"),
        ("Bert", "make a new account"),
        ("Scopeless", "bot:play"),
        ("Nobody", "token"),
    ] {
        let (code, text) = code_and_text(&knightwatch(&site, user, &["check"]));
        assert_eq!(code, Some(77), "{user}: {text}");
        assert!(
            text.contains("problem") && text.contains(expected),
            "{user}: {text}"
        );
        assert!(text.contains("hint:"), "{user}: {text}");
    }
}

#[test]
fn hints_name_a_token_only_if_there_is_none() {
    let site = Site::new([]);
    let hint = |arguments: &[&str]| {
        let mut command = cli::knightwatch(arguments);
        let command = command.env("KNIGHTWATCH__LICHESS__URL", &site.url);
        let (code, text) = code_and_text(&command.env("HOME", "/nonexistent").output().unwrap());
        assert_eq!(code, Some(78), "{text}");
        let hints: Vec<&str> = text.lines().filter(|line| line.contains("hint:")).collect();
        hints.join("\n")
    };
    let missing = hint(&["run"]);
    assert!(
        missing.ends_with("knightwatch init asks for a token"),
        "{missing}"
    );
    // A directory cannot be read, not even by root.
    let unreadable = ["--set", "lichess.token_file=/"];
    let shown = hint(&[&["run"], &unreadable[..]].concat());
    assert!(
        shown.ends_with("knightwatch check lists all problems"),
        "{shown}"
    );
    let shown = hint(&[&["check"], &unreadable[..]].concat());
    assert!(shown.contains("the user of the bot may read"), "{shown}");
    assert!(!shown.contains("create one"), "{shown}");
}

#[test]
fn check_with_unreachable_lichess_exits_with_1() {
    let site = Site::new([]);
    site.sim.faults().add(
        FaultRule {
            endpoint: None,
            ..FaultRule::on(Endpoint::Account, Fault::html(502))
        }
        .times(1000),
    );
    let (code, text) = code_and_text(&knightwatch(&site, BOT, &["check"]));
    assert_eq!(code, Some(1), "{text}");
}

#[test]
fn check_with_unknown_host_names_it() {
    let site = Site::new([]);
    let set = ["check", "--set", "lichess.url=https://no-such-host.invalid"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    let command = command.args(set).env("HOME", "/nonexistent");
    let command = command.env("LICHESS_TOKEN", site.sim.token_of(BOT));
    let (code, text) = code_and_text(&command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("no-such-host.invalid cannot be found"),
        "{text}"
    );
}

#[test]
fn check_of_bot_without_bio_warns() {
    let shy = NewUser {
        bio: None,
        ..NewUser::bot("Shy")
    };
    let site = Site::new([shy]);
    let (code, text) = code_and_text(&knightwatch(&site, "Shy", &["check"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("not listed among the online bots"), "{text}");
}

#[test]
fn check_with_wrong_clock_warns() {
    let site = Site::new([]);
    let skew = Skew {
        date: -3_600_000,
        clocks: 0,
        drift: 0.0,
    };
    site.sim.faults().add(FaultRule {
        until: Some(std::time::Duration::from_secs(3_600)),
        ..FaultRule::new(Fault::Skew(skew))
    });
    wait("the clock is off", || {
        let (code, text) = code_and_text(&knightwatch(&site, BOT, &["check"]));
        assert_eq!(code, Some(0), "{text}");
        assert!(!text.contains("timedatectl"), "{text}");
        text.contains("s ahead of Lichess's").then_some(())
    });
}

#[test]
fn check_with_low_open_file_limit_warns() {
    let site = Site::new([]);
    let check = format!(
        "ulimit -n 130 && exec {} check",
        env!("CARGO_BIN_EXE_knightwatch")
    );
    let output = Command::new("sh")
        .args(["-c", &check])
        .env("LICHESS_TOKEN", site.sim.token_of(BOT))
        .env("KNIGHTWATCH__LICHESS__URL", &site.url)
        .env("KNIGHTWATCH__ENGINE__HASH_MIB", "8")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (code, text) = code_and_text(&output);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("only 130 may be open"), "{text}");
}

#[test]
fn check_with_unwritable_directory_warns() {
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.display();
    // No directory can be created below a file, and /proc is not writable.
    for (directory, why) in [
        ("/proc/self", "cannot write in /proc/self"),
        (
            "/proc/self/records",
            "cannot create /proc/self/records: cannot write in /proc/self",
        ),
    ] {
        let set = ["check", "--set", &format!("records.directory={directory}")];
        let (code, text) = code_and_text(&knightwatch(&site, BOT, &set));
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(why), "{text}");
        assert!(
            text.contains("warning  records        cannot create"),
            "{text}"
        );
        assert!(text.contains("set another records.directory"), "{text}");
        assert!(text.contains("Ready to play, with"), "{text}");
    }
    for directory in [file.to_string(), format!("{file}/records")] {
        let set = format!("records.directory={directory}");
        let (code, text) = code_and_text(&knightwatch(&site, BOT, &["check", "--set", &set]));
        assert_eq!(code, Some(78), "{text}");
        assert!(
            text.contains(&format!("records        {file} is a file")),
            "{text}"
        );
        let (code, text) = code_and_text(&knightwatch(&site, BOT, &["run", "--set", &set]));
        assert_eq!(code, Some(78), "{text}");
        let why = format!("records.directory is {directory}, but {file} is a file");
        assert!(text.contains(&why), "{text}");
    }
    // A missing directory is not created.
    let missing = home.path().join("a/b");
    let set = format!("records.directory={}", missing.display());
    let (code, text) = code_and_text(&knightwatch(&site, BOT, &["check", "--set", &set]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("ok       records"), "{text}");
    // Fast or slow: that of the directory above it.
    let disk = format!("disk           {} stores a page in", home.path().display());
    assert!(text.contains(&disk), "{text}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn check_with_unwritable_log_file_warns() {
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("bot.log");
    let check = |file: &Path| {
        let set = format!("daemon.log_file={}", file.display());
        let (code, text) = code_and_text(&knightwatch(&site, BOT, &["check", "--set", &set]));
        assert_eq!(code, Some(0), "{text}");
        text
    };
    let missing = home.path().join("none").join("bot.log");
    let text = check(&missing);
    let why = format!("cannot write to {}: No such file", missing.display());
    assert!(text.contains(&why), "{text}");
    let text = check(home.path());
    assert!(text.contains("Is a directory"), "{text}");
    let text = check(&file);
    assert!(!text.contains("cannot write to"), "{text}");
    assert!(!file.exists());
}

#[test]
fn check_with_unknown_key_exits_with_78() {
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.toml");
    std::fs::write(&file, "[challenge]\nspeed = [\"blitz\"]\n").unwrap();
    let arguments = ["check", "--config", file.to_str().unwrap()];
    let (code, text) = code_and_text(&knightwatch(&site, BOT, &arguments));
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("did you mean `speeds`?"), "{text}");
}

#[test]
fn check_with_broken_book_exits_with_78() {
    let site = Site::new([]);
    let book = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(book.path(), [0; 17]).unwrap();
    let set = format!("book.files={}", book.path().display());
    let (code, text) = code_and_text(&knightwatch(&site, BOT, &["check", "--set", &set]));
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains(&book.path().display().to_string()), "{text}");
}

#[test]
fn check_names_the_books_of_variants() {
    let site = Site::new([]);
    let directory = tempfile::tempdir().unwrap();
    let book = directory.path().join("atomic.bin");
    let bytes = Book::embedded_for(Variant::Atomic);
    let bytes: Vec<u8> = bytes.records().flat_map(Record::to_bytes).collect();
    std::fs::write(&book, bytes).unwrap();
    let set = format!("book.variants={{ atomic = [{book:?}], threeCheck = {book:?} }}");
    let (_, text) = code_and_text(&knightwatch(&site, BOT, &["check", "--set", &set]));
    let line = text.lines().find(|line| line.contains("atomic.bin"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("entries, for atomic, threeCheck"), "{line}");
    assert!(text.contains(" for crazyhouse, "), "{text}");
}

#[test]
fn upgrade_without_confirmation_changes_nothing() {
    let site = Site::new([NewUser::human("Anna")]);
    let (code, text) = code_and_text(&knightwatch(&site, "Anna", &["upgrade"]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot be undone"), "{text}");
    assert_eq!(site.sim.faults().request_count(Endpoint::Upgrade), 0);

    let (code, text) = code_and_text(&knightwatch(&site, "Anna", &["upgrade", "--yes"]));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = code_and_text(&knightwatch(&site, "Anna", &["check"]));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn upgrade_of_account_with_games_exits_with_77() {
    let site = Site::new([NewUser {
        games: 3,
        ..NewUser::human("Anna")
    }]);
    let (code, text) = code_and_text(&knightwatch(&site, "Anna", &["upgrade", "--yes"]));
    assert_eq!(code, Some(77), "{text}");
    assert!(text.contains("games"), "{text}");
}

#[test]
fn demo_ends_with_results_table() {
    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["demo", "--games", "1"])
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (code, text) = code_and_text(&output);
    assert_eq!(code, Some(0), "{text}");
    let table = text
        .split("\ngame  White")
        .nth(1)
        .unwrap_or_else(|| panic!("no table in {text}"));
    let games = table.lines().skip(1).take_while(|line| !line.is_empty());
    let results: Vec<&str> = games
        .filter(|line| {
            ["1-0", "0-1", "1/2-1/2"]
                .iter()
                .any(|result| line.contains(result))
        })
        .collect();
    assert_eq!(results.len(), 1, "{text}");
}
