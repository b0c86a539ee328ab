//! When a game of the engine against itself is over, and how long its moves may take.

use super::record::Outcome;
use crate::chess::{Color, Game};
use crate::engine::Limits;

/// A search that runs away ends after so many times the soft limit.
const HARD_LIMIT: u64 = 8;

/// A search of so many nodes, which then ends the iteration that is on.
pub(super) fn limits(nodes: u64) -> Limits {
    Limits {
        soft_nodes: Some(nodes),
        nodes: Some(nodes.saturating_mul(HARD_LIMIT)),
        ..Limits::default()
    }
}

/// The result that the rules give; the third repetition counts as the end.
pub(super) fn by_rule(game: &Game) -> Option<Outcome> {
    let position = game.position();
    if position.is_checkmate() {
        return Some(won_by(!position.turn()));
    }
    (game.termination().is_some() || game.repetitions() >= 3).then_some(Outcome::Draw)
}

/// For how many plies in a row the scores have said that one side is winning.
#[derive(Default)]
pub(super) struct Streak {
    /// Of White, negative of Black.
    plies: i32,
}

impl Streak {
    /// The next ply's score, for White, says it from so many centipawns on.
    pub fn see(&mut self, white: i32, winning: i32) {
        let side = i32::from(white >= winning) - i32::from(white <= -winning);
        self.plies = if side == 0 || self.plies.signum() == -side {
            side
        } else {
            self.plies + side
        };
    }

    /// Who has won, if so many plies are enough.
    pub fn outcome(&self, enough: u32) -> Option<Outcome> {
        let winner = if self.plies > 0 {
            Color::White
        } else {
            Color::Black
        };
        (self.plies.unsigned_abs() >= enough).then(|| won_by(winner))
    }
}

fn won_by(winner: Color) -> Outcome {
    if winner.is_white() {
        Outcome::WhiteWins
    } else {
        Outcome::BlackWins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streak_ends_with_a_score_that_says_otherwise() {
        let after = |scores: &[i32]| {
            let mut streak = Streak::default();
            scores.iter().for_each(|score| streak.see(*score, 100));
            streak.outcome(3)
        };
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[100, 500]), None);
        assert_eq!(after(&[100, 500, 100]), Some(Outcome::WhiteWins));
        assert_eq!(after(&[-100, -100, -900, -100]), Some(Outcome::BlackWins));
        assert_eq!(after(&[100, 100, 99, 100]), None);
        assert_eq!(after(&[100, 100, -100, -100]), None);
    }
}
