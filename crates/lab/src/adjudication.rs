//! Game adjudication and node limits of self-play.

use super::record::Outcome;
use knightwatch_chess::{Color, Game, Termination};
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
    match game.termination() {
        Some(Termination::Checkmate) => Some(won_by(!game.position().turn())),
        Some(Termination::VariantWin(winner)) => Some(won_by(winner)),
        Some(_) => Some(Outcome::Draw),
        None => (game.repetitions() >= 3).then_some(Outcome::Draw),
    }
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
    use knightwatch_chess::{Position, Variant};

    #[test]
    fn outcome_by_rules_knows_the_ends_of_variants() {
        let atomic = "4k3/3p4/8/8/8/8/8/3QK3 w - - 0 1";
        let cases = [
            (Variant::Atomic, atomic, "d1d7", Some(Outcome::WhiteWins)),
            (Variant::Atomic, atomic, "d1d6", None),
            (
                Variant::Antichess,
                "8/8/8/8/8/1p6/P7/8 w - - 0 1",
                "a2b3",
                Some(Outcome::BlackWins),
            ),
            (
                Variant::Horde,
                "4k3/8/8/8/8/8/1p6/P7 b - - 0 1",
                "b2a1q",
                Some(Outcome::BlackWins),
            ),
            (
                Variant::KingOfTheHill,
                "4k3/8/8/8/8/4K3/8/8 w - - 0 1",
                "e3e4",
                Some(Outcome::WhiteWins),
            ),
            (
                Variant::RacingKings,
                "8/k5K1/8/8/8/8/8/8 w - - 0 1",
                "g7g8",
                None,
            ),
            (
                Variant::RacingKings,
                "8/k5K1/8/8/8/8/8/8 w - - 0 1",
                "g7g8 a7a8",
                Some(Outcome::Draw),
            ),
            (
                Variant::ThreeCheck,
                "4k3/8/8/8/8/8/8/4KR2 w - - 0 1 +2+0",
                "f1f8",
                Some(Outcome::WhiteWins),
            ),
        ];
        for (variant, fen, moves, outcome) in cases {
            let start = Position::from_variant_fen(variant, fen).expect("a good FEN");
            let game = Game::from_moves(start, moves.split(' ')).expect("legal moves");
            assert_eq!(outcome_by_rules(&game), outcome, "{variant} {fen} {moves}");
        }
    }

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
