//! Counts of requests by kind and outcome.

use std::sync::atomic::{AtomicU64, Ordering};

use knightwatch_util::keys;

use super::error::Error;
use super::retry::RequestKind;

keys! {
    /// Outcome of a request.
    pub enum Outcome {
        /// Success; a stream was opened.
        Done = "done",
        /// 429, or not sent because of an earlier one.
        Limited = "limited",
        /// Other 4xx.
        Refused = "refused",
        /// 5xx.
        Down = "down",
        /// No response, no connection, a broken one, or not sent in time.
        Lost = "lost",
    }
}

impl Outcome {
    fn of(error: &Error) -> Self {
        match (error, error.code()) {
            (Error::Paused(..), _) | (_, Some(429)) => Self::Limited,
            (_, Some(code)) if code >= 500 => Self::Down,
            (_, Some(_)) => Self::Refused,
            (_, None) => Self::Lost,
        }
    }
}

/// Counts of one client. They only grow.
#[derive(Debug, Default)]
pub struct RequestCounts([[AtomicU64; Outcome::ALL.len()]; RequestKind::ALL.len()]);

impl RequestCounts {
    /// Number of requests of this kind with this outcome.
    pub fn count(&self, kind: RequestKind, outcome: Outcome) -> u64 {
        self.0[kind as usize][outcome as usize].load(Ordering::Relaxed)
    }

    /// Number of requests of all kinds with this outcome.
    pub fn total(&self, outcome: Outcome) -> u64 {
        RequestKind::ALL
            .iter()
            .map(|&kind| self.count(kind, outcome))
            .sum()
    }

    pub(super) fn record<T>(&self, kind: RequestKind, outcome: &Result<T, Error>) {
        let outcome = outcome.as_ref().err().map_or(Outcome::Done, Outcome::of);
        self.0[kind as usize][outcome as usize].fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::ErrorResponse;

    #[test]
    fn outcomes_are_counted_by_kind() {
        let request_counts = RequestCounts::default();
        let status = |code| Err::<(), _>(Error::Status(ErrorResponse::read(code, None, b"")));
        request_counts.record(RequestKind::Move, &Ok(()));
        request_counts.record(RequestKind::Move, &status(429));
        request_counts.record(RequestKind::Move, &status(502));
        request_counts.record(RequestKind::Chat, &status(400));
        let paused = Error::Paused(RequestKind::Chat, Duration::from_secs(1));
        request_counts.record(RequestKind::Chat, &Err::<(), _>(paused));
        let late = Error::Timeout(Duration::from_secs(2));
        request_counts.record(RequestKind::Query, &Err::<(), _>(late));
        assert_eq!(request_counts.count(RequestKind::Move, Outcome::Done), 1);
        assert_eq!(request_counts.count(RequestKind::Move, Outcome::Limited), 1);
        assert_eq!(request_counts.count(RequestKind::Move, Outcome::Down), 1);
        assert_eq!(request_counts.count(RequestKind::Chat, Outcome::Refused), 1);
        assert_eq!(request_counts.count(RequestKind::Chat, Outcome::Limited), 1);
        assert_eq!(request_counts.count(RequestKind::Query, Outcome::Lost), 1);
        assert_eq!(request_counts.total(Outcome::Limited), 2);
    }
}
