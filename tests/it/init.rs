//! `init` of the real program against a simulated Lichess: questions, files written, files kept.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use knightwatch::config::{Protocol, Settings, Sources, TokenSource};
use knightwatch::sim::{Endpoint, NewUser};
use tempfile::TempDir;

use crate::common::{BOT, Killed, Site, skip, wait};
use crate::engines::script;

/// A `PATH` in which `init` finds no engines.
const WITHOUT_ENGINES: &str = "/nowhere";

/// A home directory in which `init` runs.
struct Home(TempDir);

/// Exit code and output of a run.
type Outcome = (Option<i32>, String);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn config(&self) -> PathBuf {
        self.path(".config/knightwatch/config.toml")
    }

    fn token(&self) -> PathBuf {
        self.path(".config/knightwatch/token")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("PATH", WITHOUT_ENGINES);
        for variable in [
            "LICHESS_TOKEN",
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
            "SUDO_USER",
            "KNIGHTWATCH__LICHESS__URL",
            "CREDENTIALS_DIRECTORY",
        ] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs it with these answers piped in, one per line.
    fn run(&self, arguments: &[&str], answers: &[&str]) -> Outcome {
        let mut command = self.command(arguments);
        run_with_answers(&mut command, answers)
    }

    /// All files below the directory with their contents.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let mut open = vec![self.0.path().to_owned()];
        let mut found = Vec::new();
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false => {
                        let text = fs::read_to_string(&path).unwrap();
                        found.push((path, text));
                    }
                }
            }
        }
        found.sort();
        found
    }
}

