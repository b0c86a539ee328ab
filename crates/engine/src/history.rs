//! History tables: statistics over moves for ordering and pruning.
//!
//! Updates have gravity: the nearer an entry is to its limit, the less a bonus of the same sign adds. So entries stay
//! bounded and adapt.

use std::ptr::NonNull;

use super::pages::{self, HUGE_PAGE_BYTES};
use super::params;
use super::threats::Threats;
use super::value::Value;
use knightwatch_chess::{Bitboard, Color, Move, Piece, Position, Role};

/// Bound of the absolute value of history entries.
const MAX_HISTORY: i32 = 16_384;

/// Number of pieces times squares.
const PIECE_TOS: usize = 12 * 64;

/// Piece and target square of a move; the index of continuation histories. A null move has an index of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PieceTo(u16);

impl PieceTo {
    /// A null move, or no move before the root.
    pub(crate) const NONE: PieceTo = PieceTo(PIECE_TOS as u16);

    pub(crate) fn new(piece: Piece, mv: Move) -> PieceTo {
        PieceTo((piece.index() * 64 + mv.to().index()) as u16)
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns whether it is a move. Positions after none have little in common, so nothing is learned about them.
    fn is_move(self) -> bool {
        self != PieceTo::NONE
    }
}

/// The moves that led to a node, latest first: 1, 2 and 4 plies ago.
pub(crate) type PriorMoves = [PieceTo; 3];

/// The part of a node that indexes quiet histories.
#[derive(Clone, Copy)]
pub(crate) struct HistoryContext {
    pub prior_moves: PriorMoves,
    pub threats: Threats,
    /// Row in the pawn history.
    pawns: usize,
}

impl HistoryContext {
    pub(crate) const EMPTY: HistoryContext = HistoryContext {
        prior_moves: [PieceTo::NONE; 3],
        threats: Threats::NONE,
        pawns: 0,
    };

    pub(crate) fn new(pos: &Position, prior_moves: PriorMoves) -> HistoryContext {
        HistoryContext {
            prior_moves,
            threats: Threats::new(pos),
            pawns: row_index(pawn_hash(pos), PAWN_ROWS),
        }
    }
}

/// A history entry, within [`MAX_HISTORY`].
type Entry = i16;

/// Adds a bonus, with gravity.
fn add_with_gravity(entry: &mut Entry, bonus: i32) {
    let bonus = bonus.clamp(-MAX_HISTORY, MAX_HISTORY);
    let old = i32::from(*entry);
    *entry = (old + bonus - old * bonus.abs() / MAX_HISTORY) as Entry;
}

/// Tables whose memory may be all zeros.
///
/// # Safety
/// All bits zero must be a valid value.
unsafe trait Zeroable: Sized {
    /// Allocates zeroed tables, on huge pages if they are aligned to them, without building them on the stack first.
    fn boxed() -> Box<Self> {
        let mut tables = Box::<Self>::new_uninit();
        pages::advise_huge(NonNull::from(&mut *tables).cast(), size_of::<Self>());
        // SAFETY: the whole of it is zeroed first, and zeros are a valid value.
        unsafe {
            tables.as_mut_ptr().write_bytes(0, 1);
            tables.assume_init()
        }
    }

    fn clear(&mut self) {
        // SAFETY: zeros are a valid value.
        unsafe { std::ptr::from_mut(self).write_bytes(0, 1) }
    }
}

/// History tables of one thread, on one huge page.
#[repr(C, align(0x20_0000))]
pub(crate) struct History {
    /// Quiet moves by side, attacked from/to squares, from and to.
    butterfly: [[[[Entry; 64]; 64]; 4]; 2],
    /// Quiet moves by pawn structure, piece and to.
    pawns: [[Entry; PIECE_TOS]; PAWN_ROWS],
    /// Captures and promotions by piece, to and captured role (6 if none).
    noisy: [[Entry; 7]; PIECE_TOS],
    /// Quiet moves after a move 1, 2 or 4 plies ago.
    continuation: [[Entry; PIECE_TOS]; PIECE_TOS + 1],
}

const _: () = assert!(size_of::<History>() == HUGE_PAGE_BYTES);

// SAFETY: it consists of integers.
unsafe impl Zeroable for History {}

impl History {
    pub(crate) fn new() -> Box<History> {
        History::boxed()
    }

