//! Process of an engine: lines in, lines out, with limits on time and size.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ChildStdin;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use knightwatch_chess::MoveError;
use rustix::io::Errno;

use super::engine_option::OptionKind;
use super::inbox::{End, Event, Inbox};
use super::process::{Process, ProcessTable};
use super::transcript::Transcript;

/// Time limit for the last lines of a process that has exited; its children may keep its output open.
const MAX_REST_TIME: Duration = Duration::from_millis(20);

/// Default of the time limits of [`Launch`]: networks of Lc0 take long to load.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Time for the end of a search on the opponent's time, whose result nobody wants any more.
const ABANDONED_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum duration of pondering.
const MAX_PONDER_TIME: Duration = Duration::from_secs(3_600);

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
    /// Time limit for the engine to be ready after it was given options.
    pub ready_timeout: Duration,
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
            ready_timeout: START_TIMEOUT,
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
    /// The working directory does not exist.
    #[error("the `directory` of the engine does not exist: {}", .0.display())]
    NoDirectory(PathBuf),
    /// The process has ended.
    #[error("{name} has exited{}", shown(last_lines))]
    Exited {
        /// Name of the engine.
        name: String,
        /// The last lines that it has written.
        last_lines: Vec<String>,
    },
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
    #[error("{0} writes too much output and is killed")]
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
    /// The option is set by the game that is played.
    #[error("{0} follows from each game; remove it from the options")]
    OptionOfGames(String),
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
    /// The best move is none of those that were to be searched.
    #[error("{name} ignores `searchmoves` and plays {mv}")]
    ExcludedMove {
        /// Name of the engine.
        name: String,
        /// The move in UCI notation.
        mv: String,
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

/// `; its last lines: cannot open the file`
fn shown(last_lines: &[String]) -> String {
    match last_lines {
        [] => String::new(),
        lines => format!("; its last lines: {}", lines.join(" | ")),
    }
}

impl EngineError {
    /// Returns whether the configuration has to be changed: starting the engine again does not help.
    pub fn is_mistake(&self) -> bool {
        matches!(
            self,
            Self::NoCommand
                | Self::UnknownOption { .. }
                | Self::OptionOfGames(_)
                | Self::BadValue { .. }
                | Self::Rejected { .. }
        )
    }

    /// The key of `[[engine.external]]` to correct; `None` if the error does not point to one.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            Self::NoCommand => Some("command"),
            Self::Start { error, .. } => {
                let is_not_executable = Errno::from_io_error(error) == Some(Errno::NOEXEC);
                let is_wrong = matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::PermissionDenied
                );
                (is_wrong || is_not_executable).then_some("command")
            }
            Self::NoDirectory(_) => Some("directory"),
            _ => None,
        }
    }
}

/// Ends the running search of a process, from another thread.
#[derive(Clone)]
pub struct StopSwitch(Arc<Inbox>);

impl StopSwitch {
    /// Asks for the best move now.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Turns pondering into a search with these deadlines.
    pub(crate) fn ponderhit(&self, deadlines: Deadlines) {
        self.0.ponder_hit(deadlines);
    }
}

