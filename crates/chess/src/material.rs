//! Insufficient material: whether a side, or either side, can still win.

use super::{Bitboard, Color, Position, Role, Variant};

/// Pieces of a side other than its king, for the horde.
struct Army {
    pawns: u32,
    knights: u32,
    light: u32,
    dark: u32,
    rooks: u32,
    queens: u32,
}

impl Army {
    fn new(position: &Position, color: Color) -> Army {
        let pieces = |role| position.pieces(color, role);
        Army {
            pawns: pieces(Role::Pawn).count(),
            knights: pieces(Role::Knight).count(),
            light: (pieces(Role::Bishop) & Bitboard::LIGHT).count(),
            dark: (pieces(Role::Bishop) & Bitboard::DARK).count(),
            rooks: pieces(Role::Rook).count(),
            queens: pieces(Role::Queen).count(),
        }
    }

    /// Returns whether a horde of these pieces could mate a king with those by some sequence of moves, as Lichess
    /// judges.
    fn can_mate(&self, those: &Army) -> bool {
        let bishops = self.light + self.dark;
        // More than two bishops on a color are of no use.
        let size = self.pawns
            + self.knights
            + self.light.min(2)
            + self.dark.min(2)
            + self.rooks
            + self.queens;
        let (pawns, knights) = (those.pawns, those.knights);
        let their_bishops = those.light + those.dark;
        let others = pawns + knights + their_bishops + those.rooks + those.queens;
        // Their bishops on squares that the horde's bishop cannot reach, and on those it can.
        let (across, along) = if self.light > 0 {
            (those.dark, those.light)
        } else {
            (those.light, those.dark)
        };
        let has_pair = self.light > 0 && self.dark > 0;
        let is_weak_rook = size == 2 && self.rooks == 1 && bishops == 1 && others == along;
        match size {
            0 => false,
            4.. => true,
            2.. if self.pawns + self.queens > 0 => true,
            2.. if self.rooks > 0 && !is_weak_rook => true,
            3 => self.knights == 3 || self.knights == 2 && bishops == 1 || has_pair || others > 0,
            _ if others == 0 => false,
            2 if self.knights == 2 => pawns + their_bishops + knights > 0,
            2 if has_pair => {
                pawns + their_bishops > 0 || knights > 0 && those.rooks + those.queens > 0
            }
            2 if bishops > 0 && self.knights > 0 => pawns + across > 0 || others + 1 - along >= 3,
            2 => {
                let kinds = [pawns, across, knights];
                kinds.iter().any(|&count| count >= 2)
                    || kinds.iter().filter(|&&count| count > 0).count() >= 2
            }
            _ if self.queens == 1 => pawns + those.rooks > 0 || those.light >= 2 || those.dark >= 2,
            _ if self.pawns == 1 => [(1, 0), (0, 1)].into_iter().any(|(queens, knights)| {
                let promoted = Army {
                    pawns: 0,
                    knights,
                    queens,
                    ..*self
                };
                promoted.can_mate(those)
            }),
            _ if self.rooks == 1 => {
                let kinds = [pawns, those.rooks, knights];
                pawns >= 2 || kinds.iter().filter(|&&count| count > 0).count() >= 2
            }
            _ if bishops == 1 => across >= 2 || pawns >= 2 || across > 0 && pawns > 0,
            // A lone knight.
            _ => {
                let kinds = [pawns, knights, their_bishops, those.rooks];
                let blocks = pawns >= 2
                    || knights >= 2
                    || kinds.iter().filter(|&&count| count > 0).count() >= 2;
                let enough = |bishops| bishops < 2 || others + 1 - bishops >= 3;
                others >= 3 && blocks && enough(those.light) && enough(those.dark)
            }
        }
    }
}

impl Position {
    /// Returns whether a side could mate by some sequence of legal moves, judged by material alone as Lichess does. If
    /// a player's time runs out and the opponent has no mating material, the game is drawn. In variants, to mate stands
    /// for to win.
    pub fn has_mating_material(&self, color: Color) -> bool {
        let without_kings = self.by_color(color) & !self.by_role(Role::King);
        match self.variant() {
            Variant::Standard => self.can_mate(color),
            Variant::Crazyhouse | Variant::KingOfTheHill | Variant::RacingKings => true,
            Variant::ThreeCheck | Variant::Atomic => !without_kings.is_empty(),
            Variant::Antichess => !self.cannot_lose_knight(color) && !self.is_drawn_antichess(),
            Variant::Horde => {
                let [white, black] = Color::ALL.map(|color| Army::new(self, color));
                (color == Color::Black || white.can_mate(&black)) && !self.is_closed_horde()
            }
        }
    }

