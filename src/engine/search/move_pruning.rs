//! Rules that spare a move its search, once something better than being mated is known.
//!
//! A rule is a function that says whether it holds. To add one, write it here and put it into [`verdict`]: whether it
//! speaks of this move alone or, since those to come are no better, of all quiet ones.

use super::moves::Candidate;
use super::node::Node;
use super::reductions::plies;
use crate::engine::value::{Value, is_mate};
use crate::engine::{params, see};

/// What pruning says about a move.
pub(super) enum Verdict {
    Search,
    Skip,
    SkipAllQuiets,
}

pub(super) fn verdict(node: &Node, candidate: &Candidate, alpha: Value) -> Verdict {
    if candidate.mv.is_noisy() {
        return if noisy_loses_material(node, candidate) {
            Verdict::Skip
        } else {
            Verdict::Search
        };
    }
    let reduced = (node.depth - plies(candidate.reduction)).max(1);
    if comes_too_late(node, candidate) || is_futile(node, reduced, alpha) {
        Verdict::SkipAllQuiets
    } else if has_failed_too_often(node, candidate, reduced)
        || quiet_loses_material(node, candidate, reduced)
    {
        Verdict::Skip
    } else {
        Verdict::Search
    }
}

/// SEE pruning of captures and promotions: they lose more than depth and history make good.
fn noisy_loses_material(node: &Node, candidate: &Candidate) -> bool {
    let allowed =
        params::see_noisy_margin() * node.depth + candidate.history / params::see_noisy_history();
    node.depth <= params::see_noisy_depth() && !see::wins(node.pos, candidate.mv, -allowed)
}

/// Late move pruning: after so many moves no quiet one is expected to be better.
fn comes_too_late(node: &Node, candidate: &Candidate) -> bool {
    let enough = params::late_base() + params::late_slope() * node.depth * node.depth / 100;
    candidate.count >= enough as usize
}

/// Futility: a quiet move will not bring the evaluation up to alpha.
fn is_futile(node: &Node, reduced: i32, alpha: Value) -> bool {
    let hope = node.eval + params::futility_base() + params::futility_slope() * reduced;
    !node.in_check && reduced <= params::futility_depth() && hope <= alpha && !is_mate(alpha)
}

/// History pruning: the move has failed too often in such places.
fn has_failed_too_often(node: &Node, candidate: &Candidate, reduced: i32) -> bool {
    reduced <= params::history_depth() && candidate.history < -params::history_margin() * node.depth
}

/// SEE pruning of quiet moves: it loses material where it goes.
fn quiet_loses_material(node: &Node, candidate: &Candidate, reduced: i32) -> bool {
    let allowed = params::see_quiet_margin() * reduced * reduced;
    reduced <= params::see_quiet_depth() && !see::wins(node.pos, candidate.mv, -allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Position;

    fn first(pos: &Position, uci: &str, count: usize, history: i32) -> Candidate {
        let mv = pos.parse_uci(uci).expect("a legal move");
        Candidate {
            mv,
            piece: pos.piece_at(mv.from()).expect("a piece"),
            count,
            history,
            reduction: 0,
            is_killer: false,
        }
    }

    /// What is said of a move when the evaluation is `eval` and alpha 0.
    fn said(uci: &str, depth: i32, eval: Value, count: usize, history: i32) -> Verdict {
        let pos = Position::from_fen("4k3/8/3p1p2/4p3/8/3B1N2/8/4K3 w - - 0 1").expect("a FEN");
        let mut node = Node::new(&pos, 4, depth, (0, 1), false);
        node.eval = eval;
        verdict(&node, &first(&pos, uci, count, history), 0)
    }

    #[test]
    fn each_rule_speaks_where_it_should() {
        assert!(matches!(said("d3c4", 3, 0, 2, 0), Verdict::Search));
        // Too late, futile, a bad record, a piece given away, a bad capture; deep down none of it counts.
        assert!(matches!(said("d3c4", 3, 0, 50, 0), Verdict::SkipAllQuiets));
        assert!(matches!(
            said("d3c4", 1, -900, 2, 0),
            Verdict::SkipAllQuiets
        ));
        assert!(matches!(said("d3c4", 2, 0, 2, -20_000), Verdict::Skip));
        assert!(matches!(said("f3d4", 2, 0, 2, 0), Verdict::Skip));
        assert!(matches!(said("f3e5", 1, 0, 2, 0), Verdict::Skip));
        for uci in ["f3d4", "f3e5"] {
            assert!(matches!(said(uci, 20, -900, 2, -20_000), Verdict::Search));
        }
    }
}
