//! Quiescence search: captures, and evasions in check, until the position is quiet.

use super::Search;
use super::moves::BestSoFar;
use super::node::{Node, better_estimate, tt_cutoff};
use super::node_type::{NodeType, NonPvNode, PvNode};
use crate::board_move::BoardMove;
use crate::history::HistoryContext;
use crate::movepick::MovePicker;
use crate::value::{DRAW, MIN_MATE, Value, is_mate, mated_in};
use crate::{Bound, params, see};
use knightwatch_chess::{Generate, Position, Variant};

impl Search<'_> {
    /// The value of a position after all sensible captures, in a quiescence search that starts there.
    pub(super) fn start_quiescence<N: NodeType>(
        &mut self,
        pos: &Position,
        ply: usize,
        alpha: Value,
        beta: Value,
    ) -> Value {
        self.quiescence_ply = ply;
        self.quiesce::<N>(pos, ply, alpha, beta)
    }

    /// The value of a position after all sensible captures.
    fn quiesce<N: NodeType>(
        &mut self,
        pos: &Position,
        ply: usize,
        mut alpha: Value,
        beta: Value,
    ) -> Value {
        self.enter_node::<N>(ply);
        if self.aborted {
            return DRAW;
        }
        if let Some(value) = self.terminal_value(pos, ply) {
            return value;
        }
        alpha = self.alpha_with_repetition(pos, alpha);
        if alpha >= beta {
            return alpha;
        }
        let mut node = Node::new(pos, ply, 0, (alpha, beta), false);
        node.hit = self.table.probe(pos.key(), ply);
        if !N::PV
            && let Some(value) = tt_cutoff(pos, node.hit, 0, alpha, beta)
        {
            return value;
        }
        node.was_pv = N::PV || node.hit.is_some_and(|hit| hit.pv);
        let mut best = BestSoFar::new(alpha);
        if !node.in_check && !must_capture(pos) {
            self.stand_pat(&mut node, &mut best);
            if best.value >= beta {
                if node.hit.is_none() {
                    best.bound = Bound::Lower;
                    self.store_in_table(&node, &best);
                }
                return best.value;
            }
        }
        self.search_captures::<N>(&mut node, best)
    }

    /// The side to move need not capture, unless it is in check.
    fn stand_pat(&mut self, node: &mut Node, best: &mut BestSoFar) {
        self.evaluate_node(node);
        best.value = better_estimate(node.pos, node.eval, node.hit);
        best.alpha = best.alpha.max(best.value);
    }

    /// Searches captures and promotions, or all moves if in check.
    fn search_captures<N: NodeType>(&mut self, node: &mut Node, mut best: BestSoFar) -> Value {
        let &mut Node {
            pos,
            ply,
            beta,
            in_check,
            ..
        } = node;
        if in_check {
            node.context = HistoryContext::new(pos, self.prior_moves(ply));
        }
        node.tt_move = node
            .hit
            .and_then(|hit| hit.mv)
            .filter(|&mv| (in_check || mv.is_noisy()) && pos.is_legal(mv));
        let mut picker = if in_check {
            MovePicker::all(node.tt_move, &self.moves)
        } else {
            let picker =
                MovePicker::noisy(node.tt_move, 1 - params::quiescence_loss(), &self.moves);
            if pos.variant() != Variant::Standard && self.tries_checks(pos, ply) {
                node.context = HistoryContext::new(pos, self.prior_moves(ply));
                picker.with_checks()
            } else {
                picker
            }
        };
        let mut count = 0;
        while let Some(board_move) = self.next_move(&mut picker, pos, &node.context, None) {
            count += 1;
            let better_than_mated = best.value > -MIN_MATE;
            if better_than_mated && in_check {
                // It is no mate: search no quiet evasion after this one, and none that loses material.
                picker.skip_quiets();
                if !see::is_at_least(pos, board_move, -params::quiescence_evasion_loss()) {
                    continue;
                }
            } else if better_than_mated && let Some(hope) = futile(node, board_move, best.alpha) {
                best.value = best.value.max(hope);
                continue;
            }
            let mut child = pos.clone();
            self.make_move(&mut child, board_move, ply);
            let value = if N::PV {
                -self.quiesce::<PvNode>(&child, ply + 1, -beta, -best.alpha)
            } else {
                -self.quiesce::<NonPvNode>(&child, ply + 1, -beta, -best.alpha)
            };
            self.unmake_move();
            if self.aborted {
                return DRAW;
            }
            best.value = best.value.max(value);
            if value <= best.alpha {
                continue;
            }
            best.mv = Some(board_move.mv);
            if N::PV {
                self.update_pv(ply, board_move.mv);
            }
            if value >= beta {
                best.bound = Bound::Lower;
                break;
            }
            best.alpha = value;
        }
        picker.release(&mut self.moves);
        if in_check && count == 0 {
            return mated_in(ply);
        }
        if best.value >= beta && !is_mate(best.value) {
            best.value = i32::midpoint(best.value, beta);
        }
        self.store_in_table(node, &best);
        best.value
    }
}

impl Search<'_> {
    /// Returns whether quiet checks are searched: at the start of a quiescence search in variants that checks decide.
    fn tries_checks(&self, pos: &Position, ply: usize) -> bool {
        match pos.variant() {
            Variant::Crazyhouse => ply <= self.quiescence_ply,
            Variant::ThreeCheck => ply <= self.quiescence_ply + 2,
            _ => false,
        }
    }
}

/// Returns whether the side to move has to capture, as in antichess: it cannot stand pat.
fn must_capture(pos: &Position) -> bool {
    if pos.variant() != Variant::Antichess {
        return false;
    }
    let mut found = false;
    pos.for_each_of(Generate::Noisy, |mv| found |= mv.is_capture());
    found
}

/// Futility pruning: neither the captured piece nor the exchange raises the value to alpha. Returns the upper bound.
fn futile(node: &Node, board_move: BoardMove, alpha: Value) -> Option<Value> {
    let BoardMove { mv, captured, .. } = board_move;
    let hope = node.eval + params::quiescence_futility();
    if hope > alpha
        || node.pos.variant() == Variant::Antichess
        || mv.is_promotion()
        || !mv.is_capture()
    {
        return None;
    }
    let gain = captured.map_or(0, see::value_of) * params::quiescence_gain() / 100;
    if hope + gain <= alpha {
        Some(hope + gain)
    } else {
        (!see::is_at_least(node.pos, board_move, 1)).then_some(hope)
    }
}
