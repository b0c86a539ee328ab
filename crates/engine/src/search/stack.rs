//! The search stack: a frame per ply, and the principal variations.

use super::Search;
use crate::history::{HistoryContext, PieceTo, PriorMoves};
use crate::value::{MAX_PLY, Value};
use knightwatch_chess::{Move, Piece};

/// Search stack entry of a ply.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// The corrected static evaluation and the correction in it; `None` in check.
    pub static_eval: Option<(Value, Value)>,
    /// Index of the histories of its moves.
    pub context: HistoryContext,
    /// The move being searched; `None` for a null move.
    pub played: Option<(Piece, Move)>,
    /// Number of that move in the move loop, from 1; not set by ProbCut.
    pub move_count: usize,
    /// Plies by which that move is reduced.
    pub reduction: i32,
    /// The last quiet move that failed high at this ply, below the same grandparent.
    pub killer: Option<Move>,
    /// The move excluded by a singularity test.
    pub excluded: Option<Move>,
    /// Children that failed high.
    pub cutoffs: i32,
    /// Double extensions on the way to this node.
    pub double_extensions: i32,
}

impl Frame {
    pub(super) const EMPTY: Frame = Frame {
        static_eval: None,
        context: HistoryContext::EMPTY,
        played: None,
        move_count: 0,
        reduction: 0,
        killer: None,
        excluded: None,
        cutoffs: 0,
        double_extensions: 0,
    };

    /// The corrected static evaluation; `None` in check.
    pub(super) fn eval(&self) -> Option<Value> {
        self.static_eval.map(|(eval, _)| eval)
    }

    /// The move being searched, as an index of continuation histories.
    pub(super) fn moved(&self) -> PieceTo {
        let moved = |(piece, mv)| PieceTo::new(piece, mv);
        self.played.map_or(PieceTo::NONE, moved)
    }
}

/// Frames before the root, so that looking back needs no check.
const BEFORE_ROOT: usize = 4;
/// Frames after the maximum ply, for the fields of children.
const AFTER_LAST: usize = 2;

/// A principal variation.
#[derive(Clone, Copy)]
pub(super) struct PvLine {
    moves: [Option<Move>; MAX_PLY],
    len: usize,
}

impl PvLine {
    const EMPTY: PvLine = PvLine {
        moves: [None; MAX_PLY],
        len: 0,
    };

    pub(super) fn iter(&self) -> impl Iterator<Item = Move> {
        self.moves[..self.len].iter().copied().flatten()
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

/// A frame for every ply, and spare ones at both ends.
pub(super) fn frames() -> Vec<Frame> {
    vec![Frame::EMPTY; BEFORE_ROOT + MAX_PLY + AFTER_LAST]
}

pub(super) fn pv_lines() -> Vec<PvLine> {
    vec![PvLine::EMPTY; MAX_PLY + AFTER_LAST]
}

impl Search<'_> {
    pub(super) fn frame(&mut self, ply: usize) -> &mut Frame {
        &mut self.frames[BEFORE_ROOT + ply]
    }

    /// The frame `back` plies before `ply`, at most four.
    pub(super) fn frame_before(&self, ply: usize, back: usize) -> &Frame {
        &self.frames[BEFORE_ROOT + ply - back]
    }

    /// The moves that led to the node.
    pub(super) fn prior_moves(&self, ply: usize) -> PriorMoves {
        let moved = |back| self.frame_before(ply, back).moved();
        [moved(1), moved(2), moved(4)]
    }

    /// Sets the PV of this ply: the move and the PV of the next ply.
    pub(super) fn update_pv(&mut self, ply: usize, mv: Move) {
        let (before, after) = self.thread_data.pv_lines.split_at_mut(ply + 1);
        let (line, rest) = (&mut before[ply], &after[0]);
        let len = rest.len.min(MAX_PLY - 1);
        line.moves[0] = Some(mv);
        line.moves[1..=len].copy_from_slice(&rest.moves[..len]);
        line.len = len + 1;
    }
}
