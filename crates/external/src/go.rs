//! Limits of a search, in any protocol.

use std::time::Duration;

use knightwatch_chess::{CastlingNotation, Color, Move};

/// Limits of a search; without any it runs until it is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Go {
    /// Nodes.
    pub nodes: Option<u64>,
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Time for the move.
    pub movetime: Option<Duration>,
    /// Clocks of the game.
    pub clock: Option<Clocks>,
    /// Moves to choose from; empty for all.
    pub search_moves: Vec<Move>,
    /// Ponder: the limits hold from the opponent's move on.
    pub ponder: bool,
}

/// Clocks of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clocks {
    /// White's time.
    pub white: Duration,
    /// Black's time.
    pub black: Duration,
    /// Added after every move.
    pub increment: Duration,
    /// Moves to the next time control; `None` in sudden death.
    pub moves_to_go: Option<u32>,
}

impl Clocks {
    /// The time of a side.
    pub(crate) fn of(&self, side: Color) -> Duration {
        match side {
            Color::White => self.white,
            Color::Black => self.black,
        }
    }
}

/// Milliseconds, at least one.
pub(crate) fn ms(time: Duration) -> u64 {
    (time.as_millis() as u64).max(1)
}

impl Go {
    /// The command of UCI.
    pub(crate) fn uci(&self, notation: CastlingNotation) -> String {
        let mut words = vec!["go".to_owned()];
        if self.ponder {
            words.push("ponder".to_owned());
        }
        let mut word = |name: &str, value: u64| words.push(format!("{name} {value}"));
        if let Some(nodes) = self.nodes {
            word("nodes", nodes);
        }
        if let Some(depth) = self.depth {
            word("depth", depth.into());
        }
        if let Some(time) = self.movetime {
            word("movetime", ms(time));
        }
        if let Some(clock) = self.clock {
            word("wtime", ms(clock.white));
            word("btime", ms(clock.black));
            let increment = clock.increment.as_millis() as u64;
            word("winc", increment);
            word("binc", increment);
            if let Some(moves) = clock.moves_to_go {
                word("movestogo", moves.into());
            }
        }
        if words.len() == 1 {
            words.push("infinite".to_owned());
        }
        if !self.search_moves.is_empty() {
            words.push("searchmoves".to_owned());
            let moves = self.search_moves.iter();
            words.extend(moves.map(|mv| mv.uci(notation).to_string()));
        }
        words.join(" ")
    }
}
