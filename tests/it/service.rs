//! What a service manager sees: notifications, the watchdog, the journal, and the unit itself.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use knightwatch::config::Settings;
use tempfile::TempDir;

use crate::common::{BOT, Killed, Site, signal, skip, wait};

const UNIT: &str = include_str!("../../systemd/knightwatch.service");

/// The bot's process, with these variables in its environment; killed when this is dropped. Its runtime directory.
struct Service {
    child: Killed,
    #[expect(dead_code, reason = "removed with the service")]
    runtime: TempDir,
}

impl Service {
    fn start(url: &str, variables: &[(&str, &str)]) -> Self {
        let runtime = tempfile::tempdir().unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
            .args([
                "run",
                "--set",
                "engine.hash_mib=8",
                "--set",
                "engine.threads=1",
                "--set",
                "web.listen=",
            ])
            .env("RUNTIME_DIRECTORY", runtime.path())
            .env("STATE_DIRECTORY", runtime.path())
            .env("LICHESS_TOKEN", format!("lip_{}", BOT.to_lowercase()))
            .env("KNIGHTWATCH__LICHESS__URL", url)
            .env("HOME", "/nonexistent")
            .env_remove("XDG_CONFIG_HOME")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let child = Killed(command.unwrap());
        Self { child, runtime }
    }

    fn terminate(&self) {
        signal(&self.child.0, "TERM");
    }
}

/// What systemd is told.
struct Told {
    directory: TempDir,
    socket: UnixDatagram,
}

impl Told {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        let patience = Some(Duration::from_millis(100));
        socket.set_read_timeout(patience).unwrap();
        Self { directory, socket }
    }

    fn path(&self) -> String {
        let path = self.directory.path().join("notify");
        path.to_str().unwrap().to_owned()
    }

    /// Waits for this line, and gives back what came with it.
    fn hear(&self, wanted: &str) -> String {
        wait(&format!("{wanted} is said"), || {
            let mut buffer = [0; 1024];
            let length = self.socket.recv(&mut buffer).ok()?;
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let said = text.lines().any(|line| line.starts_with(wanted));
            said.then_some(text)
        })
    }
}

#[test]
fn systemd_hears_how_it_is() {
    let site = Site::new([]);
    let told = Told::new();
    let path = told.path();
    let variables = [
        ("NOTIFY_SOCKET", path.as_str()),
        ("WATCHDOG_USEC", "400000"),
    ];
    let mut service = Service::start(&site.url, &variables);
    told.hear("READY=1");
    told.hear("WATCHDOG=1");
    told.hear("WATCHDOG=1");
    service.terminate();
    told.hear("STOPPING=1");
    assert_eq!(service.child.0.wait().unwrap().code(), Some(0));
}

#[test]
fn systemd_hears_of_a_reload() {
    let site = Site::new([]);
    let told = Told::new();
    let service = Service::start(&site.url, &[("NOTIFY_SOCKET", &told.path())]);
    told.hear("READY=1");
    told.hear("STATUS=Knightwatch: 0 games running");
    signal(&service.child.0, "HUP");
    assert!(told.hear("RELOADING=1").contains("MONOTONIC_USEC="));
    told.hear("READY=1");
}

#[test]
fn a_notify_socket_that_does_not_work_is_logged_once() {
    let site = Site::new([]);
    let variables = [
        ("NOTIFY_SOCKET", "/nonexistent/notify"),
        ("WATCHDOG_USEC", "150000"),
    ];
    let mut service = Service::start(&site.url, &variables);
    let lines = BufReader::new(service.child.0.stderr.take().unwrap()).lines();
    let mut warnings = 0;
    let mut terminated = false;
    for line in lines.map_while(Result::ok) {
        warnings += usize::from(line.contains("cannot notify systemd"));
        // Ready and online were to be told, and that it stops is still to be.
        if line.contains("online as") && !std::mem::replace(&mut terminated, true) {
            service.terminate();
        }
    }
    assert_eq!(warnings, 1);
}

#[test]
fn the_unit_reloads_with_an_answer() {
    assert_eq!(unit("ExecReload"), "/usr/local/bin/knightwatch reload");
}

#[test]
fn the_journal_gets_levels_and_no_colours() {
    // Nobody listens there, which is worth a warning.
    let mut service = Service::start("http://127.0.0.1:9", &[("JOURNAL_STREAM", "8:1")]);
    let lines = BufReader::new(service.child.0.stderr.take().unwrap()).lines();
    let warning = lines.map_while(Result::ok).find(|line| {
        assert!(line.starts_with('<') && !line.contains('\x1b'), "{line}");
        line.starts_with("<4>")
    });
    assert!(warning.is_some());
}

/// The value of a setting of the unit.
fn unit(name: &str) -> &'static str {
    let mut values = UNIT
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    values
        .next()
        .unwrap_or_else(|| panic!("the unit has no {name}"))
}

#[test]
fn the_unit_waits_longer_than_the_grace() {
    let stop: u64 = unit("TimeoutStopSec").parse().unwrap();
    assert!(stop > Settings::default().daemon.grace_s + 30);
}

#[test]
fn the_unit_does_not_restart_what_only_a_person_can_help() {
    assert_eq!(unit("RestartPreventExitStatus"), "69 77 78");
}

#[test]
fn a_crash_leaves_no_token_on_the_disk() {
    assert_eq!(unit("LimitCORE"), "0");
}

/// A game does not wait long, and nobody has to come after the fifth crash in a row.
#[test]
fn the_unit_is_soon_back_and_never_gives_up() {
    assert_eq!(unit("Restart"), "always");
    assert!(unit("RestartSec").parse::<u64>().unwrap() <= 2);
    // Lichess opens 30 event streams in ten minutes.
    assert!(unit("RestartMaxDelaySec").parse::<u64>().unwrap() >= 600 / 30);
    assert!(unit("RestartSteps").parse::<u64>().unwrap() > 0);
    assert!(unit("WatchdogSec").parse::<u64>().unwrap() <= 20);
    assert_eq!(unit("StartLimitIntervalSec"), "0");
}

#[test]
fn the_unit_is_locked_in() {
    let analysis = Command::new("systemd-analyze")
        .args([
            "security",
            "--offline=true",
            "--threshold=15",
            "--no-pager",
            "systemd/knightwatch.service",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    match analysis {
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        ),
        Err(_) => skip(
            "systemd",
            "there is no systemd-analyze (apt install systemd)",
        ),
    }
}
