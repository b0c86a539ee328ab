//! Rules that answer for a whole node with a zero window, not in check, before any of its moves is tried.
//!
//! A rule takes the node and returns its value, or `None` when it has nothing to say. To add one, write it here (or in a
//! file of its own) and put it into [`prune_node`](Search::prune_node), the cheap ones first.

use super::Search;
use super::node::Node;
use super::node_type::Zero;
use crate::engine::params;
use crate::engine::value::{MATE_FOUND, Value, is_mate};

impl Search<'_> {
    pub(super) fn prune_node(&mut self, node: &Node) -> Option<Value> {
        reverse_futility(node)
            .or_else(|| self.razor(node))
            .or_else(|| self.try_null_move(node))
            .or_else(|| self.try_probcut(node))
    }

    /// Razoring: so far below alpha that only captures can help, and they do not.
    fn razor(&mut self, node: &Node) -> Option<Value> {
        let hopeless = node.estimate + params::razor_margin() * node.depth < node.alpha;
        if node.depth > params::razor_depth() || !hopeless || is_mate(node.alpha) {
            return None;
        }
        let value = self.quiesce::<Zero>(node.pos, node.ply, node.alpha, node.alpha + 1);
        (value <= node.alpha).then_some(value)
    }
}

/// Reverse futility: so far above beta that a few plies will not bring it down.
fn reverse_futility(node: &Node) -> Option<Value> {
    let &Node {
        depth,
        beta,
        estimate,
        ..
    } = node;
    let margin = params::rfp_margin() * (depth - i32::from(node.improving));
    let safe = estimate - margin >= beta && !is_mate(beta) && estimate < MATE_FOUND;
    (depth <= params::rfp_depth() && !node.was_pv && safe)
        .then(|| beta + (estimate - beta) / params::rfp_divisor())
}
