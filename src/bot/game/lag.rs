//! Network lag of a game, measured per move.
//!
//! Lichess gives bots no lag compensation: everything between the start of our clock and the arrival of our move is charged.
//! The lag is the time that the server charged for a move, minus the time between receiving the position and posting the move.
//! It covers the delay of the event and that of the POST. Before the clocks run, the round trip of the POST is used instead.

use std::collections::VecDeque;
use std::time::Duration;

/// Number of moves that count.
const WINDOW_MOVES: usize = 32;

/// Lag assumed before the first measurement: typical for Europe. A bot elsewhere measures its own at its first move, whose time
/// is not charged.
const ASSUMED_LAG: Duration = Duration::from_millis(150);

/// Larger samples are discarded: such a jump of the clock is not lag.
const MAX_SAMPLE: Duration = Duration::from_secs(20);

/// Lag samples of one game.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lag {
    samples: VecDeque<Duration>,
}

impl Lag {
    /// Adds a sample.
    pub(crate) fn add(&mut self, sample: Duration) {
        if sample > MAX_SAMPLE {
            return;
        }
        if self.samples.len() == WINDOW_MOVES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Adds the sample of a move. `before` and `after` are our clock in the states before and after it, `own` the time from the
    /// arrival of the former to the start of the POST. Ignored if the clock grew by more than the increment (time was given or
    /// moves were taken back).
    pub(crate) fn measure(
        &mut self,
        before: Duration,
        after: Duration,
        increment: Duration,
        own: Duration,
    ) {
        if let Some(charged) = (before + increment).checked_sub(after) {
            self.add(charged.saturating_sub(own));
        }
    }

    /// Median lag.
    pub(crate) fn median(&self) -> Duration {
        self.quantile(50)
    }

    /// Mean lag, the estimate for the rest of the game.
    pub(crate) fn mean(&self) -> Duration {
        match u32::try_from(self.samples.len()) {
            Ok(count @ 1..) => self.samples.iter().sum::<Duration>() / count,
            _ => ASSUMED_LAG,
        }
    }

    /// 95th percentile of the lag.
    fn p95(&self) -> Duration {
        self.quantile(95)
    }

    /// Time to reserve on a clock with `remaining` time, including the safety margin: based on the 95th percentile, reduced
    /// towards the median when it would exceed a tenth of `remaining`.
    pub(crate) fn overhead(&self, remaining: Duration, safety: Duration) -> Duration {
        let floor = self.median() + safety / 2;
        let wanted = self.p95() + safety;
        wanted.min(floor.max(remaining / 10))
    }

    fn quantile(&self, percent: usize) -> Duration {
        if self.samples.is_empty() {
            return ASSUMED_LAG;
        }
        let mut sorted: Vec<_> = self.samples.iter().copied().collect();
        sorted.sort_unstable();
        sorted[(sorted.len() * percent).div_ceil(100) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn lag_is_charged_time_minus_own_time() {
        let mut lag = Lag::default();
        assert_eq!((lag.median(), lag.mean()), (ASSUMED_LAG, ASSUMED_LAG));
        // 60 s, two seconds of search, 80 ms of lag, 1 s increment.
        lag.measure(ms(60_000), ms(58_920), ms(1_000), ms(2_000));
        assert_eq!(lag.median(), ms(80));
    }

    #[test]
    fn clock_that_grew_is_ignored() {
        let mut lag = Lag::default();
        lag.measure(ms(60_000), ms(75_000), ms(0), ms(100));
        assert_eq!(lag.median(), ASSUMED_LAG);
        // The server charged less than we used: its clock has 10 ms steps.
        lag.measure(ms(60_000), ms(59_995), ms(0), ms(9));
        assert_eq!(lag.median(), ms(0));
    }

    #[test]
    fn overhead_grows_with_jitter_and_shrinks_near_flag() {
        let mut lag = Lag::default();
        for n in 0..20 {
            lag.add(if n < 18 { ms(50) } else { ms(1_000) });
        }
        assert_eq!((lag.median(), lag.mean()), (ms(50), ms(145)));
        assert_eq!(lag.overhead(ms(60_000), ms(20)), ms(1_020));
        assert_eq!(lag.overhead(ms(5_000), ms(20)), ms(500));
        assert_eq!(lag.overhead(ms(400), ms(20)), ms(60));
    }

    #[test]
    fn old_samples_are_dropped() {
        let mut lag = Lag::default();
        (0..WINDOW_MOVES).for_each(|_| lag.add(ms(900)));
        (0..WINDOW_MOVES).for_each(|_| lag.add(ms(10)));
        lag.add(MAX_SAMPLE * 2);
        assert_eq!(lag.p95(), ms(10));
    }
}
