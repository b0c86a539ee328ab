//! Internal scores: centipawns, with mate and draw values on the same scale.

use super::Score;

/// A score from the side to move's point of view: centipawns, or near [`MATE`] for a forced mate.
pub(crate) type Value = i32;

/// The maximum length of a line, in plies from the root.
pub(crate) const MAX_PLY: usize = 128;

/// Greater than any score.
pub(crate) const INFINITE: Value = 32_001;
/// Mate on the board; a mate in `n` plies is `MATE - n`.
pub(crate) const MATE: Value = 32_000;
/// The smallest mate score. Distances are at most `MAX_PLY` from a node, which is at most `MAX_PLY` from the root.
pub(crate) const MIN_MATE: Value = MATE - 2 * MAX_PLY as Value;
/// Static evaluations stay below this, so that none looks like a mate.
pub(crate) const EVAL_LIMIT: Value = 20_000;
pub(crate) const DRAW: Value = 0;

/// The score of being mated `ply` plies from the root.
pub(crate) const fn mated_in(ply: usize) -> Value {
    ply as Value - MATE
}

/// The score of giving mate `ply` plies from the root.
pub(crate) const fn mate_in(ply: usize) -> Value {
    MATE - ply as Value
}

pub(crate) const fn is_mate(value: Value) -> bool {
    value.abs() >= MIN_MATE
}

/// Converts a score for the transposition table. The search counts mates from the root, the table from the position
/// itself, since other paths reach it at other plies.
pub(crate) const fn to_table(value: Value, ply: usize) -> Value {
    if value >= MIN_MATE {
        value + ply as Value
    } else if value <= -MIN_MATE {
        value - ply as Value
    } else {
        value
    }
}

/// The inverse of [`to_table`].
pub(crate) const fn from_table(value: Value, ply: usize) -> Value {
    if value >= MIN_MATE {
        value - ply as Value
    } else if value <= -MIN_MATE {
        value + ply as Value
    } else {
        value
    }
}

/// Converts to a public score, in which mates are counted in moves of the side that mates. In some variants a game is
/// lost by one's own move, or won already by that of the opponent; both count as one move.
pub(crate) fn to_score(value: Value) -> Score {
    if value >= MIN_MATE {
        Score::Mate(((MATE - value + 1) / 2).max(1))
    } else if value <= -MIN_MATE {
        Score::Mate(-(MATE + value + 1) / 2)
    } else {
        Score::Centipawns(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_score_of_mates_counts_moves() {
        assert_eq!(to_score(mate_in(1)), Score::Mate(1));
        assert_eq!(to_score(mate_in(3)), Score::Mate(2));
        assert_eq!(to_score(mated_in(0)), Score::Mate(0));
        assert_eq!(to_score(mated_in(2)), Score::Mate(-1));
        assert_eq!(to_score(mated_in(4)), Score::Mate(-2));
        // By one's own move, and by the opponent's last one.
        assert_eq!(to_score(mated_in(1)), Score::Mate(-1));
        assert_eq!(to_score(mated_in(3)), Score::Mate(-2));
        assert_eq!(to_score(mate_in(0)), Score::Mate(1));
        assert_eq!(to_score(-35), Score::Centipawns(-35));
    }

    #[test]
    fn table_scores_keep_mate_distance_at_other_plies() {
        // A mate three plies below the node at ply 4, met again at ply 10.
        let stored = to_table(mate_in(7), 4);
        assert_eq!(from_table(stored, 10), mate_in(13));
        let stored = to_table(mated_in(6), 4);
        assert_eq!(from_table(stored, 2), mated_in(4));
        assert_eq!(from_table(to_table(123, 9), 3), 123);
        // Probed at maximum ply, a mate nearly as far away is still a mate.
        let far = from_table(to_table(mate_in(100), 0), MAX_PLY - 1);
        assert!(is_mate(far));
        assert_eq!(from_table(to_table(far, MAX_PLY - 1), 0), mate_in(100));
    }
}
