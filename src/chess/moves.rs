//! Moves and lists of moves.

use std::fmt;
use std::num::NonZeroU16;
use std::ops::{Deref, DerefMut};

use super::{Color, File, Position, Rank, Role, Square};

/// What sort of move it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MoveKind {
    /// A piece moves to an empty square; a pawn one square forward.
    Quiet,
    /// A pawn moves two squares forward.
    DoublePush,
    /// King and rook castle; the move's `to` is the square of the rook.
    Castle,
    /// A piece takes another, without promotion.
    Capture,
    /// A pawn takes another in passing; the move's `to` is empty before.
    EnPassant,
    /// A pawn moves to the last rank and becomes a knight, bishop, rook or queen.
    Promotion(Role),
    /// A pawn takes on the last rank and becomes a knight, bishop, rook or queen.
    CapturePromotion(Role),
}

const CAPTURE: u16 = 4;
const PROMOTION: u16 = 8;

impl MoveKind {
    const fn code(self) -> u16 {
        match self {
            MoveKind::Quiet => 0,
            MoveKind::DoublePush => 1,
            MoveKind::Castle => 2,
            MoveKind::Capture => CAPTURE,
            MoveKind::EnPassant => CAPTURE | 1,
            MoveKind::Promotion(role) => PROMOTION | promotion_code(role),
            MoveKind::CapturePromotion(role) => PROMOTION | CAPTURE | promotion_code(role),
        }
    }
}

const fn promotion_code(role: Role) -> u16 {
    match role {
        Role::Knight => 0,
        Role::Bishop => 1,
        Role::Rook => 2,
        _ => 3,
    }
}

/// How castling is written in UCI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CastlingNotation {
    /// By the king's squares, `e1g1`: standard chess.
    #[default]
    Standard,
    /// By the squares of king and rook, `e1h1`: Chess960.
    KingTakesRook,
}

impl Position {
    /// The notation in which castling cannot be taken for a king's move: that of Chess960 if a king may castle from
    /// or with another square than in standard chess.
    ///
    /// ```
    /// use knightwatch::chess::{CastlingNotation, Position};
    ///
    /// assert_eq!(Position::startpos().castling_notation(), CastlingNotation::Standard);
    /// let beside = Position::from_fen("4k3/8/8/8/8/8/8/5KR1 w G - 0 1")?;
    /// assert_eq!(beside.castling_notation(), CastlingNotation::KingTakesRook);
    /// # Ok::<(), knightwatch::chess::FenError>(())
    /// ```
    pub fn castling_notation(&self) -> CastlingNotation {
        let common = self.castling_rooks().into_iter().all(|rook| {
            let color = if rook.rank() == Rank::First {
                Color::White
            } else {
                Color::Black
            };
            matches!(rook.file(), File::A | File::H) && self.king(color).file() == File::E
        });
        if common {
            CastlingNotation::Standard
        } else {
            CastlingNotation::KingTakesRook
        }
    }
}

/// A move in 16 bits: from, to and [kind](MoveKind). Castling is king takes own rook.
///
/// What it means depends on the position that it was made for; [`Position::is_legal`](super::Position::is_legal)
/// says whether it is a legal move of another.
///
/// ```
/// use knightwatch::chess::{MoveKind, Position, Square};
///
/// let position = Position::startpos();
/// let mv = position.parse_uci("e2e4")?;
/// assert_eq!((mv.from(), mv.to()), (Square::E2, Square::E4));
/// assert_eq!(mv.kind(), MoveKind::DoublePush);
/// assert_eq!(size_of_val(&Some(mv)), 2);
/// # Ok::<(), knightwatch::chess::MoveError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Move(NonZeroU16);

impl Move {
    /// The move of these squares and this kind.
    ///
    /// # Panics
    ///
    /// If it is quiet and goes from a1 to a1, which no piece does.
    #[inline]
    pub const fn new(from: Square, to: Square, kind: MoveKind) -> Move {
        Move::with_code(from, to, kind.code())
    }

