//! What is in the file, as values.
//!
//! Lists and statistics are answered from indexes that hold all they ask for, so that 100,000 games are no more than a
//! few milliseconds' work: `cargo bench --bench records`.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params_from_iter};
use serde::Serialize;

use super::filter::{Conditions, Filter, Order, Outcome, Page};
use super::stats::{KIND, opening};
use super::{Error, PATIENCE, open, schema};
use crate::events::{Color, Player, TimeControl};

/// The columns of a [`Game`], in the order in which [`game`] reads them.
const GAME: &str = "id, started, finished, color, account, account_title, account_rating, account_provisional, opponent,
    opponent_title, opponent_rating, opponent_provisional, speed, base_s, increment_s, days, variant, rated,
    initial_fen, tournament, status, result, points, plies, left_ms, round_trip_us, opening";

/// The games of an account that are looked through for the one that tells what another has changed of its rating.
const NEIGHBOURS: u32 = 50;

/// A game that began so long before another one may still have been on then, in milliseconds.
const LONGEST_GAME: i64 = 6 * 3_600_000;

/// A game as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    /// The server's id.
    pub id: String,
    /// When we took it up, in milliseconds since 1970.
    pub started: i64,
    /// When it was over; nothing while it is on, or when nobody was there to see its end.
    pub finished: Option<i64>,
    /// Our colour.
    pub color: Color,
    /// We, with the rating that we had.
    pub account: Player,
    /// Who played against us.
    pub opponent: Player,
    /// `bullet`, `blitz`, ...
    pub speed: String,
    /// The time control.
    pub time_control: TimeControl,
    /// `standard`, `chess960`, `fromPosition`.
    pub variant: String,
    /// Whether ratings were at stake.
    pub rated: bool,
    /// Where it began, if not from the ordinary position.
    pub initial_fen: Option<String>,
    /// The tournament it was part of.
    pub tournament: Option<String>,
    /// The server's word for the end.
    pub status: Option<String>,
    /// `1-0`, `0-1`, `1/2-1/2`, or `*`.
    pub result: Option<String>,
    /// What it was for us.
    pub outcome: Outcome,
    /// Moves made, in plies.
    pub plies: u32,
    /// The first four moves of an ordinary game that is over: `e2e4 c7c5 g1f3 d7d6`.
    pub opening: Option<String>,
    /// Our clock at the end.
    pub left: Option<Duration>,
    /// The mean time from the start of a POST of ours to its answer.
    pub round_trip: Option<Duration>,
}

impl Game {
    /// Its first moves as people write them: `1. e4 c5 2. Nf3 d6`.
    pub fn first_moves(&self) -> Option<String> {
        self.opening.as_deref().map(opening)
    }

    /// Who had this colour.
    pub fn player(&self, color: Color) -> &Player {
        if color == self.color {
            &self.account
        } else {
            &self.opponent
        }
    }
}

/// A move as it is in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Played {
    /// Counted from 1.
    pub ply: u32,
    /// As the server has it.
    pub uci: String,
    /// When we saw it, in milliseconds since 1970.
    pub at: Option<i64>,
    /// The mover's clock after it, in milliseconds.
    pub clock_ms: Option<i64>,
    /// `book`, `search` or `only`: ours only, like all that follows.
    pub source: Option<String>,
    /// Our view of the position in hundredths of a pawn.
    pub cp: Option<i32>,
    /// Or mate in so many moves; negative when it is we who get mated.
    pub mate: Option<i32>,
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Deepest line in plies.
    pub seldepth: Option<u32>,
    /// Positions looked at.
    pub nodes: Option<i64>,
    /// Time spent on thinking, in microseconds.
    pub thought_us: Option<i64>,
    /// The expected line in standard algebraic notation.
    pub line: Option<String>,
    /// From the line that made it our turn to the start of the POST, thinking included, in microseconds.
    pub to_post_us: Option<i64>,
    /// From the start of the POST to its answer, in microseconds.
    pub round_trip_us: Option<i64>,
}

