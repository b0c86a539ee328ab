//! Formatting of trace records.

use std::time::Duration;

use super::super::trace::{Bounds, Decision, FoundMove, PostResponse, SearchSummary};
use crate::bot::game::moves::GameMoves;
use crate::events::Source;
use crate::lichess::model::clean;
use crate::plural;

/// Formats a decision.
pub(super) fn decision(decision: &Decision) -> String {
    match decision {
        Decision::Think(bounds) => format!("think, {}", limits(bounds)),
        Decision::Post(request) => clean(&request.to_string()),
        Decision::Wait(wait) => format!("wait {}", seconds(*wait)),
        Decision::Resync(within) => format!(
            "reopen the stream and wait {} for its first line",
            seconds(*within)
        ),
        Decision::SideAction(action) => action.describe().to_owned(),
        Decision::Chat(text) => format!("say {:?}", clean(text)),
    }
}

fn limits(bounds: &Bounds) -> String {
    let clock = bounds.clock.map(|[remaining, increment, overhead, _]| {
        let (left, plus) = (seconds(remaining), seconds(increment));
        format!(
            "{left} left, {plus} increment, {} overhead",
            seconds(overhead)
        )
    });
    let limits = [
        clock,
        bounds.movetime.map(|time| format!("for {}", seconds(time))),
        bounds
            .max_time
            .map(|time| format!("for at most {}", seconds(time))),
        bounds
            .depth
            .map(|depth| format!("at most {}", plural::count(depth, "ply", "plies"))),
        bounds
            .nodes
            .map(|nodes| format!("at most {}", plural::count(nodes, "position", "positions"))),
        bounds.elo.map(|elo| format!("at {elo} Elo")),
    ];
    limits.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats a chosen move.
pub(super) fn found(found: &FoundMove, moves: &GameMoves) -> String {
    let san = match moves.position().parse_uci(&found.uci) {
        Ok(mv) => moves.position().san(mv),
        Err(_) => clean(&found.uci),
    };
    match (found.source, &found.search) {
        (Source::Only, _) => format!("{san}, the only legal move"),
        (Source::Book, _) => format!("{san}, from a book"),
        (Source::Search, Some(summary)) => format!("{san}, {}", search(summary)),
        (Source::Fallback, Some(summary)) => {
            format!("{san}, by the embedded engine, {}", search(summary))
        }
        (Source::Search | Source::Fallback, None) => {
            format!("{san}, an arbitrary move since the engine failed")
        }
    }
}

/// Formats the result of a search.
fn search(summary: &SearchSummary) -> String {
    format!(
        "{} at depth {}, {}, {}",
        summary.score(),
        summary.depth,
        plural::count(summary.nodes, "position", "positions"),
        seconds(summary.elapsed)
    )
}

/// Formats the response to a POST.
pub(super) fn response(response: &PostResponse) -> String {
    format!(
        "{}, after {}",
        clean(&response.text),
        seconds(response.took)
    )
}

/// `0.049 s`
fn seconds(nanos: u64) -> String {
    format!("{:.3} s", Duration::from_nanos(nanos).as_secs_f64())
}

/// Move number: `12.` for White, `12...` for Black.
pub(super) fn number(moves: &GameMoves) -> String {
    let dots = match moves.turn() {
        crate::chess::Color::White => ".",
        crate::chess::Color::Black => "...",
    };
    format!("{}{dots}", moves.position().fullmove_number())
}
