//! Time of a turn: limits of the search, timeouts and retries of our POST, and the lag.

use std::time::{Duration, Instant};

use super::{GameCore, Turn};
use crate::bot::game::CLOCK_SLACK;
use crate::bot::game::budget::Budget;
use crate::bot::game::choice::search_info;
use crate::engine::Limits;
use crate::events::{SearchInfo, Timing};
use crate::lichess::MOVE_TIMEOUT;
use crate::lichess::model::GameState;

/// Waits before each resync of the stream within one turn.
const RESYNC_WAITS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
];

/// Shortest timeout of a POST.
const MIN_POST_TIMEOUT: Duration = Duration::from_millis(500);

/// Consecutive failures after which retries are at least one second apart.
const MAX_FAST_RETRIES: u32 = 40;

/// Longest wait before a retry.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Inputs of time management from outside the game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeInputs {
    /// Time since the state that made it our turn.
    pub elapsed: Duration,
    /// Running games.
    pub games: usize,
    /// Configured number of concurrent games.
    pub concurrency: usize,
    /// Whether we search on the opponent's time as well.
    pub ponders: bool,
    /// Configured safety margin.
    pub safety_margin: Duration,
    /// Longest search in a game without a clock.
    pub max_move_time: Duration,
}

impl GameCore {
    /// Search limits for the pending move.
    pub(crate) fn limits(&self, time_inputs: TimeInputs) -> Limits {
        let Some((header, game_moves)) = &self.game else {
            return Limits::default();
        };
        let budget = Budget {
            pace: header.pace,
            remaining: self.turn.our_clock.0,
            elapsed: time_inputs.elapsed,
            ply: game_moves.ply(),
            lag: &self.lag,
            safety_margin: time_inputs.safety_margin,
            max_move_time: time_inputs.max_move_time,
            rule_max_time: self.terms.move_limits.time,
            games: time_inputs.games,
            concurrency: time_inputs.concurrency,
            ponders: time_inputs.ponders,
        };
        Limits {
            strength: self.strength(),
            ..self.terms.move_limits.apply(budget.limits())
        }
    }

    /// Time left on our clock in the latest state.
    pub(crate) fn remaining(&self) -> Duration {
        self.turn.our_clock.0
    }

    /// Time since the latest state.
    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.turn.our_clock.1)
    }

    /// When our flag falls, if our clock is running.
    pub(crate) fn flag_fall(&self) -> Option<Instant> {
        let (header, game_moves) = self.game()?;
        let (remaining, at) = self.turn.our_clock;
        let running = header.has_clock() && game_moves.ply() >= 2;
        running.then(|| at + remaining.saturating_sub(self.lag.median()))
    }

    /// Time left on our clock at `now`.
    pub(super) fn running_clock(&self, now: Instant) -> Duration {
        let (remaining, at) = self.turn.our_clock;
        match self.pending_move.is_pending() {
            true => remaining.saturating_sub(now.saturating_duration_since(at)),
            false => remaining,
        }
    }

    /// POSTs of our move so far, and the start of the first one.
    pub(crate) fn posts(&self) -> (u32, Option<Instant>) {
        (self.turn.posts, self.turn.first_post_at)
    }

    /// Wait before the next resync of the stream in this turn.
    pub(crate) fn next_resync_wait(&mut self) -> Duration {
        let wait = RESYNC_WAITS[self.turn.resyncs.min(RESYNC_WAITS.len() - 1)];
        self.turn.resyncs += 1;
        wait
    }

    /// Timeout of a POST, after which it is sent again over another connection. Shorter on a short clock, but always long
    /// enough for the four round trips of a new connection. These are estimated by the median, since an earlier POST
    /// without a response counts as lag as well.
    pub(crate) fn post_timeout(&self, now: Instant) -> Duration {
        post_timeout(
            self.remaining().saturating_sub(self.elapsed(now)),
            self.lag.median(),
        )
    }

    /// Longest affordable wait before a retry. A clock that has run out by our count may have been given more time.
    pub(crate) fn max_backoff(&self, now: Instant) -> Duration {
        let (remaining, elapsed) = (self.remaining(), self.elapsed(now));
        if elapsed > remaining + CLOCK_SLACK {
            return MAX_BACKOFF;
        }
        let min_backoff = match self.pending_move.failures() {
            0..MAX_FAST_RETRIES => Duration::from_millis(100),
            _ => Duration::from_secs(1),
        };
        (remaining.saturating_sub(elapsed) / 10).clamp(min_backoff, MAX_BACKOFF)
    }

    /// Measures the lag of our move, which has appeared at ply `at`, and returns its report and timing.
    pub(super) fn measure_move(
        &mut self,
        at: usize,
        previous_turn: Turn,
        state: &GameState,
        now: Instant,
    ) -> Option<(SearchInfo, Timing)> {
        let (header, game_moves) = self.game.as_ref()?;
        let choice = self.chosen.take()?;
        let posted = previous_turn.first_post_at?;
        let is_last = game_moves.ply() == at + 1;
        let timing = Timing {
            to_post: posted.saturating_duration_since(previous_turn.began),
            round_trip: previous_turn
                .round_trip
                .unwrap_or_else(|| now.saturating_duration_since(posted)),
        };
        if !previous_turn.backed_off && is_last && header.has_clock() {
            if at >= 2 {
                // On a running clock, compare the time the server charged with our own. A lost POST counts too.
                let (clock, since) = previous_turn.our_clock;
                let increment = state.increment(header.us);
                let own = posted.saturating_duration_since(since);
                self.lag
                    .measure(clock, state.time(header.us), increment, own);
            } else {
                // No clock runs yet: the round trip approximates the delay of a state plus that of a move.
                self.lag.add(timing.round_trip);
            }
        }
        let mut past = game_moves.game().clone();
        past.truncate(at);
        Some((
            SearchInfo {
                fallback: choice.fallback,
                ..search_info(past.position(), choice.source, choice.search.as_ref())
            },
            timing,
        ))
    }
}

/// Timeout of a POST with this much time left on our clock.
fn post_timeout(left: Duration, lag: Duration) -> Duration {
    (left / 4)
        .max(4 * lag)
        .clamp(MIN_POST_TIMEOUT, MOVE_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn post_timeout_is_capped_by_clock_and_covers_lag() {
        let ms = Duration::from_millis;
        for (left, lag, expected) in [
            (ms(60_000), ms(100), MOVE_TIMEOUT),
            (ms(3_000), ms(100), ms(750)),
            (ms(3_000), ms(250), ms(1_000)),
            (ms(400), ms(20), MIN_POST_TIMEOUT),
            (Duration::ZERO, ms(900), MOVE_TIMEOUT),
        ] {
            assert_eq!(post_timeout(left, lag), expected, "{left:?} {lag:?}");
        }
    }
}
