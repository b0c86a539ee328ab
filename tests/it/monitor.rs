//! Monitoring of a running bot: `knightwatch status`, `/metrics`, `/healthz`.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use knightwatch::sim::{ChallengePlan, NewUser, PlayerKind, PlayerOptions, TimeControl};
use serde_json::{Value, json};

use crate::cli::knightwatch;
use crate::common::{BOT, Daemon, FAST_MOVES, SLOW, Site, wait};
use crate::etiquette::{act, start_game};
use crate::operator::run_command;
use crate::page::Url;
use crate::records;

fn status(socket: &Path, json: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command.arg("status").arg("--socket").arg(socket);
    if json {
        command.arg("--json");
    }
    command.output().unwrap()
}

fn parsed(socket: &Path) -> Value {
    let output = status(socket, true);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The logged address of the web server.
fn address(bot: &Daemon) -> String {
    wait("the address is logged", || {
        let log = bot.log();
        let (_, rest) = log.split_once("are on http://")?;
        Some(rest.lines().next()?.trim().to_owned())
    })
}

/// Status line and body of a request with this `Host`.
fn get(address: &str, path: &str, host: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn opponent(name: &str) -> PlayerOptions {
    PlayerOptions {
        delay: Duration::from_millis(50)..=Duration::from_millis(50),
        ..PlayerOptions::new(name, PlayerKind::Random).challenging(ChallengePlan {
            count: Some(1),
            ..ChallengePlan::against(BOT, TimeControl::clock(60, 0))
        })
    }
}

#[test]
fn status_shows_games_counts_and_health() {
    let site = Site::new([NewUser::human("Anna")]);
    let bot = Daemon::start(&site, FAST_MOVES);
    bot.ready();
    let socket = bot.socket();
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    let game = wait("a game with moves is seen", || {
        let status = parsed(&socket);
        let game = status["games"][0].clone();
        (game["ply"] == 2).then_some(game)
    });
    assert_eq!(
        (&game["id"], &game["opponent"]),
        (&json!(id), &json!("Anna"))
    );
    assert!(game["stream"]["open_s"].is_number(), "{game}");
    act(&anna, &id, "resign");
    let status = wait("the game is counted", || {
        let status = parsed(&socket);
        (status["counts"]["won"] == 1).then_some(status)
    });
    assert_eq!(status["account"], BOT);
    assert_eq!(status["stage"], "running");
    assert_eq!(status["health"]["is"], "ok");
    assert_eq!(status["stuck_game_recoveries"], 0);
    assert!(status["latency"]["post_ms"]["count"].as_u64().unwrap() > 0);
    assert!(status["memory_mib"].as_u64().unwrap() > 0);
    let moves = status["requests"].as_array().unwrap().iter();
    let moves = moves.filter(|requests| requests["kind"] == "move");
    assert!(moves.count() == 1);
    let shown = self::status(&socket, false);
    assert!(shown.status.success());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("1 won"), "{shown}");
}

#[test]
fn health_warns_of_records_that_cannot_be_written() {
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let file = records::file(&site, home.path());
    // A directory in place of the file.
    std::fs::create_dir(&file).unwrap();
    let directory = home.path().display();
    let bot = Daemon::start(
        &site,
        &format!("records = {{ directory = \"{directory}\" }}"),
    );
    let address = address(&bot);
    let health = || {
        let (code, text) = get(&address, "/healthz", &address);
        assert!(code.contains(" 200 "), "{code} {text}");
        text
    };
    let has_metric = |line: &str| {
        let metrics = get(&address, "/metrics", &address).1;
        assert!(
            metrics.lines().any(|other| other == line),
            "{line}: {metrics}"
        );
    };
    let text = wait("the event stream is open", || {
        Some(health()).filter(|text| text.lines().count() == 2)
    });
    let warning = "the records have not been written for ";
    assert!(
        text.starts_with(&format!("ok\nwarning: {warning}")),
        "{text}"
    );
    has_metric("knightwatch_healthy 1.0");
    has_metric("knightwatch_records_writable 0.0");
    has_metric("knightwatch_records_lost_events_total 0");
    let shown = run_command(&bot, &["status"]);
    let lines = format!("health   ok\nWARNING  {warning}");
    assert!(shown.contains(&lines), "{shown}");
    let status = parsed(&bot.socket());
    let text = status["warnings"][0].as_str().unwrap();
    assert!(text.starts_with(warning), "{status}");
    let failure = status["records"]["failure"].as_str().unwrap();
    assert!(failure.contains(file.to_str().unwrap()), "{status}");

    std::fs::remove_dir(&file).unwrap();
    wait("the records are written", || {
        (health() == "ok\n").then_some(())
    });
    has_metric("knightwatch_records_writable 1.0");
    assert_eq!(parsed(&bot.socket())["warnings"], Value::Null);
}

#[test]
fn page_command_prints_and_opens_address() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    bot.ready();
    let url = Url::of(&bot, 1);
    // The status shows the address of the page without its key.
    let known = parsed(&bot.socket());
    assert_eq!(known["page"], url.without_key());
    let shown = self::status(&bot.socket(), false);
    let shown = String::from_utf8(shown.stdout).unwrap();
    let line = format!(
        "page     {} (with its key: knightwatch page)",
        url.without_key()
    );
    assert!(shown.lines().any(|known| known == line), "{shown}");
    assert!(!known.to_string().contains(&url.key) && !shown.contains(&url.key));
    assert_eq!(
        run_command(&bot, &["page"]),
        format!("{}\n", url.with_key())
    );

    // A fake browser that records the URL, and one that fails.
    let tools = tempfile::tempdir().unwrap();
    let opened = tools.path().join("opened");
    let open_with = |script: &str| {
        let tool = tools.path().join("xdg-open");
        std::fs::write(&tool, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
        command
            .args(["page", "--open", "--socket"])
            .arg(bot.socket());
        command.env("PATH", tools.path()).output().unwrap()
    };
    let output = open_with(&format!("printf %s \"$1\" > {}", opened.display()));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_to_string(&opened).unwrap(), url.with_key());
    let output = open_with("exit 3");
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(
        printed.contains("xdg-open cannot open a browser"),
        "{printed}"
    );
    assert_eq!(output.stdout, format!("{}\n", url.with_key()).as_bytes());
}

