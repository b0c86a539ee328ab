//! Export of games as PGN and JSON. Ongoing games are shown three plies late.

use std::time::Duration;

use jiff::Timestamp;

use knightwatch_chess::pgn::{self, MoveComment, Outcome, Tags};
use knightwatch_chess::{Color, Game};

use crate::http::params::Params;
use crate::referee::Status;
use crate::round::{COLORS, Round, Side};
use crate::site::{AccountKind, SimTime, Variant};
use crate::time_control::{TimeControl, clock_estimate};
use crate::wire::{Object, object};

/// Delay of the public view of ongoing games, in plies.
pub(crate) const SPECTATOR_DELAY_PLIES: usize = 3;

pub(crate) fn public_game(round: &Round) -> Game {
    let mut game = round.referee.game().clone();
    if round.referee.is_running() {
        game.truncate(game.moves().len().saturating_sub(SPECTATOR_DELAY_PLIES));
    }
    game
}

/// Returns a boolean parameter, or its default if it is absent.
fn flag_or(params: &Params, name: &str, default: bool) -> bool {
    params
        .get(name)
        .map_or(default, crate::http::params::is_yes)
}

pub(crate) fn pgn(round: &Round, params: &Params, base: &str) -> String {
    let game = public_game(round);
    let mut tags = Tags::default();
    if flag_or(params, "tags", true) {
        fill_tags(&mut tags, round, base);
    }
    let clocks = if flag_or(params, "clocks", true) {
        round.referee.clock_history()
    } else {
        &[]
    };
    let notes: Vec<MoveComment> = clocks
        .iter()
        .take(game.moves().len())
        .map(|left| MoveComment {
            clock: Some(Duration::from_millis(left.millis().max(0) as u64)),
            ..MoveComment::default()
        })
        .collect();
    let outcome = match (round.referee.status(), round.referee.winner()) {
        (Status::Started | Status::Aborted, _) => Outcome::Unknown,
        (_, Some(winner)) => Outcome::Win(winner),
        (_, None) => Outcome::Draw,
    };
    let text = if flag_or(params, "moves", true) {
        pgn::write(&tags, &game, &notes, outcome)
    } else {
        pgn::write(&tags, &Game::new(game.initial().clone()), &[], outcome)
    };
    match flag_or(params, "tags", true) {
        true => text,
        // The writer always adds the seven standard tags.
        false => match text.split_once("\n\n") {
            Some((_, moves)) => moves.to_owned(),
            None => text,
        },
    }
}

fn fill_tags(tags: &mut Tags, round: &Round, base: &str) {
    let rated = if round.rated { "rated" } else { "casual" };
    tags.set("Event", format!("{rated} {} game", round.perf().key));
    tags.set("Site", format!("{base}/{}", round.id));
    let (date, time) = date_and_time(round.created_at);
    tags.set("Date", date.clone());
    tags.set("Round", "-");
    tags.set("White", pgn_name(round.side(Color::White)));
    tags.set("Black", pgn_name(round.side(Color::Black)));
    tags.set("Result", round.result());
    tags.set("GameId", round.id.to_string());
    tags.set("UTCDate", date);
    tags.set("UTCTime", time);
    for color in [Color::White, Color::Black] {
        let side = round.side(color);
        let name = if color == Color::White {
            "White"
        } else {
            "Black"
        };
        let rating = (side.account_kind == AccountKind::User).then(|| side.rating.to_string());
        tags.set(&format!("{name}Elo"), rating.unwrap_or("?".to_owned()));
        if let Some(diff) = side.rating_diff {
            tags.set(&format!("{name}RatingDiff"), format!("{diff:+}"));
        }
        if let Some(title) = side.title {
            tags.set(&format!("{name}Title"), title);
        }
    }
    tags.set("Variant", round.variant.name());
    let time_control = match round.time_control {
        TimeControl::Clock { limit, increment } => format!("{limit}+{increment}"),
        TimeControl::Days(_) | TimeControl::Unlimited => "-".to_owned(),
    };
    tags.set("TimeControl", time_control);
    let termination = match round.referee.status() {
        Status::Started => "Unterminated",
        Status::Aborted | Status::NoStart => "Abandoned",
        Status::OutOfTime | Status::Timeout => "Time forfeit",
        _ => "Normal",
    };
    tags.set("Termination", termination);
}

