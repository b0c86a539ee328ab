//! A UCI engine in a process of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use knightwatch_chess::{CastlingNotation, Game, Move, MoveError, Position};
use knightwatch_util::spelling::choices;

use rustix::process::{Pid, Signal, kill_process_group};

use super::info::Info;
use super::option::{OptionKind, UciOption};

/// Default of [`Launch::timeout`]: networks of Lc0 take long to load.
const UCIOK_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for `readyok` after options and `ucinewgame`.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// Upper limit of a line, in bytes; the rest of a longer one is dropped.
const MAX_LINE_BYTES: u64 = 16 * 1024;

/// Lines that wait to be read. With more the engine waits.
const MAX_WAITING_LINES: usize = 256;

/// Upper limit of the options that are kept.
const MAX_OPTIONS: usize = 1_000;

/// Upper limit of the lines of one answer, before it counts as a flood.
const MAX_ANSWER_LINES: u64 = 1_000_000;

/// How to start an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Working directory.
    pub directory: Option<PathBuf>,
    /// Environment variables in addition to our own.
    pub environment: BTreeMap<String, String>,
    /// Time limit for `uciok` after the start.
    pub timeout: Duration,
}

impl Launch {
    /// A command that runs in our directory and environment.
    pub fn new<T: Into<String>>(command: impl IntoIterator<Item = T>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            directory: None,
            environment: BTreeMap::new(),
            timeout: UCIOK_TIMEOUT,
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
    #[error("{name} has not sent {expected} within {seconds} s")]
    Silent {
        /// Name of the engine.
        name: String,
        /// The missing answer.
        expected: &'static str,
        /// The time limit.
        seconds: u64,
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
    /// The engine plays standard chess only.
    #[error("{0} does not play Chess960")]
    NoChess960(String),
    /// A deadline has passed.
    #[error("{0} did not move in time")]
    TooLate(String),
}

/// Something that the reader of the output or another thread reports.
enum Message {
    Line(String),
    Exited,
    Stop,
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
}

/// Processes of engines that run. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct ProcessTable(Arc<Mutex<Vec<u32>>>);

impl ProcessTable {
    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A running engine; killed on drop.
pub struct UciProcess {
    name: String,
    _process: Process,
    input: ChildStdin,
    messages: Receiver<Message>,
    sender: SyncSender<Message>,
    options: Vec<UciOption>,
    /// Castling notation that it uses.
    notation: CastlingNotation,
}

/// A best move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The move.
    pub mv: Move,
    /// The reply that it expects.
    pub ponder: Option<Move>,
    /// The last information about the best line.
    pub info: Info,
}

impl UciProcess {
    /// Starts an engine, and waits until it has listed its options.
    ///
    /// # Errors
    /// When the program cannot be started or does not speak UCI.
    pub fn start(launch: &Launch) -> Result<Self, EngineError> {
        Self::start_in(launch, &ProcessTable::default())
    }

    /// Starts an engine like [`start`](Self::start), and notes its process in the table while it runs.
    pub(crate) fn start_in(launch: &Launch, table: &ProcessTable) -> Result<Self, EngineError> {
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
        let mut engine = Self {
            name: program.rsplit('/').next().unwrap_or(program).to_owned(),
            _process: process,
            input,
            messages,
            sender: sender.clone(),
            options: Vec::new(),
            notation: CastlingNotation::Standard,
        };
        thread::Builder::new()
            .name("engine output".to_owned())
            .spawn(move || forward_lines(output, &sender))
            .map_err(failed)?;
        engine.send("uci")?;
        let (mut name, mut options) = (None, Vec::new());
        engine.read_until("uciok", launch.timeout, |line| {
            let said = || {
                line.strip_prefix("id name ")
                    .map(|name| name.trim().to_owned())
            };
            name = name.take().or_else(said);
            if options.len() < MAX_OPTIONS {
                options.extend(UciOption::parse(line));
            }
        })?;
        if let Some(name) = name {
            engine.name = name.chars().filter(|c| !c.is_control()).take(80).collect();
        }
        engine.options = options;
        Ok(engine)
    }

    /// The name that it reports, or that of its program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of an option; `None` if the engine has no such option.
    pub fn option(&self, name: &str) -> Option<&OptionKind> {
        let mut options = self.options.iter();
        let option = options.find(|option| option.name.eq_ignore_ascii_case(name))?;
        Some(&option.kind)
    }

    /// Sets an option.
    ///
    /// # Errors
    /// When the option or the value does not exist: most engines would ignore the error. When the engine has exited.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        let (engine, option) = (self.name.clone(), name.to_owned());
        let Some(kind) = self.option(name) else {
            let names: Vec<&str> = self.options.iter().map(|option| &*option.name).collect();
            return Err(EngineError::UnknownOption {
                name: engine,
                choices: choices("options are", name, &names),
                option,
            });
        };
        let value = value.to_owned();
        if !kind.fits(&value) {
            let kind = kind.clone();
            return Err(EngineError::BadValue {
                name: engine,
                option,
                kind,
                value,
            });
        }
        self.send(&format!("setoption name {name} value {value}"))?;
        // Our own engine reports a rejected value like this.
        let prefix = format!("info string {name}: ");
        let mut rejected = None;
        self.ready(|line| {
            let why = || line.strip_prefix(&prefix).map(str::to_owned);
            rejected = rejected.take().or_else(why);
        })?;
        match rejected {
            None => Ok(()),
            Some(why) => Err(EngineError::Rejected {
                name: engine,
                option,
                value,
                why,
            }),
        }
    }

    /// Sets a numeric option to the nearest valid value. Does nothing if there is no such option.
    ///
    /// # Errors
    /// When the engine has exited.
    pub fn set_clamped(&mut self, name: &str, value: i64) -> Result<(), EngineError> {
        let Some(OptionKind::Spin(range)) = self.option(name) else {
            return Ok(());
        };
        let value = value.min(*range.end()).max(*range.start());
        self.send_option(name, &value.to_string())
    }

    /// Sets an option without waiting for the engine and without a check.
    ///
    /// # Errors
    /// When the engine has exited.
    pub(crate) fn send_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        self.send(&format!("setoption name {name} value {value}"))
    }

