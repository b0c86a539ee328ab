//! Squares attacked by the opponent, for history indexing and move ordering.

use knightwatch_chess::{Bitboard, Position, Role, attacks};

/// Squares that the side not to move attacks, in total and by piece type.
#[derive(Clone, Copy)]
pub(crate) struct Threats {
    pub all: Bitboard,
    by_pawns: Bitboard,
    by_minors: Bitboard,
    by_rooks: Bitboard,
}

impl Threats {
    pub(crate) const NONE: Threats = Threats {
        all: Bitboard::EMPTY,
        by_pawns: Bitboard::EMPTY,
        by_minors: Bitboard::EMPTY,
        by_rooks: Bitboard::EMPTY,
    };

    pub(crate) fn new(pos: &Position) -> Threats {
        let them = !pos.turn();
        // Sliders see through the king: it cannot hide behind itself.
        let own_king = Bitboard::of(pos.king(pos.turn()));
        let occupied = pos.occupied() & !own_king;
        let by_pawns = attacks::pawns(them, pos.pieces(them, Role::Pawn));
        let mut by_minors = Bitboard::EMPTY;
        for square in pos.pieces(them, Role::Knight) {
            by_minors |= attacks::knight(square);
        }
        for square in pos.pieces(them, Role::Bishop) {
            by_minors |= attacks::bishop(square, occupied);
        }
        let mut by_rooks = Bitboard::EMPTY;
        for square in pos.pieces(them, Role::Rook) {
            by_rooks |= attacks::rook(square, occupied);
        }
        let mut all = by_pawns | by_minors | by_rooks | attacks::king(pos.king(them));
        for square in pos.pieces(them, Role::Queen) {
            all |= attacks::queen(square, occupied);
        }
        Threats {
            all,
            by_pawns,
            by_minors,
            by_rooks,
        }
    }

    /// Squares attacked by a piece of lower value than `role`.
    pub(crate) fn by_lower_value(&self, role: Role) -> Bitboard {
        match role {
            Role::Pawn | Role::King => Bitboard::EMPTY,
            Role::Knight | Role::Bishop => self.by_pawns,
            Role::Rook => self.by_pawns | self.by_minors,
            Role::Queen => self.by_pawns | self.by_minors | self.by_rooks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threats_match_attackers_of_every_square() {
        let fens = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 b - - 0 1",
        ];
        for fen in fens {
            let pos = Position::from_fen(fen).expect("a FEN");
            let threats = Threats::new(&pos);
            let them = pos.by_color(!pos.turn());
            let without_king = pos.occupied().without(pos.king(pos.turn()));
            for square in Bitboard(u64::MAX) {
                let attackers = pos.attackers_to(square, without_king) & them;
                assert_eq!(
                    threats.all.contains(square),
                    !attackers.is_empty(),
                    "{square}"
                );
                let lesser = |role: Role| {
                    let is_lesser = |square| match pos.role_at(square) {
                        Some(Role::Pawn) => role > Role::Pawn,
                        Some(Role::Knight | Role::Bishop) => role > Role::Bishop,
                        Some(Role::Rook) => role > Role::Rook,
                        _ => false,
                    };
                    attackers.into_iter().any(is_lesser)
                };
                for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
                    let actual = threats.by_lower_value(role).contains(square);
                    assert_eq!(actual, lesser(role), "{square} {role:?}");
                }
            }
        }
    }
}
