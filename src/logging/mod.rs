//! Logging to stderr: with colors and the time of day on a terminal, with syslog levels and no time for the journal, or as
//! JSON. The daemon may log to a file of limited size, too (`file`).
//!
//! Logging never blocks and never fails (`queue`): a full disk, a pipe without a reader or a stopped terminal loses log lines
//! and nothing else.

mod file;
mod json;
mod queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use tracing::{Level, Metadata, error, warn};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{DefaultFields, JsonFields, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{self as fmt_layer, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::config::{Daemon, LogFormat, LogLevel};
use file::RotatingFile;
use json::JsonLine;
use queue::Queue;

static STDERR: LazyLock<Queue> = LazyLock::new(|| Queue::start(io::stderr(), stderr_warning));

/// Queue of the log file, if there is one. It has a thread of its own, so that neither output waits for the other.
static FILE: OnceLock<Queue> = OnceLock::new();

static STARTED: AtomicBool = AtomicBool::new(false);

/// Lines are JSON.
static JSON: AtomicBool = AtomicBool::new(false);

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
    start_layers(level, format, false);
}

/// Starts logging of the daemon: to stderr, and to a file if there is to be one.
///
/// A second call has no effect.
pub fn start_daemon(daemon: &Daemon) {
    let Some(path) = &daemon.log_file else {
        return start_as(daemon.log_level, daemon.log_format);
    };
    let mut file = RotatingFile::new(path.clone(), daemon.log_file_bytes(), daemon.log_files);
    let opened = file.open(0).map(drop);
    FILE.get_or_init(|| Queue::start(file, file_warning));
    start_layers(daemon.log_level, daemon.log_format, true);
    if let Err(error) = opened {
        let path = path.display();
        warn!("cannot write to daemon.log_file {path}, trying again with each line: {error}");
    }
}

/// Tests whether the log file can be written, if there is to be one. A file that did not exist is removed again.
///
/// # Errors
/// If it cannot be opened.
pub fn test_file(daemon: &Daemon) -> io::Result<()> {
    let Some(path) = &daemon.log_file else {
        return Ok(());
    };
    let is_new = !path.exists();
    RotatingFile::new(path.clone(), daemon.log_file_bytes(), daemon.log_files).create()?;
    match is_new {
        true => fs::remove_file(path),
        false => Ok(()),
    }
}

/// Names the only account of the process in JSON lines. With several accounts, spans name them.
pub fn set_account(name: &str) {
    json::set_account(name);
}

fn start_layers(level: LogLevel, format: LogFormat, to_file: bool) {
    let ours = format!("warn,knightwatch={}", level.key());
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(ours));
    let mut layers = vec![stderr_layer(format)];
    if to_file {
        layers.push(file_layer(format));
    }
    let subscriber = Registry::default().with(layers).with(filter);
    // A second start is an error, and harmless.
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        // The writer thread, while threads can be started.
        LazyLock::force(&STDERR);
        STARTED.store(true, Ordering::Relaxed);
        JSON.store(format == LogFormat::Json, Ordering::Relaxed);
    }
}

/// Form of the lines on stderr or in a file.
type DynLayer = Box<dyn Layer<Registry> + Send + Sync>;

fn stderr_layer(format: LogFormat) -> DynLayer {
    let journal = is_journal();
    let layer = fmt_layer::layer()
        .with_target(false)
        .with_writer(LineMaker { journal });
    if format == LogFormat::Json {
        return layer
            .fmt_fields(JsonFields::new())
            .event_format(JsonLine)
            .boxed();
    }
    if journal {
        return layer
            .with_ansi(false)
            .without_time()
            .with_level(false)
            .boxed();
    }
    let terminal = io::stderr().is_terminal();
    let colors = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let layer = layer.with_ansi(colors);
    match terminal {
        true => layer.with_timer(TimeOfDay).boxed(),
        false => layer.boxed(),
    }
}

fn file_layer(format: LogFormat) -> DynLayer {
    let layer = fmt_layer::layer()
        .with_target(false)
        .with_ansi(false)
        .with_writer(|| FileLine);
    match format {
        LogFormat::Json => layer
            .fmt_fields(JsonFields::new())
            .event_format(JsonLine)
            .boxed(),
        LogFormat::Text => layer.fmt_fields(FileFields::default()).boxed(),
    }
}

/// Fields of the spans in the file. Layers share the fields of a span by the type of their formatter, and those of stderr
/// may have colors.
#[derive(Default)]
struct FileFields(DefaultFields);

impl<'writer> FormatFields<'writer> for FileFields {
    fn format_fields<R: RecordFields>(&self, line: Writer<'writer>, fields: R) -> fmt::Result {
        self.0.format_fields(line, fields)
    }
}

/// Form of times in files and pipes, in UTC.
const TIMESTAMP: &str = "%Y-%m-%dT%H:%M:%S%.6fZ";

/// Local time of day.
struct TimeOfDay;

impl FormatTime for TimeOfDay {
    fn format_time(&self, line: &mut Writer<'_>) -> fmt::Result {
        write!(line, "{}", jiff::Zoned::now().strftime(TIME_OF_DAY))
    }
}

/// Form of the time of day on a terminal, in local time.
const TIME_OF_DAY: &str = "%H:%M:%S";

/// A warning about the log itself, as a line of stderr.
fn stderr_warning(text: &str) -> String {
    if JSON.load(Ordering::Relaxed) {
        let line = file_warning(text);
        return if is_journal() {
            format!("<4>{line}")
        } else {
            line
        };
    }
    match is_journal() {
        true => format!("<4>{text}"),
        false if io::stderr().is_terminal() => {
            format!("{}  WARN {text}", jiff::Zoned::now().strftime(TIME_OF_DAY))
        }
        false => file_warning(text),
    }
}

/// A warning about the log itself, as a line of the file: like those of `tracing_subscriber`.
fn file_warning(text: &str) -> String {
    if JSON.load(Ordering::Relaxed) {
        return json::line("WARN", text);
    }
    let time = jiff::Timestamp::now().strftime(TIMESTAMP);
    format!("{time}  WARN {text}")
}

fn is_journal() -> bool {
    std::env::var_os("JOURNAL_STREAM").is_some()
}

/// Queues a line for stderr and the log file, unchanged, after all logged lines; works before [`start`], too. Never blocks.
pub fn print(line: &str) {
    let line = format!("{line}\n").into_bytes();
    if let Some(file) = FILE.get() {
        file.push(line.clone());
    }
    STDERR.push(line);
}

/// Waits until all lines so far are written, for at most a second for each output.
pub fn flush() {
    STDERR.flush();
    if let Some(file) = FILE.get() {
        file.flush();
    }
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
        STDERR.push(line);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writer of one log line into the queue of the file.
struct FileLine;

impl Write for FileLine {
    /// Takes a whole line at once, as the subscriber writes it.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = FILE.get() {
            file.push(bytes.to_vec());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
