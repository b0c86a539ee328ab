//! When something goes wrong.

use std::time::Duration;

use serde::Deserialize;

use super::table::Table;
use super::{Endpoint, Fault};

/// When a fault strikes, and which calls. What is `None` matches everything; all times count from the start of the site.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Table")]
pub struct Rule {
    pub endpoint: Option<Endpoint>,
    /// Name of the user who calls.
    pub user: Option<String>,
    /// Game or challenge id.
    pub game: Option<String>,
    /// Only when the game has come to this ply.
    pub ply: Option<usize>,
    /// Not before this time.
    pub from: Duration,
    /// Not from this time on.
    pub until: Option<Duration>,
    /// At this time by itself when it concerns the site or open streams, else with the next call.
    pub at: Option<Duration>,
    /// Again and again, each time after this long.
    pub every: Option<Duration>,
    /// Each time with this probability only.
    pub probability: Option<f64>,
    /// The first matching call that is struck, counted from 1.
    pub nth: usize,
    /// How many calls in a row are struck.
    pub times: usize,
    pub fault: Fault,
}

impl Rule {
    /// Strikes the first call of this kind.
    pub fn on(endpoint: Endpoint, fault: Fault) -> Self {
        Self {
            endpoint: Some(endpoint),
            ..Self::of(fault)
        }
    }

    /// Strikes the first call of any kind, or the site at once.
    pub fn of(fault: Fault) -> Self {
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

    /// Only calls of this user.
    pub fn of_user(self, name: &str) -> Self {
        Self {
            user: Some(name.to_owned()),
            ..self
        }
    }

    /// Only calls in this game or challenge.
    pub fn in_game(self, id: &str) -> Self {
        Self {
            game: Some(id.to_owned()),
            ..self
        }
    }

    /// Strikes from this call on, counted from 1.
    pub fn nth(self, nth: usize) -> Self {
        Self { nth, ..self }
    }

    /// Strikes so many calls in a row.
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    pub fn at(self, at: Duration) -> Self {
        Self {
            at: Some(at),
            ..self
        }
    }

    /// Whether it acts by itself, without a call: on the site, or on streams that are open.
    pub(super) fn acts_by_itself(&self) -> bool {
        let timed = self.at.is_some() || self.every.is_some();
        match self.fault {
            Fault::Stream { .. } => {
                timed || self.ply.is_some() && self.endpoint != Some(Endpoint::GameStream)
            }
            _ => self.fault.is_of_the_site() && self.endpoint.is_none(),
        }
    }

    pub(super) fn is_for(&self, call: &Circumstances<'_>) -> bool {
        let same_user = |mine: &String| {
            call.user
                .is_some_and(|user| mine.eq_ignore_ascii_case(user))
        };
        // Streams look at the ply line by line.
        let stream = matches!(self.fault, Fault::Stream { .. });
        let far_enough = |ply| stream || call.ply.is_some_and(|played| played >= ply);
        self.endpoint.is_none_or(|mine| mine == call.endpoint)
            && self.user.as_ref().is_none_or(same_user)
            && self
                .game
                .as_ref()
                .is_none_or(|mine| call.game == Some(mine.as_str()))
            && self.ply.is_none_or(far_enough)
    }

    /// Whether it may strike at this time at all.
    pub(super) fn is_open(&self, time: Duration) -> bool {
        time >= self.from && self.until.is_none_or(|until| time < until)
    }

    /// The number of the occasion at this time, counted from 0: there is one, or one for each period.
    pub(super) fn occasion(&self, time: Duration) -> Option<u64> {
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

    /// When this occasion begins.
    pub(super) fn begins(&self, occasion: u64) -> Duration {
        let every = self.every.unwrap_or_default();
        let first = self.at.unwrap_or(self.from + every);
        first + every.saturating_mul(u32::try_from(occasion).unwrap_or(u32::MAX))
    }
}

/// What a call is like when faults are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances<'a> {
    pub endpoint: Endpoint,
    pub user: Option<&'a str>,
    pub game: Option<&'a str>,
    /// How far that game has come.
    pub ply: Option<usize>,
    /// Since the start of the site.
    pub time: Duration,
}
