//! Polyglot opening books: reader, selection, builder, and the embedded default books.
//!
//! Books of variants have the keys that python-chess gives: those of the pieces on the board, castling, en passant and
//! the turn. Neither pockets nor counters of checks are part of them.
//!
//! A book is a sorted table of 16-byte [records](Record) in the format of Fabien Letouzey's Polyglot, which most
//! chess programs read. [`Book::entries`] finds the moves of a position, [`Book::pick`] chooses one, [`Builder`]
//! makes a book from lines of moves.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod build;
mod command;
mod error;
mod games;
mod probe;
mod record;
mod selection;

pub use build::{BuildError, Builder, Problem, build};
pub use command::{BuildOptions, CommandError, build_command, probe_command, write_book};
pub use error::{Damage, Error};
pub use games::GameOptions;
pub use probe::Probe;
pub use record::Record;
pub use selection::{PickOptions, Selection, UnknownSelection};

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use tracing::warn;

use knightwatch_chess::{Move, Position, Variant};
use knightwatch_util::{input, plural};

/// A validated Polyglot book in memory.
///
/// ```
/// use knightwatch_book::{Book, PickOptions};
/// use knightwatch_chess::Position;
///
/// let book = Book::embedded();
/// let mv = book.pick(&Position::startpos(), &PickOptions::default(), &mut fastrand::Rng::new());
/// assert!(mv.is_some());
/// ```
#[derive(Clone)]
pub struct Book {
    name: String,
    bytes: Cow<'static, [u8]>,
}

/// A legal move in a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The move.
    pub mv: Move,
    /// Weight relative to the other moves of the position; 0 for a move that is known but should not be played.
    pub weight: u16,
    /// Data of learning programs; 0 in most books.
    pub learn: u32,
}

/// The largest book file that is read; it is kept in memory.
const MAX_FILE_BYTES: u64 = 1 << 30;

impl Book {
    /// Reads a book file.
    ///
    /// # Errors
    ///
    /// [`Error`], with the path, if the file cannot be read or is not a complete book.
    pub fn open(path: impl AsRef<Path>) -> Result<Book, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match input::read(path, MAX_FILE_BYTES) {
            Ok(bytes) => Book::from_bytes(name, bytes),
            Err(cause) => Err(Error::Unreadable { name, cause }),
        }
    }

    /// A book from the content of a file; messages refer to it as `name`.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if this is not a complete book: not made of whole records, or of records in no order at
    /// all. If only some records are out of order, as in books that a program has appended to, they are sorted and a
    /// warning is logged.
    pub fn from_bytes(
        name: impl Into<String>,
        bytes: impl Into<Cow<'static, [u8]>>,
    ) -> Result<Book, Error> {
        let (name, mut bytes) = (name.into(), bytes.into());
        match damage(&bytes) {
            Ok(0) => {}
            Ok(count) => {
                warn!("book {name}: {count} records are out of order; sorted them in memory");
                sort(bytes.to_mut());
            }
            Err(damage) => return Err(Error::Damaged { name, damage }),
        }
        Ok(Book { name, bytes })
    }

    /// The embedded book of standard chess, built from `src/repertoire.txt`.
    pub fn embedded() -> Book {
        Book::embedded_for(Variant::Standard)
    }

    /// The embedded book of a variant. Those other than standard chess were grown by `knightwatch book grow`.
    pub fn embedded_for(variant: Variant) -> Book {
        let bytes: &[u8] = match variant {
            Variant::Standard => include_bytes!("repertoire.bin"),
            Variant::Crazyhouse => include_bytes!("variants/crazyhouse.bin"),
            Variant::Antichess => include_bytes!("variants/antichess.bin"),
            Variant::Atomic => include_bytes!("variants/atomic.bin"),
            Variant::Horde => include_bytes!("variants/horde.bin"),
            Variant::KingOfTheHill => include_bytes!("variants/kingOfTheHill.bin"),
            Variant::RacingKings => include_bytes!("variants/racingKings.bin"),
            Variant::ThreeCheck => include_bytes!("variants/threeCheck.bin"),
        };
        Book::from_bytes("default", bytes).expect("the embedded book is whole")
    }

    /// The name: path of the file, or `default`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All records, at least one, sorted by key.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record> {
        records(&self.bytes)
    }

    /// The moves of a position, largest weight first. Records without a legal move are skipped with one warning. Books of
    /// variants know neither pockets nor counters of checks: drops that are not possible are skipped without one.
    pub fn entries(&self, position: &Position) -> Vec<Entry> {
        let key = position.book_key();
        let (table, _) = self.bytes.as_chunks::<{ Record::SIZE }>();
        let start = table.partition_point(|bytes| Record::from_bytes(bytes).key < key);
        let mut illegal = Vec::new();
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
                    illegal.extend((!record.is_drop()).then_some(record.mv));
                    None
                }
            })
            .collect();
        if let Some(first) = illegal.first() {
            let moves = plural::count(illegal.len(), "move", "moves");
            let (book, fen) = (&self.name, position.fen());
            warn!("book {book}: ignored {moves}, illegal in {fen}; the first is {first:#06x}");
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.weight));
        entries
    }
}

fn records(bytes: &[u8]) -> impl ExactSizeIterator<Item = Record> {
    bytes.as_chunks().0.iter().map(Record::from_bytes)
}

/// The number of records with a smaller key than the one before, or why this is not a book.
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
    // An appended, unsorted tail has a few; in other kinds of files about every second "record" is out of order.
    if count * 3 > records(bytes).len() {
        return Err(Damage::Unsorted(first));
    }
    Ok(count)
}

/// Sorts records by key; the order within a position is kept.
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

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
