//! Inserts events into the database.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::score::expected_score;
use crate::chess::Color;
use crate::events::{
    Challenge, Event, GameFinished, GameStarted, Moved, Offer, Player, Score, TimeControl,
    initial_position,
};
use crate::seconds::DAY;

/// Upper limit of a text from others, in characters.
const MAX_TEXT_CHARS: usize = 500;

/// Upper limit of a principal variation, in plies.
const MAX_PV_PLIES: usize = 12;

/// How long notes without a game are kept.
const NOTE_RETENTION: Duration = Duration::from_secs(30 * DAY);

/// Plies that identify an opening.
const OPENING_PLIES: usize = 4;

/// The kind of the note at a game whose end was not observed. The game was over by then.
pub(super) const ENDED_AWAY: &str = "ended-away";

/// Returns whether an event is recorded.
pub(super) fn is_recorded(event: &Event) -> bool {
    match event {
        Event::ForAccount { event, .. } => is_recorded(event),
        Event::SearchInfo { .. }
        | Event::Clocks { .. }
        | Event::Idle { .. }
        | Event::Draining { .. }
        | Event::Paused { .. }
        | Event::Arena(_)
        | Event::Settings(_) => false,
        _ => true,
    }
}

/// Inserts an event of this time. With `write_pgn`, games that end are marked for the PGN files.
pub(super) fn insert_event(db: &Connection, at: i64, event: &Event, write_pgn: bool) -> Result<()> {
    match event {
        Event::GameStarted(start) => insert_game(db, at, start),
        Event::Moved(moved) => insert_move(db, at, moved),
        Event::TakenBack { game, ply } => delete_taken_back(db, at, game, *ply),
        Event::GameFinished(end) => finish_game(db, at, end, write_pgn),
        Event::Challenge(challenge) => insert_decision(db, at, challenge),
        Event::DrawOffered { game, by } => insert_note(db, at, Some(game), "draw-offer", by.key()),
        Event::TakebackRequested {
            game,
            by,
            pending: true,
        } => insert_note(db, at, Some(game), "takeback-asked", by.key()),
        Event::TakebackRequested { pending: false, .. } => Ok(()),
        Event::Declined { game, by, offer } => {
            let kind = match offer {
                Offer::Draw => "draw-declined",
                Offer::Takeback => "takeback-declined",
            };
            insert_note(db, at, Some(game), kind, by.key())
        }
        Event::OpponentGone { game, gone } => {
            let text = if *gone { "gone" } else { "back" };
            insert_note(db, at, Some(game), "opponent", text)
        }
        Event::Chat {
            game,
            room,
            from,
            text,
        } => insert_note(
            db,
            at,
            Some(game),
            "chat",
            &format!("{room} {from}: {text}"),
        ),
        Event::Online { account, .. } => insert_note(db, at, None, "online", &account.name),
        Event::Offline { reason, .. } => insert_note(db, at, None, "offline", reason),
        Event::ForAccount { account, event } => match &**event {
            Event::Offline { reason, .. } => {
                insert_note(db, at, None, "offline", &format!("{account}: {reason}"))
            }
            event => insert_event(db, at, event, write_pgn),
        },
        Event::Note {
            severity,
            game,
            text,
        } => insert_note(db, at, game.as_deref(), severity.key(), text),
        Event::SearchInfo { .. }
        | Event::Clocks { .. }
        | Event::Idle { .. }
        | Event::Draining { .. }
        | Event::Paused { .. }
        | Event::Arena(_)
        | Event::Settings(_) => Ok(()),
    }
}

/// Deletes old notes that belong to no game.
pub(super) fn prune(db: &Connection, now: i64) -> Result<()> {
    let old = now.saturating_sub(NOTE_RETENTION.as_millis() as i64);
    db.execute("DELETE FROM note WHERE game IS NULL AND at < ?1", [old])?;
    Ok(())
}

