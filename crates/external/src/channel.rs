//! Process of an engine: lines in, lines out, with limits on time and size.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use knightwatch_chess::MoveError;
use knightwatch_util::input::skip_line;
use knightwatch_util::sync::lock;
use knightwatch_util::text::clean;
use rustix::process::{Pid, Signal, kill_process_group};

use super::option::OptionKind;

/// Default of [`Launch::timeout`]: networks of Lc0 take long to load.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Upper limit of a line, in bytes; the rest of a longer one is dropped.
const MAX_LINE_BYTES: u64 = 16 * 1024;

/// Lines that wait to be read. With more the engine waits.
const MAX_WAITING_LINES: usize = 256;

/// Upper limit of the lines of one answer, before it counts as a flood.
const MAX_ANSWER_LINES: u64 = 1_000_000;

/// Time for the end of a search on the opponent's time, whose result nobody wants any more.
const ABANDONED_TIMEOUT: Duration = Duration::from_secs(1);

/// Upper limit of the time without a line while the engine ponders.
const MAX_PONDER_TIME: Duration = Duration::from_secs(3_600);

/// Lines that the dialogue of a search keeps: its first and its last ones.
const FIRST_LINES: usize = 4;
const LAST_LINES: usize = 8;

/// Upper limit of a line in the dialogue, in characters.
const MAX_DIALOGUE_CHARS: usize = 200;

/// Protocol of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Universal Chess Interface.
    #[default]
    Uci,
    /// Chess Engine Communication Protocol, version 2 or 1.
    Xboard,
    /// One JSON object in for each move, one line with the move out.
    Lines,
}

/// How to start an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Protocol that it speaks.
    pub protocol: Protocol,
    /// Working directory.
    pub directory: Option<PathBuf>,
    /// Environment variables in addition to our own.
    pub environment: BTreeMap<String, String>,
    /// Time limit for the engine to introduce itself after the start.
    pub timeout: Duration,
}

impl Launch {
    /// A UCI engine that runs in our directory and environment.
    pub fn new<T: Into<String>>(command: impl IntoIterator<Item = T>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            protocol: Protocol::Uci,
            directory: None,
            environment: BTreeMap::new(),
            timeout: START_TIMEOUT,
        }
    }
}

/// Errors of an engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The command is empty.
    #[error("the command of the engine is empty")]
    NoCommand,
    /// The program cannot be started.
    #[error("cannot start `{program}`: {error}")]
    Start {
        /// The program.
        program: String,
        /// The reason.
        error: std::io::Error,
    },
    /// The process has ended.
    #[error("{0} has exited")]
    Exited(String),
    /// The engine does not answer in time.
    #[error("{name} has not sent {expected} within {timeout:.1?}")]
    Silent {
        /// Name of the engine.
        name: String,
        /// The missing answer.
        expected: &'static str,
        /// The time limit.
        timeout: Duration,
    },
    /// The engine sends lines without end.
    #[error("{0} floods its output")]
    Flood(String),
    /// The engine has no such option.
    #[error("{name} has no option {option}; {choices}")]
    UnknownOption {
        /// Name of the engine.
        name: String,
        /// The option.
        option: String,
        /// The options that it has.
        choices: String,
    },
    /// The option does not take the value.
    #[error("{option} of {name} takes {kind}, not {value}")]
    BadValue {
        /// Name of the engine.
        name: String,
        /// The option.
        option: String,
        /// The values that it takes.
        kind: OptionKind,
        /// The value.
        value: String,
    },
    /// The engine rejects a value that its own description allows.
    #[error("{name} does not take {option}={value}: {why}")]
    Rejected {
        /// Name of the engine.
        name: String,
        /// The option.
        option: String,
        /// The value.
        value: String,
        /// Its reason.
        why: String,
    },
    /// The best move is not legal.
    #[error("{name} sent no legal move in {fen}: {line}")]
    IllegalMove {
        /// Name of the engine.
        name: String,
        /// The position.
        fen: String,
        /// The line.
        line: String,
        /// The problem with the move.
        source: MoveError,
    },
    /// The engine cannot play the game.
    #[error("{name} does not play {what}")]
    CannotPlay {
        /// Name of the engine.
        name: String,
        /// The kind of games.
        what: &'static str,
    },
    /// The engine ends the game instead of moving, which is for us to decide.
    #[error("{name} ends the game without a move: {line}")]
    GaveUp {
        /// Name of the engine.
        name: String,
        /// The line.
        line: String,
    },
    /// The engine does not accept a move of the game.
    #[error("{name} does not accept the moves of the game: {line}")]
    OutOfSync {
        /// Name of the engine.
        name: String,
        /// The line.
        line: String,
    },
    /// A deadline has passed.
    #[error("{0} did not move in time")]
    TooLate(String),
}

/// Something that the reader of the output or another thread reports.
enum Message {
    Line(String),
    Exited,
    Stop,
    PonderHit(Deadlines),
}

