//! Games as PGN, with clocks and evaluations in comments as Lichess writes them.
//!
//! ```
//! use std::time::Duration;
//!
//! use knightwatch::chess::{Game, Position, pgn};
//!
//! let game = Game::from_moves(Position::startpos(), ["e2e4", "e7e5"])?;
//! let mut tags = pgn::Tags::default();
//! tags.set("White", "Knightwatch");
//! let note = pgn::Note {
//!     clock: Some(Duration::from_secs(179)),
//!     eval: Some(pgn::Eval::Centipawns(23)),
//!     ..pgn::Note::default()
//! };
//! let text = pgn::write(&tags, &game, &[note], pgn::Outcome::Draw);
//! assert!(text.contains("[White \"Knightwatch\"]\n"));
//! assert!(text.ends_with("\n1. e4 { [%eval 0.23] [%clk 0:02:59] } 1... e5 1/2-1/2\n"));
//! # Ok::<(), knightwatch::chess::MoveError>(())
//! ```

use std::fmt;
use std::time::Duration;

use super::{Color, Game, Position};

/// How a game ended, as PGN writes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Outcome {
    /// This side won.
    Win(Color),
    /// Nobody won.
    Draw,
    /// The game is not over, or nobody knows.
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

/// An evaluation from White's view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Eval {
    /// In hundredths of a pawn.
    Centipawns(i32),
    /// Mate in so many moves; negative if Black mates.
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

/// What is said about a move.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Note {
    /// What the mover's clock showed after the move; written in whole seconds.
    pub clock: Option<Duration>,
    /// The evaluation after the move.
    pub eval: Option<Eval>,
    /// Free text.
    pub text: String,
}

impl Note {
    fn is_empty(&self) -> bool {
        self.clock.is_none() && self.eval.is_none() && self.text.is_empty()
    }
}

impl Note {
    /// The comment in the parts that no line break may part.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["{".to_owned()];
        if let Some(eval) = self.eval {
            words.push(format!("[%eval {eval}]"));
        }
        if let Some(clock) = self.clock {
            let seconds = clock.as_secs();
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            words.push(format!("[%clk {hours}:{minutes:02}:{seconds:02}]"));
        }
        // A brace would end the comment.
        let text = self.text.replace(['{', '}'], "");
        words.extend(text.split_whitespace().map(str::to_owned));
        words.push("}".to_owned());
        words
    }
}

/// The tags of a game. The seven that every game has come first, with `?` for what is not known.
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
    /// Gives a tag its value; a new tag comes after those that are there. What cannot be part of a tag's name is
    /// left out of it.
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

/// The game as PGN, its lines no longer than 80 columns. `notes[i]` is said about the move of ply `i`; there may be
/// fewer than moves. The tags `Result` and, unless the game began with the start position, `SetUp` and `FEN` are put
/// in place.
pub fn write(tags: &Tags, game: &Game, notes: &[Note], outcome: Outcome) -> String {
    let mut tags = tags.clone();
    tags.set("Result", outcome.to_string());
    if *game.initial() != Position::startpos() {
        tags.set("SetUp", "1");
        tags.set("FEN", game.initial().fen());
    }

    let mut lines = Lines::default();
    let mut position = game.initial().clone();
    let mut numbered = false;
    for (ply, &mv) in game.moves().iter().enumerate() {
        let number = position.fullmove_number();
        match position.turn() {
            Color::White => lines.word(&format!("{number}.")),
            Color::Black if !numbered => lines.word(&format!("{number}...")),
            Color::Black => {}
        }
        lines.word(&position.san(mv));
        let note = notes.get(ply).filter(|note| !note.is_empty());
        if let Some(note) = note {
            note.words().iter().for_each(|word| lines.word(word));
        }
        // After a comment Black's move needs its number again.
        numbered = note.is_none();
        position.play(mv);
    }
    lines.word(&outcome.to_string());
    format!("{tags}\n{}\n", lines.text)
}

/// Words in lines of at most 80 columns.
#[derive(Default)]
struct Lines {
    text: String,
    column: usize,
}

impl Lines {
    fn word(&mut self, word: &str) {
        let width = word.chars().count();
        if self.column > 0 {
            if self.column + 1 + width > 80 {
                self.text.push('\n');
                self.column = 0;
            } else {
                self.text.push(' ');
                self.column += 1;
            }
        }
        self.text += word;
        self.column += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_from_a_position_says_so_and_counts_on() {
        let fen = "4k3/4p3/8/8/8/8/8/4K2R b K - 0 30";
        let position = Position::from_fen(fen).expect("a position");
        let game = Game::from_moves(position, ["e7e5", "e1g1"]).expect("legal moves");
        let text = write(&Tags::default(), &game, &[], Outcome::Win(Color::White));
        assert!(
            text.contains(&format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n")),
            "{text}"
        );
        assert!(text.contains("[Result \"1-0\"]\n"), "{text}");
        assert!(text.ends_with("\n\n30... e5 31. O-O 1-0\n"), "{text}");
    }

    #[test]
    fn what_is_said_cannot_break_out() {
        let game = Game::from_moves(Position::startpos(), ["e2e4"]).expect("legal moves");
        let mut tags = Tags::default();
        tags.set("White", "a \"b\" \\ c\n[Evil \"1\"]");
        let note = Note {
            text: "fine } 1. d4\nmove".to_owned(),
            ..Note::default()
        };
        let text = write(&tags, &game, &[note], Outcome::Unknown);
        assert!(
            text.contains("[White \"a \\\"b\\\" \\\\ c[Evil \\\"1\\\"]\"]\n"),
            "{text}"
        );
        assert!(text.ends_with("\n1. e4 { fine 1. d4 move } *\n"), "{text}");
    }

    #[test]
    fn lines_are_no_longer_than_80_columns() {
        let shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"];
        let moves = shuffle.iter().cycle().take(200);
        let game = Game::from_moves(Position::startpos(), moves).expect("legal moves");
        let text = write(&Tags::default(), &game, &[], Outcome::Draw);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert!(text.contains("100. Ng1 Ng8 1/2-1/2"));
    }

    #[test]
    fn evaluations_as_lichess_writes_them() {
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
