//! Output on a terminal, by `script` of util-linux.

use std::process::Command;

use knightwatch::sim::NewUser;
use knightwatch::store::Reader;

use crate::common::{Daemon, Site, wait};
use crate::games::{bot_mates, losing_player};

/// A time zone that differs from UTC by half an hour.
const ZONE: &str = "<+0530>-05:30";

/// Runs the program on a terminal in that time zone.
pub(crate) fn on_terminal(
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> (Option<i32>, String) {
    let quoted = arguments.iter().map(|argument| format!(" '{argument}'"));
    let command = format!(
        "exec {}{}",
        env!("CARGO_BIN_EXE_knightwatch"),
        quoted.collect::<String>()
    );
    let output = Command::new("script")
        .args(["-q", "-e", "-c", &command, "/dev/null"])
        .env("TZ", ZONE)
        .env("NO_COLOR", "1")
        .env_remove("LICHESS_TOKEN")
        .env_remove("JOURNAL_STREAM")
        .envs(environment.iter().copied())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    (output.status.code(), text)
}

#[test]
fn log_on_terminal_has_local_time_without_date() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().display().to_string();
    // The program warns about the variable, then fails because of the token.
    let run = [
        "run",
        "--set",
        "lichess.url=http://127.0.0.1:1",
        "--set",
        "web.listen=",
        "--set",
        "daemon.log_level=warn",
    ];
    let environment = [
        ("LICHESS_TOKEN", "wrong token"),
        ("KNIGHTWATCH_ENGINE_X", "1"),
        ("STATE_DIRECTORY", &*state),
    ];
    let (code, text) = on_terminal(&run, &environment);
    assert_eq!(code, Some(78), "{text}");
    let line = text
        .lines()
        .find(|line| line.contains("KNIGHTWATCH_ENGINE_X sets nothing"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    let now = || {
        let seconds = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 19_800;
        seconds / 60 % 1_440
    };
    let mut digits = line
        .split(':')
        .map(|part| part.trim().parse::<u64>().unwrap_or(0));
    let (hour, minute) = (digits.next().unwrap(), digits.next().unwrap());
    let behind = (now() + 1_440 - (60 * hour + minute)) % 1_440;
    assert!(behind <= 5, "{line}");
    assert_eq!(line.find(' '), Some("00:00:00".len()), "{line}");

    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(run)
        .env("TZ", ZONE)
        .envs(environment)
        .env_remove("JOURNAL_STREAM")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("KNIGHTWATCH_ENGINE_X sets nothing"));
    let (time, _) = line.unwrap().split_once(' ').unwrap();
    assert!(time.contains('T') && time.ends_with('Z'), "{text}");
}

#[test]
fn render_to_terminal_is_rejected() {
    let (code, text) = on_terminal(&["render", "startpos", "e4"], &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("-o FILE") && !text.contains("<svg"), "{text}");
}

#[test]
fn games_on_terminal_has_header_and_local_times() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, "");
    site.sim.add_player(losing_player("Randy"));
    let game = bot_mates(&site);
    let (_, port) = site.url.rsplit_once(':').unwrap();
    let file = bot.state().join(format!("127.0.0.1-{port}.sqlite"));
    let started = wait("the game is written", || {
        let record = Reader::open(&file).ok()?.record(&game.id).ok()??;
        record.game.finished.and(Some(record.game.started))
    });
    let state = bot.state().display().to_string();
    let environment = [
        ("STATE_DIRECTORY", &*state),
        ("KNIGHTWATCH__LICHESS__URL", &*site.url),
    ];
    let (code, text) = on_terminal(&["games"], &environment);
    assert_eq!(code, Some(0), "{text}");
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    assert!(
        header.starts_with("began (+0530)") && header.contains("opponent"),
        "{text}"
    );
    let minute = (started.unwrap() / 60_000 + 330) % 1_440;
    let (hour, minute) = (minute / 60, minute % 60);
    let line = lines.next().unwrap();
    assert_eq!(&line[11..16], format!("{hour:02}:{minute:02}"), "{text}");
    for (column, value) in [("id", &*game.id), ("color", "white"), ("result", "1-0")] {
        let at = header.find(column).unwrap();
        assert!(line[at..].starts_with(value), "{column}: {text}");
    }
}
