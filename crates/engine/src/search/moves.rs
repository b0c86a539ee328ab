//! The move loop of a node: the first move with a full window, the others with null windows.

use super::Search;
use super::extensions::Extension;
use super::move_pruning::{PruneDecision, prune_move};
use super::node::Node;
use super::node_type::{NodeType, NonPvNode, PvNode};
use super::reductions;
use super::update::TriedMoves;
use crate::board_move::BoardMove;
use crate::history::HistoryContext;
use crate::movepick::{MovePicker, OrderingContext};
use crate::value::{DRAW, INFINITE, MIN_MATE, Value, mated_in};
use crate::{Bound, params};
use knightwatch_chess::{Move, Piece, Position, Variant};

/// The move to search next.
pub(super) struct Candidate {
    pub board_move: BoardMove,
    pub piece: Piece,
    /// Number of the move in the loop, from 1.
    pub count: usize,
    /// Its history score.
    pub history: i32,
    /// Base reduction for late moves, in 1024ths of a ply.
    pub reduction: i32,
    /// The last quiet move that failed high in a sibling or cousin.
    pub is_killer: bool,
}

/// Best result of the moves so far.
pub(super) struct BestSoFar {
    pub value: Value,
    /// Upper bound of the moves skipped by futility pruning.
    pub skipped: Value,
    /// The last move that raised alpha.
    pub mv: Option<Move>,
    pub alpha: Value,
    pub bound: Bound,
}

/// Counts beta cutoffs, and those by the first move: a measure of move ordering.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CutoffStats {
    pub all: u64,
    /// Cutoffs by the first move searched.
    pub by_first: u64,
}

impl CutoffStats {
    /// Share of cutoffs by the first move, in permille; `None` without any.
    pub(super) fn ordering(self) -> Option<u32> {
        let permille = (1_000 * self.by_first).checked_div(self.all)?;
        Some(permille as u32)
    }
}

impl BestSoFar {
    pub(super) fn new(alpha: Value) -> BestSoFar {
        BestSoFar {
            value: -INFINITE,
            skipped: -INFINITE,
            mv: None,
            alpha,
            bound: Bound::Upper,
        }
    }
}