#[test]
fn page_command_without_page_fails() {
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("control.sock");
    let config = format!(
        "web.listen = \"\"\ndaemon = {{ socket = \"{}\" }}",
        socket.display()
    );
    let bot = Daemon::start(&site, &config);
    bot.ready();
    assert_eq!(parsed(&socket)["page"], Value::Null);
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    let output = command
        .args(["page", "--socket"])
        .arg(&socket)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("no page is open: web.listen"), "{printed}");
}

#[test]
fn readiness_ends_with_a_pause() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let address = address(&bot);
    let wait_for = |code: &str| {
        wait(&format!("/readyz responds with {code}"), || {
            get(&address, "/readyz", &address)
                .0
                .contains(code)
                .then_some(())
        });
    };
    wait_for(" 200 ");
    run_command(&bot, &["pause"]);
    wait_for(" 503 ");
    assert!(get(&address, "/livez", &address).0.contains(" 200 "));
    run_command(&bot, &["resume"]);
    wait_for(" 200 ");
}

#[test]
fn page_opens_when_its_address_becomes_free() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("control.sock");
    // No connection begins at this address, so nobody else takes the port.
    let listener = TcpListener::bind("127.0.0.7:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let config = format!(
        "web.listen = \"{address}\"\ndaemon = {{ socket = \"{}\" }}",
        socket.display()
    );
    let bot = Daemon::start(&site, &config);
    let warnings = || parsed(&socket)["warnings"].to_string();
    let problem = format!("no page on {address}: ");
    wait("the problem is shown", || {
        warnings().contains(&problem).then_some(())
    });
    let game = site.player("Anna").start(&SLOW);
    wait("the game is seen", || {
        (parsed(&socket)["games"][0]["opponent"] == "Anna").then_some(())
    });
    drop(listener);
    assert_eq!(self::address(&bot), address);
    assert!(get(&address, "/livez", "localhost").0.contains(" 200 "));
    assert!(!warnings().contains("no page"));
    // The page knows what happened before.
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut received = Vec::new();
    wait("the snapshot has the game", || {
        let mut part = [0; 4_096];
        let length = stream.read(&mut part).unwrap();
        assert!(length > 0, "the stream has ended");
        received.extend_from_slice(&part[..length]);
        String::from_utf8_lossy(&received)
            .contains(&game)
            .then_some(())
    });
}

