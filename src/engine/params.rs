//! The numbers of the search.
//!
//! Values are centipawns, depths plies, reductions 1024ths of a ply. What can be tuned at fixed nodes is in one table:
//! name, value, range, and the step that a tuner begins with. Each is a function of its name: see
//! [`tunable`](super::tunable).

use super::tunable::tunables;

// Time: shares of the clock.

/// Moves that a game's clock should last for at its start (30 to 60).
pub(crate) const MOVES_AHEAD_MAX: u32 = 48;
/// The same late in the game (15 to 30).
pub(crate) const MOVES_AHEAD_MIN: u32 = 24;
/// Moves for which the clock should last where each of them loses more on its way than the increment (40 to 80).
pub(crate) const MOVES_OF_LAG: u32 = 60;
/// The soft bound in fair shares (0.5 to 1.5).
pub(crate) const SOFT_SCALE: f64 = 0.9;
/// The hard bound in fair shares (2 to 8).
pub(crate) const HARD_SCALE: f64 = 4.5;
/// No move takes more of what is on the clock (0.2 to 0.7).
pub(crate) const SHARE_OF_CLOCK: f64 = 0.4;
/// The same for the last move before the time control (0.6 to 0.9).
pub(crate) const SHARE_OF_LAST: f64 = 0.8;
/// Of what is on the clock, this is for thinking even when the lag of the moves to come would eat all of it
/// (0.05 to 0.5).
pub(crate) const SHARE_DESPITE_LAG: f64 = 0.15;

/// The soft bound stretches by this when the best move has just become it (1.1 to 1.5) ...
pub(crate) const STRETCH_OF_NEW: f64 = 1.25;
/// ... less this for every iteration that it has been the best (0.02 to 0.1) ...
pub(crate) const SHRINK_OF_STABLE: f64 = 0.05;
/// ... of which no more count than these (5 to 15).
pub(crate) const STABLE_MAX: u32 = 10;
/// The soft bound stretches by this when no nodes go into the best move (1.3 to 1.8) ...
pub(crate) const STRETCH_OF_DOUBT: f64 = 1.55;
/// ... less this when all of them do (0.6 to 1.4).
pub(crate) const SHRINK_OF_EFFORT: f64 = 0.95;
/// The share of the nodes changes the soft bound by a factor within these.
pub(crate) const EFFORT_RANGE: (f64, f64) = (0.5, 1.5);
/// The soft bound stretches by this part for every centipawn that the score has fallen (0.002 to 0.02).
pub(crate) const STRETCH_OF_FALL: f64 = 0.01;
/// A score that falls or rises by more counts as these, in centipawns.
pub(crate) const FALL_RANGE: (i32, i32) = (-20, 60);

/// A forced move gets this many iterations for a score to show (1 to 10).
pub(crate) const FORCED_DEPTH: usize = 4;

// What the rules of the game ask for.

/// The table's values are no proof when the fifty-move rule is nearer (80 to 98).
pub(crate) const TRUSTED_HALFMOVES: u32 = 88;

