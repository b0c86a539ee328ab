//! The end of the lines: captures and evasions until the position is quiet enough for the evaluation.

use super::Search;
use super::moves::Best;
use super::node::{Node, better_estimate, table_answer};
use super::node_type::{NodeType, Open, Zero};
use crate::chess::{Move, Position};
use crate::engine::history::Place;
use crate::engine::ordering::Picker;
use crate::engine::value::{DRAW, MATE_FOUND, Value, is_mate, mated_in};
use crate::engine::{Bound, params, see};

impl Search<'_> {
    /// The value of a position after the captures that are worth looking at.
    pub(super) fn quiesce<N: NodeType>(
        &mut self,
        pos: &Position,
        ply: usize,
        alpha: Value,
        beta: Value,
    ) -> Value {
        self.enter::<N>(ply);
        if self.aborted {
            return DRAW;
        }
        if let Some(value) = self.settled(pos, ply) {
            return value;
        }
        let mut node = Node::new(pos, ply, 0, (alpha, beta), false);
        node.hit = self.table.probe(pos.key(), ply);
        if !N::PV
            && let Some(value) = table_answer(pos, node.hit, 0, alpha, beta)
        {
            return value;
        }
        node.was_pv = N::PV || node.hit.is_some_and(|hit| hit.pv);
        let mut best = Best::nothing(alpha);
        if !node.in_check {
            self.stand_pat(&mut node, &mut best);
            if best.value >= beta {
                if node.hit.is_none() {
                    best.bound = Bound::Lower;
                    self.remember(&node, &best);
                }
                return best.value;
            }
        }
        self.capture::<N>(&mut node, best)
    }

    /// The side to move need not capture, unless it is in check.
    fn stand_pat(&mut self, node: &mut Node, best: &mut Best) {
        self.judge(node);
        best.value = better_estimate(node.pos, node.eval, node.hit);
        best.alpha = best.alpha.max(best.value);
    }

    /// Tries captures and promotions, in check all moves.
    fn capture<N: NodeType>(&mut self, node: &mut Node, mut best: Best) -> Value {
        let &mut Node {
            pos,
            ply,
            beta,
            in_check,
            ..
        } = node;
        if in_check {
            node.place = Place::new(pos, self.past(ply));
        }
        node.table_move = node
            .hit
            .and_then(|hit| hit.mv)
            .filter(|&mv| (in_check || mv.is_noisy()) && pos.is_legal(mv));
        let mut picker = if in_check {
            Picker::all(node.table_move, &self.moves)
        } else {
            Picker::noisy(node.table_move, 1 - params::quiescence_loss(), &self.moves)
        };
        let mut count = 0;
        while let Some(mv) = self.next_move(&mut picker, pos, &node.place, None) {
            count += 1;
            let better_than_mated = best.value > -MATE_FOUND;
            if better_than_mated && in_check {
                // It is no mate: this move still, and then no other quiet way out of check.
                picker.skip_quiets();
            } else if better_than_mated && let Some(hope) = futile(node, mv, best.alpha) {
                best.value = best.value.max(hope);
                continue;
            }
            let child = self.descend(pos, mv, ply);
            let value = if N::PV {
                -self.quiesce::<Open>(&child, ply + 1, -beta, -best.alpha)
            } else {
                -self.quiesce::<Zero>(&child, ply + 1, -beta, -best.alpha)
            };
            self.ascend();
            if self.aborted {
                return DRAW;
            }
            best.value = best.value.max(value);
            if value <= best.alpha {
                continue;
            }
            best.mv = Some(mv);
            if N::PV {
                self.extend_line(ply, mv);
            }
            if value >= beta {
                best.bound = Bound::Lower;
                break;
            }
            best.alpha = value;
        }
        picker.close(&mut self.moves);
        if in_check && count == 0 {
            return mated_in(ply);
        }
        if best.value >= beta && !is_mate(best.value) {
            best.value = (best.value + beta) / 2;
        }
        self.remember(node, &best);
        best.value
    }
}

/// Futility: neither what is taken nor the exchange brings us up to alpha. Then this is the most to hope for.
fn futile(node: &Node, mv: Move, alpha: Value) -> Option<Value> {
    let hope = node.eval + params::quiescence_futility();
    if hope > alpha || mv.is_promotion() {
        return None;
    }
    let gain = see::captured_role(node.pos, mv).map_or(0, see::worth);
    if hope + gain <= alpha {
        Some(hope + gain)
    } else {
        (!see::wins(node.pos, mv, 1)).then_some(hope)
    }
}
