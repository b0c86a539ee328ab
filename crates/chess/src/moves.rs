//! Moves and lists of moves.

use std::fmt;
use std::num::NonZeroU16;
use std::ops::{Deref, DerefMut};

use super::{Color, File, Position, Rank, Role, Square};

/// Kind of a move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MoveKind {
    /// A piece moves to an empty square; a pawn one square forward.
    Quiet,
    /// A pawn moves two squares forward.
    DoublePush,
    /// King and rook castle; the move's `to` is the square of the rook.
    Castle,
    /// A capture, without promotion.
    Capture,
    /// An en passant capture; the move's `to` is the empty square behind the captured pawn.
    EnPassant,
    /// A pawn promotes to a knight, bishop, rook or queen; in antichess also to a king.
    Promotion(Role),
    /// A pawn captures and promotes to a knight, bishop, rook or queen; in antichess also to a king.
    CapturePromotion(Role),
    /// A piece of this role is dropped from the pocket, in crazyhouse.
    Drop(Role),
}

const CAPTURE: u16 = 4;
const PROMOTION: u16 = 8;
/// Moves that only variants have, without a capture: drops, with the role in the bits of the from square, and
/// promotions to a king, whose from squares are all above those.
const DROP_OR_KING: u16 = 3;
const CAPTURE_KING: u16 = 6;
/// From squares of drops are below.
const FIRST_PAWN: usize = 8;

