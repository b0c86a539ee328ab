//! A move together with the pieces on its squares.

use knightwatch_chess::{Move, Position, Role};

/// A legal move of the side to move, with what it moves and captures, so that nobody looks that up again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BoardMove {
    pub mv: Move,
    /// The role that moves or is dropped.
    pub role: Role,
    /// The role that is captured, en passant included.
    pub captured: Option<Role>,
}

impl BoardMove {
    /// Looks up what a legal move moves and captures.
    pub(crate) fn new(pos: &Position, mv: Move) -> BoardMove {
        let piece = pos.moved_piece(mv).expect("a legal move has a piece");
        BoardMove {
            mv,
            role: piece.role,
            captured: captured_role(pos, mv),
        }
    }
}

/// The role captured by a move, en passant included.
#[inline]
pub(crate) fn captured_role(pos: &Position, mv: Move) -> Option<Role> {
    if !mv.is_capture() {
        return None;
    }
    Some(pos.role_at(mv.to()).unwrap_or(Role::Pawn))
}
