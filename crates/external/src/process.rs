//! The operating system's side of an engine: its process, and the death of it with ours.

use std::io::{self, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use knightwatch_util::sync::lock;
use rustix::process::{Pid, Signal, kill_process_group};

use super::channel::{EngineError, Launch};

/// End of the error output that is kept, in bytes.
const MAX_ERRORS: usize = 2_000;

/// Kills the group of an engine as soon as our end of the pipe closes, which the kernel does however we end.
const GUARD: &str = "read -r line; kill -s KILL -- \"-$0\"";

/// Returns whether engines do not inherit an environment variable of ours: tokens and keys, settings, which may hold
/// such, and what systemd passes to its service. An engine is the program of somebody else.
fn is_private(name: &str) -> bool {
    let systemd = [
        "CREDENTIALS_DIRECTORY",
        "NOTIFY_SOCKET",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
    ];
    name.starts_with("LICHESS_TOKEN")
        || name.starts_with("KNIGHTWATCH__")
        || name.starts_with("WEB_") && name.ends_with("KEY")
        || systemd.contains(&name)
}

/// Processes of engines that run. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct ProcessTable(Arc<Mutex<Running>>);

#[derive(Default)]
struct Running {
    ids: Vec<u32>,
    closed: bool,
}

impl ProcessTable {
    fn lock(&self) -> MutexGuard<'_, Running> {
        lock(&self.0)
    }

    /// Adds a process that has been started.
    fn add(&self, id: u32) {
        let mut running = self.lock();
        running.ids.push(id);
        if running.closed {
            kill_group(id);
        }
    }

    /// Kills one that still runs, with its children.
    pub(crate) fn kill(&self, id: u32) {
        if self.lock().ids.contains(&id) {
            kill_group(id);
        }
    }

    /// Kills all, with their children, and those that are added later.
    pub(crate) fn kill_all(&self) {
        let mut running = self.lock();
        running.closed = true;
        running.ids.iter().for_each(|id| kill_group(*id));
    }
}

/// Kills a process that leads a group, and the group. It may have exited already.
fn kill_group(id: u32) {
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// A process that is killed on drop, with its children, such as those of a shell script.
pub(crate) struct Process {
    child: Child,
    /// Waits for our end: an engine that hangs does not notice that its input has closed. `None` if it cannot be started.
    guard: Option<Child>,
    table: ProcessTable,
    /// The end of its error output, once that has closed.
    errors: Receiver<Vec<u8>>,
}

impl Process {
    /// Starts the process, and notes it in the table while it runs.
    pub(crate) fn start(
        launch: &Launch,
        table: &ProcessTable,
    ) -> Result<(Self, ChildStdin, ChildStdout), EngineError> {
        let (program, arguments) = launch.command.split_first().ok_or(EngineError::NoCommand)?;
        let mut command = Command::new(program);
        let inherited = std::env::vars_os().map(|(name, _)| name);
        for name in inherited.filter(|name| is_private(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .envs(&launch.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C must not reach the engine: running games are finished.
            .process_group(0);
        if let Some(directory) = &launch.directory {
            // Otherwise the program seems to be missing.
            if !directory.is_dir() {
                return Err(EngineError::NoDirectory(directory.clone()));
            }
            command.current_dir(directory);
        }
        let failed = |error| EngineError::Start {
            program: program.clone(),
            error,
        };
        // Without a lock, since a slow disk may make this take long.
        let mut child = command.spawn().map_err(failed)?;
        table.add(child.id());
        let input = child.stdin.take();
        let pipes = input.zip(child.stdout.take()).zip(child.stderr.take());
        let guard = guard(child.id());
        let (sender, errors) = channel();
        let process = Self {
            child,
            guard: guard.ok(),
            table: table.clone(),
            errors,
        };
        let ((input, output), stderr) = pipes.ok_or(EngineError::NoCommand)?;
        thread::Builder::new()
            .name("engine errors".to_owned())
            // Nobody may ask.
            .spawn(move || drop(sender.send(read_end(stderr))))
            .map_err(failed)?;
        Ok((process, input, output))
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The end of the error output of a process that has exited. Its children may keep that open longer than `timeout`.
    pub(crate) fn errors(&self, timeout: Duration) -> String {
        let bytes = self.errors.recv_timeout(timeout).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(guard) = &mut self.guard {
            // Before its pipe is closed.
            let _ = guard.kill();
            let _ = guard.wait();
        }
        let id = self.child.id();
        kill_group(id);
        let _ = self.child.kill();
        // The id may be given to another process once this one was waited for.
        self.table.lock().ids.retain(|other| *other != id);
        let _ = self.child.wait();
    }
}

/// Starts [`GUARD`] for the group of a process. The death signal of Linux would spare its children, come with the end of a thread
/// of ours already, and need a copy of our memory at every start.
fn guard(id: u32) -> io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", GUARD, &id.to_string()])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Reads to the end, and keeps the last bytes.
fn read_end(output: ChildStderr) -> Vec<u8> {
    let (mut output, mut kept) = (BufReader::new(output), Vec::new());
    let mut chunk = [0; MAX_ERRORS];
    while let Ok(count @ 1..) = output.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        kept.drain(..kept.len().saturating_sub(MAX_ERRORS));
    }
    kept
}