pub(super) fn insert_game(db: &Connection, at: i64, start: &GameStarted) -> Result<()> {
    let (us, them) = match start.our_color {
        Color::White => (&start.white, &start.black),
        Color::Black => (&start.black, &start.white),
    };
    if start.plies == 0 {
        // A restarted simulator reuses game ids.
        db.execute(
            "DELETE FROM game WHERE id = ?1 AND status IS NOT NULL",
            [&start.game],
        )?;
    }
    let (base, increment, days) = time_control(start.time_control);
    db.execute(
        "INSERT INTO game (
             id, started, color,
             account, account_title, account_rating, account_provisional,
             opponent, opponent_title, opponent_rating, opponent_provisional,
             speed, base_s, increment_s, days, variant, rated, initial_fen, tournament, expected,
             engine
         )
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
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
            start.engine,
        ],
    )?;
    Ok(())
}

/// Returns whether this game is recorded for another account: for our opponent, by another process with the same records.
pub(super) fn is_of_other_account(db: &Connection, start: &GameStarted) -> Result<bool> {
    db.query_row(
        "SELECT EXISTS (SELECT 1 FROM game WHERE id = ?1 AND account <> ?2)",
        [&start.game, &start.us().name],
        |row| row.get(0),
    )
}

fn expected(us: &Player, them: &Player) -> Option<f64> {
    Some(expected_score(us.rating?.into(), them.rating?.into()))
}

/// Base time and increment in seconds, or days per move.
fn time_control(time_control: TimeControl) -> (Option<u32>, Option<u32>, Option<u32>) {
    match time_control {
        TimeControl::Clock { limit, increment } => (Some(limit), Some(increment), None),
        TimeControl::Correspondence { days } => (None, None, Some(days)),
        TimeControl::Unlimited | TimeControl::Unknown => (None, None, None),
    }
}

/// The row of a game, if its start was recorded.
fn game_seq(db: &Connection, game: &str) -> Result<Option<i64>> {
    db.query_row("SELECT seq FROM game WHERE id = ?1", [game], |row| {
        row.get(0)
    })
    .optional()
}

fn insert_move(db: &Connection, at: i64, moved: &Moved) -> Result<()> {
    let Some(game) = game_seq(db, &moved.game)? else {
        return Ok(());
    };
    // After a restart the moves come again without details: keep the recorded ones, unless they were taken back meanwhile.
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
    delete_moves_from(db, game, moved.ply)?;
    let clock = match moved.by {
        Color::White => moved.wtime,
        Color::Black => moved.btime,
    };
    let search = moved.search.as_ref();
    let searched = search.filter(|search| search.depth > 0);
    let (cp, mate) = match search.and_then(|search| search.score) {
        Some(Score::Centipawns(cp)) => (Some(cp), None),
        Some(Score::Mate(moves)) => (None, Some(moves)),
        None => (None, None),
    };
    let pv = searched
        .filter(|search| !search.pv.is_empty())
        .map(|search| search.pv[..search.pv.len().min(MAX_PV_PLIES)].join(" "));
    db.execute(
        "INSERT INTO move (
             game, ply, uci, at, clock_ms, source, cp, mate, depth, seldepth, nodes, search_us, pv,
             to_post_us, round_trip_us
         )
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            game,
            moved.ply,
            moved.uci,
            at,
            clock.map(|clock| clock as i64),
            search.map(|search| search.source.key()),
            cp,
            mate,
            searched.map(|search| search.depth),
            searched.map(|search| search.seldepth),
            searched.map(|search| search.nodes as i64),
            searched.map(|search| micros(search.elapsed)),
            pv,
            moved.timing.map(|timing| micros(timing.to_post)),
            moved.timing.map(|timing| micros(timing.round_trip)),
        ],
    )?;
    set_plies(db, game, moved.ply)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn delete_moves_from(db: &Connection, game: i64, ply: u32) -> Result<()> {
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

fn delete_taken_back(db: &Connection, at: i64, game: &str, ply: u32) -> Result<()> {
    let Some(seq) = game_seq(db, game)? else {
        return Ok(());
    };
    delete_moves_from(db, seq, ply + 1)?;
    set_plies(db, seq, ply)?;
    insert_note(db, at, Some(game), "takeback", "")
}

pub(super) fn finish_game(
    db: &Connection,
    at: i64,
    end: &GameFinished,
    write_pgn: bool,
) -> Result<()> {
    let row = db
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
    let Some((game, ours, variant, fen)) = row else {
        return Ok(());
    };
    let reported: Vec<&str> = end.moves.split(' ').filter(|uci| !uci.is_empty()).collect();
    let recorded = recorded_moves(db, game)?;
    // An event without moves only reports the end. Moves that were taken back are deleted already.
    let moves: Vec<&str> = match reported.is_empty() {
        true => (1..)
            .zip(&recorded)
            .map_while(|(ply, (at, uci))| (ply == *at).then_some(uci.as_str()))
            .collect(),
        false => reported,
    };
    complete_moves(db, game, &recorded, &moves)?;
    let points = match (end.winner, end.result.as_str()) {
        (Some(winner), _) if winner.key() == ours => Some(2),
        (Some(_), _) => Some(0),
        (None, "1/2-1/2") => Some(1),
        (None, _) => None,
    };
    let is_standard = variant == "standard" && fen.is_none() && moves.len() >= OPENING_PLIES;
    let opening = is_standard.then(|| moves[..OPENING_PLIES].join(" "));
    let parity = our_ply_parity(&ours, &variant, fen.as_deref());
    let final_clock: Option<i64> = db
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
             final_clock_ms = ?8, pgn_pending = iif(status IS ?3 AND result IS ?4 AND plies IS ?6, pgn_pending, ?9),
             round_trip_us = (SELECT CAST(avg(round_trip_us) AS INTEGER) FROM move WHERE game = ?1)
         WHERE seq = ?1",
        params![
            game,
            end.observed.then_some(at),
            end.status,
            end.result,
            points,
            moves.len() as i64,
            opening,
            final_clock,
            write_pgn && !moves.is_empty(),
        ],
    )?;
    if end.observed {
        return Ok(());
    }
    insert_note(db, at, Some(&end.game), ENDED_AWAY, &end.status)
}

