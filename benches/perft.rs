//! Counts the six well-known positions beyond 10^8 nodes and prints million nodes per second; `cargo bench --bench
//! perft`. An argument is a number of rounds, of which the fastest counts.

use std::time::{Duration, Instant};

use knightwatch::chess::{Position, perft::perft};

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
        6,
        706_045_033,
    ),
    (
        "position 5",
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        6,
        3_048_196_529,
    ),
    (
        "position 6",
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
        5,
        164_075_551,
    ),
];

fn main() {
    let rounds = std::env::args()
        .filter_map(|argument| argument.parse::<u32>().ok())
        .next()
        .unwrap_or(1)
        .max(1);
    println!(
        "{:<12} {:>5} {:>15} {:>9} {:>7}",
        "position", "depth", "nodes", "time", "Mnps"
    );
    let (mut nodes, mut time) = (0, Duration::ZERO);
    for (name, fen, depth, expected) in POSITIONS {
        let position = Position::from_fen(fen).expect("a well-known position");
        let fastest = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                assert_eq!(perft(&position, depth), expected, "{name}");
                start.elapsed()
            })
            .min()
            .expect("at least one round");
        print_line(name, &depth.to_string(), expected, fastest);
        nodes += expected;
        time += fastest;
    }
    print_line("all", "", nodes, time);
}

fn print_line(name: &str, depth: &str, nodes: u64, time: Duration) {
    let seconds = time.as_secs_f64();
    println!(
        "{name:<12} {depth:>5} {nodes:>15} {seconds:>7.2} s {:>7.1}",
        nodes as f64 / seconds / 1e6
    );
}
