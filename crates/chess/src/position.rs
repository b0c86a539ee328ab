//! Positions: pieces, rights, and making moves.

use std::fmt;

use super::variant::{AnyRules, Pockets, Rules, StandardRules};
use super::{Bitboard, Color, File, Move, MoveKind, Piece, Rank, Role, Square, Variant};
use super::{attacks, zobrist};

/// Checks that win in three-check.
pub(super) const WINNING_CHECKS: u32 = 3;

/// The rook's side in castling. In Chess960 it determines the target files: g and f, or c and d.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CastlingSide {
    /// Short castling, `O-O`: with the rook nearer to the h-file.
    King,
    /// Long castling, `O-O-O`: with the rook nearer to the a-file.
    Queen,
}

impl CastlingSide {
    /// Short, then long.
    pub const ALL: [CastlingSide; 2] = [CastlingSide::King, CastlingSide::Queen];
}

/// A position of standard chess, Chess960 or a [variant](Variant). It is small and cheap to copy: to unmake a move, keep
/// a copy.
///
/// ```
/// use knightwatch_chess::Position;
///
/// let mut position = Position::startpos();
/// for uci in ["e2e4", "c7c5", "g1f3"] {
///     let mv = position.parse_uci(uci)?;
///     position.play(mv);
/// }
/// assert_eq!(position.fen(), "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2");
/// assert_eq!(position.legal_moves().len(), 22);
/// # Ok::<(), knightwatch_chess::MoveError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Position {
    pub(super) roles: [Bitboard; 6],
    pub(super) colors: [Bitboard; 2],
    pub(super) key: u64,
    /// Pieces that give check to the side to move.
    pub(super) checkers: Bitboard,
    /// Pinned pieces of the side to move.
    pub(super) pinned: Bitboard,
    /// Rooks with castling rights.
    pub(super) castling: Bitboard,
    /// En passant square, if a pawn of the side to move attacks it; the capture may be illegal.
    pub(super) en_passant: Option<Square>,
    pub(super) turn: Color,
    pub(super) halfmoves: u16,
    pub(super) fullmoves: u16,
    pub(super) variant: Variant,
    /// Three-check: the checks given by White in the low four bits, by Black in the others.
    pub(super) checks: u8,
    /// Crazyhouse: promoted pieces, which go to the pocket as pawns.
    pub(super) promoted: Bitboard,
    /// Crazyhouse: pieces in hand.
    pub(super) pockets: Pockets,
}

impl Position {
    /// An empty board, for the FEN parser.
    pub(super) fn empty(variant: Variant) -> Position {
        Position {
            variant,
            checks: 0,
            promoted: Bitboard::EMPTY,
            pockets: Pockets::default(),
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
        Variant::Standard.start()
    }

    /// The rules of the position.
    #[inline]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The number of a side's pieces of a role in hand, in crazyhouse; 0 in other variants.
    pub fn pocket(&self, color: Color, role: Role) -> u32 {
        match role {
            Role::King => 0,
            role => self.pockets.count(color, role),
        }
    }

    /// Promoted pieces, which go to the pocket as pawns, in crazyhouse; empty in other variants.
    pub fn promoted(&self) -> Bitboard {
        self.promoted
    }

    /// Checks that a side has given, at most three, in three-check; 0 in other variants.
    pub fn checks_given(&self, color: Color) -> u32 {
        u32::from(self.checks >> (4 * color.index()) & 15)
    }

    /// The side to move.
    #[inline]
    pub fn turn(&self) -> Color {
        self.turn
    }

    /// All occupied squares.
    #[inline]
    pub fn occupied(&self) -> Bitboard {
        self.colors[0] | self.colors[1]
    }

    /// Squares of a side's pieces.
    #[inline]
    pub fn by_color(&self, color: Color) -> Bitboard {
        self.colors[color.index()]
    }

    /// Squares of a role's pieces.
    #[inline]
    pub fn by_role(&self, role: Role) -> Bitboard {
        self.roles[role.index()]
    }

    /// Squares of a side's pieces of a role.
    #[inline]
    pub fn pieces(&self, color: Color, role: Role) -> Bitboard {
        self.colors[color.index()] & self.roles[role.index()]
    }

    /// The piece on a square.
    #[inline]
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        let role = self.role_at(square)?;
        Some(Piece {
            color: self.color_at(square),
            role,
        })
    }

