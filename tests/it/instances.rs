//! Two instances with one token. Lichess serves one event stream at a time: opening a second one closes the first.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use knightwatch::control::{self, Request, Response};
use knightwatch::sim::{
    ChallengePlan, Endpoint, NewUser, PlayerKind, PlayerOptions, SimOptions, TimeControl,
};
use serde_json::json;

use crate::common::{BOT, Daemon, Site, requests_of, wait};
use crate::operator::{run_command, status};

/// How much faster than real time all clocks run: two minutes take twelve seconds.
const SPEED: f64 = 10.0;

/// Age of an instance that stays in any case, by its own clock.
const OLD: Duration = Duration::from_secs(30);

/// Opens the event stream as another instance would, which closes the open one.
fn open_rival_stream(site: &Site) -> TcpStream {
    let address = site.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /api/stream/event HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        site.sim.token_of(BOT)
    )
    .unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    stream
}

/// Logged waits before the stream is opened again, in seconds.
fn logged_waits(bot: &Daemon) -> Vec<f64> {
    let log = bot.log();
    let waits = log.lines().filter_map(|line| {
        let (_, rest) = line.split_once("offline; reconnecting in ")?;
        let (wait, _) = rest.split_once(": ")?;
        let (number, unit) = wait.split_at(wait.find(|c: char| c.is_alphabetic())?);
        let factor = if unit == "s" { 1.0 } else { 1e-3 };
        Some(number.parse::<f64>().ok()? * factor)
    });
    waits.collect()
}

fn online_count(bot: &Daemon) -> usize {
    bot.log().matches("online as").count()
}

/// Age of the process according to its status, in real time.
fn process_age(bot: &Daemon) -> Option<Duration> {
    match control::send_request(Some(&bot.socket()), &Request::Status) {
        Ok(Response::Status(status)) => Some(Duration::from_secs(status.uptime_s)),
        _ => None,
    }
}

/// Configuration of a control socket that belongs to another process.
fn socket_of(bot: &Daemon) -> String {
    let socket = bot.socket();
    format!(
        "web.listen = \"127.0.0.1:0\"\ndaemon = {{ socket = \"{}\" }}\n",
        socket.display()
    )
}

fn stream_count(site: &Site) -> usize {
    requests_of(site, BOT, Endpoint::EventStream).len()
}

#[test]
fn instances_second_on_machine_exits_first() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut first = Daemon::start(&site, "");
    wait(
        "it tells which account it plays",
        || match control::send_request(Some(&first.socket()), &Request::Status) {
            Ok(Response::Status(status)) => status.live.account,
            _ => None,
        },
    );
    let opened = stream_count(&site);
    let mut second = Daemon::launch_as(&site, &site.sim.token_of(BOT), &socket_of(&first));
    assert_eq!(second.ended().code(), Some(69), "{}", second.log());
    let warning = format!(
        "knightwatch is already running and plays {BOT} (pid {})",
        first.pid()
    );
    let log = second.log();
    assert!(
        log.contains(&warning) && log.contains("knightwatch status"),
        "{log}"
    );
    assert_eq!(stream_count(&site), opened);
    // The one error, and nothing about a page or a socket in use.
    assert!(!log.contains("WARN") && !log.contains("the page:"), "{log}");
    assert!(!first.log().contains("offline"), "{}", first.log());

    // An instance with another account plays.
    let mut third = Daemon::start_as(&site, "Anna", &socket_of(&first), &[]);
    assert!(third.is_running() && first.is_running());
}

#[test]
fn instances_accounts_in_one_directory_stay_apart() {
    let site = Site::new([
        NewUser::bot("Anna"),
        NewUser::bot("Bert"),
        NewUser::bot("Cleo"),
    ]);
    let home = tempfile::tempdir().unwrap();
    // As written by an earlier version.
    let server = site.url.strip_prefix("http://").unwrap().replace(':', "-");
    let shared = home.path().join(format!("{server}.overrides.json"));
    std::fs::write(&shared, "{\"blocked\": [\"Cleo\"]}").unwrap();
    let config = format!(
        "records = {{ directory = \"{}\" }}\n",
        home.path().display()
    );
    let mut one = Daemon::start(&site, &config);
    let mut other = Daemon::start_as(&site, "Anna", &config, &[]);
    run_command(&one, &["block", "Bert"]);
    run_command(&one, &["pause"]);
    run_command(&other, &["block", "Nobody"]);
    for bot in [&mut one, &mut other] {
        bot.crash_and_restart();
        online_again(bot);
    }
    assert_eq!(status(&one)["paused"], true);
    assert_eq!(status(&other)["paused"], false);
    assert_eq!(status(&one)["blocked"], json!(["Cleo", "Bert"]));
    assert_eq!(status(&other)["blocked"], json!(["Cleo", "Nobody"]));
    for name in ["knightwatch", "anna"] {
        let file = home.path().join(format!("{name}@{server}.overrides.json"));
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// Waits until a process that was started twice has reported its state.
fn online_again(bot: &Daemon) {
    wait("it is online again", || {
        (online_count(bot) == 2).then_some(())
    });
    wait("it tells how it stands", || {
        status(bot)["account"].is_string().then_some(())
    });
}

fn total_plies(site: &Site) -> usize {
    site.sim.games().iter().map(|game| game.plies).sum()
}

#[test]
fn instances_older_stays_and_younger_exits() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT)],
        speed: SPEED,
        ..SimOptions::default()
    });
    let mut old = Daemon::start_with(&site, "", &["--time-scale", &SPEED.to_string()]);
    site.sim.add_player(
        PlayerOptions::new("Randy", PlayerKind::Random)
            .challenging(ChallengePlan::against(BOT, TimeControl::clock(300, 3))),
    );
    site.started(1);
    wait("it is old", || {
        let age = process_age(&old)?;
        (age > OLD.div_f64(SPEED) + Duration::from_secs(1)).then_some(())
    });

    let mut young = Daemon::start(&site, "");
    assert_eq!(young.ended().code(), Some(69), "{}", young.log());
    let log = young.log();
    for warning in [
        "error: another instance is using this token",
        "3 times",
        "its own account",
    ] {
        assert!(log.contains(warning), "{warning}: {log}");
    }
    wait("the older one is back", || {
        (online_count(&old) > logged_waits(&old).len()).then_some(())
    });

    // An instance that does not leave: the older one reconnects again and again, but ever more slowly.
    let played = total_plies(&site);
    wait("it waits for about a minute", || {
        let lost = logged_waits(&old).len();
        if logged_waits(&old).last().is_some_and(|&wait| wait >= 45.0) {
            return Some(());
        }
        if online_count(&old) > lost {
            let rival = open_rival_stream(&site);
            wait("the older one is told", || {
                (logged_waits(&old).len() > lost).then_some(())
            });
            drop(rival);
        }
        None
    });
    let waits = logged_waits(&old);
    assert!(waits.iter().all(|&wait| wait <= 60.0), "{waits:?}");
    assert!(old.is_running());
    assert!(total_plies(&site) > played, "the game stands still");
    let log = old.log();
    assert!(!log.contains("another instance"), "{log}");
    for game in site.sim.games() {
        assert!(
            ["started", "mate", "draw", "stalemate"].contains(&game.status),
            "{game}"
        );
    }
    assert_eq!(old.stop().code(), Some(0));
}
