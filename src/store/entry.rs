//! What an event puts into the file.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::score::expectation;
use crate::chess::{Color, Position};
use crate::events::{
    Challenge, Event, GameFinished, GameStarted, Moved, Offer, Player, Score, TimeControl,
};

/// The longest text of others that is kept, in characters.
const LONGEST: usize = 500;

/// The longest expected line that is kept, in half-moves.
const LINE: usize = 12;

/// Notes that belong to no game are kept for this long.
const NOTES_KEPT: Duration = Duration::from_secs(30 * 86_400);

/// The half-moves that an opening is known by.
const OPENING: usize = 4;

/// Whether an event is one for the file.
pub(super) fn is_recorded(event: &Event) -> bool {
    match event {
        Event::ForAccount { event, .. } => is_recorded(event),
        Event::Thinking { .. }
        | Event::Idle { .. }
        | Event::Draining { .. }
        | Event::Paused { .. }
        | Event::Arena(_)
        | Event::Settings(_) => false,
        _ => true,
    }
}

/// Writes down what happened at this moment. With `filed`, games that end are to be written as PGN, too.
pub(super) fn enter(db: &Connection, at: i64, event: &Event, filed: bool) -> Result<()> {
    match event {
        Event::GameStarted(start) => begin(db, at, start),
        Event::Moved(moved) => add_move(db, at, moved),
        Event::TakenBack { game, ply } => take_back(db, at, game, *ply),
        Event::GameFinished(end) => finish(db, at, end, filed),
        Event::Challenge(challenge) => decide(db, at, challenge),
        Event::DrawOffered { game, by } => note(db, at, Some(game), "draw-offer", by.key()),
        Event::TakebackRequested {
            game,
            by,
            pending: true,
        } => note(db, at, Some(game), "takeback-asked", by.key()),
        Event::TakebackRequested { pending: false, .. } => Ok(()),
        Event::Declined { game, by, offer } => {
            let kind = match offer {
                Offer::Draw => "draw-declined",
                Offer::Takeback => "takeback-declined",
            };
            note(db, at, Some(game), kind, by.key())
        }
        Event::OpponentGone { game, gone } => {
            let text = if *gone { "gone" } else { "back" };
            note(db, at, Some(game), "opponent", text)
        }
        Event::Chat {
            game,
            room,
            from,
            text,
        } => note(
            db,
            at,
            Some(game),
            "chat",
            &format!("{room} {from}: {text}"),
        ),
        Event::Online { account, .. } => note(db, at, None, "online", &account.name),
        Event::Offline { reason, .. } => note(db, at, None, "offline", reason),
        Event::ForAccount { account, event } => match &**event {
            Event::Offline { reason, .. } => {
                note(db, at, None, "offline", &format!("{account}: {reason}"))
            }
            event => enter(db, at, event, filed),
        },
        Event::Note {
            severity,
            game,
            text,
        } => note(db, at, game.as_deref(), severity.key(), text),
        Event::Thinking { .. }
        | Event::Idle { .. }
        | Event::Draining { .. }
        | Event::Paused { .. }
        | Event::Arena(_)
        | Event::Settings(_) => Ok(()),
    }
}

/// Takes out what nobody will ask for any more.
pub(super) fn prune(db: &Connection, now: i64) -> Result<()> {
    let old = now.saturating_sub(NOTES_KEPT.as_millis() as i64);
    db.execute("DELETE FROM note WHERE game IS NULL AND at < ?1", [old])?;
    Ok(())
}

fn begin(db: &Connection, at: i64, start: &GameStarted) -> Result<()> {
    let (us, them) = match start.our_color {
        Color::White => (&start.white, &start.black),
        Color::Black => (&start.black, &start.white),
    };
    if start.plies == 0 {
        // A simulator that was started anew gives the same ids again.
        db.execute(
            "DELETE FROM game WHERE id = ?1 AND finished IS NOT NULL",
            [&start.game],
        )?;
    }
    let (base, increment, days) = time_control(start.time_control);
    db.execute(
        "INSERT INTO game (
             id, started, color,
             account, account_title, account_rating, account_provisional,
             opponent, opponent_title, opponent_rating, opponent_provisional,
             speed, base_s, increment_s, days, variant, rated, initial_fen, tournament, expected
         )
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
         ON CONFLICT (id) DO NOTHING",
        params![
            start.game,
            at,
            start.our_color.key(),
            us.name,
            us.title,
            us.rating,
            us.provisional,
            them.name,
            them.title,
            them.rating,
            them.provisional,
            start.speed,
            base,
            increment,
            days,
            start.variant,
            start.rated,
            start.initial_fen,
            start.tournament,
            expected(us, them),
        ],
    )?;
    Ok(())
}

