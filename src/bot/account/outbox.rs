//! Requests that others cause by their challenges: a few at a time, so that a burst of them takes neither connections nor
//! descriptors from the moves.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most that wait to be sent.
const MOST_WAITING: usize = 1_000;

/// What is to be sent, in its order.
#[derive(Debug)]
pub(super) struct Outbox<T> {
    waiting: VecDeque<T>,
    permits: Arc<Semaphore>,
}

impl<T> Outbox<T> {
    /// One of which so many are under way at once.
    pub fn new(at_once: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            permits: Arc::new(Semaphore::new(at_once)),
        }
    }

    /// One more is to be sent. When too many wait the oldest is given back, and not sent.
    pub fn push(&mut self, item: T) -> Option<T> {
        self.waiting.push_back(item);
        let full = self.waiting.len() > MOST_WAITING;
        full.then(|| self.waiting.pop_front()).flatten()
    }

    /// What is to be sent now, if anything is. It is under way until the permit is dropped.
    pub fn next(&mut self) -> Option<(T, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        Some((self.waiting.pop_front()?, permit))
    }

    /// The first of these that waits, which need not be sent any more.
    pub fn take(&mut self, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        let at = self.waiting.iter().position(is_meant)?;
        self.waiting.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_under_way_and_what_waits_is_bounded() {
        let mut outbox = Outbox::new(2);
        for n in 0..MOST_WAITING {
            assert_eq!(outbox.push(n), None);
        }
        assert_eq!(outbox.push(MOST_WAITING), Some(0));
        assert_eq!(outbox.take(|n| *n == 1), Some(1));
        assert_eq!(outbox.take(|n| *n == 1), None);
        let (first, permit) = outbox.next().unwrap();
        let (second, _kept) = outbox.next().unwrap();
        assert_eq!((first, second), (2, 3));
        assert!(outbox.next().is_none());
        drop(permit);
        assert_eq!(outbox.next().unwrap().0, 4);
    }
}
