//! Move generation compared with other Rust libraries: perft of six well-known positions, with bulk counting at the last
//! ply and without hashing.
//!
//! The speed of a shared machine changes from minute to minute. Each run is therefore placed between two runs of the same
//! position by cozy-chess, and the table shows the speed relative to those: the median of the rounds. On Linux, CPU time
//! is measured.
//!
//! - `cargo run --release` in this directory prints the table; a number after `--` sets the rounds.
//! - `cargo run --release -- knightwatch 1` runs one library, each position 1 ply less deep, for a profiler.

use std::hint::black_box;
use std::time::{Duration, Instant};

use knightwatch_chess::{Position, perft::perft};

/// Perft of a FEN.
type Perft = fn(&str, u32) -> u64;

/// The first is the reference of the others.
const LIBRARIES: [(&str, Perft); 4] = [
    ("cozy-chess", cozy_chess_perft),
    ("knightwatch", knightwatch_perft),
    ("chess", chess_perft),
    ("shakmaty", shakmaty_perft),
];

const ROUNDS: usize = 3;

/// Name, FEN, depth, and the positions at that depth.
const POSITIONS: [(&str, &str, u32, u64); 6] = [
    (
        "start",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        6,
        119_060_324,
    ),
    (
        "kiwipete",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        5,
        193_690_690,
    ),
    (
        "endgame",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        7,
        178_633_661,
    ),
    (
        "promotions",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        5,
        15_833_292,
    ),
    (
        "position 5",
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        5,
        89_941_194,
    ),
    (
        "position 6",
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
        5,
        164_075_551,
    ),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = words.iter().find_map(|word| word.parse::<usize>().ok());
    match LIBRARIES
        .iter()
        .find(|(name, _)| words.iter().any(|word| word == name))
    {
        Some((_, perft)) => profile(*perft, number.unwrap_or(0) as u32),
        None => compare(number.unwrap_or(ROUNDS).max(1)),
    }
}

/// Runs one library and prints its number of nodes.
fn profile(perft: Perft, less: u32) {
    let mut nodes = 0;
    for (_, fen, depth, _) in POSITIONS {
        nodes += perft(fen, depth - less.min(depth));
    }
    println!("{nodes} nodes");
}

/// Per position: time of the library, and mean time of cozy-chess right before and after it.
type Times = [(Duration, Duration); POSITIONS.len()];

fn compare(rounds: usize) {
    let (_, reference) = LIBRARIES[0];
    let others = &LIBRARIES[1..];
    let mut times: Vec<Vec<Times>> = vec![Vec::new(); others.len()];
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        let mut this_round = vec![Times::default(); others.len()];
        for (index, position) in POSITIONS.iter().enumerate() {
            let mut before = time(reference, position);
            for (times, (_, perft)) in this_round.iter_mut().zip(others) {
                let own = time(*perft, position);
                let after = time(reference, position);
                times[index] = (own, (before + after) / 2);
                before = after;
            }
        }
        for (all, times) in times.iter_mut().zip(this_round) {
            all.push(times);
        }
    }

    print!(
        "{:<12} {:>5} {:>12} {:>12}",
        "position", "depth", "nodes", "cozy-chess"
    );
    for (name, _) in others {
        print!(" {name:>12}");
    }
    println!();
    for (index, (name, _, depth, nodes)) in POSITIONS.iter().enumerate() {
        print!("{name:<12} {depth:>5} {nodes:>12}");
        print_line(*nodes, &times, |times| times[index]);
    }
    let nodes = POSITIONS.iter().map(|(.., nodes)| nodes).sum();
    print!("{:<12} {:>5} {nodes:>12}", "all", "");
    print_line(nodes, &times, |times| {
        let sum = |a: (Duration, Duration), b: &(Duration, Duration)| (a.0 + b.0, a.1 + b.1);
        times.iter().fold(Default::default(), sum)
    });
    println!(
        "\ncozy-chess in million nodes per second, the others as multiples of its speed; medians of {rounds}."
    );
}

/// Prints the speed of cozy-chess and the relative speed of the others.
fn print_line(nodes: u64, times: &[Vec<Times>], pick: impl Fn(&Times) -> (Duration, Duration)) {
    let speeds = times.iter().flatten().map(|times| {
        let (_, reference) = pick(times);
        nodes as f64 / reference.as_secs_f64() / 1e6
    });
    print!(" {:>7.0} Mnps", median(speeds.collect()));
    for rounds in times {
        let ratios = rounds.iter().map(|times| {
            let (own, reference) = pick(times);
            reference.as_secs_f64() / own.as_secs_f64()
        });
        print!(" {:>12.2}", median(ratios.collect()));
    }
    println!();
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        (values[middle - 1] + values[middle]) / 2.0
    } else {
        values[middle]
    }
}

fn time(perft: Perft, (name, fen, depth, nodes): &(&str, &str, u32, u64)) -> Duration {
    let (start, start_on_cpu) = (Instant::now(), time_on_cpu());
    assert_eq!(perft(black_box(fen), *depth), *nodes, "{name}");
    let on_cpu = time_on_cpu().zip(start_on_cpu);
    on_cpu.map_or_else(|| start.elapsed(), |(end, start)| end - start)
}

/// CPU time of this thread; `None` on systems other than Linux.
fn time_on_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn knightwatch_perft(fen: &str, depth: u32) -> u64 {
    perft(&Position::from_fen(fen).expect("a FEN"), depth)
}

fn shakmaty_perft(fen: &str, depth: u32) -> u64 {
    use shakmaty::{CastlingMode, Chess, fen::Fen};
    let fen: Fen = fen.parse().expect("a FEN");
    let position: Chess = fen.into_position(CastlingMode::Standard).expect("legal");
    shakmaty::perft(&position, depth)
}

fn cozy_chess_perft(fen: &str, depth: u32) -> u64 {
    use cozy_chess::Board;
    fn count(board: &Board, depth: u32) -> u64 {
        let mut nodes = 0;
        // Two loops, as in its own example: a single loop that checks the depth takes almost half as long again.
        if depth == 1 {
            board.generate_moves(|moves| {
                nodes += moves.len() as u64;
                false
            });
        } else {
            board.generate_moves(|moves| {
                for mv in moves {
                    let mut next = board.clone();
                    next.play_unchecked(mv);
                    nodes += count(&next, depth - 1);
                }
                false
            });
        }
        nodes
    }
    count(&fen.parse().expect("a FEN"), depth)
}

fn chess_perft(fen: &str, depth: u32) -> u64 {
    use chess::{Board, MoveGen};
    fn count(board: &Board, depth: u32) -> u64 {
        let moves = MoveGen::new_legal(board);
        if depth == 1 {
            return moves.len() as u64;
        }
        moves
            .map(|mv| count(&board.make_move_new(mv), depth - 1))
            .sum()
    }
    count(&fen.parse().expect("a FEN"), depth)
}
