//! Cuckoo tables: reversible moves by the difference of two position keys.
//!
//! The keys of two positions that differ by one reversible move differ in three numbers: the piece on both squares
//! and the side to move. There are a few thousand such differences; they are kept in a hash table (Marcel van
//! Kervinck, 2013).

use std::sync::LazyLock;

use super::{Bitboard, Color, Position, Role, Square, attacks, zobrist};

/// At least twice the number of moves, and a power of two.
const SLOTS: usize = 1 << 13;

/// A difference and the two squares of its move; the difference 0 marks an empty slot.
#[derive(Clone, Copy)]
struct Entry {
    difference: u64,
    squares: [Square; 2],
}

static ENTRIES: LazyLock<Box<[Entry]>> = LazyLock::new(build);

fn build() -> Box<[Entry]> {
    let empty = Entry {
        difference: 0,
        squares: [Square::A1; 2],
    };
    let mut entries = vec![empty; SLOTS].into_boxed_slice();
    for color in Color::ALL {
        for role in [
            Role::Knight,
            Role::Bishop,
            Role::Rook,
            Role::Queen,
            Role::King,
        ] {
            for from in Bitboard(u64::MAX) {
                for to in attacks::piece(role, from, Bitboard::EMPTY) {
                    if to.index() > from.index() {
                        let [one, other] = [from, to].map(|at| zobrist::piece(color, role, at));
                        let difference = one ^ other ^ zobrist::WHITE_TO_MOVE;
                        let slot = find(&entries, difference);
                        entries[slot] = Entry {
                            difference,
                            squares: [from, to],
                        };
                    }
                }
            }
        }
    }
    entries
}

/// The slot of a difference, or the empty slot for it.
fn find(entries: &[Entry], difference: u64) -> usize {
    let mut slot = (difference >> (u64::BITS - SLOTS.trailing_zeros())) as usize;
    while entries[slot].difference != difference && entries[slot].difference != 0 {
        slot = (slot + 1) % SLOTS;
    }
    slot
}

impl Position {
    /// The difference of the [keys](Position::key) of two positions that differ in the side to move only.
    pub const TURN_KEY: u64 = zobrist::WHITE_TO_MOVE;

    /// Returns whether the side to move can reach the position with this [key](Position::key) by a single reversible
    /// move of a piece: no capture, no castling. Checks and pins are ignored.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// let start = Position::startpos();
    /// let out = start.after(start.parse_san("Nf3")?);
    /// let reply = out.after(out.parse_san("Nf6")?);
    /// // From here the knight can go back to where only Black has moved.
    /// let other = Position::from_fen("rnbqkb1r/pppppppp/5n2/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 3 2")?;
    /// assert!(reply.can_move_back_to(other.key()));
    /// assert!(!reply.can_move_back_to(start.key()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn can_move_back_to(&self, key: u64) -> bool {
        let entries = &*ENTRIES;
        let entry = &entries[find(entries, self.key() ^ key)];
        let [one, other] = entry.squares;
        let own = self.by_color(self.turn());
        entry.difference != 0
            && (attacks::between(one, other) & self.occupied()).is_empty()
            && (own.contains(one) || own.contains(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn can_move_back_to_detects_exactly_reversible_moves() {
        let mut rng = fastrand::Rng::with_seed(3);
        let (mut found, mut others) = (0, 0);
        for _ in 0..200 {
            let mut pos = Position::startpos();
            for _ in 0..60 {
                let legal = pos.legal_moves();
                if legal.is_empty() {
                    break;
                }
                for &mv in legal.iter() {
                    let after = pos.after(mv);
                    // Moves that lose castling or en passant rights are not reversible.
                    let same_rights = after.castling_rooks() == pos.castling_rooks()
                        && pos.en_passant().is_none();
                    let is_piece = pos.role_at(mv.from()) != Some(Role::Pawn);
                    let is_back = !mv.is_noisy() && !mv.is_castle() && is_piece && same_rights;
                    assert_eq!(pos.can_move_back_to(after.key()), is_back, "{pos:?} {mv:?}");
                    found += u32::from(is_back);
                    others += u32::from(!is_back);
                }
                pos.play(legal[rng.usize(..legal.len())]);
            }
        }
        assert!(found > 10_000 && others > 10_000, "{found} {others}");
    }
}
