//! A system that gives no more threads.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use knightwatch::sim::{Endpoint, Fault, Rule, StreamFault};
use tempfile::TempDir;

use crate::common::{BOT, Daemon, Killed, Site, skip, wait};

const PROGRAM: &str = env!("CARGO_BIN_EXE_knightwatch");

/// A thread's stack, of which a limit on memory allows only so many.
const STACK: u64 = 64 << 20;

/// What the command says on its way to its end, and its exit code; nothing if it runs until it is online.
fn start(site: &Site, command: &mut Command) -> Option<(String, Option<i32>)> {
    let home = TempDir::new().unwrap();
    let log = home.path().join("log");
    let listen = ["--set", "daemon.listen=", "--set", "engine.hash_mib=1"];
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
    wait("it ends or plays", || {
        if let Some(status) = child.0.try_wait().unwrap() {
            return Some(Some((text(), status.code())));
        }
        text().contains("online as").then_some(None)
    })
}

#[test]
fn a_start_without_any_thread_ends_and_says_why() {
    let site = Site::new([]);
    let mut command = Command::new(PROGRAM);
    // No address space is as large.
    let (said, code) = start(
        &site,
        command
            .arg("run")
            .env("RUST_MIN_STACK", (1_u64 << 47).to_string()),
    )
    .expect("it does not play");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no more threads"), "{said}");
    assert!(said.contains("ulimit -u"), "{said}");
}

#[test]
fn a_start_with_too_few_threads_never_hangs() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip("prlimit", "there is no prlimit (apt install util-linux)");
    }
    let site = Site::new([]);
    let mut ended = 0;
    for threads in 1..12 {
        let most = (100 << 20) + threads * STACK;
        let mut command = Command::new("prlimit");
        command.arg(format!("--as={most}")).args([PROGRAM, "run"]);
        command.env("RUST_MIN_STACK", STACK.to_string());
        if let Some((said, code)) = start(&site, &mut command) {
            assert_ne!(code, Some(0), "{said}");
            assert!(!said.is_empty(), "{code:?}");
            ended += 1;
        }
    }
    assert!(ended > 0, "no limit was too small");
}

#[test]
fn what_is_kept_is_written_when_there_are_no_more_threads() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip("prlimit", "there is no prlimit (apt install util-linux)");
    }
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let stack = format!("RUST_MIN_STACK={STACK}");
    let entrance = vec!["env".to_owned(), stack];
    let bot = Daemon::launch_in(&site, "", entrance, home);
    bot.ready();
    let credits = |wanted: u64| {
        wait(&format!("{wanted} openings are counted"), || {
            let text = std::fs::read_to_string(bot.state_file("quota.json")?).ok()?;
            let quota: serde_json::Value = serde_json::from_str(&text).ok()?;
            let used = quota["windows"]["event.stream"]["credits"].as_u64()?;
            (used >= wanted).then_some(())
        });
    };
    credits(1);
    bot.allow_memory(STACK / 2);
    // By then a thread that has nothing to do would have ended.
    let end = Fault::Stream {
        after: 0,
        how: StreamFault::Eof,
    };
    let later = site.sim.elapsed() + Duration::from_secs(12);
    let rule = Rule::on(Endpoint::EventStream, end).of_user(BOT).at(later);
    site.sim.faults().add(rule);
    credits(2);
}
