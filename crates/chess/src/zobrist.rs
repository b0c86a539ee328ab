//! Zobrist keys of the Polyglot book format, so that one key serves search, repetitions and books.
//! <http://hgm.nubati.net/book_format.html>

use super::{Color, File, Role, Square, Variant};

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

/// Key of a variant: 0 for standard chess, so that its keys are those of the format.
pub(super) fn variant(variant: Variant) -> u64 {
    match variant {
        Variant::Standard => 0,
        other => extra(other as u64),
    }
}

/// Key of the mark of a promoted piece.
pub(super) fn promoted(square: Square) -> u64 {
    extra(64 + square.index() as u64)
}

/// Key of a number of checks given by a side.
pub(super) fn checks(color: Color, count: u32) -> u64 {
    extra(128 + 64 * color.index() as u64 + u64::from(count))
}

/// Key of a number of pieces in a pocket: 0 for none, as in the other variants.
pub(super) fn pocket(color: Color, role: Role, count: u32) -> u64 {
    match count {
        0 => 0,
        _ => extra(256 + 64 * (6 * color.index() + role.index()) as u64 + u64::from(count)),
    }
}

/// A random number that is not part of the format: `SplitMix64`.
const fn extra(index: u64) -> u64 {
    let mut bits = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
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
