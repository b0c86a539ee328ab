//! Adds finished games from elsewhere to the records.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::pgn::score_of;
use super::{Error, insert, migrate_unused, open};
use crate::chess::Color;
use crate::chess::pgn::Eval;
use crate::events::{GameFinished, GameStarted};

/// Time limit of waiting for the running bot, which writes in short transactions.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// A finished game from elsewhere.
#[derive(Clone, Debug)]
pub struct ImportedGame {
    /// Its start, in milliseconds since 1970, if it is known.
    pub started: Option<i64>,
    /// Its end.
    pub finished: Option<i64>,
    /// Its players and kind.
    pub start: GameStarted,
    /// Where it was played; `None` on the server whose records these are.
    pub site: Option<String>,
    /// All moves.
    pub moves: Vec<ImportedMove>,
    /// Status as Lichess names it.
    pub status: String,
    /// The winner, if there is one.
    pub winner: Option<Color>,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`.
    pub result: String,
}

/// A move of an imported game.
#[derive(Clone, Debug)]
pub struct ImportedMove {
    /// The move in UCI.
    pub uci: String,
    /// The mover's clock after it, in milliseconds.
    pub clock: Option<i64>,
    /// Our evaluation of the position after it.
    pub eval: Option<Eval>,
}

/// Writes games into a records file, which a running bot may have open.
pub struct Importer {
    db: Connection,
}

impl Importer {
    /// Opens the records of a server, creating them if needed.
    ///
    /// # Errors
    /// When the file cannot be opened, is not ours, or is older and in use.
    pub fn open(file: &Path, server: &str) -> Result<Self, Error> {
        if file.exists() {
            migrate_unused(file)?;
        }
        let db = open(file, Some(server))?;
        db.busy_timeout(BUSY_TIMEOUT)?;
        Ok(Self { db })
    }

    /// Our accounts in the records.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn accounts(&self) -> Result<Vec<String>, Error> {
        let mut statement = self.db.prepare("SELECT DISTINCT account FROM game")?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Adds games in one transaction; returns how many were not yet known.
    ///
    /// # Errors
    /// When the file cannot be written; then none is added.
    pub fn add(&mut self, games: &[ImportedGame]) -> Result<usize, Error> {
        let transaction = Transaction::new(&mut self.db, TransactionBehavior::Immediate)?;
        let mut added = 0;
        for game in games {
            added += usize::from(add(&transaction, game)?);
        }
        transaction.commit()?;
        Ok(added)
    }
}

fn add(db: &Connection, game: &ImportedGame) -> rusqlite::Result<bool> {
    let id = &game.start.game;
    let known = "SELECT seq FROM game WHERE id = ?1";
    let seq = |db: &Connection| {
        let mut statement = db.prepare(known)?;
        statement
            .query_row([id], |row| row.get::<_, i64>(0))
            .optional()
    };
    if seq(db)?.is_some() {
        return Ok(false);
    }
    insert::insert_game(db, game.started.unwrap_or(0), &game.start)?;
    let seq = seq(db)?;
    if let Some(site) = &game.site {
        db.execute(
            "UPDATE game SET site = ?2 WHERE seq = ?1",
            params![seq, site],
        )?;
    }
    let mut statement = db.prepare(
        "INSERT INTO move (game, ply, uci, clock_ms, mate, cp) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (ply, ImportedMove { uci, clock, eval }) in (1i64..).zip(&game.moves) {
        let score = eval.map(|eval| score_of(eval, game.start.our_color));
        let (mate, cp) = score.unwrap_or_default();
        statement.execute(params![seq, ply, uci, clock, mate, cp])?;
    }
    let end = GameFinished {
        game: id.clone(),
        our_color: Some(game.start.our_color),
        status: game.status.clone(),
        winner: game.winner,
        result: game.result.clone(),
        plies: game.moves.len() as u32,
        moves: String::new(),
        observed: true,
    };
    insert::finish_game(db, game.finished.unwrap_or(0), &end, false)?;
    Ok(true)
}
