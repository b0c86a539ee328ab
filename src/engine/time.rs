//! How long to think: a soft bound to aim at and a hard bound never to pass. Pure: durations in, durations out.

use std::time::Duration;

use super::{Clock, Limits, params};

/// Longer times on a clock make no difference; keeps the arithmetic from overflowing.
const FOREVER: Duration = Duration::from_secs(1_000_000_000);

/// The time for one move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// No new iteration after this much, give or take [`Budget::stretched`].
    pub soft: Duration,
    /// Stop in mid-iteration.
    pub hard: Duration,
    /// Take all of the hard bound, whatever the search says.
    pub exact: bool,
}

/// How the search is going, which stretches or shrinks the soft bound.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Iterations that the best move has been the best.
    pub stable_for: u32,
    /// Share of the nodes that went into the best move, 0 to 1.
    pub best_share: f64,
    /// By how much the score has fallen since the last iteration, in centipawns.
    pub fallen: i32,
    /// Nothing is going to change: there is one legal move, or a mate that is certain.
    pub settled: bool,
}

impl Budget {
    /// `None` when nothing is said about time. `ply` counts from the start of the game.
    pub fn new(limits: &Limits, ply: u32) -> Option<Budget> {
        let within = |time: Duration, exact: bool| Budget {
            soft: time,
            hard: time,
            exact,
        };
        let budget = match (limits.movetime, &limits.clock) {
            (Some(time), _) => within(time, true),
            (None, Some(clock)) => Budget::from_clock(clock, ply),
            (None, None) => return limits.at_most.map(|time| within(time, false)),
        };
        let most = limits.at_most.unwrap_or(Duration::MAX);
        Some(Budget {
            soft: budget.soft.min(most),
            hard: budget.hard.min(most),
            ..budget
        })
    }

    /// The rest of the game is to be played on the clock and its increments, less what every move loses on its way.
    /// No move takes more than a part of what is on the clock now.
    fn from_clock(clock: &Clock, ply: u32) -> Budget {
        let usable = clock.remaining.saturating_sub(clock.overhead).min(FOREVER);
        // Thinking can be cut down when a game turns out to be long, lag cannot: it is reckoned for more moves.
        let (moves, longest) = match clock.moves_to_go {
            Some(moves) => {
                let moves = moves.clamp(1, params::MOVES_AHEAD_MAX);
                (moves, moves)
            }
            None => (moves_ahead(ply), params::MOVES_OF_LAG),
        };
        let (increment, lag) = (clock.increment.min(FOREVER), clock.lag.min(FOREVER));
        let gained = increment.saturating_sub(lag) * (moves - 1);
        let lost = lag.saturating_sub(increment) * (longest - 1);
        // Where the lag alone would eat the clock, some of it is for thinking all the same.
        let pool = (usable + gained)
            .saturating_sub(lost)
            .max(usable.mul_f64(params::SHARE_DESPITE_LAG));
        let fair = pool / moves;
        let most = usable.mul_f64(if moves == 1 {
            params::SHARE_OF_LAST
        } else {
            params::SHARE_OF_CLOCK
        });
        Budget {
            soft: fair.mul_f64(params::SOFT_SCALE).min(most),
            hard: fair.mul_f64(params::HARD_SCALE).min(most),
            exact: false,
        }
    }

    /// The soft bound in the light of how the search is going, never above the hard one.
    pub fn stretched(&self, progress: &Progress) -> Duration {
        let stable_for = progress.stable_for.min(params::STABLE_MAX);
        let stability = params::STRETCH_OF_NEW - params::SHRINK_OF_STABLE * f64::from(stable_for);
        let (least, most) = params::EFFORT_RANGE;
        let effort = params::STRETCH_OF_DOUBT - params::SHRINK_OF_EFFORT * progress.best_share;
        let effort = effort.clamp(least, most);
        let (rise, fall) = params::FALL_RANGE;
        let falling = 1.0 + params::STRETCH_OF_FALL * f64::from(progress.fallen.clamp(rise, fall));
        self.soft
            .mul_f64(stability * effort * falling)
            .min(self.hard)
    }
}

