//! ProbCut: a capture that beats beta by a margin in a shallow search will beat it in a deep one.

use super::Search;
use super::node::Node;
use super::node_type::NonPvNode;
use crate::board_move::BoardMove;
use crate::movepick::MovePicker;
use crate::table::Hit;
use crate::value::{Value, is_mate};
use crate::{Bound, params, see};

impl Search<'_> {
    pub(super) fn try_probcut(&mut self, node: &Node) -> Option<Value> {
        let raised = node.beta + params::probcut_margin()
            - params::probcut_improving() * i32::from(node.improving);
        let shallow = node.depth - params::probcut_reduction();
        let known_below = node.hit.is_some_and(|hit| {
            hit.depth >= shallow && hit.bound != Bound::Lower && hit.value < raised
        });
        if self.aborted || node.depth < params::probcut_depth() || is_mate(node.beta) || known_below
        {
            return None;
        }
        let threshold = raised - node.eval;
        let tt_move = node.tt_move.filter(|&mv| {
            mv.is_noisy() && see::is_at_least(node.pos, BoardMove::new(node.pos, mv), threshold)
        });
        let mut picker = MovePicker::noisy(tt_move, threshold.max(1), &self.moves);
        let mut proof = None;
        while let Some(mv) = self.next_move(&mut picker, node.pos, &node.context, None) {
            let value = self.search_capture(node, mv, raised, shallow);
            if self.aborted {
                break;
            }
            if value >= raised {
                let hit = Hit {
                    mv: Some(mv.mv),
                    value,
                    eval: node.raw_eval,
                    depth: shallow + 1,
                    bound: Bound::Lower,
                    pv: node.was_pv,
                };
                self.table.store(node.pos.key(), node.ply, &hit);
                let margin = raised - node.beta;
                proof = Some(if is_mate(value) {
                    value
                } else {
                    value - margin
                });
                break;
            }
        }
        picker.release(&mut self.moves);
        proof
    }

    /// The value of a capture: by quiescence first, then by a shallow search if that beats the raised beta.
    fn search_capture(&mut self, node: &Node, mv: BoardMove, raised: Value, shallow: i32) -> Value {
        let child_ply = node.ply + 1;
        let mut child = node.pos.clone();
        self.make_move(&mut child, mv, node.ply);
        let mut value = -self.start_quiescence::<NonPvNode>(&child, child_ply, -raised, 1 - raised);
        if value >= raised && shallow > 0 {
            value = -self.search::<NonPvNode>(
                &child,
                child_ply,
                shallow,
                -raised,
                1 - raised,
                !node.cut,
            );
        }
        self.unmake_move();
        value
    }
}
