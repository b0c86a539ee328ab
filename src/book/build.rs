//! From lines of moves to a book.
//!
//! A text has one line of moves per line, from the start position, in SAN, with or without move numbers. What follows a `#`
//! at the start of a word is a comment.
//!
//! ```text
//! # Ruy Lopez
//! 30  1. e4 e5 2. Nf3 Nc6 3. Bb5 a6! 4. Ba4   # counts as much as three lines without a number
//!     1. e4 e5 2. Qh5?! Nc6                   # played half as often
//!     1. e4 e5 2. f4 exf4 3. Ke2? Qh4+        # never played, but answered
//! ```
//!
//! A line adds its weight, the number in front or else 10, to each of its moves: doubled by `!`, four times by `!!`, half by
//! `?!`; `!?` changes nothing. What lines have in common, in whatever order of moves, adds up. A move that some line marks
//! with `?` or `??`, or that only lines of weight 0 have, stands in the book with weight 0: the reply is known, the move
//! is not played.
//!
//! Games add to that: each move of a game counts two points if its side won and one if the game was drawn, for moves
//! that enough games have.

use std::collections::BTreeMap;
use std::fmt;

use super::games::Games;
use super::{GameOptions, Record};
use crate::chess::{Color, Position, pgn};

/// The weight of a line without a number.
const DEFAULT_WEIGHT: u16 = 10;

/// Collects lines of moves and games, and makes a book of them.
#[derive(Debug, Default)]
pub struct Builder {
    /// By key of the position, then by move as a [`Record`] has it.
    positions: BTreeMap<u64, BTreeMap<u16, Tally>>,
    lines: usize,
    problems: Vec<Problem>,
    games: Games,
    options: GameOptions,
}

/// What the lines say about a move.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    weight: u64,
    refused: bool,
}

/// Something wrong with a text of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The name of the text.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// What is wrong, with the number of the move.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            file,
            line,
            column,
            message,
        } = self;
        write!(f, "{file}:{line}:{column}: {message}")
    }
}

/// Why there is no book: all problems, the first of each bad line, in their order; none if there was not a single move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// What is wrong, and where.
    pub problems: Vec<Problem>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut problems = self.problems.iter();
        match problems.next() {
            None => {
                return write!(
                    f,
                    "there is no line of moves to make a book of, and no move of enough games"
                );
            }
            Some(first) => write!(f, "{first}")?,
        }
        problems.try_for_each(|problem| write!(f, "\n{problem}"))
    }
}

impl std::error::Error for BuildError {}

/// The bytes of the book that a text of lines makes.
///
/// ```
/// use knightwatch::book::{Book, build};
/// use knightwatch::chess::Position;
///
/// let bytes = build("e4 e5 Nf3\nd4 d5 c4\n1. e4 c5")?;
/// let book = Book::from_bytes("mine", bytes)?;
/// let start = Position::startpos();
/// let moves: Vec<_> = book.entries(&start).iter().map(|e| (start.san(e.mv), e.weight)).collect();
/// assert_eq!(moves, [("e4".to_owned(), 20), ("d4".to_owned(), 10)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`BuildError`] if a line is wrong or there is none.
pub fn build(text: &str) -> Result<Vec<u8>, BuildError> {
    let mut builder = Builder::default();
    builder.add("lines", text);
    builder.finish()
}

impl Builder {
    /// A builder that takes in games by these options.
    pub fn with_games(options: GameOptions) -> Builder {
        Builder {
            options,
            ..Builder::default()
        }
    }

    /// Takes in a game, if its players are strong enough.
    pub fn add_game(&mut self, record: &pgn::Record) {
        self.games.add(record, &self.options);
    }

    /// How many games were taken in.
    pub fn games(&self) -> u64 {
        self.games.taken()
    }

    /// Takes in a text of lines; its problems, which call it by `name`, come to light in [`Builder::finish`].
    pub fn add(&mut self, name: &str, text: &str) {
        for (index, line) in text.lines().enumerate() {
            if let Err((column, message)) = self.add_line(line) {
                self.problems.push(Problem {
                    file: name.to_owned(),
                    line: index + 1,
                    column,
                    message,
                });
            }
        }
    }

    /// How many lines of moves there were.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The bytes of the book. Weights are as they add up, if need be scaled down, position by position, to what a
    /// record can hold.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if there was a problem or not a single move.
    pub fn finish(mut self) -> Result<Vec<u8>, BuildError> {
        for (key, mv, points) in self.games.kept(self.options.min_games) {
            let moves = self.positions.entry(key).or_default();
            let tally = moves.entry(mv).or_default();
            tally.weight = tally.weight.saturating_add(points);
        }
        if !self.problems.is_empty() || self.positions.is_empty() {
            let problems = self.problems;
            return Err(BuildError { problems });
        }
        let mut bytes = Vec::new();
        for (key, moves) in self.positions {
            for (mv, weight) in ranked(moves) {
                let record = Record {
                    key,
                    mv,
                    weight,
                    learn: 0,
                };
                bytes.extend(record.to_bytes());
            }
        }
        Ok(bytes)
    }

