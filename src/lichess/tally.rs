//! How many requests of each kind were made, and what became of them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::error::Error;
use super::retry::Kind;

/// What can become of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It was answered as one hopes; a stream was opened.
    Done,
    /// 429, or held back here because of one.
    Limited,
    /// Another 4xx.
    Refused,
    /// 5xx.
    Down,
    /// No answer, no connection, or a broken one.
    Lost,
}

impl Fate {
    /// Every fate, in the order of their numbers.
    pub const ALL: [Fate; 5] = [
        Fate::Done,
        Fate::Limited,
        Fate::Refused,
        Fate::Down,
        Fate::Lost,
    ];

    /// The word for it in metrics.
    pub fn key(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Limited => "limited",
            Self::Refused => "refused",
            Self::Down => "down",
            Self::Lost => "lost",
        }
    }

    fn of(error: &Error) -> Self {
        match (error, error.code()) {
            (Error::Paused(..), _) | (_, Some(429)) => Self::Limited,
            (_, Some(code)) if code >= 500 => Self::Down,
            (_, Some(_)) => Self::Refused,
            (_, None) => Self::Lost,
        }
    }
}

/// The counts of one client since it was made. They only grow.
#[derive(Debug, Default)]
pub struct Tally([[AtomicU64; Fate::ALL.len()]; Kind::ALL.len()]);

impl Tally {
    /// How many requests of this kind had this fate.
    pub fn count(&self, kind: Kind, fate: Fate) -> u64 {
        self.0[kind as usize][fate as usize].load(Ordering::Relaxed)
    }

    /// How many requests of all kinds had this fate.
    pub fn total(&self, fate: Fate) -> u64 {
        Kind::ALL.iter().map(|&kind| self.count(kind, fate)).sum()
    }

    pub(super) fn note<T>(&self, kind: Kind, outcome: &Result<T, Error>) {
        let fate = outcome.as_ref().err().map_or(Fate::Done, Fate::of);
        self.0[kind as usize][fate as usize].fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lichess::error::Refusal;

    #[test]
    fn every_outcome_is_counted_under_its_kind() {
        let tally = Tally::default();
        let status = |code| Err::<(), _>(Error::Status(Refusal::read(code, None, b"")));
        tally.note(Kind::Move, &Ok(()));
        tally.note(Kind::Move, &status(429));
        tally.note(Kind::Move, &status(502));
        tally.note(Kind::Chat, &status(400));
        let paused = Error::Paused(Kind::Chat, Duration::from_secs(1));
        tally.note(Kind::Chat, &Err::<(), _>(paused));
        let late = Error::Timeout(Duration::from_secs(2));
        tally.note(Kind::Query, &Err::<(), _>(late));
        assert_eq!(tally.count(Kind::Move, Fate::Done), 1);
        assert_eq!(tally.count(Kind::Move, Fate::Limited), 1);
        assert_eq!(tally.count(Kind::Move, Fate::Down), 1);
        assert_eq!(tally.count(Kind::Chat, Fate::Refused), 1);
        assert_eq!(tally.count(Kind::Chat, Fate::Limited), 1);
        assert_eq!(tally.count(Kind::Query, Fate::Lost), 1);
        assert_eq!(tally.total(Fate::Limited), 2);
    }
}
