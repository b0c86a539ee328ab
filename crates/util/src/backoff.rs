//! Delays between attempts that fail again and again.

use std::time::Duration;

/// A delay that doubles with each failure in a row, up to a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    max: Duration,
}

impl Backoff {
    /// A backoff that begins with `first` and never exceeds `max`.
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max }
    }

    /// The delay after a failure that followed `earlier` others in a row.
    pub fn delay(self, earlier: u32) -> Duration {
        let factor = 2_u32.saturating_pow(earlier);
        self.first.saturating_mul(factor).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_to_maximum() {
        let backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(3));
        let millis = [0, 1, 2, 3, 4, u32::MAX].map(|earlier| backoff.delay(earlier).as_millis());
        assert_eq!(millis, [250, 500, 1_000, 2_000, 3_000, 3_000]);
    }
}
