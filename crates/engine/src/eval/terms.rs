//! Terms of the evaluation: a name for every weight or row of weights. The values are in [`weights`](super::weights),
//! which `knightwatch texel` writes.

use std::ops::{Add, AddAssign, Neg, Sub};

use super::phased::Phased;
use super::weights::WEIGHTS;

/// A weight or a row of weights, by index.
#[derive(Clone, Copy)]
pub(super) struct Term {
    first: usize,
    count: usize,
}

impl Term {
    /// One weight of a row.
    pub const fn at(self, index: usize) -> Term {
        debug_assert!(index < self.count, "beyond the row");
        Term {
            first: self.first + index,
            count: 1,
        }
    }

    /// The index of a single weight.
    pub const fn index(self) -> usize {
        debug_assert!(self.count == 1, "a whole row");
        self.first
    }
}

/// A sum of terms: a score ([`Phased`]), or in a trace how often each weight counts.
pub(super) trait Sum:
    Default + From<Phased> + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self> + AddAssign
{
    /// Adds a weight `times` times.
    fn weigh(&mut self, term: Term, times: i32);

    /// Half of it, rounded towards zero.
    fn halved(self) -> Self;
}

impl Sum for Phased {
    #[inline(always)]
    fn weigh(&mut self, term: Term, times: i32) {
        *self += WEIGHTS[term.index()] * times;
    }

    #[inline(always)]
    fn halved(self) -> Phased {
        self.half()
    }
}

/// Defines a [`Term`] per line, and the table of all: `/// Description. NAME: [row sizes];`
macro_rules! terms {
    ($($(#[doc = $doc:literal])+ $name:ident: [$($size:literal),+];)*) => {
        /// Names and sizes of all rows, in the order of their weights.
        pub(super) const ROWS: &[(&str, &[usize])] = &[$((stringify!($name), &[$($size),+])),*];

        #[allow(clippy::upper_case_acronyms, non_camel_case_types)]
        enum Row { $($name),* }

        $($(#[doc = $doc])+ pub(super) const $name: Term = term(Row::$name as usize);)*
    };
}

const fn term(row: usize) -> Term {
    Term {
        first: weights_before(row),
        count: weights_before(row + 1) - weights_before(row),
    }
}

const fn weights_before(rows: usize) -> usize {
    let (mut row, mut sum) = (0, 0);
    while row < rows {
        sum += size(ROWS[row].1);
        row += 1;
    }
    sum
}

/// Number of weights in a row of these sizes.
pub(super) const fn size(sizes: &[usize]) -> usize {
    let (mut at, mut product) = (0, 1);
    while at < sizes.len() {
        product *= sizes[at];
        at += 1;
    }
    product
}

/// Number of all weights.
pub(super) const COUNT: usize = weights_before(ROWS.len());

terms! {
    /// By role.
    MATERIAL: [6];
    /// Piece-square table, by role, rank from the own side, and file from the edge (a and h, b and g, c and f, d and
    /// e).
    PSQT: [6, 8, 4];

    /// By the number of attacked squares that are neither blocked by own pawns or the king nor guarded by enemy
    /// pawns.
    KNIGHT_MOBILITY: [9];
    /// Likewise.
    BISHOP_MOBILITY: [14];
    /// Likewise.
    ROOK_MOBILITY: [15];
    /// Likewise.
    QUEEN_MOBILITY: [28];

    /// A pawn behind another own pawn.
    DOUBLED: [1];
    /// A pawn without own pawns on the adjacent files.
    ISOLATED: [1];
    /// A pawn behind its neighbours whose next square an enemy pawn guards.
    BACKWARD: [1];
    /// By rank, for pawns guarded by a pawn or next to one.
    CONNECTED: [8];
    /// By rank, for passed pawns.
    PASSED: [8];
    /// By rank, for passed pawns with a free square ahead.
    PASSED_FREE: [8];
    /// By rank, per king step of the enemy king to the square ahead.
    PASSED_ENEMY_KING: [8];
    /// By rank, per king step of the own king to the square ahead.
    PASSED_OWN_KING: [8];

    /// Two bishops.
    BISHOP_PAIR: [1];
    /// For every own pawn on the colour of the bishop.
    PAWN_ON_BISHOP_COLOR: [1];
    /// A minor piece guarded by a pawn, out of reach of enemy pawns: knight, bishop.
    OUTPOST: [2];
    /// A minor piece directly behind a pawn.
    MINOR_BEHIND_PAWN: [1];
    /// No pawns on the rook's file.
    ROOK_ON_OPEN_FILE: [1];
    /// No own pawns on the rook's file.
    ROOK_ON_HALF_OPEN_FILE: [1];
    /// A rook behind an own passed pawn.
    ROOK_BEHIND_PASSED: [1];

    /// For every piece attacked by a pawn.
    PAWN_ATTACKS_PIECE: [1];
    /// For every rook or queen attacked by a minor piece.
    MINOR_ATTACKS_MAJOR: [1];
    /// For every queen attacked by a rook.
    ROOK_ATTACKS_QUEEN: [1];
    /// For every minor piece attacked by a minor piece and not guarded by a pawn.
    MINOR_ATTACKS_MINOR: [1];
    /// For every piece or pawn attacked and not defended.
    HANGING: [1];
    /// For every piece that a safe pawn push would attack.
    PUSH_THREAT: [1];

    /// By rank of the nearest own pawn ahead of the king, on its file and the adjacent ones; 0 if none.
    SHELTER: [8];
    /// By rank of the nearest enemy pawn ahead of the king, seen from the king's side; 0 if none.
    STORM: [8];
    /// The same if that pawn is blocked by an own one.
    STORM_BLOCKED: [8];
    /// No own pawn on a file next to the king; counts twice on the king's own file.
    KING_FILE_OPEN: [1];

    /// For the side to move.
    TEMPO: [1];
}
