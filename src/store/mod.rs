//! Game records: every game with its moves, clocks, evaluations and latencies, and every challenge decision, in one SQLite
//! file per server.
//!
//! [`Recorder`] writes what the [`Bus`](crate::events::Bus) reports, on its own thread behind a bounded queue: playing never
//! waits for it. [`Reader`] reads the same file, in this or another process, while it is written. PGN ([`pgn_of`]) is made
//! from the file alone.

mod command;
mod filter;
mod importer;
mod insert;
mod pgn;
mod pgn_files;
mod reader;
mod recorder;
mod schema;
mod score;
mod stats;
mod timing;

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use rusqlite::{Connection, OpenFlags};

use crate::sync::lock;

pub use command::{
    CommandError, ExportOptions, GamesOptions, View, export_command, games_command, last_challenge,
};
pub use filter::{
    Filter, GroupBy, Order, Outcome, Page, Sort, local_day_end, local_day_start, utc_day_start,
};
pub use importer::{ImportedGame, ImportedMove, Importer};
pub use pgn::{ANNOTATOR, Details, MADE_PREFIX, address_of, page_of, pgn_of};
pub use pgn_files::{Grouping, PgnFiles};
pub use reader::{ArenaResult, ChallengeDecision, Game, MoveRecord, Note, Reader, Record};
pub use recorder::{Options, Recorder};
pub use score::{Performance, WinDrawLoss, performance};
pub use stats::{DAY_MS, Overview, Rating};
pub use timing::Timing;

/// Time limit of waiting for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Errors of opening or reading the records.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no file.
    #[error("there are no records at {}", .0.display())]
    Missing(PathBuf),
    /// The file cannot be looked at.
    #[error("{0}; the records of the service need sudo")]
    Denied(io::Error),
    /// It is something else, such as a directory.
    #[error("it is not a file")]
    NoFile,
    /// The file has a later schema version.
    #[error("created by a newer knightwatch (schema version {0}); upgrade this one")]
    Newer(i64),
    /// The file has an earlier schema version and cannot be migrated.
    #[error("created by an older knightwatch (schema version {0}), and it cannot be migrated here")]
    Older(usize),
    /// The file has an earlier schema version, and another process has it open.
    #[error(
        "created by an older knightwatch (schema version {0}), and another program has it open: restart a running bot with the \
         new version, as `knightwatch drain` does under systemd, or end the other program"
    )]
    InUse(usize),
    /// The file is not one of ours.
    #[error("it belongs to another program; set records.directory to another directory")]
    Foreign,
    /// The directory cannot be created.
    #[error("cannot create the directory {}: {error}", directory.display())]
    Directory {
        directory: PathBuf,
        error: io::Error,
    },
    /// An error of SQLite.
    #[error("{0}")]
    Sql(#[from] rusqlite::Error),
}

impl Error {
    /// Returns whether the file is damaged.
    fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        matches!(self.code(), Some(DatabaseCorrupt | NotADatabase))
    }

    /// Returns whether another connection has locked the file.
    fn is_lock(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        matches!(self.code(), Some(DatabaseBusy | DatabaseLocked))
    }

    fn code(&self) -> Option<rusqlite::ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            _ => None,
        }
    }
}

/// The records file of a server in a directory. One file per server, so that games on a simulator do not count.
pub fn file_in(directory: &Path, server: &str) -> PathBuf {
    directory.join(format!("{server}.sqlite"))
}

/// The records file of a server for reading: in the first of these directories that has it, otherwise in the first one.
pub fn find(directories: &[PathBuf], server: &str) -> PathBuf {
    let files = || {
        directories
            .iter()
            .map(|directory| file_in(directory, server))
    };
    let found = files().find(|file| file.exists());
    found.or_else(|| files().next()).unwrap_or_default()
}

/// The nearest existing part of a directory's path that is no directory, so that the directory cannot be created.
pub fn obstacle(directory: &Path) -> Option<&Path> {
    let mut existing = directory.ancestors().filter(|path| path.exists());
    existing.next().filter(|path| !path.is_dir())
}

/// Two connections that switch a new file to WAL mode would wait for each other; SQLite makes that an error at once.
static OPENING: Mutex<()> = Mutex::new(());

/// Opens a file for writing, creating it for its owner only if needed.
fn open(file: &Path, server: Option<&str>) -> Result<Connection, Error> {
    let _opening = lock(&OPENING);
    if let Some(directory) = file.parent() {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(directory);
        made.map_err(|error| Error::Directory {
            directory: directory.to_owned(),
            error,
        })?;
    }
    // SQLite itself creates files with mode 0644. A failure is reported when it opens the file.
    let mut options = OpenOptions::new();
    let _ = options.write(true).create_new(true).mode(0o600).open(file);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut db = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    schema::migrate(&mut db)?;
    // In WAL mode readers do not block the writer. A killed process loses nothing that was committed; a power failure may
    // cost the last seconds, but never the file.
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "journal_size_limit", 16 << 20)?;
    if let Some(server) = server {
        db.execute(
            "INSERT INTO meta (key, value) VALUES ('server', ?1)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value",
            [server],
        )?;
    }
    Ok(db)
}

/// Migrates an older file that no other process has open: a running program of the older version could no longer write it.
///
/// # Errors
/// If the file is in use, or cannot be migrated.
fn migrate_unused(file: &Path) -> Result<(), Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let version = {
        // A connection of this process may be migrating.
        let _opening = lock(&OPENING);
        let db = Connection::open_with_flags(file, flags)?;
        db.busy_timeout(BUSY_TIMEOUT)?;
        let version = match schema::expect_current(&db) {
            Ok(()) => return Ok(()),
            Err(Error::Older(version)) => version,
            Err(error) => return Err(error),
        };
        // Only the last connection can end the WAL mode.
        let set = db.pragma_update_and_check(None, "journal_mode", "DELETE", |row| {
            row.get::<_, String>(0)
        });
        let set = set.map_err(Error::from);
        let is_in_use = match &set {
            Ok(mode) => mode != "delete",
            Err(error) => error.is_lock(),
        };
        if is_in_use {
            return Err(Error::InUse(version));
        }
        set.map_err(|_| Error::Older(version))?;
        version
    };
    open(file, None)
        .map(drop)
        .map_err(|_| Error::Older(version))
}

/// A timestamp in the system's time zone.
fn local(millis: i64) -> Zoned {
    utc(millis).with_time_zone(TimeZone::system())
}

/// A timestamp in UTC. One out of range becomes 1970-01-01.
fn utc(millis: i64) -> Zoned {
    let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::UTC)
}

/// The month of a timestamp in UTC: `2026-11`.
fn month(millis: i64) -> String {
    utc(millis).strftime("%Y-%m").to_string()
}

#[cfg(test)]
mod tests;
