//! Iterative deepening: from the root position to the answer.

use super::Search;
use super::root::RootMove;
use crate::chess::Move;
use crate::engine::time::Progress;
use crate::engine::value::{
    DRAW, INFINITE, MATE, MAX_PLY, Value, is_mate, mate_in, mated_in, to_score,
};
use crate::engine::{Score, Thought, params};

impl Search<'_> {
    /// Searches deeper and deeper until a limit is met, and reports every iteration, each line of it.
    /// Returns the answer. The first thread watches the clock; others go on until they are told to stop.
    pub fn iterate(&mut self, report: &mut dyn FnMut(&Thought)) -> Thought {
        let pos = self.game.position().clone();
        if self.root.is_empty() {
            let value = if pos.in_check() && !pos.has_legal_move() {
                mated_in(0)
            } else {
                DRAW
            };
            let nothing = Thought::unconsidered(None, to_score(value));
            report(&nothing);
            return nothing;
        }
        let leads = self.seat == 0;
        let lines = self.limits.lines().min(self.root.len());
        // A limited engine considers more lines than anybody wants to hear of.
        let shown = self.limits.multi_pv.max(1);
        let report = &mut |thought: &Thought| {
            if thought.rank <= shown {
                report(thought);
            }
        };
        let deepest = match self.limits.depth {
            Some(depth) if leads => (depth.max(1) as usize).min(MAX_PLY - 1),
            _ => MAX_PLY - 1,
        };
        let mut progress = Progress::default();
        let mut completed = 0;
        // The best move and its value as they were last told.
        let mut told = None;
        // Every second helper begins one ply deeper, so that they do not all do the same.
        for depth in 1 + self.seat % 2..=deepest {
            self.iteration = depth;
            let best_before = self.root[0].mv;
            self.root.iter_mut().for_each(RootMove::turn_over);
            for rank in 0..lines {
                self.rank = rank;
                self.seldepth = 0;
                self.aspire(&pos, depth as i32, report);
                self.root[..=rank].sort_by_key(|root| -root.value);
                if self.aborted {
                    break;
                }
            }
            if self.aborted {
                break;
            }
            completed = depth;
            for rank in 0..lines {
                let thought = self.thought(rank, depth);
                report(&thought);
            }
            let best = &self.root[0];
            let fallen = told.map_or(0, |(_, before): (Move, Value)| before - best.known);
            told = Some((best.mv, best.known));
            if leads && self.is_enough(depth, best_before, fallen, &mut progress) {
                break;
            }
        }
        self.leave();
        let best = &self.root[0];
        if told.is_some_and(|told| told != (best.mv, best.known)) {
            // The iteration that was broken off has found something.
            report(&self.thought(0, completed));
        }
        let chosen = self.chosen(lines);
        let mut answer = self.thought(chosen, completed);
        answer.rank = 1;
        let expected = answer.mv.and_then(|mv| self.expected_reply(mv));
        answer.ponder = answer.ponder.or(expected);
        answer
    }

    /// Which move of the root to play, of which so many were considered: the first, unless the strength is limited.
    fn chosen(&self, lines: usize) -> usize {
        let Some(strength) = self.limits.strength else {
            return 0;
        };
        let score = |(rank, root): (usize, &RootMove)| -> (Move, Option<Score>) {
            let is_known = rank < lines && root.known > -INFINITE;
            (root.mv, is_known.then(|| to_score(root.known)))
        };
        let moves: Vec<_> = self.root.iter().enumerate().map(score).collect();
        strength.pick(self.game, &moves)
    }

    /// Whether the iterations so far will do.
    fn is_enough(
        &self,
        depth: usize,
        best_before: Move,
        fallen: Value,
        progress: &mut Progress,
    ) -> bool {
        let best = &self.root[0];
        progress.stable_for = if best.mv == best_before {
            progress.stable_for + 1
        } else {
            0
        };
        progress.best_share = best.nodes as f64 / self.nodes.max(1) as f64;
        progress.fallen = if is_mate(best.value) { 0 } else { fallen };
        let mate_wanted = self.limits.mate.is_some_and(|moves| {
            let plies = 2 * (moves as usize).clamp(1, MAX_PLY);
            is_mate(best.value) && best.value >= mate_in(plies)
        });
        let forced = self.root.len() == 1 && depth >= params::FORCED_DEPTH;
        let decided = is_mate(best.value) && 2 * (MATE - best.value.abs()) as usize <= depth;
        let soft_end = self
            .limits
            .soft_end()
            .is_some_and(|nodes| self.nodes_of_all() >= nodes);
        progress.settled = forced || decided;
        mate_wanted
            || soft_end
            || progress.settled && self.limits.strength.is_some()
            || self.control.is_time_to_answer(progress)
    }

    pub(super) fn thought(&self, rank: usize, depth: usize) -> Thought {
        let root = &self.root[rank];
        // A line that was not reached in this iteration stands with its last value.
        let value = Some(root.known).filter(|&known| known > -INFINITE);
        Thought {
            mv: Some(root.mv),
            ponder: root.line.get(1).copied(),
            score: to_score(value.unwrap_or(DRAW)),
            depth: depth as u32,
            seldepth: root.seldepth as u32 + 1,
            nodes: self.nodes_of_all(),
            elapsed: self.control.elapsed(),
            hashfull: self.table.hashfull(),
            ordering: self.cutoffs.ordering(),
            pv: root.line.clone(),
            rank: rank + 1,
            bound: root.bound,
        }
    }

    /// The table's move after this one, to ponder on when the line has none.
    fn expected_reply(&self, mv: Move) -> Option<Move> {
        let after = self.game.position().after(mv);
        self.table
            .probe(after.key(), 0)
            .and_then(|hit| hit.mv)
            .filter(|&mv| after.is_legal(mv))
    }
}
