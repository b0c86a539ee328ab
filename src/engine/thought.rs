//! What a search is asked for and what it answers: plain values.

use std::fmt;
use std::time::Duration;

use super::Strength;
use crate::chess::Move;

/// The clock of the side to move, as it stands when the search starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Time left.
    pub remaining: Duration,
    /// Added after every move.
    pub increment: Duration,
    /// Moves to the next time control; `None` when the rest of the game is played on this clock.
    pub moves_to_go: Option<u32>,
    /// Kept back from this move, so that it is in time even if it is held up: latency of the network, of the GUI, of
    /// the scheduler.
    pub overhead: Duration,
    /// What each of the moves to come will lose on its way, on average.
    pub lag: Duration,
}

/// When a search ends. Everything `None` and false: only at the greatest depth or when told to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Iterations, in plies.
    pub depth: Option<u32>,
    /// Positions visited by all threads of this search together.
    pub nodes: Option<u64>,
    /// No iteration is begun after so many positions; the one that is on is finished.
    pub soft_nodes: Option<u64>,
    /// Stop as soon as a mate in at most so many moves is found.
    pub mate: Option<u32>,
    /// Exactly this long, unless it is the greatest depth before.
    pub movetime: Option<Duration>,
    /// A share of this clock.
    pub clock: Option<Clock>,
    /// But never longer than this, whatever the clock and the time for the move say; alone, less where the move is clear.
    pub at_most: Option<Duration>,
    /// Do not answer before being stopped, whatever is found.
    pub infinite: bool,
    /// Think on the opponent's time: no time limit holds, and no answer comes, until `ponderhit` or `stop`.
    pub ponder: bool,
    /// Only these moves of the root; empty means all.
    pub search_moves: Vec<Move>,
    /// How many best lines to report; 0 means 1.
    pub multi_pv: usize,
    /// Play below full strength.
    pub strength: Option<Strength>,
}

/// How good a position is for the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Hundredths of a pawn.
    Centipawns(i32),
    /// Mate in so many own moves; negative: we are mated in so many moves; 0: we are mated now.
    Mate(i32),
}

impl fmt::Display for Score {
    /// As UCI has it: `cp 31`, `mate -4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Score::Centipawns(cp) => write!(f, "cp {cp}"),
            Score::Mate(moves) => write!(f, "mate {moves}"),
        }
    }
}

/// How a score relates to the truth at its depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// The score itself.
    #[default]
    Exact,
    /// At least the score (fail high).
    Lower,
    /// At most the score (fail low).
    Upper,
}

/// What the engine thinks: after an iteration, or in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thought {
    /// The best move; `None` only when there is no legal one.
    pub mv: Option<Move>,
    /// The expected reply.
    pub ponder: Option<Move>,
    /// From the side to move's view.
    pub score: Score,
    /// The iteration, in plies: the last one that was completed, or one that has found something before its end.
    pub depth: u32,
    /// The deepest line looked at, in plies.
    pub seldepth: u32,
    /// Positions visited by all threads of this search.
    pub nodes: u64,
    /// Since the start of the search.
    pub elapsed: Duration,
    /// How much of the table this search has filled, in permille.
    pub hashfull: u32,
    /// How well the moves were ordered: of the nodes in which a move failed high, in how many the first one did, in
    /// permille and in the thread that tells; `None` before there was one.
    pub ordering: Option<u32>,
    /// The principal variation, best move first.
    pub pv: Vec<Move>,
    /// 1 for the best line, 2 for the second best, ... (MultiPV).
    pub rank: usize,
    /// How to read the score.
    pub bound: Bound,
}

impl Thought {
    /// A move without thinking behind it: the answer when there was no time to search.
    pub(crate) fn unconsidered(mv: Option<Move>, score: Score) -> Thought {
        Thought {
            mv,
            ponder: None,
            score,
            depth: 0,
            seldepth: 0,
            nodes: 0,
            elapsed: Duration::ZERO,
            hashfull: 0,
            ordering: None,
            pv: mv.into_iter().collect(),
            rank: 1,
            bound: Bound::Exact,
        }
    }

    /// Positions per second.
    pub fn nps(&self) -> u64 {
        let micros = self.elapsed.as_micros().max(1);
        u64::try_from(u128::from(self.nodes) * 1_000_000 / micros).unwrap_or(u64::MAX)
    }
}
