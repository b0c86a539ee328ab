//! What a searched node leaves behind: histories, corrections, the table.

use super::Search;
use super::moves::{Best, Candidate};
use super::node::Node;
use super::node_type::NodeType;
use crate::chess::{Move, Piece};
use crate::engine::history::{History, Place};
use crate::engine::table::Hit;
use crate::engine::value::{Value, is_mate};
use crate::engine::{Bound, params, see};

/// Moves that were searched without success, as many as matter.
struct Few {
    moves: [Option<Move>; 32],
    len: usize,
}

impl Few {
    const NONE: Few = Few {
        moves: [None; 32],
        len: 0,
    };

    fn push(&mut self, mv: Move) {
        if let Some(place) = self.moves.get_mut(self.len) {
            *place = Some(mv);
            self.len += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = Move> {
        self.moves[..self.len].iter().copied().flatten()
    }
}

/// Moves that were searched without success, for the histories.
pub(super) struct Tried {
    quiets: Few,
    noisies: Few,
}

impl Tried {
    pub const NONE: Tried = Tried {
        quiets: Few::NONE,
        noisies: Few::NONE,
    };

    pub fn push(&mut self, mv: Move) {
        if mv.is_noisy() {
            self.noisies.push(mv);
        } else {
            self.quiets.push(mv);
        }
    }
}

impl Search<'_> {
    /// The node has been searched.
    pub(super) fn learn<N: NodeType>(&mut self, node: &Node, best: &Best, tried: &Tried) {
        if let Some(mv) = best.mv.filter(|_| best.bound == Bound::Lower) {
            self.reward(node, mv, tried);
        }
        if best.bound == Bound::Upper && node.excluded.is_none() {
            let worth = bonus(node.depth) * params::bonus_prior() / 100;
            self.reward_prior(node.ply, worth, History::add_quiet);
        }
        let is_restricted = self.rank > 0 || !self.limits.search_moves.is_empty();
        let is_another_question = node.excluded.is_some() || N::ROOT && is_restricted;
        if !is_another_question {
            self.correct(node, best);
            self.remember(node, best);
        }
    }

    /// The histories learn which move failed high and which did not.
    fn reward(&mut self, node: &Node, best: Move, tried: &Tried) {
        let (pos, place) = (node.pos, &node.place);
        let (bonus, malus) = (bonus(node.depth), malus(node.depth));
        let history = &mut self.memory.history;
        let piece_of = |mv: Move| pos.piece_at(mv.from()).expect("a legal move has a piece");
        if best.is_noisy() {
            history.add_noisy(piece_of(best), best, see::captured_role(pos, best), bonus);
        } else {
            history.add_quiet(piece_of(best), best, place, bonus);
            for mv in tried.quiets.iter() {
                history.add_quiet(piece_of(mv), mv, place, -malus);
            }
        }
        for mv in tried.noisies.iter() {
            history.add_noisy(piece_of(mv), mv, see::captured_role(pos, mv), -malus);
        }
        if !best.is_noisy() {
            self.frame(node.ply).killer = Some(best);
        }
    }

    /// A late move was searched again in full: whether it was right to promise more tells of the moves before it.
    pub(super) fn learn_late_move(
        &mut self,
        node: &Node,
        candidate: &Candidate,
        depth: i32,
        kept_promise: bool,
    ) {
        if candidate.mv.is_noisy() {
            return;
        }
        let change = if kept_promise {
            bonus(depth)
        } else {
            -malus(depth)
        };
        let &Candidate { piece, mv, .. } = candidate;
        self.memory
            .history
            .add_continuation(piece, mv, &node.place.past, change);
    }

    /// A quiet move of the table that is believed to fail high without a search has done well again.
    pub(super) fn learn_table_answer(&mut self, node: &Node, value: Value) {
        let worth = bonus(node.depth) * params::bonus_table() / 100;
        let mv = node.hit.and_then(|hit| hit.mv).filter(|mv| !mv.is_noisy());
        if let Some(mv) = mv
            && value >= node.beta
            && worth > 0
            && node.pos.is_legal(mv)
            && let Some(piece) = node.pos.piece_at(mv.from())
        {
            let place = Place::new(node.pos, self.past(node.ply));
            self.memory.history.add_quiet(piece, mv, &place, worth);
        }
    }

    /// The evaluation rose with the opponent's quiet move that led here, or fell.
    pub(super) fn learn_swing(&mut self, node: &Node) {
        let Some(before) = self.frame_before(node.ply, 1).eval() else {
            return;
        };
        let most = params::swing_max();
        let worth = ((-node.eval - before) * params::swing_slope()).clamp(-most, most);
        self.reward_prior(node.ply, worth, History::add_butterfly);
    }

    /// The quiet move that led to the node has done well, or badly, as these histories see it.
    fn reward_prior(
        &mut self,
        ply: usize,
        worth: i32,
        add: fn(&mut History, Piece, Move, &Place, i32),
    ) {
        let before = self.frame_before(ply, 1);
        if let Some((piece, mv)) = before.played
            && !mv.is_noisy()
            && worth != 0
        {
            let place = before.place;
            add(&mut self.memory.history, piece, mv, &place, worth);
        }
    }

    /// The corrections learn how far the evaluation was off, where the position was quiet enough for one.
    fn correct(&mut self, node: &Node, best: &Best) {
        let tells_nothing = match best.bound {
            Bound::Lower => best.value <= node.eval,
            Bound::Upper => best.value >= node.eval,
            Bound::Exact => false,
        };
        let is_quiet = !node.in_check && !best.mv.is_some_and(Move::is_noisy);
        if is_quiet && !tells_nothing && !is_mate(best.value) {
            let error = best.value - node.eval;
            self.memory.corrections.add(&node.keys, node.depth, error);
        }
    }

    /// The table learns the result.
    pub(super) fn remember(&mut self, node: &Node, best: &Best) {
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

/// What a success at `depth` is worth in a history.
fn bonus(depth: i32) -> i32 {
    (params::bonus_slope() * depth - params::bonus_offset()).min(params::bonus_max())
}

/// What a failure at `depth` costs in a history.
fn malus(depth: i32) -> i32 {
    (params::malus_slope() * depth - params::malus_offset()).min(params::malus_max())
}
