//! Rook and bishop attacks by fancy magic bitboards: the relevant occupancy, multiplied by a magic number, gives the
//! index of the attack set in a table.
//!
//! The [generator] finds the numbers from its seed. `WRITE_TABLES=1 cargo test chess::magic` writes the files;
//! without the variable that test checks them.

use super::{Bitboard, Square};

#[cfg(test)]
mod generator;

/// Table lookup of one square.
struct Magic {
    /// Relevant squares.
    mask: u64,
    factor: u64,
    /// Start of the square's attack sets in the table.
    offset: u32,
    shift: u32,
}

impl Magic {
    #[inline]
    fn attacks(&self, occupied: Bitboard) -> Bitboard {
        let index = (occupied.0 & self.mask).wrapping_mul(self.factor) >> self.shift;
        let bytes = ATTACKS.0.as_chunks().0[self.offset as usize + index as usize];
        Bitboard(u64::from_le_bytes(bytes))
    }
}

/// Rook entries of the 64 squares, then bishop entries.
static MAGICS: [Magic; 128] = include!("entries.in");

/// Aligned to a cache line, so that no entry straddles two.
#[repr(align(64))]
struct Aligned<T>(T);

static ATTACKS: Aligned<[u8; 107_648 * 8]> = Aligned(*include_bytes!("attacks.bin"));

#[inline]
pub(super) fn rook(square: Square, occupied: Bitboard) -> Bitboard {
    MAGICS[square.index()].attacks(occupied)
}

#[inline]
pub(super) fn bishop(square: Square, occupied: Bitboard) -> Bitboard {
    MAGICS[64 + square.index()].attacks(occupied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(tables: &generator::Tables) -> std::io::Result<()> {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/magic/");
        let file = |name| format!("{directory}{name}");
        std::fs::write(file("entries.in"), generator::entries_text(tables))?;
        std::fs::write(file("attacks.bin"), generator::attack_bytes(tables))
    }

    #[test]
    fn tables_match_the_generator() {
        let tables = generator::generate();
        if std::env::var_os("WRITE_TABLES").is_some() {
            write(&tables).expect("the source can be written");
        }
        assert_eq!(generator::entries_text(&tables), include_str!("entries.in"));
        assert!(generator::attack_bytes(&tables) == ATTACKS.0);
    }

    #[test]
    fn attacks_match_sliding() {
        let mut occupied = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..200 {
            occupied = occupied.rotate_left(7).wrapping_mul(0xd6e8_feb8_6659_fd93);
            for square in Square::all() {
                let sparse = occupied & occupied.rotate_left(29);
                for occupied in [occupied, sparse] {
                    assert_eq!(
                        rook(square, Bitboard(occupied)).0,
                        generator::slide(square.index(), &generator::ROOK, occupied)
                    );
                    assert_eq!(
                        bishop(square, Bitboard(occupied)).0,
                        generator::slide(square.index(), &generator::BISHOP, occupied)
                    );
                }
            }
        }
    }
}