tunables! {
    // Iterations.

    /// Half of the first aspiration window.
    aspiration_window = 14 in 8..=40 step 3;
    /// No windows in shallower iterations.
    aspiration_depth = 5 in 3..=8 step 1;
    /// A window is wider by this part of how much the value has swung of late, in percent.
    aspiration_swing = 30 in 0..=100 step 10;
    /// A window that failed grows by this part of itself, in percent.
    aspiration_growth = 50 in 20..=150 step 15;
    /// The root is searched by at most so much less deep after failing high.
    fail_high_reduction_max = 3 in 0..=4 step 1;

    // What is known of a node.

    /// Correction histories: units of one centipawn.
    correction_grain = 800 in 300..=1600 step 100;
    /// Correction histories: how fast they learn.
    correction_pace = 4 in 1..=16 step 2;
    /// Correction histories: how much that of the pawns counts, as the others count 1.
    correction_pawns = 2 in 1..=4 step 1;

    // Whole nodes.

    /// Reverse futility: above beta by this per ply.
    rfp_margin = 78 in 50..=120 step 6;
    /// Reverse futility up to this depth.
    rfp_depth = 9 in 5..=12 step 1;
    /// Reverse futility: of what is above beta, one in so many centipawns is believed.
    rfp_divisor = 3 in 1..=8 step 1;
    /// Razoring: below alpha by this per ply.
    razor_margin = 260 in 150..=400 step 20;
    /// Razoring up to this depth.
    razor_depth = 4 in 1..=5 step 1;
    /// Null move from this depth.
    null_depth = 3 in 2..=4 step 1;
    /// Null move: plies less ...
    null_reduction = 4 in 3..=6 step 1;
    /// ... beside this part of the depth, in thousandths.
    null_slope = 334 in 150..=500 step 40;
    /// Null move: one ply less for every so much above beta.
    null_surplus = 200 in 100..=300 step 20;
    /// Null move: not more plies less for being above beta.
    null_surplus_max = 3 in 2..=5 step 1;
    /// Null move: the evaluation may be below beta by this per ply ...
    null_eval_slope = 20 in 0..=40 step 4;
    /// ... less this.
    null_eval_margin = 120 in 0..=250 step 20;
    /// Null move: verified from this depth ...
    null_verify_depth = 14 in 10..=18 step 1;
    /// ... and not tried again within this part of the depth that is left, in percent.
    null_verify_share = 75 in 50..=100 step 10;
    /// ProbCut: above beta.
    probcut_margin = 190 in 100..=300 step 20;
    /// ProbCut: less when improving.
    probcut_improving = 50 in 0..=100 step 10;
    /// ProbCut: from this depth.
    probcut_depth = 5 in 4..=7 step 1;
    /// ProbCut: plies less.
    probcut_reduction = 4 in 3..=5 step 1;
    /// Hindsight: a node that was reduced by this many plies and whose parent had no reason for it is searched deeper.
    hindsight_deeper = 3 in 2..=5 step 1;
    /// Hindsight: one that was reduced at all is searched less deep where both sides together are better than this.
    hindsight_margin = 170 in 50..=400 step 20;
    /// Internal iterative reduction from this depth.
    iir_depth = 4 in 3..=6 step 1;

    // Single moves.

    /// Noisy moves may lose this per ply ...
    see_noisy_margin = 85 in 50..=150 step 10;
    /// ... and more with a good history: a centipawn per so much.
    see_noisy_history = 100 in 50..=200 step 15;
    /// Losing noisy moves are skipped up to this depth.
    see_noisy_depth = 9 in 6..=12 step 1;
    /// Quiet moves may lose this per reduced ply squared.
    see_quiet_margin = 24 in 15..=40 step 3;
    /// Losing quiet moves are skipped up to this reduced depth.
    see_quiet_depth = 9 in 5..=12 step 1;
    /// Late move pruning: quiet moves from this number on are skipped at depth 0 ...
    late_base = 6 in 2..=12 step 1;
    /// ... and later by this hundredth of the depth squared.
    late_slope = 150 in 60..=250 step 15;
    /// Futility: base.
    futility_base = 90 in 30..=150 step 12;
    /// Futility: per reduced ply.
    futility_slope = 85 in 50..=150 step 8;
    /// Futility up to this reduced depth.
    futility_depth = 9 in 5..=12 step 1;
    /// Quiet moves with a history below minus this per ply are skipped ...
    history_margin = 3500 in 1000..=6000 step 400;
    /// ... up to this reduced depth.
    history_depth = 4 in 2..=6 step 1;
    /// Quiescence: exchanges may lose this.
    quiescence_loss = 40 in 1..=100 step 12;
    /// Quiescence: what a capture brings beside what it takes.
    quiescence_futility = 160 in 50..=300 step 20;

    // Extensions.

    /// Singular extensions from this depth.
    singular_depth = 7 in 5..=9 step 1;
    /// The table's entry may be shallower by this.
    singular_table_depth = 3 in 2..=5 step 1;
    /// The bar for the other moves is below the table's value by this per ply.
    singular_slope = 2 in 1..=4 step 1;
    /// A second ply when the others are below the bar by this.
    double_margin = 18 in 8..=40 step 4;
    /// A third ply when the others are below the bar by this, and the table's move is quiet.
    triple_margin = 90 in 40..=200 step 10;
    /// In the principal variation the margins of further plies are wider by this.
    double_pv = 120 in 20..=300 step 20;
    /// Second plies in one line.
    doubles_max = 8 in 4..=12 step 1;
    /// Plies less where the table's move fails high and others nearly do.
    negative_table = 2 in 1..=3 step 1;
    /// Plies less where a child is expected to fail high and the table's move is one of several.
    negative_cut = 1 in 0..=2 step 1;

    // Late move reductions, in 1024ths of a ply.

    /// Every quiet move.
    lmr_quiet_base = 640 in 0..=1400 step 100;
    /// Per product of the binary logarithms of depth and number, in thousandths; quiet moves.
    lmr_quiet_slope = 220 in 120..=350 step 16;
    /// The same of noisy moves.
    lmr_noisy_slope = 170 in 80..=300 step 16;
    /// A child is expected to fail high.
    lmr_cut = 1400 in 400..=2600 step 160;
    /// The evaluation is not better than at our last move.
    lmr_not_improving = 600 in 0..=1600 step 120;
    /// The table's move is a capture: quiet moves are worth less.
    lmr_table_noisy = 900 in 0..=1800 step 120;
    /// Many children have failed high: ...
    lmr_cutoffs = 900 in 0..=1800 step 120;
    /// ... more than this.
    lmr_cutoffs_many = 3 in 1..=6 step 1;
    /// Was or is in a principal variation.
    lmr_pv = 1200 in 300..=2400 step 150;
    /// The move gives check.
    lmr_check = 1000 in 0..=2000 step 130;
    /// The move failed high in a sibling.
    lmr_killer = 1000 in 0..=2000 step 130;
    /// The node is hard to judge: less for each centipawn by which its evaluation is corrected.
    lmr_correction = 6 in 0..=30 step 3;
    /// A ply for so much history of a quiet move.
    lmr_quiet_history = 11000 in 5000..=20000 step 1000;
    /// The same of a noisy one.
    lmr_noisy_history = 9000 in 4000..=18000 step 1000;
    /// A reduced search that beats the best by this ...
    deeper_margin = 45 in 20..=80 step 6;
    /// ... and so much per ply is repeated deeper.
    deeper_slope = 2 in 0..=6 step 1;
    /// One that beats it by less than this is repeated less deep.
    shallower_margin = 8 in 4..=16 step 2;

    // Histories.

    /// What a success is worth per ply of depth ...
    bonus_slope = 170 in 80..=350 step 18;
    /// ... less this ...
    bonus_offset = 60 in -200..=300 step 30;
    /// ... at most.
    bonus_max = 1800 in 900..=3500 step 160;
    /// The opponent's quiet move before a node that fails low gets this part of a success, in percent.
    bonus_prior = 60 in 0..=200 step 15;
    /// A quiet move of the table that is believed without a search gets this part of a success, in percent.
    bonus_table = 60 in 0..=200 step 15;
    /// A quiet move gets this for each centipawn by which the evaluation rose with it ...
    swing_slope = 8 in 0..=24 step 2;
    /// ... at most.
    swing_max = 1400 in 400..=3000 step 150;
    /// What a failure costs per ply of depth ...
    malus_slope = 190 in 80..=400 step 18;
    /// ... less this ...
    malus_offset = 40 in -200..=300 step 30;
    /// ... at most.
    malus_max = 1500 in 700..=3200 step 160;

    // The order of quiet moves.

    /// Pawn history counts this hundredth of the butterfly history.
    history_pawns = 100 in 0..=200 step 15;
    /// A piece that leaves a square where a lesser one attacks it comes earlier by this.
    escape_bonus = 8000 in 0..=20000 step 1000;
    /// One that goes to such a square comes later by this.
    exposure_malus = 8000 in 0..=20000 step 1000;
    /// A move that gives check comes earlier by this.
    check_bonus = 4000 in 0..=20000 step 1000;
}

#[cfg(test)]
mod tests {
    use super::TUNABLES;
    use crate::engine::Tunable;

    #[test]
    fn the_table_is_sound() {
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
