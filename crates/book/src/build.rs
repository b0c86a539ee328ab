//! Building a book from lines of moves and games.
//!
//! A text has one line of moves per line, from the start position of the variant, in SAN, with or without move numbers. A word that
//! starts with `#` begins a comment.
//!
//! ```text
//! # Ruy Lopez
//! 30  1. e4 e5 2. Nf3 Nc6 3. Bb5 a6! 4. Ba4   # counts as much as three lines without a number
//!     1. e4 e5 2. Qh5?! Nc6                   # played half as often
//!     1. e4 e5 2. f4 exf4 3. Ke2? Qh4+        # never played, but answered
//! ```
//!
//! A line adds its weight (the number in front, or else 10) to each of its moves: doubled by `!`, four times by `!!`,
//! half by `?!`; `!?` changes nothing. Weights of lines that share a position add up, whatever the move order. A move
//! that any line marks with `?` or `??`, or that occurs only in lines of weight 0, gets weight 0 in the book: the
//! reply is known, the move is not played.
//!
//! Games add to that: each move of a game gets two points if its side won and one for a draw, for moves that occur in
//! enough games.

use std::collections::BTreeMap;
use std::fmt;

use super::games::Games;
use super::{GameOptions, Record};
use knightwatch_chess::{Color, Move, Position, Quoted, Variant, pgn};

/// The weight of a line without a number.
const DEFAULT_WEIGHT: u16 = 10;

/// Collects lines of moves and games, and builds a book.
#[derive(Debug, Default)]
pub struct Builder {
    /// By position key, then by move as encoded in a [`Record`].
    positions: BTreeMap<u64, BTreeMap<u16, MoveStats>>,
    lines: usize,
    problems: Vec<Problem>,
    more_problems: usize,
    games: Games,
    options: GameOptions,
}

/// Sum of the lines with a move.
#[derive(Clone, Copy, Debug, Default)]
struct MoveStats {
    weight: u64,
    never_played: bool,
}

/// An error in a text of lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct Problem {
    /// Name of the text.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// The error, with the move number.
    pub message: String,
}

/// Maximum number of problems that are reported.
const MAX_PROBLEMS: usize = 20;

/// Error of building a book: the first problem of each bad line; empty if there was no move at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The first bad lines, with the reason.
    pub problems: Vec<Problem>,
    /// Number of further bad lines.
    pub more: usize,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut problems = self.problems.iter();
        match problems.next() {
            None => {
                return write!(
                    f,
                    "no lines of moves to build a book from, and no moves in enough games; --min-games and \
                     --min-rating say which games and moves count"
                );
            }
            Some(first) => write!(f, "{first}")?,
        }
        problems.try_for_each(|problem| write!(f, "\n{problem}"))?;
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

/// Builds a book from a text of lines.
///
/// ```
/// use knightwatch_book::{Book, build};
/// use knightwatch_chess::Position;
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
/// [`BuildError`] if a line is malformed or there are no lines.
pub fn build(text: &str) -> Result<Vec<u8>, BuildError> {
    let mut builder = Builder::default();
    builder.add("lines", text);
    builder.finish()
}

impl Builder {
    /// A builder that accepts games according to `options`.
    pub fn with_games(options: GameOptions) -> Builder {
        Builder {
            options,
            ..Builder::default()
        }
    }

    /// Adds a game, if its players are strong enough.
    pub fn add_game(&mut self, record: &pgn::Record) {
        self.games.add(record, &self.options);
    }

    /// The variant of the book.
    pub fn variant(&self) -> Variant {
        self.options.variant
    }

    /// Number of games added.
    pub fn games(&self) -> u64 {
        self.games.games()
    }

