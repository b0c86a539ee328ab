//! Game adjudication and node limits of self-play.

use super::record::Outcome;
use knightwatch_chess::{Color, Game};
use knightwatch_engine::Limits;

/// Ratio of the hard node limit to the soft one.
const HARD_LIMIT_FACTOR: u64 = 8;

/// Limits with this soft number of nodes, which finish the current iteration.
pub(super) fn node_limits(nodes: u64) -> Limits {
    Limits {
        soft_nodes: Some(nodes),
        nodes: Some(nodes.saturating_mul(HARD_LIMIT_FACTOR)),
        ..Limits::default()
    }
}

/// The result by the rules; threefold repetition ends the game.
pub(super) fn outcome_by_rules(game: &Game) -> Option<Outcome> {
    let position = game.position();
    if position.is_checkmate() {
        return Some(won_by(!position.turn()));
    }
    (game.termination().is_some() || game.repetitions() >= 3).then_some(Outcome::Draw)
}

/// Consecutive plies with a winning score for the same side.
#[derive(Default)]
pub(super) struct WinStreak {
    /// Positive for White, negative for Black.
    plies: i32,
}

impl WinStreak {
    /// Adds a ply with this score for White; `winning` is the threshold in centipawns.
    pub(crate) fn add_score(&mut self, white: i32, winning: i32) {
        let side = i32::from(white >= winning) - i32::from(white <= -winning);
        self.plies = if side == 0 || self.plies.signum() == -side {
            side
        } else {
            self.plies + side
        };
    }

    /// The result, once the streak has `enough` plies.
    pub(crate) fn outcome(&self, enough: u32) -> Option<Outcome> {
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
    fn win_streak_ends_with_a_lower_score() {
        let after = |scores: &[i32]| {
            let mut streak = WinStreak::default();
            for score in scores {
                streak.add_score(*score, 100);
            }
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
