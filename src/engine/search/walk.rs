//! Down and up the tree, and a look at stop flag and clock from time to time.

use super::Search;
use super::node_type::NodeType;
use crate::chess::{Move, Position};

impl Search<'_> {
    /// What every node begins with.
    pub(super) fn enter<N: NodeType>(&mut self, ply: usize) {
        if self.nodes >= self.look_at {
            self.look();
        }
        if N::PV {
            self.lines[ply].clear();
            self.seldepth = self.seldepth.max(ply);
        }
    }

    /// Plays a move on a copy. The counterpart is [`ascend`](Self::ascend).
    pub(super) fn descend(&mut self, pos: &Position, mv: Move, ply: usize) -> Position {
        self.table.prefetch(pos.likely_key_after(mv));
        let piece = pos.piece_at(mv.from()).expect("a legal move has a piece");
        let child = pos.after(mv);
        self.frame(ply).played = Some((piece, mv));
        self.keys.push(child.key());
        self.memory.evaluator.push(pos, mv);
        self.nodes += 1;
        child
    }

    /// Leaves the position that [`descend`](Self::descend) led to.
    pub(super) fn ascend(&mut self) {
        self.keys.pop();
        self.memory.evaluator.pop();
    }

    /// Passes, on a copy, and searches what follows. No repetition reaches across.
    pub(super) fn pass<T>(
        &mut self,
        pos: &Position,
        ply: usize,
        search: impl FnOnce(&mut Self, &Position) -> T,
    ) -> T {
        let mut child = pos.clone();
        child.play_null();
        self.table.prefetch(child.key());
        self.frame(ply).played = None;
        let barrier = std::mem::replace(&mut self.barrier, self.keys.len());
        self.keys.push(child.key());
        self.nodes += 1;
        let found = search(self, &child);
        self.keys.pop();
        self.barrier = barrier;
        found
    }

    /// Tells how many nodes were visited and learns whether to go on.
    #[cold]
    fn look(&mut self) {
        let all = self.control.count(self.nodes - self.told);
        self.told = self.nodes;
        let next = self.control.next_look(all);
        self.look_at = self.nodes + next;
        if self.seat == 0 {
            assert!(all < self.control.sabotage, "on purpose, as a rehearsal");
        }
        // Every thread looks: with more of them than cores the first one may be asleep when time is up.
        if self.control.is_out_of_time() {
            self.control.stop();
        }
        let spent = next == 0;
        self.aborted = spent || self.control.is_stopped() || !self.control.has_seat(self.seat);
    }

    /// Nodes of all threads, as far as they have told, and of this one.
    pub(super) fn nodes_of_all(&self) -> u64 {
        self.control.nodes() + self.nodes - self.told
    }

    /// Tells of the last nodes.
    pub(super) fn leave(&mut self) {
        self.control.count(self.nodes - self.told);
        self.told = self.nodes;
    }
}
