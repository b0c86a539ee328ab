//! What can be wrong with games that are read.

use std::fmt;

use crate::chess::quote::Quoted;
use crate::chess::{Color, FenError, MoveError};

/// Why a game could not be read. The rest of the game is skipped, and the next one is read again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The line of the text, from 1.
    pub line: u64,
    /// The number of the move that was to be read, and whose move it was; nothing before the moves.
    pub at: Option<(u32, Color)>,
    /// What was wrong.
    pub problem: Problem,
}

/// What was wrong with a game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// It is not of the form `[Name "value"]`.
    Tag(String),
    /// The tag `FEN` holds no position.
    Fen(FenError),
    /// The tag `Variant` names another game than chess.
    Variant(String),
    /// The move cannot be played.
    Move(MoveError),
    /// This has no meaning where it stands.
    Unexpected(char),
    /// A comment never ends.
    OpenComment,
    /// A variation never ends.
    OpenVariation,
    /// More text than any game has.
    TooLong,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some((number, color)) = self.at {
            let dots = if color == Color::White { "." } else { "..." };
            write!(f, ", move {number}{dots}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Tag(text) => write!(f, "{text:?} is no tag; one is like [White \"Anna\"]"),
            Problem::Fen(error) => write!(f, "the tag FEN: {error}"),
            Problem::Variant(name) => write!(f, "the variant {} is not known", Quoted(name)),
            Problem::Move(error) => error.fmt(f),
            Problem::Unexpected(letter) => write!(f, "{letter:?} has no meaning here"),
            Problem::OpenComment => f.write_str("the comment does not end"),
            Problem::OpenVariation => f.write_str("the variation does not end"),
            Problem::TooLong => f.write_str("the game has more text than any game"),
        }
    }
}

impl std::error::Error for ReadError {}
