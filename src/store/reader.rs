//! Reader of the records.
//!
//! Lists and statistics use covering indexes, so that 100,000 games take a few milliseconds: `cargo bench --bench records`.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row, params_from_iter};
use serde::Serialize;
use tracing::warn;

use super::filter::{Conditions, Filter, Order, Outcome, Page};
use super::insert::ENDED_AWAY;
use super::{BUSY_TIMEOUT, Error, migrate_unused, schema};
use crate::chess::Position;
use crate::events::{Color, Player, TimeControl};

/// The columns of a [`Game`], in the order in which [`game`] reads them.
const GAME_COLUMNS: &str = "id, started, finished, color, account, account_title, account_rating, account_provisional, opponent,
    opponent_title, opponent_rating, opponent_provisional, speed, base_s, increment_s, days, variant, rated,
    initial_fen, tournament, status, result, points, plies, final_clock_ms, round_trip_us, opening, engine, site";

/// SQL expression of the kind of rating: variants have their own, whatever the speed.
pub(super) const RATING_KIND: &str =
    "CASE WHEN variant IN ('standard', 'fromPosition') THEN speed ELSE variant END";

/// How many games of an account are searched for the one that shows the rating change of another.
const MAX_NEIGHBOR_GAMES: u32 = 50;

/// Speed of games without a clock.
const CORRESPONDENCE: &str = "correspondence";

/// A game with a clock that started longer ago than this is considered over, in milliseconds.
const MAX_GAME_DURATION_MS: i64 = 6 * 3_600_000;

/// A game without its moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    /// Game id.
    pub id: String,
    /// When it started for us, in milliseconds since 1970; `None` if an imported game has no date.
    pub started: Option<i64>,
    /// When it ended; `None` while it is running, or if its end was missed.
    pub finished: Option<i64>,
    /// Our color.
    pub color: Color,
    /// Our account, with its rating at the start.
    pub account: Player,
    pub opponent: Player,
    /// `bullet`, `blitz`, ...
    pub speed: String,
    pub time_control: TimeControl,
    /// `standard`, `chess960`, `fromPosition`, `crazyhouse`, ...
    pub variant: String,
    /// Rated or casual.
    pub rated: bool,
    /// The starting position, if not the standard one.
    pub initial_fen: Option<String>,
    /// The tournament id.
    pub tournament: Option<String>,
    /// Name of the external engine that played for us; `None` for the embedded one.
    pub engine: Option<String>,
    /// Where an imported game was played; `None` on the server.
    pub site: Option<String>,
    /// The server's status of a finished game.
    pub status: Option<String>,
    /// `1-0`, `0-1`, `1/2-1/2`, or `*`.
    pub result: Option<String>,
    /// Outcome for us.
    pub outcome: Outcome,
    /// Number of plies.
    pub plies: u32,
    /// The first four plies of a finished standard game: `e2e4 c7c5 g1f3 d7d6`.
    pub opening: Option<String>,
    /// Our clock at the end.
    pub final_clock: Option<Duration>,
    /// Mean round trip of our move requests.
    pub round_trip: Option<Duration>,
}

impl Game {
    /// The opening in algebraic notation: `1. e4 c5 2. Nf3 d6`.
    pub fn first_moves(&self) -> Option<String> {
        self.opening.as_deref().map(opening)
    }

    /// The player of this color.
    pub fn player(&self, color: Color) -> &Player {
        if color == self.color {
            &self.account
        } else {
            &self.opponent
        }
    }
}

/// A recorded move.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MoveRecord {
    /// Ply, from 1.
    pub ply: u32,
    /// UCI notation, castling as the server sends it.
    pub uci: String,
    /// When it was seen, in milliseconds since 1970.
    pub at: Option<i64>,
    /// The mover's clock after it, in milliseconds.
    pub clock_ms: Option<i64>,
    /// `book`, `search`, `only`, or `fallback` for a search of the embedded engine in place of an external one. Set for our moves only, like all fields below.
    pub source: Option<String>,
    /// Our evaluation in centipawns.
    pub cp: Option<i32>,
    /// Mate in this many moves; negative if we get mated.
    pub mate: Option<i32>,
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Selective depth in plies.
    pub seldepth: Option<u32>,
    /// Nodes searched.
    pub nodes: Option<i64>,
    /// Search time in microseconds.
    pub search_us: Option<i64>,
    /// Principal variation in algebraic notation.
    pub pv: Option<String>,
    /// From the stream line that gave us the turn to the start of the POST, in microseconds.
    pub to_post_us: Option<i64>,
    /// From the start of the POST to its response, in microseconds.
    pub round_trip_us: Option<i64>,
}