    pub(crate) fn clear(&mut self) {
        Zeroable::clear(self);
    }

    /// The rows for quiet moves of `color` in `context`.
    #[inline]
    pub(crate) fn quiets(&self, color: Color, context: &HistoryContext) -> QuietHistory<'_> {
        let [one, two, four] = context.prior_moves;
        let after = |before: PieceTo| &self.continuation[before.index()];
        QuietHistory {
            butterfly: &self.butterfly[color.index()],
            attacked: context.threats.all,
            pawns: &self.pawns[context.pawns],
            continuation: [after(one), after(two), after(four)],
        }
    }

    pub(crate) fn noisy(&self, piece: Piece, mv: Move, captured: Option<Role>) -> i32 {
        i32::from(self.noisy[PieceTo::new(piece, mv).index()][captured.map_or(6, Role::index)])
    }

    /// Updates all histories of a quiet move.
    pub(crate) fn add_quiet(
        &mut self,
        piece: Piece,
        mv: Move,
        context: &HistoryContext,
        bonus: i32,
    ) {
        self.add_butterfly(piece, mv, context, bonus);
        self.add_continuation(piece, mv, &context.prior_moves, bonus);
    }

    /// Updates the butterfly and pawn histories.
    pub(crate) fn add_butterfly(
        &mut self,
        piece: Piece,
        mv: Move,
        context: &HistoryContext,
        bonus: i32,
    ) {
        let row = attacked(mv, context.threats.all);
        let by_side = &mut self.butterfly[piece.color.index()][row];
        add_with_gravity(&mut by_side[mv.from().index()][mv.to().index()], bonus);
        let piece_to = PieceTo::new(piece, mv).index();
        add_with_gravity(&mut self.pawns[context.pawns][piece_to], bonus);
    }

    /// Updates the continuation histories.
    pub(crate) fn add_continuation(
        &mut self,
        piece: Piece,
        mv: Move,
        prior_moves: &PriorMoves,
        bonus: i32,
    ) {
        let piece_to = PieceTo::new(piece, mv).index();
        for before in prior_moves.iter().filter(|before| before.is_move()) {
            add_with_gravity(&mut self.continuation[before.index()][piece_to], bonus);
        }
    }

    pub(crate) fn add_noisy(&mut self, piece: Piece, mv: Move, captured: Option<Role>, bonus: i32) {
        add_with_gravity(
            &mut self.noisy[PieceTo::new(piece, mv).index()][captured.map_or(6, Role::index)],
            bonus,
        );
    }
}

/// Rows of the quiet histories for one node, looked up once for all moves.
pub(crate) struct QuietHistory<'a> {
    butterfly: &'a [[[Entry; 64]; 64]; 4],
    attacked: Bitboard,
    pawns: &'a [Entry; PIECE_TOS],
    continuation: [&'a [Entry; PIECE_TOS]; 3],
}

impl QuietHistory<'_> {
    /// The history score of a move of `piece`: within six times the limit.
    #[inline]
    pub(crate) fn score(&self, piece: Piece, mv: Move) -> i32 {
        let piece_to = PieceTo::new(piece, mv).index();
        let after = |back: usize| i32::from(self.continuation[back][piece_to]);
        let row = attacked(mv, self.attacked);
        let butterfly = i32::from(self.butterfly[row][mv.from().index()][mv.to().index()]);
        let pawns = i32::from(self.pawns[piece_to]);
        let by_squares = butterfly * params::history_butterfly() + pawns * params::history_pawns();
        // Four plies ago counts half.
        by_squares / 100 + after(0) + after(1) + after(2) / 2
    }
}

/// Returns whether from and to are attacked, as an index of the butterfly history.
fn attacked(mv: Move, squares: Bitboard) -> usize {
    2 * usize::from(squares.contains(mv.from())) + usize::from(squares.contains(mv.to()))
}

/// Correction histories: errors of the static evaluation against search results, by pawn structure, by the pieces of
/// each side, and by the last move. One huge page per thread.
#[repr(C, align(0x20_0000))]
pub(crate) struct CorrectionHistory {
    pawns: [[Entry; CORRECTION_ROWS]; 2],
    pieces: [[[Entry; CORRECTION_ROWS]; 2]; 2],
    moves: [[Entry; PIECE_TOS + 1]; 2],
    /// By the last move and the one 2 or 4 plies ago.
    continuation: [[Entry; PIECE_TOS + 1]; PIECE_TOS + 1],
}

