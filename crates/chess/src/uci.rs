//! Moves in UCI notation.

use std::fmt;

use super::quote::Quoted;
use super::{CastlingSide, File, Move, MoveKind, Position, Role, Square, attacks};

/// Error of reading a move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MoveError {
    /// The text is not a move.
    Malformed(String),
    /// No legal move matches.
    Illegal(String),
    /// Several legal moves match.
    Ambiguous(String),
}

impl fmt::Display for MoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MoveError::Malformed(text) => write!(f, "{} is not a move", Quoted(text)),
            MoveError::Illegal(text) => write!(f, "{} is not a legal move here", Quoted(text)),
            MoveError::Ambiguous(text) => {
                write!(f, "{} matches several legal moves", Quoted(text))
            }
        }
    }
}

impl std::error::Error for MoveError {}

/// Splits a move like `e7e8q`, or `e7e8Q` as some GUIs write it.
fn split(text: &str) -> Option<(Square, Square, Option<Role>)> {
    let from = text.get(0..2)?.parse().ok()?;
    let to = text.get(2..4)?.parse().ok()?;
    let promotion = match text.get(4..)? {
        "" => None,
        "n" | "N" => Some(Role::Knight),
        "b" | "B" => Some(Role::Bishop),
        "r" | "R" => Some(Role::Rook),
        "q" | "Q" => Some(Role::Queen),
        "k" | "K" => Some(Role::King),
        _ => return None,
    };
    Some((from, to, promotion))
}