    #[inline]
    const fn with_code(from: Square, to: Square, code: u16) -> Move {
        let bits = code << 12 | (to.index() << 6) as u16 | from.index() as u16;
        Move(NonZeroU16::new(bits).expect("a piece leaves its square"))
    }

    /// The square the piece leaves.
    #[inline]
    pub const fn from(self) -> Square {
        Square::wrap((self.0.get() & 63) as u8)
    }

    /// The square the piece goes to; for castling, the square of the own rook.
    #[inline]
    pub const fn to(self) -> Square {
        Square::wrap((self.0.get() >> 6 & 63) as u8)
    }

    #[inline]
    const fn code(self) -> u16 {
        self.0.get() >> 12
    }

    /// What sort of move it is.
    #[inline]
    pub const fn kind(self) -> MoveKind {
        match self.code() {
            0 => MoveKind::Quiet,
            1 => MoveKind::DoublePush,
            2 => MoveKind::Castle,
            4 => MoveKind::Capture,
            5 => MoveKind::EnPassant,
            8 => MoveKind::Promotion(Role::Knight),
            9 => MoveKind::Promotion(Role::Bishop),
            10 => MoveKind::Promotion(Role::Rook),
            11 => MoveKind::Promotion(Role::Queen),
            12 => MoveKind::CapturePromotion(Role::Knight),
            13 => MoveKind::CapturePromotion(Role::Bishop),
            14 => MoveKind::CapturePromotion(Role::Rook),
            15 => MoveKind::CapturePromotion(Role::Queen),
            // `from_bits` lets neither 3 nor 6 nor 7 through.
            _ => MoveKind::Quiet,
        }
    }

    /// What the pawn becomes, if it promotes.
    #[inline]
    pub const fn promotion(self) -> Option<Role> {
        match self.kind() {
            MoveKind::Promotion(role) | MoveKind::CapturePromotion(role) => Some(role),
            _ => None,
        }
    }

    /// Whether it takes something, in passing included.
    #[inline]
    pub const fn is_capture(self) -> bool {
        self.code() & CAPTURE != 0
    }

    /// Whether it is castling.
    #[inline]
    pub const fn is_castle(self) -> bool {
        self.code() == 2
    }

    /// Whether it is castling in which the king stays on his square, as he may in Chess960.
    pub const fn is_castle_in_place(self) -> bool {
        self.is_castle() && self.castled_king().index() == self.from().index()
    }

    /// Whether a pawn promotes.
    #[inline]
    pub const fn is_promotion(self) -> bool {
        self.code() & PROMOTION != 0
    }

    /// Whether it takes or promotes.
    #[inline]
    pub const fn is_noisy(self) -> bool {
        self.code() & (CAPTURE | PROMOTION) != 0
    }

    /// The 16 bits, to be kept where room is scarce.
    #[inline]
    pub const fn bits(self) -> u16 {
        self.0.get()
    }

    /// The move that [`bits`](Move::bits) gave; none if the bits are of no move.
    #[inline]
    pub const fn from_bits(bits: u16) -> Option<Move> {
        match NonZeroU16::new(bits) {
            Some(inner) if !matches!(bits >> 12, 3 | 6 | 7) => Some(Move(inner)),
            _ => None,
        }
    }

    /// The move as UCI writes it, like `e2e4`, `e7e8q` and, by notation, `e1g1` or `e1h1`.
    ///
    /// ```
    /// use knightwatch::chess::{CastlingNotation, Position};
    ///
    /// let position = Position::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1")?;
    /// let castle = position.parse_san("O-O")?;
    /// assert_eq!(castle.uci(CastlingNotation::Standard).to_string(), "e1g1");
    /// assert_eq!(castle.uci(CastlingNotation::KingTakesRook).to_string(), "e1h1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn uci(self, notation: CastlingNotation) -> impl fmt::Display {
        Uci { mv: self, notation }
    }

    /// The king's square after castling with the rook on `to`.
    pub(super) const fn castled_king(self) -> Square {
        let file = if self.to().index() > self.from().index() {
            File::G
        } else {
            File::C
        };
        Square::new(file, self.from().rank())
    }

    /// The rook's square after castling.
    pub(super) const fn castled_rook(self) -> Square {
        let file = if self.to().index() > self.from().index() {
            File::F
        } else {
            File::D
        };
        Square::new(file, self.from().rank())
    }
}

