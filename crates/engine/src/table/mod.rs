//! Transposition table.
//!
//! Shared by all threads without locks: see [`entry`]. Four entries form a cluster of one cache line; a position may
//! be stored in any entry of its cluster.

mod entry;

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use self::entry::Entry;
use super::pages::{self, HUGE_PAGE_BYTES};
use super::value::{INFINITE, Value};
use super::{Bound, value};
use knightwatch_chess::Move;

/// Replaced by another implementation in a concurrency test.
mod atomic {
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
}

const ENTRIES_PER_CLUSTER: usize = 4;
const AGE_BITS: u32 = 5;
const AGE_MASK: u8 = (1 << AGE_BITS) - 1;

/// Stored if the static evaluation is unknown (the side to move was in check).
const NO_EVAL: Value = INFINITE;

/// Plies by which the replacement priority drops per search since the entry was written.
const PLIES_PER_AGE: i32 = 4;

/// A bound does not replace an entry of the same position and search that is deeper by at least this many plies.
const REPLACE_MARGIN: i32 = 8;
/// Added to the depth of PV nodes for replacement.
const PV_BONUS_PLIES: i32 = 2;

/// Minimum size of a table.
const MIN_BYTES: usize = 1 << 16;

#[derive(Default)]
#[repr(align(64))]
struct Cluster {
    entries: [Entry; ENTRIES_PER_CLUSTER],
}

const _: () = assert!(size_of::<Cluster>() == 64);

/// Content of a table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The best move, or the one that failed high. It may belong to another position with the same key: check that it
    /// is legal.
    pub mv: Option<Move>,
    /// The score, with mates counted from the root.
    pub value: Value,
    /// The static evaluation; `None` when the side to move is in check.
    pub eval: Option<Value>,
    /// Plies; 0 is quiescence.
    pub depth: i32,
    pub bound: Bound,
    /// The position was once in a principal variation.
    pub pv: bool,
}

/// The word of an [`Entry`], from the lowest bit: move 16, value 16, eval 16, depth 8, bound 2, pv 1, age 5.
#[derive(Clone, Copy)]
struct Data(u64);

impl Data {
    fn pack(hit: &Hit, age: u8) -> Data {
        let mv = hit.mv.map_or(0, Move::bits);
        let bound: u64 = match hit.bound {
            Bound::Upper => 1,
            Bound::Lower => 2,
            Bound::Exact => 3,
        };
        let word = |value: Value| u64::from(value as i16 as u16);
        Data(
            u64::from(mv)
                | word(hit.value) << 16
                | word(hit.eval.unwrap_or(NO_EVAL)) << 32
                | u64::from(hit.depth.clamp(0, 255) as u8) << 48
                | bound << 56
                | u64::from(hit.pv) << 58
                | u64::from(age) << 59,
        )
    }

    /// Entries that were written have a bound other than 0.
    fn is_empty(self) -> bool {
        (self.0 >> 56) & 3 == 0
    }

    fn mv_bits(self) -> u16 {
        self.0 as u16
    }

    fn depth(self) -> i32 {
        i32::from((self.0 >> 48) as u8)
    }

    fn age(self) -> u8 {
        (self.0 >> 59) as u8
    }

    fn unpack(self) -> Hit {
        let word = |shift: u32| Value::from((self.0 >> shift) as u16 as i16);
        Hit {
            mv: Move::from_bits(self.mv_bits()),
            value: word(16),
            eval: (word(32) != NO_EVAL).then(|| word(32)),
            depth: self.depth(),
            bound: match (self.0 >> 56) & 3 {
                1 => Bound::Upper,
                2 => Bound::Lower,
                _ => Bound::Exact,
            },
            pv: (self.0 >> 58) & 1 == 1,
        }
    }

    /// Replacement priority in plies; the entry with the lowest is replaced.
    fn priority(self, age: u8) -> i32 {
        if self.is_empty() {
            return i32::MIN;
        }
        let years = age.wrapping_sub(self.age()) & AGE_MASK;
        self.depth() - PLIES_PER_AGE * i32::from(years)
    }
}

/// The transposition table.
pub(crate) struct Table {
    /// The allocation; the clusters start at its first huge page.
    thread_data: NonNull<u8>,
    clusters: NonNull<Cluster>,
    count: usize,
    age: AtomicU8,
}

// SAFETY: the table owns its clusters, which consist of atomics only.
unsafe impl Send for Table {}
// SAFETY: as above; shared access goes through atomics only.
unsafe impl Sync for Table {}

