//! Log lines go to stderr: coloured on a terminal, bare in the journal, which has its own clock and levels.

use std::io::{self, IsTerminal, Stderr, Write};

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::LogLevel;

/// Starts logging. `RUST_LOG`, if set, overrides the level with a filter of its own.
///
/// Call it once; a second call changes nothing.
pub fn start(level: LogLevel) {
    let ours = format!("warn,knightwatch={}", level.key());
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(ours));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false);
    // It is an error to start twice, and harmless.
    let _ = if std::env::var_os("JOURNAL_STREAM").is_some() {
        let bare = builder.with_ansi(false).without_time().with_level(false);
        tracing::subscriber::set_global_default(bare.with_writer(Journal).finish())
    } else {
        let colours = io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        tracing::subscriber::set_global_default(
            builder.with_ansi(colours).with_writer(io::stderr).finish(),
        )
    };
}

/// Puts in front of each line its level as the journal reads it, such as `<6>`.
struct Journal;

impl<'a> MakeWriter<'a> for Journal {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { level: Some(6) }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Line {
        let level = match *meta.level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            Level::DEBUG | Level::TRACE => 7,
        };
        Line { level: Some(level) }
    }
}

/// Writes one log line to stderr.
struct Line {
    /// The level, until it is written.
    level: Option<u8>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stderr: Stderr = io::stderr();
        if let Some(level) = self.level.take() {
            write!(stderr, "<{level}>")?;
        }
        stderr.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
