//! Legality and check tests of single moves, without generating moves.

use super::position::back_rank;
use super::{Bitboard, Color, Move, MoveKind, Position, Rank, Role, Variant, attacks};

impl Position {
    /// Returns whether a move of any origin is legal. Meant for TT moves: it accepts any bits, and agrees with
    /// [`legal_moves`](Position::legal_moves).
    ///
    /// ```
    /// use knightwatch_chess::{Move, MoveKind, Position, Square};
    ///
    /// let double = Move::new(Square::E2, Square::E4, MoveKind::DoublePush);
    /// let start = Position::startpos();
    /// assert!(start.is_legal(double));
    /// assert!(!start.after(double).is_legal(double));
    /// ```
    pub fn is_legal(&self, mv: Move) -> bool {
        if self.variant() != Variant::Standard {
            return self.is_generated(mv);
        }
        if mv.is_of_variant() {
            return false;
        }
        let (us, them) = (self.turn(), self.by_color(!self.turn()));
        let (from, to) = (mv.from(), mv.to());
        let Some(role) = self.role_at(from) else {
            return false;
        };
        if !self.by_color(us).contains(from) {
            return false;
        }
        if mv.is_castle() {
            return role == Role::King
                && !self.in_check()
                && (self.castling_rooks() & Bitboard::rank(back_rank(us))).contains(to)
                && self.castling_is_free(from, to);
        }
        if self.by_color(us).contains(to) {
            return false;
        }
        if role == Role::King {
            return !mv.is_promotion()
                && mv.kind() == plain(them.contains(to))
                && attacks::king(from).contains(to)
                && !self
                    .attackers_to(to, self.occupied().without(from))
                    .intersects(them);
        }
        if mv.kind() == MoveKind::EnPassant {
            return role == Role::Pawn
                && self.en_passant() == Some(to)
                && attacks::pawn(us, from).contains(to)
                && self.en_passant_leaves_no_check(from, to);
        }
        let moves = match role {
            Role::Pawn => return self.is_pawn_move(mv) && self.king_stays_safe(mv),
            Role::Knight => attacks::knight(from),
            Role::Bishop => attacks::bishop(from, self.occupied()),
            Role::Rook => attacks::rook(from, self.occupied()),
            _ => attacks::queen(from, self.occupied()),
        };
        mv.kind() == plain(them.contains(to)) && moves.contains(to) && self.king_stays_safe(mv)
    }

    /// Returns whether the generator has this move.
    #[inline(never)]
    fn is_generated(&self, mv: Move) -> bool {
        let mut found = false;
        self.for_each_move(|legal| found |= legal == mv);
        found
    }

    /// Returns whether a pawn can make this move, other than en passant, ignoring the safety of its king.
    fn is_pawn_move(&self, mv: Move) -> bool {
        let us = self.turn();
        let (from, to) = (mv.from(), mv.to());
        let last = to.rank() == back_rank(!us);
        if mv.is_promotion() != last {
            return false;
        }
        if mv.is_capture() {
            return attacks::pawn(us, from).contains(to) && self.by_color(!us).contains(to);
        }
        let forward = if us.is_white() { 8 } else { -8 };
        let way = if mv.kind() == MoveKind::DoublePush {
            let home = if us.is_white() {
                Rank::Second
            } else {
                Rank::Seventh
            };
            if from.rank() != home {
                return false;
            }
            2
        } else {
            1
        };
        to.index() as i32 - from.index() as i32 == way * forward
            && self.role_at(to).is_none()
            && !attacks::between(from, to).intersects(self.occupied())
    }

    /// Returns whether the move of a piece, neither king nor en passant, respects pins and checks.
    fn king_stays_safe(&self, mv: Move) -> bool {
        let king = self.king(self.turn());
        if self.pinned(self.turn()).contains(mv.from())
            && !attacks::line(king, mv.from()).contains(mv.to())
        {
            return false;
        }
        match self.checkers().first() {
            None => true,
            Some(checker) => {
                !self.checkers().more_than_one()
                    && attacks::between(king, checker)
                        .with(checker)
                        .contains(mv.to())
            }
        }
    }

    /// Returns whether a legal move gives check, without making it.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// let position = Position::from_fen("4k3/8/8/8/8/8/4B3/4R1K1 w - - 0 1")?;
    /// assert!(position.gives_check(position.parse_uci("e2b5")?));
    /// assert!(position.gives_check(position.parse_uci("e2d3")?), "discovered");
    /// assert!(!position.gives_check(position.parse_uci("e1d1")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gives_check(&self, mv: Move) -> bool {
        if self.variant() != Variant::Standard {
            return self.after(mv).in_check();
        }
        let us = self.turn();
        let king = self.king(!us);
        let (from, to) = (mv.from(), mv.to());
        let mut occupied = self.occupied().without(from).with(to);
        match mv.kind() {
            MoveKind::Castle => {
                // The castling king gives no check itself and discovers none on the back rank that the rook does not
                // give.
                occupied = self.occupied().without(from).without(to);
                occupied = occupied.with(mv.castled_king()).with(mv.castled_rook());
                return attacks::rook(mv.castled_rook(), occupied).contains(king)
                    || self.slider_attack(king, us, occupied, Bitboard::of(to));
            }
            MoveKind::EnPassant => {
                let taken = super::Square::new(to.file(), from.rank());
                occupied = occupied.without(taken);
            }
            _ => {}
        }
        let direct = match mv.promotion().or(self.role_at(from)) {
            Some(Role::Pawn) => attacks::pawn(us, to),
            Some(Role::Knight) => attacks::knight(to),
            Some(Role::Bishop) => attacks::bishop(to, occupied),
            Some(Role::Rook) => attacks::rook(to, occupied),
            Some(Role::Queen) => attacks::queen(to, occupied),
            Some(Role::King) | None => Bitboard::EMPTY,
        };
        if direct.contains(king) {
            return true;
        }
        let rays = attacks::rook_rays(king) | attacks::bishop_rays(king);
        (rays.contains(from) || mv.kind() == MoveKind::EnPassant)
            && self.slider_attack(king, us, occupied, Bitboard::of(from))
    }

    /// Returns whether a slider of a side, except those in `except`, attacks a square given an occupancy.
    fn slider_attack(
        &self,
        square: super::Square,
        by: Color,
        occupied: Bitboard,
        except: Bitboard,
    ) -> bool {
        let sliders = self.by_color(by) & !except;
        let queens = self.by_role(Role::Queen);
        (attacks::rook(square, occupied) & (self.by_role(Role::Rook) | queens)).intersects(sliders)
            || (attacks::bishop(square, occupied) & (self.by_role(Role::Bishop) | queens))
                .intersects(sliders)
    }
}

const fn plain(capture: bool) -> MoveKind {
    if capture {
        MoveKind::Capture
    } else {
        MoveKind::Quiet
    }
}
