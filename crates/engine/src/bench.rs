//! Fixed-depth search of a set of positions on one thread. The node count is the signature of the search: the same on
//! every machine and in every build, it changes only when the search does.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::control::Control;
use super::nnue::{self, Network};
use super::search::{Search, ThreadData};
use super::table::Table;
use super::{Limits, Setting};
use knightwatch_chess::{Game, Position};

/// Search depth in plies.
pub const DEPTH: u32 = 12;

const HASH_MIB: usize = 16;

/// Openings, middlegames and endgames, with Chess960, tactics, blockades and near-draws.
const POSITIONS: [&str; 40] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqkbnr/1ppp1ppp/p1n5/4p3/B3P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 1 4",
    "rnbqkb1r/1p2pppp/p2p1n2/8/3NP3/2N5/PPP2PPP/R1BQKB1R w KQkq - 0 6",
    "rnbq1rk1/ppp1bppp/4pn2/3p2B1/2PP4/2N1P3/PP3PPP/R2QKBNR w KQ - 1 6",
    "rnbqk2r/ppppp1bp/5np1/5p2/2PP4/6P1/PP2PPBP/RNBQK1NR w KQkq - 1 5",
    "r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQK2R b KQkq - 0 5",
    "rnbqkbnr/ppp2ppp/4p3/3pP3/3P4/8/PPP2PPP/RNBQKBNR b KQkq - 0 3",
    "r2q1rk1/pp2bppp/2n1bn2/2pp4/5B2/2NP1NP1/PPP1PPBP/R2Q1RK1 w - - 4 9",
    "r1b1kb1r/1pq2ppp/p1nppn2/8/2PNP3/2N1B3/PP2BPPP/R2QK2R w KQkq - 2 9",
    "r4rk1/1bq1bppp/p1npp1n1/1p6/3QPP2/PNN1B3/1PP1B1PP/R4R1K w - - 3 14",
    "2rq1rk1/pb1n1ppN/4p3/1pb5/3P1Pn1/P1N5/1PQ1B1PP/R1B2RK1 b - - 0 16",
    "r1bq1rk1/pp3ppp/2n1p3/3n4/1b1P4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 2 10",
    "r3r1k1/pp1q1pp1/4b1p1/3p2B1/3Q1R2/8/PPP3PP/4R1K1 w - - 0 18",
    "3r1rk1/p4ppp/1p2pn2/2q5/2PN4/1P4P1/P3QP1P/3R1RK1 b - - 0 21",
    "5rk1/1pp1q1pp/p1pb1n2/4pP2/4P3/2NP1Q2/PPP3PP/R1B3K1 b - - 0 16",
    "r2qr1k1/1b1nbppp/p2p1n2/1p1Pp3/4P3/1PN1BN1P/1PB2PP1/R2QR1K1 b - - 0 17",
    "2kr3r/pppq1pp1/2n1bn2/3pp2p/1b2P2P/2NPBNP1/PPP1QPB1/R3K2R w KQ - 4 11",
    "r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 w - - 0 16",
    "1r3rk1/5pp1/3p3p/q1pPp2P/p1P1P1n1/PnN2N2/1PQ3P1/1KBR3R w - - 0 24",
    "6k1/1p3pp1/p2r3p/3Pq3/1P2p3/P3P2P/4QPP1/3R2K1 w - - 2 31",
    "4r1k1/1p3q1p/p2pb1pB/P2Np3/2P1Pr2/3P1p2/1P3Q1P/R5RK b - - 1 30",
    "8/pp2k1p1/4pp2/2n1P2p/5P2/1P2B1PP/P3K3/8 w - - 0 34",
    "8/5pk1/1p1r2p1/p1pP3p/P1P1R2P/1P4P1/5PK1/8 b - - 3 38",
    "3r2k1/5p2/4p1p1/p2bP2p/1p1N1P1P/1P4P1/P5K1/2R5 w - - 1 36",
    "8/8/1p2k1p1/1P1p3p/3P1K1P/6P1/8/8 w - - 0 50",
    "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1",
    "8/5k2/3b2p1/p4p1p/P1p2P1P/2P1KBP1/8/8 w - - 6 48",
    "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
    "8/8/4kpp1/3p1b2/p6P/2B5/6P1/6K1 b - - 0 47",
    "6k1/5p2/6p1/8/7p/8/6PP/6K1 b - - 0 1",
    "8/1r6/3k4/8/3KP3/8/4R3/8 w - - 4 61",
    "1K1k4/1P6/8/8/8/8/r7/2R5 w - - 0 1",
    "8/8/8/5N2/8/p7/8/2NK3k w - - 0 1",
    "8/3k4/8/8/5Q2/1q6/8/2K5 b - - 12 80",
    "7k/3p2pp/4q3/8/4Q3/5Kp1/P6b/8 w - - 0 1",
    "8/p2p4/1p1p4/kPpP4/1pP5/1P6/K7/8 w - - 40 71",
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "nrbkqnrb/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/NRBKQNRB w GBgb - 0 2",
    "r1bqnrk1/pp1nbppp/3p4/2pPp3/2P1P3/2N1BN2/PP2BPPP/R2Q1RK1 w - - 95 60",
    "5k2/R7/4P3/6K1/8/8/8/5r2 b - - 0 1",
];

/// Result of a bench run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchResult {
    /// Nodes searched in all positions: the signature.
    pub nodes: u64,
    /// Time of all searches.
    pub elapsed: Duration,
}

impl BenchResult {
    /// Nodes per second.
    pub fn nps(&self) -> u64 {
        let micros = self.elapsed.as_micros().max(1);
        u64::try_from(u128::from(self.nodes) * 1_000_000 / micros).unwrap_or(u64::MAX)
    }
}

/// Searches all positions to a depth, one after another with one table and one history, and calls `on_position` with
/// the number, the FEN and the nodes of each.
pub fn search(
    setting: &Setting,
    depth: u32,
    mut on_position: impl FnMut(usize, &str, u64),
) -> BenchResult {
    let table = Table::new(HASH_MIB).with_huge_pages();
    let mut thread_data = ThreadData::new(setting);
    let started = Instant::now();
    let mut nodes = 0;
    for (number, fen) in POSITIONS.iter().enumerate() {
        let pos = Position::from_fen(fen).expect("a position of the bench is legal");
        let game = Game::new(pos);
        let limits = Limits {
            depth: Some(depth),
            ..Limits::default()
        };
        let control = Control::new(&limits, 0);
        table.new_search();
        Search::new(&control, &table, &mut thread_data, &game, &limits, 0).iterate(None);
        nodes += control.nodes();
        on_position(number + 1, fen, control.nodes());
    }
    BenchResult {
        nodes,
        elapsed: started.elapsed(),
    }
}

/// The `bench` command: one line per position, the sum last.
///
/// # Errors
///
/// If the output cannot be written.
pub fn run(output: &mut impl Write) -> io::Result<()> {
    let network = Network::embedded();
    writeln!(output, "{}", nnue::describe(network.as_deref()))?;
    let mut written = Ok(());
    let result = search(&Setting::default(), DEPTH, |number, fen, nodes| {
        if written.is_ok() {
            written = writeln!(
                output,
                "{number:>2}/{} {nodes:>9} nodes  {fen}",
                POSITIONS.len()
            );
        }
    });
    written?;
    writeln!(output, "{} nodes {} nps", result.nodes, result.nps())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bench_when_repeated_visits_the_same_nodes() {
        let nodes = || search(&Setting::default(), 5, |_, _, _| {}).nodes;
        assert_eq!(nodes(), nodes());
    }
}
