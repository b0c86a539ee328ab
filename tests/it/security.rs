//! Secrecy of the token, and sanitized output of foreign text.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use knightwatch::sim::{
    Behavior, ChallengePlan, ChatStyle, Endpoint, Fault, FaultRule, NewUser, PlayerKind,
    PlayerOptions, StreamFault, TimeControl,
};

use crate::common::{BOT, Daemon, IMPATIENT, Killed, Site, skip, wait};

/// Returns whether a character is unsafe on a terminal: a control character or a bidirectional formatting character.
fn is_harmful(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn assert_harmless(what: &str, text: &str) {
    let harmful = text.lines().find(|line| line.contains(is_harmful));
    assert_eq!(harmful, None, "{what}");
}

/// A player whose name and chat contain control sequences.
fn hostile_player() -> PlayerOptions {
    PlayerOptions {
        delay: Duration::from_millis(10)..=Duration::from_millis(10),
        behavior: Behavior {
            chats: vec![ChatStyle::Control, ChatStyle::Long],
            ..Behavior::default()
        },
        ..PlayerOptions::new(
            "Fi\u{1b}]0;owned\u{7}end\u{9b}2J\u{202e}\r\n",
            PlayerKind::Random,
        )
        .challenging(ChallengePlan::against(BOT, TimeControl::clock(30, 0)))
    }
}

#[test]
fn control_sequences_are_removed_from_output() {
    let site = Site::new([NewUser::bot("Anna")]);
    let nasty = r#"{"error":"no\u001b[2Jway\u0007 \u009b31m \u202eback"}"#;
    for endpoint in [Endpoint::Chat, Endpoint::Move, Endpoint::Playing] {
        let rule = FaultRule::on(endpoint, Fault::json(400, nasty));
        site.sim.faults().add(rule.times(2));
    }
    let garbage = Fault::Stream {
        after_lines: 2,
        fault: StreamFault::Garbage,
    };
    site.sim
        .faults()
        .add(FaultRule::on(Endpoint::GameStream, garbage).times(1));
    let bot = Daemon::start(&site, "");
    site.sim.add_player(hostile_player());
    let game = site.started(1).remove(0);
    site.plies(&game.id, 6);
    for form in [None, Some("--json")] {
        let text = wait("the name is shown", || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
            command.arg("status").arg("--socket").arg(bot.socket());
            let output = command.args(form).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            text.contains("owned").then_some(text)
        });
        assert_harmless("status", &text);
    }
    site.finished(&game.id);
    wait("the end is logged", || {
        let log = bot.log();
        let ended = |line: &str| {
            [" won against", " lost against", " drawn with"]
                .iter()
                .any(|end| line.contains(end))
        };
        log.lines().any(ended).then_some(())
    });
    let log = bot.log();
    assert!(log.contains("owned") && log.contains("way"), "{log}");
    assert_harmless("the log", &log);
}

#[test]
fn token_is_in_no_output() {
    const SECRET: &str = "VerySecret0123456789";
    let token = format!("lip_{SECRET}");
    let site = Site::new([NewUser::bot("Anna")]);
    let scopes = ["bot:play", "challenge:read", "challenge:write"];
    site.sim.add_token(&token, BOT, &scopes);
    for (nth, fault) in [
        Fault::html(502),
        Fault::Reset,
        Fault::ResponseLost,
        Fault::json(401, r#"{"error":"No such token"}"#),
        Fault::json(429, r#"{"ratelimit":{"key":"x","seconds":1}}"#),
    ]
    .into_iter()
    .enumerate()
    {
        let rule = FaultRule::on(Endpoint::Move, fault);
        site.sim.faults().add(rule.nth(nth + 2));
    }
    let home = tempfile::tempdir().unwrap();
    let printed = home.path().join("printed");
    let out = File::create(&printed).unwrap();
    let bot = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["run", "--engine-panics", "500"])
        .args(IMPATIENT)
        .args(["--set", "engine.hash_mib=16", "--set", "engine.threads=1"])
        .args(["--set", "web.listen="])
        .current_dir(home.path())
        .env("RUNTIME_DIRECTORY", home.path())
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .env("LICHESS_TOKEN", &token)
        .env("KNIGHTWATCH__LICHESS__URL", &site.url)
        .env("RUST_LOG", "trace")
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .spawn();
    let mut bot = Killed(bot.unwrap());
    site.sim.add_player(hostile_player());
    wait("the bot has played for a while", || {
        let plies: usize = site.sim.games().iter().map(|game| game.plies).sum();
        (plies >= 30).then_some(())
    });
    // The token is revoked: the process exits with an error.
    let rejected = Fault::json(401, r#"{"error":"No such token"}"#);
    let rule = FaultRule::new(rejected).from_user(BOT);
    site.sim.faults().add(rule.times(usize::MAX));
    site.sim.break_streams(Some(BOT), None, StreamFault::Eof);
    let ended = wait("the bot has ended", || bot.0.try_wait().unwrap());
    let printed = String::from_utf8_lossy(&fs::read(&printed).unwrap()).into_owned();
    assert_eq!(ended.code(), Some(77), "{printed}");
    for words in [
        "TRACE",
        "panicked at",
        "posting",
        "posting the move failed",
        "error: ",
    ] {
        assert!(printed.contains(words), "not printed: {words}");
    }
    let leak = printed.lines().find(|line| line.contains(SECRET));
    assert_eq!(leak, None);
}

#[test]
fn token_in_wrong_place_is_masked() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    let printed = |arguments: &[&str], environment: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
        command.args(arguments).current_dir(home.path()).env_clear();
        command.env("HOME", home.path());
        command.envs(environment.map(|token| ("KNIGHTWATCH__LICHESS__TOKEN_FILE", token)));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let file = config.to_str().unwrap();
    for secret in [
        "lip_secret12345secret",
        "lio_secret12345secret12345",
        "secret12345secret",
    ] {
        let set = format!("lichess.token_file={secret}");
        for command in ["run", "check"] {
            fs::write(&config, format!("lichess.token_file = \"{secret}\"\n")).unwrap();
            for output in [
                printed(&[command, "--config", file], None),
                printed(&[command, "--set", &set], None),
                printed(&[command], Some(secret)),
            ] {
                assert!(!output.contains("secret12345"), "{output}");
                assert!(output.contains("looks like the token itself"), "{output}");
            }
            // The token file as configuration file.
            for text in [format!("{secret}\n"), format!("\u{feff} {secret} \r\n")] {
                fs::write(&config, text).unwrap();
                let output = printed(&[command, "--config", file], None);
                assert!(!output.contains("secret12345"), "{output}");
                assert!(output.contains("may be the token file"), "{output}");
            }
            fs::write(&config, format!("{secret} # mine\n[engine]\n")).unwrap();
            let output = printed(&[command, "--config", file], None);
            assert!(!output.contains("secret12345"), "{output}");
        }
    }
}

#[test]
fn arena_password_is_masked_in_errors() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    let text = "tournaments.join = [\"may24bot:hidden\", \"bad:hidden\"]\n[tournaments.x]\n";
    fs::write(&config, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .arg("run")
        .arg("--config")
        .arg(&config)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("may24bot:......"), "{printed}");
    assert!(!printed.contains("hidden"), "{printed}");
}

