//! The `perft` command.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use knightwatch_chess::perft::perft;
use knightwatch_chess::{Game, Move, Position, Variant};

/// Largest hash table, in MiB.
pub const MAX_HASH_MIB: u64 = 65_536;

/// Options of the command.
#[derive(Clone, Debug)]
pub struct Options {
    /// Depth in plies.
    pub depth: u32,
    /// The rules.
    pub variant: Variant,
    /// The start, as read by [`Game::from_variant_notation`]; defaults to the start position.
    pub fen: Option<String>,
    /// Also print the count below each move.
    pub by_move: bool,
    /// Threads that share the work.
    pub threads: NonZeroUsize,
    /// Size of the hash table in MiB; 0 for none.
    pub hash_mib: usize,
}

/// Counts the leaf nodes at `depth` plies and prints count, time and speed, with `by_move` preceded by the count
/// below each move.
///
/// # Errors
///
/// If the position is invalid or there is not enough memory.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let position = match &options.fen {
        Some(line) => Game::from_variant_notation(options.variant, line)
            .with_context(|| format!("cannot read \"{line}\""))?
            .position()
            .clone(),
        None => options.variant.start(),
    };
    let table = match options.hash_mib {
        0 => None,
        mib => Some(
            Table::new(mib)
                .with_context(|| format!("cannot allocate {mib} MiB; try a smaller --hash"))?,
        ),
    };
    let start = Instant::now();
    let parts = divide(&position, options.depth, options.threads, table.as_ref());
    let nodes = if options.depth == 0 {
        1
    } else {
        parts.iter().map(|(_, nodes)| nodes).sum()
    };
    let elapsed = start.elapsed();
    if options.by_move && options.depth > 0 {
        let notation = position.castling_notation();
        for (mv, nodes) in &parts {
            println!("{}: {nodes}", mv.uci(notation));
        }
        println!();
    }
    println!("{}", summary(nodes, elapsed));
    Ok(())
}

