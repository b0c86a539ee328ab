//! What the engine answers, as text.

use std::fmt::Write as _;

use crate::chess::{CastlingNotation, Color, File, Move, Position, Rank, Square};
use crate::engine::{Bound, Chances, Engine, Thought};

/// What a line of thought says. With the material of the position in question, how such games end, too.
pub(super) fn info_line(
    thought: &Thought,
    notation: CastlingNotation,
    chances_with: Option<u32>,
) -> String {
    let bound = match thought.bound {
        Bound::Exact => "",
        Bound::Lower => " lowerbound",
        Bound::Upper => " upperbound",
    };
    let chances = chances_with.map_or_else(String::new, |material| {
        let [win, draw, loss] = Chances::of(thought.score, material).permille();
        format!(" wdl {win} {draw} {loss}")
    });
    let mut line = format!(
        "info depth {} seldepth {} multipv {} score {}{bound}{chances} nodes {} nps {} hashfull {} time {}",
        thought.depth,
        thought.seldepth,
        thought.rank,
        thought.score,
        thought.nodes,
        thought.nps(),
        thought.hashfull,
        thought.elapsed.as_millis(),
    );
    if !thought.pv.is_empty() {
        line.push_str(" pv");
        line.push_str(&moves_text(&thought.pv, notation));
    }
    line
}

fn moves_text(moves: &[Move], notation: CastlingNotation) -> String {
    let mut text = String::new();
    for mv in moves {
        write!(text, " {}", mv.uci(notation)).expect("a string takes all");
    }
    text
}

pub(super) fn best_move_line(thought: &Thought, notation: CastlingNotation) -> String {
    match (thought.mv, thought.ponder) {
        (Some(mv), Some(ponder)) => {
            format!(
                "bestmove {} ponder {}",
                mv.uci(notation),
                ponder.uci(notation)
            )
        }
        (Some(mv), None) => format!("bestmove {}", mv.uci(notation)),
        (None, _) => "bestmove (none)".to_owned(),
    }
}

/// The board as text, with what else makes the position.
pub(super) fn draw(pos: &Position) -> String {
    let mut text = String::new();
    for rank in (0..8).rev().filter_map(Rank::from_index) {
        text.push_str(" +---+---+---+---+---+---+---+---+\n");
        for file in (0..8).filter_map(File::from_index) {
            let piece = pos
                .piece_at(Square::new(file, rank))
                .map_or(' ', |piece| piece.char());
            write!(text, " | {piece}").expect("a string takes all");
        }
        writeln!(text, " | {}", rank.char()).expect("a string takes all");
    }
    text.push_str(" +---+---+---+---+---+---+---+---+\n");
    text.push_str("   a   b   c   d   e   f   g   h\n\n");
    let checkers: Vec<String> = pos
        .checkers()
        .into_iter()
        .map(|square| square.to_string())
        .collect();
    write!(
        text,
        "Fen: {}\nKey: {:016X}\nCheckers: {}",
        pos.fen(),
        pos.key(),
        checkers.join(" ")
    )
    .expect("a string takes all");
    text
}

pub(super) fn evaluation(engine: &Engine, pos: &Position) -> String {
    if pos.in_check() {
        return "Evaluation: none (in check)".to_owned();
    }
    let ours = engine.evaluate(pos);
    let white = if pos.turn() == Color::White {
        ours
    } else {
        -ours
    };
    format!(
        "Evaluation: {:+.2} (pawns, from White's side)",
        f64::from(white) / 100.0
    )
}
