//! Late move reductions, internal iterative reductions and hindsight.

use super::Search;
use super::moves::{BestSoFar, Candidate};
use super::node::Node;
use super::node_type::NodeType;
use crate::board_move::BoardMove;
use crate::{Bound, params, see};
use knightwatch_chess::{Move, Position};

/// Unit of reductions.
pub(super) const PLY: i32 = 1024;

pub(super) fn plies(reduction: i32) -> i32 {
    reduction / PLY
}

/// Internal iterative reduction, in plies: without a TT move, a shallower search finds one.
pub(super) fn internal_iterative_reduction<N: NodeType>(node: &Node) -> i32 {
    let matters = N::PV || node.cut;
    let deep = node.depth >= params::iir_depth();
    i32::from(matters && deep && node.lacks_tt_move())
}

/// Returns whether late move reductions apply to the move.
pub(super) fn is_late<N: NodeType>(node: &Node, candidate: &Candidate) -> bool {
    node.depth >= 2 && candidate.count > 1 + usize::from(N::ROOT)
}

impl Search<'_> {
    /// Hindsight: depth correction of a node reached by a reduced move, now that its evaluation is known.
    pub(super) fn hindsight(&self, node: &Node) -> i32 {
        let before = self.frame_before(node.ply, 1);
        let (Some(theirs), false) = (before.eval(), node.in_check || node.excluded.is_some())
        else {
            return 0;
        };
        let has_turned = node.eval + theirs > params::hindsight_margin();
        if before.reduction >= params::hindsight_reduction_min() && !node.worsening {
            1
        } else if before.reduction > 0 && node.depth >= 2 && has_turned {
            -1
        } else {
            0
        }
    }

    /// Adjustments of a late move's reduction, in 1024ths of a ply.
    pub(super) fn reduction_terms(
        &mut self,
        node: &Node,
        candidate: &Candidate,
        best: &BestSoFar,
        child: &Position,
    ) -> i32 {
        let is_all_node = !node.cut && node.beta - node.alpha == 1;
        let many_cutoffs = self.frame(node.ply + 1).cutoffs > params::lmr_cutoffs_min();
        let table_noisy = node.tt_move.is_some_and(Move::is_noisy);
        let term = |holds: bool, by: i32| if holds { by } else { 0 };
        let sum = term(node.cut, params::lmr_cut())
            + term(
                is_all_node,
                candidate.reduction * params::lmr_all() / (100 * (node.depth + 1)),
            )
            + term(!node.improving, params::lmr_not_improving())
            + term(node.cut && node.lacks_tt_move(), params::lmr_no_tt_move())
            + term(table_noisy, params::lmr_tt_noisy())
            + term(many_cutoffs, params::lmr_cutoffs())
            + term(
                node.hit.is_some_and(|hit| hit.value <= node.alpha),
                params::lmr_tt_low(),
            )
            + term(best.bound == Bound::Exact, params::lmr_alpha_raised())
            - term(
                node.was_pv && node.hit.is_some_and(|hit| hit.depth >= node.depth),
                params::lmr_tt_deep(),
            )
            - term(node.was_pv, params::lmr_pv())
            - term(child.in_check(), params::lmr_check())
            - term(candidate.is_killer, params::lmr_killer());
        let BoardMove { mv, captured, .. } = candidate.board_move;
        let (history, history_of_a_ply) = if mv.is_noisy() {
            let victim = captured.map_or(0, see::value_of) * params::lmr_noisy_victim()
                - params::lmr_noisy_victim_offset();
            (candidate.history + victim, params::lmr_noisy_history())
        } else {
            (candidate.history, params::lmr_quiet_history())
        };
        let doubt = node.correction.abs() * params::lmr_correction();
        sum - doubt - history * PLY / history_of_a_ply
    }
}

/// Base reduction, from the logarithms of depth and move number.
pub(super) fn late_move_reduction(depth: i32, count: usize, noisy: bool) -> i32 {
    let depth = LOG2[(depth as usize).min(LOG2.len() - 1)];
    let count = LOG2[count.min(LOG2.len() - 1)];
    let product = depth * count / PLY;
    if noisy {
        params::lmr_noisy_base() + product * params::lmr_noisy_slope() / 1000
    } else {
        params::lmr_quiet_base() + product * params::lmr_quiet_slope() / 1000
    }
}

/// Binary logarithms in 1024ths, with 0 for 0. Integers, so that all machines search the same tree.
const LOG2: [i32; 64] = {
    let mut table = [0; 64];
    let mut n = 1;
    while n < 64 {
        table[n] = log2(n as u64);
        n += 1;
    }
    table
};

const fn log2(n: u64) -> i32 {
    const FRACTION_BITS: u32 = PLY.ilog2();
    let whole = n.ilog2();
    // The mantissa, in 1..2, has 32 fractional bits; squaring it yields the next bit of the logarithm.
    let mut mantissa = (n << 32) >> whole;
    let mut log = whole as i32;
    let mut bit = 0;
    while bit < FRACTION_BITS {
        mantissa = ((mantissa as u128 * mantissa as u128) >> 32) as u64;
        log *= 2;
        if mantissa >= 2 << 32 {
            mantissa >>= 1;
            log += 1;
        }
        bit += 1;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log2_is_exact_to_one_unit() {
        for n in 1..64_u64 {
            let exact = (n as f64).log2() * 1024.0;
            assert!((f64::from(LOG2[n as usize]) - exact).abs() <= 1.0, "{n}");
        }
    }

    #[test]
    fn reduction_grows_with_depth_and_move_number() {
        for depth in 2..40 {
            for count in 2..60 {
                let here = late_move_reduction(depth, count, false);
                assert!(late_move_reduction(depth + 1, count, false) >= here);
                assert!(late_move_reduction(depth, count + 1, false) >= here);
                assert!(late_move_reduction(depth, count, true) <= here);
            }
        }
    }
}