    /// [`has_mating_material`](Position::has_mating_material) in standard chess.
    fn can_mate(&self, color: Color) -> bool {
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

    /// Returns whether neither side could mate by any sequence of moves.
    ///
    /// ```
    /// use knightwatch_chess::Position;
    ///
    /// assert!(Position::from_fen("4k3/8/8/8/8/8/8/4KN2 w - - 0 1")?.insufficient_material());
    /// assert!(!Position::from_fen("4k3/8/8/8/8/8/8/4KR2 w - - 0 1")?.insufficient_material());
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    pub fn insufficient_material(&self) -> bool {
        match self.variant() {
            Variant::Standard => !Color::ALL.into_iter().any(|color| self.can_mate(color)),
            Variant::Crazyhouse | Variant::KingOfTheHill | Variant::RacingKings => false,
            Variant::ThreeCheck => self.occupied() == self.by_role(Role::King),
            Variant::Atomic => self.is_drawn_atomic(),
            Variant::Antichess => self.is_drawn_antichess(),
            Variant::Horde => {
                !self.can_horde_advance()
                    && Color::ALL
                        .into_iter()
                        .all(|color| self.with_turn(color).is_closed_horde())
            }
        }
    }

    /// Returns whether nothing but these roles is on the board.
    fn has_only(&self, roles: &[Role]) -> bool {
        let others = roles
            .iter()
            .fold(self.occupied(), |rest, &role| rest & !self.by_role(role));
        others.is_empty()
    }

    /// Pawns of both sides that are blocked by another pawn and cannot take.
    fn blocked_pawns(&self) -> Bitboard {
        let pawns = self.by_role(Role::Pawn);
        let mut blocked = Bitboard::EMPTY;
        for color in Color::ALL {
            let step = if color.is_white() { 8 } else { -8 };
            let own = pawns & self.by_color(color) & pawns.shifted(-step);
            if !own.is_empty() {
                blocked |= own;
                let take = |mv: super::Move| blocked &= !Bitboard::of(mv.from());
                self.with_turn(color).for_each_move(take);
            }
        }
        blocked
    }

    /// The position with this side to move, without en passant; its key is wrong.
    fn with_turn(&self, color: Color) -> Position {
        let mut turned = self.clone();
        if color != self.turn() {
            turned.turn = color;
            turned.en_passant = None;
            turned.refresh::<super::variant::AnyRules>();
        }
        turned
    }

    /// Atomic chess: too few pieces to explode or mate a king, or only blocked pawns.
    fn is_drawn_atomic(&self) -> bool {
        let all = self.occupied().count();
        let bishops = self.by_role(Role::Bishop);
        let is_mixed = bishops.intersects(Bitboard::LIGHT) && bishops.intersects(Bitboard::DARK);
        let both = Color::ALL
            .into_iter()
            .all(|color| self.by_color(color).count() >= 2);
        let is_too_little = if both {
            all <= 4 && self.has_only(&[Role::King, Role::Bishop]) && is_mixed
        } else if self.has_only(&[Role::King, Role::Knight]) {
            all <= 4
        } else {
            let minors = [Role::King, Role::Rook, Role::Bishop, Role::Knight];
            all <= 3 && self.has_only(&minors) && !is_mixed
        };
        is_too_little
            || self.has_only(&[Role::King, Role::Bishop, Role::Pawn])
                && self.bishops_reach_nothing()
                && self.blocked_pawns() == self.by_role(Role::Pawn)
    }

    /// Returns whether all bishops are of one side and color of squares, and no pawn of the other side is on such a
    /// square.
    fn bishops_reach_nothing(&self) -> bool {
        let bishops = self.by_role(Role::Bishop);
        let Some(first) = bishops.first() else {
            return true;
        };
        let squares = Bitboard::colored_like(first);
        let owner = if self.by_color(Color::White).contains(first) {
            Color::White
        } else {
            Color::Black
        };
        !bishops.intersects(!squares | self.by_color(!owner))
            && !self.pieces(!owner, Role::Pawn).intersects(squares)
    }

    /// Antichess: only bishops that never meet, and blocked pawns that they cannot take.
    fn is_drawn_antichess(&self) -> bool {
        let [white, black] = Color::ALL.map(|color| self.pieces(color, Role::Bishop));
        let (Some(one), Some(other)) = (white.first(), black.first()) else {
            return false;
        };
        let (ours, theirs) = (Bitboard::colored_like(one), Bitboard::colored_like(other));
        self.has_only(&[Role::Bishop, Role::Pawn])
            && ours != theirs
            && !white.intersects(theirs)
            && !black.intersects(ours)
            && !self.pieces(Color::White, Role::Pawn).intersects(theirs)
            && !self.pieces(Color::Black, Role::Pawn).intersects(ours)
            && self.blocked_pawns() == self.by_role(Role::Pawn)
    }

    /// Antichess: two knights are left, and this side's will never be taken by the other.
    fn cannot_lose_knight(&self, color: Color) -> bool {
        let [white, black] = Color::ALL.map(|color| self.by_color(color));
        if !self.has_only(&[Role::Knight]) || white.count() != 1 || black.count() != 1 {
            return false;
        }
        let same = white.intersects(Bitboard::LIGHT) == black.intersects(Bitboard::LIGHT);
        same == (color != self.turn())
    }

    /// Horde: the side to move is stalemated, or can only move a king that leaves White stalemated, and Black cannot
    /// take the last piece.
    fn is_closed_horde(&self) -> bool {
        let horde = self.by_color(Color::White);
        if horde.count() == 1
            && let Some(last) = horde.first()
            && self
                .attackers_to(last, self.occupied())
                .intersects(self.by_color(Color::Black))
        {
            return false;
        }
        if self.turn() == Color::White {
            return !self.has_legal_move();
        }
        let kings = self.by_role(Role::King);
        let mut is_closed = true;
        self.for_each_move(|mv| {
            is_closed &= kings.contains(mv.from()) && !self.after(mv).has_legal_move();
        });
        is_closed
    }

    /// Returns whether a pawn of the horde can advance: White is never in check, so that this is a legal move. A quick
    /// test.
    fn can_horde_advance(&self) -> bool {
        let pawns = self.pieces(Color::White, Role::Pawn);
        (pawns.shifted(8) & !self.occupied()).0 != 0
    }
}
