//! Their clock and our measured lag -> [`engine::Limits`](crate::engine::Limits). Pure.

use std::time::Duration;

use super::lag::Lag;
use crate::engine::{Clock, Limits};

/// The clock does not run for the first ply of either side, but the opponent is waiting and may abort.
const FIRST_MOVE: Duration = Duration::from_secs(1);

/// Time for a move in a game without a clock: as long as a person likes to wait.
const UNLIMITED_MOVE: Duration = Duration::from_secs(5);

/// And when a rule has it think longer.
const UNLIMITED_MOST: Duration = Duration::from_secs(10);

/// How a game measures time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A chess clock with this increment.
    Clock {
        /// Added after every move.
        increment: Duration,
    },
    /// Days for each move.
    Correspondence,
    /// No time limit.
    Unlimited,
}

/// What we know about the time when we start to think.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// How the game measures time.
    pub pace: Pace,
    /// Our clock in the state that made it our turn.
    pub remaining: Duration,
    /// Since that state arrived.
    pub since: Duration,
    /// Moves made so far, in plies.
    pub ply: usize,
    /// The game's measured lag.
    pub lag: &'a Lag,
    /// The operator's safety margin.
    pub safety: Duration,
    /// The most that he allows for a move in a game without a clock.
    pub longest: Duration,
    /// The most that a rule of his allows for any move of this game.
    pub at_most: Option<Duration>,
    /// Games on at this moment, this one included.
    pub games: usize,
    /// Games that the operator wants at once: with more, each thinks less.
    pub concurrency: usize,
}

impl Budget<'_> {
    /// When the engine has to answer.
    pub fn limits(&self) -> Limits {
        let remaining = self.remaining.saturating_sub(self.since);
        let within = |most: Duration, share: u32| Limits {
            max_time: Some(self.crowded((remaining / share).min(most)).max(MILLISECOND)),
            ..Limits::default()
        };
        match self.pace {
            Pace::Unlimited => {
                let usual = UNLIMITED_MOVE.min(self.longest);
                within(
                    self.at_most.map_or(usual, |most| most.min(UNLIMITED_MOST)),
                    1,
                )
            }
            Pace::Correspondence => within(self.longest, 50),
            Pace::Clock { .. } if self.ply < 2 => within(FIRST_MOVE, 40),
            Pace::Clock { increment } => Limits {
                clock: Some(Clock {
                    remaining: self.crowded(remaining).max(MILLISECOND),
                    increment: self.crowded(increment),
                    moves_to_go: None,
                    overhead: self.lag.overhead(remaining, self.safety),
                    lag: self.lag.mean(),
                }),
                ..Limits::default()
            },
        }
    }

    /// A game beyond the operator's number is played all the same, but all of them think less.
    fn crowded(&self, time: Duration) -> Duration {
        if self.games <= self.concurrency.max(1) {
            return time;
        }
        time.mul_f64(self.concurrency.max(1) as f64 / self.games as f64)
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn budget(lag: &Lag) -> Budget<'_> {
        Budget {
            pace: Pace::Clock {
                increment: ms(2_000),
            },
            remaining: ms(180_000),
            since: ms(0),
            ply: 20,
            lag,
            safety: ms(50),
            longest: ms(20_000),
            at_most: None,
            games: 1,
            concurrency: 4,
        }
    }

    #[test]
    fn thinks_on_what_is_left_of_this_states_clock() {
        let mut lag = Lag::default();
        lag.add(ms(30));
        let limits = Budget {
            since: ms(700),
            ..budget(&lag)
        }
        .limits();
        let clock = limits.clock.unwrap();
        assert_eq!(clock.remaining, ms(179_300));
        assert_eq!(clock.increment, ms(2_000));
        assert_eq!(clock.overhead, ms(80));
        assert_eq!(limits.max_time, None);
    }

    #[test]
    fn the_first_move_is_modest_though_the_clock_stands() {
        let lag = Lag::default();
        for ply in [0, 1] {
            let limits = Budget {
                ply,
                ..budget(&lag)
            }
            .limits();
            assert_eq!((limits.max_time, limits.clock), (Some(FIRST_MOVE), None));
        }
        let bullet = Budget {
            ply: 0,
            remaining: ms(15_000),
            ..budget(&lag)
        };
        assert_eq!(bullet.limits().max_time, Some(ms(375)));
    }

    #[test]
    fn games_without_a_clock_have_a_fixed_time() {
        let lag = Lag::default();
        let unlimited = Budget {
            pace: Pace::Unlimited,
            // What Lichess sends where there is no clock.
            remaining: ms(2_147_483_647),
            ply: 0,
            ..budget(&lag)
        };
        assert_eq!(unlimited.limits().max_time, Some(UNLIMITED_MOVE));
        for (most, time) in [(1_000, 1_000), (8_000, 8_000), (60_000, 10_000)] {
            let asked = Budget {
                at_most: Some(ms(most)),
                ..unlimited
            };
            assert_eq!(asked.limits().max_time, Some(ms(time)));
        }
        let days = Budget {
            pace: Pace::Correspondence,
            remaining: Duration::from_secs(86_400),
            ..budget(&lag)
        };
        assert_eq!(days.limits().max_time, Some(ms(20_000)));
        let last_minute = Budget {
            remaining: ms(60_000),
            ..days
        };
        assert_eq!(last_minute.limits().max_time, Some(ms(1_200)));
    }

    #[test]
    fn a_clock_that_has_run_out_still_gets_a_move() {
        let lag = Lag::default();
        for ply in [0, 40] {
            let limits = Budget {
                ply,
                remaining: ms(40),
                since: ms(90),
                ..budget(&lag)
            }
            .limits();
            let time = limits.max_time.or(limits.clock.map(|c| c.remaining));
            assert_eq!(time, Some(ms(1)));
        }
    }

    #[test]
    fn more_games_than_wanted_think_less() {
        let lag = Lag::default();
        let limits = Budget {
            games: 8,
            ..budget(&lag)
        }
        .limits();
        assert_eq!(limits.clock.unwrap().remaining, ms(90_000));
        let limits = Budget {
            games: 4,
            ..budget(&lag)
        }
        .limits();
        assert_eq!(limits.clock.unwrap().remaining, ms(180_000));
    }
}
