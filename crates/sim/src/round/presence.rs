//! Presence of a player in a game.

use std::time::Duration;

use crate::site::SimTime;

/// Interval of events about an absent player.
const GONE_EVENT_INTERVAL: Duration = Duration::from_secs(5);

/// Presence of one player in one game.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    is_builtin: bool,
    away_since: Option<SimTime>,
    claimable: bool,
    next_event: SimTime,
}

impl Presence {
    /// Built-in players are always present; others are absent until they open a stream.
    pub(crate) fn new(is_builtin: bool, now: SimTime) -> Self {
        Self {
            is_builtin,
            away_since: (!is_builtin).then_some(now),
            claimable: false,
            next_event: now,
        }
    }

    pub(crate) fn is_builtin(&self) -> bool {
        self.is_builtin
    }

    /// Marks the player as present. Returns whether the opponent could have claimed the game.
    pub(crate) fn on_returned(&mut self) -> bool {
        self.away_since = None;
        std::mem::take(&mut self.claimable)
    }

    /// Marks the player as absent after their last stream was closed. Built-in players stay present.
    pub(crate) fn on_left(&mut self, now: SimTime) {
        if !self.is_builtin && self.away_since.is_none() {
            self.away_since = Some(now);
            self.next_event = now;
        }
    }

    /// Marks the player as absent, also a built-in one.
    pub(crate) fn leave(&mut self, now: SimTime) {
        self.away_since = Some(now);
        self.next_event = now;
    }

    pub(crate) fn absent_for(&self, now: SimTime) -> Option<Duration> {
        Some(now.since(self.away_since?))
    }

    /// Returns whether an event about this absence is due; `claimable`: the opponent can claim the game now.
    pub(crate) fn takes_event(&mut self, claimable: bool, now: SimTime) -> bool {
        let away = self.absent_for(now).unwrap_or_default();
        if away <= GONE_EVENT_INTERVAL || now < self.next_event {
            return false;
        }
        self.next_event = now + GONE_EVENT_INTERVAL;
        self.claimable |= claimable;
        true
    }
}
