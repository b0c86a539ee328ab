//! What has worked before: statistics over moves that order them and temper pruning.
//!
//! Every entry follows its bonuses with gravity: the nearer it is to the limit, the less a further bonus of
//! the same sign adds, so that entries stay bounded and forget.

use super::params;
use super::threats::Threats;
use super::value::Value;
use crate::chess::{Bitboard, Color, Move, Piece, Position, Role};

/// Entries of move histories stay within this.
const LIMIT: i32 = 16_384;

/// Pieces times squares: what a move that was played is remembered by.
const MOVED: usize = 12 * 64;

/// Which piece went where; the row in continuation histories. A null move has a row of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moved(u16);

impl Moved {
    /// No move: a null move, or before the root.
    pub const NONE: Moved = Moved(MOVED as u16);

    pub fn new(piece: Piece, mv: Move) -> Moved {
        Moved((piece.index() * 64 + mv.to().index()) as u16)
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The moves that led to a node, latest first: 1, 2 and 4 plies ago.
pub(crate) type Past = [Moved; 3];

/// What the histories of a quiet move depend on beside the move.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub past: Past,
    pub threats: Threats,
    /// The row of these pawns in the pawn history.
    pawns: usize,
}

impl Place {
    /// Nothing is known.
    pub const NOWHERE: Place = Place {
        past: [Moved::NONE; 3],
        threats: Threats::NONE,
        pawns: 0,
    };

    pub fn new(pos: &Position, past: Past) -> Place {
        Place {
            past,
            threats: Threats::new(pos),
            pawns: slot(pawn_hash(pos), PAWN_ROWS),
        }
    }
}

/// One statistic, within [`LIMIT`].
type Stat = i16;

/// Adds a bonus, with gravity.
fn add(stat: &mut Stat, bonus: i32) {
    let bonus = bonus.clamp(-LIMIT, LIMIT);
    let old = i32::from(*stat);
    *stat = (old + bonus - old * bonus.abs() / LIMIT) as Stat;
}

/// A big table on the heap, without a copy on the stack; its memory comes zeroed from the system.
fn table<T: Clone, const N: usize>(zero: T) -> Box<[T; N]> {
    vec![zero; N]
        .into_boxed_slice()
        .try_into()
        .ok()
        .expect("N long")
}

/// The move histories of one thread.
pub(crate) struct History {
    /// Quiet moves by side, whether from and to are attacked, from and to.
    butterfly: Box<[[[[Stat; 64]; 64]; 4]; 2]>,
    /// Quiet moves by pawns, piece and to.
    pawns: Box<[[Stat; MOVED]; PAWN_ROWS]>,
    /// Captures and promotions by piece, to and what is taken (6: nothing).
    noisy: Box<[[Stat; 7]; MOVED]>,
    /// Quiet moves after a move 1, 2 or 4 plies ago.
    continuation: Box<[[Stat; MOVED]; MOVED + 1]>,
}

impl History {
    pub fn new() -> History {
        History {
            butterfly: table([[[0; 64]; 64]; 4]),
            pawns: table([0; MOVED]),
            noisy: table([0; 7]),
            continuation: table([0; MOVED]),
        }
    }

    /// What is known of the quiet moves of `color` in a place.
    #[inline]
    pub fn quiets(&self, color: Color, place: &Place) -> Quiets<'_> {
        let [one, two, four] = place.past;
        let after = |before: Moved| &self.continuation[before.index()];
        Quiets {
            butterfly: &self.butterfly[color.index()],
            attacked: place.threats.all,
            pawns: &self.pawns[place.pawns],
            continuation: [after(one), after(two), after(four)],
        }
    }

    pub fn noisy(&self, piece: Piece, mv: Move, captured: Option<Role>) -> i32 {
        i32::from(self.noisy[Moved::new(piece, mv).index()][captured.map_or(6, Role::index)])
    }

    /// A quiet move has done well, or badly, in all histories.
    pub fn add_quiet(&mut self, piece: Piece, mv: Move, place: &Place, bonus: i32) {
        self.add_butterfly(piece, mv, place, bonus);
        self.add_continuation(piece, mv, &place.past, bonus);
    }

    /// The same in those that do not ask for the moves before.
    pub fn add_butterfly(&mut self, piece: Piece, mv: Move, place: &Place, bonus: i32) {
        let row = attacked(mv, place.threats.all);
        let by_side = &mut self.butterfly[piece.color.index()][row];
        add(&mut by_side[mv.from().index()][mv.to().index()], bonus);
        let moved = Moved::new(piece, mv).index();
        add(&mut self.pawns[place.pawns][moved], bonus);
    }

    /// The same in those that do.
    pub fn add_continuation(&mut self, piece: Piece, mv: Move, past: &Past, bonus: i32) {
        let moved = Moved::new(piece, mv).index();
        for before in past {
            add(&mut self.continuation[before.index()][moved], bonus);
        }
    }

