//! How long a person would take for a move.

use std::time::Duration;

use super::{Dice, Strength};
use crate::chess::{Game, Move};
use crate::engine::Limits;
use crate::engine::time::Budget;

/// Apart from the dice for the move itself.
const SALT: u64 = 0x0074_656d_706f;

/// The usual share of a fair part of the clock; with the scatter the mean is a quarter more.
const SHARE: f64 = 0.6;

/// Scatter of the time for a move: one in six takes twice as long as usual or longer, one in six half as long or less.
const SCATTER: f64 = 0.7;

/// The opening is played faster; from here on it is none.
const OPENING: usize = 16;

/// What shortens the thinking about a move that suggests itself.
const RECAPTURE: f64 = 0.25;
const FEW: f64 = 0.4;

/// From the start of the search to the move, for this move in this game: a share of the time that the limits give it, never
/// more than all of it.
pub fn tempo(limits: &Limits, game: &Game, mv: Move, strength: Strength) -> Duration {
    let ply = game.moves().len();
    let Some(budget) = Budget::new(limits, u32::try_from(ply).unwrap_or(u32::MAX)) else {
        return Duration::ZERO;
    };
    let pos = game.position();
    let mut dice = Dice::new(&[strength.seed, pos.key(), ply as u64, SALT]);
    let recaptures = game
        .moves()
        .last()
        .is_some_and(|last| last.is_capture() && mv.is_capture() && last.to() == mv.to());
    let few = pos.count_legal_moves() <= 3;
    let opening = (ply + 4).min(OPENING + 4) as f64 / (OPENING + 4) as f64;
    let share = SHARE
        * (SCATTER * dice.normal()).exp()
        * opening
        * if recaptures { RECAPTURE } else { 1.0 }
        * if few { FEW } else { 1.0 };
    budget.soft.mul_f64(share).min(budget.hard)
}
