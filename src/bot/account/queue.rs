//! Queue of challenges that wait for a slot.

use std::time::{Duration, Instant};

use crate::bot::policy::{MatchInput, Rank};
use crate::lichess::model::{Challenge, ChallengeId, Compat, Username};

/// Incoming challenge.
#[derive(Debug)]
pub(super) struct IncomingChallenge {
    pub challenge: Box<Challenge>,
    pub compat: Option<Compat>,
    /// The challenge as rules see it.
    pub input: MatchInput,
    pub received_at: Instant,
    /// A list of challenges has contained it.
    pub listed: bool,
}

impl IncomingChallenge {
    pub(super) fn new(challenge: Box<Challenge>, compat: Option<Compat>, now: Instant) -> Self {
        Self {
            input: MatchInput::of_challenge(&challenge, None),
            challenge,
            compat,
            received_at: now,
            listed: false,
        }
    }

    /// Returns whether another challenge of this user replaces it: not if it is to a rematch.
    pub(super) fn is_replaceable_by(&self, user: &Username) -> bool {
        self.input.name.as_ref() == Some(user) && self.challenge.rematch_of.is_none()
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

    /// Removes the last challenge if there are more than `size`.
    pub(super) fn take_excess(&mut self, size: usize) -> Option<IncomingChallenge> {
        let last = (self.0.len() > size).then(|| self.0.pop()).flatten();
        last.map(|waiting| waiting.incoming)
    }

    /// Removes challenges that another one of this user replaces.
    pub(super) fn take_replaced_by(&mut self, user: &Username) -> Vec<IncomingChallenge> {
        self.extract(|incoming| !incoming.is_replaceable_by(user))
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
    /// canceled, or their challengers have left. An offer of a rematch made in the game is never listed; Lichess
    /// reports when it ends. Other challenges to a rematch are listed like any challenge.
    pub(super) fn take_unlisted(
        &mut self,
        listed: &[Challenge],
        requested_at: Instant,
    ) -> Vec<IncomingChallenge> {
        for Waiting { incoming, .. } in &mut self.0 {
            let is_this = |other: &Challenge| other.id == incoming.challenge.id;
            incoming.listed |= listed.iter().any(is_this);
        }
        self.extract(|waiting| {
            let is_this = |other: &Challenge| other.id == waiting.challenge.id;
            let is_offer = waiting.challenge.rematch_of.is_some() && !waiting.listed;
            is_offer || waiting.received_at > requested_at || listed.iter().any(is_this)
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
        challenge(id, None, received_at)
    }

    fn challenge(id: &str, rematch_of: Option<&str>, received_at: Instant) -> IncomingChallenge {
        let challenge = serde_json::json!({
            "id": id, "variant": {"key": "standard"}, "speed": "blitz", "rematchOf": rematch_of,
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
        assert!(queue.take_excess(4).is_none());
        let last = queue.take_excess(3).expect("a challenge");
        assert_eq!(last.challenge.id.as_str(), "bot1");
        assert_eq!(ids(&queue.clear()), ["star", "ann1", "ben1"]);
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

    #[test]
    fn queue_drops_rematch_only_after_it_was_listed() {
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let mut queue = ChallengeQueue::default();
        for id in ["ingame01", "onweb001"] {
            queue.push(challenge(id, Some("lastgame"), start), Rank::new(0, 0));
        }
        let listed = [*incoming("onweb001", start).challenge];
        assert!(queue.take_unlisted(&listed, at(1)).is_empty());
        // The queue is cleared and filled whenever it is served.
        for incoming in queue.clear() {
            queue.push(incoming, Rank::new(0, 0));
        }
        assert_eq!(ids(&queue.take_unlisted(&[], at(2))), ["onweb001"]);
        assert_eq!(ids(&queue.clear()), ["ingame01"]);
    }
}
