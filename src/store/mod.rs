//! Games on disk: every game with its moves, clocks, thoughts and latencies, every decision about a challenge, in one
//! SQLite file for each server.
//!
//! [`Recorder`] writes down what the [`Bus`](crate::events::Bus) tells, on a thread of its own behind a queue with an
//! end: nothing that plays ever waits for it. [`Reader`] reads the same file, in this process or in another, while it is
//! written. PGN ([`pgn_of`]) is made from what stands in the file, and from nothing else.

mod command;
mod entry;
mod filing;
mod filter;
mod pgn;
mod reader;
mod recorder;
mod schema;
mod score;
mod stats;
mod timing;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use rusqlite::{Connection, OpenFlags};

pub use command::{
    CommandError, ExportOptions, GamesOptions, View, export_command, games_command, last_challenge,
};
pub use filing::{Files, Grouping};
pub use filter::{By, Filter, Order, Outcome, Page, Sort, day, local_day, local_day_after};
pub use pgn::{Details, pgn_of};
pub use reader::{Attended, Decided, Game, Incident, Played, Reader, Record};
pub use recorder::{Options, Recorder};
pub use score::{Performance, Score, performance};
pub use stats::{Overview, Rating};
pub use timing::Timing;

/// For as long one process waits while another one writes.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why there are no records to be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such file.
    #[error("there are no records at {}", .0.display())]
    Missing(PathBuf),
    /// The file is one of a later version.
    #[error("it was written by a newer knightwatch (version {0} of its form)")]
    Newer(i64),
    /// The file is one of an earlier version, and cannot be brought up to date.
    #[error(
        "it was written by an older knightwatch (version {0} of its form) and cannot be brought up to date here"
    )]
    Older(usize),
    /// The file is another program's.
    #[error("it belongs to another program")]
    Foreign,
    /// The directory cannot be made.
    #[error("cannot make the directory {}: {error}", directory.display())]
    Directory {
        /// Which.
        directory: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What SQLite says.
    #[error("{0}")]
    Sql(#[from] rusqlite::Error),
}

impl Error {
    fn code(&self) -> Option<rusqlite::ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            _ => None,
        }
    }
}

/// The file of a server's games in a directory: one each, so that rehearsals do not count.
pub fn file_in(directory: &Path, server: &str) -> PathBuf {
    directory.join(format!("{server}.sqlite"))
}

/// The file of a server's games, for who reads it: in the first of these directories that has it, or else in the first.
pub fn find(directories: &[PathBuf], server: &str) -> PathBuf {
    let files = || {
        directories
            .iter()
            .map(|directory| file_in(directory, server))
    };
    let found = files().find(|file| file.exists());
    found.or_else(|| files().next()).unwrap_or_default()
}

/// Opens a file to write in, and makes it first where there is none.
fn open(file: &Path, server: Option<&str>) -> Result<Connection, Error> {
    if let Some(directory) = file.parent() {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(directory);
        made.map_err(|error| Error::Directory {
            directory: directory.to_owned(),
            error,
        })?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut db = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(PATIENCE)?;
    schema::migrate(&mut db)?;
    // Who reads does not hold up who writes. The process may be killed at any moment and loses nothing of what was
    // committed; a power cut may cost the last seconds, and never the file.
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "journal_size_limit", 16 << 20)?;
    if let Some(server) = server {
        db.execute(
            "INSERT INTO about (key, value) VALUES ('server', ?1)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value",
            [server],
        )?;
    }
    Ok(db)
}

/// The day and time on the clock of this machine.
fn local(millis: i64) -> Zoned {
    utc(millis).with_time_zone(TimeZone::system())
}

/// The day and time in UTC of a moment in milliseconds since 1970, which is what one beyond the calendar is shown as.
fn utc(millis: i64) -> Zoned {
    let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::UTC)
}

/// `2026-11`.
fn month(millis: i64) -> String {
    utc(millis).strftime("%Y-%m").to_string()
}

#[cfg(test)]
mod tests;