impl Table {
    /// Allocates a table of `mib` MiB; if memory is short, of a half, a quarter, ... of that.
    ///
    /// The system provides zeroed pages on first use, so that 16 GiB start as fast as 1.
    pub(crate) fn new(mib: usize) -> Table {
        let mut bytes = mib
            .saturating_mul(1 << 20)
            .clamp(MIN_BYTES, isize::MAX as usize / 2);
        loop {
            let count = bytes / size_of::<Cluster>();
            let layout = Self::layout(count);
            // SAFETY: the layout is not empty, since `count` is at least MIN_BYTES / 64.
            let thread_data = unsafe { alloc_zeroed(layout) };
            match NonNull::new(thread_data) {
                Some(thread_data) => {
                    let aligned = thread_data.align_offset(HUGE_PAGE_BYTES);
                    // SAFETY: the layout has room for a huge page more than is used, which is more than `aligned`.
                    let clusters = unsafe { thread_data.add(aligned) }.cast::<Cluster>();
                    return Table {
                        thread_data,
                        clusters,
                        count,
                        age: AtomicU8::new(0),
                    };
                }
                None if bytes > MIN_BYTES => bytes = (bytes / 2).max(MIN_BYTES),
                None => handle_alloc_error(layout),
            }
        }
    }

    /// Uses huge pages if the system has them and the table is not too large for them. They cost more on first use, so
    /// only long-lived tables should.
    pub(crate) fn with_huge_pages(self) -> Table {
        pages::advise_huge(self.clusters.cast(), self.count * size_of::<Cluster>());
        self
    }

    /// Layout of `count` clusters plus room to align them to a huge page. It asks for a common alignment only: with a greater one
    /// the allocator would zero the memory itself instead of using zeroed pages from the system.
    fn layout(count: usize) -> Layout {
        Layout::from_size_align(count * size_of::<Cluster>() + HUGE_PAGE_BYTES, 16)
            .expect("below isize::MAX bytes")
    }

    /// The actual size in MiB.
    pub(crate) fn mib(&self) -> usize {
        (self.count * size_of::<Cluster>()) >> 20
    }

    fn clusters(&self) -> &[Cluster] {
        // SAFETY: allocated in `new` for `count` clusters and freed in `drop`; all bits zero is a valid
        // cluster of atomics, and no `&mut` to it is ever created.
        unsafe { std::slice::from_raw_parts(self.clusters.as_ptr(), self.count) }
    }

    fn cluster(&self, key: u64) -> &Cluster {
        let index = (u128::from(key) * self.count as u128) >> 64;
        &self.clusters()[index as usize]
    }

    /// Clears the table, on several threads if it is large.
    pub(crate) fn clear(&self) {
        const CLUSTERS_PER_THREAD: usize = 1 << 20;
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let chunk = self.count.div_ceil(workers).max(CLUSTERS_PER_THREAD);
        let clear = |clusters: &[Cluster]| {
            // Untouched pages stay unmapped: they take no memory.
            let entries = clusters.iter().flat_map(|cluster| &cluster.entries);
            entries
                .filter(|entry| entry.data() != 0)
                .for_each(Entry::clear);
        };
        if self.count <= CLUSTERS_PER_THREAD {
            clear(self.clusters());
        } else {
            std::thread::scope(|scope| {
                for clusters in self.clusters().chunks(chunk) {
                    let thread = std::thread::Builder::new();
                    // Without a thread from the system, clear it here.
                    if thread.spawn_scoped(scope, move || clear(clusters)).is_err() {
                        clear(clusters);
                    }
                }
            });
        }
        self.age.store(0, Relaxed);
    }

    /// Starts a new search: existing entries age.
    pub(crate) fn new_search(&self) {
        let age = self.age.load(Relaxed);
        self.age.store((age + 1) & AGE_MASK, Relaxed);
    }

    /// Prefetches the cluster of a position that will be probed soon.
    pub(crate) fn prefetch(&self, key: u64) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let address = std::ptr::from_ref(self.cluster(key)).cast::<i8>();
            // SAFETY: a prefetch reads nothing; SSE is part of every x86-64.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = key;
    }

    /// The entry of a position; mates count from the root, `ply` plies above.
    pub(crate) fn probe(&self, key: u64, ply: usize) -> Option<Hit> {
        self.cluster(key).entries.iter().find_map(|entry| {
            let data = Data(entry.read(key)?);
            (!data.is_empty()).then(|| {
                let hit = data.unpack();
                Hit {
                    value: value::from_table(hit.value, ply),
                    ..hit
                }
            })
        })
    }

    /// Stores a result found `ply` plies from the root. If it has no move, the known one is kept.
    pub(crate) fn store(&self, key: u64, ply: usize, hit: &Hit) {
        let age = self.age.load(Relaxed);
        let cluster = self.cluster(key);
        let mut slot = &cluster.entries[0];
        let mut min = i32::MAX;
        let mut mv = hit.mv;
        for entry in &cluster.entries {
            let known = entry.read(key).map(Data).filter(|old| !old.is_empty());
            if let Some(old) = known {
                if !replaces(hit, old, age) {
                    return;
                }
                mv = mv.or_else(|| Move::from_bits(old.mv_bits()));
                slot = entry;
                break;
            }
            let priority = Data(entry.data()).priority(age);
            if priority < min {
                (slot, min) = (entry, priority);
            }
        }
        let value = value::to_table(hit.value, ply);
        let data = Data::pack(&Hit { mv, value, ..*hit }, age).0;
        slot.write(key, data);
    }

    /// Permille of entries written by this search, estimated from a sample.
    pub(crate) fn hashfull(&self) -> u32 {
        const SAMPLE: usize = 250;
        let age = self.age.load(Relaxed);
        let used = self
            .clusters()
            .iter()
            .take(SAMPLE)
            .flat_map(|cluster| &cluster.entries)
            .map(|entry| Data(entry.data()))
            .filter(|data| !data.is_empty() && data.age() == age)
            .count();
        (used * 1000 / (SAMPLE * ENTRIES_PER_CLUSTER)) as u32
    }
}

