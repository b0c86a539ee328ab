//! What the accounts of one daemon have in common beside the engine: how much it carries for all of them, and what they
//! have asked of Lichess from this address.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// See the module's text. Clones are the same hall.
#[derive(Clone, Debug, Default)]
pub struct SharedLoad(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    games: AtomicUsize,
    places: AtomicUsize,
    challenges: AtomicU64,
}

impl SharedLoad {
    /// Games with a clock that are on, of all accounts.
    pub fn games(&self) -> usize {
        self.0.games.load(Ordering::Relaxed)
    }

    /// Games that are wanted at once, of all accounts.
    pub fn places(&self) -> usize {
        self.0.places.load(Ordering::Relaxed)
    }

    /// An account has so many games instead of so many.
    pub(super) fn play(&self, before: usize, now: usize) {
        change(&self.0.games, before, now);
    }

    /// And wants so many at once.
    pub(super) fn want(&self, before: usize, now: usize) {
        change(&self.0.places, before, now);
    }

    /// Challenges that were made so far, by all accounts.
    pub(super) fn challenges(&self) -> u64 {
        self.0.challenges.load(Ordering::Relaxed)
    }

    /// One more.
    pub(super) fn challenged(&self) {
        self.0.challenges.fetch_add(1, Ordering::Relaxed);
    }
}

/// Adding wraps, as a difference below zero does.
fn change(count: &AtomicUsize, before: usize, now: usize) {
    count.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_come_and_go() {
        let hall = SharedLoad::default();
        hall.want(0, 4);
        hall.want(0, 1);
        hall.play(0, 3);
        hall.play(0, 1);
        assert_eq!((hall.games(), hall.places()), (4, 5));
        hall.play(3, 2);
        hall.want(4, 0);
        assert_eq!((hall.games(), hall.places()), (3, 1));
    }
}
