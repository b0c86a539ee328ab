//! Log lines go to stderr: coloured and with the time of day on a terminal, bare in the journal, which has its own clock and levels.
//!
//! Whoever logs never waits and never fails ([`queue`]): a full disk, a pipe that nobody reads any more and a terminal
//! that is halted cost lines of the log and nothing else.

mod queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{Level, Metadata, error};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::config::LogLevel;
use queue::Queue;

static QUEUE: Queue = Queue::new();

static STARTED: AtomicBool = AtomicBool::new(false);

/// There is a thread that writes.
static WRITES: AtomicBool = AtomicBool::new(false);

/// Starts logging. `RUST_LOG`, if set, overrides the level with a filter of its own.
///
/// Call it once; a second call changes nothing.
pub fn start(level: LogLevel) {
    let ours = format!("warn,knightwatch={}", level.key());
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(ours));
    let journal = is_journal();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(Lines { journal });
    let started = if journal {
        let bare = builder.with_ansi(false).without_time().with_level(false);
        tracing::subscriber::set_global_default(bare.finish())
    } else {
        let terminal = io::stderr().is_terminal();
        let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let builder = builder.with_ansi(colours);
        match terminal {
            true => tracing::subscriber::set_global_default(builder.with_timer(OfDay).finish()),
            false => tracing::subscriber::set_global_default(builder.finish()),
        }
    };
    // It is an error to start twice, and harmless.
    if started.is_ok() {
        STARTED.store(true, Ordering::Relaxed);
        write_what_waits();
    }
}

/// The time of day on the clock of this machine, for people.
struct OfDay;

impl FormatTime for OfDay {
    fn format_time(&self, line: &mut Writer<'_>) -> fmt::Result {
        write!(line, "{}", jiff::Zoned::now().strftime("%H:%M:%S"))
    }
}

fn is_journal() -> bool {
    std::env::var_os("JOURNAL_STREAM").is_some()
}

/// Starts the thread that writes, once.
fn write_what_waits() {
    static WRITER: Once = Once::new();
    WRITER.call_once(|| {
        // Without a thread the lines wait for the end: see `flush`.
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(|| QUEUE.drain(&mut io::stderr(), is_journal()));
        WRITES.store(thread.is_ok(), Ordering::Relaxed);
    });
}

/// Puts a line on stderr, as it is, behind all that was logged: whether there is a log or not, without ever waiting.
pub fn say(line: &str) {
    write_what_waits();
    QUEUE.push(format!("{line}\n").into_bytes());
}

/// Waits until everything is written that was said or logged so far: a second at most. Where there is no thread that
/// writes, it is written here.
pub fn flush() {
    if WRITES.load(Ordering::Relaxed) {
        QUEUE.flush();
    } else {
        QUEUE.write_all(&mut io::stderr(), is_journal());
    }
}

/// Logs a panic: a line like any other, so that what is odd in its message harms no terminal. False before there is a
/// log.
pub fn panicked(panic: &PanicHookInfo<'_>) -> bool {
    if !STARTED.load(Ordering::Relaxed) {
        return false;
    }
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("of no name");
    let place = panic.location().map(ToString::to_string);
    let place = place.unwrap_or_default();
    let message = panic.payload_as_str().unwrap_or("(not a text)");
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        error!("thread {thread} panicked at {place}: {message}\n{trace}");
    } else {
        error!("thread {thread} panicked at {place}: {message}");
    }
    if thread == "main" {
        // The process may end with it.
        flush();
    }
    true
}

/// Makes lines: with `journal`, each begins with its level as the journal reads it, such as `<6>`.
struct Lines {
    journal: bool,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line {
            level: self.journal.then_some(6),
        }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Line {
        let level = match *meta.level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            Level::DEBUG | Level::TRACE => 7,
        };
        Line {
            level: self.journal.then_some(level),
        }
    }
}

/// Puts one log line into the queue.
struct Line {
    /// The level, until it is written.
    level: Option<u8>,
}

impl Write for Line {
    /// Takes all of it, which is a whole line: that is how the subscriber writes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut line = Vec::with_capacity(bytes.len() + 3);
        if let Some(level) = self.level.take() {
            write!(line, "<{level}>")?;
        }
        line.extend_from_slice(bytes);
        QUEUE.push(line);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