#[test]
fn metrics_and_health_are_served_locally_only() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    bot.ready();
    let address = address(&bot);
    let (line, body) = get(&address, "/metrics", &address);
    assert_eq!(line, "HTTP/1.1 200 OK");
    assert!(
        body.contains("knightwatch_oldest_turn_seconds 0.0"),
        "{body}"
    );
    let (line, body) = get(&address, "/healthz", "localhost");
    assert_eq!((line.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "ok\n"));
    let (line, _) = get(&address, "/metrics", "evil.example");
    assert_eq!(line, "HTTP/1.1 403 Forbidden");
    let (line, _) = get(&address, "/nothing", &address);
    assert_eq!(line, "HTTP/1.1 404 Not Found");
}

#[test]
fn status_without_daemon_fails() {
    let directory = tempfile::tempdir().unwrap();
    let output = status(&directory.path().join("control.sock"), false);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("no daemon is running"), "{printed}");
}

#[test]
fn commands_without_usable_configuration_say_so() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("knightwatch.toml"), "hash_mibb = 16\n").unwrap();
    for command in ["status", "reload"] {
        let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
            .arg(command)
            .current_dir(home.path())
            .env("XDG_RUNTIME_DIR", home.path())
            .env("STATE_DIRECTORY", home.path())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(printed.contains("hash_mibb"), "{printed}");
        assert!(
            printed.contains("trying the default control sockets"),
            "{printed}"
        );
    }
    let output = knightwatch(&["status", "--config", "knightwatch.toml"])
        .current_dir(home.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(
        printed.contains("hash_mibb") && printed.ends_with("control socket of a running bot\n"),
        "{printed}"
    );
}

#[test]
fn control_socket_is_replaced_only_after_crash() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, "");
    bot.ready();
    bot.crash_and_restart();
    wait("the new one answers", || {
        status(&bot.socket(), true).status.success().then_some(())
    });
    let config = format!(
        "web.listen = \"\"\ndaemon = {{ socket = \"{}\" }}",
        bot.socket().display()
    );
    let second = Daemon::start_as(&site, "Anna", &config, &[]);
    wait("the second one warns and goes on", || {
        second
            .log()
            .contains("another daemon has the control socket")
            .then_some(())
    });
}

#[test]
fn json_log_has_one_object_a_line() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let config = format!(
        "web.listen = \"\"\ndaemon = {{ socket = \"{}\", log_format = \"json\" }}\n",
        home.path().join("control.sock").display()
    );
    let bot = Daemon::start(&site, &config);
    site.sim.add_player(opponent("Randy"));
    let game = site.started(1).remove(0);
    wait("the game is in the log", || {
        bot.log().contains("playing").then_some(())
    });
    let log = bot.log();
    // The last line may be incomplete.
    let complete = &log[..=log.rfind('\n').unwrap()];
    let lines: Vec<Value> = complete
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let of_game = lines
        .iter()
        .find(|line| line["event"] == "game_started")
        .unwrap_or_else(|| panic!("no line of the game: {log}"));
    assert_eq!(of_game["game"], game.id.as_str(), "{of_game}");
    assert_eq!(of_game["account"], BOT, "{of_game}");
    assert_eq!(of_game["level"], "INFO", "{of_game}");
    assert!(of_game["message"].is_string() && of_game["timestamp"].is_string());
}
