//! Errors of books.

use std::fmt;
use std::io;

use super::Record;

/// Error of reading or writing a book. Its display contains the path.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the book {name}: {cause}")]
    Unreadable {
        /// The path.
        name: String,
        /// The operating system's error.
        cause: io::Error,
    },
    /// The file is not a complete Polyglot book.
    #[error("{name} is not a complete Polyglot book: {damage}")]
    Damaged {
        /// The path.
        name: String,
        /// The damage.
        damage: Damage,
    },
    /// The file cannot be written.
    #[error("cannot write the book {name}: {cause}")]
    Unwritable {
        /// The path.
        name: String,
        /// The operating system's error.
        cause: io::Error,
    },
}

/// Kind of damage of a book file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file is empty.
    Empty,
    /// The length, in bytes, is not a multiple of the record size.
    Length(usize),
    /// The record with this index, from 0, has a smaller key than the one before it.
    Unsorted(usize),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Record::SIZE;
        match self {
            Damage::Empty => write!(f, "the file is empty"),
            Damage::Length(bytes) => write!(
                f,
                "its size of {bytes} bytes is not a multiple of {size}; it is truncated or not a book"
            ),
            Damage::Unsorted(index) => write!(
                f,
                "the record at byte {} is out of order",
                index.saturating_mul(size)
            ),
        }
    }
}