fn pgn_name(side: &Side) -> String {
    match side.account_kind {
        AccountKind::User => side.name.clone(),
        AccountKind::Ai(level) => format!("lichess AI level {level}"),
        AccountKind::Anonymous => "Anonymous".to_owned(),
    }
}

fn date_and_time(moment: SimTime) -> (String, String) {
    let at = Timestamp::from_millisecond(moment.0).unwrap_or(Timestamp::UNIX_EPOCH);
    let at = at.to_zoned(jiff::tz::TimeZone::UTC);
    (
        at.strftime("%Y.%m.%d").to_string(),
        at.strftime("%H:%M:%S").to_string(),
    )
}

/// The players of an exported game by color.
pub(crate) fn players_json(round: &Round) -> Object {
    let players = COLORS.map(|color| {
        let side = round.side(color);
        let known = side.account_kind == AccountKind::User;
        let user = known.then(|| {
            object("name", &side.name)
                .maybe("title", side.title)
                .set("id", side.user.to_string())
        });
        let ai_level = match side.account_kind {
            AccountKind::Ai(level) => Some(level),
            AccountKind::User | AccountKind::Anonymous => None,
        };
        let shown = Object::default()
            .maybe("user", user)
            .maybe("aiLevel", ai_level)
            .maybe("rating", known.then_some(side.rating))
            .maybe("ratingDiff", side.rating_diff);
        (color.key(), shown)
    });
    players.into_iter().collect()
}

pub(crate) fn clock_json(time_control: TimeControl) -> Option<Object> {
    let TimeControl::Clock { limit, increment } = time_control else {
        return None;
    };
    let shown = object("initial", limit)
        .set("increment", increment)
        .set("totalTime", clock_estimate(limit, increment));
    Some(shown)
}

/// Exported game.
pub(crate) fn game_json(round: &Round, params: &Params, base: &str) -> Object {
    let game = public_game(round);
    let plies = game.moves().len();
    let history = round.referee.clock_history();
    let days = match round.time_control {
        TimeControl::Days(days) => Some(days),
        TimeControl::Clock { .. } | TimeControl::Unlimited => None,
    };
    let is_requested = |name| flag_or(params, name, false);
    let clocks = history.iter().take(plies).map(|left| left.0);
    let clocks =
        (is_requested("clocks") && !history.is_empty()).then(|| clocks.collect::<Vec<_>>());
    let has_start = round.variant != Variant::Standard;
    object("id", round.id.to_string())
        .set("rated", round.rated)
        .set("variant", round.variant.key())
        .set("speed", round.speed().key())
        .set("perf", round.perf().key)
        .set("createdAt", round.created_at.0)
        .set("lastMoveAt", round.referee.last_move_at().0)
        .set("status", round.referee.status().key())
        .set("source", round.source.key())
        .maybe("tournament", round.source.arena().map(|id| id.to_string()))
        .set("players", players_json(round))
        .maybe("initialFen", has_start.then(|| game.initial().fen()))
        .maybe("winner", round.referee.winner().map(Color::key))
        .maybe(
            "moves",
            flag_or(params, "moves", true).then(|| san_line(&game)),
        )
        .maybe("clocks", clocks)
        .maybe("clock", clock_json(round.time_control))
        .maybe("daysPerTurn", days)
        .maybe(
            "lastFen",
            is_requested("lastFen").then(|| game.position().fen()),
        )
        .maybe(
            "pgn",
            is_requested("pgnInJson").then(|| pgn(round, params, base)),
        )
}

fn san_line(game: &Game) -> String {
    let mut position = game.initial().clone();
    let sans: Vec<String> = game
        .moves()
        .iter()
        .map(|&mv| {
            let san = position.san(mv);
            position.play(mv);
            san
        })
        .collect();
    sans.join(" ")
}
