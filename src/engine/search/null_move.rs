//! Null move: if even passing fails high, a move will.
//!
//! It errs in zugzwang, where passing would be best. So it is not tried with pawns alone, and at depth it is verified
//! by a search that moves.

use super::Search;
use super::node::Node;
use super::node_type::Zero;
use crate::engine::params;
use crate::engine::value::{MATE_FOUND, Value, is_mate};

impl Search<'_> {
    pub(super) fn try_null_move(&mut self, node: &Node) -> Option<Value> {
        let &Node {
            pos,
            ply,
            depth,
            beta,
            ..
        } = node;
        if !self.may_pass(node) {
            return None;
        }
        let surplus =
            ((node.estimate - beta) / params::null_surplus()).min(params::null_surplus_max());
        let share = depth * params::null_slope() / 1000;
        let reduced = depth - params::null_reduction() - share - surplus;
        let value = self.pass(pos, ply, |search, child| {
            -search.search::<Zero>(child, ply + 1, reduced, -beta, 1 - beta, false)
        });
        if self.aborted || value < beta {
            return None;
        }
        // A mate that begins with passing is none.
        let value = if value >= MATE_FOUND { beta } else { value };
        let verifying = self.no_null_before > 0;
        if depth < params::null_verify_depth() || verifying {
            return Some(value);
        }
        let quiet_plies = reduced.max(0) * params::null_verify_share() / 100;
        self.no_null_before = ply + quiet_plies as usize;
        let verified = self.search::<Zero>(pos, ply, reduced, beta - 1, beta, false);
        self.no_null_before = 0;
        (verified >= beta && !self.aborted).then_some(value)
    }

    fn may_pass(&self, node: &Node) -> bool {
        let &Node { depth, beta, .. } = node;
        let after_null = self.frame_before(node.ply, 1).played.is_none();
        let bar = beta + params::null_eval_margin() - params::null_eval_slope() * depth;
        depth >= params::null_depth()
            && node.cut
            && !after_null
            && node.estimate >= beta
            && node.eval >= bar
            && node.has_pieces
            && !is_mate(beta)
            && node.ply >= self.no_null_before
    }
}
