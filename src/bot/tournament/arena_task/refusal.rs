//! Refused joins, and when to try again.

use std::time::{Duration, Instant};

use crate::backoff::Backoff;
use crate::config::ArenaEntry;
use crate::lichess::model::Arena;
use crate::seconds::HOUR;

/// Interval between polls of an arena that has refused the account, until it starts. It is joined again as soon as
/// the reasons on its page, or the arguments of the join, have changed.
pub(super) const REFUSED_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// Interval between polls of an arena that refuses the account and starts after this time. The last poll is at the
/// start.
pub(super) fn refused_poll_interval(starts_in: Duration) -> Duration {
    REFUSED_POLL_INTERVAL.min(starts_in + Duration::from_secs(1))
}

/// Waits before an unchanged arena is joined again: its password may have changed. They grow, since Lichess counts
/// refused joins too.
const REJOIN_BACKOFF: Backoff = Backoff::new(Duration::from_secs(600), Duration::from_secs(HOUR));

/// The arena has refused the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JoinRefusal {
    /// Arguments of the join.
    joining: ArenaEntry,
    /// Reasons on the page of the arena.
    reasons: Vec<String>,
    /// Refusals so far.
    times: u32,
    /// When to join again although nothing has changed.
    pub(super) again: Instant,
}

impl JoinRefusal {
    /// Wait until something may have changed, if nothing has. The last attempt is made at the start.
    pub(super) fn wait(
        &self,
        arena: &Arena,
        joining: &ArenaEntry,
        now: Instant,
    ) -> Option<Duration> {
        let starts_in = arena.starts_in?;
        let same = self.reasons == arena.unmet_requirements && self.joining == *joining;
        let left = self.again.saturating_duration_since(now);
        (same && !left.is_zero()).then(|| refused_poll_interval(starts_in).min(left))
    }

    /// State after another refusal.
    pub(super) fn next(
        before: Option<&Self>,
        arena: &Arena,
        joining: ArenaEntry,
        now: Instant,
    ) -> Self {
        let times = before.map_or(0, |before| before.times).saturating_add(1);
        Self {
            joining,
            reasons: arena.unmet_requirements.clone(),
            times,
            again: now + REJOIN_BACKOFF.delay(times - 1),
        }
    }
}
