//! What the evaluation counts: a name for every weight and row of weights. What they are worth is in
//! [`weights`](super::weights), which `knightwatch texel` writes.

use std::ops::{Add, AddAssign, Neg, Sub};

use super::phased::Phased;
use super::weights::WEIGHTS;

/// A weight, or a row of them, by its place among all weights.
#[derive(Clone, Copy)]
pub(super) struct Term {
    first: usize,
    count: usize,
}

impl Term {
    /// One of a row.
    pub const fn at(self, index: usize) -> Term {
        debug_assert!(index < self.count, "beyond the row");
        Term {
            first: self.first + index,
            count: 1,
        }
    }

    /// Its place among all weights.
    pub const fn index(self) -> usize {
        debug_assert!(self.count == 1, "a whole row");
        self.first
    }
}

/// What terms add up to: in play a score ([`Phased`]), for the fit how often each weight is in it.
pub(super) trait Sum:
    Default + From<Phased> + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self> + AddAssign
{
    /// Adds a weight so many times.
    fn weigh(&mut self, term: Term, times: i32);

    /// Half of it, towards zero.
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

/// Makes a [`Term`] of each line, and a table of all: `/// What it is. NAME: [size of the row];`
macro_rules! terms {
    ($($(#[doc = $doc:literal])+ $name:ident: [$($size:literal),+];)*) => {
        /// The names and sizes of all rows, in the order of their weights.
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

/// Weights in a row of these sizes.
pub(super) const fn size(sizes: &[usize]) -> usize {
    let (mut at, mut product) = (0, 1);
    while at < sizes.len() {
        product *= sizes[at];
        at += 1;
    }
    product
}

/// Weights altogether.
pub(super) const COUNT: usize = weights_before(ROWS.len());

terms! {
    /// By role; kings are always there.
    MATERIAL: [6];
    /// By role, rank from the own side, file from the edge (a and h, b and g, c and f, d and e).
    PLACE: [6, 8, 4];

    /// By the number of squares a piece reaches that are neither own nor guarded by pawns.
    KNIGHT_MOBILITY: [9];
    /// Likewise.
    BISHOP_MOBILITY: [14];
    /// Likewise.
    ROOK_MOBILITY: [15];
    /// Likewise.
    QUEEN_MOBILITY: [28];

    /// A pawn behind an own one.
    DOUBLED: [1];
    /// A pawn without own ones on the files next to it.
    ISOLATED: [1];
    /// A pawn that the others have left behind, and that cannot follow.
    BACKWARD: [1];
    /// By rank, for pawns that a pawn guards or that stand side by side.
    CONNECTED: [8];
    /// By rank, for pawns that no pawn can stop any more.
    PASSED: [8];
    /// By rank, more when the square in front is free.
    PASSED_FREE: [8];
    /// By rank, for every square between the square in front and the enemy's king.
    PASSED_ENEMY_KING: [8];
    /// By rank, for every square between the square in front and the own king.
    PASSED_OWN_KING: [8];

    /// Two bishops.
    BISHOP_PAIR: [1];
    /// For every own pawn on the bishop's colour.
    PAWN_ON_BISHOP_COLOR: [1];
    /// A minor piece guarded by a pawn where no pawn can chase it: knight, bishop.
    OUTPOST: [2];
    /// A minor piece right behind a pawn.
    MINOR_BEHIND_PAWN: [1];
    /// No pawn on the rook's file.
    ROOK_ON_OPEN_FILE: [1];
    /// No own pawn on the rook's file.
    ROOK_ON_HALF_OPEN_FILE: [1];
    /// A rook behind an own passed pawn, or in front of the enemy's.
    ROOK_BEHIND_PASSED: [1];

    /// For every piece that a pawn attacks.
    PAWN_ATTACKS_PIECE: [1];
    /// For every rook or queen that a minor piece attacks.
    MINOR_ATTACKS_MAJOR: [1];
    /// For every queen that a rook attacks.
    ROOK_ATTACKS_QUEEN: [1];
    /// For every minor piece, guarded by no pawn, that a minor piece attacks.
    MINOR_ATTACKS_MINOR: [1];
    /// For everything that is attacked and not guarded at all.
    HANGING: [1];
    /// For every piece that a pawn could attack by a safe step.
    PUSH_THREAT: [1];

    /// By rank of the nearest own pawn before the king on its file or next to it; 0: there is none.
    SHELTER: [8];
    /// By rank, from the king's side, of the nearest enemy pawn before the king; 0: there is none.
    STORM: [8];
    /// The same where that pawn runs into an own one.
    STORM_BLOCKED: [8];
    /// On a half-open or open file next to the king, twice on its own.
    KING_FILE_OPEN: [1];

    /// To be on the move.
    TEMPO: [1];
}
