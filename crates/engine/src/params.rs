//! Search parameters.
//!
//! Values are in centipawns, depths in plies, reductions in 1024ths of a ply. Parameters that can be tuned at fixed
//! nodes are in one table: name, value, range, and the tuner's first step. Each is a function of its name: see
//! [`tunable`](super::tunable).

use super::tunable::tunables;

// Time management.

/// Moves that the clock should last for if each loses more to lag than the increment gives (40 to 80).
pub(crate) const MOVES_TO_GO_FOR_LAG: u32 = 60;
/// Factor of the soft limit if the engine ponders (1.0 to 1.5); 1.25 as in Stockfish.
pub(crate) const PONDER_FACTOR: f64 = 1.25;
/// [`PONDER_FACTOR`] applies while the clock has at least this many times the overhead (10 to 50): with less, a late move
/// of which nothing was searched in advance could lose the game.
pub(crate) const MIN_PONDER_CLOCK: u32 = 20;
/// A move uses at most this share of the clock if it is the last one before the time control (0.6 to 0.9).
pub(crate) const MAX_LAST_MOVE_SHARE: f64 = 0.8;
/// This share of the clock is for thinking even if the lag of the moves to come would use up all of it (0.05 to 0.5).
pub(crate) const MIN_SHARE_DESPITE_LAG: f64 = 0.15;
/// Iterations without a change of the best move that count (5 to 15).
pub(crate) const STABILITY_MAX: u32 = 10;
/// Range of the factor from the best move's share of the nodes.
pub(crate) const EFFORT_RANGE: (f64, f64) = (0.3, 2.5);
/// Range of each score drop that counts, in centipawns.
pub(crate) const SCORE_DROP_RANGE: (i32, i32) = (-20, 60);

/// Iterations of a forced move, to have a score to report (1 to 10).
pub(crate) const FORCED_DEPTH: usize = 4;

// Fifty-move rule.

/// TT scores are not trusted from this halfmove clock on (80 to 98).
pub(crate) const MAX_TT_HALFMOVE_CLOCK: u32 = 88;

