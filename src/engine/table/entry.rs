//! One entry of the table: two atomic words that every thread may read and write at any time, without a lock.
//!
//! Beside the data stands the key xor the data. Who reads one word of one write and one of another gets a pair that fits
//! no key, but for luck of one in 2^64, and counts it as a miss (Hyatt and Mann, "A lock-less transposition table
//! implementation for parallel search", 2002). `tests/it/table_races.rs` tries all the ways in which threads can meet here.

use super::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
pub(super) struct Entry {
    checksum: AtomicU64,
    data: AtomicU64,
}

impl Entry {
    /// What was written with this key.
    pub(super) fn read(&self, key: u64) -> Option<u64> {
        let data = self.data.load(Relaxed);
        (self.checksum.load(Relaxed) ^ data == key).then_some(data)
    }

    /// What was written last, with whatever key.
    pub(super) fn data(&self) -> u64 {
        self.data.load(Relaxed)
    }

    pub(super) fn write(&self, key: u64, data: u64) {
        self.data.store(data, Relaxed);
        self.checksum.store(key ^ data, Relaxed);
    }

    /// As if nothing had ever been written.
    pub(super) fn wipe(&self) {
        self.data.store(0, Relaxed);
        self.checksum.store(0, Relaxed);
    }
}