impl MoveKind {
    #[inline]
    const fn code(self) -> u16 {
        match self {
            MoveKind::Quiet => 0,
            MoveKind::DoublePush => 1,
            MoveKind::Castle => 2,
            MoveKind::Capture => CAPTURE,
            MoveKind::EnPassant => CAPTURE | 1,
            MoveKind::Drop(_) | MoveKind::Promotion(Role::King) => DROP_OR_KING,
            MoveKind::CapturePromotion(Role::King) => CAPTURE_KING,
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

/// Notation of castling in UCI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CastlingNotation {
    /// The king's from and to squares, `e1g1`: standard chess.
    #[default]
    Standard,
    /// The squares of king and rook, `e1h1`: Chess960.
    KingTakesRook,
}

impl Position {
    /// The notation in which castling is unambiguous: that of Chess960 if a king or rook does not start from its
    /// standard square.
    ///
    /// ```
    /// use knightwatch_chess::{CastlingNotation, Position};
    ///
    /// assert_eq!(Position::startpos().castling_notation(), CastlingNotation::Standard);
    /// let shifted = Position::from_fen("4k3/8/8/8/8/8/8/5KR1 w G - 0 1")?;
    /// assert_eq!(shifted.castling_notation(), CastlingNotation::KingTakesRook);
    /// # Ok::<(), knightwatch_chess::FenError>(())
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

/// A move in 16 bits: from, to and [kind](MoveKind). Castling is encoded as king takes own rook.
///
/// A move is only meaningful in the position it was made for; [`Position::is_legal`](super::Position::is_legal)
/// checks it against another.
///
/// ```
/// use knightwatch_chess::{MoveKind, Position, Square};
///
/// let position = Position::startpos();
/// let mv = position.parse_uci("e2e4")?;
/// assert_eq!((mv.from(), mv.to()), (Square::E2, Square::E4));
/// assert_eq!(mv.kind(), MoveKind::DoublePush);
/// assert_eq!(size_of_val(&Some(mv)), 2);
/// # Ok::<(), knightwatch_chess::MoveError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Move(NonZeroU16);

impl Move {
    /// Creates a move.
    ///
    /// # Panics
    ///
    /// If the bits are zero: a quiet move from a1 to a1, which does not exist.
    #[inline]
    pub const fn new(from: Square, to: Square, kind: MoveKind) -> Move {
        let from = match kind {
            MoveKind::Drop(role) => role.index(),
            _ => from.index(),
        };
        let bits = kind.code() << 12 | (to.index() << 6) as u16 | from as u16;
        Move(NonZeroU16::new(bits).expect("a piece leaves its square"))
    }

    /// Creates a drop of a piece from the pocket, in crazyhouse.
    pub const fn drop(role: Role, to: Square) -> Move {
        Move::new(to, to, MoveKind::Drop(role))
    }

    /// The from square; meaningless for a [drop](Move::dropped).
    #[inline]
    pub const fn from(self) -> Square {
        Square::wrap((self.0.get() & 63) as u8)
    }

    /// The squares of the move, to mark it on a board: only the to square for a [drop](Move::dropped).
    #[inline]
    pub const fn squares(self) -> [Square; 2] {
        match self.dropped() {
            Some(_) => [self.to(); 2],
            None => [self.from(), self.to()],
        }
    }

    /// The to square; for castling, the square of the own rook.
    #[inline]
    pub const fn to(self) -> Square {
        Square::wrap((self.0.get() >> 6 & 63) as u8)
    }

    #[inline]
    const fn code(self) -> u16 {
        self.0.get() >> 12
    }

    /// The kind of the move.
    #[inline]
    pub const fn kind(self) -> MoveKind {
        match self.code() {
            0 => MoveKind::Quiet,
            1 => MoveKind::DoublePush,
            2 => MoveKind::Castle,
            DROP_OR_KING => match self.dropped() {
                Some(role) => MoveKind::Drop(role),
                None => MoveKind::Promotion(Role::King),
            },
            CAPTURE_KING => MoveKind::CapturePromotion(Role::King),
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
            // `from_bits` does not accept 7.
            _ => MoveKind::Quiet,
        }
    }

    /// The role that a pawn promotes to.
    #[inline]
    pub const fn promotion(self) -> Option<Role> {
        match self.kind() {
            MoveKind::Promotion(role) | MoveKind::CapturePromotion(role) => Some(role),
            _ => None,
        }
    }

    /// Returns whether it is a capture, en passant included.
    #[inline]
    pub const fn is_capture(self) -> bool {
        self.code() & CAPTURE != 0
    }

    /// Returns whether it is castling.
    #[inline]
    pub const fn is_castle(self) -> bool {
        self.code() == 2
    }

    /// Returns whether it is castling in which the king stays on its square, as is possible in Chess960.
    #[inline]
    pub const fn is_castle_in_place(self) -> bool {
        self.is_castle() && self.castled_king().index() == self.from().index()
    }

    /// Returns whether it is a promotion.
    #[inline]
    pub const fn is_promotion(self) -> bool {
        self.code() & PROMOTION != 0 || self.code() == CAPTURE_KING || self.is_quiet_king()
    }

    /// Returns whether it is a capture or promotion. A promotion to a king without a capture, in antichess, counts as
    /// quiet.
    #[inline]
    pub const fn is_noisy(self) -> bool {
        self.code() & (CAPTURE | PROMOTION) != 0
    }

    /// Returns whether it is a promotion to a king without a capture.
    #[inline]
    const fn is_quiet_king(self) -> bool {
        self.code() == DROP_OR_KING && self.from().index() >= FIRST_PAWN
    }

    /// The role of the piece that is dropped from the pocket, in crazyhouse.
    #[inline]
    pub const fn dropped(self) -> Option<Role> {
        if self.code() != DROP_OR_KING {
            return None;
        }
        match self.from().index() {
            0 => Some(Role::Pawn),
            1 => Some(Role::Knight),
            2 => Some(Role::Bishop),
            3 => Some(Role::Rook),
            4 => Some(Role::Queen),
            _ => None,
        }
    }

    /// Returns whether the move exists in variants only: a drop or a promotion to a king.
    #[inline]
    pub(super) const fn is_of_variant(self) -> bool {
        matches!(self.code(), DROP_OR_KING | CAPTURE_KING)
    }

    /// The move as 16 bits, for compact storage.
    #[inline]
    pub const fn bits(self) -> u16 {
        self.0.get()
    }

    /// Decodes [`bits`](Move::bits); `None` if they do not encode a move.
    #[inline]
    pub const fn from_bits(bits: u16) -> Option<Move> {
        match NonZeroU16::new(bits) {
            Some(inner) => {
                let mv = Move(inner);
                let is_drop = mv.code() == DROP_OR_KING && mv.from().index() < FIRST_PAWN;
                if mv.code() == 7 || is_drop && mv.dropped().is_none() {
                    None
                } else {
                    Some(mv)
                }
            }
            None => None,
        }
    }

    /// The move in UCI notation: `e2e4`, `e7e8q`, `e1g1` or `e1h1` for castling, and `N@f3` for a drop.
    ///
    /// ```
    /// use knightwatch_chess::{CastlingNotation, Position};
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
        if let Some(role) = self.mv.dropped() {
            return write!(f, "{}@{}", role.char().to_ascii_uppercase(), self.mv.to());
        }
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

/// A list of moves, stored inline without allocation.
///
/// No position of standard chess has more than 218 legal moves; one of crazyhouse with full pockets has more.
///
/// ```
/// use knightwatch_chess::{MoveList, Position};
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
    /// The maximum number of moves.
    pub const CAPACITY: usize = 512;

    /// Creates an empty list.
    #[inline]
    pub const fn new() -> MoveList {
        const FILLER: Move = Move::new(Square::A1, Square::B1, MoveKind::Quiet);
        MoveList {
            moves: [FILLER; MoveList::CAPACITY],
            len: 0,
        }
    }

    /// Appends a move; does nothing if the list is full.
    #[inline]
    pub fn push(&mut self, mv: Move) {
        if let Some(place) = self.moves.get_mut(self.len) {
            *place = mv;
            self.len += 1;
        }
    }

    /// Removes all moves.
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
    fn from_bits_accepts_exactly_the_encodings_of_moves() {
        let mut moves = 0;
        for bits in 0..=u16::MAX {
            if let Some(mv) = Move::from_bits(bits) {
                assert_eq!(Move::new(mv.from(), mv.to(), mv.kind()), mv);
                assert_eq!(mv.bits(), bits);
                moves += 1;
            }
        }
        // Drops have five roles of eight in the bits of the from square.
        assert_eq!(moves, 15 * 4096 - 1 - 3 * 64);
    }

    #[test]
    fn kinds_of_moves_match_their_predicates() {
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
        for role in [Role::Pawn, Role::Queen] {
            let drop = Move::drop(role, Square::A1);
            assert_eq!(
                (drop.dropped(), drop.kind()),
                (Some(role), MoveKind::Drop(role))
            );
            assert!(!drop.is_noisy() && !drop.is_castle() && drop.promotion().is_none());
        }
        assert_eq!(
            Move::drop(Role::Knight, Square::F3)
                .uci(CastlingNotation::Standard)
                .to_string(),
            "N@f3"
        );
        for (to, kind) in [
            (Square::A8, MoveKind::Promotion(Role::King)),
            (Square::B8, MoveKind::CapturePromotion(Role::King)),
        ] {
            let king = Move::new(Square::A7, to, kind);
            assert_eq!((king.kind(), king.promotion()), (kind, Some(Role::King)));
            assert!(king.is_promotion() && king.dropped().is_none());
            assert_eq!(king.is_capture(), to == Square::B8);
            assert_eq!(king.is_noisy(), king.is_capture());
        }
    }

    #[test]
    fn push_to_full_list_is_ignored() {
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
