//! Pruning of single moves, once a score better than being mated is known.
//!
//! A rule is a predicate. To add one, write it here and call it in [`prune_move`]: it can skip one move or, since
//! later ones are ordered worse, all remaining quiet moves.

use super::moves::Candidate;
use super::node::Node;
use super::reductions::{PLY, plies};
use crate::value::{Value, is_mate};
use crate::{params, see};
use knightwatch_chess::{Move, Variant};

/// Lower limit of the reduced depth, for quiet moves with a very bad history.
const MIN_REDUCED: i32 = -1;

/// Result of move pruning.
pub(super) enum PruneDecision {
    Search,
    Skip,
    /// Skip the move: it is worth at most this value, which is not above alpha.
    Futile(Value),
    SkipQuiets,
}

pub(super) fn prune_move(node: &Node, candidate: &Candidate, alpha: Value) -> PruneDecision {
    if node.pos.variant() == Variant::ThreeCheck && node.pos.gives_check(candidate.board_move.mv) {
        return PruneDecision::Search;
    }
    if candidate.board_move.mv.is_noisy() {
        return if noisy_loses_material(node, candidate) {
            PruneDecision::Skip
        } else {
            PruneDecision::Search
        };
    }
    if comes_too_late(node, candidate) {
        return PruneDecision::SkipQuiets;
    }
    let (without_history, reduced) = reduced_depths(node, candidate);
    if let Some(hope) = futile(node, candidate.board_move.mv, reduced, alpha) {
        PruneDecision::Futile(hope)
    } else if has_failed_too_often(node, candidate, without_history)
        || quiet_loses_material(node, candidate, reduced)
    {
        PruneDecision::Skip
    } else {
        PruneDecision::Search
    }
}

/// The depths to which late move reductions would lead: without the history of the move, and with it.
fn reduced_depths(node: &Node, candidate: &Candidate) -> (i32, i32) {
    let not_improving = i32::from(!node.improving);
    let reduction = candidate.reduction + params::lmr_not_improving() * not_improving;
    let good = candidate.history * PLY / (100 * params::prune_history());
    let depth = |reduction| node.depth - 1 - plies(reduction);
    (depth(reduction), depth(reduction - good).max(MIN_REDUCED))
}

/// SEE pruning of captures and promotions, with a margin by depth and history.
fn noisy_loses_material(node: &Node, candidate: &Candidate) -> bool {
    let by_history = candidate.history / params::see_noisy_history();
    let allowed = (params::see_noisy_margin() * node.depth + by_history).max(0);
    node.depth <= params::see_noisy_depth()
        && !see::is_at_least(node.pos, candidate.board_move, -allowed)
}

/// Late move pruning: quiet moves after this many are skipped.
fn comes_too_late(node: &Node, candidate: &Candidate) -> bool {
    let enough = params::lmp_base() + params::lmp_slope() * node.depth * node.depth / 100;
    let enough = if node.improving {
        enough
    } else {
        enough * params::lmp_not_improving() / 100
    };
    candidate.count >= enough as usize
}

/// Futility pruning: a quiet move will not raise the evaluation above alpha. Returns the upper bound.
fn futile(node: &Node, mv: Move, reduced: i32, alpha: Value) -> Option<Value> {
    let mut hope = node.eval + params::futility_base() + params::futility_slope() * reduced;
    if node.in_check || reduced > params::futility_depth() || is_mate(alpha) || hope > alpha {
        return None;
    }
    if node.pos.gives_check(mv) {
        hope += params::futility_check();
    }
    (hope <= alpha).then_some(hope)
}

/// History pruning: the move has a bad history.
fn has_failed_too_often(node: &Node, candidate: &Candidate, reduced: i32) -> bool {
    reduced <= params::history_depth() && candidate.history < -params::history_margin() * node.depth
}

/// SEE pruning of quiet moves: it loses material on its target square.
fn quiet_loses_material(node: &Node, candidate: &Candidate, reduced: i32) -> bool {
    let allowed = params::see_quiet_margin() * reduced.max(0).pow(2);
    reduced <= params::see_quiet_depth()
        && !see::is_at_least(node.pos, candidate.board_move, -allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board_move::BoardMove;
    use knightwatch_chess::Position;

    fn first(pos: &Position, uci: &str, count: usize, history: i32) -> Candidate {
        let mv = pos.parse_uci(uci).expect("a legal move");
        Candidate {
            board_move: BoardMove::new(pos, mv),
            piece: pos.piece_at(mv.from()).expect("a piece"),
            count,
            history,
            reduction: 0,
            is_killer: false,
        }
    }

    /// The decision about a move when the evaluation is `eval` and alpha 0.
    fn decision(uci: &str, depth: i32, eval: Value, count: usize, history: i32) -> PruneDecision {
        let pos = Position::from_fen("4k3/8/3p1p2/4p3/8/3B1N2/8/4K3 w - - 0 1").expect("a FEN");
        let mut node = Node::new(&pos, 4, depth, (0, 1), false);
        node.eval = eval;
        prune_move(&node, &first(&pos, uci, count, history), 0)
    }

    #[test]
    fn prune_move_applies_each_rule() {
        assert!(matches!(
            decision("d3c4", 3, 0, 2, 0),
            PruneDecision::Search
        ));
        // Late, futile, bad history, piece given away, bad capture; none of it applies at high depth.
        assert!(matches!(
            decision("d3c4", 3, 0, 50, 0),
            PruneDecision::SkipQuiets
        ));
        assert!(matches!(
            decision("d3c4", 1, -900, 2, 0),
            PruneDecision::Futile(..=0)
        ));
        assert!(matches!(
            decision("d3c4", 2, 100, 2, -20_000),
            PruneDecision::Skip
        ));
        assert!(matches!(decision("f3d4", 2, 0, 2, 0), PruneDecision::Skip));
        assert!(matches!(decision("f3e5", 1, 0, 2, 0), PruneDecision::Skip));
        for uci in ["f3d4", "f3e5"] {
            assert!(matches!(
                decision(uci, 20, -900, 2, -20_000),
                PruneDecision::Search
            ));
        }
    }
}