impl Position {
    /// Parses a move in UCI notation; a drop is written as `N@f3`. The letter of a promotion may be upper case.
    /// Castling is accepted both as `e1g1` and as `e1h1`: the king moves onto its own rook, or from the e-file to the
    /// g- or c-file.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// let position = Position::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1")?;
    /// assert_eq!(position.parse_uci("e1g1"), position.parse_san("O-O"));
    /// assert_eq!(position.parse_uci("e1h1"), position.parse_san("O-O"));
    /// assert!(position.parse_uci("e1e3").is_err());
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MoveError::Malformed`] if the text is not a move, [`MoveError::Illegal`] if the move is not legal.
    pub fn parse_uci(&self, text: &str) -> Result<Move, MoveError> {
        let malformed = || MoveError::Malformed(text.to_owned());
        let mv = if let Some((role, to)) = text.split_once('@') {
            let role = match role {
                "P" => Role::Pawn,
                "N" => Role::Knight,
                "B" => Role::Bishop,
                "R" => Role::Rook,
                "Q" => Role::Queen,
                _ => return Err(malformed()),
            };
            Some(Move::drop(role, to.parse().map_err(|_| malformed())?))
        } else {
            let (from, to, promotion) = split(text).ok_or_else(malformed)?;
            self.kind_of(from, to, promotion)
                .filter(|_| from != to)
                .map(|(to, kind)| Move::new(from, to, kind))
        };
        mv.filter(|&mv| self.is_legal(mv))
            .ok_or_else(|| MoveError::Illegal(text.to_owned()))
    }

    /// The kind of move, and its destination in this program's encoding.
    fn kind_of(
        &self,
        from: Square,
        to: Square,
        promotion: Option<Role>,
    ) -> Option<(Square, MoveKind)> {
        let us = self.turn();
        let role = self.role_at(from)?;
        if role == Role::King && promotion.is_none() {
            if self.castling_rooks().contains(to) && self.by_color(us).contains(to) {
                return Some((to, MoveKind::Castle));
            }
            let side = match to.file() {
                File::G => Some(CastlingSide::King),
                File::C => Some(CastlingSide::Queen),
                _ => None,
            };
            if let Some(side) = side
                && from.file() == File::E
                && from.rank() == to.rank()
            {
                return Some((self.castling_rook(us, side)?, MoveKind::Castle));
            }
        }
        let capture = self.by_color(!us).contains(to);
        let kind = match (role, promotion) {
            (role, Some(_)) if role != Role::Pawn => return None,
            (_, Some(promotion)) if capture => MoveKind::CapturePromotion(promotion),
            (_, Some(promotion)) => MoveKind::Promotion(promotion),
            (Role::Pawn, None) if !capture && from.file() != to.file() => MoveKind::EnPassant,
            (Role::Pawn, None) if attacks::between(from, to).count() == 1 => MoveKind::DoublePush,
            _ if capture => MoveKind::Capture,
            _ => MoveKind::Quiet,
        };
        Some((to, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CastlingNotation, Variant};

    fn reads(fen: &str, uci: &str) -> Option<MoveKind> {
        let position = Position::from_fen(fen).expect("a position");
        position.parse_uci(uci).ok().map(Move::kind)
    }

    #[test]
    fn parse_uci_of_castling_accepts_both_notations() {
        let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        for uci in ["e1g1", "e1h1", "e1c1", "e1a1"] {
            assert_eq!(reads(fen, uci), Some(MoveKind::Castle), "{uci}");
        }
        assert_eq!(reads(fen, "e1b1"), None);
        let position = Position::from_fen(fen).expect("a position");
        assert_eq!(position.parse_uci("e1g1"), position.parse_uci("e1h1"));
    }

    #[test]
    fn parse_uci_of_king_step_next_to_g_file_is_quiet() {
        let fen = "4k3/8/8/8/8/8/8/1R3K1R w HB - 0 1";
        assert_eq!(reads(fen, "f1g1"), Some(MoveKind::Quiet));
        assert_eq!(reads(fen, "f1h1"), Some(MoveKind::Castle));
        assert_eq!(reads(fen, "f1b1"), Some(MoveKind::Castle));
        // King and rook swap places.
        let fen = "4k3/8/8/8/8/8/8/5KR1 w G - 0 1";
        let position = Position::from_fen(fen).expect("a position");
        let mv = position.parse_uci("f1g1").expect("legal");
        assert_eq!(mv.kind(), MoveKind::Castle);
        assert_eq!(mv.uci(CastlingNotation::KingTakesRook).to_string(), "f1g1");
        assert_eq!(position.after(mv).fen(), "4k3/8/8/8/8/8/8/5RK1 b - - 1 1");
    }

    #[test]
    fn parse_uci_of_castling_with_pinned_rook_fails() {
        assert_eq!(reads("4k3/8/8/8/8/8/8/qR1K4 w B - 0 1", "d1b1"), None);
        assert_eq!(
            reads("4k3/8/8/8/8/8/8/1R1K4 w B - 0 1", "d1b1"),
            Some(MoveKind::Castle)
        );
    }

    #[test]
    fn parse_uci_of_bad_promotion_fails() {
        let fen = "1n5k/P7/8/8/8/8/8/K7 w - - 0 1";
        assert_eq!(reads(fen, "a7a8r"), Some(MoveKind::Promotion(Role::Rook)));
        assert_eq!(
            reads(fen, "a7b8n"),
            Some(MoveKind::CapturePromotion(Role::Knight))
        );
        for uci in ["a7a8", "a7a8k", "a7a8p", "a7a8P", "a7a8qq", "a1a2q"] {
            assert_eq!(reads(fen, uci), None, "{uci}");
        }
    }

    #[test]
    fn parse_uci_of_promotion_accepts_upper_case() {
        let fen = "1n5k/P7/8/8/8/8/8/K7 w - - 0 1";
        let position = Position::from_fen(fen).expect("a position");
        for (upper, lower) in [
            ("a7a8N", "a7a8n"),
            ("a7a8B", "a7a8b"),
            ("a7b8R", "a7b8r"),
            ("a7b8Q", "a7b8q"),
        ] {
            let mv = position.parse_uci(upper).expect("legal");
            assert_eq!(position.parse_uci(lower), Ok(mv), "{upper}");
        }
        let fen = "7k/P7/8/8/8/8/8/K7 w - - 0 1";
        let position = Position::from_variant_fen(Variant::Antichess, fen).expect("a position");
        assert_eq!(position.parse_uci("a7a8K"), position.parse_uci("a7a8k"));
        assert!(position.parse_uci("a7a8K").is_ok());
    }
}
