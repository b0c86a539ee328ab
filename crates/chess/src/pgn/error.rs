//! Errors of reading PGN.

use std::fmt;

use crate::quote::Quoted;
use crate::{Color, FenError, MoveError};

/// A game that could not be read. The reader skips it and continues with the next one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// Line in the text, from 1.
    pub line: u64,
    /// Number of the move and side to move; `None` before the moves.
    pub at: Option<(u32, Color)>,
    /// The cause.
    pub problem: Problem,
}

/// Cause of a [`ReadError`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// A tag is not of the form `[Name "value"]`.
    Tag(String),
    /// The tag `FEN` is not a valid position.
    Fen(FenError),
    /// The tag `Variant` names an unsupported variant.
    Variant(String),
    /// A move is invalid.
    Move(MoveError),
    /// An unexpected character.
    Unexpected(char),
    /// A comment is not closed.
    OpenComment,
    /// A variation is not closed.
    OpenVariation,
    /// The game has too much text.
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
            Problem::Tag(text) => write!(f, "{text:?} is not a tag like [White \"Anna\"]"),
            Problem::Fen(error) => write!(f, "tag FEN: {error}"),
            Problem::Variant(name) => write!(f, "unsupported variant {}", Quoted(name)),
            Problem::Move(error) => error.fmt(f),
            Problem::Unexpected(letter) => write!(f, "unexpected {letter:?}"),
            Problem::OpenComment => f.write_str("comment is not closed"),
            Problem::OpenVariation => f.write_str("variation is not closed"),
            Problem::TooLong => f.write_str("game is too long"),
        }
    }
}

impl std::error::Error for ReadError {}
