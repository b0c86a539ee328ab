//! Queue of challenges that wait for a slot.

use std::time::{Duration, Instant};

use crate::bot::policy::{MatchInput, Rank};
use crate::lichess::model::{Challenge, ChallengeId, Compat};

/// Incoming challenge.
#[derive(Debug)]
pub(super) struct IncomingChallenge {
    pub challenge: Box<Challenge>,
    pub compat: Option<Compat>,
    /// The challenge as rules see it.
    pub input: MatchInput,
    pub received_at: Instant,
}

impl IncomingChallenge {
    pub(super) fn new(challenge: Box<Challenge>, compat: Option<Compat>, now: Instant) -> Self {
        Self {
            input: MatchInput::of_challenge(&challenge, None),
            challenge,
            compat,
            received_at: now,
        }
    }

    /// Returns whether the challenger is a person.
    pub(super) fn is_human(&self) -> bool {
        !self.input.bot
    }
}

/// Waiting challenges, the first to be served first.
#[derive(Debug, Default)]
pub(super) struct ChallengeQueue(Vec<Waiting>);

#[derive(Debug)]
struct Waiting {
    incoming: IncomingChallenge,
    rank: Rank,
}

impl ChallengeQueue {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a challenge by its rank.
    pub(super) fn push(&mut self, incoming: IncomingChallenge, rank: Rank) {
        let key = |waiting: &Waiting| (waiting.rank, waiting.incoming.received_at);
        let this = (rank, incoming.received_at);
        let at = self.0.partition_point(|other| key(other) <= this);
        self.0.insert(at, Waiting { incoming, rank });
    }

    /// Removes a challenge.
    pub(super) fn remove(&mut self, id: &ChallengeId) -> Option<IncomingChallenge> {
        let at = self.iter().position(|it| it.challenge.id == *id)?;
        Some(self.0.remove(at).incoming)
    }

    /// Waiting challenges in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &IncomingChallenge> {
        self.0.iter().map(|waiting| &waiting.incoming)
    }

    /// Challenges that would be served before a new one of this rank.
    pub(super) fn ahead_of(&self, rank: Rank) -> impl Iterator<Item = &IncomingChallenge> {
        let ahead = self.0.iter().take_while(move |other| other.rank <= rank);
        ahead.map(|waiting| &waiting.incoming)
    }

    /// Removes challenges that have waited longer than `timeout`.
    pub(super) fn take_expired(
        &mut self,
        timeout: Duration,
        now: Instant,
    ) -> Vec<IncomingChallenge> {
        self.extract(|incoming| now.saturating_duration_since(incoming.received_at) < timeout)
    }

    /// Removes challenges received before `requested_at` that are not in the list requested then: they were
    /// canceled, or their challengers have left. Offers of a rematch are never listed; Lichess reports when they
    /// end.
    pub(super) fn take_unlisted(
        &mut self,
        listed: &[Challenge],
        incoming: Instant,
    ) -> Vec<IncomingChallenge> {
        self.extract(|waiting| {
            let is_listed = |other: &Challenge| other.id == waiting.challenge.id;
            let rematch = waiting.challenge.rematch_of.is_some();
            rematch || waiting.received_at > incoming || listed.iter().any(is_listed)
        })
    }

    /// Removes all challenges, in order.
    pub(super) fn clear(&mut self) -> Vec<IncomingChallenge> {
        self.extract(|_| false)
    }

    /// Removes those for which `keep` is false.
    fn extract(&mut self, keep: impl Fn(&IncomingChallenge) -> bool) -> Vec<IncomingChallenge> {
        let removed = self.0.extract_if(.., |waiting| !keep(&waiting.incoming));
        removed.map(|waiting| waiting.incoming).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming(id: &str, received_at: Instant) -> IncomingChallenge {
        let challenge = serde_json::json!({
            "id": id, "variant": {"key": "standard"}, "speed": "blitz",
            "timeControl": {"type": "clock", "limit": 180, "increment": 2},
        });
        let challenge = serde_json::from_value(challenge).unwrap();
        IncomingChallenge::new(challenge, None, received_at)
    }

    fn ids(list: &[IncomingChallenge]) -> Vec<&str> {
        list.iter()
            .map(|incoming| incoming.challenge.id.as_str())
            .collect()
    }

    /// Four challenges, one second apart.
    fn queue(start: Instant) -> ChallengeQueue {
        let mut queue = ChallengeQueue::default();
        for (n, (id, rank)) in [
            ("bot1", Rank::new(0, 1)),
            ("ann1", Rank::new(0, 0)),
            ("star", Rank::new(5, 1)),
            ("ben1", Rank::new(0, 0)),
        ]
        .into_iter()
        .enumerate()
        {
            queue.push(incoming(id, start + Duration::from_secs(n as u64)), rank);
        }
        queue
    }

    #[test]
    fn queue_orders_by_rank_then_arrival() {
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
    fn queue_drops_expired_challenges() {
        let start = Instant::now();
        let mut queue = queue(start);
        let later = start + Duration::from_secs(11);
        let expired = queue.take_expired(Duration::from_secs(10), later);
        assert_eq!(ids(&expired), ["ann1", "bot1"]);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn queue_drops_unlisted_challenges() {
        let start = Instant::now();
        let mut queue = queue(start);
        let listed = [*incoming("ann1", start).challenge];
        // The last one came after the list was requested.
        let removed = queue.take_unlisted(&listed, start + Duration::from_millis(2_500));
        assert_eq!(ids(&removed), ["star", "bot1"]);
        let ann = "ann1".parse().unwrap();
        assert!(queue.remove(&ann).is_some() && queue.remove(&ann).is_none());
        assert_eq!(ids(&queue.clear()), ["ben1"]);
    }
}