/// Returns whether a new result for a position replaces the old one.
fn replaces(new: &Hit, old: Data, age: u8) -> bool {
    new.bound == Bound::Exact
        || old.age() != age
        || new.depth + REPLACE_MARGIN + PV_BONUS_PLIES * i32::from(new.pv) > old.depth()
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout; atomics need no drop of their own.
        unsafe { dealloc(self.thread_data.as_ptr(), Self::layout(self.count)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{mate_in, mated_in};
    use knightwatch_chess::Position;

    fn hit(depth: i32, value: Value) -> Hit {
        let mv = Position::startpos().legal_moves().iter().copied().next();
        Hit {
            mv,
            value,
            eval: Some(-17),
            depth,
            bound: Bound::Exact,
            pv: true,
        }
    }

    #[test]
    fn store_then_probe_returns_the_same() {
        let table = Table::new(1);
        let key = 0x463b_9618_1691_fc9c;
        assert_eq!(table.probe(key, 0), None);
        for bound in [Bound::Exact, Bound::Lower, Bound::Upper] {
            for value in [0, -1, 250, -9999, mate_in(5), mated_in(8)] {
                let stored = Hit {
                    bound,
                    ..hit(12, value)
                };
                table.clear();
                table.store(key, 3, &stored);
                assert_eq!(table.probe(key, 3), Some(stored));
            }
        }
        table.clear();
        let quiet = Hit {
            eval: None,
            mv: None,
            pv: false,
            ..hit(0, 5)
        };
        table.store(key, 0, &quiet);
        assert_eq!(table.probe(key, 0), Some(quiet));
        assert_eq!(table.probe(key ^ 1, 0), None);
    }

    #[test]
    fn store_without_move_keeps_the_known_one() {
        let table = Table::new(1);
        table.store(7, 0, &hit(3, 10));
        table.store(
            7,
            0,
            &Hit {
                mv: None,
                ..hit(9, 20)
            },
        );
        let found = table.probe(7, 0).expect("stored");
        assert_eq!((found.mv, found.depth), (hit(3, 10).mv, 9));
    }

    #[test]
    fn store_in_full_cluster_replaces_shallow_and_old() {
        let table = Table::new(1);
        // Keys of one cluster differ in the lowest bits only.
        for (key, depth) in [(1, 9), (2, 3), (3, 8), (4, 7)] {
            table.store(key, 0, &hit(depth, 0));
        }
        table.store(5, 0, &hit(5, 0));
        assert_eq!(table.probe(2, 0), None, "the shallowest goes");
        for _ in 0..4 {
            table.new_search();
        }
        table.store(1, 0, &hit(9, 0));
        table.store(6, 0, &hit(1, 0));
        assert!(table.probe(5, 0).is_none() && table.probe(1, 0).is_some());
    }

    #[test]
    fn bound_does_not_replace_a_much_deeper_one() {
        let table = Table::new(1);
        let store = |depth| {
            let bound = Hit {
                bound: Bound::Lower,
                pv: false,
                ..hit(depth, 0)
            };
            table.store(7, 0, &bound);
            table.probe(7, 0).map(|found| found.depth)
        };
        assert_eq!(store(20), Some(20));
        assert_eq!(store(20 - REPLACE_MARGIN), Some(20));
        assert_eq!(store(21 - REPLACE_MARGIN), Some(21 - REPLACE_MARGIN));
        table.new_search();
        assert_eq!(store(1), Some(1));
    }

    #[test]
    fn new_has_the_requested_size() {
        assert_eq!(Table::new(1).mib(), 1);
        assert_eq!(Table::new(33).mib(), 33);
        assert_eq!(Table::new(0).mib(), 0);
        assert_eq!(Table::new(0).hashfull(), 0);
    }
}
