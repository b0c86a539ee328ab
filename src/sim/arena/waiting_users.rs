//! Who waits in an arena for his next opponent, and for how long.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::sim::site::id::UserId;
use crate::sim::site::time::SimTime;

/// Who asks for a game through the API waits for it so long.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(70);
/// With more than so many nobody waits any longer.
const MAX_WAITING_USERS: usize = 100;

/// The waiting pool of one arena.
#[derive(Clone, Debug, Default)]
pub struct WaitingUsers {
    asked: BTreeMap<UserId, SimTime>,
    since: BTreeMap<UserId, SimTime>,
}

impl WaitingUsers {
    /// Somebody wants to be paired; the next wave counts him from when it looks.
    pub fn add(&mut self, user: UserId, now: SimTime) {
        self.asked.insert(user, now);
    }

    /// Somebody was paired or has left.
    pub fn remove(&mut self, user: &UserId) {
        self.asked.remove(user);
        self.since.remove(user);
    }

    /// The organizer looks who is there.
    pub fn update(&mut self, now: SimTime) {
        self.asked
            .retain(|_, asked| now.since(*asked) < REQUEST_TIMEOUT);
        self.since.retain(|user, _| self.asked.contains_key(user));
        for user in self.asked.keys() {
            self.since.entry(user.clone()).or_insert(now);
        }
    }

    pub fn len(&self) -> usize {
        self.since.len()
    }

    pub fn all(&self) -> Vec<UserId> {
        self.since.keys().cloned().collect()
    }

    /// An even number of them: the one who came last is left out.
    pub fn even(&self) -> Vec<UserId> {
        let mut all = self.all();
        if all.len() % 2 == 1
            && let Some(last) = self.since.iter().max_by_key(|(_, since)| **since)
        {
            all.retain(|user| user != last.0);
        }
        all
    }

    /// At least two have waited for a whole wave.
    pub fn is_wave_complete(&self, wave: Duration, now: SimTime) -> bool {
        let long_enough = |since: &&SimTime| now.since(**since) > wave;
        self.len() > MAX_WAITING_USERS || self.since.values().filter(long_enough).count() > 1
    }
}

/// How long a wave waits for more players: `estimate` is the length of a game, limit + 40 increments, in seconds.
pub fn wave_length(estimate: u32) -> Duration {
    Duration::from_secs(match estimate {
        0..30 => 8,
        30..60 => 10,
        _ => u64::from(estimate / 10 + 6).clamp(15, 50),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::options::clock_estimate;

    fn at(seconds: i64) -> SimTime {
        SimTime(seconds * 1_000)
    }

    #[test]
    fn waves_follow_the_length_of_a_game() {
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
    fn who_came_last_is_the_odd_one() {
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
    fn a_wish_lasts_for_seventy_seconds() {
        let mut waiting = WaitingUsers::default();
        waiting.add(UserId::of("adam"), at(0));
        waiting.add(UserId::of("zoe"), at(30));
        waiting.update(at(31));
        assert_eq!(waiting.len(), 2);
        waiting.update(at(70));
        assert_eq!(waiting.all(), [UserId::of("zoe")]);
    }

    #[test]
    fn two_must_have_waited_for_a_whole_wave() {
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
