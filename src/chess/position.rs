//! The position: what stands where, who may do what, and how a move changes it.

use std::fmt;

use super::{Bitboard, Color, File, Move, MoveKind, Piece, Rank, Role, Square};
use super::{attacks, zobrist};

/// Towards which rook a king castles. In Chess960 the name tells where they end: on the g- and f-files or on the
/// c- and d-files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CastlingSide {
    /// Short, `O-O`: with the rook nearer to the h-file.
    King,
    /// Long, `O-O-O`: with the rook nearer to the a-file.
    Queen,
}

impl CastlingSide {
    /// Short, then long.
    pub const ALL: [CastlingSide; 2] = [CastlingSide::King, CastlingSide::Queen];
}

/// A position of standard chess or Chess960, with all that the rules and the search want to know of it. It is
/// small and cheap to copy: a move is taken back by keeping the position from before.
///
/// ```
/// use knightwatch::chess::Position;
///
/// let mut position = Position::startpos();
/// for uci in ["e2e4", "c7c5", "g1f3"] {
///     let mv = position.parse_uci(uci)?;
///     position.play(mv);
/// }
/// assert_eq!(position.fen(), "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2");
/// assert_eq!(position.legal_moves().len(), 22);
/// # Ok::<(), knightwatch::chess::MoveError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Position {
    pub(super) roles: [Bitboard; 6],
    pub(super) colors: [Bitboard; 2],
    pub(super) key: u64,
    /// The pieces that give check to the side to move.
    pub(super) checkers: Bitboard,
    /// The pieces of the side to move that may not leave the line to their king.
    pub(super) pinned: Bitboard,
    /// The rooks with which their king may still castle.
    pub(super) castling: Bitboard,
    /// Where a pawn of the side to move stands ready to take in passing, legality aside.
    pub(super) en_passant: Option<Square>,
    pub(super) turn: Color,
    pub(super) halfmoves: u16,
    pub(super) fullmoves: u16,
}

impl Position {
    /// A board without pieces, to be filled by the FEN reader.
    pub(super) fn empty() -> Position {
        Position {
            roles: [Bitboard::EMPTY; 6],
            colors: [Bitboard::EMPTY; 2],
            key: 0,
            checkers: Bitboard::EMPTY,
            pinned: Bitboard::EMPTY,
            castling: Bitboard::EMPTY,
            en_passant: None,
            turn: Color::White,
            halfmoves: 0,
            fullmoves: 1,
        }
    }

    /// The start position of standard chess.
    pub fn startpos() -> Position {
        Position::from_fen("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")
            .expect("the start position is legal")
    }

    /// Whose move it is.
    #[inline]
    pub fn turn(&self) -> Color {
        self.turn
    }

    /// The squares of all pieces.
    #[inline]
    pub fn occupied(&self) -> Bitboard {
        self.colors[0] | self.colors[1]
    }

    /// The squares of one side's pieces.
    #[inline]
    pub fn by_color(&self, color: Color) -> Bitboard {
        self.colors[color.index()]
    }

    /// The squares of both sides' pieces of a role.
    #[inline]
    pub fn by_role(&self, role: Role) -> Bitboard {
        self.roles[role.index()]
    }

    /// The squares of one side's pieces of a role.
    #[inline]
    pub fn pieces(&self, color: Color, role: Role) -> Bitboard {
        self.colors[color.index()] & self.roles[role.index()]
    }