/// Ends the running search of a process, from another thread.
#[derive(Clone)]
pub struct StopSwitch(SyncSender<Message>);

impl StopSwitch {
    /// Asks for the best move now.
    pub fn stop(&self) {
        // If the queue is full, the search is about to be given up as a flood.
        let _ = self.0.try_send(Message::Stop);
    }

    /// Turns pondering into a search with these deadlines.
    pub(crate) fn ponderhit(&self, deadlines: Deadlines) {
        let _ = self.0.try_send(Message::PonderHit(deadlines));
    }
}

/// Processes of engines that run. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct ProcessTable(Arc<Mutex<Vec<u32>>>);

impl ProcessTable {
    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        lock(&self.0)
    }

    /// Kills all, with their children.
    pub(crate) fn kill_all(&self) {
        self.lock().iter().for_each(|id| kill_group(*id));
    }
}

/// Kills a process that leads a group, and the group. It may have exited already.
fn kill_group(id: u32) {
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// A process that is killed on drop, with its children, such as those of a shell script.
struct Process {
    child: Child,
    table: ProcessTable,
}

impl Drop for Process {
    fn drop(&mut self) {
        let id = self.child.id();
        kill_group(id);
        let _ = self.child.kill();
        // The id may be given to another process once this one was waited for.
        self.table.lock().retain(|other| *other != id);
        let _ = self.child.wait();
    }
}

/// A process and the lines from and to it; killed on drop.
pub(crate) struct Channel {
    /// Name for messages.
    pub name: String,
    _process: Process,
    input: ChildStdin,
    messages: Receiver<Message>,
    sender: SyncSender<Message>,
    /// Stops and ponder hits that came before the search was under way.
    early: VecDeque<Message>,
    dialogue: Dialogue,
}

/// The first and the last lines of a search.
#[derive(Default)]
struct Dialogue {
    lines: Vec<String>,
    omitted: usize,
}

impl Dialogue {
    fn push(&mut self, mark: char, line: &str) {
        if self.lines.len() == FIRST_LINES + LAST_LINES {
            self.lines.remove(FIRST_LINES);
            self.omitted += 1;
        }
        let line = printable(line, MAX_DIALOGUE_CHARS);
        self.lines.push(format!("{mark} {line}"));
    }
}

/// The start of a line without control characters and those that change the writing direction.
pub(crate) fn printable(line: &str, most: usize) -> String {
    let line = clean(&line.trim_end().replace('\t', " "));
    line.chars().take(most).collect()
}

/// Commands that end a search; `None` if the protocol has none.
#[derive(Clone, Copy)]
pub(crate) struct SearchCommands {
    pub stop: Option<&'static str>,
    pub ponderhit: &'static str,
}

impl Channel {
    /// Starts the process, and notes it in the table while it runs.
    pub(crate) fn start(launch: &Launch, table: &ProcessTable) -> Result<Self, EngineError> {
        let (program, arguments) = launch.command.split_first().ok_or(EngineError::NoCommand)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(&launch.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C must not reach the engine: running games are finished.
            .process_group(0);
        if let Some(directory) = &launch.directory {
            command.current_dir(directory);
        }
        let failed = |error| EngineError::Start {
            program: program.clone(),
            error,
        };
        let mut processes = table.lock();
        let child = command.spawn().map_err(failed)?;
        processes.push(child.id());
        drop(processes);
        let mut process = Process {
            child,
            table: table.clone(),
        };
        let pipes = process.child.stdin.take().zip(process.child.stdout.take());
        let (input, output) = pipes.ok_or(EngineError::NoCommand)?;
        let (sender, messages) = sync_channel(MAX_WAITING_LINES);
        let engine = Self {
            name: program.rsplit('/').next().unwrap_or(program).to_owned(),
            _process: process,
            input,
            messages,
            sender: sender.clone(),
            early: VecDeque::new(),
            dialogue: Dialogue::default(),
        };
        thread::Builder::new()
            .name("engine output".to_owned())
            .spawn(move || forward_lines(output, &sender))
            .map_err(failed)?;
        Ok(engine)
    }

    /// Ends the search that runs in [`answer`](Self::answer).
    pub(crate) fn stop_switch(&self) -> StopSwitch {
        StopSwitch(self.sender.clone())
    }

    pub(crate) fn exited(&self) -> EngineError {
        EngineError::Exited(self.name.clone())
    }

    /// Takes the lines since the last call, with `>` before ours and `<` before the engine's.
    pub(crate) fn take_dialogue(&mut self) -> Vec<String> {
        let Dialogue { mut lines, omitted } = std::mem::take(&mut self.dialogue);
        if omitted > 0 {
            lines.insert(FIRST_LINES, format!("({omitted} lines are omitted)"));
        }
        lines
    }

    /// Drops everything that was meant for an earlier search.
    pub(crate) fn clear(&mut self) -> Result<(), EngineError> {
        self.drop_lines()?;
        self.early.clear();
        self.dialogue = Dialogue::default();
        Ok(())
    }

    /// Drops lines that were meant for an earlier search.
    pub(crate) fn drop_lines(&mut self) -> Result<(), EngineError> {
        for _ in 0..MAX_WAITING_LINES {
            match self.messages.try_recv() {
                Ok(Message::Line(_)) => {}
                Ok(Message::Exited) | Err(TryRecvError::Disconnected) => return Err(self.exited()),
                Ok(early) => self.early.push_back(early),
                Err(TryRecvError::Empty) => break,
            }
        }
        Ok(())
    }

    pub(crate) fn send(&mut self, line: &str) -> Result<(), EngineError> {
        self.dialogue.push('>', line);
        writeln!(self.input, "{line}").map_err(|_| self.exited())
    }

    /// Reads lines until `on_line` returns something.
    pub(crate) fn read_until<T>(
        &mut self,
        expected: &'static str,
        timeout: Duration,
        mut on_line: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, EngineError> {
        let deadline = Instant::now() + timeout;
        for _ in 0..MAX_ANSWER_LINES {
            let wait = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(wait) {
                Ok(Message::Line(line)) => {
                    if let Some(found) = on_line(&line) {
                        return Ok(found);
                    }
                }
                Ok(Message::Exited) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.exited());
                }
                Ok(early) => self.early.push_back(early),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(EngineError::Silent {
                        name: self.name.clone(),
                        expected,
                        timeout,
                    });
                }
            }
        }
        Err(EngineError::Flood(self.name.clone()))
    }

    /// Reads the lines of a search until `on_line` returns its result. The deadlines are kept; `None` while it ponders.
    pub(crate) fn answer<T>(
        &mut self,
        mut deadlines: Option<Deadlines>,
        commands: SearchCommands,
        mut on_line: impl FnMut(&str) -> Result<Option<T>, EngineError>,
    ) -> Result<T, EngineError> {
        let mut stopped = false;
        let mut found_early = None;
        for _ in 0..MAX_ANSWER_LINES {
            let next = deadlines.map(|Deadlines { soft, hard, .. }| match soft {
                Some(soft) if !stopped && commands.stop.is_some() => soft.min(hard),
                _ => hard,
            });
            let wait = next.map_or(MAX_PONDER_TIME, |next| {
                next.saturating_duration_since(Instant::now())
            });
            let message = match self.early.pop_front() {
                Some(message) => Ok(message),
                // A flood of lines does not move the deadline.
                None if wait.is_zero() => Err(RecvTimeoutError::Timeout),
                None => self.messages.recv_timeout(wait),
            };
            match message {
                Ok(Message::Line(line)) => {
                    self.dialogue.push('<', &line);
                    if let Some(found) = on_line(&line)? {
                        if deadlines.is_some() {
                            return Ok(found);
                        }
                        // It must wait for the end of pondering.
                        found_early = Some(found);
                    }
                }
                Ok(Message::Exited) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.exited());
                }
                Ok(Message::PonderHit(limits)) if deadlines.is_none() => {
                    deadlines = Some(limits);
                    match found_early.take() {
                        Some(found) => return Ok(found),
                        None => self.send(commands.ponderhit)?,
                    }
                }
                Ok(Message::PonderHit(_)) => {}
                Ok(Message::Stop) | Err(RecvTimeoutError::Timeout) if !stopped => {
                    if let Some(found) = found_early.take() {
                        return Ok(found);
                    }
                    stopped = true;
                    let limits = deadlines.get_or_insert_with(Deadlines::now);
                    limits.hard = limits.hard.min(Instant::now() + limits.stop_timeout);
                    if let Some(stop) = commands.stop {
                        self.send(stop)?;
                    }
                }
                Ok(Message::Stop) => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(EngineError::TooLate(self.name.clone()));
                }
            }
        }
        Err(EngineError::Flood(self.name.clone()))
    }
}

/// Times of a search.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// When `stop` is sent.
    pub soft: Option<Instant>,
    /// When the search has failed.
    pub hard: Instant,
    /// Time for the move after `stop`.
    pub stop_timeout: Duration,
}

impl Deadlines {
    /// Those of a search that is stopped before it has any.
    fn now() -> Self {
        Self {
            soft: None,
            hard: Instant::now() + ABANDONED_TIMEOUT,
            stop_timeout: ABANDONED_TIMEOUT,
        }
    }
}

/// Forwards the engine's output until it ends or the receiver is dropped.
fn forward_lines(output: ChildStdout, sender: &SyncSender<Message>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut output)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if !line.ends_with(b"\n") && skip_line(&mut output).is_err() {
            break;
        }
        // Some engines write their author's name in other encodings than UTF-8.
        let text = String::from_utf8_lossy(&line).into_owned();
        if sender.send(Message::Line(text)).is_err() {
            return;
        }
    }
    // The receiver may be gone.
    let _ = sender.send(Message::Exited);
}
