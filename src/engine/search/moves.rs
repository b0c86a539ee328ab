//! The moves of a node, in order: the first with the whole window, the others to see that they are not better.

use super::Search;
use super::extensions::Extension;
use super::learning::Tried;
use super::move_pruning::{Verdict, verdict};
use super::node::Node;
use super::node_type::{NodeType, Open, Zero};
use super::reductions;
use crate::chess::{Move, Piece, Position};
use crate::engine::history::Place;
use crate::engine::ordering::{Knowledge, Picker};
use crate::engine::value::{DRAW, INFINITE, MATE_FOUND, Value, mated_in};
use crate::engine::{Bound, params, see};

/// A move whose turn it is.
pub(super) struct Candidate {
    pub mv: Move,
    pub piece: Piece,
    /// The first one has 1.
    pub count: usize,
    /// How well it has done.
    pub history: i32,
    /// By how much to search it less deep for coming late, in 1024ths of a ply.
    pub reduction: i32,
    /// It is quiet and failed high in a sibling.
    pub is_killer: bool,
}

/// What the moves so far have brought.
pub(super) struct Best {
    pub value: Value,
    /// The move that raised alpha last.
    pub mv: Option<Move>,
    pub alpha: Value,
    pub bound: Bound,
}

/// Nodes in which a move has failed high: the earlier it was tried, the better the moves are ordered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cutoffs {
    pub all: u64,
    /// Those in which it was the first one.
    pub by_first: u64,
}

impl Cutoffs {
    /// The share of the first moves, in permille; `None` before there is any.
    pub fn ordering(self) -> Option<u32> {
        let permille = (1_000 * self.by_first).checked_div(self.all)?;
        Some(permille as u32)
    }
}

impl Best {
    /// Before any move.
    pub(super) fn nothing(alpha: Value) -> Best {
        Best {
            value: -INFINITE,
            mv: None,
            alpha,
            bound: Bound::Upper,
        }
    }
}

impl Search<'_> {
    /// Tries the moves in order.
    pub(super) fn search_moves<N: NodeType>(&mut self, node: &Node) -> Value {
        let &Node { pos, ply, beta, .. } = node;
        let killer = self.frame(ply).killer;
        let mut picker = Picker::all(node.table_move, &self.moves);
        let mut tried = Tried::NONE;
        let mut best = Best::nothing(node.alpha);
        let mut count = 0;

        while let Some(mv) = self.next_move(&mut picker, pos, &node.place, killer) {
            if self.is_left_out::<N>(node, mv) {
                continue;
            }
            count += 1;
            let candidate = self.candidate(node, mv, count, killer);
            let better_than_mated = best.value > -MATE_FOUND;
            if !N::ROOT && better_than_mated && node.has_pieces {
                match verdict(node, &candidate, best.alpha) {
                    Verdict::Search => {}
                    Verdict::Skip => continue,
                    Verdict::SkipAllQuiets => {
                        picker.skip_quiets();
                        continue;
                    }
                }
            }
            let extension = match self.extension::<N>(node, mv) {
                Extension::By(plies) => plies,
                Extension::Cutoff(value) => return value,
            };

            let nodes_before = self.nodes;
            let value = self.search_move::<N>(node, &candidate, &best, extension);
            if self.aborted {
                return DRAW;
            }
            if N::ROOT {
                let nodes = self.nodes - nodes_before;
                self.note_root_move(mv, value, (best.alpha, beta), count, nodes);
            }
            best.value = best.value.max(value);
            if value <= best.alpha {
                tried.push(mv);
                continue;
            }
            best.mv = Some(mv);
            if N::PV {
                self.extend_line(ply, mv);
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
        picker.close(&mut self.moves);

        if count == 0 {
            return match node.excluded {
                Some(_) => node.alpha,
                None if node.in_check => mated_in(ply),
                None => DRAW,
            };
        }
        self.learn::<N>(node, &best, &tried);
        best.value
    }

    /// The picker's next move.
    pub(super) fn next_move(
        &mut self,
        picker: &mut Picker,
        pos: &Position,
        place: &Place,
        killer: Option<Move>,
    ) -> Option<Move> {
        let known = Knowledge {
            history: &self.memory.history,
            place,
            killer,
        };
        picker.next(pos, &mut self.moves, &known)
    }

    /// The move is excluded here, or not asked for at the root.
    fn is_left_out<N: NodeType>(&self, node: &Node, mv: Move) -> bool {
        let wanted = || self.root[self.rank..].iter().any(|root| root.mv == mv);
        Some(mv) == node.excluded || N::ROOT && !wanted()
    }

    /// Inlined it saves one instruction of a hundred in the whole search.
    #[inline(always)]
    fn candidate(&self, node: &Node, mv: Move, count: usize, killer: Option<Move>) -> Candidate {
        let pos = node.pos;
        let piece = pos.piece_at(mv.from()).expect("a legal move has a piece");
        let history = &self.memory.history;
        Candidate {
            mv,
            piece,
            count,
            history: if mv.is_noisy() {
                history.noisy(piece, mv, see::captured_role(pos, mv))
            } else {
                history.quiets(piece.color, &node.place).score(piece, mv)
            },
            reduction: reductions::late_move_reduction(node.depth, count, mv.is_noisy()),
            is_killer: Some(mv) == killer,
        }
    }

    /// Plays the move and finds its value: of a late move less deep and only whether it beats alpha, and more only if
    /// it does.
    fn search_move<N: NodeType>(
        &mut self,
        node: &Node,
        candidate: &Candidate,
        best: &Best,
        extension: i32,
    ) -> Value {
        let (below, alpha, is_first) = (node.ply + 1, best.alpha, candidate.count == 1);
        let child = self.descend(node.pos, candidate.mv, node.ply);
        let mut depth = node.depth - 1 + extension;
        let mut value = -INFINITE;
        if reductions::is_late::<N>(node, candidate) {
            (value, depth) = self.search_late_move::<N>(node, candidate, best, &child, depth);
        } else if !N::PV || !is_first {
            value = -self.search::<Zero>(&child, below, depth, -alpha - 1, -alpha, !node.cut);
        }
        if N::PV && (is_first || value > alpha) {
            value = -self.search::<Open>(&child, below, depth, -node.beta, -alpha, false);
        }
        self.ascend();
        value
    }

    /// A reduced search and, if it beats alpha, one in full. Returns the value and the depth that is in full now.
    fn search_late_move<N: NodeType>(
        &mut self,
        node: &Node,
        candidate: &Candidate,
        best: &Best,
        child: &Position,
        mut depth: i32,
    ) -> (Value, i32) {
        let (below, alpha) = (node.ply + 1, best.alpha);
        let reduction = candidate.reduction + self.reduction_terms(node, candidate, child);
        let reduced = (depth - reductions::plies(reduction)).clamp(1, depth + i32::from(N::PV));
        self.frame(node.ply).reduction = depth - reduced;
        let mut value = -self.search::<Zero>(child, below, reduced, -alpha - 1, -alpha, true);
        self.frame(node.ply).reduction = 0;
        if value <= alpha || reduced >= depth {
            return (value, depth);
        }
        // The reduced search says where the full one should look: deeper or not quite as deep.
        let deeper_bar = best.value + params::deeper_margin() + params::deeper_slope() * depth;
        depth += i32::from(value > deeper_bar);
        depth -= i32::from(value < best.value + params::shallower_margin());
        if reduced < depth {
            value = -self.search::<Zero>(child, below, depth, -alpha - 1, -alpha, !node.cut);
        }
        self.learn_late_move(node, candidate, depth, value > alpha);
        (value, depth)
    }
}
