//! Updates after a node: histories, correction histories, transposition table.

use super::Search;
use super::moves::{BestSoFar, Candidate};
use super::node::Node;
use super::node_type::NodeType;
use crate::board_move::captured_role;
use crate::history::{History, HistoryContext};
use crate::table::Hit;
use crate::value::{Value, is_mate};
use crate::{Bound, params};
use knightwatch_chess::{Move, Piece};

/// Moves of a node that count as early ones.
const EARLY_MOVES: usize = 3;

/// A bounded list of moves; further moves are dropped.
struct MoveBuffer {
    moves: [Option<Move>; 32],
    len: usize,
}

impl MoveBuffer {
    const EMPTY: MoveBuffer = MoveBuffer {
        moves: [None; 32],
        len: 0,
    };

    fn push(&mut self, mv: Move) {
        if let Some(slot) = self.moves.get_mut(self.len) {
            *slot = Some(mv);
            self.len += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = Move> {
        self.moves[..self.len].iter().copied().flatten()
    }
}

/// Moves searched that did not raise alpha, for history updates.
pub(super) struct TriedMoves {
    quiets: MoveBuffer,
    noisies: MoveBuffer,
}

impl TriedMoves {
    pub(super) const EMPTY: TriedMoves = TriedMoves {
        quiets: MoveBuffer::EMPTY,
        noisies: MoveBuffer::EMPTY,
    };

    pub(super) fn push(&mut self, mv: Move) {
        if mv.is_noisy() {
            self.noisies.push(mv);
        } else {
            self.quiets.push(mv);
        }
    }
}

impl Search<'_> {
    /// Updates everything after the search of a node.
    pub(super) fn update_after_search<N: NodeType>(
        &mut self,
        node: &Node,
        best: &BestSoFar,
        tried: &TriedMoves,
    ) {
        if let Some(mv) = best.mv.filter(|_| best.bound == Bound::Lower) {
            self.update_histories(node, mv, tried);
        }
        if best.bound == Bound::Upper && node.excluded.is_none() {
            let bonus = bonus(node.depth) * params::bonus_prior() / 100;
            self.reward_prior_move(node.ply, bonus, History::add_quiet);
        }
        let is_restricted = self.pv_index > 0 || !self.limits.search_moves.is_empty();
        let is_partial = node.excluded.is_some() || N::ROOT && is_restricted;
        if !is_partial {
            self.update_corrections(node, best);
            self.store_in_table(node, best);
        }
    }

    /// Bonus for the move that failed high, malus for those before it.
    fn update_histories(&mut self, node: &Node, best: Move, tried: &TriedMoves) {
        let (pos, context) = (node.pos, &node.context);
        let (bonus, malus) = (bonus(node.depth), malus(node.depth));
        let history = &mut self.thread_data.history;
        let piece_of = |mv: Move| pos.moved_piece(mv).expect("a legal move has a piece");
        if best.is_noisy() {
            history.add_noisy(piece_of(best), best, captured_role(pos, best), bonus);
        } else {
            history.add_quiet(piece_of(best), best, context, bonus);
            for mv in tried.quiets.iter() {
                history.add_quiet(piece_of(mv), mv, context, -malus);
            }
        }
        for mv in tried.noisies.iter() {
            history.add_noisy(piece_of(mv), mv, captured_role(pos, mv), -malus);
        }
        if !best.is_noisy() {
            self.frame(node.ply).killer = Some(best);
        }
    }

    /// Updates the continuation histories after the full-depth re-search of a late move.
    pub(super) fn update_late_move(
        &mut self,
        node: &Node,
        candidate: &Candidate,
        depth: i32,
        succeeded: bool,
    ) {
        let (piece, mv) = (candidate.piece, candidate.board_move.mv);
        if mv.is_noisy() {
            return;
        }
        let change = if succeeded {
            bonus(depth)
        } else {
            -malus(depth)
        };
        self.thread_data
            .history
            .add_continuation(piece, mv, &node.context.prior_moves, change);
    }

    /// After a TT cutoff: if the TT move fails high, a bonus for it if it is quiet, and a malus for the opponent's move
    /// before if that was an early quiet move.
    pub(super) fn update_after_tt_cutoff(&mut self, node: &Node, value: Value) {
        let Some(mv) = node.hit.and_then(|hit| hit.mv) else {
            return;
        };
        if value < node.beta {
            return;
        }
        if self.frame_before(node.ply, 1).move_count <= EARLY_MOVES {
            let change = -malus(node.depth) * params::malus_tt() / 100;
            self.reward_prior_move(node.ply, change, |history, piece, mv, context, change| {
                history.add_continuation(piece, mv, &context.prior_moves, change);
            });
        }
        let bonus = bonus(node.depth) * params::bonus_tt() / 100;
        if !mv.is_noisy()
            && bonus > 0
            && node.pos.is_legal(mv)
            && let Some(piece) = node.pos.moved_piece(mv)
        {
            let context = HistoryContext::new(node.pos, self.prior_moves(node.ply));
            self.thread_data
                .history
                .add_quiet(piece, mv, &context, bonus);
        }
    }

    /// Updates the history of the opponent's last quiet move by the change of the evaluation.
    pub(super) fn update_from_eval_swing(&mut self, node: &Node) {
        let Some(before) = self.frame_before(node.ply, 1).eval() else {
            return;
        };
        let max = params::swing_max();
        let bonus = ((-node.eval - before) * params::swing_slope()).clamp(-max, max);
        self.reward_prior_move(node.ply, bonus, History::add_butterfly);
    }

    /// Updates a history of the quiet move that led to the node.
    fn reward_prior_move(
        &mut self,
        ply: usize,
        bonus: i32,
        add: fn(&mut History, Piece, Move, &HistoryContext, i32),
    ) {
        let before = self.frame_before(ply, 1);
        if let Some((piece, mv)) = before.played
            && !mv.is_noisy()
            && bonus != 0
        {
            let context = before.context;
            add(&mut self.thread_data.history, piece, mv, &context, bonus);
        }
    }

    /// Updates the correction histories if the position is quiet and the bound is informative.
    fn update_corrections(&mut self, node: &Node, best: &BestSoFar) {
        let is_uninformative = match best.bound {
            Bound::Lower => best.value <= node.eval,
            Bound::Upper => best.value >= node.eval,
            Bound::Exact => false,
        };
        let is_quiet = !node.in_check && !best.mv.is_some_and(Move::is_noisy);
        if is_quiet && !is_uninformative && !is_mate(best.value) {
            let error = best.value - node.eval;
            self.thread_data
                .corrections
                .add(&node.keys, node.depth, error);
        }
    }

    /// Stores the result in the transposition table.
    pub(super) fn store_in_table(&mut self, node: &Node, best: &BestSoFar) {
        let hit = Hit {
            mv: best.mv,
            value: best.value,
            eval: node.raw_eval,
            depth: node.depth,
            bound: best.bound,
            pv: node.was_pv,
        };
        self.table.store(node.pos.key(), node.ply, &hit);
    }
}

/// History bonus at `depth`.
fn bonus(depth: i32) -> i32 {
    (params::bonus_slope() * depth - params::bonus_offset()).min(params::bonus_max())
}

/// History malus at `depth`.
fn malus(depth: i32) -> i32 {
    (params::malus_slope() * depth - params::malus_offset()).min(params::malus_max())
}
