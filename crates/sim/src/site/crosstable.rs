//! Crosstables: results between two users, including games that are no longer stored.

use std::collections::HashMap;
use std::time::Duration;

use crate::site::{SimTime, UserId};

/// A match between two users ends after a pause of this length.
const MATCH_PAUSE: Duration = Duration::from_secs(24 * 3_600);

/// Half points of both sides and number of games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub halves: [u32; 2],
    pub games: u32,
}

impl Score {
    fn count(&mut self, halves: [u32; 2]) {
        self.games += 1;
        for (sum, more) in self.halves.iter_mut().zip(halves) {
            *sum += more;
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct PairRecord {
    all: Score,
    latest_match: Score,
    last: SimTime,
}

/// Results of each pair of users, with the smaller id first.
#[derive(Debug, Default)]
pub(crate) struct Crosstables(HashMap<[UserId; 2], PairRecord>);

impl Crosstables {
    /// Adds a game of these two users with the half points of each.
    pub(crate) fn count(&mut self, users: &[UserId; 2], halves: [u32; 2], now: SimTime) {
        let (key, halves) = if users[0] <= users[1] {
            (users.clone(), halves)
        } else {
            ([users[1].clone(), users[0].clone()], [halves[1], halves[0]])
        };
        let record = self.0.entry(key).or_insert(PairRecord {
            all: Score::default(),
            latest_match: Score::default(),
            last: now,
        });
        if now.since(record.last) > MATCH_PAUSE {
            record.latest_match = Score::default();
        }
        record.last = now;
        record.all.count(halves);
        record.latest_match.count(halves);
    }

    /// Half points of two users in the given order with the number of their games: in total, and in their current match.
    pub(crate) fn scores(&self, users: &[UserId; 2], now: SimTime) -> (Score, Option<Score>) {
        let mut key = users.clone();
        let swapped = users[0] > users[1];
        if swapped {
            key.swap(0, 1);
        }
        let Some(record) = self.0.get(&key) else {
            return (Score::default(), None);
        };
        let [all, latest_match] = [record.all, record.latest_match].map(|mut score| {
            if swapped {
                score.halves.swap(0, 1);
            }
            score
        });
        let is_current = now.since(record.last) <= MATCH_PAUSE;
        (all, is_current.then_some(latest_match))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crosstable_points_independent_of_user_order() {
        let ids = |one: &str, other: &str| [UserId::of(one), UserId::of(other)];
        let day = 86_400_000;
        let mut crosstables = Crosstables::default();
        crosstables.count(&ids("Zoe", "abe"), [2, 0], SimTime(0));
        crosstables.count(&ids("abe", "Zoe"), [1, 1], SimTime(1));
        crosstables.count(&ids("abe", "Zoe"), [0, 2], SimTime(3 * day));
        let scores = |one, other, at| crosstables.scores(&ids(one, other), SimTime(at));
        let score = |halves, games| Score { halves, games };
        assert_eq!(
            scores("zoe", "abe", 6 * day),
            (score([5, 1], 3), None),
            "the match is over"
        );
        assert_eq!(
            scores("abe", "zoe", 3 * day),
            (score([1, 5], 3), Some(score([0, 2], 1)))
        );
        assert_eq!(scores("abe", "nobody", 0), (Score::default(), None));
    }
}