/// Something beside the moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Incident {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// How many moves stood on the board.
    pub ply: Option<u32>,
    /// `draw-offer`, `draw-declined`, `takeback`, `takeback-asked`, `takeback-declined`, `opponent`, `chat`, `online`,
    /// `offline`, `info`, `warning` or `error`.
    pub kind: String,
    /// What.
    pub text: String,
}

/// A tournament in which we have played.
#[derive(Clone, Debug, PartialEq)]
pub struct Attended {
    /// Its id.
    pub tournament: String,
    /// Which account of ours.
    pub account: String,
    /// When our first game in it began, in milliseconds since 1970.
    pub since: i64,
    /// Our games that count: won, drawn, lost.
    pub score: [u32; 3],
}

/// A game with everything that is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its head.
    pub game: Game,
    /// Its moves, in order.
    pub moves: Vec<Played>,
    /// What else happened.
    pub incidents: Vec<Incident>,
    /// What it has changed of our rating, as far as the games after it tell.
    pub rating_change: Option<i64>,
}

/// A decision about a challenge.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The challenge's id.
    pub challenge: String,
    /// Who challenged.
    pub from: Player,
    /// Whom.
    pub to: Option<String>,
    /// The time control.
    pub time_control: TimeControl,
    /// Variant key.
    pub variant: String,
    /// Whether ratings would have been at stake.
    pub rated: bool,
    /// `accepted`, `queued`, `declined` or `dropped`.
    pub decision: String,
    /// Why, in words.
    pub reason: String,
}

/// Reads a file of records, while somebody may be writing it.
#[derive(Debug)]
pub struct Reader {
    pub(super) db: Connection,
    server: String,
}

