//! Legal move generation: targets are restricted by check mask and pin rays.

use super::position::back_rank;
use super::variant::{AnyRules, Pockets, Rules, StandardRules};
use super::{
    Bitboard, Color, File, Move, MoveKind, MoveList, Position, Rank, Role, Square, Variant, attacks,
};

/// Selects which moves to generate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generate {
    /// Every legal move.
    All,
    /// Captures, en passant included, and promotions.
    Noisy,
    /// The other moves.
    Quiet,
}

const ALL: u8 = 0;
const NOISY: u8 = 1;
const QUIET: u8 = 2;
/// Captures only: compulsory in antichess.
const CAPTURES: u8 = 3;

/// Receives legal moves in sets.
trait Sink {
    /// The piece of this role on `from`, other than a pawn, can move to each square of `to`.
    fn piece(&mut self, role: Role, from: Square, to: Bitboard);
    /// Pawns can move by `step` squares to each square of `to`, none on the last rank.
    fn pawns(&mut self, to: Bitboard, step: i8, kind: MoveKind);
    /// Pawns can move by `step` squares to each square of `to`, all on the last rank.
    fn promotions(&mut self, to: Bitboard, step: i8, capture: bool);
    /// A single move of a piece of this role: castling, en passant, or a move that only variants have.
    fn single(&mut self, role: Role, from: Square, to: Square, kind: MoveKind);
    /// The squares attacked by the other side, with this side's king removed, if they are known.
    #[inline]
    fn danger(&self) -> Option<Bitboard> {
        None
    }
}

/// Passes single moves to a function, with the role of the piece that moves or is dropped.
struct Each<F> {
    take: F,
    them: Bitboard,
    danger: Option<Bitboard>,
}

/// The from square of a pawn move.
#[inline]
fn origin(to: Square, step: i8) -> Square {
    Square::wrap((to.index() as i8).wrapping_sub(step) as u8)
}

impl<F: FnMut(Role, Move)> Sink for Each<F> {
    #[inline]
    fn piece(&mut self, role: Role, from: Square, to: Bitboard) {
        for to in to & self.them {
            (self.take)(role, Move::new(from, to, MoveKind::Capture));
        }
        for to in to & !self.them {
            (self.take)(role, Move::new(from, to, MoveKind::Quiet));
        }
    }

    #[inline]
    fn pawns(&mut self, to: Bitboard, step: i8, kind: MoveKind) {
        for to in to {
            (self.take)(Role::Pawn, Move::new(origin(to, step), to, kind));
        }
    }

    #[inline]
    fn promotions(&mut self, to: Bitboard, step: i8, capture: bool) {
        for to in to {
            for role in [Role::Queen, Role::Knight, Role::Rook, Role::Bishop] {
                let kind = if capture {
                    MoveKind::CapturePromotion(role)
                } else {
                    MoveKind::Promotion(role)
                };
                (self.take)(Role::Pawn, Move::new(origin(to, step), to, kind));
            }
        }
    }

    #[inline]
    fn single(&mut self, role: Role, from: Square, to: Square, kind: MoveKind) {
        (self.take)(role, Move::new(from, to, kind));
    }

    #[inline]
    fn danger(&self) -> Option<Bitboard> {
        self.danger
    }
}

/// Counts moves without creating them.
struct Counter(u64);

impl Sink for Counter {
    #[inline]
    fn piece(&mut self, _role: Role, _from: Square, to: Bitboard) {
        self.0 += u64::from(to.count());
    }

    #[inline]
    fn pawns(&mut self, to: Bitboard, _step: i8, _kind: MoveKind) {
        self.0 += u64::from(to.count());
    }

    #[inline]
    fn promotions(&mut self, to: Bitboard, _step: i8, _capture: bool) {
        self.0 += u64::from(to.count() * 4);
    }

    #[inline]
    fn single(&mut self, _role: Role, _from: Square, _to: Square, _kind: MoveKind) {
        self.0 += 1;
    }
}

const fn color<const WHITE: bool>() -> Color {
    if WHITE { Color::White } else { Color::Black }
}

/// Shifts squares one rank forward, seen from the side: -1 towards the a-file, 0 straight, 1 towards the h-file.
#[inline]
const fn ahead<const WHITE: bool>(pawns: Bitboard, sideways: i8) -> Bitboard {
    let bytes_used = match sideways {
        -1 => pawns.0 & !Bitboard::file(File::A).0,
        1 => pawns.0 & !Bitboard::file(File::H).0,
        _ => pawns.0,
    };
    Bitboard(bytes_used).shifted(step::<WHITE>(sideways))
}

