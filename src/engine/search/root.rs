//! The moves of the root.

use super::Search;
use crate::chess::Move;
use crate::engine::Bound;
use crate::engine::value::{INFINITE, MATE_FOUND, Value};

/// A move of the root and what is known about it.
pub(super) struct RootMove {
    pub mv: Move,
    /// In the present iteration; `-INFINITE` unless it was better than what was known before.
    pub value: Value,
    /// In the last iteration.
    pub previous: Value,
    /// When it was last known; `-INFINITE` before the first time.
    pub known: Value,
    /// By how much the value has changed from iteration to iteration of late.
    pub swing: Value,
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
            known: -INFINITE,
            swing: 0,
            bound: Bound::Exact,
            line: vec![mv],
            seldepth: 0,
            nodes: 0,
        }
    }
}

impl RootMove {
    /// The next iteration begins.
    pub fn turn_over(&mut self) {
        let known = [self.value, self.previous]
            .iter()
            .all(|value| value.abs() < MATE_FOUND);
        if known {
            self.swing = (self.swing + (self.value - self.previous).abs()) / 2;
        }
        self.previous = self.value;
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
            root.known = value;
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
