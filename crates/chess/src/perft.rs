//! Perft: counting move sequences, to test the move generator.

use super::variant::{AnyRules, Rules, StandardRules};
use super::{Move, Position, Variant};

/// Deeper counts would not finish, and could overflow the stack.
pub const MAX_DEPTH: u32 = 64;

/// The number of legal move sequences of `depth` plies, at most [`MAX_DEPTH`]. Moves of the last ply are counted
/// without being made.
///
/// ```
/// use knightwatch_chess::{Position, perft::perft};
///
/// assert_eq!(perft(&Position::startpos(), 3), 8_902);
/// ```
pub fn perft(position: &Position, depth: u32) -> u64 {
    match position.variant() {
        Variant::Standard => perft_by::<StandardRules>(position, depth),
        _ => perft_by::<AnyRules>(position, depth),
    }
}

fn perft_by<R: Rules>(position: &Position, depth: u32) -> u64 {
    match depth {
        0 => 1,
        1 => position.count_legal_moves_by::<R>(),
        _ => {
            let mut nodes = 0;
            position.for_each_move_by::<R>(|mv| nodes += below::<R>(position, mv, depth - 1));
            nodes
        }
    }
}

/// Not inlined, so that the loop is compiled once and not at every call of the move sink.
#[inline(never)]
fn below<R: Rules>(position: &Position, mv: Move, depth: u32) -> u64 {
    // `after_by` would copy the position twice.
    let mut next = position.clone();
    next.play_by::<R>(mv);
    perft_by::<R>(&next, depth)
}

/// [`perft`] by first move; empty for depth 0.
pub fn divide(position: &Position, depth: u32) -> Vec<(Move, u64)> {
    if depth == 0 {
        return Vec::new();
    }
    position
        .legal_moves()
        .into_iter()
        .map(|mv| (mv, perft(&position.after(mv), depth - 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Well-known positions with their counts from depth 1.
    const KNOWN: [(&str, &[u64]); 6] = [
        (
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            &[20, 400, 8_902, 197_281, 4_865_609, 119_060_324],
        ),
        (
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            &[48, 2_039, 97_862, 4_085_603, 193_690_690],
        ),
        (
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            &[14, 191, 2_812, 43_238, 674_624, 11_030_083, 178_633_661],
        ),
        (
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
            &[6, 264, 9_467, 422_333, 15_833_292],
        ),
        (
            "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
            &[44, 1_486, 62_379, 2_103_487, 89_941_194],
        ),
        (
            "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
            &[46, 2_079, 89_890, 3_894_594, 164_075_551],
        ),
    ];

    #[test]
    fn perft_of_known_positions_matches() {
        let max = if cfg!(debug_assertions) {
            200_000
        } else {
            200_000_000
        };
        for (fen, counts) in KNOWN {
            let position = Position::from_fen(fen).expect("a well-known position");
            assert_eq!(position.fen(), fen);
            for (depth, &count) in (1..).zip(counts) {
                if count <= max {
                    assert_eq!(perft(&position, depth), count, "{fen} at depth {depth}");
                }
            }
        }
    }

    #[test]
    fn divide_adds_up_to_perft() {
        let position = Position::startpos();
        let parts = divide(&position, 3);
        assert_eq!(parts.len(), 20);
        assert_eq!(parts.iter().map(|&(_, count)| count).sum::<u64>(), 8_902);
    }
}
