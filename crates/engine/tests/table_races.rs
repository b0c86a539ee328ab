//! Races on an entry of the transposition table: loom tries all orders in which reads and writes of threads can take
//! effect, including those of weak memory models.

use loom::sync::Arc;
use loom::thread;

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}

/// The engine's own source, with loom's atomics.
#[path = "../src/table/entry.rs"]
mod entry;

use entry::Entry;

/// Keys and data of three positions; no mix of two of them fits the third.
const WRITES: [(u64, u64); 3] = [
    (0x463b_9618_1691_fc9c, 0x0102_0304_0506_0708),
    (0x823c_9b50_fd11_4196, 0x1121_3141_5161_7181),
    (0x0756_b944_61c5_0fb0, 0xf0e1_d2c3_b4a5_9687),
];

#[test]
fn read_during_writes_returns_whole_entry_or_none() {
    // One model per position; all three in one would take a minute.
    for (key, data) in WRITES {
        loom::model(move || {
            let entry = Arc::new(Entry::default());
            entry.write(WRITES[0].0, WRITES[0].1);
            let writers = [WRITES[1], WRITES[2]].map(|(key, data)| {
                let entry = entry.clone();
                thread::spawn(move || entry.write(key, data))
            });
            let read = entry.read(key);
            assert!(read.is_none() || read == Some(data), "{key:x}: {read:?}");
            for writer in writers {
                writer.join().unwrap();
            }
        });
    }
}

#[test]
fn read_after_join_returns_the_entry() {
    loom::model(|| {
        let entry = Arc::new(Entry::default());
        let (key, data) = WRITES[0];
        let theirs = entry.clone();
        thread::spawn(move || theirs.write(key, data))
            .join()
            .unwrap();
        assert_eq!((entry.read(key), entry.data()), (Some(data), data));
        entry.clear();
        assert_eq!((entry.read(key), entry.read(0)), (None, Some(0)));
    });
}
