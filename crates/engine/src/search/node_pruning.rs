//! Pruning of whole non-PV nodes, not in check, before any move is searched.
//!
//! A rule takes the node and returns its value, or `None` if it does not apply. To add one, write it here (or in its
//! own file) and call it in [`prune_node`](Search::prune_node), cheap rules first.

use super::Search;
use super::node::Node;
use super::node_type::NonPvNode;
use crate::params;
use crate::value::{MIN_MATE, Value, is_mate};

impl Search<'_> {
    pub(super) fn prune_node(&mut self, node: &Node) -> Option<Value> {
        reverse_futility(node)
            .or_else(|| self.razor(node))
            .or_else(|| self.try_null_move(node))
            .or_else(|| self.try_probcut(node))
    }

    /// Razoring: so far below alpha that only captures could help, and they do not.
    fn razor(&mut self, node: &Node) -> Option<Value> {
        let hopeless = node.estimate + params::razor_margin() * node.depth < node.alpha;
        if node.depth > params::razor_depth() || !hopeless || is_mate(node.alpha) {
            return None;
        }
        let (alpha, beta) = (node.alpha, node.alpha + 1);
        let value = self.start_quiescence::<NonPvNode>(node.pos, node.ply, alpha, beta);
        (value <= node.alpha).then_some(value)
    }
}

/// Reverse futility pruning: so far above beta that a few plies will not change it.
fn reverse_futility(node: &Node) -> Option<Value> {
    let &Node {
        depth,
        beta,
        estimate,
        ..
    } = node;
    let margin = params::rfp_margin() * (depth - i32::from(node.improving))
        - params::rfp_worsening() * i32::from(node.worsening);
    let safe = estimate - margin.max(0) >= beta && !is_mate(beta) && estimate < MIN_MATE;
    (depth <= params::rfp_depth() && !node.was_pv && safe)
        .then(|| beta + (estimate - beta) / params::rfp_divisor())
}
