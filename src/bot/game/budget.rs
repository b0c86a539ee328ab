//! Time management: search limits from the clock and the measured lag. Pure.

use std::time::Duration;

use super::lag::Lag;
use crate::engine::{Clock, Limits};

/// Time for our first move. The clock does not run yet, but the opponent is waiting and may abort.
const FIRST_MOVE_TIME: Duration = Duration::from_secs(1);

/// Time for a move in an unlimited game.
const UNLIMITED_MOVE_TIME: Duration = Duration::from_secs(5);

/// Longest time for a move in an unlimited game, if a rule asks for more.
const MAX_UNLIMITED_MOVE_TIME: Duration = Duration::from_secs(10);

/// Kind of time control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Chess clock.
    Clock {
        /// Increment per move.
        increment: Duration,
    },
    /// Days per move.
    Correspondence,
    /// No time limit.
    Unlimited,
}

/// Inputs of time management at the start of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'a> {
    /// Kind of time control.
    pub pace: Pace,
    /// Our clock in the state that made it our turn.
    pub remaining: Duration,
    /// Time since that state arrived.
    pub elapsed: Duration,
    /// Plies played.
    pub ply: usize,
    /// The game's measured lag.
    pub lag: &'a Lag,
    /// Configured safety margin.
    pub safety_margin: Duration,
    /// Configured limit for a move in a game without a clock.
    pub max_move_time: Duration,
    /// Limit that a rule sets for any move of this game.
    pub rule_max_time: Option<Duration>,
    /// Running games, including this one.
    pub games: usize,
    /// Configured number of concurrent games; with more, each gets less time.
    pub concurrency: usize,
    /// Whether we search on the opponent's time as well.
    pub ponders: bool,
}

impl Budget<'_> {
    /// Computes the search limits.
    pub(crate) fn limits(&self) -> Limits {
        let remaining = self.remaining.saturating_sub(self.elapsed);
        let within = |max: Duration, share: u32| Limits {
            max_time: Some(
                self.share_among_games((remaining / share).min(max))
                    .max(MILLISECOND),
            ),
            ..Limits::default()
        };
        match self.pace {
            Pace::Unlimited => {
                let usual = UNLIMITED_MOVE_TIME.min(self.max_move_time);
                within(
                    self.rule_max_time
                        .map_or(usual, |max| max.min(MAX_UNLIMITED_MOVE_TIME)),
                    1,
                )
            }
            Pace::Correspondence => within(self.max_move_time, 50),
            Pace::Clock { .. } if self.ply < 2 => within(FIRST_MOVE_TIME, 40),
            Pace::Clock { increment } => Limits {
                clock: Some(Clock {
                    remaining: self.share_among_games(remaining).max(MILLISECOND),
                    increment: self.share_among_games(increment),
                    moves_to_go: None,
                    overhead: self.lag.overhead(remaining, self.safety_margin),
                    lag: self.lag.mean(),
                    ponders: self.ponders,
                }),
                ..Limits::default()
            },
        }
    }

    /// Reduces a time if there are more games than configured.
    fn share_among_games(&self, time: Duration) -> Duration {
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
            elapsed: ms(0),
            ply: 20,
            lag,
            safety_margin: ms(50),
            max_move_time: ms(20_000),
            rule_max_time: None,
            games: 1,
            concurrency: 4,
            ponders: false,
        }
    }

    #[test]
    fn elapsed_time_is_subtracted_from_clock() {
        let mut lag = Lag::default();
        lag.add(ms(30));
        let limits = Budget {
            elapsed: ms(700),
            ..budget(&lag)
        }
        .limits();
        let clock = limits.clock.unwrap();
        assert_eq!(clock.remaining, ms(179_300));
        assert_eq!(clock.increment, ms(2_000));
        assert_eq!(clock.overhead, ms(80));
        assert!(!clock.ponders);
        assert_eq!(limits.max_time, None);
        let ponders = true;
        let limits = Budget {
            ponders,
            ..budget(&lag)
        }
        .limits();
        assert!(limits.clock.unwrap().ponders);
    }

    #[test]
    fn first_move_is_short_although_clock_stands() {
        let lag = Lag::default();
        for ply in [0, 1] {
            let limits = Budget {
                ply,
                ..budget(&lag)
            }
            .limits();
            assert_eq!(
                (limits.max_time, limits.clock),
                (Some(FIRST_MOVE_TIME), None)
            );
        }
        let bullet = Budget {
            ply: 0,
            remaining: ms(15_000),
            ..budget(&lag)
        };
        assert_eq!(bullet.limits().max_time, Some(ms(375)));
    }

    #[test]
    fn games_without_clock_have_fixed_time() {
        let lag = Lag::default();
        let unlimited = Budget {
            pace: Pace::Unlimited,
            // What Lichess sends for a game without a clock.
            remaining: ms(2_147_483_647),
            ply: 0,
            ..budget(&lag)
        };
        assert_eq!(unlimited.limits().max_time, Some(UNLIMITED_MOVE_TIME));
        for (max, time) in [(1_000, 1_000), (8_000, 8_000), (60_000, 10_000)] {
            let budget = Budget {
                rule_max_time: Some(ms(max)),
                ..unlimited
            };
            assert_eq!(budget.limits().max_time, Some(ms(time)));
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
    fn expired_clock_still_gets_time_for_move() {
        let lag = Lag::default();
        for ply in [0, 40] {
            let limits = Budget {
                ply,
                remaining: ms(40),
                elapsed: ms(90),
                ..budget(&lag)
            }
            .limits();
            let time = limits.max_time.or(limits.clock.map(|c| c.remaining));
            assert_eq!(time, Some(ms(1)));
        }
    }

    #[test]
    fn surplus_games_share_time() {
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
