//! Threads that meet in one entry of the transposition table: loom tries all orders in which their reads and writes can take
//! effect, with what a processor with a weak memory may make of them.

use loom::sync::Arc;
use loom::thread;

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}

/// The engine's own source, with loom's atomics in place of the real ones.
#[path = "../../src/engine/table/entry.rs"]
mod entry;

use entry::Entry;

/// Keys and data of three positions, no two of which can be mixed to fit a third.
const WRITES: [(u64, u64); 3] = [
    (0x463b_9618_1691_fc9c, 0x0102_0304_0506_0708),
    (0x823c_9b50_fd11_4196, 0x1121_3141_5161_7181),
    (0x0756_b944_61c5_0fb0, 0xf0e1_d2c3_b4a5_9687),
];

#[test]
fn a_reader_gets_what_was_written_or_nothing() {
    // A question for each position; all three in one model would take a minute.
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
fn what_one_thread_wrote_another_reads_in_the_end() {
    loom::model(|| {
        let entry = Arc::new(Entry::default());
        let (key, data) = WRITES[0];
        let theirs = entry.clone();
        thread::spawn(move || theirs.write(key, data))
            .join()
            .unwrap();
        assert_eq!((entry.read(key), entry.data()), (Some(data), data));
        entry.wipe();
        assert_eq!((entry.read(key), entry.read(0)), (None, Some(0)));
    });
}