const _: () = assert!(size_of::<CorrectionHistory>() == HUGE_PAGE_BYTES);

// SAFETY: it consists of integers.
unsafe impl Zeroable for CorrectionHistory {}

const CORRECTION_ROWS: usize = 1 << 14;
const PAWN_ROWS: usize = 1 << 9;

/// Index of a hash in a table of `rows` rows, a power of two.
fn row_index(hash: u64, rows: usize) -> usize {
    (hash >> (64 - rows.trailing_zeros())) as usize
}

/// Indices of a position in the correction histories.
#[derive(Clone, Copy)]
pub(crate) struct CorrectionKeys {
    side: usize,
    pawns: usize,
    pieces: [usize; 2],
    last: PieceTo,
    /// The moves 2 and 4 plies ago.
    earlier: [PieceTo; 2],
}

impl CorrectionKeys {
    /// For nodes without a static evaluation.
    pub(crate) const NONE: CorrectionKeys = CorrectionKeys {
        side: 0,
        pawns: 0,
        pieces: [0; 2],
        last: PieceTo::NONE,
        earlier: [PieceTo::NONE; 2],
    };

    pub(crate) fn new(pos: &Position, [last, two, four]: PriorMoves) -> CorrectionKeys {
        let pieces = |color: Color| {
            let roles = [
                Role::Knight,
                Role::Bishop,
                Role::Rook,
                Role::Queen,
                Role::King,
            ];
            let hash = roles
                .into_iter()
                .fold(0, |hash, role| mix(hash, pos.pieces(color, role).0));
            row_index(hash, CORRECTION_ROWS)
        };
        CorrectionKeys {
            side: pos.turn().index(),
            pawns: row_index(pawn_hash(pos), CORRECTION_ROWS),
            pieces: [pieces(Color::White), pieces(Color::Black)],
            last,
            earlier: [two, four],
        }
    }
}

fn pawn_hash(pos: &Position) -> u64 {
    let white = pos.pieces(Color::White, Role::Pawn).0;
    let black = pos.pieces(Color::Black, Role::Pawn).0;
    mix(mix(0, white), black)
}

/// One step of a multiplicative hash; the high bits are the best mixed.
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl CorrectionHistory {
    pub(crate) fn new() -> Box<CorrectionHistory> {
        CorrectionHistory::boxed()
    }

    pub(crate) fn clear(&mut self) {
        Zeroable::clear(self);
    }

    /// The correction of the static evaluation, in centipawns.
    pub(crate) fn get(&self, keys: &CorrectionKeys) -> Value {
        let side = keys.side;
        let sum = params::correction_pawns() * i32::from(self.pawns[side][keys.pawns])
            + i32::from(self.pieces[0][side][keys.pieces[0]])
            + i32::from(self.pieces[1][side][keys.pieces[1]])
            + i32::from(self.moves[side][keys.last.index()])
            + params::correction_continuation() * self.continuations(keys) / 100;
        sum / params::correction_divisor()
    }

    fn continuations(&self, keys: &CorrectionKeys) -> i32 {
        let row = |earlier: PieceTo| &self.continuation[earlier.index()];
        keys.earlier
            .iter()
            .map(|&earlier| i32::from(row(earlier)[keys.last.index()]))
            .sum()
    }

    /// Learns that the evaluation was off by `error` centipawns in a search of `depth` plies.
    pub(crate) fn add(&mut self, keys: &CorrectionKeys, depth: i32, error: Value) {
        // One update adds at most a quarter of the limit.
        let bonus =
            (error * depth * params::correction_rate()).clamp(-MAX_HISTORY / 4, MAX_HISTORY / 4);
        let side = keys.side;
        add_with_gravity(&mut self.pawns[side][keys.pawns], bonus);
        add_with_gravity(&mut self.pieces[0][side][keys.pieces[0]], bonus);
        add_with_gravity(&mut self.pieces[1][side][keys.pieces[1]], bonus);
        if !keys.last.is_move() {
            return;
        }
        add_with_gravity(&mut self.moves[side][keys.last.index()], bonus);
        for earlier in keys.earlier.into_iter().filter(|earlier| earlier.is_move()) {
            let row = &mut self.continuation[earlier.index()];
            add_with_gravity(&mut row[keys.last.index()], bonus);
        }
    }
}