/// A process and the lines from and to it; killed on drop.
pub(crate) struct Channel {
    /// Name for messages.
    pub name: String,
    process: Process,
    input: ChildStdin,
    inbox: Arc<Inbox>,
    transcript: Transcript,
    /// A search was told to stop since this was last reset.
    pub was_stopped: bool,
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.inbox.close();
    }
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
        let (process, input, output) = Process::start(launch, table)?;
        let program = launch.command.first().map_or("", String::as_str);
        let inbox = Arc::new(Inbox::default());
        let engine = Self {
            name: program.rsplit('/').next().unwrap_or(program).to_owned(),
            process,
            input,
            inbox: Arc::clone(&inbox),
            transcript: Transcript::default(),
            was_stopped: false,
        };
        thread::Builder::new()
            .name("engine output".to_owned())
            .spawn(move || inbox.read_lines(output))
            .map_err(|error| EngineError::Start {
                program: program.to_owned(),
                error,
            })?;
        Ok(engine)
    }

    /// Ends the search that runs in [`answer`](Self::answer), or that begins next.
    pub(crate) fn stop_switch(&self) -> StopSwitch {
        StopSwitch(Arc::clone(&self.inbox))
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The error of an engine whose output has ended.
    fn ended(&self, end: End) -> EngineError {
        let name = self.name.clone();
        match end {
            End::Flood => EngineError::Flood(name),
            End::Exited => {
                let errors = self.process.errors(MAX_REST_TIME);
                let last_lines = self.transcript.last_lines(&errors);
                EngineError::Exited { name, last_lines }
            }
        }
    }

    /// Takes the lines since the last call, with `>` before ours and `<` before the engine's.
    pub(crate) fn take_transcript(&mut self) -> Vec<String> {
        std::mem::take(&mut self.transcript).into_lines()
    }

    /// Drops everything that was meant for an earlier search.
    pub(crate) fn clear(&mut self) -> Result<(), EngineError> {
        self.transcript = Transcript::default();
        self.inbox.clear_signals();
        self.drop_lines()
    }

    /// Drops lines that were meant for an earlier search.
    pub(crate) fn drop_lines(&mut self) -> Result<(), EngineError> {
        match self.inbox.drop_lines() {
            None => Ok(()),
            Some(end) => {
                self.read_remaining();
                Err(self.ended(end))
            }
        }
    }

    pub(crate) fn send(&mut self, line: &str) -> Result<(), EngineError> {
        self.transcript.sent(line);
        if writeln!(self.input, "{line}").is_err() {
            self.read_remaining();
            return Err(self.ended(End::Exited));
        }
        Ok(())
    }

    /// Keeps the last lines of a process that has exited: they may say why.
    fn read_remaining(&mut self) {
        let deadline = Instant::now() + MAX_REST_TIME;
        while let Event::Line(line) = self.inbox.next_line(deadline) {
            self.transcript.received(&line);
        }
    }

    /// Reads lines until `on_line` returns something. Lines without end do not move the deadline.
    pub(crate) fn read_until<T>(
        &mut self,
        expected: &'static str,
        timeout: Duration,
        mut on_line: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, EngineError> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.inbox.next_line(deadline) {
                Event::Line(line) => {
                    self.transcript.received(&line);
                    if let Some(found) = on_line(&line) {
                        return Ok(found);
                    }
                }
                Event::Ended(end) => return Err(self.ended(end)),
                Event::Stop | Event::PonderHit(_) | Event::Timeout => {
                    return Err(EngineError::Silent {
                        name: self.name.clone(),
                        expected,
                        timeout,
                    });
                }
            }
        }
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
        let end_of_pondering = Instant::now() + MAX_PONDER_TIME;
        loop {
            let next = deadlines.map(|Deadlines { soft, hard, .. }| match soft {
                Some(soft) if !stopped && commands.stop.is_some() => soft.min(hard),
                _ => hard,
            });
            match self.inbox.next(next.unwrap_or(end_of_pondering)) {
                Event::Line(line) => {
                    self.transcript.received(&line);
                    if let Some(found) = on_line(&line)? {
                        if deadlines.is_some() {
                            return Ok(found);
                        }
                        // It must wait for the end of pondering.
                        found_early = Some(found);
                    }
                }
                Event::Ended(end) => return Err(self.ended(end)),
                Event::PonderHit(limits) if deadlines.is_none() => {
                    deadlines = Some(limits);
                    match found_early.take() {
                        Some(found) => return Ok(found),
                        None => self.send(commands.ponderhit)?,
                    }
                }
                Event::PonderHit(_) => {}
                Event::Stop | Event::Timeout if !stopped => {
                    if let Some(found) = found_early.take() {
                        return Ok(found);
                    }
                    stopped = true;
                    let limits = deadlines.get_or_insert_with(Deadlines::now);
                    limits.hard = limits.hard.min(Instant::now() + limits.stop_timeout);
                    if let Some(stop) = commands.stop {
                        self.was_stopped = true;
                        self.send(stop)?;
                    }
                }
                Event::Stop => {}
                Event::Timeout => {
                    // The move may have come in time, and this thread may be late.
                    for line in self.inbox.take_lines() {
                        self.transcript.received(&line);
                        if let Some(found) = on_line(&line)? {
                            return Ok(found);
                        }
                    }
                    return Err(EngineError::TooLate(self.name.clone()));
                }
            }
        }
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