    /// Adds a text of lines. Errors refer to it as `name` and are reported by [`Builder::finish`].
    pub fn add(&mut self, name: &str, text: &str) {
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            if let Err((column, message)) = self.add_line(line) {
                if self.problems.len() >= MAX_PROBLEMS {
                    self.more_problems += 1;
                    continue;
                }
                self.problems.push(Problem {
                    file: name.to_owned(),
                    line: index + 1,
                    column,
                    message,
                });
            }
        }
    }

    /// Adds a move with a weight, unless it is a drop of a pawn.
    pub fn add_move(&mut self, position: &Position, mv: Move, weight: u16) {
        if let Some(encoded) = Record::write_move(mv) {
            let stats = self.stats(position, encoded);
            stats.weight = stats.weight.saturating_add(weight.into());
        }
    }

    fn stats(&mut self, position: &Position, mv: u16) -> &mut MoveStats {
        let moves = self.positions.entry(position.book_key()).or_default();
        moves.entry(mv).or_default()
    }

    /// Number of lines of moves added.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The content of the book file. Weights are sums, scaled down per position if they exceed the range of a record.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a line is malformed or there are no moves.
    pub fn finish(mut self) -> Result<Vec<u8>, BuildError> {
        for (key, mv, points) in self.games.frequent_moves(self.options.min_games) {
            let moves = self.positions.entry(key).or_default();
            let stats = moves.entry(mv).or_default();
            stats.weight = stats.weight.saturating_add(points);
        }
        if !self.problems.is_empty() || self.positions.is_empty() {
            return Err(BuildError {
                problems: self.problems,
                more: self.more_problems,
            });
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

    /// Adds one line; an error consists of column and message.
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
        let mut position = self.options.variant.start();
        let max_ply = self.options.max_ply.unwrap_or(u32::MAX);
        let mut plies = 0;
        for (column, word) in words {
            let (number, san) = split_number(word);
            let at = |text| (column, format!("{}: {text}", move_label(&position)));
            if number.is_some_and(|number| number != position.fullmove_number().to_string()) {
                return Err(at(format!("{} is the wrong move number", Quoted(word))));
            }
            if san.is_empty() {
                continue;
            }
            let mark = &san[san.trim_end_matches(['!', '?']).len()..];
            let (weight, never_played) = apply_mark(weight, mark).ok_or_else(|| {
                at(format!(
                    "\"{mark}\" is not one of the marks ! !! !? ?! ? ??"
                ))
            })?;
            let mv = position.parse_san(san).map_err(|error| {
                at(match san.starts_with('[') {
                    true => format!("{error}; games are read from files whose names end in .pgn"),
                    false => error.to_string(),
                })
            })?;
            let encoded = Record::write_move(mv).ok_or_else(|| {
                at(format!(
                    "\"{san}\" drops a pawn, which no Polyglot book can express"
                ))
            })?;
            if plies < max_ply {
                let stats = self.stats(&position, encoded);
                stats.weight = stats.weight.saturating_add(weight);
                stats.never_played |= never_played;
            }
            position.play(mv);
            plies += 1;
        }
        self.lines += usize::from(plies > 0);
        Ok(())
    }
}

/// The words of a line up to a comment, with their columns.
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

/// Splits a move number like `12.` or `12...` from the text after it.
fn split_number(word: &str) -> (Option<&str>, &str) {
    let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match word.split_at(digits) {
        (number, rest) if digits > 0 && rest.starts_with('.') => {
            (Some(number), rest.trim_start_matches('.'))
        }
        _ => (None, word),
    }
}

