//! Users waiting for their next game in an arena.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::site::{SimTime, UserId};

/// Lifetime of a request to be paired.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(70);
/// With more waiting users, pairing starts immediately.
const MAX_WAITING_USERS: usize = 100;

/// The waiting users of one arena.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingUsers {
    /// Time of the latest request of each user.
    requested_at: BTreeMap<UserId, SimTime>,
    /// Time since which the organizer counts each user as waiting.
    waiting_since: BTreeMap<UserId, SimTime>,
}

impl WaitingUsers {
    /// Adds a user, or renews their request. They count as waiting from the next [`update`](Self::update) on.
    pub(super) fn add(&mut self, user: UserId, now: SimTime) {
        self.requested_at.insert(user, now);
    }

    pub(super) fn remove(&mut self, user: &UserId) {
        self.requested_at.remove(user);
        self.waiting_since.remove(user);
    }

    /// Drops expired requests, and counts new ones from now on.
    pub(super) fn update(&mut self, now: SimTime) {
        self.requested_at
            .retain(|_, requested_at| now.since(*requested_at) < REQUEST_TIMEOUT);
        self.waiting_since
            .retain(|user, _| self.requested_at.contains_key(user));
        for user in self.requested_at.keys() {
            self.waiting_since.entry(user.clone()).or_insert(now);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting_since.len()
    }

    pub(super) fn all(&self) -> Vec<UserId> {
        self.waiting_since.keys().cloned().collect()
    }

    /// All waiting users, without the latest if their number is odd.
    pub(super) fn even(&self) -> Vec<UserId> {
        let mut all = self.all();
        if all.len() % 2 == 1
            && let Some(last) = self.waiting_since.iter().max_by_key(|(_, since)| **since)
        {
            all.retain(|user| user != last.0);
        }
        all
    }

    /// Returns whether at least two users have waited for a whole wave.
    pub(super) fn is_wave_complete(&self, wave: Duration, now: SimTime) -> bool {
        let long_enough = |since: &&SimTime| now.since(**since) > wave;
        self.len() > MAX_WAITING_USERS
            || self.waiting_since.values().filter(long_enough).count() > 1
    }
}

/// Time for which a wave waits for more players; `estimate`: limit plus 40 increments, in seconds.
pub(super) fn wave_length(estimate: u32) -> Duration {
    Duration::from_secs(match estimate {
        0..30 => 8,
        30..60 => 10,
        _ => u64::from(estimate / 10 + 6).clamp(15, 50),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_control::clock_estimate;

    fn at(seconds: i64) -> SimTime {
        SimTime(seconds * 1_000)
    }

    #[test]
    fn wave_length_follows_estimate() {
        for (limit, increment, seconds) in [
            (15, 0, 8),
            (30, 0, 10),
            (60, 0, 15),
            (60, 1, 16),
            (180, 0, 24),
            (180, 2, 32),
            (300, 0, 36),
            (600, 0, 50),
            (1_800, 20, 50),
        ] {
            assert_eq!(
                wave_length(clock_estimate(limit, increment)),
                Duration::from_secs(seconds),
                "{limit}+{increment}"
            );
        }
    }

    #[test]
    fn even_leaves_out_latest_user() {
        let mut waiting = WaitingUsers::default();
        for (second, name) in [(0, "zoe"), (1, "adam"), (2, "mia")] {
            waiting.add(UserId::of(name), at(second));
            waiting.update(at(second));
        }
        let even: Vec<String> = waiting.even().iter().map(UserId::to_string).collect();
        assert_eq!(even, ["adam", "zoe"]);
        waiting.remove(&UserId::of("zoe"));
        assert_eq!(waiting.even().len(), 2);
    }

    #[test]
    fn request_expires_after_70_seconds() {
        let mut waiting = WaitingUsers::default();
        waiting.add(UserId::of("adam"), at(0));
        waiting.add(UserId::of("zoe"), at(30));
        waiting.update(at(31));
        assert_eq!(waiting.len(), 2);
        waiting.update(at(70));
        assert_eq!(waiting.all(), [UserId::of("zoe")]);
    }

    #[test]
    fn wave_needs_two_users_who_waited() {
        let mut waiting = WaitingUsers::default();
        let wave = Duration::from_secs(15);
        for (second, name) in [(0, "a"), (5, "b"), (20, "c")] {
            waiting.add(UserId::of(name), at(second));
            waiting.update(at(second));
        }
        assert!(!waiting.is_wave_complete(wave, at(20)));
        assert!(waiting.is_wave_complete(wave, at(21)));
    }
}
