//! Singular extensions.
//!
//! A search without the TT move at half the depth tests whether any other move comes near the TT score. If none does,
//! the TT move is extended. If others beat beta as well, the node is cut (multicut).

use super::Search;
use super::node::Node;
use super::node_type::{NodeType, NonPvNode};
use crate::table::Hit;
use crate::value::{Value, is_mate};
use crate::{Bound, params};
use knightwatch_chess::{Move, Position};

/// Lines are extended up to this multiple of the iteration's depth.
const MAX_EXTENSION_FACTOR: usize = 2;

/// Result of a singularity test.
pub(super) enum Extension {
    /// Search the move this much deeper, or less deep if negative.
    By(i32),
    /// Several moves fail high: return this value.
    Cutoff(Value),
}

impl Search<'_> {
    /// The extension of a move.
    pub(super) fn extension<N: NodeType>(&mut self, node: &Node, mv: Move) -> Extension {
        // Undo the effect of the previous move's extension.
        self.frame(node.ply).double_extensions = self.frame_before(node.ply, 1).double_extensions;
        if N::ROOT || Some(mv) != node.tt_move {
            return Extension::By(0);
        }
        match self.hit_to_test(node) {
            Some(hit) => self.test_singularity::<N>(node, &hit),
            None => Extension::By(0),
        }
    }

    /// The extension of checks in three-check, of which few are left.
    #[cold]
    pub(super) fn check_extension(&self, node: &Node, child: &Position, extension: i32) -> i32 {
        let is_long = node.ply >= MAX_EXTENSION_FACTOR * self.iteration;
        i32::from(child.in_check() && extension <= 0 && !is_long)
    }

    /// The TT entry, if its move is to be tested for singularity.
    pub(super) fn hit_to_test(&self, node: &Node) -> Option<Hit> {
        let is_long = node.ply >= MAX_EXTENSION_FACTOR * self.iteration;
        let is_deep = node.depth >= params::singular_depth() + i32::from(node.was_pv);
        if is_long || !is_deep || node.tt_move.is_none() {
            return None;
        }
        // There is none in the test itself.
        node.hit.filter(|hit| {
            hit.depth >= node.depth - params::singular_tt_depth()
                && hit.bound != Bound::Upper
                && !is_mate(hit.value)
        })
    }

    fn test_singularity<N: NodeType>(&mut self, node: &Node, hit: &Hit) -> Extension {
        let &Node { pos, ply, beta, .. } = node;
        let former_pv = i32::from(node.was_pv && !N::PV);
        let slope = params::singular_slope() + params::singular_former_pv() * former_pv;
        let bar = hit.value - slope * node.depth / 100;
        let half = (node.depth - 1) / 2;
        self.frame(ply).excluded = node.tt_move;
        let value = self.search::<NonPvNode>(pos, ply, half, bar - 1, bar, node.cut);
        self.frame(ply).excluded = None;
        if self.aborted {
            return Extension::By(0);
        }
        let is_singular = value < bar;
        if is_singular {
            let lead = bar
                - value
                - if N::PV {
                    params::extension_pv_margin()
                } else {
                    0
                };
            let is_quiet = !node.tt_move.is_some_and(Move::is_noisy);
            let may = self.frame(ply).double_extensions < params::double_extensions_max();
            let double = may && lead > params::double_margin();
            let triple = double && is_quiet && lead > params::triple_margin();
            self.frame(ply).double_extensions += i32::from(double);
            Extension::By(1 + i32::from(double) + i32::from(triple))
        } else if value >= beta && !is_mate(value) {
            Extension::Cutoff(value)
        } else if hit.value >= beta {
            Extension::By(-params::negative_tt())
        } else if node.cut {
            Extension::By(-params::negative_cut())
        } else {
            Extension::By(0)
        }
    }
}