/// The weight of a marked move in a line of this weight, and whether it is never played.
fn apply_mark(weight: u16, mark: &str) -> Option<(u64, bool)> {
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

/// Number and color of the next move, for messages.
fn move_label(position: &Position) -> String {
    let color = match position.turn() {
        Color::White => "White",
        Color::Black => "Black",
    };
    format!("move {} of {color}", position.fullmove_number())
}

/// The moves of a position with their weights, best first.
fn ranked(moves: BTreeMap<u16, MoveStats>) -> Vec<(u16, u16)> {
    let weight = |stats: &MoveStats| if stats.never_played { 0 } else { stats.weight };
    let heaviest = moves.values().map(weight).max().unwrap_or(0);
    let scaled = |weight: u64| match u16::try_from(heaviest) {
        Ok(_) => weight,
        Err(_) if weight == 0 => 0,
        Err(_) => (u128::from(weight) * u128::from(u16::MAX) / u128::from(heaviest)).max(1) as u64,
    };
    let mut ranked: Vec<_> = moves
        .iter()
        .map(|(&mv, stats)| (mv, scaled(weight(stats)) as u16))
        .collect();
    ranked.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Book;

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
    fn build_of_lines_adds_weights() {
        let text = "d4 d5\ne4 e5\ne4 c5";
        assert_eq!(moves(text, ""), weights([("e4", 20), ("d4", 10)]));
    }

    #[test]
    fn build_ignores_numbers_and_comments() {
        let text =
            "# all\n\n  # more\n1. e4 e5 2.Nf3 2...Nc6 3. Bb5 # Spanish\n1.e4 e5 2. Nf3 Nc6 3.Bc4";
        let replies = weights([("Bb5", 10), ("Bc4", 10)]);
        let mut found = moves(text, "e4 e5 Nf3 Nc6");
        found.sort();
        assert_eq!(found, replies);
    }

    #[test]
    fn build_of_mate_sign_is_not_a_comment() {
        let text = "f3 e5 g4 Qh4#\nf3 e5 g4 Qh4# # mate";
        assert_eq!(moves(text, "f3 e5 g4"), weights([("Qh4#", 20)]));
    }

    #[test]
    fn build_with_leading_number_sets_line_weight() {
        let text = "35 e4 e5\n1 d4 d5\n0 c4";
        let expected = weights([("e4", 35), ("d4", 1), ("c4", 0)]);
        assert_eq!(moves(text, ""), expected);
    }

    #[test]
    fn build_with_marks_changes_single_moves() {
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
    fn build_of_transpositions_adds_up() {
        let text = "d4 Nf6 c4 e6 Nc3\nc4 e6 d4 Nf6 Nc3\nc4 Nf6 d4 e6 Nf3";
        let expected = weights([("Nc3", 20), ("Nf3", 10)]);
        assert_eq!(moves(text, "d4 e6 c4 Nf6"), expected);
    }

    #[test]
    fn build_encodes_castling_and_promotion() {
        let text = "e4 e5 Nf3 Nc6 Bb5 Nf6 O-O\na4 b5 axb5 a6 bxa6 c6 a7 d6 axb8=N";
        let castled = moves(text, "e4 e5 Nf3 Nc6 Bb5 Nf6");
        assert_eq!(castled, weights([("O-O", 10)]));
        let promoted = moves(text, "a4 b5 axb5 a6 bxa6 c6 a7 d6");
        assert_eq!(promoted, weights([("axb8=N", 10)]));
    }

    #[test]
    fn build_of_large_weights_scales_down() {
        let text = format!("{}1 d4", "65535 e4\n".repeat(4));
        assert_eq!(moves(&text, ""), weights([("e4", 65535), ("d4", 1)]));
        let text = format!("{}65535 d4", "65535 e4\n".repeat(4));
        assert_eq!(moves(&text, ""), weights([("e4", 65535), ("d4", 16383)]));
    }

    #[test]
    fn build_of_bad_lines_names_places() {
        let text = "e4 e5\n1. e4 e5 2. Nf3 Nc6 3. Bd5\ne4 ü5\n\
            d4 d5 3. c4\n70000 e4\ne4!!! e5\ne4 Nf6 e5 Nd5 Nc3 Nxc3 dxc3 O-O";
        assert_eq!(
            messages(text),
            [
                "lines:2:24: move 3 of White: \"Bd5\" is not a legal move here",
                "lines:3:4: move 1 of Black: \"ü5\" is not a move",
                "lines:4:7: move 2 of White: \"3.\" is the wrong move number",
                "lines:5:1: weight 70000 is above 65535",
                "lines:6:1: move 1 of White: \"!!!\" is not one of the marks ! !! !? ?! ? ??",
                "lines:7:29: move 4 of Black: \"O-O\" is not a legal move here",
            ]
        );
        assert_eq!(messages("ä # e4\n").len(), 1);
        assert_eq!(
            messages("\u{a0}\u{a0}ä e4")[0],
            "lines:1:3: move 1 of White: \"ä\" is not a move"
        );
    }

    #[test]
    fn build_of_ambiguous_move_fails() {
        let text = "d4 d5 Nf3 Nf6 Nd2";
        assert_eq!(
            messages(text),
            ["lines:1:15: move 3 of White: \"Nd2\" matches several legal moves"]
        );
    }

    #[test]
    fn build_without_moves_fails() {
        for text in ["", "# nothing\n", "12\n"] {
            let error = build(text).unwrap_err();
            assert_eq!(error.problems, []);
            assert!(error.to_string().contains("no lines"));
        }
    }

    #[test]
    fn byte_order_mark_is_skipped() {
        let with_mark = build("\u{feff}30 e4 e5").unwrap();
        assert_eq!(with_mark, build("30 e4 e5").unwrap());
    }

    #[test]
    fn first_problems_are_reported() {
        let error = build(&"[Event \"?\"]\n".repeat(MAX_PROBLEMS + 7)).unwrap_err();
        assert_eq!((error.problems.len(), error.more), (MAX_PROBLEMS, 7));
        let text = error.to_string();
        assert!(
            text.contains("names end in .pgn") && text.ends_with("and 7 more"),
            "{text}"
        );
    }
}
