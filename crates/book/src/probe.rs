//! Table of a book's moves for a position.

use std::fmt;

use super::{Book, Entry};
use knightwatch_chess::Position;

/// The moves of a book for a position; its display is a table.
#[derive(Debug)]
pub struct Probe<'a> {
    book: &'a str,
    position: &'a Position,
    entries: Vec<Entry>,
}

impl<'a> Probe<'a> {
    /// Looks up a position.
    pub fn new(book: &'a Book, position: &'a Position) -> Probe<'a> {
        Probe {
            book: book.name(),
            position,
            entries: book.entries(position),
        }
    }
}

/// The share refers to the sum of all weights: the frequency with which
/// [`Selection::Weighted`](super::Selection::Weighted) plays the move.
impl fmt::Display for Probe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entries.is_empty() {
            return writeln!(f, "{} has no move for this position", self.book);
        }
        let weights = self.entries.iter().map(|entry| u64::from(entry.weight));
        let total = weights.sum::<u64>().max(1);
        writeln!(f, "move     uci    weight   share  learn")?;
        for entry in &self.entries {
            let san = self.position.san(entry.mv);
            let uci = entry.mv.uci(self.position.castling_notation()).to_string();
            let share = 100.0 * f64::from(entry.weight) / total as f64;
            let (weight, learn) = (entry.weight, entry.learn);
            writeln!(f, "{san:<8} {uci:<5} {weight:>7} {share:>6.1}% {learn:>6}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Record, build};

    #[test]
    fn probe_table_shows_shares() {
        let book = Book::from_bytes("mine.bin", build("75 e4\n20 d4\n5 Nf3\n0 g4").unwrap());
        let table = Probe::new(&book.unwrap(), &Position::startpos()).to_string();
        assert_eq!(
            table,
            "move     uci    weight   share  learn\n\
             e4       e2e4       75   75.0%      0\n\
             d4       d2d4       20   20.0%      0\n\
             Nf3      g1f3        5    5.0%      0\n\
             g4       g2g4        0    0.0%      0\n"
        );
    }

    #[test]
    fn probe_table_shows_learn_and_castling() {
        let position = Position::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1").unwrap();
        let castle = Record {
            key: position.book_key(),
            mv: Record::write_move(position.parse_san("O-O").unwrap()).unwrap(),
            weight: 0,
            learn: 77,
        };
        let book = Book::from_bytes("one", castle.to_bytes().to_vec()).unwrap();
        assert_eq!(
            Probe::new(&book, &position).to_string(),
            "move     uci    weight   share  learn\n\
             O-O      e1g1        0    0.0%     77\n"
        );
    }

    #[test]
    fn probe_of_unknown_position_says_so() {
        let book = Book::from_bytes("mine.bin", build("e4").unwrap()).unwrap();
        let position = Position::chess960_start(0).unwrap();
        assert_eq!(
            Probe::new(&book, &position).to_string(),
            "mine.bin has no move for this position\n"
        );
    }
}
