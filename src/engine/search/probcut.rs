//! ProbCut: a capture that beats beta by a margin in a shallow search will beat it in a deep one.

use super::Search;
use super::node::Node;
use super::node_type::Zero;
use crate::chess::Move;
use crate::engine::ordering::Picker;
use crate::engine::table::Hit;
use crate::engine::value::{Value, is_mate};
use crate::engine::{Bound, params, see};

impl Search<'_> {
    pub(super) fn try_probcut(&mut self, node: &Node) -> Option<Value> {
        let raised = node.beta + params::probcut_margin()
            - params::probcut_improving() * i32::from(node.improving);
        let shallow = node.depth - params::probcut_reduction();
        let known_below = node.hit.is_some_and(|hit| {
            hit.depth >= shallow && hit.bound != Bound::Lower && hit.value < raised
        });
        if node.depth < params::probcut_depth() || is_mate(node.beta) || known_below {
            return None;
        }
        let threshold = raised - node.eval;
        let table_move = node
            .table_move
            .filter(|&mv| mv.is_noisy() && see::wins(node.pos, mv, threshold));
        let mut picker = Picker::noisy(table_move, threshold.max(1), &self.moves);
        let mut proof = None;
        while let Some(mv) = self.next_move(&mut picker, node.pos, &node.place, None) {
            let value = self.search_capture(node, mv, raised, shallow);
            if self.aborted {
                break;
            }
            if value >= raised {
                let hit = Hit {
                    mv: Some(mv),
                    value,
                    eval: node.raw_eval,
                    depth: shallow + 1,
                    bound: Bound::Lower,
                    pv: node.was_pv,
                };
                self.table.store(node.pos.key(), node.ply, &hit);
                proof = Some(value);
                break;
            }
        }
        picker.close(&mut self.moves);
        proof
    }

    /// Whether a capture beats the raised bar: first by captures alone, then by a shallow search.
    fn search_capture(&mut self, node: &Node, mv: Move, raised: Value, shallow: i32) -> Value {
        let below = node.ply + 1;
        let child = self.descend(node.pos, mv, node.ply);
        let mut value = -self.quiesce::<Zero>(&child, below, -raised, 1 - raised);
        if value >= raised && shallow > 0 {
            value = -self.search::<Zero>(&child, below, shallow, -raised, 1 - raised, !node.cut);
        }
        self.ascend();
        value
    }
}
