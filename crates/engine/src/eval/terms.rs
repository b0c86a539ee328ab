//! Indices of the terms of [`variant`](super::variant), and their number.

/// Material and place of the pieces: by role, rank from the own side, and file from the edge.
pub(super) const PLACES: usize = 0;
/// Squares that a knight, bishop, rook or queen attacks.
pub(super) const MOBILITY: usize = PLACES + 6 * 32;
/// Attacks on the squares around the other king, by role from pawn to queen.
pub(super) const ZONE: usize = MOBILITY + 4;
/// The sum of these attacks, by class and number.
pub(super) const DANGER: usize = ZONE + 5;
pub(super) const MAX_DANGER: usize = 12;
/// Squares around the other king that are attacked and defended by the king alone, by class.
pub(super) const WEAK: usize = DANGER + CLASSES * MAX_DANGER;
/// Squares on which a knight, bishop, rook or queen could give check and would not be taken, by class.
pub(super) const SAFE_CHECKS: usize = WEAK + CLASSES;
/// Passed pawns, by rank.
pub(super) const PASSED: usize = SAFE_CHECKS + CLASSES * 4;
/// Pawns that are protected by pawns, doubled, isolated, and side by side.
pub(super) const PAWNS: usize = PASSED + 8;
/// Pieces in hand: the first of a role, and each further one, from pawn to queen.
pub(super) const HAND: usize = PAWNS + 4;
/// Promoted pieces, which are worth a pawn when taken.
pub(super) const PROMOTED: usize = HAND + 10;
/// Terms of one variant.
pub(super) const SPECIAL: usize = PROMOTED + 1;
/// The right to move.
pub(super) const TEMPO: usize = SPECIAL + 12;
/// The number of terms.
pub(super) const TERMS: usize = TEMPO + 1;

/// Attacks on a king count by class: in three-check by the checks given, in crazyhouse by the pieces in hand.
pub(super) const CLASSES: usize = 4;
