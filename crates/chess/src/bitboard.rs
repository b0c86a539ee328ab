//! Sets of squares.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Not};

use super::{File, Rank, Square};

/// A set of squares, one bit each: bit 0 is a1, bit 63 is h8.
///
/// ```
/// use knightwatch_chess::{Bitboard, Rank, Square};
///
/// let squares = Bitboard::from(Rank::Second) & !Bitboard::from(Square::E2);
/// assert_eq!(squares.count(), 7);
/// assert_eq!(squares.into_iter().next(), Some(Square::A2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bitboard(pub u64);

impl Bitboard {
    /// The empty set.
    pub const EMPTY: Bitboard = Bitboard(0);
    /// All 64 squares.
    pub const FULL: Bitboard = Bitboard(!0);
    /// Dark squares: a1, c1, b2 and so on.
    pub const DARK: Bitboard = Bitboard(0xaa55_aa55_aa55_aa55);
    /// Light squares: b1, d1, a2 and so on.
    pub const LIGHT: Bitboard = Bitboard(!0xaa55_aa55_aa55_aa55);

    /// The set of a single square.
    #[inline]
    pub const fn of(square: Square) -> Bitboard {
        Bitboard(1 << square.index())
    }

    /// The squares of a file.
    #[inline]
    pub const fn file(file: File) -> Bitboard {
        Bitboard(0x0101_0101_0101_0101 << file.index())
    }

    /// The squares of a rank.
    #[inline]
    pub const fn rank(rank: Rank) -> Bitboard {
        Bitboard(0xff << (rank.index() * 8))
    }

    /// Returns whether the square is in the set.
    #[inline]
    pub const fn contains(self, square: Square) -> bool {
        self.0 >> square.index() & 1 != 0
    }

    /// The number of squares, 0 to 64.
    #[inline]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns whether the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the set has more than one square.
    #[inline]
    pub const fn more_than_one(self) -> bool {
        self.0 & self.0.wrapping_sub(1) != 0
    }

    /// Returns whether the sets have a common square.
    #[inline]
    pub const fn intersects(self, other: Bitboard) -> bool {
        self.0 & other.0 != 0
    }

    /// The square with the lowest index.
    #[inline]
    pub const fn first(self) -> Option<Square> {
        if self.0 == 0 {
            None
        } else {
            Some(Square::wrap(self.0.trailing_zeros() as u8))
        }
    }

    /// The square with the highest index.
    #[inline]
    pub const fn last(self) -> Option<Square> {
        if self.0 == 0 {
            None
        } else {
            Some(Square::wrap(63 - self.0.leading_zeros() as u8))
        }
    }

    /// The squares of this square's color.
    #[inline]
    pub const fn colored_like(square: Square) -> Bitboard {
        if Bitboard::LIGHT.contains(square) {
            Bitboard::LIGHT
        } else {
            Bitboard::DARK
        }
    }

    /// The set with `square` added.
    #[inline]
    pub const fn with(self, square: Square) -> Bitboard {
        Bitboard(self.0 | 1 << square.index())
    }

    /// The set with `square` removed.
    #[inline]
    pub const fn without(self, square: Square) -> Bitboard {
        Bitboard(self.0 & !(1 << square.index()))
    }

    /// All squares shifted by `by` places up (towards h8) or, if negative, down. Squares shifted off the top or
    /// bottom are lost; squares shifted sideways wrap around.
    #[inline]
    pub(super) const fn shifted(self, by: i8) -> Bitboard {
        if by >= 0 {
            Bitboard(self.0 << by)
        } else {
            Bitboard(self.0 >> -by)
        }
    }
}

impl From<Square> for Bitboard {
    #[inline]
    fn from(square: Square) -> Bitboard {
        Bitboard::of(square)
    }
}

impl From<File> for Bitboard {
    #[inline]
    fn from(file: File) -> Bitboard {
        Bitboard::file(file)
    }
}

impl From<Rank> for Bitboard {
    #[inline]
    fn from(rank: Rank) -> Bitboard {
        Bitboard::rank(rank)
    }
}

impl FromIterator<Square> for Bitboard {
    fn from_iter<I: IntoIterator<Item = Square>>(squares: I) -> Bitboard {
        squares.into_iter().fold(Bitboard::EMPTY, Bitboard::with)
    }
}

macro_rules! bit_operators {
    ($($operator:ident $function:ident $assign:ident $assign_function:ident $sign:tt;)*) => {$(
        impl $operator for Bitboard {
            type Output = Bitboard;

            #[inline]
            fn $function(self, other: Bitboard) -> Bitboard {
                Bitboard(self.0 $sign other.0)
            }
        }

        impl $assign for Bitboard {
            #[inline]
            fn $assign_function(&mut self, other: Bitboard) {
                *self = *self $sign other;
            }
        }
    )*};
}

bit_operators! {
    BitAnd bitand BitAndAssign bitand_assign &;
    BitOr bitor BitOrAssign bitor_assign |;
    BitXor bitxor BitXorAssign bitxor_assign ^;
}

impl Not for Bitboard {
    type Output = Bitboard;

    #[inline]
    fn not(self) -> Bitboard {
        Bitboard(!self.0)
    }
}

/// The squares of a [`Bitboard`], from a1 towards h8.
#[derive(Clone, Debug)]
pub struct Squares(Bitboard);

impl Iterator for Squares {
    type Item = Square;

    #[inline]
    fn next(&mut self) -> Option<Square> {
        let square = self.0.first()?;
        self.0.0 &= self.0.0.wrapping_sub(1);
        Some(square)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.count() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Squares {}
impl FusedIterator for Squares {}

impl IntoIterator for Bitboard {
    type Item = Square;
    type IntoIter = Squares;

    #[inline]
    fn into_iter(self) -> Squares {
        Squares(self)
    }
}

impl fmt::Debug for Bitboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_iterated_in_order() {
        let set: Bitboard = [Square::H8, Square::A1, Square::E4].into_iter().collect();
        assert_eq!(
            set.into_iter().collect::<Vec<_>>(),
            [Square::A1, Square::E4, Square::H8]
        );
        assert_eq!(
            (set.count(), set.first(), set.last()),
            (3, Some(Square::A1), Some(Square::H8))
        );
        assert!(set.more_than_one() && !Bitboard::of(Square::B2).more_than_one());
        assert_eq!(Bitboard::EMPTY.first(), None);
    }

    #[test]
    fn dark_and_light_are_complements() {
        assert!(Bitboard::DARK.contains(Square::A1) && Bitboard::LIGHT.contains(Square::H1));
        assert_eq!(Bitboard::DARK ^ Bitboard::LIGHT, Bitboard::FULL);
    }
}
