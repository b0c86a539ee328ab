//! Root moves.

use super::Search;
use crate::Bound;
use crate::value::{INFINITE, MIN_MATE, Value};
use knightwatch_chess::Move;

/// A root move and its results.
#[derive(Clone)]
pub(super) struct RootMove {
    pub mv: Move,
    /// Score in the current iteration; `-INFINITE` unless it raised alpha.
    pub value: Value,
    /// Score in the previous iteration.
    pub previous: Value,
    /// Last exact or bound score; `-INFINITE` before the first.
    pub last_value: Value,
    /// Running average of the change in score between iterations.
    pub swing: Value,
    pub bound: Bound,
    /// The line that starts with the move.
    pub pv: Vec<Move>,
    pub seldepth: usize,
    /// Nodes searched below the move, in all iterations.
    pub nodes: u64,
}

impl RootMove {
    pub(super) fn new(mv: Move) -> RootMove {
        RootMove {
            mv,
            value: -INFINITE,
            previous: -INFINITE,
            last_value: -INFINITE,
            swing: 0,
            bound: Bound::Exact,
            pv: vec![mv],
            seldepth: 0,
            nodes: 0,
        }
    }
}

impl RootMove {
    /// Starts the next iteration.
    pub(super) fn start_iteration(&mut self) {
        let are_scores = [self.value, self.previous]
            .iter()
            .all(|value| value.abs() < MIN_MATE);
        if are_scores {
            self.swing = i32::midpoint(self.swing, (self.value - self.previous).abs());
        }
        self.previous = self.value;
    }
}

impl Search<'_> {
    /// Stores the result of a root move: only the first one and those that raise alpha get a score.
    pub(super) fn update_root_move(
        &mut self,
        mv: Move,
        value: Value,
        (alpha, beta): (Value, Value),
        count: usize,
        nodes: u64,
    ) {
        let seldepth = self.seldepth;
        let pv_below: Vec<Move> = if count == 1 || value > alpha {
            self.thread_data.pv_lines[1].iter().collect()
        } else {
            Vec::new()
        };
        let Some(root) = self.root.iter_mut().find(|root| root.mv == mv) else {
            return;
        };
        root.nodes += nodes;
        if count == 1 || value > alpha {
            root.value = value;
            root.last_value = value;
            root.seldepth = seldepth;
            root.bound = match value {
                _ if value >= beta => Bound::Lower,
                _ if value <= alpha => Bound::Upper,
                _ => Bound::Exact,
            };
            root.pv.truncate(1);
            root.pv.extend(pv_below);
        } else {
            root.value = -INFINITE;
        }
    }
}