/// An event other than a move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// Time in milliseconds since 1970.
    pub at: i64,
    /// Plies played at that time.
    pub ply: Option<u32>,
    /// `draw-offer`, `draw-declined`, `takeback`, `takeback-asked`, `takeback-declined`, `opponent`, `chat`, `online`,
    /// `offline`, `info`, `warning` or `error`.
    pub kind: String,
    /// Details, depending on the kind.
    pub text: String,
}

/// Our result in a tournament.
#[derive(Clone, Debug, PartialEq)]
pub struct ArenaResult {
    /// Tournament id.
    pub tournament: String,
    /// Our account.
    pub account: String,
    /// Start of our first game, in milliseconds since 1970.
    pub since: i64,
    /// Games won, drawn, lost.
    pub score: [u32; 3],
}

/// A game with moves and notes.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub game: Game,
    /// Its moves, in order.
    pub moves: Vec<MoveRecord>,
    /// Its notes, in order.
    pub notes: Vec<Note>,
    /// Our rating change, if later games show it.
    pub rating_change: Option<i64>,
}

/// A challenge decision.
#[derive(Clone, Debug, PartialEq)]
pub struct ChallengeDecision {
    /// Time in milliseconds since 1970.
    pub at: i64,
    /// Challenge id.
    pub challenge: String,
    /// The challenger.
    pub from: Player,
    /// The challenged user.
    pub to: Option<String>,
    pub time_control: TimeControl,
    /// Variant key.
    pub variant: String,
    /// Rated or casual.
    pub rated: bool,
    /// `accepted`, `queued`, `declined` or `dropped`.
    pub decision: String,
    /// Reason of the decision.
    pub reason: String,
}

/// Reads records, also while they are written.
#[derive(Debug)]
pub struct Reader {
    pub(super) db: Connection,
    server: String,
}