const fn step<const WHITE: bool>(sideways: i8) -> i8 {
    if WHITE { 8 + sideways } else { sideways - 8 }
}

/// Passes all legal moves to the sink. In atomic chess and racing kings, some of them are illegal.
#[inline]
fn visit<R: Rules, const WHITE: bool, const WHICH: u8, S: Sink>(position: &Position, sink: &mut S) {
    let variant = R::variant(position);
    let us = position.by_color(color::<WHITE>());
    let them = position.by_color(!color::<WHITE>());
    let occupied = us | them;
    let king = position.king(color::<WHITE>());
    let wanted = match WHICH {
        NOISY | CAPTURES => them,
        QUIET => !occupied,
        _ => !us,
    };

    // Computing attacked squares visits every enemy piece: only if the king can move.
    let mut checkers = position.checkers;
    let mut steps = attacks::king(king) & wanted;
    match variant {
        Variant::Antichess => {
            steps = Bitboard::EMPTY;
            for king in position.by_role(Role::King) & us {
                sink.piece(Role::King, king, attacks::king(king) & wanted);
            }
        }
        Variant::Horde if position.royal_king(color::<WHITE>()).is_none() => {
            steps = Bitboard::EMPTY;
        }
        // A king that takes explodes.
        Variant::Atomic => steps &= !them,
        _ => {}
    }
    let mut rooks = Bitboard::EMPTY;
    if WHICH != NOISY && WHICH != CAPTURES && checkers.is_empty() {
        for rook in position.castling & Bitboard::rank(back_rank(color::<WHITE>())) {
            if !attacks::between(king, rook).intersects(occupied) {
                rooks = rooks.with(rook);
            }
        }
    }
    if !(steps | rooks).is_empty() {
        let danger = sink
            .danger()
            .unwrap_or_else(|| position.danger::<R, WHITE>(king));
        sink.piece(Role::King, king, steps & !danger);
        for rook in rooks {
            let mut danger = danger;
            if variant == Variant::Atomic {
                // The rook may come to shield the king: tested with the whole move.
                danger = danger.without(Move::new(king, rook, MoveKind::Castle).castled_king());
            }
            if position.may_castle(king, rook, danger) {
                sink.single(Role::King, king, rook, MoveKind::Castle);
            }
        }
    }
    if variant == Variant::Atomic {
        // An explosion may end any check.
        checkers = Bitboard::EMPTY;
    }
    if checkers.more_than_one() {
        return;
    }
    let allowed = match checkers.first() {
        Some(checker) => attacks::between(king, checker) | checkers,
        None => Bitboard::FULL,
    };
    let targets = wanted & allowed;
    let pinned = position.pinned;

    for from in position.by_role(Role::Knight) & us & !pinned {
        sink.piece(Role::Knight, from, attacks::knight(from) & targets);
    }
    let queens = position.by_role(Role::Queen);
    let diagonal = (position.by_role(Role::Bishop) | queens) & us;
    let straight = (position.by_role(Role::Rook) | queens) & us;
    let queen_or = |role, from| {
        if queens.contains(from) {
            Role::Queen
        } else {
            role
        }
    };
    for from in diagonal & !pinned {
        let to = attacks::bishop(from, occupied) & targets;
        sink.piece(queen_or(Role::Bishop, from), from, to);
    }
    for from in straight & !pinned {
        let to = attacks::rook(from, occupied) & targets;
        sink.piece(queen_or(Role::Rook, from), from, to);
    }
    // A pinned piece cannot resolve a check.
    if checkers.is_empty() {
        for from in diagonal & pinned {
            let line = attacks::line(king, from);
            let to = attacks::bishop(from, occupied) & targets & line;
            sink.piece(queen_or(Role::Bishop, from), from, to);
        }
        for from in straight & pinned {
            let line = attacks::line(king, from);
            let to = attacks::rook(from, occupied) & targets & line;
            sink.piece(queen_or(Role::Rook, from), from, to);
        }
    }
    pawns::<R, WHITE, WHICH, S>(position, king, allowed, sink);
    if variant == Variant::Crazyhouse && WHICH != NOISY {
        drops::<WHITE, S>(position, allowed & !occupied, sink);
    }
}