impl Search<'_> {
    /// Searches the moves in order.
    pub(super) fn search_moves<N: NodeType>(&mut self, node: &Node) -> Value {
        let &Node { pos, ply, beta, .. } = node;
        let killer = self.frame(ply).killer;
        let mut picker = MovePicker::all(node.tt_move, &self.moves);
        let mut tried = TriedMoves::EMPTY;
        let mut best = BestSoFar::new(node.alpha);
        let mut count = 0;

        while let Some(board_move) = self.next_move(&mut picker, pos, &node.context, killer) {
            let mv = board_move.mv;
            if self.is_skipped::<N>(node, mv) {
                continue;
            }
            count += 1;
            let candidate = self.candidate(node, board_move, count, killer);
            let better_than_mated = best.value > -MIN_MATE;
            if !N::ROOT && better_than_mated && node.has_pieces {
                match prune_move(node, &candidate, best.alpha) {
                    PruneDecision::Search => {}
                    PruneDecision::Skip => continue,
                    PruneDecision::Futile(hope) => {
                        best.skipped = best.skipped.max(hope);
                        continue;
                    }
                    PruneDecision::SkipQuiets => {
                        picker.skip_quiets();
                        continue;
                    }
                }
            }
            let extension = match self.extension::<N>(node, mv) {
                Extension::By(plies) => plies,
                Extension::Cutoff(value) => return value,
            };
            if self.aborted {
                return DRAW;
            }

            let nodes_before = self.nodes;
            let value = self.search_move::<N>(node, &candidate, &best, extension);
            if self.aborted {
                return DRAW;
            }
            if N::ROOT {
                let nodes = self.nodes - nodes_before;
                self.update_root_move(mv, value, (best.alpha, beta), count, nodes);
            }
            best.value = best.value.max(value);
            if value <= best.alpha {
                tried.push(mv);
                continue;
            }
            best.mv = Some(mv);
            if N::PV {
                self.update_pv(ply, mv);
            }
            if value >= beta {
                best.bound = Bound::Lower;
                self.frame(ply).cutoffs += 1;
                self.cutoffs.all += 1;
                self.cutoffs.by_first += u64::from(count == 1);
                break;
            }
            best.alpha = value;
            best.bound = Bound::Exact;
        }
        picker.release(&mut self.moves);

        if count == 0 {
            return match node.excluded {
                Some(_) => node.alpha,
                None if node.in_check => mated_in(ply),
                None => DRAW,
            };
        }
        if best.bound == Bound::Upper {
            // Not in the loop: whether to search a move again is a matter of the moves searched.
            best.value = best.value.max(best.skipped);
        }
        self.update_after_search::<N>(node, &best, &tried);
        best.value
    }

    pub(super) fn next_move(
        &mut self,
        picker: &mut MovePicker,
        pos: &Position,
        context: &HistoryContext,
        killer: Option<Move>,
    ) -> Option<BoardMove> {
        let ordering = OrderingContext {
            history: &self.thread_data.history,
            context,
            killer,
        };
        let picked = picker.next(pos, &mut self.moves, &ordering)?;
        // Before anything else is computed for the move: memory takes longer than making it.
        let key = pos.likely_key_after(picked.mv, picked.role, picked.captured);
        self.table.prefetch(key);
        Some(picked)
    }

    /// Returns whether the move is excluded here, or not to be searched at the root.
    fn is_skipped<N: NodeType>(&self, node: &Node, mv: Move) -> bool {
        let wanted = || self.root[self.pv_index..].iter().any(|root| root.mv == mv);
        Some(mv) == node.excluded || N::ROOT && !wanted()
    }

    /// Inlining saves one percent of the instructions of the search.
    #[inline(always)]
    fn candidate(
        &self,
        node: &Node,
        board_move: BoardMove,
        count: usize,
        killer: Option<Move>,
    ) -> Candidate {
        let BoardMove { mv, role, captured } = board_move;
        let piece = Piece::new(node.pos.turn(), role);
        let history = &self.thread_data.history;
        Candidate {
            board_move,
            piece,
            count,
            history: if mv.is_noisy() {
                history.noisy(piece, mv, captured)
            } else {
                history.quiets(piece.color, &node.context).score(piece, mv)
            },
            reduction: reductions::late_move_reduction(node.depth, count, mv.is_noisy()),
            is_killer: Some(mv) == killer,
        }
    }

    /// Makes the move and searches it: a late move with reduced depth and a null window, and again if it beats alpha.
    fn search_move<N: NodeType>(
        &mut self,
        node: &Node,
        candidate: &Candidate,
        best: &BestSoFar,
        extension: i32,
    ) -> Value {
        let (child_ply, alpha, is_first) = (node.ply + 1, best.alpha, candidate.count == 1);
        let mut child = node.pos.clone();
        self.make_move(&mut child, candidate.board_move, node.ply);
        self.frame(node.ply).move_count = candidate.count;
        let mut depth = node.depth - 1 + extension;
        if child.variant() == Variant::ThreeCheck {
            depth += self.check_extension(node, &child, extension);
        }
        let mut value = -INFINITE;
        if reductions::is_late::<N>(node, candidate) {
            (value, depth) = self.search_late_move::<N>(node, candidate, best, &child, depth);
        } else if !N::PV || !is_first {
            value =
                -self.search::<NonPvNode>(&child, child_ply, depth, -alpha - 1, -alpha, !node.cut);
        }
        if N::PV && (is_first || value > alpha) {
            value = -self.search::<PvNode>(&child, child_ply, depth, -node.beta, -alpha, false);
        }
        self.unmake_move();
        value
    }

    /// A reduced search, and a full-depth one if it beats alpha. Returns the score and the new full depth.
    fn search_late_move<N: NodeType>(
        &mut self,
        node: &Node,
        candidate: &Candidate,
        best: &BestSoFar,
        child: &Position,
        mut depth: i32,
    ) -> (Value, i32) {
        let (child_ply, alpha) = (node.ply + 1, best.alpha);
        let reduction = candidate.reduction + self.reduction_terms(node, candidate, best, child);
        let reduced = (depth - reductions::plies(reduction)).clamp(1, depth + i32::from(N::PV));
        self.frame(node.ply).reduction = depth - reduced;
        let mut value =
            -self.search::<NonPvNode>(child, child_ply, reduced, -alpha - 1, -alpha, true);
        self.frame(node.ply).reduction = 0;
        if value <= alpha || reduced >= depth || self.aborted {
            return (value, depth);
        }
        // The result of the reduced search decides whether the full one goes deeper or less deep.
        let best_value = best.value.max(alpha - params::deeper_floor());
        let deeper_bar = best_value + params::deeper_margin() + params::deeper_slope() * depth;
        depth += i32::from(value > deeper_bar);
        depth -= i32::from(value < best_value + params::shallower_margin());
        if reduced < depth {
            value =
                -self.search::<NonPvNode>(child, child_ply, depth, -alpha - 1, -alpha, !node.cut);
        }
        if !self.aborted {
            self.update_late_move(node, candidate, depth, value > alpha);
        }
        (value, depth)
    }
}