    /// What stands on a square.
    #[inline]
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        let role = self.role_at(square)?;
        Some(Piece {
            color: self.color_at(square),
            role,
        })
    }

    /// The role of what stands on a square.
    #[inline]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        self.occupied()
            .contains(square)
            .then_some(self.role_on(square))
    }

    /// The role of what stands on an occupied square. There is no board by squares to ask: copying one with each move
    /// costs more than this (perft is a quarter slower with it).
    #[inline]
    fn role_on(&self, square: Square) -> Role {
        const ROLES: [Role; 8] = [
            Role::Pawn,
            Role::Knight,
            Role::Bishop,
            Role::Rook,
            Role::Queen,
            Role::King,
            Role::King,
            Role::King,
        ];
        let number =
            |role: Role| (self.by_role(role).0 >> square.index() & 1) as usize * role.index();
        let index = number(Role::Knight)
            | number(Role::Bishop)
            | number(Role::Rook)
            | number(Role::Queen)
            | number(Role::King);
        ROLES[index & 7]
    }

    /// The colour of what stands on an occupied square.
    #[inline]
    fn color_at(&self, square: Square) -> Color {
        if self.colors[1].contains(square) {
            Color::Black
        } else {
            Color::White
        }
    }

    /// Where a side's king stands.
    #[inline]
    pub fn king(&self, color: Color) -> Square {
        Square::wrap(self.pieces(color, Role::King).0.trailing_zeros() as u8)
    }

    /// The pieces that give check to the side to move.
    #[inline]
    pub fn checkers(&self) -> Bitboard {
        self.checkers
    }

    /// Whether the side to move is in check.
    #[inline]
    pub fn in_check(&self) -> bool {
        !self.checkers.is_empty()
    }

    /// The rooks of both sides with which their king may still castle, now or later.
    #[inline]
    pub fn castling_rooks(&self) -> Bitboard {
        self.castling
    }

    /// The rook with which a king may still castle on this side, now or later.
    pub fn castling_rook(&self, color: Color, side: CastlingSide) -> Option<Square> {
        let king = self.king(color).index();
        let rooks = self.castling & Bitboard::rank(back_rank(color));
        rooks
            .into_iter()
            .find(|rook| (rook.index() > king) == (side == CastlingSide::King))
    }

    /// The square behind a pawn that has just moved two squares, if a pawn of the side to move stands ready to
    /// take it there. Whether it may (it can be pinned) the legal moves know.
    #[inline]
    pub fn en_passant(&self) -> Option<Square> {
        self.en_passant
    }

    /// Plies since the last capture or pawn move; at 100 the game is drawn.
    #[inline]
    pub fn halfmove_clock(&self) -> u32 {
        self.halfmoves.into()
    }

    /// The number of the move, 1 at the start of the game and one more after each move of Black.
    #[inline]
    pub fn fullmove_number(&self) -> u32 {
        self.fullmoves.into()
    }

    /// The Zobrist key, as the Polyglot book format defines it: pieces, turn, rights to castle, and en passant
    /// when a pawn stands ready to take.
    ///
    /// ```
    /// # use knightwatch::chess::Position;
    /// assert_eq!(Position::startpos().key(), 0x463b96181691fc9c);
    /// ```
    #[inline]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The pieces of both sides that attack a square, if the board were occupied so; attackers outside `occupied`
    /// count as well.
    ///
    /// ```
    /// use knightwatch::chess::{Position, Square};
    ///
    /// let start = Position::startpos();
    /// let attackers = start.attackers_to(Square::F3, start.occupied());
    /// assert_eq!(attackers.into_iter().collect::<Vec<_>>(), [Square::G1, Square::E2, Square::G2]);
    /// ```
    #[inline]
    pub fn attackers_to(&self, square: Square, occupied: Bitboard) -> Bitboard {
        let queens = self.by_role(Role::Queen);
        attacks::pawn(Color::White, square) & self.pieces(Color::Black, Role::Pawn)
            | attacks::pawn(Color::Black, square) & self.pieces(Color::White, Role::Pawn)
            | attacks::knight(square) & self.by_role(Role::Knight)
            | attacks::king(square) & self.by_role(Role::King)
            | attacks::bishop(square, occupied) & (self.by_role(Role::Bishop) | queens)
            | attacks::rook(square, occupied) & (self.by_role(Role::Rook) | queens)
    }

    /// The pieces of a side that may not leave the line between their king and an attacker of the other side.
    #[inline]
    pub fn pinned(&self, color: Color) -> Bitboard {
        if color == self.turn {
            self.pinned
        } else {
            self.slider_checks_and_pins(color).1
        }
    }

    /// The sliders that attack a side's king, and that side's pieces that alone stand between it and a slider.
    #[inline]
    pub(super) fn slider_checks_and_pins(&self, color: Color) -> (Bitboard, Bitboard) {
        let king = self.king(color);
        let us = self.by_color(color);
        let queens = self.by_role(Role::Queen);
        let snipers = self.by_color(!color)
            & (attacks::rook_rays(king) & (self.by_role(Role::Rook) | queens)
                | attacks::bishop_rays(king) & (self.by_role(Role::Bishop) | queens));
        let occupied = self.occupied();
        let (mut checkers, mut pinned) = (Bitboard::EMPTY, Bitboard::EMPTY);
        for sniper in snipers {
            let blockers = attacks::between(king, sniper) & occupied;
            if blockers.is_empty() {
                checkers = checkers.with(sniper);
            } else if !blockers.is_several() {
                pinned |= blockers & us;
            }
        }
        (checkers, pinned)
    }

    /// Works out checkers and pins of the side to move.
    #[inline]
    pub(super) fn refresh(&mut self) {
        let king = self.king(self.turn);
        let them = self.by_color(!self.turn);
        let (checkers, pinned) = self.slider_checks_and_pins(self.turn);
        self.checkers = checkers
            | them
                & (attacks::pawn(self.turn, king) & self.by_role(Role::Pawn)
                    | attacks::knight(king) & self.by_role(Role::Knight));
        self.pinned = pinned;
    }

    /// Puts a piece on an empty square, or takes it off the square it stands on.
    #[inline]
    pub(super) fn toggle(&mut self, color: Color, role: Role, square: Square) {
        self.roles[role.index()] ^= Bitboard::of(square);
        self.colors[color.index()] ^= Bitboard::of(square);
        self.key ^= zobrist::piece(color, role, square);
    }

    /// The part of the key that stands for the rights to castle.
    pub(super) fn castling_key(&self, rooks: Bitboard) -> u64 {
        rooks.into_iter().fold(0, |key, rook| {
            let color = if rook.rank() == Rank::First {
                Color::White
            } else {
                Color::Black
            };
            key ^ zobrist::castling(color, rook.index() < self.king(color).index())
        })
    }

    /// Gives up the rights to castle with these rooks. The king must still stand where it castles from.
    #[inline]
    fn lose_castling(&mut self, rooks: Bitboard) {
        let lost = self.castling & rooks;
        if !lost.is_empty() {
            self.key ^= self.castling_key(lost);
            self.castling ^= lost;
        }
    }

    /// Makes a legal move. An illegal one leaves a position that is none; see
    /// [`is_legal`](Position::is_legal) for moves of unknown origin.
    ///
    /// # Panics
    ///
    /// In debug builds, if the move is illegal.
    #[inline]
    pub fn play(&mut self, mv: Move) {
        debug_assert!(self.is_legal(mv), "{mv:?} in {}", self.fen());
        match self.turn {
            Color::White => self.play_as::<true>(mv),
            Color::Black => self.play_as::<false>(mv),
        }
    }

    #[inline]
    pub(super) fn play_as<const WHITE: bool>(&mut self, mv: Move) {
        let (us, them) = if WHITE {
            (Color::White, Color::Black)
        } else {
            (Color::Black, Color::White)
        };
        let (from, to) = (mv.from(), mv.to());
        let role = self.role_on(from);

        self.key ^= zobrist::WHITE_TO_MOVE;
        if let Some(square) = self.en_passant.take() {
            self.key ^= zobrist::en_passant(square.file());
        }
        if self.castling.meets(Bitboard::of(from) | Bitboard::of(to)) {
            self.lose_castling(Bitboard::of(from) | Bitboard::of(to));
        }
        if role == Role::King && self.castling.meets(Bitboard::rank(back_rank(us))) {
            self.lose_castling(Bitboard::rank(back_rank(us)));
        }

        self.halfmoves = self.halfmoves.saturating_add(1);
        if role == Role::Pawn {
            self.halfmoves = 0;
        }
        match mv.kind() {
            MoveKind::Castle => {
                self.toggle(us, Role::King, from);
                self.toggle(us, Role::Rook, to);
                self.toggle(us, Role::King, mv.castled_king());
                self.toggle(us, Role::Rook, mv.castled_rook());
            }
            kind => {
                if mv.is_capture() {
                    let square = if kind == MoveKind::EnPassant {
                        behind::<WHITE>(to)
                    } else {
                        to
                    };
                    self.toggle(them, self.role_on(square), square);
                    self.halfmoves = 0;
                }
                self.toggle(us, role, from);
                self.toggle(us, mv.promotion().unwrap_or(role), to);
                if kind == MoveKind::DoublePush {
                    let passed = behind::<WHITE>(to);
                    if attacks::pawn(us, passed).meets(self.pieces(them, Role::Pawn)) {
                        self.en_passant = Some(passed);
                        self.key ^= zobrist::en_passant(passed.file());
                    }
                }
            }
        }

        self.turn = them;
        if !WHITE {
            self.fullmoves = self.fullmoves.saturating_add(1);
        }
        self.refresh();
    }

    /// Passes: the other side is to move and no en passant is left. For the search; the rules know no such move.
    /// The side to move must not be in check.
    ///
    /// # Panics
    ///
    /// In debug builds, if it is.
    #[inline]
    pub fn play_null(&mut self) {
        debug_assert!(!self.in_check());
        self.key ^= zobrist::WHITE_TO_MOVE;
        if let Some(square) = self.en_passant.take() {
            self.key ^= zobrist::en_passant(square.file());
        }
        self.halfmoves = self.halfmoves.saturating_add(1);
        if self.turn == Color::Black {
            self.fullmoves = self.fullmoves.saturating_add(1);
        }
        self.turn = !self.turn;
        self.refresh();
    }

    /// The position after a legal move, which is [played](Position::play) on a copy.
    ///
    /// ```
    /// use knightwatch::chess::Position;
    ///
    /// let start = Position::startpos();
    /// let next = start.after(start.parse_san("Nf3")?);
    /// assert_eq!(next.fen(), "rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R b KQkq - 1 1");
    /// assert_eq!(start, Position::startpos());
    /// # Ok::<(), knightwatch::chess::MoveError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// In debug builds, if the move is illegal.
    #[inline]
    pub fn after(&self, mv: Move) -> Position {
        let mut next = self.clone();
        next.play(mv);
        next
    }

    /// The key after a move as most moves make it: one piece leaves a square for another and takes what is there. After other
    /// moves, and where a right to castle or to take en passant comes or goes, the key is another one; this one is for fetching
    /// ahead what is kept by key.
    #[inline]
    pub(crate) fn likely_key_after(&self, mv: Move) -> u64 {
        let (from, to) = (mv.from(), mv.to());
        let (us, role) = (self.turn, self.role_on(from));
        let mut key = self.key
            ^ zobrist::WHITE_TO_MOVE
            ^ zobrist::piece(us, role, from)
            ^ zobrist::piece(us, role, to);
        if let Some(taken) = self.piece_at(to) {
            key ^= zobrist::piece(taken.color, taken.role, to);
        }
        key
    }

    /// Whether the side to move is checkmated.
    pub fn is_checkmate(&self) -> bool {
        self.in_check() && !self.has_legal_move()
    }

    /// Whether the side to move has no move without being in check.
    pub fn is_stalemate(&self) -> bool {
        !self.in_check() && !self.has_legal_move()
    }
}