/// Passes the drops onto these squares.
fn drops<const WHITE: bool, S: Sink>(position: &Position, allowed: Bitboard, sink: &mut S) {
    let ends = Bitboard::rank(Rank::First) | Bitboard::rank(Rank::Eighth);
    for role in Pockets::ROLES {
        if position.pockets.count(color::<WHITE>(), role) > 0 {
            let squares = if role == Role::Pawn {
                allowed & !ends
            } else {
                allowed
            };
            for to in squares {
                sink.single(role, to, to, MoveKind::Drop(role));
            }
        }
    }
}

/// [`visit`] by the rules of the position's variant.
#[inline(never)]
fn visit_variant<const WHITE: bool, const WHICH: u8, S: Sink>(position: &Position, sink: &mut S) {
    if position.is_variant_end() {
        return;
    }
    match position.variant {
        Variant::Antichess => {
            let mut captures = Counter(0);
            visit::<AnyRules, WHITE, CAPTURES, _>(position, &mut captures);
            if captures.0 == 0 {
                visit::<AnyRules, WHITE, WHICH, S>(position, sink);
            } else if WHICH != QUIET {
                visit::<AnyRules, WHITE, CAPTURES, S>(position, sink);
            }
        }
        Variant::Atomic | Variant::RacingKings => {
            let take = |role, mv: Move| {
                if position.leaves_kings_safe(mv) {
                    sink.single(role, mv.from(), mv.to(), mv.kind());
                }
            };
            let them = position.by_color(!color::<WHITE>());
            visit::<AnyRules, WHITE, WHICH, _>(
                position,
                &mut Each {
                    take,
                    them,
                    danger: None,
                },
            );
        }
        _ => visit::<AnyRules, WHITE, WHICH, S>(position, sink),
    }
}

#[inline]
fn pawns<R: Rules, const WHITE: bool, const WHICH: u8, S: Sink>(
    position: &Position,
    king: Square,
    allowed: Bitboard,
    sink: &mut S,
) {
    let variant = R::variant(position);
    let us = position.by_color(color::<WHITE>());
    let them = position.by_color(!color::<WHITE>());
    let empty = !(us | them);
    let pawns = position.by_role(Role::Pawn) & us;
    let pinned = position.pinned;
    let last = Bitboard::rank(if WHITE { Rank::Eighth } else { Rank::First });

    // A pinned pawn may go on along its line, whichever of the king's lines that is.
    let single = ahead::<WHITE>(pawns & (!pinned | attacks::vertical(king)), 0) & empty;
    if WHICH != NOISY && WHICH != CAPTURES {
        let mut third = Bitboard::rank(if WHITE { Rank::Third } else { Rank::Sixth });
        if variant == Variant::Horde && WHITE {
            third |= Bitboard::rank(Rank::Second);
        }
        let double = ahead::<WHITE>(single & third, 0) & empty;
        sink.pawns(single & allowed & !last, step::<WHITE>(0), MoveKind::Quiet);
        if variant == Variant::Antichess {
            for to in single & last {
                let kind = MoveKind::Promotion(Role::King);
                sink.single(Role::Pawn, origin(to, step::<WHITE>(0)), to, kind);
            }
        }
        sink.pawns(double & allowed, 2 * step::<WHITE>(0), MoveKind::DoublePush);
    }
    if WHICH == QUIET {
        return;
    }
    let promoting = single & allowed & last;
    if !promoting.is_empty() && WHICH != CAPTURES {
        sink.promotions(promoting, step::<WHITE>(0), false);
    }
    // Towards the h-file, White's pawns move along rising diagonals and Black's along falling ones.
    let (to_a, to_h) = if WHITE {
        (attacks::falling(king), attacks::rising(king))
    } else {
        (attacks::rising(king), attacks::falling(king))
    };
    for (sideways, line) in [(-1, to_a), (1, to_h)] {
        let taken = ahead::<WHITE>(pawns & (!pinned | line), sideways) & them & allowed;
        sink.pawns(taken & !last, step::<WHITE>(sideways), MoveKind::Capture);
        let promoting = taken & last;
        if !promoting.is_empty() {
            sink.promotions(promoting, step::<WHITE>(sideways), true);
            if variant == Variant::Antichess {
                for to in promoting {
                    let kind = MoveKind::CapturePromotion(Role::King);
                    sink.single(Role::Pawn, origin(to, step::<WHITE>(sideways)), to, kind);
                }
            }
        }
    }
    if let Some(to) = position.en_passant {
        for from in attacks::pawn(!color::<WHITE>(), to) & pawns {
            // In atomic chess, all moves are tested later.
            let is_free = match variant {
                Variant::Standard => false,
                Variant::Atomic => true,
                _ => position.royal_king(color::<WHITE>()).is_none(),
            };
            if is_free || position.en_passant_is_safe::<WHITE>(from, to) {
                sink.single(Role::Pawn, from, to, MoveKind::EnPassant);
            }
        }
    }
}

