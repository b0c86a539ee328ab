//! Null move pruning: if passing fails high, some move will.
//!
//! This is wrong in zugzwang. So it is not tried with only pawns left, and at high depth a reduced search without it
//! verifies the result.

use super::Search;
use super::node::Node;
use super::node_type::NonPvNode;
use crate::params;
use crate::value::{MIN_MATE, Value, is_mate};
use knightwatch_chess::Variant;

impl Search<'_> {
    pub(super) fn try_null_move(&mut self, node: &Node) -> Option<Value> {
        let &Node {
            pos,
            ply,
            depth,
            beta,
            ..
        } = node;
        if !self.can_try_null_move(node) {
            return None;
        }
        let surplus =
            ((node.estimate - beta) / params::null_surplus()).min(params::null_surplus_max());
        let share = depth * params::null_slope() / 1000;
        let reduced = depth - params::null_reduction() - share - surplus;
        let value = self.with_null_move(pos, ply, |search, child| {
            -search.search::<NonPvNode>(child, ply + 1, reduced, -beta, 1 - beta, false)
        });
        if self.aborted || value < beta {
            return None;
        }
        // Do not trust a mate that starts with a null move.
        let value = if value >= MIN_MATE { beta } else { value };
        let verifying = self.null_move_min_ply > 0;
        if depth < params::null_verify_depth() || verifying {
            return Some(value);
        }
        let quiet_plies = reduced.max(0) * params::null_verify_share() / 100;
        self.null_move_min_ply = ply + quiet_plies as usize;
        let verified = self.search::<NonPvNode>(pos, ply, reduced, beta - 1, beta, false);
        self.null_move_min_ply = 0;
        (verified >= beta && !self.aborted).then_some(value)
    }

    fn can_try_null_move(&self, node: &Node) -> bool {
        let &Node { depth, beta, .. } = node;
        let after_null = self.frame_before(node.ply, 1).played.is_none();
        let bar = beta + params::null_eval_margin() - params::null_eval_slope() * depth;
        !self.aborted
            && depth >= params::null_depth()
            && node.cut
            && !after_null
            && node.estimate >= beta
            && node.eval >= bar
            && node.has_pieces
            // The test for singularity asks the same question with real moves.
            && self.hit_to_test(node).is_none()
            // The side without a move wins.
            && node.pos.variant() != Variant::Antichess
            && !is_mate(beta)
            && node.ply >= self.null_move_min_ply
    }
}
