//! Singular extensions: is the table's move the only good one?
//!
//! A search without it, half as deep, asks whether any other move comes near the table's value. If none does, the move
//! is worth more depth. If others are good enough as well, the node is, and there is no need to search it (multicut).

use super::Search;
use super::node::Node;
use super::node_type::{NodeType, Zero};
use crate::chess::Move;
use crate::engine::table::Hit;
use crate::engine::value::{Value, is_mate};
use crate::engine::{Bound, params};

/// Lines are extended until they are so many times as long as the iteration is deep.
const LONGEST_LINE: usize = 2;

/// What the search without the table's move says.
pub(super) enum Extension {
    /// Search the move by so many plies deeper, or shallower.
    By(i32),
    /// Several moves fail high: so does the node.
    Cutoff(Value),
}

impl Search<'_> {
    /// How much deeper to search a move.
    pub(super) fn extension<N: NodeType>(&mut self, node: &Node, mv: Move) -> Extension {
        // What was found of the move before is not on the way to this one.
        self.frame(node.ply).doubles = self.frame_before(node.ply, 1).doubles;
        let is_tested = !N::ROOT && Some(mv) == node.table_move && node.excluded.is_none();
        match node.hit {
            Some(hit) if is_tested && self.may_be_singular(node, &hit) => {
                self.test_singularity::<N>(node, &hit)
            }
            _ => Extension::By(0),
        }
    }

    fn may_be_singular(&self, node: &Node, hit: &Hit) -> bool {
        let is_long = node.ply >= LONGEST_LINE * self.iteration;
        node.depth >= params::singular_depth()
            && hit.depth >= node.depth - params::singular_table_depth()
            && hit.bound != Bound::Upper
            && !is_mate(hit.value)
            && !is_long
    }

    fn test_singularity<N: NodeType>(&mut self, node: &Node, hit: &Hit) -> Extension {
        let &Node { pos, ply, beta, .. } = node;
        let bar = hit.value - params::singular_slope() * node.depth;
        let half = (node.depth - 1) / 2;
        self.frame(ply).excluded = node.table_move;
        let value = self.search::<Zero>(pos, ply, half, bar - 1, bar, node.cut);
        self.frame(ply).excluded = None;
        if self.aborted {
            return Extension::By(0);
        }
        let is_singular = value < bar;
        if is_singular {
            let lead = bar - value - if N::PV { params::double_pv() } else { 0 };
            let is_quiet = !node.table_move.is_some_and(Move::is_noisy);
            let may = self.frame(ply).doubles < params::doubles_max();
            let double = may && lead > params::double_margin();
            let triple = double && is_quiet && lead > params::triple_margin();
            self.frame(ply).doubles += i32::from(double);
            Extension::By(1 + i32::from(double) + i32::from(triple))
        } else if value >= beta && !is_mate(value) {
            Extension::Cutoff(value)
        } else if hit.value >= beta {
            Extension::By(-params::negative_table())
        } else if node.cut {
            Extension::By(-params::negative_cut())
        } else {
            Extension::By(0)
        }
    }
}
