//! Human-like think time.

use std::time::Duration;

use super::{Rng, Strength};
use crate::Limits;
use crate::time::{TimeBudget, game_ply};
use knightwatch_chess::{Game, Move};

/// Makes the random numbers independent of those for the choice of the move.
const SALT: u64 = 0x0074_656d_706f;

/// Mean share of the soft limit, before the other factors; the scatter raises the mean by a quarter.
const MEAN_SHARE: f64 = 0.55;

/// Standard deviation of the logarithm: one in six moves takes twice as long or longer, one in six half as long or
/// less.
const SCATTER: f64 = 0.7;

/// The first plies are played faster.
const OPENING_PLIES: usize = 16;

/// Factors for obvious moves.
const RECAPTURE_FACTOR: f64 = 0.25;
const FEW_MOVES_FACTOR: f64 = 0.4;

/// The time from the start of the search to playing `mv`: at most the hard limit.
pub fn think_time(limits: &Limits, game: &Game, mv: Move, strength: Strength) -> Duration {
    let ply = game.moves().len();
    let Some(budget) = TimeBudget::new(limits, game_ply(game)) else {
        return Duration::ZERO;
    };
    let pos = game.position();
    let mut rng = Rng::new(&[strength.seed, pos.key(), ply as u64, SALT]);
    let recaptures = game
        .moves()
        .last()
        .is_some_and(|last| last.is_capture() && mv.is_capture() && last.to() == mv.to());
    let few = pos.count_legal_moves() <= 3;
    let opening = (ply + 4).min(OPENING_PLIES + 4) as f64 / (OPENING_PLIES + 4) as f64;
    let share = MEAN_SHARE
        * (SCATTER * rng.normal()).exp()
        * opening
        * if recaptures { RECAPTURE_FACTOR } else { 1.0 }
        * if few { FEW_MOVES_FACTOR } else { 1.0 };
    budget.soft.mul_f64(share).min(budget.hard)
}
