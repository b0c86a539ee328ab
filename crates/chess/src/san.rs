//! Moves in standard algebraic notation (SAN).

use super::pgn::Outcome;
use super::{
    Bitboard, CastlingNotation, CastlingSide, File, Move, MoveError, MoveKind, Position, Rank,
    Role, Square, attacks,
};

impl Position {
    /// A legal move in SAN, with `+`, or `#` if it mates or wins by a rule of the variant. Drops are written as
    /// `N@f3` and `P@e5`.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// let position = Position::from_fen("4k3/8/8/8/1n6/8/3N4/4KN2 w - - 0 1")?;
    /// assert_eq!(position.san(position.parse_uci("d2b3")?), "Nb3");
    /// let position = Position::from_fen("7k/R7/8/8/8/8/8/1R2K3 w - - 0 1")?;
    /// assert_eq!(position.san(position.parse_uci("b1b8")?), "Rb8#");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// In debug builds, if the move is illegal.
    pub fn san(&self, mv: Move) -> String {
        let mut text = String::new();
        let (from, to) = (mv.from(), mv.to());
        match self.role_at(from) {
            _ if mv.dropped().is_some() => {
                text = mv.uci(CastlingNotation::Standard).to_string();
            }
            _ if mv.is_castle() => {
                text += if to.index() > from.index() {
                    "O-O"
                } else {
                    "O-O-O"
                }
            }
            Some(Role::Pawn) | None => {
                if mv.is_capture() {
                    text.push(from.file().char());
                    text.push('x');
                }
                text += &to.to_string();
                if let Some(role) = mv.promotion() {
                    text.push('=');
                    text.push(role.char().to_ascii_uppercase());
                }
            }
            Some(role) => {
                text.push(role.char().to_ascii_uppercase());
                text += &self.disambiguation(mv, role);
                if mv.is_capture() {
                    text.push('x');
                }
                text += &to.to_string();
            }
        }
        let next = self.after(mv);
        if next.is_checkmate() || matches!(next.variant_outcome(), Outcome::Win(_)) {
            text.push('#');
        } else if next.in_check() {
            text.push('+');
        }
        text
    }

    /// The text that distinguishes the move from other moves of this role to the same square: nothing, file, rank or both.
    fn disambiguation(&self, mv: Move, role: Role) -> String {
        let from = mv.from();
        let (mut others, mut same_file, mut same_rank) = (false, false, false);
        for other in self.origins(role, mv.to()).without(from) {
            if self.is_legal(Move::new(other, mv.to(), mv.kind())) {
                others = true;
                same_file |= other.file() == from.file();
                same_rank |= other.rank() == from.rank();
            }
        }
        match (others, same_file, same_rank) {
            (false, _, _) => String::new(),
            (true, false, _) => from.file().to_string(),
            (true, true, false) => from.rank().to_string(),
            (true, true, true) => from.to_string(),
        }
    }

    /// Parses a move in SAN. Check marks and annotations like `!?` are optional and not verified; castling may use
    /// zeros; a promotion may lack its `=`.
    ///
    /// ```
    /// use knightwatch_chess::{MoveError, Position};
    ///
    /// let start = Position::startpos();
    /// assert_eq!(start.parse_san("Nf3!?"), start.parse_uci("g1f3"));
    /// assert_eq!(start.parse_san("Nf4"), Err(MoveError::Illegal("Nf4".to_owned())));
    /// ```
    ///
    /// # Errors
    ///
    /// [`MoveError::Malformed`] if the text is not a move, [`MoveError::Illegal`] if no legal move matches,
    /// [`MoveError::Ambiguous`] if several do.
    pub fn parse_san(&self, text: &str) -> Result<Move, MoveError> {
        let san = SanMove::read(text).ok_or_else(|| MoveError::Malformed(text.to_owned()))?;
        let mut found = None;
        if let Some((origins, to, kind)) = san.candidates(self) {
            for mv in origins.into_iter().map(|from| Move::new(from, to, kind)) {
                if self.is_legal(mv) && found.replace(mv).is_some() {
                    return Err(MoveError::Ambiguous(text.to_owned()));
                }
            }
        }
        found.ok_or_else(|| MoveError::Illegal(text.to_owned()))
    }

