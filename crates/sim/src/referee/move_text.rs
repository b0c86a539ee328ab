//! Parsing of moves from requests, and their resolution to legal moves.

use knightwatch_chess::{CastlingNotation, File, Move, Position, Role, Square};

use super::outcome::GameError;
use crate::site::Variant;

/// A syntactically valid move, not yet checked against a position.
pub(super) enum MoveText {
    Move {
        from: Square,
        to: Square,
        promotion: Option<Role>,
    },
    Drop(Role, Square),
}

impl MoveText {
    /// Checks the syntax only; `None` if it is malformed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !text.is_ascii() {
            return None;
        }
        if let [role, b'@', ..] = text.as_bytes() {
            let role = match role {
                b'P' => Role::Pawn,
                b'N' => Role::Knight,
                b'B' => Role::Bishop,
                b'R' => Role::Rook,
                b'Q' => Role::Queen,
                _ => return None,
            };
            return Some(Self::Drop(role, text[2..].parse().ok()?));
        }
        let promotion = match text.as_bytes() {
            [_, _, _, _] => None,
            [_, _, _, _, b'q'] => Some(Role::Queen),
            [_, _, _, _, b'r'] => Some(Role::Rook),
            [_, _, _, _, b'b'] => Some(Role::Bishop),
            [_, _, _, _, b'n'] => Some(Role::Knight),
            [_, _, _, _, b'k'] => Some(Role::King),
            _ => return None,
        };
        Some(Self::Move {
            from: text[..2].parse().ok()?,
            to: text[2..4].parse().ok()?,
            promotion,
        })
    }

    /// The legal move. Standard games accept both notations of castling, Chess960 only king-takes-rook, games from a
    /// position both if king and rook stand on their standard squares.
    pub(super) fn resolve(&self, position: &Position, variant: Variant) -> Result<Move, GameError> {
        let (from, to, promotion) = match self {
            Self::Drop(role, to) => {
                let drop = Move::drop(*role, *to);
                return match position.is_legal(drop) {
                    true => Ok(drop),
                    false => Err(GameError::IllegalDrop(*to)),
                };
            }
            Self::Move {
                from,
                to,
                promotion,
            } => (*from, *to, *promotion),
        };
        let piece = position.piece_at(from).ok_or(GameError::NoPiece(from))?;
        if piece.color != position.turn() {
            return Err(GameError::NotMyPiece(from));
        }
        let moves = position.legal_moves();
        let mv = moves.iter().copied().find(|mv| {
            // A drop has no square of origin.
            if mv.dropped().is_some() || mv.from() != from {
                return false;
            }
            if mv.is_castle() {
                return promotion.is_none()
                    && (mv.to() == to || is_king_move_notation(*mv, variant, to));
            }
            let wanted = promotion.or(mv.is_promotion().then_some(Role::Queen));
            mv.to() == to && mv.promotion() == wanted
        });
        mv.ok_or(GameError::Illegal(from, to))
    }
}

/// Returns whether `to` is the king's target square of this castling move, in games that allow that notation.
fn is_king_move_notation(castle: Move, variant: Variant, to: Square) -> bool {
    variant != Variant::Chess960
        && castle.from().file() == File::E
        && matches!(castle.to().file(), File::A | File::H)
        && castle.uci(CastlingNotation::Standard).to_string()[2..] == to.to_string()
}
