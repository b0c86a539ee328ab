//! Time management: a soft limit for new iterations and a hard limit for the search. Pure.

use std::time::Duration;

use knightwatch_chess::{Color, Game};

use super::{Clock, Limits, params};

/// Cap of clock times, which keeps the arithmetic from overflowing.
const MAX_CLOCK: Duration = Duration::from_secs(1_000_000_000);

/// Time limits of one move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeBudget {
    /// Start no iteration after this time, adjusted by [`TimeBudget::adjusted_soft`].
    pub soft: Duration,
    /// Stop in the middle of an iteration.
    pub hard: Duration,
    /// Use all of the hard limit, whatever the search finds.
    pub exact: bool,
}

/// The time after which a search with these limits starts no new iteration, and the time after which it is stopped. `None` if
/// they do not limit time.
pub fn time_bounds(limits: &Limits, game: &Game) -> Option<(Duration, Duration)> {
    let budget = TimeBudget::new(limits, game_ply(game))?;
    Some((budget.soft, budget.hard))
}

/// Plies since the start of the game by the move number of its position. The moves of `game` may begin later: some
/// programs send every position as a FEN.
pub(crate) fn game_ply(game: &Game) -> u32 {
    let position = game.position();
    2 * (position.fullmove_number().max(1) - 1) + u32::from(position.turn() == Color::Black)
}

/// State of the search for adjusting the soft limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Iterations since the best move last changed.
    pub stable_iterations: u32,
    /// Share of the nodes spent on the best move, 0 to 1.
    pub best_move_share: f64,
    /// Score lost since the last iteration, in centipawns.
    pub score_drop: i32,
    /// Score lost since the search two plies before, in centipawns; 0 if there was none.
    pub game_score_drop: i32,
    /// More search cannot change the result: a single legal move or a proven mate.
    pub decided: bool,
}

impl TimeBudget {
    /// The budget for these limits; `None` if they do not limit time. `ply` counts from the start of the game.
    pub(crate) fn new(limits: &Limits, ply: u32) -> Option<TimeBudget> {
        let within = |time: Duration, exact: bool| TimeBudget {
            soft: time,
            hard: time,
            exact,
        };
        let budget = match (limits.movetime, &limits.clock) {
            (Some(time), _) => within(time, true),
            (None, Some(clock)) => TimeBudget::from_clock(clock, ply),
            (None, None) => return limits.max_time.map(|time| within(time, false)),
        };
        let max = limits.max_time.unwrap_or(Duration::MAX);
        Some(TimeBudget {
            soft: budget.soft.min(max),
            hard: budget.hard.min(max),
            ..budget
        })
    }

    /// Divides the clock, its increments and expected delays among the moves to come. A move uses at most a fixed
    /// share of the remaining time.
    fn from_clock(clock: &Clock, ply: u32) -> TimeBudget {
        let usable = clock
            .remaining
            .saturating_sub(clock.overhead)
            .min(MAX_CLOCK);
        let (increment, lag) = (clock.increment.min(MAX_CLOCK), clock.lag.min(MAX_CLOCK));
        // Thinking time can be cut in a long game, lag cannot: it is budgeted for more moves.
        let (moves, longest) = match clock.moves_to_go {
            Some(moves) => {
                let moves = moves.clamp(1, params::time_moves_max() as u32);
                (moves, moves)
            }
            None => (
                estimated_moves_to_go(ply, increment > lag),
                params::MOVES_TO_GO_FOR_LAG,
            ),
        };
        let gained = increment.saturating_sub(lag) * (moves - 1);
        let lost = lag.saturating_sub(increment) * (longest - 1);
        // If lag would use up the clock, a share remains for thinking.
        let pool = (usable + gained)
            .saturating_sub(lost)
            .max(usable.mul_f64(params::MIN_SHARE_DESPITE_LAG));
        let fair = pool / moves;
        let is_short = usable < clock.overhead.saturating_mul(params::MIN_PONDER_CLOCK);
        let ponder_factor = if clock.ponders && !is_short {
            params::PONDER_FACTOR
        } else {
            1.0
        };
        let max = usable.mul_f64(if moves == 1 {
            params::MAX_LAST_MOVE_SHARE
        } else {
            percent(params::time_share_max())
        });
        TimeBudget {
            soft: fair
                .mul_f64(percent(params::time_soft()) * ponder_factor)
                .min(max),
            hard: fair.mul_f64(percent(params::time_hard())).min(max),
            exact: false,
        }
    }