    /// Starts a new game from this position, and waits until the engine is ready for it, at most until `deadline`.
    ///
    /// # Errors
    /// When the engine has exited or is not ready in time, or the game is Chess960 and the engine does not support it.
    pub fn new_game(&mut self, start: &Position, deadline: Instant) -> Result<(), EngineError> {
        self.set_notation(start.castling_notation())?;
        self.send("ucinewgame")?;
        self.send("isready")?;
        let left = deadline.saturating_duration_since(Instant::now());
        self.read_until("readyok", left.min(READY_TIMEOUT), |_| ())
    }

    /// Switches between standard chess and Chess960.
    fn set_notation(&mut self, notation: CastlingNotation) -> Result<(), EngineError> {
        if self.notation == notation {
            return Ok(());
        }
        const OPTION: &str = "UCI_Chess960";
        let chess960 = notation == CastlingNotation::KingTakesRook;
        if self.option(OPTION).is_none() {
            return Err(EngineError::NoChess960(self.name.clone()));
        }
        self.notation = notation;
        self.send_option(OPTION, if chess960 { "true" } else { "false" })
    }

    /// Ends the search that runs in [`think`](Self::think) or begins next.
    pub fn stop_switch(&self) -> StopSwitch {
        StopSwitch(self.sender.clone())
    }

