//! Inputs and results of a search: plain values.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use super::Strength;
use knightwatch_chess::Move;

/// The clock of the side to move at the start of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Time left.
    pub remaining: Duration,
    /// Added to the clock after every move.
    pub increment: Duration,
    /// Moves to the next time control; `None` in sudden death.
    pub moves_to_go: Option<u32>,
    /// Safety margin of this move for delays of the network, the GUI and the scheduler.
    pub overhead: Duration,
    /// Expected mean delay of each future move.
    pub lag: Duration,
    /// Whether the engine ponders in this game: a part of its moves is searched on the opponent's time, so that each may
    /// take longer.
    pub ponders: bool,
}

/// When a search ends. By default only at the maximum depth or when stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum depth, in plies.
    pub depth: Option<u32>,
    /// Positions visited by all threads of this search together.
    pub nodes: Option<u64>,
    /// Start no iteration after this many positions; the running one is completed.
    pub soft_nodes: Option<u64>,
    /// Measure time in positions: this many are a millisecond. A game on such a clock does not depend on the machine.
    pub nodes_per_ms: Option<NonZeroU64>,
    /// Stop as soon as a mate in at most this many moves is found.
    pub mate: Option<u32>,
    /// Use exactly this much time, unless the maximum depth is reached first.
    pub movetime: Option<Duration>,
    /// Manage time for this clock.
    pub clock: Option<Clock>,
    /// Upper bound of the time for the move, whatever `clock` and `movetime` say. On its own, an obvious move takes
    /// less.
    pub max_time: Option<Duration>,
    /// Search until stopped.
    pub infinite: bool,
    /// Search on the opponent's time: time limits do not apply, and no result is reported, until `ponderhit` or
    /// `stop`.
    pub ponder: bool,
    /// Search only these root moves; empty means all.
    pub search_moves: Vec<Move>,
    /// Number of lines to report (MultiPV); 0 means 1.
    pub multi_pv: usize,
    /// Play below full strength.
    pub strength: Option<Strength>,
}

/// The value of a position, for the side to move unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Centipawns, 100 for the value of a pawn.
    Centipawns(i32),
    /// Mate in this many moves of our own; negative if we are mated; 0 if we are mated now.
    Mate(i32),
}

impl Score {
    /// The form of the UCI protocol: `cp 31`, `mate -4`.
    pub fn uci(self) -> String {
        match self {
            Score::Centipawns(cp) => format!("cp {cp}"),
            Score::Mate(moves) => format!("mate {moves}"),
        }
    }
}

/// `+0.35`, `-1.20`, `#4`, `#-3`.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Score::Centipawns(cp) => {
                let sign = if cp < 0 { '-' } else { '+' };
                let cp = cp.unsigned_abs();
                write!(f, "{sign}{}.{:02}", cp / 100, cp % 100)
            }
            Score::Mate(moves) => write!(f, "#{moves}"),
        }
    }
}

/// How a score relates to the true value at its depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// The true value.
    #[default]
    Exact,
    /// A lower bound (fail high).
    Lower,
    /// An upper bound (fail low).
    Upper,
}

/// State of a search, after an iteration or at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchInfo {
    /// The best move; `None` only if there is no legal one.
    pub mv: Option<Move>,
    /// The expected reply.
    pub ponder: Option<Move>,
    /// From the side to move's point of view.
    pub score: Score,
    /// Wins, draws and losses in permille, if the engine has said them.
    pub wdl: Option<[u32; 3]>,
    /// Depth in plies of the last completed iteration, or of an unfinished one that has found a better move.
    pub depth: u32,
    /// Length of the longest line searched, in plies.
    pub seldepth: u32,
    /// Positions visited by all threads of this search.
    pub nodes: u64,
    /// Time since the start of the search.
    pub elapsed: Duration,
    /// Permille of the transposition table filled by this search.
    pub hashfull: u32,
    /// Move ordering quality: how often a beta cutoff came from the first move tried, in permille, in the reporting
    /// thread; `None` before the first cutoff.
    pub ordering: Option<u32>,
    /// The principal variation, best move first.
    pub pv: Vec<Move>,
    /// Index of the line in MultiPV: 1 for the best.
    pub multipv: usize,
    /// How the score relates to the true value.
    pub bound: Bound,
}

impl SearchInfo {
    /// A result for when no iteration was completed.
    pub(crate) fn without_search(mv: Option<Move>, score: Score) -> SearchInfo {
        SearchInfo {
            mv,
            ponder: None,
            score,
            wdl: None,
            depth: 0,
            seldepth: 0,
            nodes: 0,
            elapsed: Duration::ZERO,
            hashfull: 0,
            ordering: None,
            pv: mv.into_iter().collect(),
            multipv: 1,
            bound: Bound::Exact,
        }
    }

    /// Nodes per second.
    pub fn nps(&self) -> u64 {
        let micros = self.elapsed.as_micros().max(1);
        u64::try_from(u128::from(self.nodes) * 1_000_000 / micros).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_display_below_one_pawn_keeps_sign() {
        assert_eq!(Score::Centipawns(-5).to_string(), "-0.05");
        assert_eq!(Score::Centipawns(0).to_string(), "+0.00");
        assert_eq!(Score::Centipawns(i32::MIN).to_string(), "-21474836.48");
        assert_eq!(Score::Mate(4).to_string(), "#4");
        assert_eq!(Score::Mate(-3).to_string(), "#-3");
    }
}