fn run_with_answers(command: &mut Command, answers: &[&str]) -> Outcome {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
    let answers: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
    // It may end before it has read all answers.
    let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn load(file: &Path) -> Settings {
    let sources = Sources {
        file: Some(file.to_owned()),
        ..Sources::default()
    };
    Settings::load(&sources).unwrap()
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn init_on_empty_machine_sets_up_ready_bot() {
    let site = Site::new([NewUser::human("Anna")]);
    let (home, token) = (Home::new(), site.sim.token_of("Anna"));
    let answers = [
        "lichess.org",
        &site.url,
        "lip_wrong",
        "two words",
        &token,
        "0",
        "7",
        "64",
        "maybe",
        "y",
        "n",
        "y",
        "y",
        "anna",
        "y",
    ];
    let (code, printed) = home.run(&["init"], &answers);
    assert_eq!(code, Some(0), "{printed}");
    for part in [
        format!(
            "{}/account/oauth/token/create?scopes[]=bot:play&scopes[]=challenge:read&scopes[]=challenge:write&description=Knightwatch\n",
            site.url
        )
        .as_str(),
        "token received (9 characters)\n  Lichess does not know this token",
        "what was received holds more than one word",
        &format!(
            "token received ({} characters)\n  This is Anna: not a bot account yet, no games played\n",
            token.len()
        ),
        "is not an address such as https://lichess.org",
        "  from 1 to 1000\n",
        "  y or n\n",
        "Anna is a bot account now",
        "Ready to play",
        "Next steps:\n  1. ",
    ] {
        assert!(printed.contains(part), "{part} in {printed}");
    }
    // The file is on the search path, and completed steps are not listed.
    let (_, next) = printed.split_once("Next steps:\n").unwrap();
    assert!(next.contains(" run ") && !next.contains("2."), "{printed}");
    assert!(!next.contains("--config"), "{printed}");
    assert!(!printed.contains(&token), "{printed}");
    assert_eq!(site.sim.faults().request_count(Endpoint::Upgrade), 1);

    let settings = load(&home.config());
    assert_eq!(settings.lichess.address(), site.url);
    assert_eq!(
        (settings.games.concurrency, settings.engine.hash_mib),
        (7, 64)
    );
    assert!(settings.challenge.bots && !settings.challenge.rated);
    assert!(settings.matchmaking.enabled);
    let profiles = settings.matchmaking.profiles();
    assert!(profiles.len() == 1 && !profiles[0].rated, "{profiles:?}");
    assert!(profiles[0].wants(Some(1700), Some(1500)));
    assert!(!profiles[0].wants(Some(1900), Some(1500)));
    assert_eq!(settings.token, Some(TokenSource::File(home.token())));
    assert_eq!(
        fs::read_to_string(home.token()).unwrap(),
        format!("{token}\n")
    );
    assert_eq!((mode(&home.token()), mode(&home.config())), (0o600, 0o644));
}

#[test]
fn init_offers_engines_in_path() {
    let site = Site::new([NewUser::bot(BOT)]);
    let token = site.sim.token_of(BOT);
    for (answer, expected) in [
        ("", "knightwatch"),
        ("stockfish", "stockfish"),
        ("fairymax", "fairymax"),
    ] {
        let home = Home::new();
        fs::create_dir(home.path("bin")).unwrap();
        for name in ["stockfish", "fairymax"] {
            let program = home.path("bin").join(name);
            fs::write(&program, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let program = home.path("bin").join(expected);
        let file = format!("{expected}.toml");
        let mut command = home.command(&["init", "--config", &file]);
        command.env(
            "PATH",
            format!("{}:/usr/bin:/bin", home.path("bin").display()),
        );
        let answers = [site.url.as_str(), &token, "", "", "", "", "n", answer, "n"];
        let (_, printed) = run_with_answers(&mut command, &answers);
        assert!(
            printed.contains("Which engine plays: knightwatch, stockfish, fairymax?"),
            "{printed}"
        );
        let settings = load(&home.path(&file)).engine;
        assert_eq!(settings.default, expected, "{printed}");
        let commands: Vec<_> = settings
            .external
            .iter()
            .map(|it| it.command.clone())
            .collect();
        match expected {
            "knightwatch" => assert!(commands.is_empty()),
            _ => assert_eq!(commands, [[program.to_str().unwrap()]]),
        }
        let speaks_xboard = settings
            .external
            .iter()
            .any(|it| it.protocol == Protocol::Xboard);
        assert_eq!(speaks_xboard, expected == "fairymax");

        // The earlier answers are the defaults.
        let again = ["y", "", "", "", "", "", "", "n", "", "n"];
        let (_, printed) = run_with_answers(&mut command, &again);
        assert_eq!(
            load(&home.path(&file)).engine.default,
            expected,
            "{printed}"
        );
        fs::remove_dir_all(home.path("bin")).unwrap();
        let (_, printed) = run_with_answers(&mut command, &again);
        let warning = format!("The engine {expected} is not in PATH");
        assert_eq!(
            printed.contains(&warning),
            expected != "knightwatch",
            "{printed}"
        );
    }
}

#[test]
fn init_keeps_how_the_server_is_reached() {
    let site = Site::new([NewUser::bot(BOT)]);
    let home = Home::new();
    fs::create_dir_all(home.config().parent().unwrap()).unwrap();
    fs::write(home.token(), site.sim.token_of(BOT)).unwrap();
    fs::set_permissions(home.token(), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(
        home.config(),
        "[lichess]\nurl = 'http://192.0.2.1:1'\ninsecure = true\nengine_url = 'http://192.0.2.2:1'\ntoken_file = 'token'\n",
    )
    .unwrap();
    // The server is kept and cannot be reached; the token is kept, too.
    let (_, printed) = home.run(&["init"], &["y", "", "", "", "", "", "", "", "", "n"]);
    let server = load(&home.config()).lichess;
    assert!(server.insecure, "{printed}");
    assert_eq!(server.address(), "http://192.0.2.1:1");
    assert_eq!(server.engine_url.unwrap().as_str(), "http://192.0.2.2:1/");
}

#[test]
fn init_without_typed_name_does_not_upgrade() {
    let site = Site::new([NewUser::human("Anna")]);
    for rest in [["y", "Bert", "n"].as_slice(), &["y"], &["n", "n"], &[]] {
        let (home, token) = (Home::new(), site.sim.token_of("Anna"));
        let answers = [&[site.url.as_str(), &token, "", "", "", "", ""], rest].concat();
        let (code, printed) = home.run(&["init"], &answers);
        // All questions were answered, so the files are written.
        assert_eq!(code, Some(0), "{printed}");
        assert!(home.config().exists() && home.token().exists());
        assert!(
            printed.contains(" upgrade ") && printed.contains(" check "),
            "{printed}"
        );
    }
    assert_eq!(site.sim.faults().request_count(Endpoint::Upgrade), 0);
}

#[test]
fn init_with_missing_answers_writes_nothing() {
    let site = Site::new([]);
    let token = site.sim.token_of(BOT);
    let answers = [site.url.as_str(), &token, "", "", "", ""];
    for number in 0..=answers.len() {
        let home = Home::new();
        let (code, printed) = home.run(&["init"], &answers[..number]);
        assert_eq!(code, Some(1), "{printed}");
        assert!(printed.contains("nothing was written"), "{printed}");
        assert_eq!(home.files(), [], "{printed}");
    }
}

#[test]
fn init_with_unsuitable_token_reports_problem() {
    let played = NewUser {
        games: 3,
        ..NewUser::human("Anna")
    };
    let site = Site::new([played, NewUser::human("Bert")]);
    site.sim
        .add_token("lip_narrow", "Bert", &["challenge:read"]);
    for (token, told) in [
        (
            site.sim.token_of("Anna").as_str(),
            "Anna has played 3 games",
        ),
        (
            "lip_narrow",
            "the token lacks the scopes bot:play, challenge:write",
        ),
    ] {
        let home = Home::new();
        // The token is rejected, so it asks again.
        let (code, printed) = home.run(&["init"], &[&site.url, token, "n"]);
        assert!(code == Some(1) && printed.contains(told), "{printed}");
        assert!(printed.matches("The token (").count() == 2, "{printed}");

        let (code, printed) =
            home.run(&["init"], &[&site.url, token, "y", "", "", "", "", "", "n"]);
        assert_eq!(code, Some(0), "{printed}");
        assert!(!printed.contains("a bot account now?"), "{printed}");
        assert!(home.token().exists());
    }
    let home = Home::new();
    let token = site.sim.token_of(BOT);
    let (_, printed) = home.run(&["init"], &[&site.url, &token]);
    assert!(
        printed.contains("This is Knightwatch: a bot account, 100 games played"),
        "{printed}"
    );
    assert!(!printed.contains("problem"), "{printed}");
}

#[test]
fn init_with_unreachable_server_continues() {
    let nobody = "http://127.0.0.1:9";
    let home = Home::new();
    let (code, printed) = home.run(
        &["init"],
        &[nobody, "lip_me", "", "lip_me", "y", "", "", "", "", ""],
    );
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(
        printed
            .matches("It cannot be tested: cannot connect")
            .count(),
        2,
        "{printed}"
    );
    assert_eq!(fs::read_to_string(home.token()).unwrap(), "lip_me\n");
    assert!(
        printed.contains(" upgrade ") && printed.contains(" check "),
        "{printed}"
    );
}

#[test]
fn init_keeps_answers_and_asks_before_replacing() {
    let site = Site::new([]);
    let (home, token) = (Home::new(), site.sim.token_of(BOT));
    let first = [
        site.url.as_str(),
        token.as_str(),
        "3",
        "32",
        "y",
        "n",
        "y",
        "n",
    ];
    assert_eq!(home.run(&["init"], &first).0, Some(0));
    let written = home.files();

    // It is kept, and checked.
    let (code, printed) = home.run(&["init"], &["", ""]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("config.toml is kept"), "{printed}");
    assert!(printed.contains("Ready to play"), "{printed}");
    assert!(!printed.contains("upgrade"), "{printed}");
    let written_to = |files: &[(PathBuf, String)]| {
        let mut files = files.to_vec();
        files.retain(|(path, _)| path.starts_with(home.path(".config")));
        files
    };
    assert_eq!(written_to(&home.files()), written_to(&written));

    // Empty answers keep all values, and the kept token is tested.
    let (code, printed) = home.run(&["init"], &["y", "", "", "", "", "", "", "", "n"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("This is Knightwatch"), "{printed}");
    assert_eq!(written_to(&home.files()), written_to(&written));

    // Settings that are not asked are kept in the backup.
    fs::write(
        home.config(),
        format!("lichess.url = '{}'\nchat.greeting = 'Hi'\n", site.url),
    )
    .unwrap();
    site.sim.add_token(
        "lip_second",
        BOT,
        &["bot:play", "challenge:read", "challenge:write"],
    );
    let again = ["y", "", "y", "lip_second", "", "", "", "", "", "n"];
    let (code, printed) = home.run(&["init"], &again);
    assert_eq!(code, Some(0), "{printed}");
    let old = fs::read_to_string(home.path(".config/knightwatch/config.toml.old")).unwrap();
    assert!(old.contains("greeting"), "{old}");
    assert_eq!(fs::read_to_string(home.token()).unwrap(), "lip_second\n");
    assert_eq!(load(&home.config()).lichess.address(), site.url);
}

#[test]
fn init_asks_for_missing_token_of_kept_configuration() {
    let site = Site::new([]);
    let (home, token) = (Home::new(), site.sim.token_of(BOT));
    let later = [site.url.as_str(), "", "3", "32", "y", "n", "y"];
    let (code, printed) = home.run(&["init"], &later);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("again, when there is a token"),
        "{printed}"
    );
    let config = fs::read_to_string(home.config()).unwrap();

    // Still none: nothing is written.
    let (_, printed) = home.run(&["init"], &["", "", "n"]);
    assert!(
        printed.contains("It has no token that can be read."),
        "{printed}"
    );
    assert!(!home.token().exists());
    assert_eq!(fs::read_to_string(home.config()).unwrap(), config);

    let (code, printed) = home.run(&["init"], &["", &token, ""]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("Ready to play"), "{printed}");
    assert_eq!(load(&home.config()).games.concurrency, 3);

    // A file that is named and missing is written again; any other configuration gets a hint.
    fs::remove_file(home.token()).unwrap();
    let (code, printed) = home.run(&["init"], &["", &token, ""]);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(
        fs::read_to_string(home.token()).unwrap(),
        format!("{token}\n")
    );
    fs::remove_file(home.token()).unwrap();
    fs::write(home.config(), format!("lichess.url = '{}'\n", site.url)).unwrap();
    let (_, printed) = home.run(&["init"], &["", &token, "n"]);
    assert!(
        printed.contains("Add this line to [lichess] in ")
            && printed.contains("config.toml: token_file = \"token\""),
        "{printed}"
    );
}

#[test]
fn init_with_kept_configuration_checks_it() {
    let played = NewUser {
        games: 3,
        ..NewUser::human("Bert")
    };
    let site = Site::new([played, NewUser::human("Anna")]);
    let home = Home::new();
    fs::create_dir_all(home.config().parent().unwrap()).unwrap();
    let token = |user: &str| fs::write(home.token(), site.sim.token_of(user)).unwrap();
    let text = format!(
        "lichess = {{ url = '{}', token_file = 'token' }}\nengine.hash_mib = 8\n",
        site.url
    );
    fs::write(home.config(), &text).unwrap();

    token("Bert");
    let (code, printed) = home.run(&["init"], &["n", "y"]);
    assert_eq!(code, Some(77), "{printed}");
    assert!(printed.contains("Bert is not a bot account"), "{printed}");
    // The same as check.
    assert_eq!(home.run(&["check"], &[]).0, Some(77));

    token("Anna");
    let (code, printed) = home.run(&["init"], &["n", "y", "Anna", "y"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("Anna is a bot account now"), "{printed}");
    assert!(printed.contains("Ready to play"), "{printed}");

    fs::write(home.config(), "engine.hash = 8\n").unwrap();
    let (code, printed) = home.run(&["init"], &["n", "y"]);
    assert_eq!(code, Some(78), "{printed}");
    assert!(printed.contains("hash_mib"), "{printed}");
}

#[test]
fn init_uses_server_of_environment_as_default() {
    let site = Site::new([]);
    let (home, token) = (Home::new(), site.sim.token_of(BOT));
    let run = |answers: &[&str]| {
        let mut command = home.command(&["init"]);
        command.env("KNIGHTWATCH__LICHESS__URL", &site.url);
        run_with_answers(&mut command, answers)
    };
    let (code, printed) = run(&["", &token, "", "", "", "", "", "n"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains(&format!("Which server? [{}]", site.url)),
        "{printed}"
    );
    assert!(printed.contains("This is Knightwatch"), "{printed}");
    assert!(!printed.contains("unset"), "{printed}");
    assert_eq!(load(&home.config()).lichess.address(), site.url);

    // A different server in the file would be overridden.
    let elsewhere = "http://127.0.0.1:9";
    let (code, printed) = run(&["y", elsewhere, "y", "", "", "", "", "", "", "n"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("unset KNIGHTWATCH__LICHESS__URL"),
        "{printed}"
    );
}

#[test]
fn init_with_kept_token_file_restricts_its_mode() {
    let site = Site::new([]);
    let home = Home::new();
    fs::create_dir_all(home.config().parent().unwrap()).unwrap();
    fs::write(home.token(), site.sim.token_of(BOT)).unwrap();
    for (before, is_told) in [(0o644, true), (0o600, false), (0o400, false)] {
        fs::set_permissions(home.token(), PermissionsExt::from_mode(before)).unwrap();
        let answers = [site.url.as_str(), "n", "", "", "", "", "", "n"];
        let (code, printed) = home.run(&["init"], &answers);
        assert_eq!(code, Some(0), "{printed}");
        assert_eq!(
            printed.contains("changed its mode to 0600"),
            is_told,
            "{printed}"
        );
        assert_eq!(mode(&home.token()), before & 0o600, "{printed}");
        fs::remove_file(home.config()).unwrap();
    }
}

#[test]
fn init_names_unusual_path_in_next_steps() {
    let site = Site::new([]);
    let (home, token) = (Home::new(), site.sim.token_of(BOT));
    let answers = [site.url.as_str(), token.as_str(), "", "", "", "", "", "n"];
    let (_, printed) = home.run(&["init", "--config", "./knightwatch.toml"], &answers);
    let (_, next) = printed.split_once("Next steps:\n").unwrap();
    assert!(!next.contains("--config"), "{printed}");
    let (_, printed) = home.run(&["init", "--config", "my bots/one.toml"], &answers);
    let (_, next) = printed.split_once("Next steps:\n").unwrap();
    assert!(
        next.contains("check --config 'my bots/one.toml'"),
        "{printed}"
    );
    assert_eq!(mode(&home.path("my bots/token")), 0o600);
}

#[test]
fn init_with_unwritable_file_fails_before_questions() {
    type Preparation = fn(&Home);
    let cases: [(Preparation, &str); 3] = [
        (
            |home| fs::create_dir_all(home.token()).unwrap(),
            "/token: it is a directory",
        ),
        (
            |home| fs::create_dir_all(home.config()).unwrap(),
            "/config.toml: it is a directory",
        ),
        (
            |home| fs::write(home.path(".config"), "").unwrap(),
            "/.config is not a directory",
        ),
    ];
    for (prepare, why) in cases {
        let home = Home::new();
        prepare(&home);
        let before = home.files();
        let (code, printed) = home.run(&["init"], &[]);
        assert_eq!(code, Some(1), "{printed}");
        assert!(
            printed.contains("cannot write") && printed.contains(why),
            "{printed}"
        );
        assert!(printed.contains("--config FILE"), "{printed}");
        assert!(
            !printed.contains('?'),
            "it was noticed after a question: {printed}"
        );
        assert_eq!(home.files(), before);
    }
    // Not writable.
    let home = Home::new();
    let (code, printed) = home.run(&["init", "--config", "/proc/self/knightwatch/c.toml"], &[]);
    assert_eq!(code, Some(1), "{printed}");
    assert!(
        printed.contains("cannot write") && !printed.contains('?'),
        "{printed}"
    );
}

#[test]
fn init_with_missing_root_directory_fails() {
    let home = Home::new();
    let (code, printed) = home.run(&["init", "--service", "--root", "image"], &[]);
    assert_eq!(code, Some(1), "{printed}");
    assert!(
        printed.contains("--root image is not a directory: mount the image"),
        "{printed}"
    );
    assert!(!home.path("image").exists());
}

#[test]
fn init_service_sets_up_all_files() {
    let site = Site::new([]);
    let (home, token) = (Home::new(), site.sim.token_of(BOT));
    let root = home.path("image");
    fs::create_dir(&root).unwrap();
    let init = ["init", "--service", "--root", root.to_str().unwrap()];
    let answers = [site.url.as_str(), token.as_str(), "", "16", "", "", "", "y"];
    // An engine of this machine is none of the image.
    let programs = home.path("bin");
    fs::create_dir(&programs).unwrap();
    script(&programs.join("stockfish"), "exit 1");
    let mut command = home.command(&init);
    command.env("PATH", format!("{}:{WITHOUT_ENGINES}", programs.display()));
    let (code, printed) = run_with_answers(&mut command, &answers);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains(
            "Ready to play, with 1 warning: install the program as /usr/local/bin/knightwatch\n"
        ),
        "{printed}"
    );
    for part in [
        "install the program as /usr/local/bin/knightwatch",
        "systemctl enable --now knightwatch",
        "knightwatch status",
    ] {
        let (_, next) = printed.split_once("Next steps").unwrap();
        assert!(next.contains(part), "{part} in {printed}");
    }
    let config = root.join("etc/knightwatch/config.toml");
    let kept = root.join("etc/knightwatch/token");
    assert_eq!(fs::read_to_string(&kept).unwrap(), format!("{token}\n"));
    // The user of the service may read the configuration, but not the token.
    assert_eq!((mode(&kept), mode(&config)), (0o600, 0o644));
    assert_eq!(mode(config.parent().unwrap()), 0o755);
    let unit = fs::read_to_string(root.join("etc/systemd/system/knightwatch.service")).unwrap();
    let printed = home.command(&["service", "print"]).output().unwrap();
    assert!(printed.status.success());
    for unit in [unit, String::from_utf8(printed.stdout).unwrap()] {
        assert!(
            unit.contains("LoadCredential=token:/etc/knightwatch/token\n"),
            "{unit}"
        );
        assert!(
            unit.contains(" run --config /etc/knightwatch/config.toml\n"),
            "{unit}"
        );
    }

    // As started by systemd: the credential is found without a setting.
    let settings = load(&config);
    assert_eq!(settings.lichess.token_file, None);
    let check = ["check", "--config", config.to_str().unwrap()];
    let mut command = home.command(&check);
    let command = command.env("CREDENTIALS_DIRECTORY", kept.parent().unwrap());
    let (code, printed) = run_with_answers(command, &[]);
    assert_eq!(code, Some(0), "{printed}");
    let (code, printed) = home.run(&check, &[]);
    assert_eq!(code, Some(78), "{printed}");
    assert!(printed.contains("/etc/knightwatch/token"), "{printed}");
    let (code, printed) = home.run(&["run", "--config", config.to_str().unwrap()], &[]);
    assert_eq!(code, Some(78), "{printed}");
    assert!(
        printed.contains("LoadCredential=token:/etc/knightwatch/token"),
        "{printed}"
    );

    // A second run replaces token, configuration and a changed unit only if confirmed.
    let file = root.join("etc/systemd/system/knightwatch.service");
    fs::write(&file, "[Service]\nNice=10\n").unwrap();
    let written = home.files();
    let (code, printed) = home.run(&init, &["n", "n", "n"]);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(home.files(), written);
    assert!(
        printed.contains("This is Knightwatch: a bot account"),
        "{printed}"
    );
    assert!(!printed.contains("upgrade"), "{printed}");
    let (code, printed) = home.run(&init, &[""]);
    assert!(
        code == Some(1) && printed.contains("nothing was written"),
        "{printed}"
    );
    let (code, printed) = home.run(&init, &["n", "y", "n"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("LoadCredential=")
    );
    let old = root.join("etc/systemd/system/knightwatch.service.old");
    assert_eq!(
        fs::read_to_string(old).unwrap(),
        "[Service]\nNice=10\n",
        "{printed}"
    );

    // With the program in the image, the next step is to start it.
    let program = root.join("usr/local/bin/knightwatch");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(program, "").unwrap();
    let (code, printed) = home.run(&init, &["n", "y"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("Ready to play, with 1 warning: systemctl enable --now knightwatch\n"),
        "{printed}"
    );
    assert_eq!(fs::read_to_string(&kept).unwrap(), format!("{token}\n"));

    // A token that is missing is asked for, also if the configuration names its file.
    fs::remove_file(&kept).unwrap();
    let text = format!(
        "lichess = {{ url = '{}', token_file = 'token' }}\n",
        site.url
    );
    fs::write(&config, text).unwrap();
    let (code, printed) = home.run(&init, &["n", &token, "y"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(!printed.contains("It names the token file"), "{printed}");
    assert_eq!(fs::read_to_string(&kept).unwrap(), format!("{token}\n"));

    // The service uses the token file that the configuration names, so no other one is written.
    let text = format!(
        "lichess = {{ url = '{}', token_file = '/nowhere/token' }}\n",
        site.url
    );
    fs::write(&config, text).unwrap();
    let (code, printed) = home.run(&init, &["n", "y"]);
    assert_eq!(code, Some(78), "{printed}");
    assert!(
        printed.contains("It names the token file /nowhere/token, so the service does not use ")
            && printed.contains("the token file /nowhere/token cannot be read"),
        "{printed}"
    );
    assert!(printed.contains("hint: create one at"), "{printed}");
}

/// A command that runs the program as root with this directory mounted as `/etc`.
fn with_etc(etc: &Path) -> Option<Command> {
    let mount = format!("mount --bind '{}' /etc && exec \"$@\"", etc.display());
    let ways = [vec!["-m"], vec!["-U", "-r", "-m"]];
    let way = ways.into_iter().find(|way| {
        let mut trial = Command::new("unshare");
        let trial = trial.args(way).args(["sh", "-c", &mount, "sh", "true"]);
        trial.output().is_ok_and(|output| output.status.success())
    });
    let Some(way) = way else {
        skip("mount", "unshare cannot mount anything here");
        return None;
    };
    let mut command = Command::new("unshare");
    command.args(way).args(["sh", "-c", &mount, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_knightwatch"));
    Some(command)
}

/// `sudo knightwatch` finds the service's configuration and token, whatever root has in its home directory.
#[test]
fn commands_of_root_find_service() {
    let site = Site::new([]);
    let (home, token) = (Home::new(), site.sim.token_of(BOT));
    let etc = home.path("etc");
    fs::create_dir_all(etc.join("knightwatch")).unwrap();
    let records = home.path("records of the service");
    let text = format!(
        "lichess.url = '{}'\nengine.hash_mib = 8\nrecords.directory = '{}'\n",
        site.url,
        records.display()
    );
    fs::write(etc.join("knightwatch/config.toml"), text).unwrap();
    fs::write(etc.join("knightwatch/token"), &token).unwrap();
    fs::set_permissions(
        etc.join("knightwatch/token"),
        PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    // A configuration of the user root, for another bot.
    fs::create_dir_all(home.config().parent().unwrap()).unwrap();
    fs::write(home.config(), "lichess.url = 'http://127.0.0.1:9'\n").unwrap();
    let as_root = |arguments: &[&str], answers: &[&str]| {
        let mut command = with_etc(&etc)?;
        command.args(arguments).env("HOME", home.0.path());
        command
            .env_remove("LICHESS_TOKEN")
            .env_remove("XDG_CONFIG_HOME");
        Some(run_with_answers(
            command.current_dir(home.0.path()),
            answers,
        ))
    };
    let Some((code, printed)) = as_root(&["check"], &[]) else {
        return;
    };
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("/etc/knightwatch/config.toml"),
        "{printed}"
    );
    assert!(
        printed.contains("sudo systemctl start knightwatch"),
        "{printed}"
    );
    let (code, printed) = as_root(&["games"], &[]).unwrap();
    assert!(
        code == Some(1) && printed.contains("records of the service"),
        "{printed}"
    );

    // Without the service, its credentials are the files next to its configuration.
    fs::rename(etc.join("knightwatch/token"), etc.join("knightwatch/day")).unwrap();
    let account = format!("[[account]]\nname = '{BOT}'\ntoken_file = '%d/day'\n");
    let config = etc.join("knightwatch/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text + &account).unwrap();
    let (code, printed) = as_root(&["check"], &[]).unwrap();
    assert_eq!(code, Some(0), "{printed}");

    // init as root still writes a user configuration, which then must be named.
    fs::remove_file(home.config()).unwrap();
    let answers = [site.url.as_str(), token.as_str(), "", "", "", "", "", "n"];
    let (code, printed) = as_root(&["init"], &answers).unwrap();
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("init --service"), "{printed}");
    let named = format!("check --config {}", home.config().display());
    assert!(printed.contains(&named), "{printed}");
}

/// Runs `init` on a terminal, by `script`: waits for each question before answering, returns the output.
fn run_on_terminal(home: &Home, answers: &[(&str, &str)]) -> String {
    run_on_terminal_through("exec \"$@\"", home, answers)
}

/// The same through this shell command.
fn run_on_terminal_through(shell: &str, home: &Home, answers: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let tty = folder.path().join("tty");
    // A question that is never asked ends the test.
    let mut command = Command::new("timeout");
    command.args(["--foreground", "120", "script"]);
    let program = env!("CARGO_BIN_EXE_knightwatch");
    let line = format!(
        "tty > '{}'; set -- env PATH={WITHOUT_ENGINES} '{program}' init; {shell}",
        tty.display()
    );
    command
        .args(["-q", "-e", "-f", "-c", &line, "/dev/null"])
        .current_dir(home.0.path())
        .env("HOME", home.0.path())
        .env_remove("LICHESS_TOKEN")
        .env_remove("XDG_CONFIG_HOME");
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = Killed(pipes.spawn().unwrap());
    let (mut input, mut output) = (
        child.0.stdin.take().unwrap(),
        child.0.stdout.take().unwrap(),
    );
    let mut shown = String::new();
    let mut buffer = [0; 4096];
    for (question, answer) in answers {
        let seen = shown.len();
        while !shown[seen..].contains(question) {
            let length = output.read(&mut buffer).unwrap();
            assert!(length > 0, "{question} was not asked: {shown}");
            shown += &String::from_utf8_lossy(&buffer[..length]);
        }
        if question.contains("token") {
            wait("the terminal shows nothing of what is typed", || {
                let name = fs::read_to_string(&tty).unwrap();
                let mut stty = Command::new("stty");
                let state = stty.args(["-a", "-F", name.trim()]).output().unwrap();
                let state = String::from_utf8(state.stdout).unwrap();
                state.contains("-echo ").then_some(())
            });
        }
        input.write_all(answer.as_bytes()).unwrap();
    }
    output.read_to_string(&mut shown).unwrap();
    wait("its end", || child.0.try_wait().unwrap());
    shown
}

#[test]
fn init_terminal_hides_token_and_ctrl_d_writes_nothing() {
    let site = Site::new([NewUser::human("Anna")]);
    let (home, token) = (Home::new(), site.sim.token_of("Anna"));
    let server = format!("{}\r", site.url);
    let shown = run_on_terminal(
        &home,
        &[("Which server?", &server), ("The token (", "\u{4}")],
    );
    assert!(shown.contains("nothing was written"), "{shown}");
    assert_eq!(home.files(), []);

    let typed = format!("{token}\r");
    let shown = run_on_terminal(
        &home,
        &[
            ("Which server?", &server),
            ("The token (", &typed),
            ("games at once?", "\r"),
            ("in MiB?", "\r"),
            ("other bots?", "\r"),
            ("rated games?", "\r"),
            ("when idle?", "\r"),
            ("Make Anna a bot account now?", "y\r"),
            ("Type the name of the account", "Anna\r"),
            ("Check everything now?", "n\r"),
        ],
    );
    assert!(shown.contains("token received (8 characters)"), "{shown}");
    assert!(!shown.contains(&token), "{shown}");
    assert!(shown.contains("Anna is a bot account now"), "{shown}");
    assert_eq!(
        fs::read_to_string(home.token()).unwrap(),
        format!("{token}\n")
    );
}

#[test]
fn init_signal_restores_terminal_echo() {
    let site = Site::new([]);
    let server = format!("{}\r", site.url);
    // The shell survives Ctrl-C and prints the terminal settings.
    let look = "stty -a | tr ';' '\\n'";
    let by_key = format!("trap : INT QUIT; \"$@\"; echo \"ended by $?\"; {look}");
    for (key, code) in [("\u{3}", 130), ("\u{1c}", 131)] {
        let home = Home::new();
        let answers = [("Which server?", server.as_str()), ("The token (", key)];
        let shown = run_on_terminal_through(&by_key, &home, &answers);
        assert!(shown.contains(&format!("ended by {code}")), "{shown}");
        assert!(
            shown.contains(" echo ") && !shown.contains("-echo "),
            "{shown}"
        );
        assert!(shown.contains("susp = ^Z"), "{shown}");
        assert_eq!(home.files(), []);
    }
    // When the shell reads this line, the question is shown; then it kills the program.
    let by_kill = format!(
        "\"$@\" < /dev/tty & (until stty -a | grep -q -- '-echo '; do sleep 0.02; done; kill -TERM $!); wait $!; \
         echo \"ended by $?\"; {look}"
    );
    let home = Home::new();
    let shown = run_on_terminal_through(&by_kill, &home, &[("Which server?", &server)]);
    assert!(shown.contains("ended by 143"), "{shown}");
    assert!(
        shown.contains(" echo ") && !shown.contains("-echo "),
        "{shown}"
    );
}
