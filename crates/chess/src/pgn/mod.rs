//! Portable Game Notation (PGN), with clocks and evaluations in comments as on Lichess: [`write()`] for one game,
//! [`Reader`] for any number.
//!
//! ```
//! use std::time::Duration;
//!
//! use knightwatch_chess::{Game, Position, pgn};
//!
//! let game = Game::from_moves(Position::startpos(), ["e2e4", "e7e5"])?;
//! let mut tags = pgn::Tags::default();
//! tags.set("White", "Knightwatch");
//! let comment = pgn::MoveComment {
//!     clock: Some(Duration::from_secs(179)),
//!     eval: Some(pgn::Eval::Centipawns(23)),
//!     ..pgn::MoveComment::default()
//! };
//! let text = pgn::write(&tags, &game, &[comment], pgn::Outcome::Draw);
//! assert!(text.contains("[White \"Knightwatch\"]\n"));
//! assert!(text.ends_with("\n1. e4 { [%eval 0.23] [%clk 0:02:59] } 1... e5 1/2-1/2\n"));
//! # Ok::<(), knightwatch_chess::MoveError>(())
//! ```

use std::fmt;
use std::time::Duration;

use super::Color;

mod comment;
mod error;
mod reader;
mod writer;

pub use error::{Problem, ReadError};
pub use reader::{Reader, Record};
pub use writer::write;

/// The result of a game.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Outcome {
    /// This side won.
    Win(Color),
    /// Nobody won.
    Draw,
    /// The game is not over, or the result is unknown.
    #[default]
    Unknown,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Win(Color::White) => "1-0",
            Outcome::Win(Color::Black) => "0-1",
            Outcome::Draw => "1/2-1/2",
            Outcome::Unknown => "*",
        })
    }
}

/// An evaluation from White's point of view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Eval {
    /// Hundredths of a pawn.
    Centipawns(i32),
    /// Mate in this many moves; negative if Black mates.
    Mate(i32),
}

impl fmt::Display for Eval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Eval::Centipawns(score) => {
                let sign = if score < 0 { "-" } else { "" };
                let score = score.unsigned_abs();
                write!(f, "{sign}{}.{:02}", score / 100, score % 100)
            }
            Eval::Mate(moves) => write!(f, "#{moves}"),
        }
    }
}

/// Comment on a move.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MoveComment {
    /// The mover's clock after the move; written in whole seconds.
    pub clock: Option<Duration>,
    /// The evaluation after the move.
    pub eval: Option<Eval>,
    /// Free text.
    pub text: String,
}

impl MoveComment {
    fn is_empty(&self) -> bool {
        self.clock.is_none() && self.eval.is_none() && self.text.is_empty()
    }
}

/// The tags of a game. The seven tags of the roster come first, with `?` for unknown values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tags(Vec<(String, String)>);

impl Default for Tags {
    fn default() -> Tags {
        let unknown = [
            ("Event", "?"),
            ("Site", "?"),
            ("Date", "????.??.??"),
            ("Round", "?"),
            ("White", "?"),
            ("Black", "?"),
            ("Result", "*"),
        ];
        Tags(
            unknown
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
        )
    }
}

impl Tags {
    /// Sets a tag; a new tag is appended. Characters not allowed in tag names are removed from `name`.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => {
                let name: String = name
                    .chars()
                    .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
                    .collect();
                self.0.push((name, value));
            }
        }
    }

    /// The value of a tag.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some(value)
    }

    /// All tags and their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let tags = self.0.iter();
        tags.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.0 {
            write!(f, "[{name} \"")?;
            for letter in value.chars().filter(|letter| !letter.is_control()) {
                if matches!(letter, '"' | '\\') {
                    f.write_str("\\")?;
                }
                write!(f, "{letter}")?;
            }
            f.write_str("\"]\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evals_are_written_as_on_lichess() {
        let written = [
            Eval::Centipawns(-5),
            Eval::Centipawns(123),
            Eval::Mate(-3),
            Eval::Centipawns(i32::MIN),
        ]
        .map(|eval| eval.to_string());
        assert_eq!(written, ["-0.05", "1.23", "#-3", "-21474836.48"]);
    }
}
