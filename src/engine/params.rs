//! The numbers of the search, each with the range in which it makes sense.
//!
//! Values are centipawns, depths plies, reductions 1024ths of a ply.

use super::value::Value;

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

// Iterations.

/// Half of the first aspiration window (8 to 40).
pub(crate) const ASPIRATION_WINDOW: Value = 14;
/// No windows in shallower iterations (3 to 8).
pub(crate) const ASPIRATION_DEPTH: i32 = 5;
/// The root is searched by at most so much less deep after failing high (0 to 4).
pub(crate) const FAIL_HIGH_REDUCTION_MAX: i32 = 3;
/// A forced move gets this many iterations for a score to show (1 to 10).
pub(crate) const FORCED_DEPTH: usize = 4;

// Whole nodes.

/// The table's values are no proof when the fifty-move rule is nearer (80 to 98).
pub(crate) const TRUSTED_HALFMOVES: u32 = 88;
/// Reverse futility per ply (50 to 120).
pub(crate) const RFP_MARGIN: Value = 78;
/// Reverse futility up to this depth (5 to 12).
pub(crate) const RFP_DEPTH: i32 = 9;
/// Razoring per ply (150 to 400).
pub(crate) const RAZOR_MARGIN: Value = 260;
/// Razoring up to this depth (1 to 5).
pub(crate) const RAZOR_DEPTH: i32 = 4;
/// Null move from this depth (2 to 4).
pub(crate) const NULL_DEPTH: i32 = 3;
/// Null move: plies less, beside a third of the depth (3 to 6).
pub(crate) const NULL_REDUCTION: i32 = 4;
/// Null move: one ply less for every so much above beta (100 to 300).
pub(crate) const NULL_SURPLUS: Value = 200;
/// Null move: not more plies less for being above beta (2 to 5).
pub(crate) const NULL_SURPLUS_MAX: Value = 3;
/// Null move: the evaluation may be below beta by this per ply (0 to 40) ...
pub(crate) const NULL_EVAL_SLOPE: Value = 20;
/// ... less this (0 to 250).
pub(crate) const NULL_EVAL_MARGIN: Value = 120;
/// Null move: verified from this depth (10 to 18).
pub(crate) const NULL_VERIFY_DEPTH: i32 = 14;
/// ProbCut: above beta (100 to 300).
pub(crate) const PROBCUT_MARGIN: Value = 190;
/// ProbCut: less when improving (0 to 100).
pub(crate) const PROBCUT_IMPROVING: Value = 50;
/// ProbCut: from this depth (4 to 7).
pub(crate) const PROBCUT_DEPTH: i32 = 5;
/// ProbCut: plies less (3 to 5).
pub(crate) const PROBCUT_REDUCTION: i32 = 4;
/// Internal iterative reduction from this depth (3 to 6).
pub(crate) const IIR_DEPTH: i32 = 4;

// Single moves.

/// Noisy moves may lose this per ply (50 to 150) ...
pub(crate) const SEE_NOISY_MARGIN: Value = 85;
/// ... and more with a good history: a centipawn per so much (50 to 200).
pub(crate) const SEE_NOISY_HISTORY: i32 = 100;
/// Losing noisy moves are skipped up to this depth (6 to 12).
pub(crate) const SEE_NOISY_DEPTH: i32 = 9;
/// Quiet moves may lose this per reduced ply squared (15 to 40).
pub(crate) const SEE_QUIET_MARGIN: Value = 24;
/// Losing quiet moves are skipped up to this reduced depth (5 to 12).
pub(crate) const SEE_QUIET_DEPTH: i32 = 9;
/// Futility: base (30 to 150).
pub(crate) const FUTILITY_BASE: Value = 90;
/// Futility: per reduced ply (50 to 150).
pub(crate) const FUTILITY_SLOPE: Value = 85;
/// Futility up to this reduced depth (5 to 12).
pub(crate) const FUTILITY_DEPTH: i32 = 9;
/// Quiet moves with a history below minus this per ply are skipped (1,000 to 6,000) ...
pub(crate) const HISTORY_MARGIN: i32 = 3_500;
/// ... up to this reduced depth (2 to 6).
pub(crate) const HISTORY_DEPTH: i32 = 4;
/// Singular extensions from this depth (5 to 9).
pub(crate) const SINGULAR_DEPTH: i32 = 7;
/// The bar for the other moves is below the table's value by this per ply (1 to 4).
pub(crate) const SINGULAR_SLOPE: Value = 2;
/// A second ply when the others are below the bar by this (8 to 40).
pub(crate) const DOUBLE_MARGIN: Value = 18;
/// Second plies in one line (4 to 12).
pub(crate) const DOUBLES_MAX: u32 = 8;
/// Quiescence: exchanges may lose this (1 to 100).
pub(crate) const QUIESCENCE_LOSS: Value = 40;
/// Quiescence: what a capture brings beside what it takes (50 to 300).
pub(crate) const QUIESCENCE_FUTILITY: Value = 160;

