//! Polyglot opening books: reader, selection, builder, and the embedded default book.
//!
//! A book is a sorted table of 16-byte [records](Record); the format is that of Fabien Letouzey's Polyglot, which all chess
//! programs read. [`Book::entries`] finds the moves of a position, [`Book::pick`] chooses one, [`Builder`] makes a
//! book from lines of moves.

mod build;
mod command;
mod error;
mod games;
mod probe;
mod record;

pub use build::{BuildError, Builder, Problem, build};
pub use command::{BuildOptions, CommandError, build_command, probe_command};
pub use error::{Damage, Error};
pub use games::GameOptions;
pub use probe::Probe;
pub use record::Record;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use tracing::warn;

use crate::chess::{Move, Position};
use crate::input;

/// A Polyglot book, checked and held in memory.
///
/// ```
/// use knightwatch::book::{Book, Choice};
/// use knightwatch::chess::Position;
///
/// let book = Book::embedded();
/// let mv = book.pick(&Position::startpos(), &Choice::default(), &mut fastrand::Rng::new());
/// assert!(mv.is_some());
/// ```
#[derive(Clone)]
pub struct Book {
    name: String,
    bytes: Cow<'static, [u8]>,
}

/// A legal move of a position as a book has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The move.
    pub mv: Move,
    /// How good or how often played it is, in comparison with the other moves of the position; 0 for a move that is
    /// known and not to be played.
    pub weight: u16,
    /// What learning programs keep here; 0 in most books.
    pub learn: u32,
}

/// Which of a position's book moves is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Selection {
    /// The one with the largest weight; of several, the one that the book has first.
    Best,
    /// Any, in proportion to its weight.
    #[default]
    Weighted,
    /// Any, all with the same chance.
    Uniform,
}

impl FromStr for Selection {
    type Err = UnknownSelection;

    fn from_str(text: &str) -> Result<Self, UnknownSelection> {
        match text {
            "best" => Ok(Selection::Best),
            "weighted" => Ok(Selection::Weighted),
            "uniform" => Ok(Selection::Uniform),
            _ => Err(UnknownSelection(text.to_owned())),
        }
    }
}

/// A text that names no [`Selection`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not one of best, weighted, uniform")]
pub struct UnknownSelection(String);

/// How to choose among the moves of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which of the moves.
    pub selection: Selection,
    /// Moves with a smaller weight are passed over. With 0, moves of weight 0 can be played, though never by
    /// [`Selection::Weighted`].
    pub min_weight: u16,
}

impl Default for Choice {
    fn default() -> Self {
        Choice {
            selection: Selection::default(),
            min_weight: 1,
        }
    }
}

/// The longest book that is read, in bytes: it is kept in memory.
const LONGEST: u64 = 1 << 30;

impl Book {
    /// Reads a book from a file.
    ///
    /// # Errors
    ///
    /// [`Error`], with the name of the file, if it cannot be read or is no whole book.
    pub fn open(path: impl AsRef<Path>) -> Result<Book, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match input::read(path, LONGEST) {
            Ok(bytes) => Book::from_bytes(name, bytes),
            Err(cause) => Err(Error::Unreadable { name, cause }),
        }
    }

    /// A book from the contents of a file; messages call it by `name`.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if this is no whole book: not made of whole records, or of records in no order at all. Where
    /// some are out of order, as in books that a program has added to, they are put in order, with a line in the
    /// log.
    pub fn from_bytes(
        name: impl Into<String>,
        bytes: impl Into<Cow<'static, [u8]>>,
    ) -> Result<Book, Error> {
        let (name, mut bytes) = (name.into(), bytes.into());
        match damage(&bytes) {
            Ok(0) => {}
            Ok(count) => {
                warn!(
                    "book {name}: {count} of its records are out of order; put in order in memory"
                );
                sort(bytes.to_mut());
            }
            Err(damage) => return Err(Error::Damaged { name, damage }),
        }
        Ok(Book { name, bytes })
    }

    /// The book that is part of this program, made from `src/book/repertoire.txt`.
    pub fn embedded() -> Book {
        Book::from_bytes("default", include_bytes!("repertoire.bin").as_slice())
            .expect("the embedded book is whole")
    }

    /// What it is called: its file, or `default`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All records, at least one, sorted by key.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record> {
        records(&self.bytes)
    }

    /// The moves for a position, the largest weight first. Records that are no legal move of it are left out, with a
    /// line in the log.
    pub fn entries(&self, position: &Position) -> Vec<Entry> {
        let key = position.key();
        let (table, _) = self.bytes.as_chunks::<{ Record::SIZE }>();
        let start = table.partition_point(|bytes| Record::from_bytes(bytes).key < key);
        let mut entries: Vec<Entry> = table[start..]
            .iter()
            .map(Record::from_bytes)
            .take_while(|record| record.key == key)
            .filter_map(|record| match record.read_move(position) {
                Some(mv) => Some(Entry {
                    mv,
                    weight: record.weight,
                    learn: record.learn,
                }),
                None => {
                    let (book, mv, fen) = (&self.name, record.mv, position.fen());
                    warn!("book {book}: ignored move {mv:#06x}, which is not legal in {fen}");
                    None
                }
            })
            .collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.weight));
        entries
    }

    /// A move for a position; none if the book has no move for it that may be chosen.
    pub fn pick(
        &self,
        position: &Position,
        choice: &Choice,
        rng: &mut fastrand::Rng,
    ) -> Option<Move> {
        let mut entries = self.entries(position);
        entries.retain(|entry| entry.weight >= choice.min_weight);
        let chosen = match choice.selection {
            Selection::Best => entries.first(),
            Selection::Weighted => weighted(&entries, rng),
            Selection::Uniform => rng.choice(&entries),
        };
        chosen.map(|entry| entry.mv)
    }
}

/// One of them in proportion to the weights; none if these are all 0.
fn weighted<'a>(entries: &'a [Entry], rng: &mut fastrand::Rng) -> Option<&'a Entry> {
    let total: u64 = entries.iter().map(|entry| u64::from(entry.weight)).sum();
    let mut ticket = (total > 0).then(|| rng.u64(..total))?;
    entries.iter().find(|entry| {
        let weight = u64::from(entry.weight);
        let wins = ticket < weight;
        ticket = ticket.saturating_sub(weight);
        wins
    })
}

fn records(bytes: &[u8]) -> impl ExactSizeIterator<Item = Record> {
    bytes.as_chunks().0.iter().map(Record::from_bytes)
}

/// What keeps this from being a book, or else how many records have a smaller key than the one before them.
fn damage(bytes: &[u8]) -> Result<usize, Damage> {
    if bytes.is_empty() {
        return Err(Damage::Empty);
    }
    if !bytes.len().is_multiple_of(Record::SIZE) {
        return Err(Damage::Length(bytes.len()));
    }
    let mut last = 0;
    let (mut count, mut first) = (0, 0);
    for (index, record) in records(bytes).enumerate() {
        if record.key < last {
            if count == 0 {
                first = index;
            }
            count += 1;
        }
        last = record.key;
    }
    // A book with a tail that is not sorted has some; of other files every second "record" is one.
    if count * 3 > records(bytes).len() {
        return Err(Damage::Unsorted(first));
    }
    Ok(count)
}

/// Sorts records by key; those of a position stay in their order.
fn sort(bytes: &mut [u8]) {
    let (table, _) = bytes.as_chunks_mut::<{ Record::SIZE }>();
    table.sort_by_key(|bytes| Record::from_bytes(bytes).key);
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book")
            .field("name", &self.name)
            .field("records", &self.records().len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
