//! The end of the lines: captures and evasions until the position is quiet enough for the evaluation.

use super::Bound;
use super::history::Past;
use super::ordering::{Knowledge, Picker};
use super::params;
use super::search::{Node, Open, Search, Zero, better_estimate, decides};
use super::see;
use super::table::Hit;
use super::value::{DRAW, INFINITE, MATE_FOUND, Value, is_mate, mated_in};
use crate::chess::Position;

impl Search<'_> {
    /// The value of a position after the captures that are worth looking at.
    pub(super) fn quiesce<N: Node>(
        &mut self,
        pos: &Position,
        ply: usize,
        mut alpha: Value,
        beta: Value,
    ) -> Value {
        self.enter::<N>(ply);
        if self.aborted {
            return DRAW;
        }
        if let Some(value) = self.settled(pos, ply) {
            return value;
        }
        let key = pos.key();
        let hit = self.table.probe(key, ply);
        if !N::PV
            && let Some(hit) = hit
            && decides(&hit, alpha, beta)
            && pos.halfmove_clock() < params::TRUSTED_HALFMOVES
        {
            return hit.value;
        }
        let was_pv = N::PV || hit.is_some_and(|hit| hit.pv);

        // Standing pat: the side to move need not capture, unless it is in check.
        let in_check = pos.in_check();
        let raw_eval = (!in_check).then(|| self.raw_eval(pos, hit));
        let mut best = -INFINITE;
        let mut hope = INFINITE;
        if let Some(raw) = raw_eval {
            let eval = self.corrected_eval(pos, ply, raw);
            best = better_estimate(eval, hit);
            if best >= beta {
                if hit.is_none() {
                    let bound = Bound::Lower;
                    let entry = Hit {
                        mv: None,
                        value: best,
                        eval: raw_eval,
                        depth: 0,
                        bound,
                        pv: was_pv,
                    };
                    self.table.store(key, ply, &entry);
                }
                return best;
            }
            alpha = alpha.max(best);
            hope = eval + params::QUIESCENCE_FUTILITY;
        }

        let table_move = hit
            .and_then(|hit| hit.mv)
            .filter(|&mv| (in_check || mv.is_noisy()) && pos.is_legal(mv));
        let mut picker = if in_check {
            Picker::all(table_move, &self.moves)
        } else {
            Picker::noisy(table_move, 1 - params::QUIESCENCE_LOSS, &self.moves)
        };
        let past: Past = self.past(ply);
        let mut best_move = None;
        let mut bound = Bound::Upper;
        let mut count = 0;
        loop {
            let known = Knowledge {
                history: &self.memory.history,
                past: &past,
                killer: None,
            };
            let Some(mv) = picker.next(pos, &mut self.moves, &known) else {
                break;
            };
            count += 1;
            if best > -MATE_FOUND {
                if in_check {
                    // One quiet way out of check is enough to see that it is no mate.
                    picker.skip_quiets();
                } else if hope <= alpha && !mv.is_promotion() {
                    // Futility: neither what is taken nor the exchange brings us up to alpha.
                    let gain = see::captured_role(pos, mv).map_or(0, see::worth);
                    if hope + gain <= alpha || !see::wins(pos, mv, 1) {
                        best = best.max(if hope + gain <= alpha {
                            hope + gain
                        } else {
                            hope
                        });
                        continue;
                    }
                }
            }
            let child = self.descend(pos, mv, ply);
            let value = if N::PV {
                -self.quiesce::<Open>(&child, ply + 1, -beta, -alpha)
            } else {
                -self.quiesce::<Zero>(&child, ply + 1, -beta, -alpha)
            };
            self.ascend();
            if self.aborted {
                return DRAW;
            }
            if value > best {
                best = value;
                if value > alpha {
                    best_move = Some(mv);
                    if N::PV {
                        self.extend_line(ply, mv);
                    }
                    if value >= beta {
                        bound = Bound::Lower;
                        break;
                    }
                    alpha = value;
                }
            }
        }
        picker.close(&mut self.moves);
        if in_check && count == 0 {
            return mated_in(ply);
        }
        if best >= beta && !is_mate(best) {
            best = (best + beta) / 2;
        }
        let entry = Hit {
            mv: best_move,
            value: best,
            eval: raw_eval,
            depth: 0,
            bound,
            pv: was_pv,
        };
        self.table.store(key, ply, &entry);
        best
    }
}