// Late move reductions, in 1024ths of a ply.

/// Expected to fail high.
pub(crate) const LMR_CUT: i32 = 1_400;
/// The evaluation is not better than at our last move.
pub(crate) const LMR_NOT_IMPROVING: i32 = 600;
/// The table's move is a capture: quiet moves are worth less.
pub(crate) const LMR_TABLE_NOISY: i32 = 900;
/// Many children have failed high.
pub(crate) const LMR_CUTOFFS: i32 = 900;
/// Was or is in a principal variation.
pub(crate) const LMR_PV: i32 = 1_200;
/// The move gives check.
pub(crate) const LMR_CHECK: i32 = 1_000;
/// The move failed high in a sibling.
pub(crate) const LMR_KILLER: i32 = 1_000;
/// A ply for so much history of a quiet move (5,000 to 20,000).
pub(crate) const LMR_QUIET_HISTORY: i32 = 11_000;
/// The same of a noisy one.
pub(crate) const LMR_NOISY_HISTORY: i32 = 9_000;
/// A reduced search that beats the best by this, and two more per ply, is repeated deeper (20 to 80).
pub(crate) const DEEPER_MARGIN: Value = 45;
/// One that beats it by less than this is repeated less deep (4 to 16).
pub(crate) const SHALLOWER_MARGIN: Value = 8;

/// By how much a move is reduced for coming late: with the logarithms of depth and number.
pub(crate) const fn late_move_reduction(depth: i32, count: usize, noisy: bool) -> i32 {
    let depth = LOG2[if depth > 63 { 63 } else { depth as usize }];
    let count = LOG2[if count > 63 { 63 } else { count }];
    let product = depth * count / 1024;
    if noisy {
        product * 17 / 100
    } else {
        640 + product * 22 / 100
    }
}

/// Binary logarithms in 1024ths; of 0 it is 0 as well. Integers, so that all machines search alike.
const LOG2: [i32; 64] = {
    let mut table = [0; 64];
    let mut n = 1;
    while n < 64 {
        table[n] = log2(n as u64);
        n += 1;
    }
    table
};

const fn log2(n: u64) -> i32 {
    const FRACTION_BITS: u32 = 10;
    let whole = n.ilog2();
    // The mantissa, between 1 and 2, in 32 bits of fraction; squaring it yields the next bit of its logarithm.
    let mut mantissa = (n << 32) >> whole;
    let mut log = whole as i32;
    let mut bit = 0;
    while bit < FRACTION_BITS {
        mantissa = ((mantissa as u128 * mantissa as u128) >> 32) as u64;
        log *= 2;
        if mantissa >= 2 << 32 {
            mantissa >>= 1;
            log += 1;
        }
        bit += 1;
    }
    log
}

/// From this number on, quiet moves are skipped.
pub(crate) const fn late_move_count(depth: i32) -> usize {
    (6 + 3 * depth * depth / 2) as usize
}

/// What a success at `depth` is worth in a history.
pub(crate) const fn bonus(depth: i32) -> i32 {
    let bonus = 170 * depth - 60;
    if bonus > 1_800 { 1_800 } else { bonus }
}

/// What a failure at `depth` costs in a history.
pub(crate) const fn malus(depth: i32) -> i32 {
    let malus = 190 * depth - 40;
    if malus > 1_500 { 1_500 } else { malus }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right() {
        for n in 1..64_u64 {
            let exact = (n as f64).log2() * 1024.0;
            assert!((f64::from(LOG2[n as usize]) - exact).abs() <= 1.0, "{n}");
        }
    }

    #[test]
    fn reductions_grow_with_depth_and_number() {
        for depth in 2..40 {
            for count in 2..60 {
                let here = late_move_reduction(depth, count, false);
                assert!(late_move_reduction(depth + 1, count, false) >= here);
                assert!(late_move_reduction(depth, count + 1, false) >= here);
                assert!(late_move_reduction(depth, count, true) <= here);
            }
        }
    }
}
