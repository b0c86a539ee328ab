//! Material on the board.

use knightwatch_chess::{Color, Position, Role};

/// Material of a side, in pawns.
pub(crate) fn material(position: &Position, color: Color) -> u32 {
    [
        (Role::Pawn, 1),
        (Role::Knight, 3),
        (Role::Bishop, 3),
        (Role::Rook, 5),
        (Role::Queen, 9),
    ]
    .into_iter()
    .map(|(role, worth)| position.pieces(color, role).count() * worth)
    .sum()
}