    /// Takes in one line; an error is a column and a message.
    fn add_line(&mut self, line: &str) -> Result<(), (usize, String)> {
        let mut words = words(line).peekable();
        let mut weight = DEFAULT_WEIGHT;
        if let Some(&(column, word)) = words.peek()
            && word.bytes().all(|byte| byte.is_ascii_digit())
        {
            let parsed = word.parse();
            weight =
                parsed.map_err(|_| (column, format!("weight {word} is above {}", u16::MAX)))?;
            words.next();
        }
        let mut position = Position::startpos();
        let mut played = false;
        for (column, word) in words {
            let (number, san) = split_number(word);
            let at = |text| (column, format!("{}: {text}", place(&position)));
            if number.is_some_and(|number| number != position.fullmove_number().to_string()) {
                return Err(at(format!("\"{word}\" has another number")));
            }
            if san.is_empty() {
                continue;
            }
            let mark = &san[san.trim_end_matches(['!', '?']).len()..];
            let (weight, refused) = marked(weight, mark)
                .ok_or_else(|| at(format!("\"{mark}\" is none of the marks ! !! !? ?! ? ??")))?;
            let mv = position.parse_san(san).map_err(|e| at(e.to_string()))?;
            let moves = self.positions.entry(position.key()).or_default();
            let tally = moves.entry(Record::write_move(mv)).or_default();
            tally.weight = tally.weight.saturating_add(weight);
            tally.refused |= refused;
            position.play(mv);
            played = true;
        }
        self.lines += usize::from(played);
        Ok(())
    }
}

/// The words of a line up to a comment, each with its column.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 1;
    line.split(char::is_whitespace)
        .map(move |word| {
            let column = next;
            next += word.chars().count() + 1;
            (column, word)
        })
        .filter(|(_, word)| !word.is_empty())
        .take_while(|(_, word)| !word.starts_with('#'))
}

/// Takes apart a move number like `12.` or `12...` and what follows it without a space.
fn split_number(word: &str) -> (Option<&str>, &str) {
    let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match word.split_at(digits) {
        (number, rest) if digits > 0 && rest.starts_with('.') => {
            (Some(number), rest.trim_start_matches('.'))
        }
        _ => (None, word),
    }
}

/// The weight of a move with this mark in a line of this weight, and whether it is never to be played.
fn marked(weight: u16, mark: &str) -> Option<(u64, bool)> {
    let weight = u64::from(weight);
    Some(match mark {
        "" | "!?" => (weight, false),
        "!" => (weight * 2, false),
        "!!" => (weight * 4, false),
        "?!" => (weight.div_ceil(2), false),
        "?" | "??" => (0, true),
        _ => return None,
    })
}

/// Whose which move it is.
fn place(position: &Position) -> String {
    let color = match position.turn() {
        Color::White => "White",
        Color::Black => "Black",
    };
    format!("move {} of {color}", position.fullmove_number())
}

