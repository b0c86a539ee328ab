//! Moves as players write them, and the legal moves that they mean.

use crate::chess::{CastlingNotation, File, Move, Position, Role, Square};

use super::outcome::GameError;
use crate::sim::site::variant::Variant;

/// A move as it was written, before anybody looked at the board.
pub enum MoveText {
    Move {
        from: Square,
        to: Square,
        promotion: Option<Role>,
    },
    Drop(String),
}

impl MoveText {
    /// Reads the form alone; `None` when it has none.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.is_ascii() {
            return None;
        }
        if let [b'P' | b'N' | b'B' | b'R' | b'Q', b'@', ..] = text.as_bytes() {
            let square: Square = text[2..].parse().ok()?;
            return Some(Self::Drop(square.to_string()));
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

    /// The legal move that is meant. Standard games take both spellings of castling, Chess960 only the king that takes
    /// his rook, games from a position both where king and rook stand as at home.
    pub fn resolve(&self, position: &Position, variant: Variant) -> Result<Move, GameError> {
        let (from, to, promotion) = match self {
            Self::Drop(text) => return Err(GameError::IllegalDrop(text.clone())),
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
        let found = moves.iter().copied().find(|mv| {
            if mv.from() != from {
                return false;
            }
            if mv.is_castle() {
                return promotion.is_none()
                    && (mv.to() == to || is_king_move_spelling(*mv, variant, to));
            }
            let wanted = promotion.or(mv.is_promotion().then_some(Role::Queen));
            mv.to() == to && mv.promotion() == wanted
        });
        found.ok_or(GameError::Illegal(from, to))
    }
}

/// Whether castling may be written as the king's move, and that is what is written.
fn is_king_move_spelling(castle: Move, variant: Variant, to: Square) -> bool {
    variant != Variant::Chess960
        && castle.from().file() == File::E
        && matches!(castle.to().file(), File::A | File::H)
        && castle.uci(CastlingNotation::Standard).to_string()[2..] == to.to_string()
}
