//! Waiting times after a pause in an arena.

use std::collections::HashMap;
use std::time::Duration;

use crate::site::{SimTime, UserId};

/// The count of pauses is reset after this time without a pause.
const RESET_AFTER: Duration = Duration::from_secs(20 * 60);

/// Pauses of all users, across arenas.
#[derive(Clone, Debug, Default)]
pub(super) struct Pauses(HashMap<UserId, Pause>);

#[derive(Clone, Copy, Debug)]
struct Pause {
    count: u32,
    since: SimTime,
}

impl Pauses {
    pub(super) fn add(&mut self, user: &UserId, now: SimTime) {
        self.0
            .retain(|_, pause| now.since(pause.since) < RESET_AFTER);
        let count = self.0.get(user).map_or(0, |pause| pause.count) + 1;
        self.0.insert(user.clone(), Pause { count, since: now });
    }

    /// Seconds until this user may join an arena with games of this estimated length in seconds; `None`: immediately.
    pub(super) fn seconds_left(&self, user: &UserId, estimate: u32, now: SimTime) -> Option<i64> {
        let pause = self
            .0
            .get(user)
            .filter(|pause| now.since(pause.since) < RESET_AFTER)?;
        let left = pause.since.0 / 1_000 - now.0 / 1_000 + delay(pause.count, estimate);
        // The last second is waived, as on Lichess.
        (left > 1).then_some(left)
    }
}

/// Delay in seconds: ten for the first pause, then more with each.
fn delay(count: u32, estimate: u32) -> i64 {
    (i64::from(estimate / 15) * i64::from(count.saturating_sub(1))).clamp(10, 120)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_delay_grows_with_count_and_estimate() {
        for (count, estimate, seconds) in [
            (1, 60, 10),
            (2, 60, 10),
            (3, 60, 10),
            (4, 60, 12),
            (1, 300, 10),
            (2, 300, 20),
            (3, 300, 40),
            (2, 600, 40),
            (4, 600, 120),
            (9, 600, 120),
        ] {
            assert_eq!(delay(count, estimate), seconds, "{count} at {estimate}");
        }
    }

    #[test]
    fn pause_expires_and_count_resets() {
        let user = UserId::of("adam");
        let at = |seconds: i64| SimTime(seconds * 1_000);
        let mut pauses = Pauses::default();
        assert_eq!(pauses.seconds_left(&user, 300, at(0)), None);
        pauses.add(&user, at(0));
        assert_eq!(pauses.seconds_left(&user, 300, at(0)), Some(10));
        assert_eq!(pauses.seconds_left(&user, 300, at(8)), Some(2));
        assert_eq!(pauses.seconds_left(&user, 300, at(9)), None);
        pauses.add(&user, at(100));
        assert_eq!(pauses.seconds_left(&user, 300, at(100)), Some(20));
        pauses.add(&user, at(100 + 20 * 60));
        assert_eq!(pauses.seconds_left(&user, 300, at(100 + 20 * 60)), Some(10));
    }
}
