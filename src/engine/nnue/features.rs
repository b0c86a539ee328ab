//! Which of the 768 inputs a piece is, and which output row a position uses. Trainer and engine share these few lines.

use crate::chess::{Color, Piece, Square};

/// Inputs of one perspective: two sides, six roles, 64 squares.
pub const INPUTS: usize = 768;

/// Whether the side whose king stands on `king` sees the board mirrored, left for right.
#[must_use]
pub const fn is_mirrored(king: usize) -> bool {
    king & 7 >= 4
}

/// What to xor a square with, from `perspective`.
#[must_use]
pub const fn orientation(perspective: Color, mirrored: bool) -> usize {
    let ends = match perspective {
        Color::White => 0,
        Color::Black => 56,
    };
    ends ^ if mirrored { 7 } else { 0 }
}

/// The input of a piece: `side` is 0 for the perspective's own, 1 for the other's; `role` 0..6; `square` already oriented.
#[must_use]
pub const fn slot(side: usize, role: usize, square: usize) -> usize {
    (side * 6 + role) * 64 + square
}

/// The input of `piece` on `square`, seen from `perspective` (0..768).
#[must_use]
pub fn index(perspective: Color, mirrored: bool, piece: Piece, square: Square) -> u16 {
    let side = usize::from(piece.color != perspective);
    slot(
        side,
        piece.role.index(),
        square.index() ^ orientation(perspective, mirrored),
    ) as u16
}

/// The output row, of `buckets`, for a board with `pieces` pieces (2..=32, kings included).
#[must_use]
pub const fn bucket(pieces: usize, buckets: usize) -> usize {
    (pieces - 2) * buckets / 31
}