    pub fn add_noisy(&mut self, piece: Piece, mv: Move, captured: Option<Role>, bonus: i32) {
        add(
            &mut self.noisy[Moved::new(piece, mv).index()][captured.map_or(6, Role::index)],
            bonus,
        );
    }
}

/// The rows of the histories that a place and a side look into, found once for all moves.
pub(crate) struct Quiets<'a> {
    butterfly: &'a [[[Stat; 64]; 64]; 4],
    attacked: Bitboard,
    pawns: &'a [Stat; MOVED],
    continuation: [&'a [Stat; MOVED]; 3],
}

impl Quiets<'_> {
    /// How well a move of `piece` has done: within six times the limit.
    #[inline]
    pub fn score(&self, piece: Piece, mv: Move) -> i32 {
        let moved = Moved::new(piece, mv).index();
        let after = |back: usize| i32::from(self.continuation[back][moved]);
        let row = attacked(mv, self.attacked);
        let butterfly = self.butterfly[row][mv.from().index()][mv.to().index()];
        let pawns = i32::from(self.pawns[moved]) * params::history_pawns() / 100;
        // What was four plies ago matters half as much.
        i32::from(butterfly) + pawns + after(0) + after(1) + after(2) / 2
    }
}

/// Whether from and to of a move are attacked, as a row of the butterfly history.
fn attacked(mv: Move, squares: Bitboard) -> usize {
    2 * usize::from(squares.contains(mv.from())) + usize::from(squares.contains(mv.to()))
}

/// Correction histories: how far the static evaluation has been from what the search found, in positions
/// with the same pawns, the same pieces of one side, or after the same move.
pub(crate) struct Corrections {
    pawns: Box<[[Stat; CORRECTIONS]; 2]>,
    pieces: [Box<[[Stat; CORRECTIONS]; 2]>; 2],
    moves: Box<[[Stat; MOVED + 1]; 2]>,
}

const CORRECTIONS: usize = 1 << 14;
const PAWN_ROWS: usize = 1 << 9;

/// The row of a hash in a table of `rows`, a power of two.
fn slot(hash: u64, rows: usize) -> usize {
    (hash >> (64 - rows.trailing_zeros())) as usize
}

/// Where a position's corrections are.
#[derive(Clone, Copy)]
pub(crate) struct CorrectionKeys {
    side: usize,
    pawns: usize,
    pieces: [usize; 2],
    last: Moved,
}

impl CorrectionKeys {
    /// Of a position that is not judged.
    pub const NONE: CorrectionKeys = CorrectionKeys {
        side: 0,
        pawns: 0,
        pieces: [0; 2],
        last: Moved::NONE,
    };

    pub fn new(pos: &Position, last: Moved) -> CorrectionKeys {
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
            slot(hash, CORRECTIONS)
        };
        CorrectionKeys {
            side: pos.turn().index(),
            pawns: slot(pawn_hash(pos), CORRECTIONS),
            pieces: [pieces(Color::White), pieces(Color::Black)],
            last,
        }
    }
}

/// A hash of the pawns of both sides.
pub(crate) fn pawn_hash(pos: &Position) -> u64 {
    let white = pos.pieces(Color::White, Role::Pawn).0;
    let black = pos.pieces(Color::Black, Role::Pawn).0;
    mix(mix(0, white), black)
}

/// One step of a multiplicative hash; the high bits are the good ones.
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Corrections {
    pub fn new() -> Corrections {
        Corrections {
            pawns: table([0; CORRECTIONS]),
            pieces: [table([0; CORRECTIONS]), table([0; CORRECTIONS])],
            moves: table([0; MOVED + 1]),
        }
    }

    /// What to add to the static evaluation, in centipawns.
    pub fn get(&self, keys: &CorrectionKeys) -> Value {
        let side = keys.side;
        let sum = params::correction_pawns() * i32::from(self.pawns[side][keys.pawns])
            + i32::from(self.pieces[0][side][keys.pieces[0]])
            + i32::from(self.pieces[1][side][keys.pieces[1]])
            + i32::from(self.moves[side][keys.last.index()]);
        sum / params::correction_grain()
    }

    /// The search found the evaluation to be off by `error` centipawns at `depth` plies.
    pub fn add(&mut self, keys: &CorrectionKeys, depth: i32, error: Value) {
        // One search teaches a quarter of the limit at most.
        let bonus = (error * depth * params::correction_pace()).clamp(-LIMIT / 4, LIMIT / 4);
        let side = keys.side;
        add(&mut self.pawns[side][keys.pawns], bonus);
        add(&mut self.pieces[0][side][keys.pieces[0]], bonus);
        add(&mut self.pieces[1][side][keys.pieces[1]], bonus);
        add(&mut self.moves[side][keys.last.index()], bonus);
    }
}
