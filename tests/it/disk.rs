//! Full and read-only disks, and a log that is not read.
//!
//! The daemon also writes its control socket and its [records](crate::records).

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use knightwatch::sim::{
    ChallengePlan, GameSummary, NewUser, PlayerKind, PlayerOptions, TimeControl,
};

use crate::common::{BOT, Daemon, FAST_MOVES, IMPATIENT, Site, skip, wait};
use crate::operator::{run_command, run_failing_command};

/// Flag of `open(2)` on all supported Linux platforms.
const O_NONBLOCK: i32 = 0o4000;

/// A file system of 2 MiB in memory, in a mount namespace held open by a process.
pub(crate) struct Disk {
    holder: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Its path, outside and inside the namespace.
    pub path: PathBuf,
    pub inside: PathBuf,
    /// Whether the namespace has users of its own.
    users: bool,
}

impl Disk {
    /// `None` if this user may not mount anything.
    pub(crate) fn new() -> Option<Self> {
        let mut ways = [vec!["-m"], vec!["-U", "-r", "-m"]].into_iter();
        let disk = ways.find_map(|flags| Self::with(&flags));
        if disk.is_none() {
            skip("mount", "unshare cannot mount anything here");
        }
        disk
    }

    fn with(flags: &[&str]) -> Option<Self> {
        let script = "mount -t tmpfs -o size=2m,mode=700 none /mnt && echo done; while read -r order; do eval \"$order\"; echo done; done";
        let mut holder = Command::new("unshare")
            .args(flags)
            .args(["sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let inside = PathBuf::from("/mnt");
        let mut disk = Self {
            orders: holder.stdin.take()?,
            answers: BufReader::new(holder.stdout.take()?),
            path: PathBuf::from(format!("/proc/{}/root/mnt", holder.id())),
            holder,
            inside,
            users: flags.contains(&"-U"),
        };
        (disk.answered() && disk.path.join(".").exists()).then_some(disk)
    }

    fn answered(&mut self) -> bool {
        let mut line = String::new();
        self.answers.read_line(&mut line).is_ok() && line == "done\n"
    }

    pub(crate) fn remount(&mut self, how: &str) {
        let inside = self.inside.display();
        writeln!(self.orders, "mount -o remount,{how} {inside}").unwrap();
        assert!(self.answered());
    }

    /// Start of a command line that runs inside the namespace.
    pub(crate) fn launcher(&self) -> Vec<String> {
        let holder = self.holder.id().to_string();
        let mut words = vec!["nsenter", "--target", &holder, "--mount"];
        if self.users {
            words.extend(["--user", "--preserve-credentials"]);
        }
        words.into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }

    /// Takes all space, including the rest of the last page of this file.
    pub(crate) fn fill(&self, file: &Path) {
        let mut filler = File::create(self.filler()).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
        let mut file = File::options().append(true).open(file).unwrap();
        while file.write_all(b"\n").is_ok() {}
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A player who moves at once and never stops playing.
pub(crate) fn partner() -> PlayerOptions {
    PlayerOptions {
        delay: Duration::from_millis(20)..=Duration::from_millis(20),
        ..PlayerOptions::new("Randy", PlayerKind::Random)
            .challenging(ChallengePlan::against(BOT, TimeControl::clock(30, 1)))
    }
}

fn total_plies(site: &Site) -> usize {
    site.sim.games().iter().map(|game| game.plies).sum()
}

/// Waits for this many more half-moves.
pub(crate) fn wait_for_more_plies(site: &Site, more: usize) {
    let goal = total_plies(site) + more;
    wait("the games go on", || {
        (total_plies(site) >= goal).then_some(())
    });
}

/// Checks that games were lost only on the board.
pub(crate) fn assert_fair(games: &[GameSummary]) {
    for game in games {
        assert!(
            !["outoftime", "aborted", "resign", "timeout"].contains(&game.status),
            "{game}"
        );
    }
}

fn launch(site: &Site, config: &str, home: tempfile::TempDir, log: &Path) -> Daemon {
    let token = site.sim.token_of(BOT);
    Daemon::launch_at(site, &token, config, Vec::new(), home, log.to_owned())
}

#[test]
fn disk_full_loses_log_lines_only() {
    let Some(disk) = Disk::new() else { return };
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir_in(&disk.path).unwrap();
    let log = home.path().join("log");
    // Closing it would free space.
    let config = format!("records = {{ enabled = false }}{FAST_MOVES}");
    let mut bot = launch(&site, &config, home, &log);
    bot.ready();
    site.sim.add_player(partner());
    wait_for_more_plies(&site, 2);
    disk.fill(&log);
    let full = bot.log().len();
    wait_for_more_plies(&site, 6);
    assert_eq!(bot.log().len(), full, "the disk is not full");
    for (command, done) in [
        (&["block", "Foe"][..], "blocked Foe"),
        (&["challenge", "Anna", "3+2", "--pairs", "1"], "the score"),
    ] {
        let refused = run_failing_command(&bot, command);
        let unsaved = format!("{done}; but only until the next restart");
        assert!(refused.contains(&unsaved), "{refused}");
    }
    // It is not needed at the start either.
    bot.crash_and_restart();
    wait_for_more_plies(&site, 4);
    assert_eq!(bot.log().len(), full);
    fs::remove_file(disk.filler()).unwrap();
    wait("the log goes on", || (bot.log().len() > full).then_some(()));
    let log = bot.log();
    let warnings = log.matches(" missing here: ").count();
    assert_eq!(warnings, 1, "{log}");
    let line = log
        .lines()
        .find(|line| line.contains("No space left on device"));
    let words: Vec<&str> = line.unwrap().split_whitespace().take(2).collect();
    // With the time, as the other lines have it.
    assert!(words[0].ends_with('Z') && words[1] == "WARN", "{words:?}");
    assert!(!log.contains("panicked"), "{log}");
    wait("the socket is there", || {
        bot.socket().exists().then_some(())
    });
    assert!(bot.is_running());
    assert_fair(&site.sim.games());
}

#[test]
fn disk_blocked_log_stops_no_game() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let mut bot = launch(&site, FAST_MOVES, home, Path::new("/dev/full"));
    site.sim.add_player(partner());
    wait_for_more_plies(&site, 8);
    assert_eq!(bot.stop().code(), Some(0));
    assert_fair(&site.sim.games());
}

#[test]
fn disk_blocked_log_keeps_exit_code() {
    let site = Site::new([]);
    // An unknown token, and an unknown key.
    for (config, code) in [("", 77), ("nonsense = 1", 78)] {
        let home = tempfile::tempdir().unwrap();
        let (pipe, _reader) = full_pipe(home.path());
        for log in [PathBuf::from("/dev/full"), pipe] {
            let home = tempfile::tempdir().unwrap();
            let outcome = format!("{code} with {}", log.display());
            let arguments = IMPATIENT.map(str::to_owned).to_vec();
            let mut bot = Daemon::launch_at(&site, "lip_nobody", config, arguments, home, log);
            assert_eq!(bot.ended().code(), Some(code), "{outcome}");
        }
    }
}

/// A full pipe, and its read end, which is not read.
fn full_pipe(home: &Path) -> (PathBuf, File) {
    let pipe = home.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut reader = File::options()
        .read(true)
        .write(true)
        .custom_flags(O_NONBLOCK)
        .open(&pipe)
        .unwrap();
    while reader.write(b"xxxx").is_ok() {}
    (pipe, reader)
}

/// Like a terminal halted with Ctrl-S, or a pager at the end of its page.
#[test]
fn disk_unread_log_stops_no_game() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let (pipe, mut reader) = full_pipe(home.path());
    let mut bot = launch(&site, FAST_MOVES, home, &pipe);
    site.sim.add_player(partner());
    wait_for_more_plies(&site, 10);
    let mut text = Vec::new();
    wait("what was logged is told to who comes back", || {
        // Reads what there is.
        let _ = reader.read_to_end(&mut text);
        String::from_utf8_lossy(&text)
            .contains("playing")
            .then_some(())
    });
    while reader.write(b"xxxx").is_ok() {}
    let ended = bot.stop().code();
    assert_eq!(ended, Some(0), "the end waits for nobody either");
    assert_fair(&site.sim.games());
}

#[test]
fn disk_read_only_delays_control_socket() {
    let Some(mut disk) = Disk::new() else { return };
    disk.remount("ro");
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let socket = disk.path.join("control.sock");
    let config = format!(
        "web.listen = \"\"\ndaemon = {{ socket = \"{}\" }}{FAST_MOVES}",
        socket.display()
    );
    let bot = launch(&site, &config, home, &log);
    site.sim.add_player(partner());
    wait_for_more_plies(&site, 4);
    let warnings = bot.log().matches("will not reach this daemon").count();
    assert_eq!(warnings, 1, "{}", bot.log());
    disk.remount("rw");
    wait("the socket is there", || socket.exists().then_some(()));
    fs::remove_file(&socket).unwrap();
    wait("it is there again", || socket.exists().then_some(()));
    assert_fair(&site.sim.games());
}

#[test]
fn disk_file_size_limit_loses_records_only() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    // In blocks of 1,024 bytes: room for the log lines of a start, but not of a game.
    std::fs::write(home.path().join("log"), "before\n".repeat((62 << 10) / 7)).unwrap();
    let limited = ["bash", "-c", "ulimit -f 64; exec \"$@\"", "limited"];
    let launcher = limited.map(str::to_owned).to_vec();
    let mut bot = Daemon::launch_in(&site, FAST_MOVES, launcher, home);
    bot.ready();
    let full = |bot: &Daemon| bot.log().len() >= 64 << 10;
    site.sim.add_player(partner());
    wait("the log is as long as it may be", || {
        full(&bot).then_some(())
    });
    wait_for_more_plies(&site, 20);
    assert!(bot.is_running());
    assert_fair(&site.sim.games());
    assert_eq!(bot.stop().code(), Some(0));
}

#[test]
fn disk_log_file_has_all_lines_and_is_opened_again() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("bot.log");
    let setting = format!("daemon.log_file={}", file.display());
    let arguments = ["--set", &setting, "--set", "daemon.log_format=json"];
    let bot = Daemon::start_with(&site, "", &arguments);
    let lines = |file: &Path| fs::read_to_string(file).unwrap_or_default();
    let message = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        line["message"].as_str().map(str::to_owned)
    };
    // Each output has its own time.
    let messages = |text: &str| -> Option<Vec<String>> { text.lines().map(message).collect() };
    wait("the file has the log", || {
        let shown = messages(&bot.log())?;
        (shown.len() > 3 && messages(&lines(&file))? == shown).then_some(())
    });
    let moved = home.path().join("moved.log");
    fs::rename(&file, &moved).unwrap();
    run_command(&bot, &["pause"]);
    wait("a new file is written", || {
        lines(&file)
            .contains("paused by the operator")
            .then_some(())
    });
    assert!(!lines(&moved).contains("paused by the operator"));
}

#[test]
fn disk_full_log_file_stops_no_game() {
    let Some(disk) = Disk::new() else { return };
    let site = Site::new([NewUser::bot("Anna")]);
    let file = disk.path.join("bot.log");
    let setting = format!("daemon.log_file={}", file.display());
    let arguments = [
        "--set",
        &setting,
        "--set",
        "daemon.log_level=debug",
        "--set",
        "daemon.log_file_mib=1",
    ];
    let bot = Daemon::start_with(&site, FAST_MOVES, &arguments);
    site.sim.add_player(partner());
    wait_for_more_plies(&site, 2);
    disk.fill(&file);
    wait_for_more_plies(&site, 6);
    fs::remove_file(disk.filler()).unwrap();
    wait("the file goes on", || {
        let text = fs::read_to_string(&file).ok()?;
        text.contains("No space left on device").then_some(())
    });
    assert!(!bot.log().contains("missing here"), "{}", bot.log());
    assert_fair(&site.sim.games());
}
