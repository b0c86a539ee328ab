//! The numbers that make up a position's key: those of the Polyglot book format, so that one key serves the
//! search, the repetitions and the books. <http://hgm.nubati.net/book_format.html>

use super::{Color, File, Role, Square};

static RANDOM: [u64; 781] = include!("zobrist.in");

/// The part of a piece on a square.
#[inline]
pub(super) fn piece(color: Color, role: Role, square: Square) -> u64 {
    // The format's kinds: black pawn, white pawn, black knight, white knight and so on.
    let kind = role.index() * 2 + (color.index() ^ 1);
    RANDOM[kind * 64 + square.index()]
}

/// The part of a right to castle; White's short, White's long, Black's short, Black's long.
#[inline]
pub(super) fn castling(color: Color, long: bool) -> u64 {
    RANDOM[768 + color.index() * 2 + long as usize]
}

/// The part of an en passant capture that a pawn stands ready to make.
#[inline]
pub(super) fn en_passant(file: File) -> u64 {
    RANDOM[772 + file.index()]
}

/// The part of White to move.
pub(super) const WHITE_TO_MOVE: u64 = 0xf8d6_26aa_af27_8509;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_is_the_last_number() {
        assert_eq!(RANDOM[780], WHITE_TO_MOVE);
    }
}
