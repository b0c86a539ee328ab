//! Ends of games: their kinds, outcomes by a rule of the variant, and the key that detects repetition.

use super::pgn::Outcome;
use super::position::WINNING_CHECKS;
use super::{Bitboard, Color, MoveKind, Position, Rank, Role, Square, Variant, attacks};

/// The hill: d4, e4, d5 and e5.
const CENTER: Bitboard = Bitboard(0x0000_0018_1800_0000);

/// How a game ends automatically on Lichess, without a claim.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Termination {
    /// The side to move is checkmated.
    Checkmate,
    /// The side to move has no legal move and is not in check: a draw.
    Stalemate,
    /// This side has won by a rule of the variant.
    VariantWin(Color),
    /// A draw by a rule of the variant: in racing kings, both kings have reached the last rank.
    VariantDraw,
    /// Neither side can win by any sequence of moves: a draw.
    InsufficientMaterial,
    /// Fifty moves by each side without a capture or pawn move: a draw, but not in crazyhouse.
    FiftyMoves,
    /// The position has occurred five times: a draw.
    FivefoldRepetition,
}

impl Position {
    /// The result by a rule of the variant, other than mate and stalemate: `Unknown` while the game goes on.
    ///
    /// ```
    /// use knightwatch_chess::{Color, Position, Variant, pgn::Outcome};
    ///
    /// let hill = Position::from_variant_fen(Variant::KingOfTheHill, "4k3/8/8/8/3K4/8/8/8 b - - 0 1")?;
    /// assert_eq!(hill.variant_outcome(), Outcome::Win(Color::White));
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    pub fn variant_outcome(&self) -> Outcome {
        match self.outcome_on_board() {
            Outcome::Unknown if self.variant() == Variant::Antichess && !self.has_legal_move() => {
                Outcome::Win(self.turn())
            }
            outcome => outcome,
        }
    }

    /// Returns whether a rule of the variant has ended the game, so that nobody can move.
    pub(super) fn is_variant_end(&self) -> bool {
        self.outcome_on_board() != Outcome::Unknown
    }

    /// [`variant_outcome`](Position::variant_outcome) without antichess's stalemate.
    fn outcome_on_board(&self) -> Outcome {
        let first = |wins: &dyn Fn(Color) -> bool| {
            let winner = Color::ALL.into_iter().find(|&color| wins(color));
            winner.map_or(Outcome::Unknown, Outcome::Win)
        };
        let kings = self.by_role(Role::King);
        match self.variant() {
            Variant::Standard | Variant::Crazyhouse => Outcome::Unknown,
            Variant::Antichess => first(&|color| self.by_color(color).is_empty()),
            Variant::Atomic => first(&|color| self.pieces(!color, Role::King).is_empty()),
            Variant::Horde if self.by_color(Color::White).is_empty() => Outcome::Win(Color::Black),
            Variant::Horde => Outcome::Unknown,
            Variant::KingOfTheHill => {
                first(&|color| (kings & CENTER).intersects(self.by_color(color)))
            }
            Variant::ThreeCheck => first(&|color| self.checks_given(color) >= WINNING_CHECKS),
            Variant::RacingKings => {
                let [white, black] = Color::ALL.map(|color| self.king(color));
                match [white, black].map(|king| king.rank() == Rank::Eighth) {
                    [false, false] => Outcome::Unknown,
                    [true, true] => Outcome::Draw,
                    [false, true] => Outcome::Win(Color::Black),
                    // Black may still draw by the next move.
                    [true, false] if self.turn() == Color::Black && self.can_follow(black) => {
                        Outcome::Unknown
                    }
                    [true, false] => Outcome::Win(Color::White),
                }
            }
        }
    }

    /// Returns whether Black's king can reach the last rank by the next move.
    fn can_follow(&self, king: Square) -> bool {
        let goal =
            attacks::king(king) & Bitboard::rank(Rank::Eighth) & !self.by_color(Color::Black);
        let white = self.by_color(Color::White);
        goal.into_iter()
            .any(|square| !self.attackers_to(square, self.occupied()).intersects(white))
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

    fn can_take_en_passant(&self, to: Square) -> bool {
        let us = self.turn();
        if self.variant() != Variant::Standard {
            let mut found = false;
            self.for_each_move(|mv| found |= mv.kind() == MoveKind::EnPassant);
            return found;
        }
        let pawns = attacks::pawn(!us, to) & self.pieces(us, Role::Pawn);
        pawns
            .into_iter()
            .any(|from| self.en_passant_leaves_no_check(from, to))
    }
}
