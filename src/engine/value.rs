//! The search's own scores: centipawns, with mates and draws at fixed places on the same scale.

use super::Score;

/// From the view of the side to move; centipawns, or near [`MATE`] when a mate is seen.
pub(crate) type Value = i32;

/// The deepest line that is ever looked at, in plies from the root.
pub(crate) const MAX_PLY: usize = 128;

/// More than any score.
pub(crate) const INFINITE: Value = 32_001;
/// Mate now, for the side that gives it; a mate in `n` plies is `MATE - n`.
pub(crate) const MATE: Value = 32_000;
/// The least score that is a mate: one that is as far from its position as can be, which itself is as far from the root.
pub(crate) const MATE_FOUND: Value = MATE - 2 * MAX_PLY as Value;
/// Evaluations stay below this, so that no position is taken for a mate.
pub(crate) const EVAL_LIMIT: Value = 20_000;
/// Nobody wins.
pub(crate) const DRAW: Value = 0;

/// We are mated `ply` plies from the root.
pub(crate) const fn mated_in(ply: usize) -> Value {
    ply as Value - MATE
}

/// We mate `ply` plies from the root.
pub(crate) const fn mate_in(ply: usize) -> Value {
    MATE - ply as Value
}

/// Whether the value says that one side mates.
pub(crate) const fn is_mate(value: Value) -> bool {
    value.abs() >= MATE_FOUND
}

/// Mates are counted from the root in the search, from the position itself in the table, where another path
/// may find it at another depth.
pub(crate) const fn to_table(value: Value, ply: usize) -> Value {
    if value >= MATE_FOUND {
        value + ply as Value
    } else if value <= -MATE_FOUND {
        value - ply as Value
    } else {
        value
    }
}

/// The inverse of [`to_table`].
pub(crate) const fn from_table(value: Value, ply: usize) -> Value {
    if value >= MATE_FOUND {
        value - ply as Value
    } else if value <= -MATE_FOUND {
        value + ply as Value
    } else {
        value
    }
}

/// For the outside: plies to mate become moves.
pub(crate) fn to_score(value: Value) -> Score {
    if value >= MATE_FOUND {
        Score::Mate((MATE - value + 1) / 2)
    } else if value <= -MATE_FOUND {
        Score::Mate(-(MATE + value) / 2)
    } else {
        Score::Centipawns(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mates_are_told_in_moves() {
        assert_eq!(to_score(mate_in(1)), Score::Mate(1));
        assert_eq!(to_score(mate_in(3)), Score::Mate(2));
        assert_eq!(to_score(mated_in(0)), Score::Mate(0));
        assert_eq!(to_score(mated_in(2)), Score::Mate(-1));
        assert_eq!(to_score(mated_in(4)), Score::Mate(-2));
        assert_eq!(to_score(-35), Score::Centipawns(-35));
    }

    #[test]
    fn mates_survive_the_table_at_another_ply() {
        // A mate three plies below the node at ply 4, met again at ply 10.
        let stored = to_table(mate_in(7), 4);
        assert_eq!(from_table(stored, 10), mate_in(13));
        let stored = to_table(mated_in(6), 4);
        assert_eq!(from_table(stored, 2), mated_in(4));
        assert_eq!(from_table(to_table(123, 9), 3), 123);
        // Met at the end of the longest line, one that is nearly as far away is a mate still.
        let far = from_table(to_table(mate_in(100), 0), MAX_PLY - 1);
        assert!(is_mate(far));
        assert_eq!(from_table(to_table(far, MAX_PLY - 1), 0), mate_in(100));
    }
}