struct Uci {
    mv: Move,
    notation: CastlingNotation,
}

impl fmt::Display for Uci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.mv.is_castle() && self.notation == CastlingNotation::Standard {
            self.mv.castled_king()
        } else {
            self.mv.to()
        };
        write!(f, "{}{}", self.mv.from(), to)?;
        match self.mv.promotion() {
            Some(role) => write!(f, "{}", role.char()),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:?}",
            self.uci(CastlingNotation::KingTakesRook),
            self.kind()
        )
    }
}

/// The moves of a position, kept in place without allocation.
///
/// No position that [`Position::from_fen`](super::Position::from_fen) takes has more than 218 legal moves.
///
/// ```
/// use knightwatch::chess::{MoveList, Position};
///
/// let moves: MoveList = Position::startpos().legal_moves();
/// assert_eq!(moves.len(), 20);
/// assert!(moves.iter().all(|mv| !mv.is_capture()));
/// ```
#[derive(Clone)]
pub struct MoveList {
    moves: [Move; MoveList::CAPACITY],
    len: usize,
}

impl MoveList {
    /// The most moves it holds.
    pub const CAPACITY: usize = 256;

    /// A list without moves.
    #[inline]
    pub const fn new() -> MoveList {
        const FILLER: Move = Move::new(Square::A1, Square::B1, MoveKind::Quiet);
        MoveList {
            moves: [FILLER; MoveList::CAPACITY],
            len: 0,
        }
    }

    /// Appends a move; what comes when the list is full, which no position fills, is lost.
    #[inline]
    pub fn push(&mut self, mv: Move) {
        if let Some(place) = self.moves.get_mut(self.len) {
            *place = mv;
            self.len += 1;
        }
    }

    /// Takes all moves out.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl Default for MoveList {
    fn default() -> MoveList {
        MoveList::new()
    }
}

impl Deref for MoveList {
    type Target = [Move];

    #[inline]
    fn deref(&self) -> &[Move] {
        &self.moves[..self.len]
    }
}

impl DerefMut for MoveList {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Move] {
        &mut self.moves[..self.len]
    }
}

impl<'a> IntoIterator for &'a MoveList {
    type Item = Move;
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, Move>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter().copied()
    }
}

impl fmt::Debug for MoveList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip_and_garbage_is_refused() {
        let mut moves = 0;
        for bits in 0..=u16::MAX {
            if let Some(mv) = Move::from_bits(bits) {
                assert_eq!(Move::new(mv.from(), mv.to(), mv.kind()), mv);
                assert_eq!(mv.bits(), bits);
                moves += 1;
            }
        }
        assert_eq!(moves, 13 * 4096 - 1);
    }

    #[test]
    fn kinds_say_what_they_are() {
        let promotion = Move::new(
            Square::A7,
            Square::B8,
            MoveKind::CapturePromotion(Role::Rook),
        );
        assert!(promotion.is_capture() && promotion.is_promotion() && promotion.is_noisy());
        assert_eq!(promotion.promotion(), Some(Role::Rook));
        assert_eq!(
            promotion.uci(CastlingNotation::Standard).to_string(),
            "a7b8r"
        );
        let castle = Move::new(Square::E8, Square::A8, MoveKind::Castle);
        assert!(castle.is_castle() && !castle.is_noisy());
        assert_eq!(castle.uci(CastlingNotation::Standard).to_string(), "e8c8");
        assert!(Move::new(Square::E5, Square::D6, MoveKind::EnPassant).is_capture());
    }

    #[test]
    fn a_full_list_takes_no_more() {
        let mut list = MoveList::new();
        let mv = Move::new(Square::A2, Square::A3, MoveKind::Quiet);
        for _ in 0..MoveList::CAPACITY {
            list.push(mv);
        }
        assert_eq!(list.len(), MoveList::CAPACITY);
        list.clear();
        assert!(list.is_empty());
    }
}
