//! Forsyth-Edwards Notation (FEN), with the castling letters of X-FEN and Shredder-FEN for Chess960.

use std::fmt;
use std::str::FromStr;

use super::position::{WINNING_CHECKS, back_rank};
use super::quote::Quoted;
use super::variant::{AnyRules, Pockets};
use super::{
    Bitboard, CastlingSide, Color, File, MoveList, Piece, Position, Rank, Role, Square, Variant,
};
use super::{attacks, zobrist};

/// Error of reading a FEN. Its display is meant for users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FenError {
    /// The text is empty.
    Empty,
    /// There are more than six fields; this is the seventh.
    TooManyFields(String),
    /// The board has this many ranks instead of eight.
    RankCount(usize),
    /// This rank does not have eight squares.
    RankWidth(Rank),
    /// Not a piece letter.
    PieceLetter(char),
    /// A side has this many kings instead of one.
    Kings(Color, u32),
    /// A pawn is on the first or last rank.
    PawnSquare(Square),
    /// A side has this many pawns: more than eight.
    Pawns(Color, u32),
    /// A side has this many pieces, pawns and king included: more than sixteen.
    Pieces(Color, u32),
    /// A side has this many promoted pieces: more than missing pawns.
    Promoted(Color, u32),
    /// The side to move is neither `w` nor `b`.
    Turn(String),
    /// The castling field is malformed.
    Castling(String),
    /// A castling right without king and rook in place.
    CastlingRight(char),
    /// The en passant field is not a square.
    EnPassant(String),
    /// No pawn can just have moved over the en passant square.
    EnPassantSquare(Square),
    /// The side to move is in a check that existed before the double push over the en passant square.
    EnPassantCheck(Square),
    /// A counter is not a number from 0 to 65,535.
    Counter(String),
    /// The pocket of crazyhouse has a letter that cannot be in hand.
    PocketLetter(char),
    /// The horde has this many pieces: more than 36.
    Horde(u32),
    /// There are this many pieces on the board and in the pockets: more than 32.
    WithPockets(u32),
    /// The counters of checks of three-check are malformed.
    Checks(String),
    /// A side has no pieces, although it did not just lose the last one.
    NoPieces(Color),
    /// There are too many legal moves.
    Moves(u64),
    /// Pawns are on the board, but the variant has none.
    NoPawns,
    /// The side that is not to move is in check.
    OppositeCheck(Color),
    /// The side to move is in a check that no move can give.
    ImpossibleCheck,
}

impl fmt::Display for FenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FenError::Empty => write!(f, "the FEN is empty"),
            FenError::TooManyFields(text) => {
                let text = Quoted(text);
                write!(f, "a FEN has six fields; unexpected {text} after them")
            }
            FenError::RankCount(count) => {
                write!(
                    f,
                    "the board must have 8 ranks separated by slashes, not {count}"
                )
            }
            FenError::RankWidth(rank) => {
                write!(f, "rank {rank} of the board does not have 8 squares")
            }
            FenError::PieceLetter(letter) => {
                let letter = letter.to_string();
                let letter = Quoted(&letter);
                write!(f, "{letter} is not a piece; use PNBRQK and pnbrqk")
            }
            FenError::Kings(color, 0) => write!(f, "{color} has no king"),
            FenError::Kings(color, count) => write!(f, "{color} has {count} kings"),
            FenError::PawnSquare(square) => write!(f, "a pawn cannot be on {square}"),
            FenError::Pawns(color, count) => write!(f, "{color} has {count} pawns, more than 8"),
            FenError::Pieces(color, count) => write!(f, "{color} has {count} pieces, more than 16"),
            FenError::Promoted(color, count) => {
                write!(
                    f,
                    "{color} has {count} promoted pieces, more than missing pawns"
                )
            }
            FenError::Turn(text) => {
                write!(f, "the side to move must be w or b, not {}", Quoted(text))
            }
            FenError::Castling(text) => write!(
                f,
                "{} is not a castling field; use KQkq, the rooks' files like HAha, or -",
                Quoted(text)
            ),
            FenError::CastlingRight(letter) => write!(
                f,
                "castling \"{letter}\" is not possible: king or rook is not in place on the back rank"
            ),
            FenError::EnPassant(text) => {
                write!(
                    f,
                    "{} is not an en passant square; use one like e3, or -",
                    Quoted(text)
                )
            }
            FenError::EnPassantSquare(square) => {
                write!(
                    f,
                    "no pawn can just have moved over the en passant square {square}"
                )
            }
            FenError::EnPassantCheck(square) => {
                write!(
                    f,
                    "en passant square {square} is impossible: the check is older than the last move"
                )
            }
            FenError::Counter(text) => {
                let text = Quoted(text);
                write!(f, "{text} is not a counter; use a number from 0 to 65535")
            }
            FenError::PocketLetter(letter) => {
                let letter = letter.to_string();
                let letter = Quoted(&letter);
                write!(f, "{letter} cannot be in a pocket; use PNBRQ and pnbrq")
            }
            FenError::Horde(count) => write!(f, "the horde has {count} pieces, more than 36"),
            FenError::WithPockets(count) => {
                write!(
                    f,
                    "{count} pieces on the board and in the pockets, more than 32"
                )
            }
            FenError::Checks(text) => {
                let text = Quoted(text);
                write!(
                    f,
                    "{text} are no counters of checks; use +0+0 for checks given, or 3+3 for checks left"
                )
            }
            FenError::NoPieces(color) => write!(f, "{color} has no pieces"),
            FenError::Moves(count) => write!(
                f,
                "{count} legal moves, more than the {} that are supported",
                MoveList::CAPACITY
            ),
            FenError::NoPawns => write!(f, "there are no pawns in this variant"),
            FenError::OppositeCheck(color) => write!(f, "{color} is in check but not to move"),
            FenError::ImpossibleCheck => write!(f, "no move can give this check"),
        }
    }
}

