//! What the nodes of a line leave for each other: a frame for every ply, and the principal variations.

use super::Search;
use crate::chess::{Move, Piece};
use crate::engine::history::{Moved, Past, Place};
use crate::engine::value::{MAX_PLY, Value};

/// What a node leaves for its relatives.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// The corrected static evaluation and by how much it was corrected; `None` in check.
    pub judged: Option<(Value, Value)>,
    /// What the histories of its moves depend on.
    pub place: Place,
    /// The move that is being searched; `None` when it is passing.
    pub played: Option<(Piece, Move)>,
    /// By so many plies it is being reduced.
    pub reduction: i32,
    /// A quiet move that failed high in a sibling.
    pub killer: Option<Move>,
    /// Not to be searched: the rest is tested against it.
    pub excluded: Option<Move>,
    /// Children that failed high.
    pub cutoffs: i32,
    /// Double extensions on the way here.
    pub doubles: i32,
}

impl Frame {
    pub const EMPTY: Frame = Frame {
        judged: None,
        place: Place::NOWHERE,
        played: None,
        reduction: 0,
        killer: None,
        excluded: None,
        cutoffs: 0,
        doubles: 0,
    };

    /// The corrected static evaluation; `None` in check.
    pub fn eval(&self) -> Option<Value> {
        self.judged.map(|(eval, _)| eval)
    }

    /// The move that is being searched, as continuation histories know it.
    pub fn moved(&self) -> Moved {
        let moved = |(piece, mv)| Moved::new(piece, mv);
        self.played.map_or(Moved::NONE, moved)
    }
}

/// Frames before the root, so that looking back needs no condition.
const BEFORE_ROOT: usize = 4;
/// Frames after the deepest ply, for the children's fields.
const AFTER_LAST: usize = 2;

/// A principal variation.
#[derive(Clone, Copy)]
pub(super) struct Line {
    moves: [Option<Move>; MAX_PLY],
    len: usize,
}

impl Line {
    const EMPTY: Line = Line {
        moves: [None; MAX_PLY],
        len: 0,
    };

    pub fn iter(&self) -> impl Iterator<Item = Move> {
        self.moves[..self.len].iter().copied().flatten()
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }
}

/// One frame for every ply, and some on both ends.
pub(super) fn frames() -> Vec<Frame> {
    vec![Frame::EMPTY; BEFORE_ROOT + MAX_PLY + AFTER_LAST]
}

/// One principal variation for every ply.
pub(super) fn lines() -> Vec<Line> {
    vec![Line::EMPTY; MAX_PLY + AFTER_LAST]
}

impl Search<'_> {
    pub(super) fn frame(&mut self, ply: usize) -> &mut Frame {
        &mut self.frames[BEFORE_ROOT + ply]
    }

    /// The frame of so many plies before, four at most.
    pub(super) fn frame_before(&self, ply: usize, back: usize) -> &Frame {
        &self.frames[BEFORE_ROOT + ply - back]
    }

    /// The moves that led to the node.
    pub(super) fn past(&self, ply: usize) -> Past {
        let moved = |back| self.frame_before(ply, back).moved();
        [moved(1), moved(2), moved(4)]
    }

    /// The best line from here is the move and the best line after it.
    pub(super) fn extend_line(&mut self, ply: usize, mv: Move) {
        let (before, after) = self.lines.split_at_mut(ply + 1);
        let (line, rest) = (&mut before[ply], &after[0]);
        let len = rest.len.min(MAX_PLY - 1);
        line.moves[0] = Some(mv);
        line.moves[1..=len].copy_from_slice(&rest.moves[..len]);
        line.len = len + 1;
    }
}
