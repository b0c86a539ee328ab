//! The moves of the root.

use super::Search;
use crate::chess::Move;
use crate::engine::Bound;
use crate::engine::value::{INFINITE, Value};

/// A move of the root and what is known about it.
pub(super) struct RootMove {
    pub mv: Move,
    /// In the present iteration; `-INFINITE` unless it was better than what was known before.
    pub value: Value,
    /// In the last iteration.
    pub previous: Value,
    pub bound: Bound,
    /// The line that begins with the move.
    pub line: Vec<Move>,
    pub seldepth: usize,
    /// Visited below it, in all iterations.
    pub nodes: u64,
}

impl RootMove {
    pub fn new(mv: Move) -> RootMove {
        RootMove {
            mv,
            value: -INFINITE,
            previous: -INFINITE,
            bound: Bound::Exact,
            line: vec![mv],
            seldepth: 0,
            nodes: 0,
        }
    }
}

impl Search<'_> {
    /// A root move was searched: the first one and those that are better become known by value.
    pub(super) fn note_root_move(
        &mut self,
        mv: Move,
        value: Value,
        (alpha, beta): (Value, Value),
        count: usize,
        nodes: u64,
    ) {
        let seldepth = self.seldepth;
        let below: Vec<Move> = if count == 1 || value > alpha {
            self.lines[1].iter().collect()
        } else {
            Vec::new()
        };
        let Some(root) = self.root.iter_mut().find(|root| root.mv == mv) else {
            return;
        };
        root.nodes += nodes;
        if count == 1 || value > alpha {
            root.value = value;
            root.seldepth = seldepth;
            root.bound = match value {
                _ if value >= beta => Bound::Lower,
                _ if value <= alpha => Bound::Upper,
                _ => Bound::Exact,
            };
            root.line.truncate(1);
            root.line.extend(below);
        } else {
            root.value = -INFINITE;
        }
    }
}
