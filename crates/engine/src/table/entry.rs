//! Lockless table entry: two atomic words that every thread may read and write at any time.
//!
//! The first word is the key xor the data. If one word comes from one write and the other from another, the pair fits
//! no key (except with probability 2^-64) and counts as a miss (Hyatt and Mann, "A lock-less transposition table
//! implementation for parallel search", 2002). `crates/engine/tests/table_races.rs` checks all interleavings.

use super::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
pub(super) struct Entry {
    checksum: AtomicU64,
    data: AtomicU64,
}

impl Entry {
    /// The data if the entry was written with this key.
    pub(super) fn read(&self, key: u64) -> Option<u64> {
        let data = self.data.load(Relaxed);
        (self.checksum.load(Relaxed) ^ data == key).then_some(data)
    }

    /// The data, whatever its key.
    pub(super) fn data(&self) -> u64 {
        self.data.load(Relaxed)
    }

    pub(super) fn write(&self, key: u64, data: u64) {
        self.data.store(data, Relaxed);
        self.checksum.store(key ^ data, Relaxed);
    }

    pub(super) fn clear(&self) {
        self.data.store(0, Relaxed);
        self.checksum.store(0, Relaxed);
    }
}