/// Runs `knightwatch join` with a control socket in a directory with this mode and owner: the request that the socket
/// received, and the output of the command.
fn connect_to_foreign_socket(mode: u32, owner: Option<u32>) -> (String, String) {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
    // The fallback directory without XDG_RUNTIME_DIR.
    let user = fs::metadata(home.path()).unwrap().uid();
    let directory = home.path().join(format!("knightwatch-{user}"));
    fs::create_dir(&directory).unwrap();
    let listener = UnixListener::bind(directory.join("control.sock")).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
    chown(&directory, owner, None).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["join", "may24bot:hunter2"])
        .env_clear()
        .env("TMPDIR", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut client, _) = listener.accept().unwrap();
    let mut received = String::new();
    BufReader::new(&mut client)
        .read_line(&mut received)
        .unwrap();
    // The client may already be closed.
    let _ = client.write_all(b"{\"done\":\"joined \\u001b]0;pwned\\u0007\\u009b31m\\nred\"}\n");
    let output = child.wait_with_output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (received, String::from_utf8(printed).unwrap())
}

#[test]
fn control_socket_of_other_user_is_not_used() {
    let (received, printed) = connect_to_foreign_socket(0o700, None);
    assert!(received.contains("hunter2"), "{received}");
    assert_eq!(printed, "joined ]0;pwned31m\nred\n");
    let (received, printed) = connect_to_foreign_socket(0o777, None);
    assert_eq!(received, "");
    assert!(printed.contains("can be written to by others"), "{printed}");
    let user = fs::metadata("/proc/self").unwrap().uid();
    if user != 0 {
        return skip("root", "only root can give a directory to another user");
    }
    let (received, printed) = connect_to_foreign_socket(0o755, Some(1));
    assert_eq!(received, "");
    assert!(printed.contains("belongs to another user"), "{printed}");
}

#[test]
fn token_file_readable_by_others_is_logged() {
    let site = Site::new([]);
    for (mode, open) in [(0o644, true), (0o640, true), (0o600, false)] {
        let home = tempfile::tempdir().unwrap();
        let (file, log) = (home.path().join("token"), home.path().join("log"));
        File::create(&file).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let token = site.sim.token_of(BOT);
        let mut bot = Daemon::launch_at(&site, &token, "", Vec::new(), home, log);
        bot.ready();
        let warned = bot.log().contains("others can read");
        assert_eq!(warned, open, "{mode:o}: {}", bot.log());
        assert!(!open || bot.log().contains("chmod 600"), "{}", bot.log());
        bot.stop();
    }
}

#[test]
fn token_is_never_sent_unencrypted() {
    for url in ["http://192.0.2.1", "http://lichess.example"] {
        let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
            .args(["run", "--set", &format!("lichess.url={url}")])
            .env("LICHESS_TOKEN", "lip_secret")
            .env("HOME", "/nonexistent")
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(78), "{printed}");
        assert!(printed.contains("unencrypted"), "{printed}");
        assert!(!printed.contains("lip_secret"), "{printed}");
    }
}

#[test]
fn metrics_with_foreign_host_or_origin_are_rejected() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let address = wait("the address is logged", || {
        let log = bot.log();
        let (_, rest) = log.split_once("are on http://")?;
        Some(rest.lines().next()?.trim().to_owned())
    });
    let status = |host: &str, origin: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].to_owned()
    };
    let own = format!("http://{address}");
    assert_eq!(status(&address, &own), "200");
    assert_eq!(status(&address, "http://evil.example"), "403");
    assert_eq!(status("evil.example", &own), "403");
}
