//! Making and unmaking moves, and polling the stop flag and the clock.

use super::Search;
use super::node_type::NodeType;
use crate::board_move::BoardMove;
use knightwatch_chess::{Piece, Position};

impl Search<'_> {
    /// Start of every node.
    pub(super) fn enter_node<N: NodeType>(&mut self, ply: usize) {
        if self.nodes >= self.next_poll_at {
            self.poll();
        }
        if N::PV {
            self.thread_data.pv_lines[ply].clear();
            self.seldepth = self.seldepth.max(ply);
        }
    }

    /// Makes a move on `child`, a copy of the position. The counterpart is [`unmake_move`](Self::unmake_move).
    ///
    /// Returning the copy would copy it again.
    pub(super) fn make_move(&mut self, child: &mut Position, board_move: BoardMove, ply: usize) {
        let BoardMove { mv, role, .. } = board_move;
        let piece = Piece::new(child.turn(), role);
        child.play(mv);
        self.frame(ply).played = Some((piece, mv));
        self.keys.push(child.key());
        self.thread_data.evaluator.push(piece.color, board_move);
        self.nodes += 1;
    }

    /// Unmakes the move of [`make_move`](Self::make_move).
    pub(super) fn unmake_move(&mut self) {
        self.keys.pop();
        self.thread_data.evaluator.pop();
    }

    /// Makes a null move on a copy and calls `search`. Repetitions do not reach across it.
    pub(super) fn with_null_move<T>(
        &mut self,
        pos: &Position,
        ply: usize,
        search: impl FnOnce(&mut Self, &Position) -> T,
    ) -> T {
        let mut child = pos.clone();
        child.play_null();
        self.frame(ply).played = None;
        let null_move_barrier = std::mem::replace(&mut self.null_move_barrier, self.keys.len());
        self.keys.push(child.key());
        self.nodes += 1;
        let found = search(self, &child);
        self.keys.pop();
        self.null_move_barrier = null_move_barrier;
        found
    }

    /// Reports nodes, and checks whether to stop.
    #[cold]
    fn poll(&mut self) {
        let all = self.control.add_nodes(self.nodes - self.flushed_nodes);
        self.flushed_nodes = self.nodes;
        let next = self.control.nodes_to_next_poll(all);
        self.next_poll_at = self.nodes + next;
        if self.thread_id == 0 {
            assert!(
                all < self.control.panic_after_nodes,
                "panic injected by a test"
            );
        }
        // Every thread checks the clock: with more threads than cores the main thread may be asleep when time is
        // up.
        if self.control.is_out_of_time() {
            self.control.stop();
        }
        let spent = next == 0;
        self.aborted =
            spent || self.control.is_stopped() || !self.control.is_wanted(self.thread_id);
    }

    /// Nodes of all threads, as last reported, and of this one.
    pub(super) fn all_nodes(&self) -> u64 {
        self.control.nodes() + self.nodes - self.flushed_nodes
    }

    /// Reports the remaining nodes of this thread.
    pub(super) fn flush_nodes(&mut self) {
        self.control.add_nodes(self.nodes - self.flushed_nodes);
        self.flushed_nodes = self.nodes;
    }
}