fn expected(us: &Player, them: &Player) -> Option<f64> {
    Some(expectation(us.rating?.into(), them.rating?.into()))
}

/// Base and increment in seconds, or days.
fn time_control(time_control: TimeControl) -> (Option<i64>, Option<i64>, Option<u32>) {
    match time_control {
        TimeControl::Clock { base, increment } => {
            let seconds = |time: Duration| Some(time.as_secs() as i64);
            (seconds(base), seconds(increment), None)
        }
        TimeControl::Days(days) => (None, None, Some(days)),
        TimeControl::Unlimited => (None, None, None),
    }
}

/// The number of a game, if its beginning was written down.
fn number(db: &Connection, game: &str) -> Result<Option<i64>> {
    db.query_row("SELECT seq FROM game WHERE id = ?1", [game], |row| {
        row.get(0)
    })
    .optional()
}

fn add_move(db: &Connection, at: i64, moved: &Moved) -> Result<()> {
    let Some(game) = number(db, &moved.game)? else {
        return Ok(());
    };
    // After a restart the moves come again, with nothing but themselves: then what is there stays, unless it was taken
    // back meanwhile.
    let known: Option<String> = db
        .query_row(
            "SELECT uci FROM move WHERE game = ?1 AND ply = ?2",
            params![game, moved.ply],
            |row| row.get(0),
        )
        .optional()?;
    if known.as_deref() == Some(&moved.uci) {
        return Ok(());
    }
    forget_from(db, game, moved.ply)?;
    let clock = match moved.by {
        Color::White => moved.wtime,
        Color::Black => moved.btime,
    };
    let thought = moved.thought.as_ref();
    let searched = thought.filter(|thought| thought.depth > 0);
    let (cp, mate) = match thought.and_then(|thought| thought.score) {
        Some(Score::Centipawns(cp)) => (Some(cp), None),
        Some(Score::Mate(moves)) => (None, Some(moves)),
        None => (None, None),
    };
    let line = searched
        .filter(|thought| !thought.pv.is_empty())
        .map(|thought| thought.pv[..thought.pv.len().min(LINE)].join(" "));
    db.execute(
        "INSERT INTO move (
             game, ply, uci, at, clock_ms, source, cp, mate, depth, seldepth, nodes, thought_us, line,
             to_post_us, round_trip_us
         )
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            game,
            moved.ply,
            moved.uci,
            at,
            clock.map(|clock| clock as i64),
            thought.map(|thought| thought.source.key()),
            cp,
            mate,
            searched.map(|thought| thought.depth),
            searched.map(|thought| thought.seldepth),
            searched.map(|thought| thought.nodes as i64),
            searched.map(|thought| micros(thought.elapsed)),
            line,
            moved.timing.map(|timing| micros(timing.to_post)),
            moved.timing.map(|timing| micros(timing.round_trip)),
        ],
    )?;
    set_plies(db, game, moved.ply)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn forget_from(db: &Connection, game: i64, ply: u32) -> Result<()> {
    db.execute(
        "DELETE FROM move WHERE game = ?1 AND ply >= ?2",
        params![game, ply],
    )?;
    Ok(())
}

fn set_plies(db: &Connection, game: i64, plies: u32) -> Result<()> {
    db.execute(
        "UPDATE game SET plies = ?2 WHERE seq = ?1",
        params![game, plies],
    )?;
    Ok(())
}

fn take_back(db: &Connection, at: i64, game: &str, ply: u32) -> Result<()> {
    let Some(number) = number(db, game)? else {
        return Ok(());
    };
    forget_from(db, number, ply + 1)?;
    set_plies(db, number, ply)?;
    note(db, at, Some(game), "takeback", "")
}

