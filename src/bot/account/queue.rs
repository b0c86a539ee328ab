//! Challenges that wait for a place.

use std::time::{Duration, Instant};

use crate::bot::policy::Rank;
use crate::lichess::model::{Challenge, ChallengeId, ChallengeUser, Compat};

/// A challenge that came to us.
#[derive(Debug)]
pub(super) struct Asked {
    pub challenge: Box<Challenge>,
    pub compat: Option<Compat>,
    /// The age of the challenger's account, where a rule asks for it and Lichess has told it.
    pub age_days: Option<u32>,
    /// When it came.
    pub since: Instant,
}

impl Asked {
    /// Whether a person asks.
    pub fn is_human(&self) -> bool {
        let from = self.challenge.challenger.as_ref();
        !from.is_some_and(ChallengeUser::is_bot)
    }
}

/// Those that wait, the first to be served first.
#[derive(Debug, Default)]
pub(super) struct Queue(Vec<Waiting>);

#[derive(Debug)]
struct Waiting {
    asked: Asked,
    rank: Rank,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One more waits.
    pub fn push(&mut self, asked: Asked, rank: Rank) {
        let key = |waiting: &Waiting| (waiting.rank, waiting.asked.since);
        let this = (rank, asked.since);
        let at = self.0.partition_point(|other| key(other) <= this);
        self.0.insert(at, Waiting { asked, rank });
    }

    /// This one does not wait any longer.
    pub fn take(&mut self, id: &ChallengeId) -> Option<Asked> {
        let at = self
            .0
            .iter()
            .position(|waiting| waiting.asked.challenge.id == *id)?;
        Some(self.0.remove(at).asked)
    }

    /// Who waits, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Asked> {
        self.0.iter().map(|waiting| &waiting.asked)
    }

    /// Those that are served before one that comes now with this rank.
    pub fn ahead_of(&self, rank: Rank) -> impl Iterator<Item = &Asked> {
        let ahead = self.0.iter().take_while(move |other| other.rank <= rank);
        ahead.map(|waiting| &waiting.asked)
    }

    /// Those that have waited long enough.
    pub fn tired(&mut self, patience: Duration, now: Instant) -> Vec<Asked> {
        self.split(|asked| now.saturating_duration_since(asked.since) < patience)
    }

    /// Those that came before `asked` and are not in the list that Lichess gave then: taken back, or their challengers
    /// have left. Offers of a rematch are never listed; of theirs we are told.
    pub fn gone(&mut self, listed: &[Challenge], asked: Instant) -> Vec<Asked> {
        self.split(|waiting| {
            let is_listed = |other: &Challenge| other.id == waiting.challenge.id;
            let rematch = waiting.challenge.rematch_of.is_some();
            rematch || waiting.since > asked || listed.iter().any(is_listed)
        })
    }

    /// All of them, in order.
    pub fn clear(&mut self) -> Vec<Asked> {
        self.split(|_| false)
    }

    /// Takes out those that do not stay.
    fn split(&mut self, stays: impl Fn(&Asked) -> bool) -> Vec<Asked> {
        let gone = self.0.extract_if(.., |waiting| !stays(&waiting.asked));
        gone.map(|waiting| waiting.asked).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: &str, since: Instant) -> Asked {
        let challenge = serde_json::json!({
            "id": id, "variant": {"key": "standard"}, "speed": "blitz",
            "timeControl": {"type": "clock", "limit": 180, "increment": 2},
        });
        Asked {
            challenge: serde_json::from_value(challenge).unwrap(),
            compat: None,
            age_days: None,
            since,
        }
    }

    fn ids(list: &[Asked]) -> Vec<&str> {
        list.iter()
            .map(|asked| asked.challenge.id.as_str())
            .collect()
    }

    /// Four that came one second after another.
    fn queue(start: Instant) -> Queue {
        let mut queue = Queue::default();
        for (n, (id, rank)) in [
            ("bot1", Rank::new(0, 1)),
            ("ann1", Rank::new(0, 0)),
            ("star", Rank::new(5, 1)),
            ("ben1", Rank::new(0, 0)),
        ]
        .into_iter()
        .enumerate()
        {
            queue.push(asked(id, start + Duration::from_secs(n as u64)), rank);
        }
        queue
    }

    #[test]
    fn by_rank_and_then_by_arrival() {
        let mut queue = queue(Instant::now());
        assert_eq!(queue.len(), 4);
        for (rank, ahead) in [((9, 0), 0), ((0, 0), 3), ((0, 1), 4)] {
            let rank = Rank::new(rank.0, rank.1);
            assert_eq!(queue.ahead_of(rank).count(), ahead);
        }
        assert_eq!(ids(&queue.clear()), ["star", "ann1", "ben1", "bot1"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn nobody_waits_for_ever() {
        let start = Instant::now();
        let mut queue = queue(start);
        let later = start + Duration::from_secs(11);
        let tired = queue.tired(Duration::from_secs(10), later);
        assert_eq!(ids(&tired), ["ann1", "bot1"]);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn who_is_not_listed_any_more_has_gone() {
        let start = Instant::now();
        let mut queue = queue(start);
        let listed = [*asked("ann1", start).challenge];
        // The last one came after the list was asked for.
        let gone = queue.gone(&listed, start + Duration::from_millis(2_500));
        assert_eq!(ids(&gone), ["star", "bot1"]);
        let ann = "ann1".parse().unwrap();
        assert!(queue.take(&ann).is_some() && queue.take(&ann).is_none());
        assert_eq!(ids(&queue.clear()), ["ben1"]);
    }
}
