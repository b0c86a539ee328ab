//! Why there is no book.

use std::fmt;
use std::io;

use super::Record;

/// Why a file is not used as a book. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the book {name}: {cause}")]
    Unreadable {
        /// The file.
        name: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The file is no whole Polyglot book.
    #[error("{name} is not a whole Polyglot book: {damage}")]
    Damaged {
        /// The file.
        name: String,
        /// What is wrong with it.
        damage: Damage,
    },
    /// The file cannot be written.
    #[error("cannot write the book {name}: {cause}")]
    Unwritable {
        /// The file.
        name: String,
        /// What the system says.
        cause: io::Error,
    },
}

/// What is wrong with the bytes of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// There is nothing.
    Empty,
    /// So many bytes are not a number of whole records.
    Length(usize),
    /// The record with this index, counted from 0, has a smaller key than the one before it.
    Unsorted(usize),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Record::SIZE;
        match self {
            Damage::Empty => write!(f, "it is empty"),
            Damage::Length(bytes) => write!(
                f,
                "its {bytes} bytes are no multiple of {size}, so it was cut off or is something else"
            ),
            Damage::Unsorted(index) => write!(
                f,
                "the record at byte {} is out of order",
                index.saturating_mul(size)
            ),
        }
    }
}
