//! Export of games as PGN and JSON. Ongoing games are shown three plies late.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use knightwatch_chess::pgn::{self, MoveComment, Outcome, Tags};
use knightwatch_chess::{Color, Game};

use crate::http::params::Params;
use crate::referee::Status;
use crate::round::{Round, Side};
use crate::site::{AccountKind, SimTime, Variant};
use crate::time_control::{TimeControl, clock_estimate};
use crate::wire::Ordered;

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

#[derive(Serialize)]
struct UserRef {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'static str>,
    id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Player {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<UserRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ai_level: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating_diff: Option<i32>,
}

impl From<&Side> for Player {
    fn from(side: &Side) -> Self {
        let known = side.account_kind == AccountKind::User;
        Self {
            user: known.then(|| UserRef {
                name: side.name.clone(),
                title: side.title,
                id: side.user.to_string(),
            }),
            ai_level: match side.account_kind {
                AccountKind::Ai(level) => Some(level),
                AccountKind::User | AccountKind::Anonymous => None,
            },
            rating: known.then_some(side.rating),
            rating_diff: side.rating_diff,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClockInfo {
    initial: u32,
    increment: u32,
    total_time: u32,
}

impl ClockInfo {
    pub(crate) fn of(time_control: TimeControl) -> Option<Self> {
        let TimeControl::Clock { limit, increment } = time_control else {
            return None;
        };
        Some(Self {
            initial: limit,
            increment,
            total_time: clock_estimate(limit, increment),
        })
    }
}

/// Exported game.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GameJson {
    id: String,
    rated: bool,
    variant: &'static str,
    speed: &'static str,
    perf: &'static str,
    created_at: i64,
    last_move_at: i64,
    status: &'static str,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tournament: Option<String>,
    players: Ordered<Player>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_fen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clocks: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<ClockInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    days_per_turn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_fen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pgn: Option<String>,
}

pub(crate) fn game_json(round: &Round, params: &Params, base: &str) -> GameJson {
    let game = public_game(round);
    let plies = game.moves().len();
    let history = round.referee.clock_history();
    let (clock, days_per_turn) = match round.time_control {
        TimeControl::Days(days) => (None, Some(days)),
        other => (ClockInfo::of(other), None),
    };
    let players = [Color::White, Color::Black]
        .map(|color| (color.key().to_owned(), round.side(color).into()));
    GameJson {
        id: round.id.to_string(),
        rated: round.rated,
        variant: round.variant.key(),
        speed: round.speed().key(),
        perf: round.perf().key,
        created_at: round.created_at.0,
        last_move_at: round.referee.last_move_at().0,
        status: round.referee.status().key(),
        source: round.source.key(),
        tournament: round.source.arena().map(|id| id.to_string()),
        players: Ordered(players.into()),
        initial_fen: (round.variant != Variant::Standard).then(|| game.initial().fen()),
        winner: round.referee.winner().map(Color::key),
        moves: flag_or(params, "moves", true).then(|| san_line(&game)),
        clocks: (flag_or(params, "clocks", false) && !history.is_empty())
            .then(|| history.iter().take(plies).map(|left| left.0).collect()),
        clock,
        days_per_turn,
        last_fen: flag_or(params, "lastFen", false).then(|| game.position().fen()),
        pgn: flag_or(params, "pgnInJson", false).then(|| pgn(round, params, base)),
    }
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
