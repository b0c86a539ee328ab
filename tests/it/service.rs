//! Integration with systemd: notifications, watchdog, journal, and the unit file.

use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use knightwatch::config::Settings;
use tempfile::TempDir;

use crate::common::{BOT, Killed, Site, signal, skip, wait};

const UNIT: &str = include_str!("../../systemd/knightwatch.service");

/// Process of the bot, killed when dropped, and its runtime directory.
struct Service {
    child: Killed,
    #[expect(dead_code, reason = "removed with the service")]
    runtime: TempDir,
}

impl Service {
    fn start(url: &str, variables: &[(&str, &str)]) -> Self {
        Self::start_with_stderr(url, variables, Stdio::piped())
    }

    /// Starts it with a pipe that stands for the journal.
    fn start_in_journal(url: &str, variable: Option<(&str, &str)>) -> (Self, PipeReader) {
        let (stderr, writer) = pipe().unwrap();
        let about = rustix::fs::fstat(&writer).unwrap();
        let stream = format!("{}:{}", about.st_dev, about.st_ino);
        let stream = ("JOURNAL_STREAM", stream.as_str());
        let variables: Vec<_> = variable.into_iter().chain([stream]).collect();
        let service = Self::start_with_stderr(url, &variables, writer.into());
        (service, stderr)
    }

    fn start_with_stderr(url: &str, variables: &[(&str, &str)], stderr: Stdio) -> Self {
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
            .stderr(stderr)
            .spawn();
        let child = Killed(command.unwrap());
        Self { child, runtime }
    }

    fn terminate(&self) {
        signal(&self.child.0, "TERM");
    }
}

/// Socket that receives the notifications to systemd.
struct NotifySocket {
    directory: TempDir,
    socket: UnixDatagram,
}

impl NotifySocket {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        let timeout = Some(Duration::from_millis(100));
        socket.set_read_timeout(timeout).unwrap();
        Self { directory, socket }
    }

    fn path(&self) -> String {
        let path = self.directory.path().join("notify");
        path.to_str().unwrap().to_owned()
    }

    /// Waits for a message with a line that begins so; returns the whole message.
    fn receive(&self, wanted: &str) -> String {
        wait(&format!("{wanted} is said"), || {
            let mut buffer = [0; 1024];
            let length = self.socket.recv(&mut buffer).ok()?;
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let printed = text.lines().any(|line| line.starts_with(wanted));
            printed.then_some(text)
        })
    }
}

#[test]
fn systemd_is_notified_of_state() {
    let site = Site::new([]);
    let notify = NotifySocket::new();
    let path = notify.path();
    let variables = [
        ("NOTIFY_SOCKET", path.as_str()),
        ("WATCHDOG_USEC", "400000"),
    ];
    let mut service = Service::start(&site.url, &variables);
    notify.receive("READY=1");
    notify.receive("WATCHDOG=1");
    notify.receive("WATCHDOG=1");
    service.terminate();
    notify.receive("STOPPING=1");
    assert_eq!(service.child.0.wait().unwrap().code(), Some(0));
}

#[test]
fn systemd_is_notified_of_reload() {
    let site = Site::new([]);
    let notify = NotifySocket::new();
    let service = Service::start(&site.url, &[("NOTIFY_SOCKET", &notify.path())]);
    notify.receive("READY=1");
    notify.receive("STATUS=Knightwatch: 0 games running");
    signal(&service.child.0, "HUP");
    assert!(notify.receive("RELOADING=1").contains("MONOTONIC_USEC="));
    notify.receive("READY=1");
}

#[test]
fn systemd_notify_failure_is_logged_once() {
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
        // Two notifications have failed before, and the one about stopping fails later.
        if line.contains("online as") && !std::mem::replace(&mut terminated, true) {
            service.terminate();
        }
    }
    assert_eq!(warnings, 1);
}

#[test]
fn service_is_removed_by_a_program_that_it_could_not_start() {
    let home = tempfile::tempdir().unwrap();
    // The service has no access to the directory of temporary files.
    let program = home.path().join("knightwatch");
    std::fs::copy(env!("CARGO_BIN_EXE_knightwatch"), &program).unwrap();
    let run = |command: &str| {
        let mut process = std::process::Command::new(&program);
        let output = process.args(["service", command, "--dry-run"]).output();
        String::from_utf8(output.unwrap().stderr).unwrap()
    };
    assert!(run("install").contains("the service cannot start"));
    assert!(run("uninstall").contains("nothing to remove"));
}

#[test]
fn unit_reload_reports_result() {
    assert_eq!(
        unit_setting("ExecReload"),
        "/usr/local/bin/knightwatch reload"
    );
}

#[test]
fn journal_lines_have_levels_and_no_colors() {
    // The server is unreachable, which logs a warning.
    let (_service, stderr) = Service::start_in_journal("http://127.0.0.1:9", None);
    let lines = BufReader::new(stderr).lines();
    let warning = lines.map_while(Result::ok).find(|line| {
        assert!(line.starts_with('<') && !line.contains('\x1b'), "{line}");
        line.starts_with("<4>")
    });
    assert!(warning.is_some());
}

#[test]
fn lines_elsewhere_than_the_journal_have_no_levels() {
    let url = "http://127.0.0.1:9";
    let mut service = Service::start(url, &[("JOURNAL_STREAM", "8:1")]);
    let mut lines = BufReader::new(service.child.0.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(!first.starts_with('<') && first.contains('Z'), "{first}");
}

#[test]
fn error_that_ends_the_service_has_its_level_in_the_journal() {
    let wrong = ("KNIGHTWATCH__DAEMON__GRACE_S", "long");
    let (_service, stderr) = Service::start_in_journal("http://127.0.0.1:9", Some(wrong));
    let lines: Vec<String> = BufReader::new(stderr)
        .lines()
        .map_while(Result::ok)
        .collect();
    assert!(
        lines.len() > 1 && lines.iter().all(|line| line.starts_with("<3>")),
        "{lines:?}"
    );
}

/// The value of a setting in the unit file.
fn unit_setting(name: &str) -> &'static str {
    let mut values = UNIT
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    values
        .next()
        .unwrap_or_else(|| panic!("the unit file has no {name}"))
}

#[test]
fn unit_stop_timeout_exceeds_grace_period() {
    let stop: u64 = unit_setting("TimeoutStopSec").parse().unwrap();
    assert!(stop > Settings::default().daemon.grace_s + 30);
}

#[test]
fn unit_does_not_restart_after_fatal_exit_codes() {
    assert_eq!(unit_setting("RestartPreventExitStatus"), "69 77 78 243");
}

#[test]
fn unit_disables_core_dumps() {
    assert_eq!(unit_setting("LimitCORE"), "0");
}

#[test]
fn unit_restarts_soon_and_without_limit() {
    assert_eq!(unit_setting("Restart"), "always");
    assert!(unit_setting("RestartSec").parse::<u64>().unwrap() <= 2);
    // Lichess opens 30 event streams in ten minutes.
    assert!(unit_setting("RestartMaxDelaySec").parse::<u64>().unwrap() >= 600 / 30);
    assert!(unit_setting("RestartSteps").parse::<u64>().unwrap() > 0);
    assert!(unit_setting("WatchdogSec").parse::<u64>().unwrap() <= 20);
    assert_eq!(unit_setting("StartLimitIntervalSec"), "0");
}

#[test]
fn unit_is_sandboxed() {
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