impl Reader {
    /// Opens a file, migrating it first if it is older and not in use.
    ///
    /// # Errors
    /// When there is no file, or none that this program can read.
    pub fn open(file: &Path) -> Result<Self, Error> {
        match fs::metadata(file) {
            Ok(metadata) if metadata.is_file() => {}
            // Opening a FIFO would wait for a writer.
            Ok(_) => return Err(Error::NoFile),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Error::Denied(error));
            }
            Err(_) => return Err(Error::Missing(file.to_owned())),
        }
        let mut db = read_only(file)?;
        match schema::expect_current(&db) {
            Err(Error::Older(version)) => {
                drop(db);
                migrate_unused(file).map_err(|error| match error {
                    Error::InUse(version) => Error::InUse(version),
                    _ => Error::Older(version),
                })?;
                db = read_only(file)?;
            }
            other => other?,
        }
        let sql = "SELECT value FROM meta WHERE key = 'server'";
        let server: Option<String> = db.query_row(sql, [], |row| row.get(0)).optional()?;
        let server = server.unwrap_or_default();
        Ok(Self { db, server })
    }

    /// The server's base URL.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Games, the latest first.
    ///
    /// # Errors
    /// When the file cannot be read. The same holds for all methods below.
    pub fn games(&self, filter: &Filter, page: Page) -> Result<Vec<Game>, Error> {
        self.games_in_order(Order::default(), filter, page)
    }

    /// Games in the given order. One whose row is damaged is left out, with a warning.
    pub fn games_in_order(
        &self,
        order: Order,
        filter: &Filter,
        page: Page,
    ) -> Result<Vec<Game>, Error> {
        let (sql, conditions) = games_query(order, filter, page);
        let values = params_from_iter(conditions.values);
        let games = rows(&self.db, &sql, values, readable_game)?;
        Ok(games.into_iter().flatten().collect())
    }

    /// Our rating change in a rated game, if later games show it.
    pub fn rating_change(&self, game: &Game) -> Result<Option<i64>, Error> {
        Ok(rating_change(&self.db, game)?)
    }

    /// Number of games.
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let conditions = Conditions::new(filter, "TRUE");
        let sql = format!("SELECT count(*) FROM game WHERE {}", conditions.sql());
        let count: i64 = self
            .db
            .query_row(&sql, params_from_iter(conditions.values), |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// Our accounts that have played, in alphabetical order.
    pub fn accounts(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT account FROM game ORDER BY account";
        Ok(rows(&self.db, sql, [], |row| row.get(0))?)
    }

    /// Our accounts that have played or were online.
    pub(super) fn known_accounts(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT account FROM game UNION SELECT text FROM note WHERE kind = 'online'";
        Ok(rows(&self.db, sql, [], |row| row.get(0))?)
    }

    /// Ids of games with moves, the oldest first.
    pub fn ids(&self, filter: &Filter) -> Result<Vec<String>, Error> {
        self.ids_where("plies > 0", filter)
    }

    /// Ids of an account's games without a known end, the oldest first.
    pub fn unfinished_games(&self, account: &str) -> Result<Vec<String>, Error> {
        let filter = Filter {
            account: Some(account.to_owned()),
            outcome: Some(Outcome::Open),
            ..Filter::default()
        };
        self.ids_where("TRUE", &filter)
    }

    fn ids_where(&self, condition: &str, filter: &Filter) -> Result<Vec<String>, Error> {
        let conditions = Conditions::new(filter, condition);
        let sql = format!(
            "SELECT id FROM game WHERE {} ORDER BY started, seq",
            conditions.sql()
        );
        let values = params_from_iter(conditions.values);
        Ok(rows(&self.db, &sql, values, |row| row.get(0))?)
    }

    /// A game with moves and notes, if it is recorded.
    pub fn record(&self, id: &str) -> Result<Option<Record>, Error> {
        Ok(record(&self.db, id)?)
    }

    /// A game with moves and notes, if it is recorded. A damaged one is left out with a warning.
    pub(crate) fn readable_record(&self, id: &str) -> Result<Option<Record>, Error> {
        Ok(readable_record(&self.db, id)?)
    }

    /// Notes without a game, the latest first.
    pub fn notes(&self, page: Page) -> Result<Vec<Note>, Error> {
        let sql = "SELECT at, ply, kind, text FROM note WHERE game IS NULL ORDER BY at DESC LIMIT ?1 OFFSET ?2";
        Ok(rows(&self.db, sql, [page.limit, page.offset], note)?)
    }

    /// Results of our accounts in tournaments, the latest first.
    pub fn tournaments(&self, page: Page) -> Result<Vec<ArenaResult>, Error> {
        let sql = "SELECT tournament, account, min(started) AS since,
                 count(*) FILTER (WHERE points = 2), count(*) FILTER (WHERE points = 1),
                 count(*) FILTER (WHERE points = 0)
             FROM game WHERE tournament IS NOT NULL GROUP BY tournament, account
             ORDER BY since DESC LIMIT ?1 OFFSET ?2";
        let result = |row: &Row<'_>| {
            Ok(ArenaResult {
                tournament: row.get(0)?,
                account: row.get(1)?,
                since: row.get(2)?,
                score: [row.get(3)?, row.get(4)?, row.get(5)?],
            })
        };
        Ok(rows(&self.db, sql, [page.limit, page.offset], result)?)
    }

    /// Challenge decisions, the latest first.
    pub fn decisions(&self, page: Page) -> Result<Vec<ChallengeDecision>, Error> {
        let sql = "SELECT at, challenge, challenger, title, rating, provisional, dest_user, base_s, increment_s, days, variant,
                 rated, decision, reason
             FROM decision ORDER BY at DESC LIMIT ?1 OFFSET ?2";
        let limits = [page.limit, page.offset];
        Ok(rows(&self.db, sql, limits, challenge_decision)?)
    }
}