impl std::error::Error for FenError {}

/// Treatment of positions that can be played from but that no game can reach.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Impossible {
    Accepted,
    Refused,
}

impl FromStr for Position {
    type Err = FenError;

    fn from_str(text: &str) -> Result<Position, FenError> {
        Position::from_fen(text)
    }
}

impl Position {
    /// Parses FEN, X-FEN and Shredder-FEN. Missing trailing fields default to `w - - 0 1`; fields may be separated by
    /// several blanks.
    ///
    /// # Errors
    ///
    /// If the text is malformed, or the position is impossible in chess. The error's display explains why.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// let position = Position::from_fen("8/8/8/4k3/8/8/4P3/4K3 b - - 5 60")?;
    /// assert_eq!(position.fen(), "8/8/8/4k3/8/8/4P3/4K3 b - - 5 60");
    ///
    /// let error = Position::from_fen("8/8/8/8/8/8/4P3/4K3 w - - 0 1").unwrap_err();
    /// assert_eq!(error.to_string(), "Black has no king");
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    pub fn from_fen(text: &str) -> Result<Position, FenError> {
        Position::read_fen(Variant::Standard, text, Impossible::Refused)
    }

    /// Parses a FEN of a variant. Crazyhouse has pockets, as `[Qn]` or `/Qn` after the board, and marks promoted
    /// pieces with `~`; three-check has counters, as `+0+0` at the end (checks given) or `3+3` before the halfmove
    /// clock (checks left). Without them, pockets are empty and no checks were given. Castling rights are ignored in
    /// variants without castling.
    ///
    /// ```
    /// use knightwatch_chess::{Color, Position, Role, Variant};
    ///
    /// let position = Position::from_variant_fen(Variant::Crazyhouse, "4k3/8/8/8/8/8/8/Q~3K3[Nn] w - -")?;
    /// assert_eq!(position.pocket(Color::White, Role::Knight), 1);
    /// assert_eq!(position.fen(), "4k3/8/8/8/8/8/8/Q~3K3/Nn w - - 0 1");
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_fen`](Position::from_fen), by the rules of the variant.
    pub fn from_variant_fen(variant: Variant, text: &str) -> Result<Position, FenError> {
        Position::read_fen(variant, text, Impossible::Refused)
    }

    /// Parses a FEN of a variant as [`from_fen_lenient`](Position::from_fen_lenient) does.
    ///
    /// # Errors
    ///
    /// As [`from_fen_lenient`](Position::from_fen_lenient), by the rules of the variant.
    pub fn from_variant_fen_lenient(variant: Variant, text: &str) -> Result<Position, FenError> {
        Position::read_fen(variant, text, Impossible::Accepted)
    }

    /// Parses a FEN as [`from_fen`](Position::from_fen), but also takes positions that no game can reach, as engines
    /// do for test positions: with checks that no move can give and more promoted pieces than missing pawns, and without
    /// castling rights and en passant squares that do not fit the board, which are dropped.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// let fen = "R3k2R/8/8/8/8/8/8/4K3 b KQkq e3 0 1";
    /// assert!(Position::from_fen(fen).is_err());
    /// let position = Position::from_fen_lenient(fen)?;
    /// assert_eq!(position.fen(), "R3k2R/8/8/8/8/8/8/4K3 b - - 0 1");
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is malformed, a king is missing, the side that is not to move is in check, or a side has more than 8
    /// pawns or 16 pieces.
    pub fn from_fen_lenient(text: &str) -> Result<Position, FenError> {
        Position::read_fen(Variant::Standard, text, Impossible::Accepted)
    }

    fn read_fen(
        variant: Variant,
        text: &str,
        impossible: Impossible,
    ) -> Result<Position, FenError> {
        let mut fields = text.split_ascii_whitespace().peekable();
        let mut position = Position::empty(variant);
        let mut board = fields.next().ok_or(FenError::Empty)?;
        if variant == Variant::Crazyhouse {
            board = position.read_pockets(board)?;
        }
        position.read_board(board)?;
        position.turn = match fields.next() {
            None | Some("w" | "W") => Color::White,
            Some("b" | "B") => Color::Black,
            Some(other) => return Err(FenError::Turn(other.to_owned())),
        };
        position.check_material(impossible)?;
        let castling = fields.next().unwrap_or("-");
        if variant.has_castling() {
            position.read_castling(castling, impossible)?;
        }
        let en_passant = fields.next().unwrap_or("-");
        let has_checks = |field: &&str| variant == Variant::ThreeCheck && field.contains('+');
        let mut checks = fields.next_if(|field| has_checks(field));
        position.halfmoves = read_counter(fields.next(), 0)?;
        position.fullmoves = read_counter(fields.next(), 1)?.max(1);
        checks = checks.or_else(|| fields.next_if(has_checks));
        if let Some(text) = checks {
            position.checks = read_checks(text).ok_or_else(|| FenError::Checks(text.to_owned()))?;
        }
        if let Some(excess) = fields.next() {
            return Err(FenError::TooManyFields(excess.to_owned()));
        }
        position.read_en_passant(en_passant, impossible)?;
        if position.turn == Color::White {
            position.key ^= zobrist::WHITE_TO_MOVE;
        }
        position.key ^= position.variant_key();
        position.refresh::<AnyRules>();
        position.check_checks(impossible)?;
        if matches!(variant, Variant::Crazyhouse | Variant::Horde) {
            let count = position.count_legal_moves();
            if count > MoveList::CAPACITY as u64 {
                return Err(FenError::Moves(count));
            }
        }
        Ok(position)
    }

    /// Reads the pockets behind the board, and returns the board.
    fn read_pockets<'a>(&mut self, field: &'a str) -> Result<&'a str, FenError> {
        let bracketed = field
            .strip_suffix(']')
            .and_then(|field| field.split_once('['));
        let ninth_rank = || match field.match_indices('/').nth(7) {
            Some((place, _)) => (&field[..place], &field[place + 1..]),
            None => (field, ""),
        };
        let (board, pockets) = bracketed.unwrap_or_else(ninth_rank);
        for (letter, count) in pockets.chars().filter(|&letter| letter != '-').zip(1..) {
            let piece = Piece::from_char(letter)
                .filter(|piece| piece.role != Role::King)
                .ok_or(FenError::PocketLetter(letter))?;
            if count > 32 {
                return Err(FenError::WithPockets(count));
            }
            self.pockets.add(piece.color, piece.role);
        }
        Ok(board)
    }

    fn read_board(&mut self, field: &str) -> Result<(), FenError> {
        let count = field.split('/').count();
        if count != 8 {
            return Err(FenError::RankCount(count));
        }
        for (text, rank) in field.split('/').zip(Rank::ALL.into_iter().rev()) {
            let mut file = 0u8;
            for letter in text.chars() {
                if letter == '~' && self.variant == Variant::Crazyhouse {
                    // The mark belongs to the piece before it; without one it has no effect.
                    let marked = file.checked_sub(1).and_then(File::from_index);
                    let square = marked.map(|file| Square::new(file, rank));
                    let pieces =
                        self.occupied() & !self.by_role(Role::Pawn) & !self.by_role(Role::King);
                    if let Some(square) = square.filter(|square| pieces.contains(*square)) {
                        self.promoted = self.promoted.with(square);
                    }
                } else if let Some(empty @ 1..=8) = letter.to_digit(10) {
                    file += empty as u8;
                } else {
                    let piece = Piece::from_char(letter).ok_or(FenError::PieceLetter(letter))?;
                    let place = File::from_index(file).ok_or(FenError::RankWidth(rank))?;
                    self.toggle(piece.color, piece.role, Square::new(place, rank));
                    file += 1;
                }
                if file > 8 {
                    return Err(FenError::RankWidth(rank));
                }
            }
            if file != 8 {
                return Err(FenError::RankWidth(rank));
            }
        }
        Ok(())
    }

    /// One king each, at most 8 pawns and 16 pieces, and no more pieces than promotion allows, unless the variant has
    /// it otherwise or impossible positions are accepted. It also bounds the number of legal moves: 15 queens and a
    /// king have fewer than 440.
    fn check_material(&self, impossible: Impossible) -> Result<(), FenError> {
        let variant = self.variant;
        let mut ends = Bitboard::rank(Rank::First) | Bitboard::rank(Rank::Eighth);
        if variant == Variant::Horde {
            // White's pawns may stand on the first rank.
            ends = Bitboard::rank(Rank::Eighth)
                | Bitboard::rank(Rank::First) & self.by_color(Color::Black);
        }
        if let Some(square) = (self.by_role(Role::Pawn) & ends).first() {
            return Err(FenError::PawnSquare(square));
        }
        if variant == Variant::RacingKings && !self.by_role(Role::Pawn).is_empty() {
            return Err(FenError::NoPawns);
        }
        let total = self.occupied().count() + self.pockets.total();
        if variant == Variant::Crazyhouse && total > 32 {
            return Err(FenError::WithPockets(total));
        }
        for color in Color::ALL {
            let count = |role| self.pieces(color, role).count();
            let (kings, pawns) = (count(Role::King), count(Role::Pawn));
            let all = self.by_color(color).count();
            let promoted = count(Role::Knight).saturating_sub(2)
                + count(Role::Bishop).saturating_sub(2)
                + count(Role::Rook).saturating_sub(2)
                + count(Role::Queen).saturating_sub(1);
            let (may_be, max) = match variant {
                Variant::Horde if color == Color::White => (kings == 0, 36),
                Variant::Antichess => (true, 16),
                // A king may just have exploded.
                Variant::Atomic => (kings == 1 || kings == 0 && color == self.turn, 16),
                Variant::Crazyhouse => (kings == 1, 32),
                _ => (kings == 1, 16),
            };
            let promoted = match variant {
                Variant::Antichess => promoted + kings.saturating_sub(1),
                _ => promoted,
            };
            if !may_be {
                return Err(FenError::Kings(color, kings));
            } else if all == 0 && variant == Variant::Antichess && color != self.turn {
                return Err(FenError::NoPieces(color));
            } else if max > 16 {
                // The total of crazyhouse is checked above.
                if all > max {
                    return Err(FenError::Horde(all));
                }
            } else if pawns > 8 {
                return Err(FenError::Pawns(color, pawns));
            } else if all > 16 {
                return Err(FenError::Pieces(color, all));
            } else if promoted + pawns > 8 && impossible == Impossible::Refused {
                return Err(FenError::Promoted(color, promoted));
            }
        }
        Ok(())
    }

    fn read_castling(&mut self, field: &str, impossible: Impossible) -> Result<(), FenError> {
        if field == "-" {
            return Ok(());
        }
        for letter in field.chars() {
            let color = if letter.is_ascii_uppercase() {
                Color::White
            } else {
                Color::Black
            };
            let rank = back_rank(color);
            let king = self.king(color);
            let rooks = self.pieces(color, Role::Rook) & Bitboard::rank(rank);
            let rook = match letter.to_ascii_uppercase() {
                'K' => rooks.last().filter(|rook| rook.index() > king.index()),
                'Q' => rooks.first().filter(|rook| rook.index() < king.index()),
                other => {
                    let file = File::from_char(other)
                        .ok_or_else(|| FenError::Castling(field.to_owned()))?;
                    Some(Square::new(file, rank)).filter(|rook| rooks.contains(*rook))
                }
            };
            let rook = rook.filter(|rook| {
                let side = if rook.index() > king.index() {
                    CastlingSide::King
                } else {
                    CastlingSide::Queen
                };
                let other = self.castling_rook(color, side);
                let is_home = self
                    .royal_king(color)
                    .is_some_and(|king| king.rank() == rank);
                is_home && other.is_none_or(|other| other == *rook)
            });
            match rook {
                Some(rook) => self.castling = self.castling.with(rook),
                None if impossible == Impossible::Accepted => {}
                None => return Err(FenError::CastlingRight(letter)),
            }
        }
        self.key ^= self.castling_key(self.castling);
        Ok(())
    }

    fn read_en_passant(&mut self, field: &str, impossible: Impossible) -> Result<(), FenError> {
        if field == "-" {
            return Ok(());
        }
        let square: Square = field
            .parse()
            .map_err(|_| FenError::EnPassant(field.to_owned()))?;
        let (rank, home, pawn) = match self.turn {
            Color::White => (Rank::Sixth, Rank::Seventh, Rank::Fifth),
            Color::Black => (Rank::Third, Rank::Second, Rank::Fourth),
        };
        let home = Square::new(square.file(), home);
        let pawn = Square::new(square.file(), pawn);
        if square.rank() != rank
            || self.role_at(square).is_some()
            || self.role_at(home).is_some()
            || !self.pieces(!self.turn, Role::Pawn).contains(pawn)
        {
            return match impossible {
                Impossible::Accepted => Ok(()),
                Impossible::Refused => Err(FenError::EnPassantSquare(square)),
            };
        }
        // Only the pawn or a piece it discovered can give check. A pawn that shields the king from an earlier checker
        // is just as impossible, but occurs in the test positions of many programs.
        let before = self.occupied().without(pawn).with(home);
        let checkers = match self.royal_king(self.turn) {
            Some(king) => self.checkers_of(self.turn) & self.attackers_to(king, before),
            None => Bitboard::EMPTY,
        };
        let is_older_check = !checkers.without(pawn).is_empty();
        if is_older_check && impossible == Impossible::Refused {
            return Err(FenError::EnPassantCheck(square));
        }
        if attacks::pawn(!self.turn, square).intersects(self.pieces(self.turn, Role::Pawn)) {
            self.en_passant = Some(square);
            self.key ^= zobrist::en_passant(square.file());
        }
        Ok(())
    }

    fn check_checks(&self, impossible: Impossible) -> Result<(), FenError> {
        if !self.checkers_of(!self.turn).is_empty() {
            return Err(FenError::OppositeCheck(!self.turn));
        }
        if self.variant == Variant::RacingKings && self.in_check() {
            return Err(FenError::ImpossibleCheck);
        }
        // An explosion opens any number of lines.
        if impossible == Impossible::Accepted || self.variant == Variant::Atomic {
            return Ok(());
        }
        let mut checkers = self.checkers.into_iter();
        if let (Some(first), Some(second)) = (checkers.next(), checkers.next()) {
            let sliders = self.checkers & !self.by_role(Role::Pawn) & !self.by_role(Role::Knight);
            let aligned = attacks::line(first, second).contains(self.king(self.turn));
            if checkers.next().is_some()
                || sliders.is_empty()
                || (aligned && sliders.more_than_one())
            {
                return Err(FenError::ImpossibleCheck);
            }
        }
        Ok(())
    }

    /// The position as X-FEN: a FEN in which a castling right with an inner rook is written as the rook's file. The
    /// en passant square is written only if a pawn attacks it. Pockets and counters of checks are written as Lichess
    /// does: `/Qn` after the board, `+0+0` at the end.
    pub fn fen(&self) -> String {
        self.write_fen(false)
    }

    /// The position as Shredder-FEN: castling rights as files of the rooks, `HAha` in the start position.
    pub fn shredder_fen(&self) -> String {
        self.write_fen(true)
    }

    /// [`fen`](Self::fen) as UCI engines read it: with pockets in brackets, and with the checks left, as `3+3`, before the
    /// halfmove clock. Fairy-Stockfish 11 misreads Lichess's forms, a ninth rank and `+0+0` at the end.
    pub fn uci_fen(&self) -> String {
        let fen = self.fen();
        let fields: Vec<&str> = fen.split(' ').collect();
        match (self.variant, &*fields) {
            (Variant::Crazyhouse, [board, rest @ ..]) => {
                let (board, pockets) = board.rsplit_once('/').unwrap_or((board, ""));
                format!("{board}[{pockets}] {}", rest.join(" "))
            }
            (Variant::ThreeCheck, [board @ .., halfmoves, fullmoves, _]) => {
                let [white, black] =
                    Color::ALL.map(|color| WINNING_CHECKS - self.checks_given(color));
                let board = board.join(" ");
                format!("{board} {white}+{black} {halfmoves} {fullmoves}")
            }
            _ => fen,
        }
    }

    fn write_fen(&self, by_file: bool) -> String {
        let mut text = String::with_capacity(80);
        for rank in Rank::ALL.into_iter().rev() {
            let mut empty = 0;
            for file in File::ALL {
                match self.piece_at(Square::new(file, rank)) {
                    None => empty += 1,
                    Some(piece) => {
                        if empty > 0 {
                            text += &empty.to_string();
                            empty = 0;
                        }
                        text.push(piece.char());
                        if self.promoted.contains(Square::new(file, rank)) {
                            text.push('~');
                        }
                    }
                }
            }
            if empty > 0 {
                text += &empty.to_string();
            }
            if rank != Rank::First {
                text.push('/');
            }
        }
        if self.variant == Variant::Crazyhouse {
            text.push('/');
            for color in Color::ALL {
                for role in Pockets::ROLES {
                    let letter = Piece::new(color, role).char();
                    text.extend((0..self.pocket(color, role)).map(|_| letter));
                }
            }
        }
        text.push(' ');
        text.push(self.turn.char());
        text.push(' ');
        if self.castling.is_empty() {
            text.push('-');
        }
        for color in Color::ALL {
            for side in CastlingSide::ALL {
                if let Some(rook) = self.castling_rook(color, side) {
                    let letter = self.castling_letter(color, side, rook, by_file);
                    text.push(if color.is_white() {
                        letter.to_ascii_uppercase()
                    } else {
                        letter
                    });
                }
            }
        }
        let en_passant = self
            .en_passant
            .map_or("-".to_owned(), |square| square.to_string());
        text += &format!(" {en_passant} {} {}", self.halfmoves, self.fullmoves);
        if self.variant == Variant::ThreeCheck {
            let [white, black] = Color::ALL.map(|color| self.checks_given(color));
            text += &format!(" +{white}+{black}");
        }
        text
    }

    fn castling_letter(
        &self,
        color: Color,
        side: CastlingSide,
        rook: Square,
        by_file: bool,
    ) -> char {
        let rooks = self.pieces(color, Role::Rook) & Bitboard::rank(back_rank(color));
        match side {
            CastlingSide::King if !by_file && rooks.last() == Some(rook) => 'k',
            CastlingSide::Queen if !by_file && rooks.first() == Some(rook) => 'q',
            _ => rook.file().char(),
        }
    }
}

fn read_counter(field: Option<&str>, default: u16) -> Result<u16, FenError> {
    match field {
        None | Some("-") => Ok(default),
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().map_err(|_| FenError::Counter(text.to_owned()))
        }
        Some(text) => Err(FenError::Counter(text.to_owned())),
    }
}

/// Reads `+1+0`, checks given by White and Black, or `2+3`, checks left.
fn read_checks(text: &str) -> Option<u8> {
    let count = |text: &str| match text {
        "0" | "1" | "2" | "3" => text.parse::<u8>().ok(),
        _ => None,
    };
    let (white, black) = match text.strip_prefix('+') {
        Some(given) => {
            let (white, black) = given.split_once('+')?;
            (count(white)?, count(black)?)
        }
        None => {
            let (white, black) = text.split_once('+')?;
            let given = |left: &str| Some(WINNING_CHECKS as u8 - count(left)?);
            (given(white)?, given(black)?)
        }
    };
    Some(black << 4 | white)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_text(fen: &str) -> String {
        Position::from_fen(fen)
            .expect_err("no chess position")
            .to_string()
    }

    #[test]
    fn from_fen_accepts_common_variations() {
        let cases = [
            // Missing fields, blanks, dashes for counters, move number 0.
            ("4k3/8/8/8/8/8/8/4K3", "4k3/8/8/8/8/8/8/4K3 w - - 0 1"),
            (
                "  4k3/8/8/8/8/8/8/4K3   b\t-  -\n",
                "4k3/8/8/8/8/8/8/4K3 b - - 0 1",
            ),
            (
                "4k3/8/8/8/8/8/8/4K3 b - - - -",
                "4k3/8/8/8/8/8/8/4K3 b - - 0 1",
            ),
            (
                "4k3/8/8/8/8/8/8/4K3 b - - 7 0",
                "4k3/8/8/8/8/8/8/4K3 b - - 7 1",
            ),
            // Castling by letters in any order and by files.
            (
                "r3k2r/8/8/8/8/8/8/R3K2R w qkQK - 0 1",
                "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
            ),
            (
                "r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1",
                "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
            ),
            // An inner rook castles: written as its file.
            (
                "4k3/8/8/8/8/8/8/RR2K1RR w GB - 0 1",
                "4k3/8/8/8/8/8/8/RR2K1RR w GB - 0 1",
            ),
            (
                "4k3/8/8/8/8/8/8/RR2K1RR w KQ - 0 1",
                "4k3/8/8/8/8/8/8/RR2K1RR w KQ - 0 1",
            ),
            // En passant without an attacking pawn is dropped.
            (
                "4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1",
                "4k3/8/8/8/4P3/8/8/4K3 b - - 0 1",
            ),
            (
                "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1",
                "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1",
            ),
        ];
        for (given, expected) in cases {
            let position = Position::from_fen(given).unwrap_or_else(|e| panic!("{given}: {e}"));
            assert_eq!(position.fen(), expected);
        }
    }

    #[test]
    fn from_fen_of_bad_positions_explains_why() {
        let cases = [
            ("", "the FEN is empty"),
            ("8/8/8/8/8/8/8 w - - 0 1", "not 7"),
            (
                "4k3/8/8/7/8/8/8/4K3 w - - 0 1",
                "rank 5 of the board does not have 8 squares",
            ),
            ("4k3/8/8/8/8/88/8/4K3 w - - 0 1", "rank 3"),
            ("4k3/8/8/8/8/8/8/ppppkppppp w - - 0 1", "rank 1"),
            ("4k3/8/8/8/8/8/8/4X3 w - - 0 1", "\"X\" is not a piece"),
            ("4k3/8/8/8/8/8/8/4é3 w - - 0 1", "\"é\" is not a piece"),
            ("8/8/8/8/8/8/8/4K3 w - - 0 1", "Black has no king"),
            ("4k3/8/8/8/8/8/8/3KK3 w - - 0 1", "White has 2 kings"),
            ("4k3/8/8/8/8/8/8/P3K3 w - - 0 1", "a pawn cannot be on a1"),
            (
                "4k3/8/8/8/8/P7/PPPPPPPP/4K3 w - - 0 1",
                "White has 9 pawns, more than 8",
            ),
            (
                "4k3/8/8/8/QQQQQQQQ/QQQQQQQQ/8/4K3 w - - 0 1",
                "White has 17 pieces, more than 16",
            ),
            (
                "4k3/8/8/8/8/QQQ5/PPPPPPPP/4K3 w - - 0 1",
                "White has 2 promoted pieces",
            ),
            ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "not \"x\""),
            (
                "4k3/8/8/8/8/8/8/4K3 w KX - 0 1",
                "castling \"K\" is not possible",
            ),
            (
                "4k3/8/8/8/8/8/8/4K2R w KX - 0 1",
                "\"KX\" is not a castling field",
            ),
            (
                "4k3/8/8/8/8/8/4K3/7R w K - 0 1",
                "castling \"K\" is not possible",
            ),
            (
                "4k3/8/8/8/8/8/8/4K1RR w GH - 0 1",
                "castling \"H\" is not possible",
            ),
            (
                "4k3/8/8/8/8/8/8/4K3 w - e9 0 1",
                "\"e9\" is not an en passant square",
            ),
            (
                "4k3/8/8/8/8/8/8/4K3 w - e6 0 1",
                "no pawn can just have moved over the en passant square e6",
            ),
            ("4k3/4p3/8/3Pp3/8/8/8/4K3 w - e6 0 1", "square e6"),
            ("4k3/8/8/8/3pP3/8/8/4K3 w - e3 0 1", "square e3"),
            // A check older than the double push; checks by the pawn and discovered checks are fine.
            (
                "R3k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1",
                "en passant square e3 is impossible: the check is older than the last move",
            ),
            ("8/8/8/3k4/3pP3/8/8/4K3 b - e3 0 1", ""),
            ("8/8/8/8/3pP1k1/8/8/3BK3 b - e3 0 1", ""),
            ("4k3/8/8/8/8/8/8/4K3 w - - x 1", "\"x\" is not a counter"),
            (
                "4k3/8/8/8/8/8/8/4K3 w - - 0 65536",
                "\"65536\" is not a counter",
            ),
            ("4k3/8/8/8/8/8/8/4K3 w - - -1 1", "\"-1\" is not a counter"),
            (
                "4k3/8/8/8/8/8/8/4K3 w - - 0 1 hmm",
                "unexpected \"hmm\" after them",
            ),
            (
                "4k3/8/8/8/8/8/8/4RK2 w - - 0 1",
                "Black is in check but not to move",
            ),
            ("8/8/8/8/8/8/4k3/4K3 w - - 0 1", "Black is in check"),
            (
                "4k3/8/5N2/8/8/8/2b5/1R2R1K1 b - - 0 1",
                "", // Two checkers, one of them a slider: possible.
            ),
            (
                "4k3/8/3N1N2/8/8/8/8/4K3 b - - 0 1",
                "no move can give this check",
            ),
            (
                "R3k2R/8/8/8/8/8/8/4K3 b - - 0 1",
                "no move can give this check",
            ),
            (
                "4k3/8/5N2/1B6/8/8/8/4RK2 b - - 0 1",
                "no move can give this check",
            ),
        ];
        for (fen, part) in cases {
            if part.is_empty() {
                assert!(Position::from_fen(fen).is_ok(), "{fen}");
            } else {
                let message = error_text(fen);
                assert!(message.contains(part), "{fen}: {message}");
            }
        }
    }

    #[test]
    fn from_fen_lenient_accepts_positions_that_no_game_reaches() {
        let cases = [
            // Checks that no move gives.
            ("4k3/8/3N1N2/8/8/8/8/4K3 b - - 0 1", "b - - 0 1"),
            ("R3k2R/8/8/8/8/8/8/4K3 b - - 0 1", "b - - 0 1"),
            ("4k3/8/5N2/1B6/8/8/8/4RK2 b - - 0 1", "b - - 0 1"),
            // Castling rights without king or rook in place, and two rooks of one side.
            ("4k2r/8/8/8/8/8/8/R3K3 w KQkq - 0 1", "w Qk - 0 1"),
            ("4k3/8/8/8/8/8/4K3/7R w KQkq - 0 1", "w - - 0 1"),
            ("4k3/8/8/8/8/8/8/4K1RR w GH - 0 1", "w G - 0 1"),
            // En passant squares without a pawn to capture, and with a check older than the double push.
            ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", "w - - 0 1"),
            ("4k3/4p3/8/3Pp3/8/8/8/4K3 w - e6 0 1", "w - - 0 1"),
            ("4k3/8/8/8/3pP3/8/8/4K3 w - e3 0 1", "w - - 0 1"),
            ("R3k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", "b - e3 0 1"),
            // More promoted pieces than missing pawns.
            ("4k3/8/8/8/8/QQQ5/PPPPPPPP/4K3 w - - 0 1", "w - - 0 1"),
        ];
        for (fen, fields) in cases {
            assert!(Position::from_fen(fen).is_err() || fen.ends_with(fields));
            let position = Position::from_fen_lenient(fen).unwrap_or_else(|e| panic!("{fen}: {e}"));
            assert!(position.fen().ends_with(fields), "{}", position.fen());
            // Its moves are legal by both tests.
            for mv in &position.legal_moves() {
                assert!(position.is_legal(mv), "{fen}: {mv:?}");
                let next = position.after(mv);
                let king = next.king(!next.turn());
                let checkers = next.attackers_to(king, next.occupied());
                assert!(
                    !checkers.intersects(next.by_color(next.turn())),
                    "{fen}: {mv:?}"
                );
            }
        }
        for fen in [
            "8/8/8/8/8/8/8/4K3 w - - 0 1",
            "4k3/8/8/8/8/8/8/4RK2 w - - 0 1",
            "4k3/8/8/8/8/P7/PPPPPPPP/4K3 w - - 0 1",
            "4k3/8/8/8/8/QQQQQQQQ/PPPPPPPP/4K3 w - - 0 1",
            "4k3/8/8/8/8/8/8/P3K3 w - - 0 1",
            "4k3/8/8/8/8/8/8/4K3 w KX - 0 1",
            "4k3/8/8/8/8/8/8/4K3 w - e9 0 1",
        ] {
            assert!(Position::from_fen_lenient(fen).is_err(), "{fen}");
        }
    }

    #[test]
    fn uci_fen_has_the_form_of_engines() {
        for (variant, lichess, engine) in [
            (
                Variant::Crazyhouse,
                "r3k2r/8/8/8/8/8/8/R3K1Q~R/QPnp w KQkq - 3 20",
                "r3k2r/8/8/8/8/8/8/R3K1Q~R[PQpn] w KQkq - 3 20",
            ),
            (
                Variant::ThreeCheck,
                "4k3/8/8/8/8/8/8/4K2R w K - 3 20 +2+0",
                "4k3/8/8/8/8/8/8/4K2R w K - 1+3 3 20",
            ),
            (
                Variant::Atomic,
                "4k3/8/8/8/8/8/8/4K2R w K - 3 20",
                "4k3/8/8/8/8/8/8/4K2R w K - 3 20",
            ),
        ] {
            let position = Position::from_variant_fen(variant, lichess).expect(lichess);
            assert_eq!(position.uci_fen(), engine);
            assert_eq!(Position::from_variant_fen(variant, engine), Ok(position));
        }
        assert_eq!(Position::startpos().uci_fen(), Position::startpos().fen());
    }
}