tunables! {
    // Time management, in percent unless it says otherwise. It has an effect only on a clock.

    /// Moves that the clock should last for at the start of a game.
    time_moves_max = 48 in 20..=80 step 3;
    /// The same late in the game.
    time_moves_min = 24 in 8..=40 step 2;
    /// Percentage of these moves if the increment is longer than the lag: the clock gains time.
    time_moves_increment = 65 in 50..=110 step 4;
    /// Soft limit in equal shares of the clock.
    time_soft = 90 in 50..=160 step 6;
    /// Hard limit in equal shares of the clock.
    time_hard = 500 in 200..=1000 step 40;
    /// A move uses at most this share of the clock.
    time_share_max = 50 in 15..=80 step 4;
    /// Factor of the soft limit when the best move has just changed ...
    time_new_move = 125 in 90..=200 step 6;
    /// ... less this for every iteration since, in thousandths.
    time_stability = 50 in 0..=100 step 6;
    /// Factor of the soft limit when no nodes are spent on the best move ...
    time_effort = 155 in 100..=260 step 8;
    /// ... less this when all of them are.
    time_effort_discount = 95 in 20..=200 step 8;
    /// Increase of the factor per centipawn that the score has dropped, in thousandths.
    time_score_drop = 10 in 0..=30 step 2;
    /// The same per centipawn lost since our last move.
    time_game_score_drop = 4 in 0..=20 step 2;

    // Iterations.

    /// Half width of the first aspiration window.
    aspiration_window = 15 in 5..=40 step 3;
    /// Full windows in iterations shallower than this.
    aspiration_depth = 4 in 3..=8 step 1;
    /// Percentage of the recent score swing added to the window.
    aspiration_swing = 8 in 0..=100 step 10;
    /// Percentage by which a failed window grows.
    aspiration_growth = 29 in 20..=150 step 15;
    /// Maximum depth reduction at the root after failing high.
    fail_high_reduction_max = 2 in 0..=4 step 1;

    // Static evaluation of a node.

    /// Correction history: units per centipawn.
    correction_divisor = 721 in 300..=1600 step 100;
    /// Correction history: learning rate.
    correction_rate = 7 in 1..=16 step 2;
    /// Correction history: weight of the pawn table; the others have 1.
    correction_pawns = 1 in 0..=4 step 1;

    /// Correction history: weight of each pair of earlier moves, in percent.
    correction_continuation = 82 in 0..=200 step 15;
    /// The evaluation is smaller by this many thousandths without pieces, and linearly less with more of them.
    eval_material = 110 in 0..=500 step 40;

    // Node pruning.

    /// TT cutoffs up to this depth only in the direction that is expected of the node.
    tt_cutoff_expected_depth = 3 in 0..=7 step 1;
    /// Reverse futility pruning: margin above beta per ply.
    rfp_margin = 53 in 20..=120 step 6;
    /// Reverse futility pruning: smaller margin if the opponent's last move made their evaluation worse.
    rfp_worsening = 24 in 0..=60 step 5;
    /// Reverse futility pruning: maximum depth.
    rfp_depth = 9 in 5..=12 step 1;
    /// Reverse futility pruning: the surplus over beta is divided by this in the returned score.
    rfp_divisor = 2 in 1..=8 step 1;
    /// Razoring: margin below alpha per ply.
    razor_margin = 297 in 150..=400 step 20;
    /// Razoring: maximum depth.
    razor_depth = 4 in 1..=6 step 1;
    /// Null move: minimum depth.
    null_depth = 3 in 2..=4 step 1;
    /// Null move: base reduction in plies ...
    null_reduction = 4 in 3..=6 step 1;
    /// ... plus this share of the depth, in thousandths.
    null_slope = 423 in 150..=550 step 40;
    /// Null move: one more ply of reduction for every this many centipawns above beta ...
    null_surplus = 212 in 100..=300 step 20;
    /// ... up to this.
    null_surplus_max = 3 in 2..=5 step 1;
    /// Null move: the evaluation may be below beta by this per ply ...
    null_eval_slope = 21 in 0..=40 step 4;
    /// ... less this.
    null_eval_margin = 139 in 0..=250 step 20;
    /// Null move: verification search from this depth ...
    null_verify_depth = 14 in 10..=18 step 1;
    /// ... within which it is not tried for this percentage of the remaining depth.
    null_verify_share = 76 in 50..=100 step 10;
    /// ProbCut: margin above beta.
    probcut_margin = 243 in 100..=300 step 20;
    /// ProbCut: smaller margin when improving.
    probcut_improving = 26 in 0..=100 step 10;
    /// ProbCut: minimum depth.
    probcut_depth = 5 in 3..=7 step 1;
    /// ProbCut: depth reduction.
    probcut_reduction = 3 in 2..=5 step 1;
    /// Hindsight: a node reduced by at least this is searched deeper if the parent's evaluation gave no reason for
    /// it.
    hindsight_reduction_min = 2 in 1..=5 step 1;
    /// Hindsight: a reduced node is searched shallower if both sides' evaluations add up to more than this.
    hindsight_margin = 222 in 50..=400 step 20;
    /// Internal iterative reduction: minimum depth.
    iir_depth = 3 in 2..=6 step 1;

    // Move pruning.

    /// SEE pruning of noisy moves: margin per ply ...
    see_noisy_margin = 79 in 50..=150 step 10;
    /// ... plus history divided by this.
    see_noisy_history = 108 in 50..=200 step 15;
    /// SEE pruning of noisy moves: maximum depth.
    see_noisy_depth = 8 in 6..=12 step 1;
    /// SEE pruning of quiet moves: margin per reduced ply squared.
    see_quiet_margin = 18 in 5..=40 step 2;
    /// SEE pruning of quiet moves: maximum reduced depth.
    see_quiet_depth = 9 in 5..=12 step 1;
    /// Late move pruning: moves searched at depth 0 ...
    lmp_base = 5 in 2..=12 step 1;
    /// ... plus this many hundredths of the depth squared.
    lmp_slope = 138 in 60..=250 step 15;
    /// Late move pruning: percentage of these moves when not improving.
    lmp_not_improving = 87 in 50..=110 step 6;
    /// Futility pruning: margin at depth 0.
    futility_base = 62 in 0..=150 step 8;
    /// Futility pruning: margin per reduced ply.
    futility_slope = 76 in 30..=150 step 6;
    /// Futility pruning: additional margin of checks.
    futility_check = 126 in 0..=300 step 20;
    /// Futility pruning: maximum reduced depth.
    futility_depth = 9 in 5..=12 step 1;
    /// Pruning of quiet moves: history worth one ply of the reduced depth, in hundreds.
    prune_history = 44 in 15..=200 step 5;
    /// History pruning: quiet moves with a history below minus this per ply ...
    history_margin = 4586 in 1000..=6000 step 400;
    /// ... up to this reduced depth, without its term for history.
    history_depth = 5 in 2..=8 step 1;
    /// Quiescence: maximum loss by SEE.
    quiescence_loss = 36 in 1..=100 step 12;
    /// Quiescence: futility margin of captures ...
    quiescence_futility = 156 in 50..=300 step 20;
    /// ... to which the captured piece adds this percentage of its SEE value.
    quiescence_gain = 136 in 80..=200 step 12;
    /// Quiescence search: once it is no mate, evasions that lose more than this are skipped.
    quiescence_evasion_loss = 80 in 0..=300 step 20;

    // Extensions.

    /// Singular extension: minimum depth, one more in nodes that are or were in a PV.
    singular_depth = 4 in 3..=9 step 1;
    /// Singular extension: maximum depth deficit of the TT entry.
    singular_tt_depth = 2 in 1..=5 step 1;
    /// Singular extension: margin below the TT score per ply, in hundredths.
    singular_slope = 61 in 20..=200 step 8;
    /// ... and this much more in nodes that were in a PV and are not now.
    singular_former_pv = 77 in 0..=200 step 10;
    /// Double extension: margin.
    double_margin = 6 in 0..=40 step 2;
    /// Triple extension: margin, for quiet TT moves.
    triple_margin = 73 in 40..=200 step 10;
    /// Additional margin of double and triple extensions in PV nodes.
    extension_pv_margin = 165 in 20..=300 step 20;
    /// Maximum double extensions in one line.
    double_extensions_max = 7 in 4..=12 step 1;
    /// Negative extension if the TT score fails high.
    negative_tt = 3 in 1..=4 step 1;
    /// Negative extension in cut nodes.
    negative_cut = 1 in 0..=2 step 1;

    // Late move reductions, in 1024ths of a ply.

    /// Base of quiet moves.
    lmr_quiet_base = 448 in 0..=1400 step 100;
    /// Quiet moves: per product of the binary logarithms of depth and move number, in thousandths.
    lmr_quiet_slope = 202 in 120..=350 step 16;
    /// Base of noisy moves.
    lmr_noisy_base = 100 in -400..=1400 step 100;
    /// Noisy moves: per product of the binary logarithms of depth and move number, in thousandths.
    lmr_noisy_slope = 149 in 80..=300 step 16;
    /// Cut nodes.
    lmr_cut = 750 in 400..=2600 step 160;
    /// Expected all nodes: this percentage of the base, divided by the depth plus 1.
    lmr_all = 81 in 0..=200 step 20;
    /// Cut nodes without a TT move.
    lmr_no_tt_move = 1352 in 0..=2400 step 160;
    /// Not improving.
    lmr_not_improving = 933 in 0..=1600 step 120;
    /// The TT move is noisy.
    lmr_tt_noisy = 884 in 0..=1800 step 120;
    /// Many children have failed high: ...
    lmr_cutoffs = 789 in 0..=1800 step 120;
    /// ... more than this.
    lmr_cutoffs_min = 3 in 1..=6 step 1;
    /// The position is or was in a PV.
    lmr_pv = 906 in 300..=2400 step 150;
    /// The move gives check.
    lmr_check = 949 in 0..=2000 step 130;
    /// The TT score is not above alpha.
    lmr_tt_low = 243 in 0..=1200 step 120;
    /// Alpha has been raised.
    lmr_alpha_raised = 529 in 0..=1600 step 130;
    /// The position is or was in a PV, and its TT entry is deep enough.
    lmr_tt_deep = 519 in 0..=1600 step 130;
    /// The move failed high in a sibling.
    lmr_killer = 1338 in 0..=2000 step 130;
    /// Less per centipawn of correction: the node is complex.
    lmr_correction = 2 in 0..=30 step 3;
    /// Quiet history worth one ply.
    lmr_quiet_history = 14665 in 5000..=20000 step 1000;
    /// Noisy history worth one ply.
    lmr_noisy_history = 8757 in 4000..=18000 step 1000;
    /// Noisy moves: history per centipawn of the captured piece ...
    lmr_noisy_victim = 8 in 0..=20 step 2;
    /// ... less this.
    lmr_noisy_victim_offset = 3811 in 0..=9000 step 500;
    /// The re-search of a move is deeper if it beats the best score by this ...
    deeper_margin = 43 in 20..=80 step 6;
    /// ... plus this per ply.
    deeper_slope = 1 in 0..=6 step 1;
    /// The best score counts as at most this far below alpha.
    deeper_floor = 317 in 0..=1000 step 60;
    /// It is shallower if the move beats the best score by less than this.
    shallower_margin = 14 in 2..=30 step 2;

    // Histories.

    /// Bonus of a good move, per ply ...
    bonus_slope = 197 in 80..=350 step 18;
    /// ... less this ...
    bonus_offset = 78 in -200..=300 step 30;
    /// ... up to this.
    bonus_max = 1582 in 900..=3500 step 160;
    /// Percentage of the bonus for the opponent's quiet move before a node that fails low.
    bonus_prior = 105 in 0..=200 step 15;
    /// Percentage of the bonus for a quiet TT move that causes a cutoff without search.
    bonus_tt = 40 in 0..=200 step 15;
    /// Percentage of the malus for the opponent's early quiet move before a node whose TT move causes such a cutoff.
    malus_tt = 95 in 0..=200 step 15;
    /// Bonus of a quiet move per centipawn by which it raised the evaluation ...
    swing_slope = 7 in 0..=24 step 2;
    /// ... up to this.
    swing_max = 1203 in 400..=3000 step 150;
    /// Malus of a failed move, per ply ...
    malus_slope = 250 in 80..=400 step 18;
    /// ... less this ...
    malus_offset = -67 in -200..=300 step 30;
    /// ... up to this.
    malus_max = 1775 in 700..=3200 step 160;

    // Ordering of quiet moves.

    /// Weight of the butterfly history, in percent of the weight of the continuation histories.
    history_butterfly = 65 in 20..=150 step 10;
    /// The same of the pawn history.
    history_pawns = 56 in 0..=200 step 15;
    /// Bonus for a piece that leaves a square attacked by a piece of lower value.
    escape_bonus = 10501 in 0..=20000 step 1000;
    /// Malus for a piece that moves to such a square.
    exposure_malus = 7142 in 0..=20000 step 1000;
    /// Bonus for checks.
    check_bonus = 7553 in 0..=20000 step 1000;
}

#[cfg(test)]
mod tests {
    use super::TUNABLES;
    use crate::Tunable;

    #[test]
    fn tunables_have_consistent_ranges() {
        for (i, tunable) in TUNABLES.iter().enumerate() {
            let Tunable {
                name,
                value,
                min,
                max,
                step,
            } = *tunable;
            assert!(min <= value && value <= max, "{name}");
            assert!(step > 0 && step <= max - min, "{name}");
            assert!(
                TUNABLES[..i].iter().all(|other| other.name != name),
                "{name}"
            );
        }
    }
}