impl Reader {
    /// Opens a file. One of an older version is brought up to date first.
    ///
    /// # Errors
    /// When there is none, or none that this program can read.
    pub fn open(file: &Path) -> Result<Self, Error> {
        if !file.exists() {
            return Err(Error::Missing(file.to_owned()));
        }
        let mut db = read_only(file)?;
        match schema::expect_current(&db) {
            Err(Error::Older(version)) => {
                drop(db);
                open(file, None).map_err(|_| Error::Older(version))?;
                db = read_only(file)?;
            }
            other => other?,
        }
        let sql = "SELECT value FROM about WHERE key = 'server'";
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
    /// When the file cannot be read; so with all that follows.
    pub fn games(&self, filter: &Filter, page: Page) -> Result<Vec<Game>, Error> {
        self.games_in(Order::default(), filter, page)
    }

    /// Games, in this order.
    pub fn games_in(&self, order: Order, filter: &Filter, page: Page) -> Result<Vec<Game>, Error> {
        let (sql, conditions) = list(order, filter, page);
        let mut statement = self.db.prepare(&sql)?;
        let rows = statement.query_map(params_from_iter(conditions.values), game)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// What a rated game has changed of our rating, as far as the games after it tell.
    pub fn rating_change(&self, game: &Game) -> Result<Option<i64>, Error> {
        Ok(rating_change(&self.db, game)?)
    }

    /// Their number.
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let conditions = Conditions::new(filter, "TRUE");
        let sql = format!("SELECT count(*) FROM game WHERE {}", conditions.sql());
        let count: i64 = self
            .db
            .query_row(&sql, params_from_iter(conditions.values), |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// The names of our accounts that have played, in their order.
    pub fn accounts(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT account FROM game ORDER BY account";
        let mut statement = self.db.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The ids of those that have moves, the first one first.
    pub fn ids(&self, filter: &Filter) -> Result<Vec<String>, Error> {
        self.ids_where("plies > 0", filter)
    }

    /// The ids of those of an account of which no end is known, the first one first.
    pub fn left_open(&self, account: &str) -> Result<Vec<String>, Error> {
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
        let mut statement = self.db.prepare(&sql)?;
        let rows = statement.query_map(params_from_iter(conditions.values), |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Everything about a game, if it is there.
    pub fn record(&self, id: &str) -> Result<Option<Record>, Error> {
        Ok(record(&self.db, id)?)
    }

    /// What happened beside all games, the latest first: connections, trouble.
    pub fn incidents(&self, page: Page) -> Result<Vec<Incident>, Error> {
        let sql = "SELECT at, ply, kind, text FROM note WHERE game IS NULL ORDER BY at DESC LIMIT ?1 OFFSET ?2";
        let mut statement = self.db.prepare(sql)?;
        let rows = statement.query_map([page.most, page.skip], incident)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The tournaments in which each account of ours has played, the latest first.
    pub fn tournaments(&self, page: Page) -> Result<Vec<Attended>, Error> {
        let mut statement = self.db.prepare(
            "SELECT tournament, account, min(started) AS since,
                 count(*) FILTER (WHERE points = 2), count(*) FILTER (WHERE points = 1),
                 count(*) FILTER (WHERE points = 0)
             FROM game WHERE tournament IS NOT NULL GROUP BY tournament, account
             ORDER BY since DESC LIMIT ?1 OFFSET ?2",
        )?;
        let rows = statement.query_map([page.most, page.skip], |row| {
            Ok(Attended {
                tournament: row.get(0)?,
                account: row.get(1)?,
                since: row.get(2)?,
                score: [row.get(3)?, row.get(4)?, row.get(5)?],
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Decisions about challenges, the latest first.
    pub fn decisions(&self, page: Page) -> Result<Vec<Decided>, Error> {
        let mut statement = self.db.prepare(
            "SELECT at, challenge, challenger, title, rating, provisional, dest, base_s, increment_s, days, variant,
                 rated, decision, reason
             FROM decision ORDER BY at DESC LIMIT ?1 OFFSET ?2",
        )?;
        let rows = statement.query_map([page.most, page.skip], decided)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

/// What a rated game has changed of our rating. The next game of its kind tells it, which begins with the rating that
/// came of this one: unless another game of the kind was on at the same time, which has its part in the difference.
fn rating_change(db: &Connection, game: &Game) -> rusqlite::Result<Option<i64>> {
    let (Some(rating), Some(finished)) = (game.account.rating, game.finished) else {
        return Ok(None);
    };
    if !game.rated {
        return Ok(None);
    }
    let kind = match game.variant.as_str() {
        "standard" => &game.speed,
        variant => variant,
    };
    let (name, started) = (&game.account.name, game.started);
    let sql = format!(
    "SELECT started, account_rating
     FROM (SELECT * FROM game WHERE account = ?1 AND started > ?2 ORDER BY started LIMIT {NEIGHBOURS})
     WHERE rated = 1 AND {KIND} = ?3 AND account_rating IS NOT NULL LIMIT 1"
);
    let mut next = db.prepare(&sql)?;
    let next = next.query_row((name, started, kind), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    });
    let Some((_, after)) = next.optional()?.filter(|(then, _)| finished <= *then) else {
        return Ok(None);
    };
    let sql = format!(
    "SELECT EXISTS (
         SELECT 1 FROM (
             SELECT * FROM game WHERE account = ?1 AND started <= ?2 AND started > ?2 - {LONGEST_GAME}
             ORDER BY started DESC LIMIT {NEIGHBOURS}
         )
         WHERE id <> ?4 AND rated = 1 AND {KIND} = ?3 AND coalesce(finished, ?2 + 1) > ?2
     )"
);
    let mut beside = db.prepare(&sql)?;
    let beside: bool = beside.query_row((name, started, kind, &game.id), |row| row.get(0))?;
    Ok((!beside).then(|| after - i64::from(rating)))
}

/// Everything about a game, if it is there.
pub(super) fn record(db: &Connection, id: &str) -> rusqlite::Result<Option<Record>> {
    let sql = format!("SELECT {GAME}, seq FROM game WHERE id = ?1");
    let found = db.query_row(&sql, [id], |row| {
        Ok((game(row)?, row.get::<_, i64>("seq")?))
    });
    let Some((game, seq)) = found.optional()? else {
        return Ok(None);
    };
    let mut statement = db.prepare(
        "SELECT ply, uci, at, clock_ms, source, cp, mate, depth, seldepth, nodes, thought_us, line, to_post_us,
             round_trip_us
         FROM move WHERE game = ?1 ORDER BY ply",
    )?;
    let moves = statement.query_map([seq], played)?;
    let moves = moves.collect::<rusqlite::Result<_>>()?;
    let sql = "SELECT at, ply, kind, text FROM note WHERE game = ?1 ORDER BY at, seq";
    let mut statement = db.prepare(sql)?;
    let incidents = statement.query_map([seq], incident)?;
    Ok(Some(Record {
        rating_change: rating_change(db, &game)?,
        game,
        moves,
        incidents: incidents.collect::<rusqlite::Result<_>>()?,
    }))
}

fn read_only(file: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(file, flags)?;
    db.busy_timeout(PATIENCE)?;
    Ok(db)
}

/// The statement of [`Reader::games`], with its values.
pub(super) fn list(order: Order, filter: &Filter, page: Page) -> (String, Conditions) {
    let mut conditions = Conditions::new(filter, "TRUE");
    let terms = conditions.sql();
    let (most, skip) = (
        conditions.bind(i64::from(page.most)),
        conditions.bind(i64::from(page.skip)),
    );
    let sql = format!(
        "SELECT {GAME} FROM game WHERE {terms} ORDER BY {} LIMIT {most} OFFSET {skip}",
        order.sql()
    );
    (sql, conditions)
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
    let status: Option<String> = row.get(20)?;
    let left: Option<i64> = row.get(24)?;
    let round_trip: Option<i64> = row.get(25)?;
    Ok(Game {
        id: row.get(0)?,
        started: row.get(1)?,
        finished: row.get(2)?,
        color: if color == "white" {
            Color::White
        } else {
            Color::Black
        },
        account: player(4)?,
        opponent: player(8)?,
        speed: row.get(12)?,
        time_control: time_control(row, 13)?,
        variant: row.get(16)?,
        rated: row.get(17)?,
        initial_fen: row.get(18)?,
        tournament: row.get(19)?,
        outcome: Outcome::of(row.get(22)?, status.as_deref()),
        status,
        result: row.get(21)?,
        plies: row.get(23)?,
        opening: row.get(26)?,
        left: left.map(|ms| Duration::from_millis(ms.max(0).unsigned_abs())),
        round_trip: round_trip.map(|us| Duration::from_micros(us.max(0).unsigned_abs())),
    })
}

/// From base and increment in seconds and days for a move, beginning with this column.
fn time_control(row: &Row<'_>, first: usize) -> rusqlite::Result<TimeControl> {
    let base: Option<u32> = row.get(first)?;
    let increment: Option<u32> = row.get(first + 1)?;
    let days: Option<u32> = row.get(first + 2)?;
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    Ok(match (base, days) {
        (Some(base), _) => TimeControl::Clock {
            base: seconds(base),
            increment: seconds(increment.unwrap_or(0)),
        },
        (None, Some(days)) => TimeControl::Days(days),
        (None, None) => TimeControl::Unlimited,
    })
}

fn played(row: &Row<'_>) -> rusqlite::Result<Played> {
    Ok(Played {
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
        thought_us: row.get(10)?,
        line: row.get(11)?,
        to_post_us: row.get(12)?,
        round_trip_us: row.get(13)?,
    })
}

fn incident(row: &Row<'_>) -> rusqlite::Result<Incident> {
    Ok(Incident {
        at: row.get(0)?,
        ply: row.get(1)?,
        kind: row.get(2)?,
        text: row.get(3)?,
    })
}

fn decided(row: &Row<'_>) -> rusqlite::Result<Decided> {
    Ok(Decided {
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
