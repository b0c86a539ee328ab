//! Errors of files.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file that cannot be read or written: `cannot read games.pgn: No such file or directory (os error 2)`.
#[derive(Debug)]
pub struct FileError {
    action: &'static str,
    path: PathBuf,
    cause: io::Error,
}

impl FileError {
    /// Adds the file to an error of reading it.
    pub fn reading(path: &Path) -> impl Fn(io::Error) -> Self {
        Self::of("read", path)
    }

    /// Adds the file to an error of writing it.
    pub fn writing(path: &Path) -> impl Fn(io::Error) -> Self {
        Self::of("write", path)
    }

    fn of(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self {
            action,
            path: path.to_owned(),
            cause,
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (action, path) = (self.action, self.path.display());
        write!(f, "cannot {action} {path}: {}", self.cause)
    }
}

impl Error for FileError {}