/// Our rating change in a rated game: the difference to the rating at the start of the next game of the same kind. `None`
/// if another game of the kind was running at the same time.
fn rating_change(db: &Connection, game: &Game) -> rusqlite::Result<Option<i64>> {
    let (Some(rating), Some(started)) = (game.account.rating, game.started) else {
        return Ok(None);
    };
    if !game.rated {
        return Ok(None);
    }
    // Time by which a game was over.
    let over = format!(
        "coalesce(finished, (SELECT min(at) FROM note WHERE note.game = game.seq AND kind = '{ENDED_AWAY}'))"
    );
    let over_by = match game.finished {
        Some(finished) => Some(finished),
        None => {
            let sql = format!("SELECT {over} FROM game WHERE id = ?1");
            let found = db.query_row(&sql, [&game.id], |row| row.get(0));
            found.optional()?.flatten()
        }
    };
    let Some(over_by) = over_by else {
        return Ok(None);
    };
    let kind = match game.variant.as_str() {
        "standard" => &game.speed,
        variant => variant,
    };
    let name = &game.account.name;
    let sql = format!(
    "SELECT started, account_rating
     FROM (SELECT * FROM game WHERE account = ?1 AND started > ?2 ORDER BY started LIMIT {MAX_NEIGHBOR_GAMES})
     WHERE rated = 1 AND {RATING_KIND} = ?3 AND account_rating IS NOT NULL LIMIT 1"
);
    let mut next = db.prepare(&sql)?;
    let next = next.query_row((name, started, kind), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    });
    let Some((_, after)) = next.optional()?.filter(|(then, _)| over_by <= *then) else {
        return Ok(None);
    };
    let may_be_running = match game.speed.as_str() {
        CORRESPONDENCE => format!("speed = '{CORRESPONDENCE}'"),
        _ => format!("started > ?2 - {MAX_GAME_DURATION_MS}"),
    };
    let sql = format!(
        "SELECT EXISTS (
         SELECT 1 FROM (
             SELECT * FROM game WHERE account = ?1 AND started <= ?2 AND {may_be_running}
             ORDER BY started DESC LIMIT {MAX_NEIGHBOR_GAMES}
         ) AS game
         WHERE id <> ?4 AND rated = 1 AND {RATING_KIND} = ?3 AND coalesce({over}, ?2 + 1) > ?2
     )"
    );
    let mut concurrent = db.prepare(&sql)?;
    let concurrent: bool =
        concurrent.query_row((name, started, kind, &game.id), |row| row.get(0))?;
    Ok((!concurrent).then(|| after - i64::from(rating)))
}

/// A game with moves and notes, if it is recorded.
pub(super) fn record(db: &Connection, id: &str) -> rusqlite::Result<Option<Record>> {
    let sql = format!("SELECT {GAME_COLUMNS}, seq FROM game WHERE id = ?1");
    let found = db.query_row(&sql, [id], |row| {
        Ok((game(row)?, row.get::<_, i64>("seq")?))
    });
    let Some((game, seq)) = found.optional()? else {
        return Ok(None);
    };
    let moves = "SELECT ply, uci, at, clock_ms, source, cp, mate, depth, seldepth, nodes, search_us, pv, to_post_us,
             round_trip_us
         FROM move WHERE game = ?1 ORDER BY ply";
    let notes = "SELECT at, ply, kind, text FROM note WHERE game = ?1 ORDER BY at, seq";
    Ok(Some(Record {
        rating_change: rating_change(db, &game)?,
        game,
        moves: rows(db, moves, [seq], move_record)?,
        notes: rows(db, notes, [seq], note)?,
    }))
}

/// A game with moves and notes, if it is recorded. A damaged one is left out with a warning.
pub(super) fn readable_record(db: &Connection, id: &str) -> rusqlite::Result<Option<Record>> {
    match record(db, id) {
        Err(error) if is_bad_value(&error) => {
            warn_of_bad_row(id, &error);
            Ok(None)
        }
        read => read,
    }
}

/// All rows of a query.
fn rows<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    db.prepare(sql)?.query_map(params, read)?.collect()
}

fn read_only(file: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(file, flags)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    Ok(db)
}

/// The opening in algebraic notation: `1. e4 c5 2. Nf3 d6`.
pub(super) fn opening(moves: &str) -> String {
    let mut position = Position::startpos();
    let mut words = Vec::new();
    for uci in moves.split(' ') {
        let Ok(mv) = position.parse_uci(uci) else {
            return moves.to_owned();
        };
        let san = position.san(mv);
        words.push(match position.turn() {
            Color::White => format!("{}. {san}", position.fullmove_number()),
            Color::Black => san,
        });
        position.play(mv);
    }
    words.join(" ")
}

/// The statement of [`Reader::games`] with its parameters.
pub(super) fn games_query(order: Order, filter: &Filter, page: Page) -> (String, Conditions) {
    let mut conditions = Conditions::new(filter, "TRUE");
    let terms = conditions.sql();
    let (limit, offset) = (
        conditions.bind(i64::from(page.limit)),
        conditions.bind(i64::from(page.offset)),
    );
    let sql = format!(
        "SELECT {GAME_COLUMNS} FROM game WHERE {terms} ORDER BY {} LIMIT {limit} OFFSET {offset}",
        order.sql()
    );
    (sql, conditions)
}

