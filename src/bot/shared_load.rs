//! Load shared by the accounts of one process: running games, configured concurrency, and challenges sent from this
//! address.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counters of all accounts. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SharedLoad(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    games: AtomicUsize,
    concurrency: AtomicUsize,
    challenges: AtomicU64,
}

impl SharedLoad {
    /// Running games with a clock.
    pub fn running_games(&self) -> usize {
        self.0.games.load(Ordering::Relaxed)
    }

    /// Sum of the configured concurrency.
    pub fn concurrency(&self) -> usize {
        self.0.concurrency.load(Ordering::Relaxed)
    }

    /// Updates this account's share of the running games.
    pub(super) fn update_games(&self, before: usize, now: usize) {
        add_difference(&self.0.games, before, now);
    }

    /// Updates this account's share of the configured concurrency.
    pub(super) fn update_concurrency(&self, before: usize, now: usize) {
        add_difference(&self.0.concurrency, before, now);
    }

    /// Challenges created since the start.
    pub(super) fn challenges_created(&self) -> u64 {
        self.0.challenges.load(Ordering::Relaxed)
    }

    pub(super) fn record_challenge(&self) {
        self.0.challenges.fetch_add(1, Ordering::Relaxed);
    }
}

/// Adds `now - before`; wraps if that is negative.
fn add_difference(count: &AtomicUsize, before: usize, now: usize) {
    count.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_of_accounts_is_summed() {
        let load = SharedLoad::default();
        load.update_concurrency(0, 4);
        load.update_concurrency(0, 1);
        load.update_games(0, 3);
        load.update_games(0, 1);
        assert_eq!((load.running_games(), load.concurrency()), (4, 5));
        load.update_games(3, 2);
        load.update_concurrency(4, 0);
        assert_eq!((load.running_games(), load.concurrency()), (3, 1));
    }
}
