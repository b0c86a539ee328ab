//! Positions that are not searched: draws by rule, and the end of lines that are too long.

use super::Search;
use crate::chess::Position;
use crate::engine::value::{DRAW, MAX_PLY, Value};

/// Plies without progress that make a draw.
const FIFTY_MOVES: u32 = 100;
/// With more pieces than this, kings included, there always is enough to mate.
const FEW_PIECES: u32 = 4;
/// No position comes again in fewer plies.
const SHORTEST_CYCLE: usize = 4;

impl Search<'_> {
    /// The value of a position in which the game, or the line, is over.
    pub(super) fn settled(&mut self, pos: &Position, ply: usize) -> Option<Value> {
        let dead = || pos.occupied().count() <= FEW_PIECES && pos.insufficient_material();
        if self.is_repetition(pos) || dead() {
            return Some(DRAW);
        }
        let mated = || pos.in_check() && !pos.has_legal_move();
        if pos.halfmove_clock() >= FIFTY_MOVES && !mated() {
            return Some(DRAW);
        }
        if ply < MAX_PLY - 1 {
            return None;
        }
        Some(if pos.in_check() {
            DRAW
        } else {
            self.memory.evaluator.evaluate(pos)
        })
    }

    /// The side to move has a move to a position that was there before in this search.
    pub(super) fn can_repeat(&self, pos: &Position) -> bool {
        let current = self.keys.len() - 1;
        let reversible = (pos.halfmove_clock() as usize).min(current - self.barrier);
        let reached = current - self.root_index;
        (SHORTEST_CYCLE - 1..=reversible)
            .step_by(2)
            .take_while(|&back| back < reached)
            .any(|back| pos.can_move_back_to(self.keys[current - back]))
    }

    /// Once before in this search, or twice before in the game.
    fn is_repetition(&self, pos: &Position) -> bool {
        let current = self.keys.len() - 1;
        let reversible = (pos.halfmove_clock() as usize).min(current - self.barrier);
        let mut in_game = 0;
        for back in (SHORTEST_CYCLE..=reversible).step_by(2) {
            if self.keys[current - back] == self.keys[current] {
                in_game += 1;
                if current - back > self.root_index || in_game == 2 {
                    return true;
                }
            }
        }
        false
    }
}
