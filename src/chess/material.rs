//! Whether there is enough material for a mate.

use super::{Bitboard, Color, Position, Role};

impl Position {
    /// Whether a side could mate by some series of legal moves, judged by material alone and as Lichess judges it:
    /// if its opponent's flag falls and it has none, the game is drawn.
    pub fn has_mating_material(&self, color: Color) -> bool {
        let (us, them) = (self.by_color(color), self.by_color(!color));
        let role = |role| self.by_role(role);
        if us.meets(role(Role::Pawn) | role(Role::Rook) | role(Role::Queen)) {
            return true;
        }
        if us.meets(role(Role::Knight)) {
            // A lone knight mates only a king whose own men stand in its way, and a queen never has to.
            let alone = us.count() == 2;
            let bystanders = them & !role(Role::King) & !role(Role::Queen);
            return !alone || !bystanders.is_empty();
        }
        if us.meets(role(Role::Bishop)) {
            let bishops = role(Role::Bishop);
            let both_colors = bishops.meets(Bitboard::LIGHT) && bishops.meets(Bitboard::DARK);
            return both_colors || !(role(Role::Pawn) | role(Role::Knight)).is_empty();
        }
        false
    }

    /// Whether neither side could mate, whatever is played.
    ///
    /// ```
    /// use knightwatch::chess::Position;
    ///
    /// assert!(Position::from_fen("4k3/8/8/8/8/8/8/4KN2 w - - 0 1")?.insufficient_material());
    /// assert!(!Position::from_fen("4k3/8/8/8/8/8/8/4KR2 w - - 0 1")?.insufficient_material());
    /// # Ok::<(), knightwatch::chess::FenError>(())
    /// ```
    pub fn insufficient_material(&self) -> bool {
        Color::ALL
            .into_iter()
            .all(|color| !self.has_mating_material(color))
    }

    /// The key without an en passant capture that is not legal: equal for positions that the rule of repetition
    /// holds to be the same.
    pub(super) fn identity(&self) -> u64 {
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
