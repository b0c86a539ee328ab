//! Mapping of pieces to the 768 inputs, and of positions to output rows. Shared by trainer and engine.

use knightwatch_chess::{Color, Piece, Square};

/// Inputs of one perspective: two sides, six roles, 64 squares.
pub const INPUTS: usize = 768;

/// Returns whether the view of the side whose king is on `king` is mirrored, left to right.
#[must_use]
pub const fn is_mirrored(king: usize) -> bool {
    king & 7 >= 4
}

/// Mask to xor a square with, for `perspective`.
#[must_use]
pub const fn orientation(perspective: Color, mirrored: bool) -> usize {
    let ends = match perspective {
        Color::White => 0,
        Color::Black => 56,
    };
    ends ^ if mirrored { 7 } else { 0 }
}

/// The input of a piece: `side` is 0 for the perspective's own, 1 for the other side; `role` in 0..6; `square`
/// already oriented.
#[must_use]
pub const fn slot(side: usize, role: usize, square: usize) -> usize {
    (side * 6 + role) * 64 + square
}

/// The input of `piece` on `square`, seen from `perspective`, in 0..768.
#[must_use]
pub fn index(perspective: Color, mirrored: bool, piece: Piece, square: Square) -> u16 {
    let side = usize::from(piece.color != perspective);
    slot(
        side,
        piece.role.index(),
        square.index() ^ orientation(perspective, mirrored),
    ) as u16
}

/// [`index`] for another view, from the index that White sees without mirroring.
#[must_use]
pub(super) const fn seen_by(perspective: Color, mirrored: bool, index: u16) -> u16 {
    const SIDE: u16 = INPUTS as u16 / 2;
    let index = match perspective {
        Color::White => index,
        Color::Black if index < SIDE => index + SIDE,
        Color::Black => index - SIDE,
    };
    index ^ orientation(perspective, mirrored) as u16
}

/// The output row, in 0..`buckets`, for a board with `pieces` pieces (2..=32, kings included).
#[must_use]
pub const fn bucket(pieces: usize, buckets: usize) -> usize {
    (pieces - 2) * buckets / 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_chess::Role;

    #[test]
    fn seen_by_matches_index() {
        for piece in Color::ALL
            .into_iter()
            .flat_map(|color| Role::ALL.map(|role| Piece { color, role }))
        {
            for square in Square::all() {
                let white = index(Color::White, false, piece, square);
                for (color, mirrored) in Color::ALL
                    .into_iter()
                    .flat_map(|color| [(color, false), (color, true)])
                {
                    let expected = index(color, mirrored, piece, square);
                    assert_eq!(
                        seen_by(color, mirrored, white),
                        expected,
                        "{piece} {square}"
                    );
                }
            }
        }
    }
}
