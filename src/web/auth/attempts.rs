//! Limit on wrong keys from outside, by address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tracing::warn;

use crate::serve::network;
use crate::sync;

/// Wrong keys of one address in an [`ATTEMPT_WINDOW`] until its requests are refused unseen.
const MAX_WRONG_KEYS: u32 = 20;

/// Period in which wrong keys are counted.
pub(super) const ATTEMPT_WINDOW: Duration = Duration::from_secs(60);

/// Upper limit of addresses that are counted; beyond it, counting starts over.
const MAX_ADDRESSES: usize = 4_096;

/// Counts wrong keys.
#[derive(Debug)]
pub(super) struct Attempts(Mutex<Counts>);

#[derive(Debug)]
struct Counts {
    since: Instant,
    by_address: HashMap<IpAddr, u32>,
    warned: bool,
}

impl Default for Attempts {
    fn default() -> Self {
        Self(Mutex::new(Counts::new(Instant::now())))
    }
}

impl Attempts {
    /// Returns whether requests of this address are refused until the end of the window.
    pub(super) fn is_blocked(&self, address: IpAddr) -> bool {
        let counts = self.counts(Instant::now());
        let wrong = counts.by_address.get(&network(address));
        wrong.is_some_and(|wrong| *wrong >= MAX_WRONG_KEYS)
    }

    /// Counts a wrong key, and logs the first one of a window.
    pub(super) fn add_wrong_key(&self, address: IpAddr) {
        let mut counts = self.counts(Instant::now());
        if counts.by_address.len() >= MAX_ADDRESSES {
            counts.by_address.clear();
        }
        *counts.by_address.entry(network(address)).or_default() += 1;
        if !std::mem::replace(&mut counts.warned, true) {
            warn!(
                "the page has refused a wrong key from {address}; after {MAX_WRONG_KEYS} in a minute it ignores the address \
                 for the rest of the minute"
            );
        }
    }

    fn counts(&self, now: Instant) -> std::sync::MutexGuard<'_, Counts> {
        let mut counts = sync::lock(&self.0);
        if now.duration_since(counts.since) >= ATTEMPT_WINDOW {
            *counts = Counts::new(now);
        }
        counts
    }
}

impl Counts {
    fn new(since: Instant) -> Self {
        Self {
            since,
            by_address: HashMap::new(),
            warned: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_blocked_after_wrong_keys() {
        let attempts = Attempts::default();
        let address = |text: &str| -> IpAddr { text.parse().expect("an address") };
        let (one, other) = (address("2001:db8::1"), address("2001:db8:0:1::1"));
        for _ in 0..MAX_WRONG_KEYS {
            assert!(!attempts.is_blocked(one));
            attempts.add_wrong_key(one);
        }
        assert!(attempts.is_blocked(one) && attempts.is_blocked(address("2001:db8::ffff")));
        assert!(!attempts.is_blocked(other) && !attempts.is_blocked(address("192.0.2.1")));
    }

    #[test]
    fn number_of_counted_addresses_is_bounded() {
        let attempts = Attempts::default();
        for n in 0..3 * MAX_ADDRESSES as u32 {
            attempts.add_wrong_key(IpAddr::V4(n.into()));
        }
        assert!(attempts.counts(Instant::now()).by_address.len() <= MAX_ADDRESSES);
    }
}
