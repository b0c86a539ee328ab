//! Vector kernels against scalar ones, and incremental sums against fresh ones.

use std::sync::Arc;

use super::{Accumulators, Change, Kernels, Lane, Network, Shape, features};
use crate::board_move::BoardMove;
use knightwatch_chess::{MoveList, Position};

/// A network with weights over the whole range that a file may have.
pub(crate) fn random_network(seed: u64, hidden: usize, buckets: usize) -> Network {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut values = |count: usize, bound: i16| {
        (0..count)
            .map(|_| rng.i16(-bound..=bound))
            .collect::<Vec<_>>()
    };
    let weights = values(features::INPUTS * hidden, 505);
    let biases = values(hidden, 505);
    let outputs = values(buckets * 2 * hidden, 120.min(32_000 / (2 * hidden as i16)));
    let output_biases: Vec<i32> = values(buckets, 9000).into_iter().map(i32::from).collect();
    Network::from_weights(
        "random",
        Shape { hidden, buckets },
        400,
        &weights,
        &biases,
        &outputs,
        &output_biases,
    )
    .unwrap()
}

fn random_lanes(rng: &mut fastrand::Rng, count: usize, bound: i16) -> Vec<Lane> {
    (0..count)
        .map(|_| Lane(std::array::from_fn(|_| rng.i16(-bound..=bound))))
        .collect()
}

#[test]
fn kernels_agree_exactly() {
    let mut rng = fastrand::Rng::with_seed(1);
    let plain = &Kernels::all()[0];
    assert_eq!(plain.name(), "scalar");
    for stride in [1, 2, 4, 8] {
        let weights = random_lanes(&mut rng, features::INPUTS * stride, 505);
        for _ in 0..200 {
            let from = random_lanes(&mut rng, stride, 16_000);
            let near = random_lanes(&mut rng, stride, 300);
            let row = random_lanes(&mut rng, stride, 128);
            let features: Vec<u16> = (0..32).map(|_| rng.u16(0..768)).collect();
            for kernels in Kernels::all() {
                let mut results = [vec![Lane::ZERO; stride], vec![Lane::ZERO; stride]];
                for (into, kernels) in results.iter_mut().zip([plain, kernels]) {
                    kernels.refresh(into, &from, &weights, &features);
                }
                assert_eq!(results[0], results[1]);
                for values in [&from, &near, &results[0]] {
                    assert_eq!(
                        kernels.forward(values, &row),
                        plain.forward(values, &row),
                        "{}",
                        kernels.name()
                    );
                }
                let quiet = Change::Quiet {
                    added: features[0],
                    removed: features[1],
                };
                let capture = Change::Capture {
                    added: features[2],
                    removed: [features[3], features[4]],
                };
                let castle = Change::Castle {
                    added: [features[5], features[6]],
                    removed: [features[7], features[8]],
                };
                for changes in [[quiet, capture], [capture, castle], [castle, quiet]] {
                    // Of two perspectives, and of one.
                    let half = stride.div_ceil(2);
                    let (one, both) = (&from[..half], from.repeat(2));
                    for (from, changes) in [(&both[..], &changes[..]), (one, &changes[..1])] {
                        let results = [plain, kernels].map(|kernels| {
                            let mut into = vec![Lane::ZERO; from.len()];
                            let row = from.len() / changes.len();
                            kernels.update(&mut into, from, &weights, row, changes);
                            into
                        });
                        assert_eq!(results[0], results[1], "{changes:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn forward_of_largest_sums_does_not_overflow() {
    let values = vec![Lane([i16::MAX; 32]); 4];
    for weight in [-128, 128] {
        let row = vec![Lane([weight; 32]); 4];
        for kernels in Kernels::all() {
            assert_eq!(
                kernels.forward(&values, &row),
                255 * 255 * 128 * i32::from(weight),
                "{}",
                kernels.name()
            );
        }
    }
}

/// Random games from standard and Chess960 starts, and from positions with many promotions, castlings and en passant
/// captures, with random unmakes. The incremental value must be the fresh one, with every kernel.
#[test]
fn accumulators_after_any_moves_match_fresh_ones() {
    let network = Arc::new(random_network(3, 64, 8));
    let mut rng = fastrand::Rng::with_seed(4);
    let mut starts = vec![
        Position::startpos(),
        Position::from_fen("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
            .unwrap(),
        Position::from_fen("n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1").unwrap(),
        Position::from_fen("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1").unwrap(),
        Position::from_fen("4k3/pppppppp/8/8/8/8/PPPPPPPP/3K4 w - - 0 1").unwrap(),
    ];
    starts.extend((0..960).step_by(37).filter_map(Position::chess960_start));
    let (mut crossings, mut castlings, mut passings, mut promotions) = (0, 0, 0, 0);
    // Enough rounds that rare moves occur whatever kernels the CPU has.
    for round in 0..9 {
        for start in &starts {
            for kernels in Kernels::all() {
                let mut line = vec![*Box::new(start.clone())];
                let mut accumulators = Accumulators::with_kernels(network.clone(), kernels, start);
                for _ in 0..80 {
                    let position = line.last().unwrap().clone();
                    let moves: MoveList = position.legal_moves();
                    if line.len() > 1 && (moves.is_empty() || rng.u8(0..5) == 0) {
                        line.pop();
                        accumulators.pop();
                    } else if let Some(mv) = pick(&mut rng, &position, &moves) {
                        accumulators.push(position.turn(), BoardMove::new(&position, mv));
                        let after = position.after(mv);
                        let us = position.turn();
                        let mirrored =
                            |position: &Position| features::is_mirrored(position.king(us).index());
                        crossings += usize::from(mirrored(&position) != mirrored(&after));
                        castlings += usize::from(mv.is_castle());
                        promotions += usize::from(mv.is_promotion());
                        passings +=
                            usize::from(position.en_passant() == Some(mv.to()) && mv.is_capture());
                        line.push(after);
                    } else {
                        break;
                    }
                    if rng.u8(0..3 + round % 3) == 0 {
                        let position = line.last().unwrap();
                        let mut fresh = Accumulators::with_kernels(
                            network.clone(),
                            &Kernels::all()[0],
                            position,
                        );
                        assert_eq!(
                            accumulators.evaluate(position),
                            fresh.evaluate(position),
                            "{}",
                            position.fen()
                        );
                    }
                }
            }
        }
    }
    assert!(crossings > 100 && castlings > 20 && passings > 5 && promotions > 20);
}

/// A legal move, often a rare one or a king move.
fn pick(
    rng: &mut fastrand::Rng,
    position: &Position,
    moves: &MoveList,
) -> Option<knightwatch_chess::Move> {
    let us = position.turn();
    let rare: Vec<_> = moves
        .iter()
        .copied()
        .filter(|mv| {
            mv.is_castle()
                || mv.is_promotion()
                || mv.from() == position.king(us)
                || position.en_passant() == Some(mv.to())
        })
        .collect();
    if !rare.is_empty() && rng.bool() {
        return rng.choice(rare);
    }
    rng.choice(moves.iter().copied())
}

#[test]
fn evaluate_of_color_flip_is_equal() {
    let network = Arc::new(random_network(5, 32, 4));
    let value = |fen: &str| {
        let position = Position::from_fen(fen).unwrap();
        Accumulators::new(network.clone(), &position).evaluate(&position)
    };
    let white = value("r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4");
    let black = value("rnbqk2r/pppp1ppp/5n2/2b1p3/4P3/2N2N2/PPPP1PPP/R1BQKB1R b KQkq - 4 4");
    assert_eq!(white, black);
}
