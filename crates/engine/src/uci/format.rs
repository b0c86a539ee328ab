//! Formatting of output.

use std::fmt::{self, Write as _};

use crate::{Bound, Engine, Score, SearchInfo, Wdl};
use knightwatch_chess::{
    CastlingNotation, Color, File, Game, Move, Position, Rank, Square, Termination,
};

/// The `info` line of a search. With the material of the root position it includes `wdl`.
pub fn info_line(
    info: &SearchInfo,
    notation: CastlingNotation,
    wdl_material: Option<u32>,
) -> String {
    let bound = match info.bound {
        Bound::Exact => "",
        Bound::Lower => " lowerbound",
        Bound::Upper => " upperbound",
    };
    let wdl = wdl_material.map_or_else(String::new, |material| {
        let is_stalemate = info.mv.is_none() && info.score == Score::Centipawns(0);
        let [win, draw, loss] = match is_stalemate {
            true => [0, 1000, 0],
            false => Wdl::of(info.score, material).permille(),
        };
        format!(" wdl {win} {draw} {loss}")
    });
    let mut line = format!(
        "info depth {} seldepth {} multipv {} score {}{bound}{wdl} nodes {} nps {} hashfull {} time {}",
        info.depth,
        info.seldepth,
        info.multipv,
        info.score.uci(),
        info.nodes,
        info.nps(),
        info.hashfull,
        info.elapsed.as_millis(),
    );
    if !info.pv.is_empty() {
        line.push_str(" pv");
        line.push_str(&moves_text(&info.pv, notation));
    }
    line
}

/// Moves with a blank before each.
pub(super) fn moves_text(moves: &[Move], notation: CastlingNotation) -> String {
    let mut text = String::new();
    for mv in moves {
        write!(text, " {}", mv.uci(notation)).expect("a string takes all");
    }
    text
}

/// The `bestmove` line of a search.
pub fn best_move_line(info: &SearchInfo, notation: CastlingNotation) -> String {
    match (info.mv, info.ponder) {
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

/// The board as text, with FEN, key and checkers.
pub(super) fn board_text(pos: &Position) -> String {
    let mut text = String::new();
    for rank in (0..8).rev().filter_map(Rank::from_index) {
        text.push_str(" +---+---+---+---+---+---+---+---+\n");
        for file in (0..8).filter_map(File::from_index) {
            let piece = pos
                .piece_at(Square::new(file, rank))
                .map_or(' ', knightwatch_chess::Piece::char);
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

pub(super) fn evaluation_text(engine: &Engine, pos: &Position) -> String {
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

/// Result of a game that is over by rule, displayed as in XBoard's protocol: `1-0 {White mates}`.
#[derive(Clone, Copy)]
pub(super) struct GameResult {
    points: &'static str,
    reason: &'static str,
}

impl fmt::Display for GameResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {{{}}}", self.points, self.reason)
    }
}

/// The result of the game by rule, if it has one. A third repetition ends it: either side could claim the draw.
pub(super) fn game_result(game: &Game) -> Option<GameResult> {
    let (points, reason) = match game.termination() {
        Some(Termination::Checkmate) => match game.position().turn() {
            Color::White => ("0-1", "Black mates"),
            Color::Black => ("1-0", "White mates"),
        },
        Some(Termination::VariantWin(Color::White)) => ("1-0", "White wins by the variant"),
        Some(Termination::VariantWin(Color::Black)) => ("0-1", "Black wins by the variant"),
        Some(Termination::VariantDraw) => ("1/2-1/2", "Draw by the variant"),
        Some(Termination::Stalemate) => ("1/2-1/2", "Stalemate"),
        Some(Termination::InsufficientMaterial) => ("1/2-1/2", "Insufficient material"),
        Some(Termination::FiftyMoves) => ("1/2-1/2", "Draw by fifty-move rule"),
        Some(Termination::FivefoldRepetition) => ("1/2-1/2", "Draw by repetition"),
        None if game.repetitions() >= 3 => ("1/2-1/2", "Draw by repetition"),
        None => return None,
    };
    Some(GameResult { points, reason })
}