impl Position {
    /// Squares attacked by the other side, with this side's king removed, since it cannot hide behind itself.
    #[inline]
    fn danger<R: Rules, const WHITE: bool>(&self, king: Square) -> Bitboard {
        let them = self.by_color(!color::<WHITE>());
        let occupied = self.occupied().without(king);
        let pawns = self.by_role(Role::Pawn) & them;
        let queens = self.by_role(Role::Queen);
        let atomic = R::variant(self) == Variant::Atomic;
        let touching = attacks::king(self.king(!color::<WHITE>()));
        let mut danger = match R::variant(self) {
            Variant::Atomic => Bitboard::EMPTY,
            Variant::Horde if !WHITE => Bitboard::EMPTY,
            _ => touching,
        };
        if WHITE {
            danger |= ahead::<false>(pawns, -1) | ahead::<false>(pawns, 1);
        } else {
            danger |= ahead::<true>(pawns, -1) | ahead::<true>(pawns, 1);
        }
        for knight in self.by_role(Role::Knight) & them {
            danger |= attacks::knight(knight);
        }
        for slider in (self.by_role(Role::Bishop) | queens) & them {
            danger |= attacks::bishop(slider, occupied);
        }
        for slider in (self.by_role(Role::Rook) | queens) & them {
            danger |= attacks::rook(slider, occupied);
        }
        if atomic {
            // Kings that touch are safe.
            danger &= !touching;
        }
        danger
    }

    /// Returns whether a move of the generator, in atomic chess or racing kings, explodes no own king and leaves none
    /// in check, unless it explodes the other; in racing kings, whether it gives no check.
    fn leaves_kings_safe(&self, mv: Move) -> bool {
        let next = self.after_by::<AnyRules>(mv);
        match self.variant {
            Variant::RacingKings => !next.in_check(),
            _ => next.royal_king(self.turn).is_some() && next.checkers_of(self.turn).is_empty(),
        }
    }

    /// Returns whether an en passant capture leaves the own king safe. Both pawns leave their squares, so pins and
    /// check mask are not enough.
    #[inline(never)]
    fn en_passant_is_safe<const WHITE: bool>(&self, from: Square, to: Square) -> bool {
        let king = self.king(color::<WHITE>());
        let them = self.by_color(!color::<WHITE>());
        let taken = Bitboard::of(origin(to, step::<WHITE>(0)));
        let occupied = (self.occupied() ^ Bitboard::of(from) ^ taken) | Bitboard::of(to);
        let queens = self.by_role(Role::Queen);
        let sliders = attacks::rook(king, occupied) & (self.by_role(Role::Rook) | queens)
            | attacks::bishop(king, occupied) & (self.by_role(Role::Bishop) | queens);
        let leapers = self.by_role(Role::Pawn) | self.by_role(Role::Knight);
        !sliders.intersects(them) && !(self.checkers & leapers).intersects(!taken)
    }

    /// Returns whether the king, not in check, can castle with a rook that has the right: the squares between are
    /// empty, and none on the king's way is attacked.
    #[inline]
    fn may_castle(&self, king: Square, rook: Square, danger: Bitboard) -> bool {
        let mv = Move::new(king, rook, MoveKind::Castle);
        let (king_to, rook_to) = (mv.castled_king(), mv.castled_rook());
        let path = attacks::between(king, king_to).with(king_to);
        let squares = path | attacks::between(rook, rook_to).with(rook_to);
        let others = self.occupied().without(king).without(rook);
        // A rook that shields its king on the back rank is pinned: castling would expose the king.
        !(squares | attacks::between(king, rook)).intersects(others)
            && !path.without(king).intersects(danger)
            && !self.pinned.contains(rook)
    }

    /// [`may_castle`](Position::may_castle) for the side to move.
    pub(super) fn castling_is_free(&self, king: Square, rook: Square) -> bool {
        let danger = match self.turn {
            Color::White => self.danger::<StandardRules, true>(king),
            Color::Black => self.danger::<StandardRules, false>(king),
        };
        self.may_castle(king, rook, danger)
    }

