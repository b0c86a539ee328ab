//! Squares, files and ranks.

use std::fmt;
use std::str::FromStr;

/// A file, from a to h.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum File {
    A,
    B,
    C,
    D,
    E,
    F,
    G,
    H,
}

impl File {
    /// The eight files, from a to h.
    pub const ALL: [File; 8] = [
        File::A,
        File::B,
        File::C,
        File::D,
        File::E,
        File::F,
        File::G,
        File::H,
    ];

    /// The file with index 0 (a) to 7 (h).
    #[inline]
    pub const fn from_index(index: u8) -> Option<File> {
        if index < 8 {
            Some(File::ALL[index as usize])
        } else {
            None
        }
    }

    /// Parses a file letter, in either case.
    pub const fn from_char(letter: char) -> Option<File> {
        match letter {
            'a'..='h' => File::from_index(letter as u8 - b'a'),
            'A'..='H' => File::from_index(letter as u8 - b'A'),
            _ => None,
        }
    }

    /// 0 for a up to 7 for h.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The letter, in lower case.
    pub const fn char(self) -> char {
        (b'a' + self as u8) as char
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.char())
    }
}

/// A rank, from White's first to the eighth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Rank {
    First,
    Second,
    Third,
    Fourth,
    Fifth,
    Sixth,
    Seventh,
    Eighth,
}

impl Rank {
    /// The eight ranks, from the first to the eighth.
    pub const ALL: [Rank; 8] = [
        Rank::First,
        Rank::Second,
        Rank::Third,
        Rank::Fourth,
        Rank::Fifth,
        Rank::Sixth,
        Rank::Seventh,
        Rank::Eighth,
    ];

    /// The rank with index 0 (first) to 7 (eighth).
    #[inline]
    pub const fn from_index(index: u8) -> Option<Rank> {
        if index < 8 {
            Some(Rank::ALL[index as usize])
        } else {
            None
        }
    }

    /// Parses a rank digit.
    pub const fn from_char(digit: char) -> Option<Rank> {
        match digit {
            '1'..='8' => Rank::from_index(digit as u8 - b'1'),
            _ => None,
        }
    }

    /// 0 for the first up to 7 for the eighth.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The digit, 1 to 8.
    pub const fn char(self) -> char {
        (b'1' + self as u8) as char
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.char())
    }
}

/// One of the 64 squares, numbered by rank from White's left: a1 is 0, b1 is 1, h8 is 63.
///
/// ```
/// use knightwatch_chess::{File, Rank, Square};
///
/// let square: Square = "e4".parse()?;
/// assert_eq!(square, Square::E4);
/// assert_eq!(square, Square::new(File::E, Rank::Fourth));
/// assert_eq!(square.index(), 28);
/// # Ok::<(), knightwatch_chess::ParseSquareError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Square(u8);

macro_rules! name_squares {
    ($($rank:literal: $($name:ident)*;)*) => {
        #[allow(missing_docs)]
        impl Square {
            $(name_squares!(@rank $rank * 8; $($name)*);)*
        }
    };
    (@rank $base:expr; $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        pub const $a: Square = Square($base);
        pub const $b: Square = Square($base + 1);
        pub const $c: Square = Square($base + 2);
        pub const $d: Square = Square($base + 3);
        pub const $e: Square = Square($base + 4);
        pub const $f: Square = Square($base + 5);
        pub const $g: Square = Square($base + 6);
        pub const $h: Square = Square($base + 7);
    };
}

name_squares! {
    0: A1 B1 C1 D1 E1 F1 G1 H1;
    1: A2 B2 C2 D2 E2 F2 G2 H2;
    2: A3 B3 C3 D3 E3 F3 G3 H3;
    3: A4 B4 C4 D4 E4 F4 G4 H4;
    4: A5 B5 C5 D5 E5 F5 G5 H5;
    5: A6 B6 C6 D6 E6 F6 G6 H6;
    6: A7 B7 C7 D7 E7 F7 G7 H7;
    7: A8 B8 C8 D8 E8 F8 G8 H8;
}

impl Square {
    /// The square on a file and rank.
    #[inline]
    pub const fn new(file: File, rank: Rank) -> Square {
        Square(rank as u8 * 8 + file as u8)
    }

    /// The square with this index, 0 to 63.
    #[inline]
    pub const fn from_index(index: u8) -> Option<Square> {
        if index < 64 {
            Some(Square(index))
        } else {
            None
        }
    }

    /// The square given by the low six bits.
    #[inline]
    pub(super) const fn wrap(index: u8) -> Square {
        Square(index & 63)
    }

    /// The index of the square, 0 to 63.
    #[inline]
    pub const fn index(self) -> usize {
        // The mask tells the compiler the range, so that tables of 64 need no bounds check.
        (self.0 & 63) as usize
    }

    /// The file of the square.
    #[inline]
    pub const fn file(self) -> File {
        File::ALL[(self.0 & 7) as usize]
    }

    /// The rank of the square.
    #[inline]
    pub const fn rank(self) -> Rank {
        Rank::ALL[(self.0 >> 3 & 7) as usize]
    }

    /// The square mirrored vertically: a1 becomes a8.
    #[inline]
    pub const fn flip(self) -> Square {
        Square(self.0 ^ 56)
    }

    /// All squares, from a1 to h8.
    pub fn all() -> impl DoubleEndedIterator<Item = Square> + ExactSizeIterator {
        (0..64).map(Square)
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.file(), self.rank())
    }
}

impl fmt::Debug for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error of parsing a square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseSquareError;

impl fmt::Display for ParseSquareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a square like e4: a letter from a to h and a digit from 1 to 8")
    }
}

impl std::error::Error for ParseSquareError {}

impl FromStr for Square {
    type Err = ParseSquareError;

    fn from_str(text: &str) -> Result<Square, ParseSquareError> {
        let mut chars = text.chars();
        match (chars.next(), chars.next(), chars.next()) {
            (Some(file), Some(rank), None) if file.is_ascii_lowercase() => {
                match (File::from_char(file), Rank::from_char(rank)) {
                    (Some(file), Some(rank)) => Ok(Square::new(file, rank)),
                    _ => Err(ParseSquareError),
                }
            }
            _ => Err(ParseSquareError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_names_round_trip() {
        for square in Square::all() {
            assert_eq!(square.to_string().parse(), Ok(square));
            assert_eq!(Square::new(square.file(), square.rank()), square);
        }
        assert_eq!(Square::H8.index(), 63);
        assert_eq!(Square::A2.flip(), Square::A7);
    }

    #[test]
    fn parse_of_bad_square_fails() {
        for text in ["", "e", "e9", "i1", "e44", "E4", "é4", "4e", "e4 "] {
            assert!(text.parse::<Square>().is_err(), "{text:?}");
        }
    }
}