    /// The piece that a move of the side to move moves or drops.
    #[inline]
    pub fn moved_piece(&self, mv: Move) -> Option<Piece> {
        if self.variant == Variant::Crazyhouse
            && let Some(role) = mv.dropped()
        {
            return Some(Piece::new(self.turn, role));
        }
        self.piece_at(mv.from())
    }

    /// The role of the piece on a square.
    #[inline]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        self.occupied()
            .contains(square)
            .then_some(self.role_on(square))
    }

    /// The role of the piece on an occupied square. There is no mailbox board: copying one with every move costs more
    /// than this (perft would be a quarter slower).
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

    /// The color of the piece on an occupied square.
    #[inline]
    fn color_at(&self, square: Square) -> Color {
        if self.colors[1].contains(square) {
            Color::Black
        } else {
            Color::White
        }
    }

    /// The square of a side's king. In antichess, which has any number of kings, and for sides without a king in
    /// atomic chess and horde, use [`royal_king`](Position::royal_king).
    #[inline]
    pub fn king(&self, color: Color) -> Square {
        Square::wrap(self.pieces(color, Role::King).0.trailing_zeros() as u8)
    }

    /// The square of a side's king, if it has one that must not be taken.
    #[inline]
    pub fn royal_king(&self, color: Color) -> Option<Square> {
        let kings = self.pieces(color, Role::King);
        kings.first().filter(|_| self.variant != Variant::Antichess)
    }

    /// Pieces that give check to the side to move.
    #[inline]
    pub fn checkers(&self) -> Bitboard {
        self.checkers
    }

    /// Returns whether the side to move is in check.
    #[inline]
    pub fn in_check(&self) -> bool {
        !self.checkers.is_empty()
    }

    /// Rooks of both sides with castling rights.
    #[inline]
    pub fn castling_rooks(&self) -> Bitboard {
        self.castling
    }

    /// The rook with castling rights on a side of a color's king.
    pub fn castling_rook(&self, color: Color, side: CastlingSide) -> Option<Square> {
        let king = self.king(color).index();
        let rooks = self.castling & Bitboard::rank(back_rank(color));
        rooks
            .into_iter()
            .find(|rook| (rook.index() > king) == (side == CastlingSide::King))
    }

    /// The square behind a pawn that has just moved two squares, if a pawn of the side to move attacks it. The
    /// capture may still be illegal because of a pin.
    #[inline]
    pub fn en_passant(&self) -> Option<Square> {
        self.en_passant
    }

    /// Plies since the last capture or pawn move; the game is drawn at 100.
    #[inline]
    pub fn halfmove_clock(&self) -> u32 {
        self.halfmoves.into()
    }

    /// The full move number: 1 at the start, incremented after Black's moves.
    #[inline]
    pub fn fullmove_number(&self) -> u32 {
        self.fullmoves.into()
    }

    /// The Zobrist key as defined by the Polyglot book format: pieces, side to move, castling rights, and en passant
    /// if a pawn attacks the square. Positions of variants have other keys, which include pockets, promoted pieces
    /// and counters of checks.
    ///
    /// ```
    /// # use knightwatch_chess::Position;
    /// assert_eq!(Position::startpos().key(), 0x463b96181691fc9c);
    /// ```
    #[inline]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Pieces of both sides that attack a square, given an occupancy; attackers need not be part of `occupied`.
    ///
    /// ```
    /// use knightwatch_chess::{Position, Square};
    ///
    /// let start = Position::startpos();
    /// let attackers = start.attackers_to(Square::F3, start.occupied());
    /// assert_eq!(attackers.into_iter().collect::<Vec<_>>(), [Square::G1, Square::E2, Square::G2]);
    /// ```
    #[inline]
    pub fn attackers_to(&self, square: Square, occupied: Bitboard) -> Bitboard {
        let mut attackers = attacks::pawn(Color::White, square)
            & self.pieces(Color::Black, Role::Pawn)
            | attacks::pawn(Color::Black, square) & self.pieces(Color::White, Role::Pawn)
            | attacks::knight(square) & self.by_role(Role::Knight)
            | attacks::king(square) & self.by_role(Role::King);
        // Few sliders are on lines to a square; to test these needs less memory than tables of attacks.
        for slider in self.sliders_on_lines_to(square) {
            if !attacks::between(square, slider).intersects(occupied) {
                attackers = attackers.with(slider);
            }
        }
        attackers
    }

    /// Bishops, rooks and queens of both sides that would attack a square if nothing was between.
    #[inline]
    pub fn sliders_on_lines_to(&self, square: Square) -> Bitboard {
        let queens = self.by_role(Role::Queen);
        attacks::bishop_rays(square) & (self.by_role(Role::Bishop) | queens)
            | attacks::rook_rays(square) & (self.by_role(Role::Rook) | queens)
    }

    /// The key of what only variants have, which is part of the [key](Position::key) of their positions.
    pub(super) fn variant_key(&self) -> u64 {
        let mut key = zobrist::variant(self.variant);
        for square in self.promoted {
            key ^= zobrist::promoted(square);
        }
        for color in Color::ALL {
            for role in Pockets::ROLES {
                key ^= zobrist::pocket(color, role, self.pockets.count(color, role));
            }
            if self.variant == Variant::ThreeCheck {
                key ^= zobrist::checks(color, self.checks_given(color));
            }
        }
        key
    }

    /// The key in Polyglot books of variants, which know pieces, side to move, castling and en passant only.
    pub fn book_key(&self) -> u64 {
        self.key ^ self.variant_key()
    }

    /// Pieces of a side pinned to their king; empty in atomic chess, where other rules restrict the moves.
    #[inline]
    pub fn pinned(&self, color: Color) -> Bitboard {
        if color == self.turn {
            self.pinned
        } else if self.variant == Variant::Atomic || self.royal_king(color).is_none() {
            Bitboard::EMPTY
        } else {
            self.slider_checks_and_pins(color).1
        }
    }

    /// Pieces that give check to a side. In atomic chess kings that touch are not in check, since who takes one
    /// explodes both.
    pub(super) fn checkers_of(&self, color: Color) -> Bitboard {
        let Some(king) = self.royal_king(color) else {
            return Bitboard::EMPTY;
        };
        let mut checkers = self.attackers_to(king, self.occupied()) & self.by_color(!color);
        if self.variant == Variant::Atomic {
            let other = self.pieces(!color, Role::King);
            if other.is_empty() || attacks::king(king).intersects(other) {
                checkers = Bitboard::EMPTY;
            }
        }
        checkers
    }

    /// Sliders that check a side's king, and that side's pinned pieces.
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
            } else if !blockers.more_than_one() {
                pinned |= blockers & us;
            }
        }
        (checkers, pinned)
    }

    /// Computes checkers and pins of the side to move.
    #[inline]
    pub(super) fn refresh<R: Rules>(&mut self) {
        match R::variant(self) {
            Variant::Atomic => {
                self.checkers = self.checkers_of(self.turn);
                return;
            }
            // Checkers and pins are empty from the start on.
            Variant::Antichess => return,
            Variant::Horde if self.royal_king(self.turn).is_none() => {
                (self.checkers, self.pinned) = (Bitboard::EMPTY, Bitboard::EMPTY);
                return;
            }
            _ => {}
        }
        let king = self.king(self.turn);
        let them = self.by_color(!self.turn);
        let (checkers, pinned) = self.slider_checks_and_pins(self.turn);
        self.checkers = checkers
            | them
                & (attacks::pawn(self.turn, king) & self.by_role(Role::Pawn)
                    | attacks::knight(king) & self.by_role(Role::Knight));
        self.pinned = pinned;
    }

    /// Adds a piece to an empty square, or removes it.
    #[inline]
    pub(super) fn toggle(&mut self, color: Color, role: Role, square: Square) {
        self.roles[role.index()] ^= Bitboard::of(square);
        self.colors[color.index()] ^= Bitboard::of(square);
        self.key ^= zobrist::piece(color, role, square);
    }

    /// The key of castling rights with these rooks.
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

    /// Removes the castling rights of these rooks. The king must still be on its original square.
    #[inline]
    fn lose_castling(&mut self, rooks: Bitboard) {
        let lost = self.castling & rooks;
        if !lost.is_empty() {
            self.key ^= self.castling_key(lost);
            self.castling ^= lost;
        }
    }

    /// Plays a legal move. An illegal one leaves an invalid position; use [`is_legal`](Position::is_legal) for moves
    /// of unknown origin.
    ///
    /// # Panics
    ///
    /// In debug builds, if the move is illegal.
    #[inline]
    pub fn play(&mut self, mv: Move) {
        debug_assert!(self.is_legal(mv), "{mv:?} in {}", self.fen());
        if self.variant == Variant::Standard {
            self.play_by::<StandardRules>(mv);
        } else {
            self.play_variant(mv);
        }
    }

    #[inline(never)]
    fn play_variant(&mut self, mv: Move) {
        self.play_by::<AnyRules>(mv);
    }

    /// [`play`](Position::play) by rules known at compile time.
    #[inline]
    pub(super) fn play_by<R: Rules>(&mut self, mv: Move) {
        match self.turn {
            Color::White => self.play_as::<R, true>(mv),
            Color::Black => self.play_as::<R, false>(mv),
        }
    }

    #[inline]
    fn play_as<R: Rules, const WHITE: bool>(&mut self, mv: Move) {
        let variant = R::variant(self);
        if variant == Variant::Crazyhouse
            && let Some(role) = mv.dropped()
        {
            return self.play_drop(role, mv.to());
        }
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
        if self
            .castling
            .intersects(Bitboard::of(from) | Bitboard::of(to))
        {
            self.lose_castling(Bitboard::of(from) | Bitboard::of(to));
        }
        if role == Role::King && self.castling.intersects(Bitboard::rank(back_rank(us))) {
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
                    let taken = self.role_on(square);
                    self.toggle(them, taken, square);
                    self.halfmoves = 0;
                    if variant == Variant::Crazyhouse {
                        self.pocket_taken(us, taken, square);
                    }
                }
                self.toggle(us, role, from);
                self.toggle(us, mv.promotion().unwrap_or(role), to);
                if variant == Variant::Crazyhouse {
                    self.move_promoted(from, to, mv.is_promotion());
                }
                if variant == Variant::Atomic && mv.is_capture() {
                    self.explode(to);
                }
                // The horde's pawns on the first rank move two squares, too, but cannot be taken en passant then.
                if kind == MoveKind::DoublePush
                    && (variant != Variant::Horde || from.rank() != back_rank(us))
                {
                    let passed = behind::<WHITE>(to);
                    if attacks::pawn(us, passed).intersects(self.pieces(them, Role::Pawn)) {
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
        self.refresh::<R>();
        if variant == Variant::ThreeCheck && self.in_check() {
            self.count_check(us);
        }
    }

    /// Drops a piece from the pocket.
    fn play_drop(&mut self, role: Role, to: Square) {
        let us = self.turn;
        self.play_null_by::<AnyRules>(|position| {
            position.change_pocket(us, role, |pockets| pockets.remove(us, role));
            position.toggle(us, role, to);
            if role == Role::Pawn {
                position.halfmoves = 0;
            }
        });
    }

    /// Puts a piece that has just been taken into the pocket.
    fn pocket_taken(&mut self, us: Color, taken: Role, square: Square) {
        let mut role = taken;
        if self.promoted.contains(square) {
            self.toggle_promoted(square);
            role = Role::Pawn;
        }
        self.change_pocket(us, role, |pockets| pockets.add(us, role));
    }

    fn change_pocket(&mut self, us: Color, role: Role, change: impl FnOnce(&mut Pockets)) {
        self.key ^= zobrist::pocket(us, role, self.pockets.count(us, role));
        change(&mut self.pockets);
        self.key ^= zobrist::pocket(us, role, self.pockets.count(us, role));
    }

    /// Moves the mark of a promoted piece along, or sets it.
    fn move_promoted(&mut self, from: Square, to: Square, promotion: bool) {
        let marked = self.promoted.contains(from);
        if marked {
            self.toggle_promoted(from);
        }
        if marked || promotion {
            self.toggle_promoted(to);
        }
    }

    fn toggle_promoted(&mut self, square: Square) {
        self.promoted ^= Bitboard::of(square);
        self.key ^= zobrist::promoted(square);
    }

    /// Removes the piece that has taken, and all pieces next to it except pawns.
    fn explode(&mut self, center: Square) {
        let near = attacks::king(center) & self.occupied() & !self.by_role(Role::Pawn);
        let mut lost = near;
        for color in Color::ALL {
            if near.intersects(self.pieces(color, Role::King)) {
                lost |= Bitboard::rank(back_rank(color));
            }
        }
        self.lose_castling(lost);
        for square in near.with(center) {
            self.toggle(self.color_at(square), self.role_on(square), square);
        }
    }

    /// Counts a check given by a side.
    fn count_check(&mut self, us: Color) {
        let count = self.checks_given(us);
        if count < WINNING_CHECKS {
            self.checks += 1 << (4 * us.index());
            self.key ^= zobrist::checks(us, count) ^ zobrist::checks(us, count + 1);
        }
    }

    /// Plays a null move: passes the turn and clears en passant. Only for the search. The side to move must not be in
    /// check.
    ///
    /// # Panics
    ///
    /// In debug builds, if the side to move is in check.
    #[inline]
    pub fn play_null(&mut self) {
        debug_assert!(!self.in_check());
        if self.variant == Variant::Standard {
            self.play_null_by::<StandardRules>(|_| {});
        } else {
            self.play_null_by::<AnyRules>(|_| {});
        }
    }

    /// Passes the turn, with a change of the board.
    #[inline]
    fn play_null_by<R: Rules>(&mut self, change: impl FnOnce(&mut Position)) {
        self.key ^= zobrist::WHITE_TO_MOVE;
        if let Some(square) = self.en_passant.take() {
            self.key ^= zobrist::en_passant(square.file());
        }
        self.halfmoves = self.halfmoves.saturating_add(1);
        if self.turn == Color::Black {
            self.fullmoves = self.fullmoves.saturating_add(1);
        }
        change(self);
        self.turn = !self.turn;
        self.refresh::<R>();
    }

    /// The position after a legal move, [played](Position::play) on a copy.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// let start = Position::startpos();
    /// let next = start.after(start.parse_san("Nf3")?);
    /// assert_eq!(next.fen(), "rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R b KQkq - 1 1");
    /// assert_eq!(start, Position::startpos());
    /// # Ok::<(), knightwatch_chess::MoveError>(())
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

    /// [`after`](Position::after) by rules known at compile time.
    #[inline]
    pub(super) fn after_by<R: Rules>(&self, mv: Move) -> Position {
        let mut next = self.clone();
        next.play_by::<R>(mv);
        next
    }

    /// The key after a quiet move or ordinary capture by a piece of `role`, ignoring changes of castling and en passant
    /// rights and special moves. For prefetching only.
    #[inline]
    pub fn likely_key_after(&self, mv: Move, role: Role, captured: Option<Role>) -> u64 {
        let (us, from, to) = (self.turn, mv.from(), mv.to());
        let mut key = self.key
            ^ zobrist::WHITE_TO_MOVE
            ^ zobrist::piece(us, role, from)
            ^ zobrist::piece(us, role, to);
        if let Some(captured) = captured {
            key ^= zobrist::piece(!us, captured, to);
        }
        key
    }

    /// The key after a null move.
    #[inline]
    pub fn key_after_null(&self) -> u64 {
        let en_passant = self
            .en_passant
            .map_or(0, |square| zobrist::en_passant(square.file()));
        self.key ^ zobrist::WHITE_TO_MOVE ^ en_passant
    }

    /// Returns whether the side to move is checkmated.
    pub fn is_checkmate(&self) -> bool {
        // A third check, or a check by which the king in the center is discovered, may be mate as well.
        let has_move = match self.variant {
            Variant::ThreeCheck | Variant::KingOfTheHill => {
                self.count_legal_moves_by::<StandardRules>() != 0
            }
            _ => self.has_legal_move(),
        };
        self.in_check() && !has_move
    }

    /// Returns whether the side to move is stalemated, which is a draw. In antichess it has won instead.
    pub fn is_stalemate(&self) -> bool {
        !self.in_check()
            && !self.has_legal_move()
            && self.variant_outcome() == super::pgn::Outcome::Unknown
    }
}

#[inline]
pub(super) const fn back_rank(color: Color) -> Rank {
    match color {
        Color::White => Rank::First,
        Color::Black => Rank::Eighth,
    }
}

/// The square behind a pawn.
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
    /// The board as text, White at the bottom, followed by the FEN.
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
    fn likely_key_of_ordinary_moves_is_exact() {
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
                let role = pos.role_at(mv.from()).unwrap();
                let captured = mv.is_capture().then(|| pos.role_at(mv.to())).flatten();
                let is_right = pos.likely_key_after(mv, role, captured) == child.key();
                assert!(is_right || !ordinary, "{mv:?} in {pos:?}");
                right += u32::from(is_right);
                all += 1;
            }
        }
        assert!(right * 2 > all, "{right} of {all}");
    }
}
