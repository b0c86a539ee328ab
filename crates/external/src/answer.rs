//! Answer to a search, its parsing, and limits: common to all protocols.

use std::time::Duration;

use knightwatch_chess::{Game, Move, MoveError, Position};

use super::channel::EngineError;
use super::info::Info;
use super::transcript::printable;

/// Time limit for an engine to have done what it was told before a search.
pub(crate) const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// Upper limit of the options that are kept.
pub(crate) const MAX_OPTIONS: usize = 1_000;

/// Upper limit of a name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 80;

/// Upper limit of a message of an engine, such as the reason for a rejected option, in characters.
pub(crate) const MAX_WHY_CHARS: usize = 200;

/// A best move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The move, which is legal.
    pub mv: Move,
    /// The reply that it expects.
    pub ponder: Option<Move>,
    /// The last information about the best line.
    pub info: Info,
}

/// The opponent of a game, for engines that want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opponent {
    /// Name.
    pub name: String,
    /// Title, such as `GM`.
    pub title: Option<String>,
    /// Rating.
    pub rating: Option<u32>,
    /// Whether it is a program.
    pub is_computer: bool,
}

/// Listener for the lines of a search, and the last one about its best moves.
pub(crate) struct Best<'a> {
    pub on_info: &'a mut dyn FnMut(&Info),
    pub last: Info,
    /// The last `info string`.
    pub said: Option<String>,
}

impl Best<'_> {
    pub(crate) fn add_info(&mut self, info: Info) {
        if !info.pv.is_empty() {
            (self.on_info)(&info);
            if info.multi_pv == 1 {
                self.last = info;
            }
        }
    }

    /// Keeps the line if it is a message of the engine.
    pub(crate) fn add_message(&mut self, line: &str) {
        if let Some(text) = line.strip_prefix("info string ") {
            self.said = Some(printable(text, MAX_WHY_CHARS));
        }
    }

    pub(crate) fn take(&mut self) -> Info {
        std::mem::take(&mut self.last)
    }
}

/// Parses a move in coordinates, or else in SAN.
pub(crate) fn parse_move(position: &Position, text: &str) -> Result<Move, MoveError> {
    position
        .parse_uci(text)
        .or_else(|error| position.parse_san(text).map_err(|_| error))
}

impl EngineError {
    /// The error of a line with a move that is not legal.
    pub(crate) fn illegal(name: &str, game: &Game, line: &str, source: MoveError) -> Self {
        Self::IllegalMove {
            name: name.to_owned(),
            fen: game.position().fen(),
            line: printable(line, MAX_NAME_CHARS),
            source,
        }
    }
}
