//! Database schema and its migrations.
//!
//! Each migration leads from one version to the next; a file's version is in its `user_version`. A released migration is
//! never changed; later changes are new migrations. `docs/records-and-traces.md` describes the columns.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::Error;

/// The migrations to version 1, 2, ...
const MIGRATIONS: &[&str] = &[
    include_str!("schema/v1.sql"),
    include_str!("schema/v2.sql"),
    include_str!("schema/v3.sql"),
    include_str!("schema/v4.sql"),
    include_str!("schema/v5.sql"),
];

/// Application id `KNWC`, which identifies our files.
const APPLICATION_ID: i64 = 0x4b4e_5743;

/// The version that this program reads and writes.
pub(super) const VERSION: usize = MIGRATIONS.len();

/// Migrates a file to [`VERSION`]. Each migration is one transaction.
///
/// # Errors
/// When the file belongs to a newer program or another one, or cannot be written.
pub(super) fn migrate(db: &mut Connection) -> Result<(), Error> {
    apply(db, MIGRATIONS)
}

fn apply(db: &mut Connection, migrations: &[&str]) -> Result<(), Error> {
    while committed_version(db, migrations.len())? < migrations.len() {
        // The lock comes first: another process may be migrating, too.
        let transaction = Transaction::new(db, TransactionBehavior::Immediate)?;
        let version = version(&transaction, migrations.len())?;
        if let Some(sql) = migrations.get(version) {
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", version as i64 + 1)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// The [version](version) in one transaction: otherwise a file that another process creates meanwhile seems to be foreign.
fn committed_version(db: &Connection, known: usize) -> Result<usize, Error> {
    let transaction = db.unchecked_transaction()?;
    version(&transaction, known)
}

/// The schema version of a file.
///
/// # Errors
/// When the file is not ours, or newer than `known`.
fn version(db: &Connection, known: usize) -> Result<usize, Error> {
    let version: i64 = db.pragma_query_one(None, "user_version")?;
    let application: i64 = db.pragma_query_one(None, "application_id")?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = version == 0 && application == 0 && tables == 0;
    if application != APPLICATION_ID && !empty {
        return Err(Error::Foreign);
    }
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        _ => Err(Error::Newer(version)),
    }
}

/// Checks that a file has the version of this program.
///
/// # Errors
/// When the file is not ours, or has another version.
pub(super) fn expect_current(db: &Connection) -> Result<(), Error> {
    match committed_version(db, VERSION)? {
        VERSION => Ok(()),
        older => Err(Error::Older(older)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of version 1 with some games.
    const V1_FILE: &str = include_str!("../../tests/fixtures/records-v1.sql");

    fn open() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    /// The names and definitions of all tables and indexes.
    fn schema(db: &Connection) -> Vec<(String, String)> {
        let sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn count(db: &Connection, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        db.query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    /// Migrates a file of this version with all its rows.
    fn migrate_from(old_version: usize) {
        let mut db = open();
        db.execute_batch(V1_FILE).unwrap();
        apply(&mut db, &MIGRATIONS[..old_version]).unwrap();
        assert_eq!(version(&db, VERSION).unwrap(), old_version);
        let tables = ["game", "move", "decision", "note"];
        let before = tables.map(|table| count(&db, table));
        assert!(before.iter().all(|count| *count > 0), "{before:?}");
        migrate(&mut db).unwrap();
        assert_eq!(version(&db, VERSION).unwrap(), VERSION);
        assert_eq!(tables.map(|table| count(&db, table)), before);
        assert_eq!(count(&db, "meta"), 1);
        assert_eq!(count(&db, "game WHERE pgn_pending = 1"), 1);
        assert_eq!(count(&db, "game WHERE final_clock_ms = 171500"), 1);
        assert_eq!(count(&db, "move WHERE search_us = 1930000"), 1);
        assert_eq!(count(&db, "move WHERE pv = 'Qh5 Nc6 Bc4'"), 1);
        assert_eq!(count(&db, "decision WHERE dest_user = 'Knightwatch'"), 2);
        let mut new = open();
        migrate(&mut new).unwrap();
        assert_eq!(schema(&db), schema(&new));
        expect_current(&db).unwrap();
    }

    #[test]
    fn migration_from_version_1_keeps_all_rows() {
        migrate_from(1);
    }

    #[test]
    fn migration_from_version_2_keeps_all_rows() {
        migrate_from(2);
    }

    #[test]
    fn columns_are_documented() {
        let page = include_str!("../../docs/records-and-traces.md");
        let mut db = open();
        migrate(&mut db).unwrap();
        for table in ["meta", "game", "move", "decision", "note"] {
            let (_, rest) = page.split_once(&format!("#### `{table}`\n")).unwrap();
            let rows = rest.lines().take_while(|line| !line.starts_with('#'));
            let names = rows
                .filter(|row| row.starts_with("| `"))
                .flat_map(|row| row.split('|').nth(1).unwrap().split(','))
                .map(|name| name.trim().trim_matches('`').to_owned());
            let mut documented: Vec<String> = names.collect();
            let sql = "SELECT name FROM pragma_table_info(?1)";
            let mut statement = db.prepare(sql).unwrap();
            let columns = statement.query_map([table], |row| row.get(0)).unwrap();
            let mut columns: Vec<String> = columns.map(Result::unwrap).collect();
            columns.sort_unstable();
            documented.sort_unstable();
            assert_eq!(documented, columns, "{table}");
        }
    }

    #[test]
    fn file_that_is_being_created_is_ours() {
        let home = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = home.path().join(format!("{round}.sqlite"));
            let open = || {
                let db = Connection::open(&path).unwrap();
                db.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
                db
            };
            let mut others = [open(), open()];
            std::thread::scope(|scope| {
                for db in &mut others {
                    scope.spawn(|| migrate(db).unwrap());
                }
            });
            expect_current(&open()).unwrap();
        }
    }

    #[test]
    fn migration_failed_is_rolled_back() {
        let mut db = open();
        migrate(&mut db).unwrap();
        let migrations = |last| {
            [
                MIGRATIONS,
                &["ALTER TABLE game ADD COLUMN first TEXT", last],
            ]
            .concat()
        };
        let before = schema(&db);
        let broken = "ALTER TABLE game ADD COLUMN second TEXT; ALTER TABLE nothing ADD COLUMN x";
        assert!(apply(&mut db, &migrations(broken)).is_err());
        assert_eq!(version(&db, 99).unwrap(), VERSION + 1);
        assert!(db.prepare("SELECT first FROM game").is_ok());
        assert!(db.prepare("SELECT second FROM game").is_err());
        assert_ne!(schema(&db), before);
        apply(
            &mut db,
            &migrations("ALTER TABLE game ADD COLUMN second TEXT"),
        )
        .unwrap();
        assert!(db.prepare("SELECT first, second FROM game").is_ok());
        assert_eq!(version(&db, 99).unwrap(), VERSION + 2);
    }

    #[test]
    fn files_newer_or_foreign_are_rejected() {
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
        assert_eq!(schema(&foreign).len(), 1);
    }
}
