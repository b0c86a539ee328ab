//! Perft of positions that each test one rule.

use std::str::FromStr;

use knightwatch_chess::{Position, Variant};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};

/// Counts of Chess960 start positions and of positions with all kinds of castling.
#[test]
fn perft_of_chess960_matches() {
    let known: [(&str, &[u64]); 4] = [
        (
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
            &[21, 528, 12_189, 326_672],
        ),
        (
            "2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 9",
            &[21, 807, 18_002, 667_366],
        ),
        (
            "qbbnnrkr/2pp2pp/p7/1p2pp2/8/P3PP2/1PPP1KPP/QBBNNR1R w hf - 0 9",
            &[22, 593, 13_440, 382_958],
        ),
        ("1rkr4/8/8/8/8/8/8/1RKR4 w DBdb - 0 1", &[]),
    ];
    for (fen, counts) in known {
        let position = Position::from_fen(fen).expect("a position");
        for (depth, &count) in (1..).zip(counts) {
            assert_eq!(
                knightwatch_chess::perft::perft(&position, depth),
                count,
                "{fen} at depth {depth}"
            );
        }
        let theirs: Chess = Fen::from_str(fen)
            .expect("a FEN")
            .into_position(CastlingMode::Chess960)
            .expect("a position");
        assert_eq!(
            knightwatch_chess::perft::perft(&position, 4),
            shakmaty::perft(&theirs, 4),
            "{fen}"
        );
    }
}

/// Positions of the suites, each for one rule, to the depths counted by another program.
#[test]
fn perft_of_suites_matches() {
    let suites = [
        include_str!("../suites/standard.perft"),
        include_str!("../suites/chess960.perft"),
        include_str!("../suites/variants.perft"),
    ];
    for (suite, min_positions) in suites.into_iter().zip([60, 30, 40]) {
        let mut variant = Variant::Standard;
        let mut rule = "";
        let mut positions = 0;
        for line in suite.lines().filter(|line| !line.is_empty()) {
            if let Some(comment) = line.strip_prefix("# ") {
                if let Some(name) = comment.strip_prefix("== variant ") {
                    variant = Variant::from_name(name).expect("a variant");
                }
                rule = comment;
                continue;
            }
            let (fen, counts) = line.split_once(" ; ").expect("a FEN and its counts");
            let position = Position::from_variant_fen(variant, fen)
                .unwrap_or_else(|error| panic!("{rule}: {fen}: {error}"));
            for (depth, count) in (1..).zip(counts.split(' ')) {
                let count: u64 = count.parse().expect("a count");
                assert_eq!(
                    knightwatch_chess::perft::perft(&position, depth),
                    count,
                    "{rule}: {fen} at depth {depth}"
                );
            }
            positions += 1;
        }
        assert!(positions >= min_positions, "{positions}");
    }
}