    /// Pieces of the side to move with a role, other than pawns, that can reach a square, ignoring pins and checks.
    fn origins(&self, role: Role, to: Square) -> Bitboard {
        attacks::piece(role, to, self.occupied()) & self.pieces(self.turn(), role)
    }

    /// Pawns of the side to move that can reach a square, and the kind of move, ignoring promotion.
    fn pawn_origins(&self, to: Square) -> (Bitboard, MoveKind) {
        let us = self.turn();
        let pawns = self.pieces(us, Role::Pawn);
        if self.occupied().contains(to) {
            return (attacks::pawn(!us, to) & pawns, MoveKind::Capture);
        }
        if self.en_passant() == Some(to) {
            return (attacks::pawn(!us, to) & pawns, MoveKind::EnPassant);
        }
        let back = if us.is_white() { -8 } else { 8 };
        let single = Bitboard::of(to).shifted(back) & pawns;
        if single.is_empty() {
            let double = Bitboard::of(to).shifted(2 * back) & pawns;
            (double, MoveKind::DoublePush)
        } else {
            (single, MoveKind::Quiet)
        }
    }
}

/// A parsed SAN move.
enum SanMove {
    Castle {
        short: bool,
    },
    Drop(Role, Square),
    Move {
        role: Role,
        file: Option<File>,
        rank: Option<Rank>,
        to: Square,
        promotion: Option<Role>,
    },
}

impl SanMove {
    fn read(text: &str) -> Option<SanMove> {
        let marks = ['+', '#', '!', '?'];
        let text = text.trim_end_matches(marks);
        // Older games mark en passant.
        let text = text.strip_suffix("e.p.").unwrap_or(text);
        let text = text.trim_end_matches(marks);
        match text {
            "O-O" | "0-0" | "o-o" => return Some(SanMove::Castle { short: true }),
            "O-O-O" | "0-0-0" | "o-o-o" => return Some(SanMove::Castle { short: false }),
            _ => {}
        }
        if let Some((role, to)) = text.split_once('@') {
            let role = match role {
                "" | "P" => Role::Pawn,
                "N" | "B" | "R" | "Q" => Role::from_char(role.chars().next()?)?,
                _ => return None,
            };
            return Some(SanMove::Drop(role, to.parse().ok()?));
        }
        let (role, rest) = match text.chars().next()? {
            letter @ ('N' | 'B' | 'R' | 'Q' | 'K' | 'P') => (Role::from_char(letter)?, &text[1..]),
            _ => (Role::Pawn, text),
        };
        let (rest, promotion) = match rest.chars().next_back()? {
            // Some programs write the promotion in lower case.
            letter @ ('N' | 'B' | 'R' | 'Q' | 'K' | 'n' | 'b' | 'r' | 'q' | 'k')
                if role == Role::Pawn =>
            {
                let rest = &rest[..rest.len() - 1];
                (
                    rest.strip_suffix('=').unwrap_or(rest),
                    Role::from_char(letter),
                )
            }
            _ => (rest, None),
        };
        let split = rest.len().checked_sub(2)?;
        let to = rest.get(split..)?.parse().ok()?;
        let start = rest.get(..split)?;
        let start = start.strip_suffix(['x', '-', ':']).unwrap_or(start);
        let mut letters = start.chars();
        let (file, rank) = match (letters.next(), letters.next(), letters.next()) {
            (None, ..) => (None, None),
            (Some(letter), None, _) if letter.is_ascii_digit() => {
                (None, Some(Rank::from_char(letter)?))
            }
            (Some(letter), None, _) => (Some(File::from_char(letter)?), None),
            (Some(file), Some(rank), None) => {
                (Some(File::from_char(file)?), Some(Rank::from_char(rank)?))
            }
            _ => return None,
        };
        Some(SanMove::Move {
            role,
            file,
            rank,
            to,
            promotion,
        })
    }