fn finish(db: &Connection, at: i64, end: &GameFinished, filed: bool) -> Result<()> {
    let head = db
        .query_row(
            "SELECT seq, color, variant, initial_fen FROM game WHERE id = ?1",
            [&end.game],
            |row| {
                let ours: String = row.get(1)?;
                let variant: String = row.get(2)?;
                let fen: Option<String> = row.get(3)?;
                Ok((row.get::<_, i64>(0)?, ours, variant, fen))
            },
        )
        .optional()?;
    let Some((game, ours, variant, fen)) = head else {
        return Ok(());
    };
    let told: Vec<&str> = end.moves.split(' ').filter(|uci| !uci.is_empty()).collect();
    let kept = known(db, game)?;
    // Who has heard of the end alone knows no moves. Those that were taken back are gone already.
    let moves: Vec<&str> = match told.is_empty() {
        true => (1..)
            .zip(&kept)
            .map_while(|(ply, (at, uci))| (ply == *at).then_some(uci.as_str()))
            .collect(),
        false => told,
    };
    complete(db, game, &kept, &moves)?;
    let points = match (end.winner, end.result.as_str()) {
        (Some(winner), _) if winner.key() == ours => Some(2),
        (Some(_), _) => Some(0),
        (None, "1/2-1/2") => Some(1),
        (None, _) => None,
    };
    let ordinary = variant == "standard" && fen.is_none() && moves.len() >= OPENING;
    let opening = ordinary.then(|| moves[..OPENING].join(" "));
    let parity = our_parity(&ours, fen.as_deref());
    let left: Option<i64> = db
        .query_row(
            "SELECT clock_ms FROM move WHERE game = ?1 AND ply % 2 = ?2 AND clock_ms IS NOT NULL
             ORDER BY ply DESC LIMIT 1",
            params![game, parity],
            |row| row.get(0),
        )
        .optional()?;
    db.execute(
        "UPDATE game SET
             finished = coalesce(finished, ?2), status = ?3, result = ?4, points = ?5, plies = ?6, opening = ?7,
             left_ms = ?8, unfiled = ?9,
             round_trip_us = (SELECT CAST(avg(round_trip_us) AS INTEGER) FROM move WHERE game = ?1)
         WHERE seq = ?1",
        params![
            game,
            at,
            end.status,
            end.result,
            points,
            moves.len() as i64,
            opening,
            left,
            filed && !moves.is_empty(),
        ],
    )?;
    Ok(())
}

/// The moves that we were told of while they were made, by their plies.
fn known(db: &Connection, game: i64) -> Result<Vec<(u32, String)>> {
    let mut statement = db.prepare("SELECT ply, uci FROM move WHERE game = ?1 ORDER BY ply")?;
    let rows = statement.query_map([game], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Adds the moves that nobody told us of while they were made: while the queue was full, or after a restart.
fn complete(db: &Connection, game: i64, known: &[(u32, String)], moves: &[&str]) -> Result<()> {
    let stands = |ply: u32, uci: &str| moves.get(ply as usize - 1) == Some(&uci);
    let wrong = known.iter().find(|(ply, uci)| !stands(*ply, uci));
    if let Some((ply, _)) = wrong {
        forget_from(db, game, *ply)?;
    }
    if known.len() == moves.len() && wrong.is_none() {
        return Ok(());
    }
    let mut statement =
        db.prepare("INSERT OR IGNORE INTO move (game, ply, uci) VALUES (?1, ?2, ?3)")?;
    for (ply, uci) in (1i64..).zip(moves) {
        statement.execute(params![game, ply, uci])?;
    }
    Ok(())
}

/// What is left of the numbers of our moves when they are divided by two.
fn our_parity(ours: &str, initial_fen: Option<&str>) -> i64 {
    let first = initial_fen
        .and_then(|fen| Position::from_fen(fen).ok())
        .map_or(Color::White, |position| position.turn());
    i64::from(first.key() == ours)
}

fn decide(db: &Connection, at: i64, challenge: &Challenge) -> Result<()> {
    let decision = challenge.decision.key();
    let (base, increment, days) = time_control(challenge.time_control);
    db.execute(
        "INSERT INTO decision (
             at, challenge, challenger, title, rating, provisional, dest, base_s, increment_s, days, variant, rated,
             decision, reason
         )
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            at,
            challenge.id,
            challenge.from.name,
            challenge.from.title,
            challenge.from.rating,
            challenge.from.provisional,
            challenge.to,
            base,
            increment,
            days,
            challenge.variant,
            challenge.rated,
            decision,
            clip(&challenge.reason),
        ],
    )?;
    Ok(())
}

fn note(db: &Connection, at: i64, game: Option<&str>, kind: &str, text: &str) -> Result<()> {
    let game = match game {
        // What belongs to a game that is not in the file belongs nowhere.
        Some(id) => match number(db, id)? {
            None => return Ok(()),
            known => known,
        },
        None => None,
    };
    db.execute(
        "INSERT INTO note (at, game, ply, kind, text)
         VALUES (?1, ?2, (SELECT plies FROM game WHERE seq = ?2), ?3, ?4)",
        params![at, game, kind, clip(text)],
    )?;
    Ok(())
}

fn clip(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}
