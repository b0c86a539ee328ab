//! Terminal nodes: draws by rule, ends by a rule of the variant, and the maximum ply.

use super::Search;
use crate::value::{DRAW, MAX_PLY, Value, mate_in, mated_in};
use knightwatch_chess::pgn::Outcome;
use knightwatch_chess::{Position, Variant};

/// Halfmove clock at which the fifty-move rule applies.
const FIFTY_MOVES: u32 = 100;
/// With more pieces, kings included, there is always enough material to mate.
const MAX_DEAD_DRAW_PIECES: u32 = 4;
/// No position repeats in fewer plies.
const MIN_REPETITION_PLIES: usize = 4;

impl Search<'_> {
    /// The value of a position that is not searched further.
    pub(super) fn terminal_value(&mut self, pos: &Position, ply: usize) -> Option<Value> {
        if pos.variant() != Variant::Standard
            && let Some(value) = self.variant_terminal_value(pos, ply)
        {
            return Some(value);
        }
        let dead = || pos.occupied().count() <= MAX_DEAD_DRAW_PIECES && pos.insufficient_material();
        if self.is_repetition(pos.halfmove_clock() as usize) || dead() {
            return Some(DRAW);
        }
        let mated = || pos.in_check() && !pos.has_legal_move();
        let may_be_drawn =
            pos.halfmove_clock() >= FIFTY_MOVES && pos.variant() != Variant::Crazyhouse;
        if may_be_drawn && !mated() {
            return Some(DRAW);
        }
        if ply < MAX_PLY - 1 {
            return None;
        }
        Some(if pos.in_check() {
            DRAW
        } else {
            self.thread_data.evaluator.evaluate(pos)
        })
    }

    /// Alpha, or a draw if that is more and the side to move can repeat a position: that is worth at least a draw.
    #[inline]
    pub(super) fn alpha_with_repetition(&self, pos: &Position, alpha: Value) -> Value {
        if alpha < DRAW && self.has_upcoming_repetition(pos) {
            DRAW
        } else {
            alpha
        }
    }

    /// Returns whether the side to move can repeat a position of this search. In antichess it may have to capture
    /// instead; in three-check a move back that gives check leads to another position.
    fn has_upcoming_repetition(&self, pos: &Position) -> bool {
        if matches!(pos.variant(), Variant::Antichess | Variant::ThreeCheck) {
            return false;
        }
        let current = self.keys.len() - 1;
        let reversible = (pos.halfmove_clock() as usize).min(current - self.null_move_barrier);
        if reversible < MIN_REPETITION_PLIES - 1 {
            return false;
        }
        let reached = current - self.root_index;
        let key = |back: usize| self.keys[current - back];
        // The change of the key by the opponent's moves since then: zero if they took them all back, which is rare.
        let mut theirs = key(0) ^ key(1) ^ Position::TURN_KEY;
        (MIN_REPETITION_PLIES - 1..=reversible)
            .step_by(2)
            .take_while(|&back| back < reached)
            .any(|back| {
                theirs ^= key(back - 1) ^ key(back) ^ Position::TURN_KEY;
                theirs == 0 && pos.can_move_back_to(key(back))
            })
    }

    /// The value of a position that has ended, or is drawn, by a rule that standard chess has not: what is captured in
    /// crazyhouse can come back, and closed positions with many pieces are drawn in antichess, atomic chess and horde.
    #[cold]
    #[inline(never)]
    fn variant_terminal_value(&self, pos: &Position, ply: usize) -> Option<Value> {
        variant_value(pos, ply).or_else(|| {
            let is_drawn = match pos.variant() {
                Variant::Crazyhouse => self.is_repetition(usize::MAX),
                Variant::Antichess | Variant::Atomic | Variant::Horde => {
                    pos.insufficient_material()
                }
                _ => false,
            };
            is_drawn.then_some(DRAW)
        })
    }

    /// Returns whether the position occurred in these last plies, once in this search or twice in the game.
    fn is_repetition(&self, plies: usize) -> bool {
        let current = self.keys.len() - 1;
        let reversible = plies.min(current - self.null_move_barrier);
        let mut in_game = 0;
        for back in (MIN_REPETITION_PLIES..=reversible).step_by(2) {
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

/// The value of a position that a rule of the variant has ended.
#[cold]
#[inline(never)]
pub(super) fn variant_value(pos: &Position, ply: usize) -> Option<Value> {
    match pos.variant_outcome() {
        Outcome::Unknown => None,
        Outcome::Draw => Some(DRAW),
        Outcome::Win(color) if color == pos.turn() => Some(mate_in(ply)),
        Outcome::Win(_) => Some(mated_in(ply)),
    }
}