/// A game, unless its row has values that none can have.
fn readable_game(row: &Row<'_>) -> rusqlite::Result<Option<Game>> {
    match game(row) {
        Err(error) if is_bad_value(&error) => {
            let id: String = row.get(0).unwrap_or_default();
            warn_of_bad_row(&id, &error);
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Logs that a game is left out.
pub(super) fn warn_of_bad_row(id: &str, error: &rusqlite::Error) {
    warn!("records: game {id:?} is left out, since its row is damaged: {error}");
}

/// Returns whether a row has a value that does not fit its column.
pub(super) fn is_bad_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..)
    )
}

fn game(row: &Row<'_>) -> rusqlite::Result<Game> {
    let player = |first: usize| -> rusqlite::Result<Player> {
        Ok(Player {
            name: row.get(first)?,
            title: row.get(first + 1)?,
            rating: row.get(first + 2)?,
            provisional: row.get(first + 3)?,
        })
    };
    let color: String = row.get(3)?;
    let speed: String = row.get(12)?;
    let status: Option<String> = row.get(20)?;
    let final_clock: Option<i64> = row.get(24)?;
    let round_trip: Option<i64> = row.get(25)?;
    Ok(Game {
        id: row.get(0)?,
        started: known_time(row.get(1)?),
        finished: row.get::<_, Option<i64>>(2)?.and_then(known_time),
        color: if color == "white" {
            Color::White
        } else {
            Color::Black
        },
        account: player(4)?,
        opponent: player(8)?,
        time_control: match time_control(row, 13)? {
            // PGN without the tag TimeControl.
            TimeControl::Unlimited if speed != "correspondence" => TimeControl::Unknown,
            known => known,
        },
        speed,
        variant: row.get(16)?,
        rated: row.get(17)?,
        initial_fen: row.get(18)?,
        tournament: row.get(19)?,
        outcome: Outcome::of(row.get(22)?, status.as_deref()),
        status,
        result: row.get(21)?,
        plies: row.get(23)?,
        opening: row.get(26)?,
        engine: row.get(27)?,
        site: row.get(28)?,
        final_clock: final_clock.map(|ms| Duration::from_millis(ms.max(0).unsigned_abs())),
        round_trip: round_trip.map(|us| Duration::from_micros(us.max(0).unsigned_abs())),
    })
}

/// A time of a game; it is 0 in the file if an imported game has no date.
fn known_time(at: i64) -> Option<i64> {
    (at != 0).then_some(at)
}

/// Reads base time, increment and days per move from three columns.
fn time_control(row: &Row<'_>, first: usize) -> rusqlite::Result<TimeControl> {
    let base: Option<u32> = row.get(first)?;
    let increment: Option<u32> = row.get(first + 1)?;
    let days: Option<u32> = row.get(first + 2)?;
    Ok(match (base, days) {
        (Some(limit), _) => TimeControl::Clock {
            limit,
            increment: increment.unwrap_or(0),
        },
        (None, Some(days)) => TimeControl::Correspondence { days },
        (None, None) => TimeControl::Unlimited,
    })
}

fn move_record(row: &Row<'_>) -> rusqlite::Result<MoveRecord> {
    Ok(MoveRecord {
        ply: row.get(0)?,
        uci: row.get(1)?,
        at: row.get(2)?,
        clock_ms: row.get(3)?,
        source: row.get(4)?,
        cp: row.get(5)?,
        mate: row.get(6)?,
        depth: row.get(7)?,
        seldepth: row.get(8)?,
        nodes: row.get(9)?,
        search_us: row.get(10)?,
        pv: row.get(11)?,
        to_post_us: row.get(12)?,
        round_trip_us: row.get(13)?,
    })
}

fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    Ok(Note {
        at: row.get(0)?,
        ply: row.get(1)?,
        kind: row.get(2)?,
        text: row.get(3)?,
    })
}

fn challenge_decision(row: &Row<'_>) -> rusqlite::Result<ChallengeDecision> {
    Ok(ChallengeDecision {
        at: row.get(0)?,
        challenge: row.get(1)?,
        from: Player {
            name: row.get(2)?,
            title: row.get(3)?,
            rating: row.get(4)?,
            provisional: row.get(5)?,
        },
        to: row.get(6)?,
        time_control: time_control(row, 7)?,
        variant: row.get(10)?,
        rated: row.get(11)?,
        decision: row.get(12)?,
        reason: row.get(13)?,
    })
}
