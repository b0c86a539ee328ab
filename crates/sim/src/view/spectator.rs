//! Lines of spectator streams.

use std::fmt::Write;

use bytes::Bytes;

use knightwatch_chess::{CastlingNotation, Color, Position};

use crate::round::{COLORS, Round};
use crate::site::AccountKind;
use crate::time_control::{TimeControl, clock_start};
use crate::view::export::{SPECTATOR_DELAY_PLIES, clock_json, players_json, public_game};
use crate::view::game::{board_and_turn, highlighted};
use crate::wire::{self, Object, object};

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
    wire::line(
        &object("id", round.id.to_string())
            .set("variant", wire::full_variant(round.variant))
            .set("speed", round.speed().key())
            .set("perf", round.perf().key)
            .set("rated", round.rated)
            .set("initialFen", game.initial().fen())
            .set("fen", position.fen())
            .set("player", position.turn().key())
            .set("turns", ply(position))
            .set("startedAtTurn", ply(game.initial()))
            .set("source", round.source.key())
            .set("status", wire::status(round.referee.status()))
            .set("createdAt", round.created_at.0)
            .maybe("lastMove", last.map(|mv| highlighted(*mv)))
            .maybe("winner", round.referee.winner().map(Color::key))
            .set("players", players_json(round)),
    )
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
            last = Some(mv.uci(CastlingNotation::Standard).to_string());
            position.play(mv);
        }
        if ply >= from {
            let shown = object("fen", board_and_turn(&position))
                .maybe("lm", last)
                .maybe("wc", left[0])
                .maybe("bc", left[1]);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", wire::json(&shown));
        }
    }
    text.into()
}

pub(crate) fn update_line(round: &Round) -> Bytes {
    let players = COLORS.map(|color| {
        let side = round.side(color);
        let known = side.account_kind == AccountKind::User;
        let shown = Object::default()
            .maybe("userId", known.then(|| side.user.to_string()))
            .maybe("rating", known.then_some(side.rating))
            .flag("provisional", known && side.provisional);
        (color.key(), shown)
    });
    let status = round.referee.status();
    wire::line(
        &object("id", round.id.to_string())
            .set("rated", round.rated)
            .set("variant", round.variant.key())
            .set("speed", round.speed().key())
            .set("perf", round.perf().key)
            .set("createdAt", round.created_at.0)
            .set("status", status.id())
            .set("statusName", status.key())
            .maybe("clock", clock_json(round.time_control))
            .set("players", players.into_iter().collect::<Object>())
            .maybe("winner", round.referee.winner().map(Color::key)),
    )
}