/// Moves that the clock should last for when the rest of the game is played on it.
fn moves_ahead(ply: u32) -> u32 {
    let played = ply / 2;
    params::MOVES_AHEAD_MAX
        .saturating_sub(played / 2)
        .max(params::MOVES_AHEAD_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn clock(remaining: u64, increment: u64, moves_to_go: Option<u32>, overhead: u64) -> Clock {
        Clock {
            remaining: ms(remaining),
            increment: ms(increment),
            moves_to_go,
            overhead: ms(overhead),
            lag: ms(overhead),
        }
    }

    #[test]
    fn bounds_fit_the_clock() {
        // (clock, ply, soft from, soft to, hard at most), all in milliseconds
        let table = [
            (clock(1_000, 10, None, 10), 0, 8, 40, 250),
            (clock(60_000, 0, None, 10), 0, 600, 2_000, 12_000),
            (clock(60_000, 0, None, 10), 100, 1_000, 3_500, 18_000),
            (clock(180_000, 2_000, None, 50), 0, 3_000, 8_000, 60_000),
            (clock(10_000, 0, Some(1), 50), 60, 3_000, 9_000, 9_000),
            (clock(200, 0, None, 1), 40, 1, 10, 120),
            (clock(100, 5_000, None, 10), 40, 20, 60, 60),
            (clock(20, 0, None, 30), 40, 0, 0, 0),
            (clock(1, 0, None, 0), 40, 0, 1, 1),
            (clock(0, 0, None, 0), 0, 0, 0, 0),
            (clock(u64::MAX, u64::MAX, None, 0), 0, 0, u64::MAX, u64::MAX),
        ];
        for (clock, ply, soft_from, soft_to, hard_to) in table {
            let budget = Budget::from_clock(&clock, ply);
            assert!(
                budget.soft >= ms(soft_from) && budget.soft <= ms(soft_to),
                "{clock:?}: {budget:?}"
            );
            assert!(
                budget.hard <= ms(hard_to) && budget.soft <= budget.hard,
                "{clock:?}: {budget:?}"
            );
        }
    }

    #[test]
    fn no_move_ever_takes_what_the_clock_does_not_have() {
        for remaining in [0, 1, 5, 10, 50, 100, 1_000, 10_000, 3_600_000] {
            for increment in [0, 10, 1_000, 30_000] {
                for moves_to_go in [None, Some(0), Some(1), Some(2), Some(40), Some(1_000)] {
                    for overhead in [0, 10, 100, 5_000] {
                        let clock = clock(remaining, increment, moves_to_go, overhead);
                        let left = clock.remaining.saturating_sub(clock.overhead);
                        for ply in [0, 40, 400] {
                            let budget = Budget::from_clock(&clock, ply);
                            let hurried = Progress {
                                stable_for: 0,
                                best_share: 0.0,
                                fallen: 500,
                                settled: false,
                            };
                            assert!(budget.hard <= left, "{clock:?}: {budget:?}");
                            assert!(
                                budget.stretched(&hurried) <= budget.hard,
                                "{clock:?}: {budget:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Plays moves on a minute, each held up by 150 ms give or take 100 twice and one in fifty by a second more: what is
    /// left at the end, in seconds; `None` if the flag falls. Each move takes the soft bound.
    fn left_after(moves: u32, overhead: Duration, lag: Duration) -> Option<f64> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut left = ms(60_000);
        for number in 0..moves {
            let clock = Clock {
                remaining: left,
                increment: Duration::ZERO,
                moves_to_go: None,
                overhead,
                lag,
            };
            let late = if rng.u32(..50) == 0 { 1_000 } else { 0 };
            let delay = ms(rng.u64(50..=250) + rng.u64(50..=250) + late);
            let thought = Budget::from_clock(&clock, 2 * number).soft;
            left = left.checked_sub(thought + delay)?;
        }
        Some(left.as_secs_f64())
    }

    #[test]
    fn a_lag_that_was_measured_is_neither_too_much_nor_too_little() {
        // As the bot measures them on such a line: one move in twenty costs more than 460 ms, the mean is 320 ms.
        let measured = |moves| left_after(moves, ms(510), ms(320));
        // A fixed second, kept back from this move alone, or from each of the moves to come.
        let once = |moves| left_after(moves, ms(1_000), ms(0));
        let always = |moves| left_after(moves, ms(1_000), ms(1_000));
        for moves in [20, 40, 60, 80, 100] {
            let [ours, once, always] = [measured(moves), once(moves), always(moves)];
            println!(
                "{moves} moves: {ours:.1?} s left; {once:.1?} and {always:.1?} s with a second"
            );
            // It lasts for as long a game as there is.
            assert!(ours.is_some_and(|left| left > 2.0), "{moves}: {ours:?}");
            assert!(ours < always, "{moves}: {ours:?} {always:?}");
        }
        assert_eq!(once(80), None);
    }

    #[test]
    fn doubt_takes_longer_than_certainty() {
        let budget = Budget::from_clock(&clock(60_000, 600, None, 10), 20);
        let certain = Progress {
            stable_for: 10,
            best_share: 0.95,
            fallen: 0,
            settled: false,
        };
        let doubtful = Progress {
            stable_for: 0,
            best_share: 0.3,
            fallen: 40,
            settled: false,
        };
        assert!(budget.stretched(&certain) < budget.soft);
        assert!(budget.stretched(&doubtful) > budget.soft);
    }

    #[test]
    fn no_move_takes_longer_than_it_may() {
        let most = |at_most: u64, limits: Limits| {
            let at_most = Some(ms(at_most));
            let budget = Budget::new(&Limits { at_most, ..limits }, 20);
            budget.map(|budget| (budget.soft, budget.hard))
        };
        let clock = Limits {
            clock: Some(clock(600_000, 0, None, 10)),
            ..Limits::default()
        };
        let movetime = Limits {
            movetime: Some(ms(500)),
            ..Limits::default()
        };
        assert_eq!(most(200, clock.clone()), Some((ms(200), ms(200))));
        assert_eq!(most(200, movetime), Some((ms(200), ms(200))));
        assert_eq!(most(200, Limits::default()), Some((ms(200), ms(200))));
        let free = Budget::new(&clock, 20).map(|budget| (budget.soft, budget.hard));
        assert_eq!(most(u64::MAX, clock), free);
    }

    #[test]
    fn a_time_per_move_is_kept() {
        let limits = Limits {
            movetime: Some(ms(100)),
            ..Limits::default()
        };
        assert_eq!(
            Budget::new(&limits, 0),
            Some(Budget {
                soft: ms(100),
                hard: ms(100),
                exact: true,
            })
        );
        assert_eq!(Budget::new(&Limits::default(), 0), None);
    }
}