/// The moves of a position with their weights, the best first.
fn ranked(moves: BTreeMap<u16, Tally>) -> Vec<(u16, u16)> {
    let weight = |tally: &Tally| if tally.refused { 0 } else { tally.weight };
    let heaviest = moves.values().map(weight).max().unwrap_or(0);
    let scaled = |weight: u64| match u16::try_from(heaviest) {
        Ok(_) => weight,
        Err(_) if weight == 0 => 0,
        Err(_) => (u128::from(weight) * u128::from(u16::MAX) / u128::from(heaviest)).max(1) as u64,
    };
    let mut ranked: Vec<_> = moves
        .iter()
        .map(|(&mv, tally)| (mv, scaled(weight(tally)) as u16))
        .collect();
    ranked.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Book;

    /// The moves of the position after a line, with their weights.
    fn moves(text: &str, line: &str) -> Vec<(String, u16)> {
        let book = Book::from_bytes("test", build(text).unwrap()).unwrap();
        let mut position = Position::startpos();
        for san in line.split_whitespace() {
            position.play(position.parse_san(san).unwrap());
        }
        let entries = book.entries(&position);
        entries
            .iter()
            .map(|entry| (position.san(entry.mv), entry.weight))
            .collect()
    }

    fn weights<const N: usize>(list: [(&str, u16); N]) -> Vec<(String, u16)> {
        list.map(|(san, weight)| (san.to_owned(), weight)).to_vec()
    }

    fn messages(text: &str) -> Vec<String> {
        let problems = build(text).unwrap_err().problems;
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn lines_add_up_and_the_best_comes_first() {
        let text = "d4 d5\ne4 e5\ne4 c5";
        assert_eq!(moves(text, ""), weights([("e4", 20), ("d4", 10)]));
    }

    #[test]
    fn numbers_and_comments_may_be_there() {
        let text =
            "# all\n\n  # more\n1. e4 e5 2.Nf3 2...Nc6 3. Bb5 # Spanish\n1.e4 e5 2. Nf3 Nc6 3.Bc4";
        let replies = weights([("Bb5", 10), ("Bc4", 10)]);
        let mut found = moves(text, "e4 e5 Nf3 Nc6");
        found.sort();
        assert_eq!(found, replies);
    }

    #[test]
    fn a_mate_mark_is_no_comment() {
        let text = "f3 e5 g4 Qh4#\nf3 e5 g4 Qh4# # mate";
        assert_eq!(moves(text, "f3 e5 g4"), weights([("Qh4#", 20)]));
    }

    #[test]
    fn a_number_in_front_is_the_weight_of_the_line() {
        let text = "35 e4 e5\n1 d4 d5\n0 c4";
        let expected = weights([("e4", 35), ("d4", 1), ("c4", 0)]);
        assert_eq!(moves(text, ""), expected);
    }

    #[test]
    fn marks_change_the_weight_of_their_move_alone() {
        let text = "e4! e5\nd4!! d5\nc4!? c5\nNf3?! d5\n1 b3?!\nf4? d5\nf4 e5\nf3?? e5";
        let expected = weights([
            ("d4", 40),
            ("e4", 20),
            ("c4", 10),
            ("Nf3", 5),
            ("b3", 1),
            ("f3", 0),
            ("f4", 0),
        ]);
        let mut found = moves(text, "");
        found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        assert_eq!(found, expected);
        assert_eq!(moves(text, "e4"), weights([("e5", 10)]));
        assert_eq!(moves(text, "f4").len(), 2);
    }

    #[test]
    fn transpositions_meet() {
        let text = "d4 Nf6 c4 e6 Nc3\nc4 e6 d4 Nf6 Nc3\nc4 Nf6 d4 e6 Nf3";
        let expected = weights([("Nc3", 20), ("Nf3", 10)]);
        assert_eq!(moves(text, "d4 e6 c4 Nf6"), expected);
    }

    #[test]
    fn castling_and_promotion_survive() {
        let text = "e4 e5 Nf3 Nc6 Bb5 Nf6 O-O\na4 b5 axb5 a6 bxa6 c6 a7 d6 axb8=N";
        let castled = moves(text, "e4 e5 Nf3 Nc6 Bb5 Nf6");
        assert_eq!(castled, weights([("O-O", 10)]));
        let promoted = moves(text, "a4 b5 axb5 a6 bxa6 c6 a7 d6");
        assert_eq!(promoted, weights([("axb8=N", 10)]));
    }

    #[test]
    fn large_sums_keep_their_proportion() {
        let text = format!("{}1 d4", "65535 e4\n".repeat(4));
        assert_eq!(moves(&text, ""), weights([("e4", 65535), ("d4", 1)]));
        let text = format!("{}65535 d4", "65535 e4\n".repeat(4));
        assert_eq!(moves(&text, ""), weights([("e4", 65535), ("d4", 16383)]));
    }

    #[test]
    fn every_problem_says_where_it_is() {
        let text = "e4 e5\n1. e4 e5 2. Nf3 Nc6 3. Bd5\ne4 ü5\n\
            d4 d5 3. c4\n70000 e4\ne4!!! e5\ne4 Nf6 e5 Nd5 Nc3 Nxc3 dxc3 O-O";
        assert_eq!(
            messages(text),
            [
                "lines:2:24: move 3 of White: \"Bd5\" is not legal here",
                "lines:3:4: move 1 of Black: \"ü5\" is no move",
                "lines:4:7: move 2 of White: \"3.\" has another number",
                "lines:5:1: weight 70000 is above 65535",
                "lines:6:1: move 1 of White: \"!!!\" is none of the marks ! !! !? ?! ? ??",
                "lines:7:29: move 4 of Black: \"O-O\" is not legal here",
            ]
        );
        assert_eq!(messages("ä # e4\n").len(), 1);
        assert_eq!(
            messages("\u{a0}\u{a0}ä e4")[0],
            "lines:1:3: move 1 of White: \"ä\" is no move"
        );
    }

    #[test]
    fn an_ambiguous_move_is_told() {
        let text = "d4 d5 Nf3 Nf6 Nd2";
        assert_eq!(
            messages(text),
            ["lines:1:15: move 3 of White: \"Nd2\" fits several legal moves"]
        );
    }

    #[test]
    fn nothing_makes_no_book() {
        for text in ["", "# nothing\n", "12\n"] {
            let error = build(text).unwrap_err();
            assert_eq!(error.problems, []);
            assert!(error.to_string().contains("no line"));
        }
    }
}
