//! Files that are written anew whenever what they hold has changed, beside the loop that changes it.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use serde::de::DeserializeOwned;
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::aside;

/// The longest file that is read.
const LONGEST: u64 = 8 * 1024 * 1024;

/// One such file: one write at a time, each with the latest state.
#[derive(Debug)]
pub struct Keeper {
    file: Option<PathBuf>,
    /// What cannot be kept when it cannot be written.
    what: &'static str,
    writing: bool,
    changed: bool,
    failed: bool,
}

impl Keeper {
    /// Keeps `what` in this file, or nowhere.
    pub fn new(file: Option<PathBuf>, what: &'static str) -> Self {
        Self {
            file,
            what,
            writing: false,
            changed: false,
            failed: false,
        }
    }

    /// The state has changed: where to write it now, and then tell [`written`](Self::written). Nowhere while it is being
    /// written.
    pub fn change(&mut self) -> Option<PathBuf> {
        if self.file.is_some() && std::mem::replace(&mut self.writing, true) {
            self.changed = true;
            return None;
        }
        self.file.clone()
    }

    /// It is written, or cannot be. Whether the state has changed meanwhile.
    pub fn written(&mut self, outcome: io::Result<()>) -> bool {
        self.writing = false;
        match outcome {
            Ok(()) => self.failed = false,
            // Once is enough for one trouble.
            Err(error) => {
                if !std::mem::replace(&mut self.failed, true) {
                    warn!("cannot keep {} over a restart: {error}", self.what);
                }
            }
        }
        std::mem::take(&mut self.changed)
    }

    /// Whether the last write has failed, and none is under way.
    pub fn is_owed(&self) -> bool {
        self.failed && !self.writing
    }
}

/// Reads a file whole; one that is not there is empty.
///
/// # Errors
/// When it is there and cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path) {
        Ok(file) if file.len() > LONGEST => Err(io::Error::other(format!(
            "it has more than {LONGEST} bytes"
        ))),
        Ok(_) => fs::read(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Reads what a file of JSON holds; one that is not there holds nothing.
///
/// # Errors
/// When it is there and cannot be read.
pub fn load<T: Default + DeserializeOwned>(path: &Path) -> io::Result<T> {
    match read(path)? {
        text if text.is_empty() => Ok(T::default()),
        text => Ok(serde_json::from_slice(&text)?),
    }
}

/// Writes a file anew, whole or not at all.
///
/// # Errors
/// When the system does not let us.
pub fn save(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
    }
    aside::write(path, text.as_bytes())
}

/// Adds lines to a file that is there.
///
/// # Errors
/// When it is not there, or the system does not let us.
pub fn append(path: &Path, lines: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

/// Does this, which may wait for the disk, on a thread for such things.
///
/// # Errors
/// When it fails or panics, or the system gives us no thread for it.
pub async fn aside(job: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    // Without a thread tokio panics.
    let done = AssertUnwindSafe(async { spawn_blocking(job).await });
    match done.catch_unwind().await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(failure)) => Err(io::Error::other(failure)),
        Err(_) => Err(io::Error::other("the system gives us no thread for it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_fails_aside_is_an_error() {
        assert!(aside(|| Ok(())).await.is_ok());
        assert!(aside(|| Err(io::Error::other("full"))).await.is_err());
        assert!(aside(|| panic!("on purpose")).await.is_err());
    }

    #[test]
    fn the_latest_state_is_written_one_write_at_a_time() {
        let file = PathBuf::from("/kept");
        let mut keeper = Keeper::new(Some(file.clone()), "this");
        assert_eq!(keeper.change(), Some(file.clone()));
        assert_eq!(keeper.change(), None);
        assert_eq!(keeper.change(), None);
        assert!(keeper.written(Ok(())));
        assert_eq!(keeper.change(), Some(file.clone()));
        assert!(!keeper.is_owed());
        assert!(!keeper.written(Err(io::Error::other("full"))));
        assert!(keeper.is_owed());
        assert_eq!(keeper.change(), Some(file));
        assert!(!keeper.is_owed());
        assert!(!keeper.written(Ok(())));
        assert!(!keeper.is_owed());
        let mut nowhere = Keeper::new(None, "this");
        assert_eq!((nowhere.change(), nowhere.change()), (None, None));
    }

    #[test]
    fn a_file_that_is_not_there_is_empty_and_one_without_end_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some/where/file");
        assert_eq!(read(&path).unwrap(), b"");
        save(&path, "text").unwrap();
        assert_eq!(read(&path).unwrap(), b"text");
        save(&path, &"x".repeat(LONGEST as usize + 1)).unwrap();
        assert!(read(&path).is_err());
    }
}
