//! Aspiration windows: the score of an iteration is near the last one, and a narrow window is faster to search.

use std::time::Duration;

use super::Search;
use super::iterate::OnLine;
use super::node_type::Root;
use crate::params;
use crate::value::{INFINITE, is_mate};
use knightwatch_chess::Position;

/// Fail highs and fail lows are not reported before this time.
const BOUND_REPORTS_AFTER: Duration = Duration::from_secs(3);

impl Search<'_> {
    /// One iteration of one line: a narrow window around the last score, widened on the side where it fails.
    pub(super) fn aspiration_search(&mut self, pos: &Position, depth: i32, on_line: OnLine<'_>) {
        let root = &self.root[self.pv_index];
        let expected = root.previous;
        let mut delta = params::aspiration_window() + root.swing * params::aspiration_swing() / 100;
        let (mut alpha, mut beta) = (-INFINITE, INFINITE);
        if depth >= params::aspiration_depth() && !is_mate(expected) && expected > -INFINITE {
            (alpha, beta) = (expected - delta, expected + delta);
        }
        let mut reduced = 0;
        loop {
            for root in &mut self.root[self.pv_index..] {
                root.value = -INFINITE;
            }
            self.moves.clear();
            let value = self.search::<Root>(pos, 0, (depth - reduced).max(1), alpha, beta, false);
            let index = self.pv_index;
            self.root[index..].sort_by_key(|root| -root.value);
            if self.aborted || value > alpha && value < beta {
                return;
            }
            if value <= alpha {
                if self.thread_id == 0 && self.pv_index == 0 {
                    self.control.on_best_move_failed_low();
                }
                beta = i32::midpoint(alpha, beta);
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
            if self.control.elapsed() >= BOUND_REPORTS_AFTER && self.thread_id == 0 {
                on_line(self, index, depth as usize);
            }
        }
    }
}
