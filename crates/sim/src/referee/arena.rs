//! Berserk in arena games.

use crate::site::SimTime;
use knightwatch_chess::Color;

use super::Referee;
use super::clock::Timing;
use super::outcome::{ActionOutcome, GameError};

impl Referee {
    /// Goes berserk: half of the time and all increments for an extra point. Sends no state.
    pub(crate) fn berserk(&mut self, color: Color, now: SimTime) -> ActionOutcome {
        let allowed = self.config.arena.is_some_and(|arena| arena.berserkable);
        let in_time = self.is_running() && self.plies() < 2;
        let is_accepted = match &mut self.timing {
            Timing::Clock(clock) => allowed && in_time && clock.berserk(color, now),
            Timing::Days(_) | Timing::Unlimited => false,
        };
        if is_accepted {
            ActionOutcome::accepted(Vec::new())
        } else {
            ActionOutcome::rejected(GameError::CannotBerserk)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::quirks::Castling;
    use crate::referee::{ArenaGameConfig, GameConfig};
    use crate::site::variant::Variant;
    use crate::time_control::TimeControl;
    use knightwatch_chess::Position;

    fn game(limit: u32, increment: u32, berserkable: bool) -> Referee {
        let config = GameConfig {
            variant: Variant::Standard,
            start: Position::startpos(),
            time_control: TimeControl::clock(limit, increment),
            bot_plays: false,
            ai: false,
            takebacks: false,
            no_abort: false,
            no_early_draw: false,
            no_claim_win: false,
            castling: Castling::KingMoves,
            first_move_limit: None,
            arena: Some(ArenaGameConfig { berserkable }),
        };
        Referee::new(config, SimTime(0))
    }

    fn at(seconds: u64) -> SimTime {
        SimTime(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn berserk_costs_half_time_and_increment() {
        // (limit, increment, milliseconds left)
        for (limit, increment, left) in [
            (60, 0, 30_000),
            (180, 2, 90_000),
            (60, 1, 30_000),
            (30, 2, 30_000),
        ] {
            let mut referee = game(limit, increment, true);
            assert!(referee.berserk(Color::White, at(1)).snapshots.is_empty());
            assert!(
                referee.berserk(Color::White, at(1)).result.is_err(),
                "only once"
            );
            for (color, uci) in [
                (Color::White, "e2e4"),
                (Color::Black, "e7e5"),
                (Color::White, "d2d4"),
            ] {
                referee.play(color, uci, false, at(2)).result.unwrap();
            }
            let millis = referee.snapshot(at(2)).millis;
            assert_eq!(millis[0], left, "{limit}+{increment}");
            assert_eq!(
                referee.snapshot(at(2)).increment,
                i64::from(increment) * 1_000
            );
            assert!(
                referee.berserk(Color::Black, at(2)).result.is_err(),
                "too late"
            );
        }
        assert!(
            game(60, 0, false)
                .berserk(Color::White, at(1))
                .result
                .is_err()
        );
    }
}
