//! Training sample: one position in 32 bytes, from the point of view of the side to move.

use knightwatch_chess::{Color, Position, Role};
use knightwatch_engine::nnue::features::{is_mirrored, slot};

/// Set in the result of a position with Black to move.
const BLACK_TO_MOVE: u8 = 0x80;

/// A position with its score and the game's result, oriented so that the side to move plays up the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    occupied: u64,
    /// Four bits per piece, in square order: the role in the lower three, the highest one set for the side not to move.
    pieces: [u8; 16],
    /// Centipawns.
    score: i16,
    /// 0 lost, 1 drawn, 2 won; with [`BLACK_TO_MOVE`] if it is Black's move.
    result: u8,
    our_king: u8,
    their_king: u8,
}

impl Sample {
    /// `score` in centipawns and `result` (0 lost, 1 drawn, 2 won) are from the point of view of the side to move.
    #[must_use]
    pub(crate) fn new(position: &Position, score: i16, result: u8) -> Sample {
        let us = position.turn();
        let flip = if us == Color::White { 0 } else { 56 };
        let mut board = [0u8; 64];
        let mut occupied = 0u64;
        for (side, color) in [us, !us].into_iter().enumerate() {
            for role in Role::ALL {
                for square in position.pieces(color, role) {
                    let square = square.index() ^ flip;
                    board[square] = (side * 8 + role.index()) as u8;
                    occupied |= 1 << square;
                }
            }
        }
        let mut pieces = [0u8; 16];
        let mut left = occupied;
        for at in 0..occupied.count_ones() as usize {
            pieces[at / 2] |= board[left.trailing_zeros() as usize] << (4 * (at % 2));
            left &= left - 1;
        }
        let king = |color: Color| (position.king(color).index() ^ flip) as u8;
        Sample {
            occupied,
            pieces,
            score,
            result: result | if us.is_white() { 0 } else { BLACK_TO_MOVE },
            our_king: king(us),
            their_king: king(!us),
        }
    }

    #[must_use]
    pub(crate) fn score(&self) -> i16 {
        self.score
    }

    /// 0.0 lost, 0.5 drawn, 1.0 won, for the side to move.
    #[must_use]
    pub(crate) fn result(&self) -> f32 {
        f32::from(self.result & !BLACK_TO_MOVE) / 2.0
    }

    /// The side to move.
    #[must_use]
    pub(crate) fn turn(&self) -> Color {
        if self.result & BLACK_TO_MOVE == 0 {
            Color::White
        } else {
            Color::Black
        }
    }

    /// Number of pieces, kings included.
    #[must_use]
    pub(crate) fn count(&self) -> usize {
        self.occupied.count_ones() as usize
    }

    /// The active inputs: `ours` for the side to move, `theirs` for the other; the first [`count`](Self::count) of each are set.
    #[inline]
    pub(crate) fn features(&self, ours: &mut [u16; 32], theirs: &mut [u16; 32]) {
        let our_flip = if is_mirrored(self.our_king.into()) {
            7
        } else {
            0
        };
        let their_flip = 56
            ^ if is_mirrored(self.their_king.into()) {
                7
            } else {
                0
            };
        for ((our, their), (square, side, role)) in ours.iter_mut().zip(theirs).zip(self.pieces()) {
            *our = slot(side, role, square ^ our_flip) as u16;
            *their = slot(1 - side, role, square ^ their_flip) as u16;
        }
    }

    /// Square, side (0 for the side to move) and role of every piece, by square.
    #[inline]
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut left = self.occupied;
        (0..self.count()).map(move |at| {
            let square = left.trailing_zeros() as usize;
            left &= left - 1;
            let code = usize::from(self.pieces[at / 2] >> (4 * (at % 2)));
            (square, code >> 3 & 1, code & 7)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_chess::Piece;
    use knightwatch_engine::nnue::features;

    #[test]
    fn sample_features_match_the_engine() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r1bk3r/p2pBpNp/n4n2/1p1NP2P/6P1/3P4/P1P1K3/q5b1 b - - 1 23",
            "8/8/1k6/8/8/5K2/4P3/8 b - - 0 1",
        ] {
            let position = Position::from_fen(fen).unwrap();
            let sample = Sample::new(&position, -13, 2);
            let mut found = [[0u16; 32]; 2];
            let [ours, theirs] = &mut found;
            sample.features(ours, theirs);
            for (perspective, list) in [position.turn(), !position.turn()].into_iter().zip(&found) {
                let mirrored = is_mirrored(position.king(perspective).index());
                let mut expected: Vec<u16> = position
                    .occupied()
                    .into_iter()
                    .map(|square| {
                        let piece: Piece = position.piece_at(square).unwrap();
                        features::index(perspective, mirrored, piece, square)
                    })
                    .collect();
                let mut list = list[..sample.count()].to_vec();
                expected.sort_unstable();
                list.sort_unstable();
                assert_eq!(list, expected, "{fen}");
            }
            assert_eq!((sample.score(), sample.result()), (-13, 1.0));
            assert_eq!(sample.turn(), position.turn());
        }
        assert_eq!(size_of::<Sample>(), 32);
    }
}
