//! What a move costs beyond the thinking: measured, not guessed.
//!
//! Lichess gives bots no lag compensation, so everything between "the clock started to run" and "our move was
//! applied" is ours to pay. The server's own clock tells how much that is: what it charged us for a move, less
//! the time that we had the position and had not yet posted: the delay of the event and that of the POST. Before the
//! clocks run, the round trip of the POST stands for it.

use std::collections::VecDeque;
use std::time::Duration;

/// Moves remembered: old enough lag says nothing about the network of now.
const WINDOW: usize = 32;

/// Assumed before anything was measured: a bot in Europe sees about this, one overseas learns more at its first
/// move, which is free.
const ASSUMED: Duration = Duration::from_millis(150);

/// Nothing above this counts as lag: a clock that jumps has other reasons.
const ABSURD: Duration = Duration::from_secs(20);

/// The lag of one game.
#[derive(Clone, Debug, Default)]
pub struct Lag {
    samples: VecDeque<Duration>,
}

impl Lag {
    /// Takes up a measurement.
    pub fn add(&mut self, sample: Duration) {
        if sample > ABSURD {
            return;
        }
        if self.samples.len() == WINDOW {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// What the server charged for a move: `before` and `after` are our clock in the states before and after it,
    /// `own` the time from the arrival of the first to the start of the POST. A clock that grew by more than the
    /// increment (time was given, moves were taken back) measures nothing.
    pub fn measure(
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

    /// What a move usually costs: the median.
    pub fn typical(&self) -> Duration {
        self.quantile(50)
    }

    /// What a move costs on average: what is to be expected of the rest of the game.
    pub fn mean(&self) -> Duration {
        match u32::try_from(self.samples.len()) {
            Ok(count @ 1..) => self.samples.iter().sum::<Duration>() / count,
            _ => ASSUMED,
        }
    }

    /// What a move costs at most, but for one in twenty.
    pub fn high(&self) -> Duration {
        self.quantile(95)
    }

    /// What to keep back from a clock with `remaining` on it, `safety` included: the high figure while there is
    /// plenty, down to the usual one when the high one would eat more than a tenth of what is left.
    pub fn overhead(&self, remaining: Duration, safety: Duration) -> Duration {
        let floor = self.typical() + safety / 2;
        let wish = self.high() + safety;
        wish.min(floor.max(remaining / 10))
    }

    fn quantile(&self, percent: usize) -> Duration {
        if self.samples.is_empty() {
            return ASSUMED;
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
    fn lag_is_what_the_server_charges_beyond_our_own_time() {
        let mut lag = Lag::default();
        assert_eq!((lag.typical(), lag.mean()), (ASSUMED, ASSUMED));
        // 60 s, two seconds of thinking, 80 ms under way, 1 s increment.
        lag.measure(ms(60_000), ms(58_920), ms(1_000), ms(2_000));
        assert_eq!(lag.typical(), ms(80));
    }

    #[test]
    fn a_gift_of_time_or_a_refund_measures_nothing() {
        let mut lag = Lag::default();
        lag.measure(ms(60_000), ms(75_000), ms(0), ms(100));
        assert_eq!(lag.typical(), ASSUMED);
        // The server charged less than we took: its clock has 10 ms steps.
        lag.measure(ms(60_000), ms(59_995), ms(0), ms(9));
        assert_eq!(lag.typical(), ms(0));
    }

    #[test]
    fn overhead_grows_with_jitter_and_shrinks_near_the_flag() {
        let mut lag = Lag::default();
        for n in 0..20 {
            lag.add(if n < 18 { ms(50) } else { ms(1_000) });
        }
        assert_eq!((lag.typical(), lag.mean()), (ms(50), ms(145)));
        assert_eq!(lag.overhead(ms(60_000), ms(20)), ms(1_020));
        assert_eq!(lag.overhead(ms(5_000), ms(20)), ms(500));
        assert_eq!(lag.overhead(ms(400), ms(20)), ms(60));
    }

    #[test]
    fn old_measurements_are_forgotten() {
        let mut lag = Lag::default();
        (0..WINDOW).for_each(|_| lag.add(ms(900)));
        (0..WINDOW).for_each(|_| lag.add(ms(10)));
        lag.add(ABSURD * 2);
        assert_eq!(lag.high(), ms(10));
    }
}
