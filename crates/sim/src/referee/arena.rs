//! Rules specific to arena games: first-move timeout and berserk.

use std::time::Duration;

use crate::site::SimTime;
use knightwatch_chess::Color;

use super::Referee;
use super::clock::Timing;
use super::outcome::{ActionOutcome, Expiration, GameError, Status};

/// Delay between the first-move timeout and its detection.
const FIRST_MOVE_CHECK_DELAY: Duration = Duration::from_secs(1);

impl Referee {
    /// The first-move limit; `None` outside of arenas and once both have moved.
    pub(super) fn expiration(&self, now: SimTime) -> Option<Expiration> {
        let arena = self.config.arena.filter(|arena| arena.shows_expiration)?;
        (self.is_running() && self.plies() < 2).then(|| Expiration {
            idle: now.since(self.last_move_at),
            allowed: arena.first_move_timeout,
        })
    }

    /// Ends the game if the first move is overdue.
    pub(crate) fn check_first_move(&mut self, now: SimTime) -> ActionOutcome {
        let mut snapshots = Vec::new();
        let is_overdue = self.config.arena.is_some_and(|arena| {
            now.since(self.last_move_at) >= arena.first_move_timeout + FIRST_MOVE_CHECK_DELAY
        });
        if is_overdue && self.is_running() && self.plies() < 2 {
            let winner = !self.turn();
            self.finish(Status::NoStart, Some(winner), now, &mut snapshots);
        }
        ActionOutcome::accepted(snapshots)
    }

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
            arena: Some(ArenaGameConfig {
                berserkable,
                first_move_timeout: Duration::from_secs(16),
                shows_expiration: true,
            }),
        };
        Referee::new(config, SimTime(0))
    }

    fn at(seconds: u64) -> SimTime {
        SimTime(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn first_move_timeout_applies_to_each_side() {
        let mut referee = game(60, 0, true);
        assert!(referee.check_first_move(at(16)).snapshots.is_empty());
        assert_eq!(
            referee.play(Color::White, "e2e4", false, at(16)).result,
            Ok(())
        );
        assert!(referee.check_first_move(at(32)).snapshots.is_empty());
        let end = referee.check_first_move(at(33)).snapshots.remove(0);
        assert_eq!(
            (end.status, end.winner),
            (Status::NoStart, Some(Color::White))
        );
        assert_eq!(end.expiration, None);
        let mut referee = game(60, 0, true);
        for (color, uci) in [(Color::White, "e2e4"), (Color::Black, "e7e5")] {
            assert_eq!(referee.play(color, uci, false, at(10)).result, Ok(()));
        }
        assert!(referee.check_first_move(at(60)).snapshots.is_empty());
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
