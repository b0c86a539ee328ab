//! Behavior when the system provides no more threads.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use knightwatch::sim::{Endpoint, Fault, FaultRule, StreamFault};
use tempfile::TempDir;

use crate::common::{BOT, Daemon, Killed, Site, skip, wait};

const PROGRAM: &str = env!("CARGO_BIN_EXE_knightwatch");

/// Stack size of a thread; a limit on memory allows only a few.
const STACK_BYTES: u64 = 64 << 20;

/// Runs a command to its end; returns its output and exit code, or `None` if it comes online.
fn run_until_online(site: &Site, command: &mut Command) -> Option<(String, Option<i32>)> {
    let home = TempDir::new().unwrap();
    let log = home.path().join("log");
    let listen = ["--set", "web.listen=", "--set", "engine.hash_mib=1"];
    let child = command
        .args(listen)
        .current_dir(home.path())
        .env("STATE_DIRECTORY", home.path())
        .env("RUNTIME_DIRECTORY", home.path())
        .env("LICHESS_TOKEN", site.sim.token_of(BOT))
        .env("KNIGHTWATCH__LICHESS__URL", &site.url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let mut child = Killed(child);
    let text = || std::fs::read_to_string(&log).unwrap_or_default();
    wait("the command ends or comes online", || {
        if let Some(status) = child.0.try_wait().unwrap() {
            return Some(Some((text(), status.code())));
        }
        text().contains("online as").then_some(None)
    })
}

#[test]
fn start_without_threads_fails_with_reason() {
    let site = Site::new([]);
    let mut command = Command::new(PROGRAM);
    // No address space is that large.
    let (output, code) = run_until_online(
        &site,
        command
            .arg("run")
            .env("RUST_MIN_STACK", (1_u64 << 47).to_string()),
    )
    .expect("the start fails");
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("no more threads"), "{output}");
    assert!(output.contains("ulimit -u"), "{output}");
}

#[test]
fn start_with_too_few_threads_never_hangs() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip(
            "prlimit",
            "prlimit is not installed (apt install util-linux)",
        );
    }
    let site = Site::new([]);
    let mut ended = 0;
    for threads in 1..12 {
        let max_bytes = (100 << 20) + threads * STACK_BYTES;
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--as={max_bytes}"))
            .args([PROGRAM, "run"]);
        command.env("RUST_MIN_STACK", STACK_BYTES.to_string());
        if let Some((output, code)) = run_until_online(&site, &mut command) {
            assert_ne!(code, Some(0), "{output}");
            assert!(!output.is_empty(), "{code:?}");
            ended += 1;
        }
    }
    assert!(ended > 0, "no limit was too small");
}

#[test]
fn state_is_saved_without_new_threads() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip(
            "prlimit",
            "prlimit is not installed (apt install util-linux)",
        );
    }
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let stack = format!("RUST_MIN_STACK={STACK_BYTES}");
    let launcher = vec!["env".to_owned(), stack];
    let bot = Daemon::launch_in(&site, "", launcher, home);
    bot.ready();
    let credits = |expected: u64| {
        wait(&format!("{expected} openings are counted"), || {
            let text = std::fs::read_to_string(bot.state_file("quota.json")?).ok()?;
            let quota: serde_json::Value = serde_json::from_str(&text).ok()?;
            let used = quota["windows"]["event.stream"]["credits"].as_u64()?;
            (used >= expected).then_some(())
        });
    };
    credits(1);
    bot.limit_memory(STACK_BYTES / 2);
    // By then an idle thread would have ended.
    let end = Fault::Stream {
        after_lines: 0,
        fault: StreamFault::Eof,
    };
    let later = site.sim.elapsed() + Duration::from_secs(12);
    let rule = FaultRule::on(Endpoint::EventStream, end)
        .from_user(BOT)
        .at(later);
    site.sim.faults().add(rule);
    credits(2);
}
