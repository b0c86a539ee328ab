//! Files that are written anew whenever what they hold has changed, beside the loop that changes it.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::{atomic_file, clock, input};

/// The longest file that is read.
const LONGEST: u64 = 8 * 1024 * 1024;

/// One such file: one write at a time, each with the latest state.
#[derive(Debug)]
pub struct SaveQueue {
    file: Option<PathBuf>,
    /// What cannot be kept when it cannot be written.
    what: &'static str,
    writing: bool,
    changed: bool,
    failed: bool,
}

impl SaveQueue {
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

/// Reads a file whole. `None` if it is not there.
///
/// # Errors
/// When it is there and cannot be read.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match input::read(path, LONGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads what a file of JSON holds; one that is not there holds nothing.
///
/// # Errors
/// When it is there and cannot be read.
pub fn load<T: Default + DeserializeOwned>(path: &Path) -> io::Result<T> {
    let Some(text) = read(path)? else {
        return Ok(T::default());
    };
    let bad = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    if text.trim_ascii().is_empty() {
        return bad("it is empty");
    }
    match serde_json::from_slice(&text)? {
        // A list would do for any type whose fields may all be missing.
        object @ Value::Object(_) => Ok(serde_json::from_value(object)?),
        _ => bad("it is not an object of JSON"),
    }
}

/// Gives a file that cannot be read another name, so that it is not overwritten. What is to be logged about it.
pub fn set_aside(path: &Path) -> String {
    let now = clock::epoch_seconds(clock::date());
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".damaged-{now}"));
        if number > 0 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    // There may be one of the same second.
    let free = (0..100).map(named).find(|aside| !aside.exists());
    let aside = free.unwrap_or_else(|| named(0));
    match fs::rename(path, &aside) {
        Ok(()) => format!("it is kept as {}", aside.display()),
        Err(error) => {
            format!("it cannot be renamed and is overwritten by the next change: {error}")
        }
    }
}

/// Writes a file anew, whole or not at all, which only this user can read.
///
/// # Errors
/// When the system does not let us.
pub fn save(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
    }
    atomic_file::write_private(path, content.as_ref())
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
        let mut keeper = SaveQueue::new(Some(file.clone()), "this");
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
        let mut nowhere = SaveQueue::new(None, "this");
        assert_eq!((nowhere.change(), nowhere.change()), (None, None));
    }

    #[test]
    fn a_file_that_is_not_there_is_empty_and_one_without_end_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some/where/file");
        assert_eq!(read(&path).unwrap(), None);
        save(&path, "text").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some(&b"text"[..]));
        save(&path, "x".repeat(LONGEST as usize + 1)).unwrap();
        assert!(read(&path).is_err());
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        save(&path, "damaged").unwrap();
        let told = set_aside(&path);
        let (_, aside) = told.split_once("it is kept as ").unwrap();
        assert_eq!(fs::read(aside).unwrap(), b"damaged");
        assert!(!path.exists());
        save(&path, "again").unwrap();
        assert!(set_aside(&path).contains("it is kept as "));
        assert_eq!(fs::read(aside).unwrap(), b"damaged");
        assert!(set_aside(&path).contains("cannot be renamed"));
    }
}
