//! Aspiration windows: the value of an iteration is near that of the last one, and a narrow window is searched faster.

use std::time::Duration;

use super::Search;
use super::node_type::Root;
use crate::chess::Position;
use crate::engine::value::{INFINITE, is_mate};
use crate::engine::{Thought, params};

/// No reports of mere bounds before; they would only be noise.
const BOUNDS_AFTER: Duration = Duration::from_secs(3);

impl Search<'_> {
    /// One iteration of one line: a narrow window around the last value, opened on the side where it fails.
    pub(super) fn aspire(&mut self, pos: &Position, depth: i32, report: &mut dyn FnMut(&Thought)) {
        let root = &self.root[self.rank];
        let expected = root.previous;
        let mut delta = params::aspiration_window() + root.swing * params::aspiration_swing() / 100;
        let (mut alpha, mut beta) = (-INFINITE, INFINITE);
        if depth >= params::aspiration_depth() && !is_mate(expected) && expected > -INFINITE {
            (alpha, beta) = (expected - delta, expected + delta);
        }
        let mut reduced = 0;
        loop {
            for root in &mut self.root[self.rank..] {
                root.value = -INFINITE;
            }
            self.moves.clear();
            let value = self.search::<Root>(pos, 0, (depth - reduced).max(1), alpha, beta, false);
            let rank = self.rank;
            self.root[rank..].sort_by_key(|root| -root.value);
            if self.aborted || value > alpha && value < beta {
                return;
            }
            if value <= alpha {
                beta = (alpha + beta) / 2;
                alpha = (value - delta).max(-INFINITE);
                reduced = 0;
            } else {
                beta = (value + delta).min(INFINITE);
                reduced = (reduced + 1).min(params::fail_high_reduction_max());
            }
            delta += delta * params::aspiration_growth() / 100;
            if is_mate(value) {
                (alpha, beta) = (-INFINITE, INFINITE);
            }
            if self.control.elapsed() >= BOUNDS_AFTER && self.seat == 0 {
                let thought = self.thought(rank, depth as usize);
                report(&thought);
            }
        }
    }
}
