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
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use rustix::fs::{Access, AtFlags, CWD};
use tracing::{Level, Metadata, error, warn};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{DefaultFields, JsonFields, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{self as fmt_layer, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::atomic_file;
use crate::config::{Daemon, LogFormat, LogLevel};
use crate::log_filter;
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

/// Starts logging in this form. `RUST_LOG` may change the level, also of single targets: `debug`, `knightwatch=trace`,
/// `hyper=debug`.
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
    // Opening may warn.
    JSON.store(daemon.log_format == LogFormat::Json, Ordering::Relaxed);
    let path = atomic_file::follow_links(path).unwrap_or_else(|_| path.clone());
    let mut file = RotatingFile::new(path.clone(), daemon.log_file_bytes(), daemon.log_files);
    let opened = file.open(0).map(drop);
    FILE.get_or_init(|| Queue::start(file, file_warning));
    start_layers(daemon.log_level, daemon.log_format, true);
    if let Err(error) = opened {
        let path = path.display();
        warn!("cannot write to daemon.log_file {path}, trying again with each line: {error}");
    }
}

/// Tests whether the log file can be written, if there is to be one. A file that did not exist is removed again. Returns
/// whether it can be renamed when it is full.
///
/// # Errors
/// If it cannot be opened.
pub fn test_file(daemon: &Daemon) -> io::Result<bool> {
    let Some(path) = &daemon.log_file else {
        return Ok(true);
    };
    let path = atomic_file::follow_links(path)?;
    let is_new = !path.exists();
    RotatingFile::new(path.clone(), daemon.log_file_bytes(), daemon.log_files).create()?;
    if is_new {
        fs::remove_file(&path)?;
    }
    if path.exists() && !path.is_file() {
        // A device is never full.
        return Ok(true);
    }
    let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let access = Access::WRITE_OK | Access::EXEC_OK;
    Ok(rustix::fs::accessat(CWD, directory, access, AtFlags::EACCESS).is_ok())
}

/// Names the only account of the process in JSON lines. With several accounts, spans name them.
pub fn set_account(name: &str) {
    json::set_account(name);
}

fn start_layers(level: LogLevel, format: LogFormat, to_file: bool) {
    let ours = format!("warn,knightwatch={}", level.key());
    let given = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    let (filter, problem) = match EnvFilter::try_new(log_filter::merge(&ours, &given)) {
        Ok(filter) => (filter, None),
        Err(problem) => (EnvFilter::new(&ours), Some(problem)),
    };
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
        if let Some(problem) = problem {
            warn!("the variable RUST_LOG is ignored: {problem}");
        }
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

/// Queues a warning about the log itself for stderr.
fn warn_on_stderr(text: &str) {
    STDERR.push(format!("{}\n", stderr_warning(text)).into_bytes());
}

/// A warning about the log itself, as a line of the file: like those of `tracing_subscriber`.
fn file_warning(text: &str) -> String {
    if JSON.load(Ordering::Relaxed) {
        return json::line("WARN", text);
    }
    let time = jiff::Timestamp::now().strftime(TIMESTAMP);
    format!("{time}  WARN {text}")
}

/// Returns whether stderr is the journal. Processes below a unit inherit its variable, with another stderr.
fn is_journal() -> bool {
    static IS_JOURNAL: LazyLock<bool> = LazyLock::new(|| {
        let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let own = rustix::fs::fstat(io::stderr());
        own.is_ok_and(|own| stream == format!("{}:{}", own.st_dev, own.st_ino))
    });
    *IS_JOURNAL
}

/// Queues a text for stderr and the log file, after all logged lines; works before [`start`], too. Only the journal gets
/// the level. Never blocks.
pub fn print(level: Level, text: &str) {
    let line = format!("{text}\n").into_bytes();
    if let Some(file) = FILE.get() {
        file.push(line.clone());
    }
    STDERR.push(match is_journal() {
        true => with_syslog_level(syslog_level(level), &line),
        false => line,
    });
}

/// The level in syslog, which the journal calls priority.
fn syslog_level(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

/// Begins each line of a text with its syslog level, such as `<6>`.
fn with_syslog_level(level: u8, text: &[u8]) -> Vec<u8> {
    let prefix = format!("<{level}>");
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines
        .flat_map(|line| [prefix.as_bytes(), line].concat())
        .collect()
}

/// Waits until all lines so far are written, for at most a second for each output.
pub fn flush() {
    STDERR.flush();
    if let Some(file) = FILE.get() {
        file.flush();
    }
}

/// Logs a panic as an error, so that control characters in its message are escaped. Returns false before [`start`], and
/// if errors are not logged.
pub fn log_panic(panic: &PanicHookInfo<'_>) -> bool {
    if !STARTED.load(Ordering::Relaxed) || !tracing::enabled!(Level::ERROR) {
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

/// Creates the writers of log lines: with `journal`, each line begins with its syslog level.
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
        LineWriter {
            level: self.journal.then(|| syslog_level(*meta.level())),
        }
    }
}

/// Writer of one log line into the queue.
struct LineWriter {
    /// The syslog level, if lines begin with it.
    level: Option<u8>,
}

impl Write for LineWriter {
    /// Takes a whole line at once, as the subscriber writes it.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        STDERR.push(match self.level {
            Some(level) => with_syslog_level(level, bytes),
            None => bytes.to_vec(),
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_log_changes_only_what_it_names() {
        let ours = "warn,knightwatch=info";
        let enabled = |given: &str| {
            let filter = EnvFilter::try_new(log_filter::merge(ours, given)).expect("a filter");
            filter.to_string()
        };
        let has = |given: &str, directive: &str| {
            enabled(given).split(',').any(|found| found == directive)
        };
        assert!(has("", "warn") && has("", "knightwatch=info"));
        assert!(has("other=debug", "knightwatch=info") && has("other=debug", "other=debug"));
        assert!(has("knightwatch=debug", "knightwatch=debug"));
        assert!(!has("knightwatch=debug", "knightwatch=info"));
        for given in ["debug", " debug\n", "debug, hyper=warn"] {
            assert!(has(given, "debug") && !has(given, "knightwatch=info"));
        }
        assert!(EnvFilter::try_new(log_filter::merge(ours, "other=loud")).is_err());
    }

    #[test]
    fn each_line_of_a_text_has_its_level() {
        let text = with_syslog_level(3, b"one\ntwo\n");
        assert_eq!(text, b"<3>one\n<3>two\n");
    }

    #[test]
    fn file_test_leaves_links_as_they_are() {
        let home = tempfile::tempdir().expect("a directory");
        let link = home.path().join("link");
        std::os::unix::fs::symlink("target", &link).expect("linked");
        let daemon = Daemon {
            log_file: Some(link.clone()),
            ..Daemon::default()
        };
        assert!(test_file(&daemon).expect("writable"));
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert!(!home.path().join("target").exists());
    }
}
