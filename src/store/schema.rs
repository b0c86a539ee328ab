//! The form of the file, and how an older one gets there.
//!
//! A step leads from each version to the next one; the number of steps that a file has taken is in its `user_version`. A
//! step is never changed once it has been released: what it would do otherwise is a step of its own.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::Error;

/// From nothing to version 1, from there to 2, ...
const STEPS: &[&str] = &[include_str!("schema/v1.sql"), include_str!("schema/v2.sql")];

/// `KNWC`: tells our files from other programs'.
const APPLICATION: i64 = 0x4b4e_5743;

/// The version that this program reads and writes.
pub(super) const VERSION: usize = STEPS.len();

/// Brings a file to the version of this program: each step is taken in full or not at all.
///
/// # Errors
/// When it belongs to a newer program or to another one, or cannot be written.
pub(super) fn migrate(db: &mut Connection) -> Result<(), Error> {
    walk(db, STEPS)
}

fn walk(db: &mut Connection, steps: &[&str]) -> Result<(), Error> {
    while version(db, steps.len())? < steps.len() {
        // The lock comes first: another process may be taking the same step.
        let step = Transaction::new(db, TransactionBehavior::Immediate)?;
        let version = version(&step, steps.len())?;
        if let Some(sql) = steps.get(version) {
            step.execute_batch(sql)?;
            step.pragma_update(None, "application_id", APPLICATION)?;
            step.pragma_update(None, "user_version", version as i64 + 1)?;
        }
        step.commit()?;
    }
    Ok(())
}

/// How many steps a file has taken.
///
/// # Errors
/// When it is not ours, or has taken more than there are.
fn version(db: &Connection, known: usize) -> Result<usize, Error> {
    let version: i64 = db.pragma_query_one(None, "user_version")?;
    let application: i64 = db.pragma_query_one(None, "application_id")?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = version == 0 && application == 0 && tables == 0;
    if application != APPLICATION && !empty {
        return Err(Error::Foreign);
    }
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        _ => Err(Error::Newer(version)),
    }
}

/// Whether a file has the version that this program reads.
///
/// # Errors
/// When it is not ours, or older or newer.
pub(super) fn expect_current(db: &Connection) -> Result<(), Error> {
    match version(db, VERSION)? {
        VERSION => Ok(()),
        older => Err(Error::Older(older)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of version 1 with a game in it, as that version wrote it.
    const FIRST: &str = include_str!("../../tests/fixtures/records-v1.sql");

    fn open() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    /// Everything that a file is made of.
    fn form(db: &Connection) -> Vec<(String, String)> {
        let sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn count(db: &Connection, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        db.query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_file_of_the_first_version_becomes_one_of_today_and_keeps_what_it_has() {
        let mut old = open();
        old.execute_batch(FIRST).unwrap();
        assert_eq!(version(&old, VERSION).unwrap(), 1);
        let before = ["game", "move", "decision", "note"].map(|table| count(&old, table));
        assert!(before.iter().all(|count| *count > 0), "{before:?}");
        migrate(&mut old).unwrap();
        assert_eq!(version(&old, VERSION).unwrap(), VERSION);
        let after = ["game", "move", "decision", "note"].map(|table| count(&old, table));
        assert_eq!(after, before);
        let mut new = open();
        migrate(&mut new).unwrap();
        assert_eq!(form(&old), form(&new));
        expect_current(&old).unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let mut db = open();
        migrate(&mut db).unwrap();
        let steps = |last| [STEPS, &["ALTER TABLE game ADD COLUMN mood TEXT", last]].concat();
        let before = form(&db);
        let broken = "ALTER TABLE game ADD COLUMN weather TEXT; ALTER TABLE nothing ADD COLUMN x";
        assert!(walk(&mut db, &steps(broken)).is_err());
        assert_eq!(version(&db, 99).unwrap(), VERSION + 1);
        assert!(db.prepare("SELECT mood FROM game").is_ok());
        assert!(db.prepare("SELECT weather FROM game").is_err());
        assert_ne!(form(&db), before);
        walk(&mut db, &steps("ALTER TABLE game ADD COLUMN weather TEXT")).unwrap();
        assert!(db.prepare("SELECT mood, weather FROM game").is_ok());
        assert_eq!(version(&db, 99).unwrap(), VERSION + 2);
    }

    #[test]
    fn files_of_newer_programs_and_of_others_are_left_alone() {
        let mut db = open();
        migrate(&mut db).unwrap();
        db.pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(migrate(&mut db), Err(Error::Newer(99))));
        assert!(matches!(expect_current(&db), Err(Error::Newer(99))));

        let mut foreign = open();
        foreign
            .execute_batch("CREATE TABLE bookmark (url)")
            .unwrap();
        assert!(matches!(migrate(&mut foreign), Err(Error::Foreign)));
        assert_eq!(form(&foreign).len(), 1);
    }
}