    /// Pseudo-legal candidates: from squares, to square, kind.
    fn candidates(&self, position: &Position) -> Option<(Bitboard, Square, MoveKind)> {
        match *self {
            SanMove::Castle { short } => {
                let side = if short {
                    CastlingSide::King
                } else {
                    CastlingSide::Queen
                };
                let us = position.turn();
                let rook = position.castling_rook(us, side)?;
                Some((Bitboard::of(position.king(us)), rook, MoveKind::Castle))
            }
            SanMove::Drop(role, to) => Some((Bitboard::of(to), to, MoveKind::Drop(role))),
            SanMove::Move {
                role,
                file,
                rank,
                to,
                promotion,
            } => {
                let (origins, kind) = match role {
                    Role::Pawn => position.pawn_origins(to),
                    _ if position.occupied().contains(to) => {
                        (position.origins(role, to), MoveKind::Capture)
                    }
                    _ => (position.origins(role, to), MoveKind::Quiet),
                };
                let kind = match (kind, promotion) {
                    (MoveKind::Capture, Some(role)) => MoveKind::CapturePromotion(role),
                    (_, Some(role)) => MoveKind::Promotion(role),
                    (kind, None) => kind,
                };
                let file = file.map_or(Bitboard::FULL, Bitboard::file);
                let rank = rank.map_or(Bitboard::FULL, Bitboard::rank);
                Some((origins & file & rank, to, kind))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn san_disambiguates_by_file_then_rank_then_both() {
        let position = Position::from_fen("2k5/8/8/8/Q6Q/8/8/K6Q w - - 0 1").expect("a position");
        let san = |uci| position.san(position.parse_uci(uci).expect("legal"));
        assert_eq!(san("h4e4"), "Qh4e4");
        assert_eq!(san("a4e4"), "Qae4");
        assert_eq!(san("h1e4"), "Q1e4");
        assert_eq!(san("h4h8"), "Qh8+");
    }

    #[test]
    fn parse_san_accepts_common_variations() {
        let fen = "r3k2r/1P6/8/3pP3/8/5n2/6P1/R3K2R w KQkq - 0 1";
        let position = Position::from_fen(fen).expect("a position");
        for (text, uci) in [
            ("gxf3", "g2f3"),
            ("gf3", "g2f3"),
            ("g2xf3!?", "g2f3"),
            ("Pgxf3", "g2f3"),
            ("g2-f3", "g2f3"),
        ] {
            assert_eq!(position.parse_san(text), position.parse_uci(uci), "{text}");
        }
        let fen = "r3k2r/1P6/8/3pP3/8/8/6P1/R3K2R w KQkq d6 0 1";
        let position = Position::from_fen(fen).expect("a position");
        for (text, uci) in [
            ("0-0-0", "e1c1"),
            ("O-O+", "e1h1"),
            ("b8Q", "b7b8q"),
            ("bxa8=N#", "b7a8n"),
            ("ba8R", "b7a8r"),
            ("bxa8=q", "b7a8q"),
            ("exd6", "e5d6"),
            ("exd6e.p.", "e5d6"),
            ("exd6+e.p.!", "e5d6"),
            ("Rhf1", "h1f1"),
            ("R1a2", "a1a2"),
        ] {
            let expected = position.parse_uci(uci);
            assert!(expected.is_ok(), "{uci}");
            assert_eq!(position.parse_san(text), expected, "{text}");
        }
    }

    #[test]
    fn parse_san_distinguishes_malformed_and_illegal() {
        let position = Position::from_fen("4k3/P7/8/8/8/8/8/RN2K2R w K - 0 1").expect("a position");
        for text in [
            "", "x", "e", "Z4", "Nx", "e9", "Bb", "ab", "O-O-O-O", "héé", "Kéé", "=Q", "a8=",
            "Nbb1c3d",
        ] {
            assert!(
                matches!(position.parse_san(text), Err(MoveError::Malformed(_))),
                "{text}"
            );
        }
        for text in ["e4", "Nf3", "O-O-O", "a8", "a8=K", "Qd1"] {
            assert!(position.parse_san(text).is_err(), "{text}");
        }
        let position = Position::from_fen("4k3/8/8/8/8/8/8/R3K2R w - - 0 1").expect("a position");
        assert!(matches!(
            position.parse_san("O-O"),
            Err(MoveError::Illegal(_))
        ));
        let position = Position::from_fen("4k3/8/8/8/8/8/4K3/R6R w - - 0 1").expect("a position");
        assert!(matches!(
            position.parse_san("Rd1"),
            Err(MoveError::Ambiguous(_))
        ));
    }
}