    /// The soft limit adjusted to the state of the search, at most the hard limit.
    pub(crate) fn adjusted_soft(&self, progress: &Progress) -> Duration {
        let stable_iterations = progress.stable_iterations.min(params::STABILITY_MAX);
        let stability = percent(params::time_new_move())
            - f64::from(params::time_stability()) / 1000.0 * f64::from(stable_iterations);
        let (min, max) = params::EFFORT_RANGE;
        let effort = percent(params::time_effort())
            - percent(params::time_effort_discount()) * progress.best_move_share;
        let effort = effort.clamp(min, max);
        let (rise, fall) = params::SCORE_DROP_RANGE;
        let dropped = |score_drop: i32, per_centipawn: i32| {
            f64::from(score_drop.clamp(rise, fall) * per_centipawn) / 1000.0
        };
        let falling = 1.0
            + dropped(progress.score_drop, params::time_score_drop())
            + dropped(progress.game_score_drop, params::time_game_score_drop());
        self.soft
            .mul_f64(stability.max(0.1) * effort * falling.max(0.1))
            .min(self.hard)
    }
}

fn percent(value: i32) -> f64 {
    f64::from(value) / 100.0
}

/// Moves that the clock should last for in sudden death: fewer if it gains time with each of them.
fn estimated_moves_to_go(ply: u32, gains_time: bool) -> u32 {
    let played = ply / 2;
    let moves = (params::time_moves_max() as u32)
        .saturating_sub(played / 2)
        .max(params::time_moves_min() as u32);
    if gains_time {
        moves * params::time_moves_increment() as u32 / 100
    } else {
        moves
    }
}