/// The rank on which a side's king castles.
#[inline]
pub(super) const fn back_rank(color: Color) -> Rank {
    match color {
        Color::White => Rank::First,
        Color::Black => Rank::Eighth,
    }
}

/// The square one step back from where a pawn went.
#[inline]
fn behind<const WHITE: bool>(square: Square) -> Square {
    let index = square.index() as u8;
    Square::wrap(if WHITE {
        index.wrapping_sub(8)
    } else {
        index.wrapping_add(8)
    })
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({})", self.fen())
    }
}

impl fmt::Display for Position {
    /// Draws the board for people, White at the bottom, with the FEN below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rank in Rank::ALL.into_iter().rev() {
            write!(f, "{rank} ")?;
            for file in File::ALL {
                match self.piece_at(Square::new(file, rank)) {
                    Some(piece) => write!(f, " {piece}")?,
                    None => write!(f, " .")?,
                }
            }
            writeln!(f)?;
        }
        writeln!(f, "\n   a b c d e f g h\n")?;
        write!(f, "{}", self.fen())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likely_key_is_that_of_moves_that_change_no_rights() {
        let kiwipete = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
        let root: Position = kiwipete.parse().unwrap();
        let (mut right, mut all) = (0, 0);
        for &first in root.legal_moves().iter() {
            let pos = root.after(first);
            for &mv in pos.legal_moves().iter() {
                let child = pos.after(mv);
                let ordinary = child.castling == pos.castling
                    && child.en_passant == pos.en_passant
                    && matches!(
                        mv.kind(),
                        MoveKind::Quiet | MoveKind::Capture | MoveKind::DoublePush
                    );
                let is_right = pos.likely_key_after(mv) == child.key();
                assert!(is_right || !ordinary, "{mv:?} in {pos:?}");
                right += u32::from(is_right);
                all += 1;
            }
        }
        assert!(right * 2 > all, "{right} of {all}");
    }
}
