//! Conditions under which a fault happens.

use std::time::Duration;

use super::{Endpoint, Fault};

/// A fault and its conditions. A condition that is `None` matches everything; all times count from the start of the site.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    /// Endpoint of the request.
    pub endpoint: Option<Endpoint>,
    /// Name of the user who sends the request.
    pub user: Option<String>,
    /// Game or challenge id.
    pub game: Option<String>,
    /// Only once the game has reached this ply.
    pub ply: Option<usize>,
    /// Start of the time window.
    pub from: Duration,
    /// End of the time window, exclusive.
    pub until: Option<Duration>,
    /// At this time if the fault concerns the site or open streams, otherwise with the first request after it.
    pub at: Option<Duration>,
    /// Repeats with this period; the counts of `nth` and `times` restart with each period.
    pub every: Option<Duration>,
    /// Probability for each matching request, line or period, from 0 to 1.
    pub probability: Option<f64>,
    /// The first matching request that is affected, counted from 1.
    pub nth: usize,
    /// Number of consecutive matching requests that are affected.
    pub times: usize,
    /// The fault.
    pub fault: Fault,
}

impl FaultRule {
    /// Affects the first request to this endpoint.
    pub fn on(endpoint: Endpoint, fault: Fault) -> Self {
        Self {
            endpoint: Some(endpoint),
            ..Self::new(fault)
        }
    }

    /// Affects the first request to any endpoint, or the site immediately.
    pub fn new(fault: Fault) -> Self {
        Self {
            endpoint: None,
            user: None,
            game: None,
            ply: None,
            from: Duration::ZERO,
            until: None,
            at: None,
            every: None,
            probability: None,
            nth: 1,
            times: 1,
            fault,
        }
    }

    /// Restricts the rule to requests of this user.
    pub fn from_user(self, name: &str) -> Self {
        Self {
            user: Some(name.to_owned()),
            ..self
        }
    }

    /// Restricts the rule to requests about this game or challenge.
    pub fn in_game(self, id: &str) -> Self {
        Self {
            game: Some(id.to_owned()),
            ..self
        }
    }

    /// The first matching request that is affected, counted from 1.
    pub fn nth(self, nth: usize) -> Self {
        Self { nth, ..self }
    }

    /// The number of consecutive requests that are affected.
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// The time at which the fault happens.
    pub fn at(self, at: Duration) -> Self {
        Self {
            at: Some(at),
            ..self
        }
    }

    /// Returns whether the rule fires on a timer, without a request: faults of the site, or of streams that are open.
    pub(super) fn is_scheduled(&self) -> bool {
        let timed = self.at.is_some() || self.every.is_some();
        match self.fault {
            Fault::Stream { .. } => {
                timed || self.ply.is_some() && self.endpoint != Some(Endpoint::GameStream)
            }
            _ => self.fault.affects_site() && self.endpoint.is_none(),
        }
    }

    pub(super) fn is_for(&self, request: &RequestContext<'_>) -> bool {
        let same_user = |wanted: &String| {
            request
                .user
                .is_some_and(|user| wanted.eq_ignore_ascii_case(user))
        };
        // Stream faults check the ply line by line.
        let stream = matches!(self.fault, Fault::Stream { .. });
        let ply_reached = |ply| stream || request.ply.is_some_and(|played| played >= ply);
        self.endpoint
            .is_none_or(|wanted| wanted == request.endpoint)
            && self.user.as_ref().is_none_or(same_user)
            && self
                .game
                .as_ref()
                .is_none_or(|wanted| request.game == Some(wanted.as_str()))
            && self.ply.is_none_or(ply_reached)
    }

    /// Returns whether this time lies between `from` and `until`.
    pub(super) fn is_in_window(&self, time: Duration) -> bool {
        time >= self.from && self.until.is_none_or(|until| time < until)
    }

    /// The number of the period at this time, counted from 0; without `every` there is one. `None` before it starts.
    pub(super) fn period(&self, time: Duration) -> Option<u64> {
        let first = match (self.at, self.every) {
            (Some(at), _) => at,
            (None, Some(every)) => self.from + every,
            (None, None) => self.from,
        };
        let passed = time.checked_sub(first)?;
        Some(match self.every {
            Some(every) => (passed.as_millis() / every.as_millis().max(1)) as u64,
            None => 0,
        })
    }

    pub(super) fn period_start(&self, period: u64) -> Duration {
        let every = self.every.unwrap_or_default();
        let first = self.at.unwrap_or(self.from + every);
        first + every.saturating_mul(u32::try_from(period).unwrap_or(u32::MAX))
    }
}

/// The properties of a request that rules match on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestContext<'a> {
    pub endpoint: Endpoint,
    pub user: Option<&'a str>,
    pub game: Option<&'a str>,
    /// Plies played in that game.
    pub ply: Option<usize>,
    /// Since the start of the site.
    pub time: Duration,
}
