//! How often we answer in one game.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Answers are counted within this.
const WINDOW: Duration = Duration::from_secs(60);

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Throttle(VecDeque<Instant>);

impl Throttle {
    /// Whether one more answer may be given now; then it counts.
    pub fn lets(&mut self, most: usize, now: Instant) -> bool {
        while let Some(first) = self.0.front()
            && now.saturating_duration_since(*first) >= WINDOW
        {
            self.0.pop_front();
        }
        let lets = self.0.len() < most;
        if lets {
            self.0.push_back(now);
        }
        lets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_within_any_minute() {
        let start = Instant::now();
        let mut throttle = Throttle::default();
        // Second, and whether it is answered.
        for (at, answered) in [
            (0, true),
            (1, true),
            (30, true),
            (31, false),
            (59, false),
            (60, true),
            (60, false),
            (61, true),
            (89, false),
            (90, true),
        ] {
            let now = start + Duration::from_secs(at);
            assert_eq!(throttle.lets(3, now), answered, "after {at} s");
        }
        assert!(!Throttle::default().lets(0, start));
    }
}
