//! A trace in words.

use std::time::Duration;

use super::super::trace::{Answer, Bounds, Decision, Found, Origin, SearchSummary};
use crate::bot::game::choice::told;
use crate::bot::game::moves::GameMoves;
use crate::lichess::model::clean;
use crate::plural;

/// What is decided.
pub(super) fn decision(decision: &Decision) -> String {
    match decision {
        Decision::Think(bounds) => format!("think, {}", limits(bounds)),
        Decision::Post(posting) => clean(&posting.to_string()),
        Decision::Wait(wait) => format!("wait {}", seconds(*wait)),
        Decision::Look(within) => format!(
            "open the stream again, and wait {} for what it says",
            seconds(*within)
        ),
        Decision::Do(act) => act.words().to_owned(),
        Decision::Say(text) => format!("say {:?}", clean(text)),
    }
}

fn limits(bounds: &Bounds) -> String {
    let clock = bounds.clock.map(|[remaining, increment, overhead, _]| {
        let (left, plus) = (seconds(remaining), seconds(increment));
        format!(
            "{left} left, {plus} a move, {} kept back",
            seconds(overhead)
        )
    });
    let said = [
        clock,
        bounds.movetime.map(|time| format!("for {}", seconds(time))),
        bounds
            .at_most
            .map(|time| format!("for {} at most", seconds(time))),
        bounds
            .depth
            .map(|depth| format!("{} at most", plural::count(depth, "ply", "plies"))),
        bounds
            .nodes
            .map(|nodes| format!("{} at most", plural::count(nodes, "position", "positions"))),
        bounds.elo.map(|elo| format!("at {elo} Elo")),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A move that was found.
pub(super) fn found(found: &Found, sheet: &GameMoves) -> String {
    let san = match sheet.position().parse_uci(&found.uci) {
        Ok(mv) => sheet.position().san(mv),
        Err(_) => clean(&found.uci),
    };
    match (found.from, &found.thought) {
        (Origin::Only, _) => format!("{san}, the only move"),
        (Origin::Book, _) => format!("{san}, of a book"),
        (Origin::Search, Some(idea)) => format!("{san}, {}", thought(idea)),
        (Origin::Search, None) => format!("{san}, any move: the engine has failed"),
    }
}

/// What the engine thought.
fn thought(idea: &SearchSummary) -> String {
    format!(
        "{} at depth {}, {}, {}",
        told(idea.score()),
        idea.depth,
        plural::count(idea.nodes, "position", "positions"),
        seconds(idea.elapsed)
    )
}

/// How a POST was answered.
pub(super) fn answer(answer: &Answer) -> String {
    format!("{}, after {}", clean(&answer.said), seconds(answer.took))
}

/// `0.049 s`
fn seconds(nanos: u64) -> String {
    format!("{:.3} s", Duration::from_nanos(nanos).as_secs_f64())
}

/// `12.` for White, `12...` for Black.
pub(super) fn number(sheet: &GameMoves) -> String {
    let dots = match sheet.turn() {
        crate::chess::Color::White => ".",
        crate::chess::Color::Black => "...",
    };
    format!("{}{dots}", sheet.position().fullmove_number())
}
