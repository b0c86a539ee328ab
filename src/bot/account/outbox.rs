//! Bounded queue of requests caused by other users. A few are in flight at once, so that a burst of challenges takes
//! neither connections nor descriptors from the moves.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests that may wait.
const MAX_WAITING: usize = 1_000;

/// Queue of requests with a limit of requests in flight.
#[derive(Debug)]
pub(super) struct Outbox<T, const MAX_IN_FLIGHT: usize> {
    waiting: VecDeque<T>,
    permits: Arc<Semaphore>,
}

impl<T, const MAX_IN_FLIGHT: usize> Default for Outbox<T, MAX_IN_FLIGHT> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
        }
    }
}

impl<T, const MAX_IN_FLIGHT: usize> Outbox<T, MAX_IN_FLIGHT> {
    /// Adds a request. If too many wait, the oldest is removed and returned.
    pub(super) fn push(&mut self, item: T) -> Option<T> {
        self.waiting.push_back(item);
        let full = self.waiting.len() > MAX_WAITING;
        full.then(|| self.waiting.pop_front()).flatten()
    }

    /// Next request to be sent now. It is in flight until the permit is dropped.
    pub(super) fn next(&mut self) -> Option<(T, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        Some((self.waiting.pop_front()?, permit))
    }

    /// Removes the first matching request that has not been sent.
    pub(super) fn remove_first(&mut self, matches: impl Fn(&T) -> bool) -> Option<T> {
        let at = self.waiting.iter().position(matches)?;
        self.waiting.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outbox_limits_in_flight_and_waiting() {
        let mut outbox = Outbox::<_, 2>::default();
        for n in 0..MAX_WAITING {
            assert_eq!(outbox.push(n), None);
        }
        assert_eq!(outbox.push(MAX_WAITING), Some(0));
        assert_eq!(outbox.remove_first(|n| *n == 1), Some(1));
        assert_eq!(outbox.remove_first(|n| *n == 1), None);
        let (first, permit) = outbox.next().unwrap();
        let (second, _kept) = outbox.next().unwrap();
        assert_eq!((first, second), (2, 3));
        assert!(outbox.next().is_none());
        drop(permit);
        assert_eq!(outbox.next().unwrap().0, 4);
    }
}
