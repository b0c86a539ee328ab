//! Lines of spectator streams.

use std::fmt::Write;

use bytes::Bytes;
use serde::Serialize;

use knightwatch_chess::{Color, Position};

use crate::round::{COLORS, Round, Side};
use crate::site::AccountKind;
use crate::time_control::{TimeControl, clock_start};
use crate::view::export::{ClockInfo, Player, SPECTATOR_DELAY_PLIES, public_game};
use crate::view::game::{board_and_turn, highlighted};
use crate::wire::{self, Ordered, StatusJson, VariantJson};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GameDescription {
    id: String,
    variant: VariantJson,
    speed: &'static str,
    perf: &'static str,
    rated: bool,
    initial_fen: String,
    fen: String,
    player: &'static str,
    turns: usize,
    started_at_turn: usize,
    source: &'static str,
    status: StatusJson,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_move: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'static str>,
    players: Ordered<Player>,
}

#[derive(Serialize)]
struct PlyJson {
    fen: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wc: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bc: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GameUpdate {
    id: String,
    rated: bool,
    variant: &'static str,
    speed: &'static str,
    perf: &'static str,
    created_at: i64,
    status: u8,
    status_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<ClockInfo>,
    players: Ordered<PlayerUpdate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlayerUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating: Option<i32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    provisional: bool,
}

impl From<&Side> for PlayerUpdate {
    fn from(side: &Side) -> Self {
        let known = side.account_kind == AccountKind::User;
        Self {
            user_id: known.then(|| side.user.to_string()),
            rating: known.then_some(side.rating),
            provisional: known && side.provisional,
        }
    }
}

/// Plies shown to spectators.
pub(crate) fn visible_plies(round: &Round) -> usize {
    let delay = if round.referee.is_running() {
        SPECTATOR_DELAY_PLIES
    } else {
        0
    };
    round.referee.plies().saturating_sub(delay)
}

pub(crate) fn description_line(round: &Round) -> Bytes {
    let game = public_game(round);
    let position = game.position();
    let ply = |position: &Position| {
        2 * (position.fullmove_number().max(1) as usize - 1)
            + usize::from(position.turn() == Color::Black)
    };
    let last = game.moves().last();
    let players = COLORS.map(|color| (color.key().to_owned(), round.side(color).into()));
    wire::line(&GameDescription {
        id: round.id.to_string(),
        variant: VariantJson::full(round.variant),
        speed: round.speed().key(),
        perf: round.perf().key,
        rated: round.rated,
        initial_fen: game.initial().fen(),
        fen: position.fen(),
        player: position.turn().key(),
        turns: ply(position),
        started_at_turn: ply(game.initial()),
        source: round.source.key(),
        status: round.referee.status().into(),
        created_at: round.created_at.0,
        last_move: last.map(|mv| highlighted(*mv)),
        winner: round.referee.winner().map(Color::key),
        players: Ordered(players.into()),
    })
}

/// Lines with the positions of a range of plies, each with its last move and the clocks in seconds.
pub(crate) fn ply_lines(round: &Round, from: usize, to: usize) -> Bytes {
    let game = round.referee.game();
    let mut position = game.initial().clone();
    let mut left = match round.time_control {
        TimeControl::Clock { limit, increment } => {
            [Some(i64::from(clock_start(limit, increment))); 2]
        }
        TimeControl::Days(_) | TimeControl::Unlimited => [None; 2],
    };
    let history = round.referee.clock_history();
    let mut text = String::new();
    for ply in 0..=to.min(game.moves().len()) {
        let mut last = None;
        if let Some(before) = ply.checked_sub(1) {
            let mv = game.moves()[before];
            if let Some(centis) = history.get(before) {
                left[position.turn().index()] = Some(centis.0 / 100);
            }
            last = Some(highlighted(mv));
            position.play(mv);
        }
        if ply >= from {
            let shown = PlyJson {
                fen: board_and_turn(&position),
                lm: last,
                wc: left[0],
                bc: left[1],
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", wire::json(&shown));
        }
    }
    text.into()
}

pub(crate) fn update_line(round: &Round) -> Bytes {
    let players = COLORS.map(|color| (color.key().to_owned(), round.side(color).into()));
    let status = round.referee.status();
    wire::line(&GameUpdate {
        id: round.id.to_string(),
        rated: round.rated,
        variant: round.variant.key(),
        speed: round.speed().key(),
        perf: round.perf().key,
        created_at: round.created_at.0,
        status: status.id(),
        status_name: status.key(),
        clock: ClockInfo::of(round.time_control),
        players: Ordered(players.into()),
        winner: round.referee.winner().map(Color::key),
    })
}