    /// [`en_passant_is_safe`](Position::en_passant_is_safe) for the side to move.
    pub(super) fn en_passant_leaves_no_check(&self, from: Square, to: Square) -> bool {
        match self.turn {
            Color::White => self.en_passant_is_safe::<true>(from, to),
            Color::Black => self.en_passant_is_safe::<false>(from, to),
        }
    }

    #[inline]
    fn visit<const WHICH: u8, S: Sink>(&self, sink: &mut S) {
        if self.variant == Variant::Standard {
            self.visit_by::<StandardRules, WHICH, S>(sink);
        } else {
            self.visit_by::<AnyRules, WHICH, S>(sink);
        }
    }

    /// Passes the legal moves by rules known at compile time.
    #[inline]
    fn visit_by<R: Rules, const WHICH: u8, S: Sink>(&self, sink: &mut S) {
        match (R::IS_STANDARD, self.turn) {
            (true, Color::White) => visit::<R, true, WHICH, S>(self, sink),
            (true, Color::Black) => visit::<R, false, WHICH, S>(self, sink),
            (false, Color::White) => visit_variant::<true, WHICH, S>(self, sink),
            (false, Color::Black) => visit_variant::<false, WHICH, S>(self, sink),
        }
    }

    /// Appends the legal moves of a kind to a list.
    ///
    /// ```
    /// use knightwatch_chess::{Generate, MoveList, Position};
    ///
    /// let position = Position::from_fen("4k3/P7/8/3p4/4P3/8/8/4K3 w - - 0 1")?;
    /// let mut noisy = MoveList::new();
    /// position.generate(Generate::Noisy, &mut noisy);
    /// assert_eq!(noisy.len(), 5, "a capture and four promotions");
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    #[inline]
    pub fn generate(&self, which: Generate, list: &mut MoveList) {
        self.for_each_of(which, |mv| list.push(mv));
    }

    /// Calls `take` with each legal move of a kind, without a list.
    #[inline]
    pub fn for_each_of(&self, which: Generate, mut take: impl FnMut(Move)) {
        self.for_each_with_role(which, None, |_, mv| take(mv));
    }

    /// Calls `take` with the role of the piece that moves or is dropped and each legal move of a kind. `danger` are the
    /// squares attacked by the other side with this side's king removed, in standard chess; if it is `None`, they are
    /// computed.
    #[inline]
    pub fn for_each_with_role(
        &self,
        which: Generate,
        danger: Option<Bitboard>,
        take: impl FnMut(Role, Move),
    ) {
        let them = self.by_color(!self.turn);
        let mut sink = Each { take, them, danger };
        match which {
            Generate::All => self.visit::<ALL, _>(&mut sink),
            Generate::Noisy => self.visit::<NOISY, _>(&mut sink),
            Generate::Quiet => self.visit::<QUIET, _>(&mut sink),
        }
    }

    /// All legal moves.
    #[inline]
    pub fn legal_moves(&self) -> MoveList {
        let mut list = MoveList::new();
        self.generate(Generate::All, &mut list);
        list
    }

    /// Calls `take` with each legal move, without a list.
    #[inline]
    pub fn for_each_move(&self, mut take: impl FnMut(Move)) {
        let them = self.by_color(!self.turn);
        let take = |_, mv| take(mv);
        self.visit::<ALL, _>(&mut Each {
            take,
            them,
            danger: None,
        });
    }

    /// [`for_each_move`](Position::for_each_move) by rules known at compile time.
    #[inline]
    pub(super) fn for_each_move_by<R: Rules>(&self, mut take: impl FnMut(Move)) {
        let them = self.by_color(!self.turn);
        let take = |_, mv| take(mv);
        self.visit_by::<R, ALL, _>(&mut Each {
            take,
            them,
            danger: None,
        });
    }

    /// The number of legal moves, faster than generating a list.
    #[inline]
    pub fn count_legal_moves(&self) -> u64 {
        let mut counter = Counter(0);
        self.visit::<ALL, _>(&mut counter);
        counter.0
    }

    /// [`count_legal_moves`](Position::count_legal_moves) by rules known at compile time.
    #[inline]
    pub(super) fn count_legal_moves_by<R: Rules>(&self) -> u64 {
        let mut counter = Counter(0);
        self.visit_by::<R, ALL, _>(&mut counter);
        counter.0
    }

    /// Returns whether the side to move has a legal move.
    #[inline]
    pub fn has_legal_move(&self) -> bool {
        self.count_legal_moves() != 0
    }
}
