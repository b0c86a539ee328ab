//! `knightwatch perft`: counts positions and says how fast.

use std::time::{Duration, Instant};

use anyhow::Context;

use crate::chess::perft::{divide, perft};
use crate::chess::{CastlingNotation, Position};

/// Counts the positions `depth` plies after `fen` (the start position if none), and prints count, time and speed; with
/// `by_move` the count below each move before that.
///
/// # Errors
///
/// If the FEN is not one.
pub fn run(depth: u32, fen: Option<&str>, by_move: bool) -> anyhow::Result<()> {
    let position = match fen {
        Some(fen) => Position::from_fen(fen).with_context(|| format!("cannot read \"{fen}\""))?,
        None => Position::startpos(),
    };
    let start = Instant::now();
    let nodes = if by_move && depth > 0 {
        let parts = divide(&position, depth);
        for (mv, nodes) in &parts {
            println!("{}: {nodes}", mv.uci(CastlingNotation::Standard));
        }
        println!();
        parts.iter().map(|(_, nodes)| nodes).sum()
    } else {
        perft(&position, depth)
    };
    println!("{}", summary(nodes, start.elapsed()));
    Ok(())
}

fn summary(nodes: u64, elapsed: Duration) -> String {
    let speed = nodes as f64 / elapsed.as_secs_f64().max(1e-9);
    format!(
        "Nodes: {nodes}\nTime: {:.3} s\nSpeed: {:.1} million nodes per second",
        elapsed.as_secs_f64(),
        speed / 1e6
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_gives_count_time_and_speed() {
        assert_eq!(
            summary(3_000_000, Duration::from_millis(1500)),
            "Nodes: 3000000\nTime: 1.500 s\nSpeed: 2.0 million nodes per second"
        );
    }

    #[test]
    fn a_wrong_fen_is_named() {
        let error = run(1, Some("8/8 w"), false).expect_err("no position");
        let text = format!("{error:#}");
        assert!(text.contains("8/8 w") && text.contains("8 ranks"), "{text}");
    }
}