/// The count below each move. Threads take the positions two plies ahead one by one, to balance the load.
fn divide(
    position: &Position,
    depth: u32,
    threads: NonZeroUsize,
    table: Option<&Table>,
) -> Vec<(Move, u64)> {
    let Some(below) = depth.checked_sub(1) else {
        return Vec::new();
    };
    let moves = position.legal_moves();
    let mut jobs = Vec::new();
    for (part, &mv) in moves.iter().enumerate() {
        let next = position.after(mv);
        match below.checked_sub(1) {
            None => jobs.push((part, next, 0)),
            Some(below) => {
                let replies = next.legal_moves();
                jobs.extend(replies.iter().map(|&mv| (part, next.after(mv), below)));
            }
        }
    }

    let counts: Vec<AtomicU64> = moves.iter().map(|_| AtomicU64::new(0)).collect();
    let taken = AtomicUsize::new(0);
    let work = || {
        while let Some((part, position, depth)) = jobs.get(taken.fetch_add(1, Relaxed)) {
            let nodes = match table {
                Some(table) => perft_hashed(position, *depth, table),
                None => perft(position, *depth),
            };
            counts[*part].fetch_add(nodes, Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(jobs.len()) {
            scope.spawn(work);
        }
        work();
    });
    let counts = counts.into_iter().map(AtomicU64::into_inner);
    moves.into_iter().zip(counts).collect()
}

/// [`perft`] with a hash table.
fn perft_hashed(position: &Position, depth: u32, table: &Table) -> u64 {
    if depth < 2 {
        return perft(position, depth);
    }
    if let Some(nodes) = table.get(position.key(), depth) {
        return nodes;
    }
    let mut nodes = 0;
    for mv in &position.legal_moves() {
        nodes += perft_hashed(&position.after(mv), depth - 1, table);
    }
    table.insert(position.key(), depth, nodes);
    nodes
}

/// Counts by position and depth, shared by all threads without locks; always replaced.
struct Table {
    slots: Vec<Slot>,
}

/// A count and the key xor the count. If two threads write the two words at once, they do not match and the slot
/// counts as empty.
#[derive(Default)]
struct Slot {
    mixed: AtomicU64,
    nodes: AtomicU64,
}

impl Table {
    /// A table of `mib` MiB, if there is enough memory.
    fn new(mib: usize) -> Option<Table> {
        let count = mib.checked_mul(1 << 20)? / size_of::<Slot>();
        let mut slots = Vec::new();
        slots.try_reserve_exact(count).ok()?;
        slots.resize_with(count, Slot::default);
        Some(Table { slots })
    }

    fn get(&self, key: u64, depth: u32) -> Option<u64> {
        let key = key_at_depth(key, depth);
        let slot = self.slot(key);
        let nodes = slot.nodes.load(Relaxed);
        (nodes != 0 && slot.mixed.load(Relaxed) ^ nodes == key).then_some(nodes)
    }

    fn insert(&self, key: u64, depth: u32, nodes: u64) {
        let key = key_at_depth(key, depth);
        let slot = self.slot(key);
        slot.mixed.store(key ^ nodes, Relaxed);
        slot.nodes.store(nodes, Relaxed);
    }

    fn slot(&self, key: u64) -> &Slot {
        let slot = (u128::from(key) * self.slots.len() as u128) >> 64;
        &self.slots[slot as usize]
    }
}

/// Key of a position at a depth.
fn key_at_depth(key: u64, depth: u32) -> u64 {
    // 2^64 divided by the golden ratio: its multiples are far apart.
    key ^ u64::from(depth).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn summary(nodes: u64, elapsed: Duration) -> String {
    let speed = nodes as f64 / elapsed.as_secs_f64().max(1e-9);
    format!(
        "Nodes: {nodes}\nTime: {:.3} s\nSpeed: {:.1} million nodes per second",
        elapsed.as_secs_f64(),
        speed / 1e6
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_chess as chess;

    const KIWIPETE: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).expect("not 0")
    }

    #[test]
    fn summary_shows_count_time_and_speed() {
        assert_eq!(
            summary(3_000_000, Duration::from_millis(1500)),
            "Nodes: 3000000\nTime: 1.500 s\nSpeed: 2.0 million nodes per second"
        );
    }

    #[test]
    fn run_with_bad_fen_names_it() {
        let options = Options {
            variant: Variant::Standard,
            depth: 1,
            fen: Some("8/8 w".to_owned()),
            by_move: false,
            threads: threads(1),
            hash_mib: 0,
        };
        let error = run(&options).expect_err("no position");
        let text = format!("{error:#}");
        assert!(text.contains("8/8 w") && text.contains("8 ranks"), "{text}");
    }

    #[test]
    fn divide_with_threads_and_table_matches_plain() {
        let table = Table::new(1).expect("memory");
        for fen in [
            KIWIPETE,
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "7k/8/5KQ1/8/8/8/8/8 b - - 0 1",
        ] {
            let position = Position::from_fen(fen).expect("a position");
            // All depths use the same table: counts of one must not be taken for another.
            for depth in 0..=4 {
                let plain = chess::perft::divide(&position, depth);
                for count in [1, 3, 300] {
                    for table in [None, Some(&table)] {
                        let parts = divide(&position, depth, threads(count), table);
                        assert_eq!(parts, plain, "{fen} to depth {depth}, {count} threads");
                    }
                }
            }
        }
    }

    #[test]
    fn table_slot_with_torn_write_is_empty() {
        let table = Table::new(1).expect("memory");
        table.insert(1, 3, 42);
        assert_eq!(table.get(1, 3), Some(42));
        assert_eq!(table.get(1, 4), None);
        table.slot(key_at_depth(1, 3)).nodes.store(43, Relaxed);
        assert_eq!(table.get(1, 3), None);
    }

    /// With a table it takes a minute or two in a release build.
    #[test]
    #[ignore = "takes minutes"]
    fn divide_of_start_position_to_depth_8() {
        let known = [
            20,
            400,
            8_902,
            197_281,
            4_865_609,
            119_060_324,
            3_195_901_860,
            84_998_978_956,
        ];
        let table = Table::new(1024).expect("memory");
        let all = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        for (depth, count) in (1..).zip(known) {
            let parts = divide(&Position::startpos(), depth, all, Some(&table));
            let nodes: u64 = parts.iter().map(|(_, nodes)| nodes).sum();
            assert_eq!(nodes, count, "depth {depth}");
        }
    }
}