#[cfg(test)]
mod tests {
    use knightwatch_chess::Position;

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
            ponders: false,
        }
    }

    #[test]
    fn position_from_fen_gets_time_of_its_move() {
        let fen = "8/5pk1/1p1r2p1/p1pP3p/P1P1R2P/1P4P1/5PK1/8 b - - 3 60";
        let mut game = Game::new(fen.parse().unwrap());
        assert_eq!(game_ply(&game), 119);
        let mv = game.position().legal_moves()[0];
        game.play(mv);
        assert_eq!(game_ply(&game), 120);
        assert_eq!(game_ply(&Game::new(Position::startpos())), 0);
        let limits = Limits {
            clock: Some(clock(60_000, 0, None, 10)),
            ..Limits::default()
        };
        let [late, early] = [&game, &Game::new(Position::startpos())]
            .map(|game| time_bounds(&limits, game).unwrap().0);
        assert!(late > early * 3 / 2, "{late:?} {early:?}");
    }

    #[test]
    fn budget_from_clock_is_in_range() {
        // (clock, ply, soft from, soft to, hard up to), all in milliseconds
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
            let budget = TimeBudget::from_clock(&clock, ply);
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
    fn budget_never_exceeds_the_clock() {
        for remaining in [0, 1, 5, 10, 50, 100, 1_000, 10_000, 3_600_000] {
            for increment in [0, 10, 1_000, 30_000] {
                for moves_to_go in [None, Some(0), Some(1), Some(2), Some(40), Some(1_000)] {
                    for (overhead, ponders) in [
                        (0, false),
                        (10, true),
                        (100, false),
                        (100, true),
                        (5_000, true),
                    ] {
                        let clock = Clock {
                            ponders,
                            ..clock(remaining, increment, moves_to_go, overhead)
                        };
                        let left = clock.remaining.saturating_sub(clock.overhead);
                        for ply in [0, 40, 400] {
                            let budget = TimeBudget::from_clock(&clock, ply);
                            let hurried = Progress {
                                stable_iterations: 0,
                                best_move_share: 0.0,
                                score_drop: 500,
                                game_score_drop: 500,
                                decided: false,
                            };
                            assert!(budget.hard <= left, "{clock:?}: {budget:?}");
                            assert!(
                                budget.adjusted_soft(&hurried) <= budget.hard,
                                "{clock:?}: {budget:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn engine_that_ponders_takes_longer() {
        for (remaining, moves_to_go) in [(60_000, None), (60_000, Some(20))] {
            let clock = clock(remaining, 600, moves_to_go, 10);
            let alone = TimeBudget::from_clock(&clock, 20);
            let ponders = true;
            let pondering = TimeBudget::from_clock(&Clock { ponders, ..clock }, 20);
            let ratio = pondering.soft.div_duration_f64(alone.soft);
            let error = (ratio - params::PONDER_FACTOR).abs();
            assert!(error < 0.001, "{ratio}");
            assert_eq!(pondering.hard, alone.hard);
        }
        // Not if the clock is short: then delays count.
        let short = clock(900, 600, None, 50);
        let ponders = true;
        let pondering = TimeBudget::from_clock(&Clock { ponders, ..short }, 20);
        assert_eq!(pondering, TimeBudget::from_clock(&short, 20));
        // The last move before the time control has its share of the clock already.
        let last = clock(10_000, 0, Some(1), 50);
        let ponders = true;
        let pondering = TimeBudget::from_clock(&Clock { ponders, ..last }, 60);
        assert!(pondering.soft <= pondering.hard && pondering.hard < ms(9_000));
    }

    /// Plays `moves` moves from a clock of one minute, each at the soft limit. Each is delayed by 100 to 500 ms, and
    /// one in fifty by a second more. Returns the seconds left; `None` on time forfeit.
    fn left_after(moves: u32, overhead: Duration, lag: Duration, ponders: bool) -> Option<f64> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut left = ms(60_000);
        for number in 0..moves {
            let clock = Clock {
                remaining: left,
                increment: Duration::ZERO,
                moves_to_go: None,
                overhead,
                lag,
                ponders,
            };
            let late = if rng.u32(..50) == 0 { 1_000 } else { 0 };
            let delay = ms(rng.u64(50..=250) + rng.u64(50..=250) + late);
            let soft = TimeBudget::from_clock(&clock, 2 * number).soft;
            left = left.checked_sub(soft + delay)?;
        }
        Some(left.as_secs_f64())
    }

    #[test]
    fn budget_with_measured_lag_lasts_and_wastes_little() {
        // As measured by the bot on such a connection: one move in twenty loses more than 460 ms, the mean is 320 ms.
        let measured = |moves| left_after(moves, ms(510), ms(320), false);
        // A fixed second of overhead, for this move only or for every move to come.
        let once = |moves| left_after(moves, ms(1_000), ms(0), false);
        let always = |moves| left_after(moves, ms(1_000), ms(1_000), false);
        for moves in [20, 40, 60, 80, 100] {
            let [ours, once, always] = [measured(moves), once(moves), always(moves)];
            println!(
                "{moves} moves: {ours:.1?} s left; {once:.1?} and {always:.1?} s with a second"
            );
            // It lasts for games of any length.
            assert!(ours.is_some_and(|left| left > 2.0), "{moves}: {ours:?}");
            assert!(ours < always, "{moves}: {ours:?} {always:?}");
            // Less is left if it ponders and no expected move ever comes.
            let ponders = left_after(moves, ms(510), ms(320), true);
            assert!(
                ponders.is_some_and(|left| left > 1.0),
                "{moves}: {ponders:?}"
            );
        }
        assert_eq!(once(80), None);
    }

    #[test]
    fn soft_limit_in_doubt_is_longer() {
        let budget = TimeBudget::from_clock(&clock(60_000, 600, None, 10), 20);
        let certain = Progress {
            stable_iterations: 10,
            best_move_share: 0.95,
            score_drop: 0,
            game_score_drop: 0,
            decided: false,
        };
        let doubtful = Progress {
            stable_iterations: 0,
            best_move_share: 0.3,
            score_drop: 40,
            game_score_drop: 0,
            decided: false,
        };
        assert!(budget.adjusted_soft(&certain) < budget.soft);
        assert!(budget.adjusted_soft(&doubtful) > budget.soft);
        let surprised = Progress {
            game_score_drop: 40,
            ..doubtful
        };
        assert!(budget.adjusted_soft(&surprised) > budget.adjusted_soft(&doubtful));
        let relieved = Progress {
            score_drop: -500,
            game_score_drop: -500,
            ..certain
        };
        assert!(budget.adjusted_soft(&relieved) < budget.adjusted_soft(&certain));
        assert!(!budget.adjusted_soft(&relieved).is_zero());
    }

    #[test]
    fn budget_with_max_time_is_capped() {
        let bounds = |max_time: u64, limits: Limits| {
            let max_time = Some(ms(max_time));
            let budget = TimeBudget::new(&Limits { max_time, ..limits }, 20);
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
        assert_eq!(bounds(200, clock.clone()), Some((ms(200), ms(200))));
        assert_eq!(bounds(200, movetime), Some((ms(200), ms(200))));
        assert_eq!(bounds(200, Limits::default()), Some((ms(200), ms(200))));
        let free = TimeBudget::new(&clock, 20).map(|budget| (budget.soft, budget.hard));
        assert_eq!(bounds(u64::MAX, clock), free);
    }

    #[test]
    fn budget_with_movetime_is_exact() {
        let limits = Limits {
            movetime: Some(ms(100)),
            ..Limits::default()
        };
        assert_eq!(
            TimeBudget::new(&limits, 0),
            Some(TimeBudget {
                soft: ms(100),
                hard: ms(100),
                exact: true,
            })
        );
        assert_eq!(TimeBudget::new(&Limits::default(), 0), None);
    }
}
