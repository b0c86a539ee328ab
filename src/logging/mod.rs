//! Logging to stderr: with colors and the time of day on a terminal, with syslog levels and no time for the journal, or as
//! JSON.
//!
//! Logging never blocks and never fails (`queue`): a full disk, a pipe without a reader or a stopped terminal loses log lines
//! and nothing else.

mod queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{Level, Metadata, error};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::config::{LogFormat, LogLevel};
use queue::Queue;

static QUEUE: LazyLock<Queue> = LazyLock::new(|| Queue::start(io::stderr(), is_journal()));

static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts logging in lines for people.
///
/// A second call has no effect.
pub fn start(level: LogLevel) {
    start_as(level, LogFormat::Text);
}

/// Starts logging in this form. `RUST_LOG`, if set, overrides the level with its own filter.
///
/// A second call has no effect.
pub fn start_as(level: LogLevel, format: LogFormat) {
    let ours = format!("warn,knightwatch={}", level.key());
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(ours));
    let journal = is_journal();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(LineMaker { journal });
    let started = if format == LogFormat::Json {
        let json = builder.json().flatten_event(true).with_span_list(false);
        tracing::subscriber::set_global_default(json.finish())
    } else if journal {
        let bare = builder.with_ansi(false).without_time().with_level(false);
        tracing::subscriber::set_global_default(bare.finish())
    } else {
        let terminal = io::stderr().is_terminal();
        let colors = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let builder = builder.with_ansi(colors);
        match terminal {
            true => tracing::subscriber::set_global_default(builder.with_timer(TimeOfDay).finish()),
            false => tracing::subscriber::set_global_default(builder.finish()),
        }
    };
    // A second start is an error, and harmless.
    if started.is_ok() {
        // The writer thread, while threads can be started.
        LazyLock::force(&QUEUE);
        STARTED.store(true, Ordering::Relaxed);
    }
}

/// Local time of day.
struct TimeOfDay;

impl FormatTime for TimeOfDay {
    fn format_time(&self, line: &mut Writer<'_>) -> fmt::Result {
        write!(line, "{}", jiff::Zoned::now().strftime("%H:%M:%S"))
    }
}

fn is_journal() -> bool {
    std::env::var_os("JOURNAL_STREAM").is_some()
}

/// Queues a line for stderr, unchanged, after all logged lines; works before [`start`], too. Never blocks.
pub fn print(line: &str) {
    QUEUE.push(format!("{line}\n").into_bytes());
}

/// Waits until all lines so far are written, for at most a second.
pub fn flush() {
    QUEUE.flush();
}

/// Logs a panic as an error, so that control characters in its message are escaped. Returns false before [`start`].
pub fn log_panic(panic: &PanicHookInfo<'_>) -> bool {
    if !STARTED.load(Ordering::Relaxed) {
        return false;
    }
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("<unnamed>");
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
        // The process may exit now.
        flush();
    }
    true
}

/// Creates the writers of log lines: with `journal`, each line begins with its syslog level, such as `<6>`.
struct LineMaker {
    journal: bool,
}

impl<'a> MakeWriter<'a> for LineMaker {
    type Writer = LineWriter;

    fn make_writer(&'a self) -> LineWriter {
        LineWriter {
            level: self.journal.then_some(6),
        }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> LineWriter {
        let level = match *meta.level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            Level::DEBUG | Level::TRACE => 7,
        };
        LineWriter {
            level: self.journal.then_some(level),
        }
    }
}

/// Writer of one log line into the queue.
struct LineWriter {
    /// The syslog level, until it is written.
    level: Option<u8>,
}

impl Write for LineWriter {
    /// Takes a whole line at once, as the subscriber writes it.
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
