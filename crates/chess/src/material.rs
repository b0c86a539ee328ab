//! Mating material.

use super::{Bitboard, Color, Position, Role};

impl Position {
    /// Whether a side could mate by some sequence of legal moves, judged by material alone as Lichess does. If a
    /// player's time runs out and the opponent has no mating material, the game is drawn.
    pub fn has_mating_material(&self, color: Color) -> bool {
        let (us, them) = (self.by_color(color), self.by_color(!color));
        let role = |role| self.by_role(role);
        if us.intersects(role(Role::Pawn) | role(Role::Rook) | role(Role::Queen)) {
            return true;
        }
        if us.intersects(role(Role::Knight)) {
            // A lone knight can only mate a king blocked by its own men other than queens.
            let alone = us.count() == 2;
            let bystanders = them & !role(Role::King) & !role(Role::Queen);
            return !alone || !bystanders.is_empty();
        }
        if us.intersects(role(Role::Bishop)) {
            let bishops = role(Role::Bishop);
            let both_colors =
                bishops.intersects(Bitboard::LIGHT) && bishops.intersects(Bitboard::DARK);
            return both_colors || !(role(Role::Pawn) | role(Role::Knight)).is_empty();
        }
        false
    }

    /// Whether neither side could mate by any sequence of moves.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// assert!(Position::from_fen("4k3/8/8/8/8/8/8/4KN2 w - - 0 1")?.insufficient_material());
    /// assert!(!Position::from_fen("4k3/8/8/8/8/8/8/4KR2 w - - 0 1")?.insufficient_material());
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    pub fn insufficient_material(&self) -> bool {
        Color::ALL
            .into_iter()
            .all(|color| !self.has_mating_material(color))
    }

    /// The key without an en passant square where the capture is illegal: equal for positions that the repetition
    /// rule considers the same.
    pub(super) fn repetition_key(&self) -> u64 {
        match self.en_passant() {
            Some(square) if !self.can_take_en_passant(square) => {
                self.key() ^ super::zobrist::en_passant(square.file())
            }
            _ => self.key(),
        }
    }

    fn can_take_en_passant(&self, to: super::Square) -> bool {
        let us = self.turn();
        let pawns = super::attacks::pawn(!us, to) & self.pieces(us, Role::Pawn);
        pawns
            .into_iter()
            .any(|from| self.en_passant_leaves_no_check(from, to))
    }
}