/// The recorded moves with their plies.
fn recorded_moves(db: &Connection, game: i64) -> Result<Vec<(u32, String)>> {
    let mut statement = db.prepare("SELECT ply, uci FROM move WHERE game = ?1 ORDER BY ply")?;
    let rows = statement.query_map([game], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Adds moves that were not recorded when they were played: while the queue was full, or before a restart.
fn complete_moves(
    db: &Connection,
    game: i64,
    recorded: &[(u32, String)],
    moves: &[&str],
) -> Result<()> {
    let matches = |ply: u32, uci: &str| moves.get(ply as usize - 1) == Some(&uci);
    let wrong = recorded.iter().find(|(ply, uci)| !matches(*ply, uci));
    if let Some((ply, _)) = wrong {
        delete_moves_from(db, game, *ply)?;
    }
    if recorded.len() == moves.len() && wrong.is_none() {
        return Ok(());
    }
    let mut statement =
        db.prepare("INSERT OR IGNORE INTO move (game, ply, uci) VALUES (?1, ?2, ?3)")?;
    for (ply, uci) in (1i64..).zip(moves) {
        statement.execute(params![game, ply, uci])?;
    }
    Ok(())
}

/// The parity of the plies of our moves.
fn our_ply_parity(ours: &str, variant: &str, initial_fen: Option<&str>) -> i64 {
    let first =
        initial_position(variant, initial_fen).map_or(Color::White, |position| position.turn());
    i64::from(first.key() == ours)
}

fn insert_decision(db: &Connection, at: i64, challenge: &Challenge) -> Result<()> {
    let decision = challenge.decision.key();
    let (base, increment, days) = time_control(challenge.time_control);
    db.execute(
        "INSERT INTO decision (
             at, challenge, challenger, title, rating, provisional, dest_user, base_s, increment_s, days, variant, rated,
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

fn insert_note(db: &Connection, at: i64, game: Option<&str>, kind: &str, text: &str) -> Result<()> {
    let game = match game {
        // Notes of games that are not recorded are dropped.
        Some(id) => match game_seq(db, id)? {
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
    text.chars().take(MAX_TEXT_CHARS).collect()
}
