//! Zobrist keys of the Polyglot book format, so that one key serves search, repetitions and books.
//! <http://hgm.nubati.net/book_format.html>

use super::{Color, File, Role, Square};

static RANDOM: [u64; 781] = include!("zobrist.in");

/// Key of a piece on a square.
#[inline]
pub(super) fn piece(color: Color, role: Role, square: Square) -> u64 {
    // Order of the format: black pawn, white pawn, black knight, white knight and so on.
    let kind = role.index() * 2 + (color.index() ^ 1);
    RANDOM[kind * 64 + square.index()]
}

/// Key of a castling right.
#[inline]
pub(super) fn castling(color: Color, long: bool) -> u64 {
    RANDOM[768 + color.index() * 2 + usize::from(long)]
}

/// Key of a possible en passant capture.
#[inline]
pub(super) fn en_passant(file: File) -> u64 {
    RANDOM[772 + file.index()]
}

/// Key of White to move.
pub(super) const WHITE_TO_MOVE: u64 = 0xf8d6_26aa_af27_8509;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_to_move_is_the_last_random_number() {
        assert_eq!(RANDOM[780], WHITE_TO_MOVE);
    }
}
