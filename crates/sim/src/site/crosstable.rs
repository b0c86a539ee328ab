//! Crosstables: results between two users, including games that are no longer stored.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

use crate::site::id::UserId;
use crate::site::time::SimTime;
use crate::wire::Ordered;

/// A match between two users ends after a pause of this length.
const MATCH_PAUSE: Duration = Duration::from_secs(24 * 3_600);

/// Half points of both sides and number of games.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    halves: [u32; 2],
    games: u32,
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Crosstable {
    users: Ordered<serde_json::Number>,
    nb_games: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    matchup: Option<Box<Crosstable>>,
}

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

    /// Returns the crosstable of two users in the given order, optionally with their current match.
    pub(crate) fn table(&self, users: &[UserId; 2], with_match: bool, now: SimTime) -> Crosstable {
        let swapped = users[0] > users[1];
        let mut key = users.clone();
        if swapped {
            key.swap(0, 1);
        }
        let record = self.0.get(&key);
        let table = |score: Score, matchup| {
            let mut halves = score.halves;
            if swapped {
                halves.swap(0, 1);
            }
            let points = users.iter().zip(halves);
            Crosstable {
                users: Ordered(
                    points
                        .map(|(id, h)| (id.to_string(), points_of(h)))
                        .collect(),
                ),
                nb_games: score.games,
                matchup,
            }
        };
        let current_match = record
            .filter(|record| with_match && now.since(record.last) <= MATCH_PAUSE)
            .map(|record| Box::new(table(record.latest_match, None)));
        table(
            record.map(|record| record.all).unwrap_or_default(),
            current_match,
        )
    }
}

/// Formats half points as `2` or `2.5`.
fn points_of(halves: u32) -> serde_json::Number {
    if halves.is_multiple_of(2) {
        (halves / 2).into()
    } else {
        serde_json::Number::from_f64(f64::from(halves) / 2.0).unwrap_or_else(|| 0.into())
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
        let table = |one, other, with, at| {
            crate::wire::json(&crosstables.table(&ids(one, other), with, SimTime(at)))
        };
        assert_eq!(
            table("zoe", "abe", false, 0),
            r#"{"users":{"zoe":2.5,"abe":0.5},"nbGames":3}"#
        );
        assert_eq!(
            table("abe", "zoe", true, 3 * day),
            r#"{"users":{"abe":0.5,"zoe":2.5},"nbGames":3,"matchup":{"users":{"abe":0,"zoe":1},"nbGames":1}}"#
        );
        assert_eq!(
            table("abe", "nobody", true, 0),
            r#"{"users":{"abe":0,"nobody":0},"nbGames":0}"#
        );
    }
}