    /// Searches; `go` has the arguments of the command. `stop` is sent at `soft` or when the [`StopSwitch`] asks for it; at
    /// `hard`, or `stop_timeout` after `stop`, the search has failed. `on_info` gets the lines about the best line.
    ///
    /// # Errors
    /// When there is no legal move in time. The process must not be used any more, except after
    /// [`EngineError::IllegalMove`].
    pub fn think(
        &mut self,
        game: &Game,
        go: &str,
        deadlines: Deadlines,
        mut on_info: impl FnMut(&Info),
    ) -> Result<Answer, EngineError> {
        self.set_notation(game.initial().castling_notation())?;
        self.drain()?;
        let start = game.initial().fen();
        let mut position = format!("position fen {start}");
        if !game.moves().is_empty() {
            position.push_str(" moves");
        }
        for mv in game.moves() {
            position.push(' ');
            position.push_str(&mv.uci(self.notation).to_string());
        }
        self.send(&position)?;
        self.send(&format!("go {go}"))?;
        let mut last = Info::default();
        let mut hard = deadlines.hard;
        let mut stopped = false;
        for _ in 0..MAX_ANSWER_LINES {
            let next = match (stopped, deadlines.soft) {
                (false, Some(soft)) => soft.min(hard),
                _ => hard,
            };
            let wait = next.saturating_duration_since(Instant::now());
            let message = match wait.is_zero() {
                // A flood of lines does not move the deadline.
                true => Err(RecvTimeoutError::Timeout),
                false => self.messages.recv_timeout(wait),
            };
            let line = match message {
                Ok(Message::Line(line)) => line,
                Ok(Message::Exited) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(EngineError::Exited(self.name.clone()));
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Timeout) if !stopped => {
                    stopped = true;
                    hard = hard.min(Instant::now() + deadlines.stop_timeout);
                    self.send("stop")?;
                    continue;
                }
                Ok(Message::Stop) => continue,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(EngineError::TooLate(self.name.clone()));
                }
            };
            if let Some(info) = Info::parse(&line, game.position()) {
                if !info.pv.is_empty() {
                    on_info(&info);
                    last = info;
                }
                continue;
            }
            let mut words = line.split_whitespace();
            if words.next() != Some("bestmove") {
                continue;
            }
            let uci = words.next().unwrap_or_default();
            let mv = game.position().parse_uci(uci);
            let mv = mv.map_err(|source| EngineError::IllegalMove {
                name: self.name.clone(),
                fen: game.position().fen(),
                line: line.chars().filter(|c| !c.is_control()).take(80).collect(),
                source,
            })?;
            let reply = words.skip_while(|word| *word != "ponder").nth(1);
            let ponder = reply.and_then(|uci| {
                let mut after = game.position().clone();
                after.play(mv);
                after.parse_uci(uci).ok()
            });
            return Ok(Answer {
                mv,
                ponder,
                info: last,
            });
        }
        Err(EngineError::Flood(self.name.clone()))
    }

    /// Drops what was meant for an earlier search.
    fn drain(&mut self) -> Result<(), EngineError> {
        for message in self.messages.try_iter().take(MAX_WAITING_LINES) {
            if matches!(message, Message::Exited) {
                return Err(EngineError::Exited(self.name.clone()));
            }
        }
        Ok(())
    }

    /// Waits until the engine has done everything so far.
    fn ready(&mut self, on_line: impl FnMut(&str)) -> Result<(), EngineError> {
        self.send("isready")?;
        self.read_until("readyok", READY_TIMEOUT, on_line)
    }

    fn send(&mut self, line: &str) -> Result<(), EngineError> {
        writeln!(self.input, "{line}").map_err(|_| EngineError::Exited(self.name.clone()))
    }

    /// Reads lines until one begins with this word.
    fn read_until(
        &mut self,
        word: &'static str,
        timeout: Duration,
        mut on_line: impl FnMut(&str),
    ) -> Result<(), EngineError> {
        let deadline = Instant::now() + timeout;
        for _ in 0..MAX_ANSWER_LINES {
            let wait = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(wait) {
                Ok(Message::Line(line)) => {
                    on_line(&line);
                    if line.split_whitespace().next() == Some(word) {
                        return Ok(());
                    }
                }
                // Meant for a search that has ended.
                Ok(Message::Stop) => {}
                Ok(Message::Exited) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(EngineError::Exited(self.name.clone()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(EngineError::Silent {
                        name: self.name.clone(),
                        expected: word,
                        seconds: timeout.as_secs(),
                    });
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
    /// Time for `bestmove` after `stop`.
    pub stop_timeout: Duration,
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

/// Skips the rest of a line.
fn skip_line(output: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = output.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (used, done) = match end {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        output.consume(used);
        if done {
            return Ok(());
        }
    }
}
