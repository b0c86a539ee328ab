//! Background saves of state files.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::seconds::DAY;
use crate::{atomic_file, clock, input};

/// 20,000 accepted challenges with profiles, which is the largest file.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The longest wait that a state file holds, in seconds: the client cuts the waits that a server demands to it.
const MAX_WAIT_S: u64 = 2 * DAY;

/// The end of a wait in a state file, in seconds since the epoch, if it is to come. One further ahead than any wait is
/// long is due to a wrong clock.
pub(crate) fn pending_until(until: u64, now: SystemTime) -> Option<SystemTime> {
    let left = until.checked_sub(clock::epoch_seconds(now))?;
    let is_pending = (1..=MAX_WAIT_S).contains(&left);
    is_pending.then(|| UNIX_EPOCH + Duration::from_secs(until))
}

/// Coalesced saves of one file: one write at a time, each with the latest state.
#[derive(Debug)]
pub(crate) struct SaveQueue {
    file: Option<PathBuf>,
    /// Loss if the file cannot be written, for the log.
    description: &'static str,
    writing: bool,
    changed: bool,
    failed: bool,
}

impl SaveQueue {
    /// Saves to this file, or nowhere.
    pub(crate) fn new(file: Option<PathBuf>, description: &'static str) -> Self {
        Self {
            file,
            description,
            writing: false,
            changed: false,
            failed: false,
        }
    }

    /// The state has changed. Returns where to write it now, after which [`finish`](Self::finish) must be called;
    /// `None` while a write is in progress.
    pub(crate) fn begin(&mut self) -> Option<PathBuf> {
        if self.file.is_some() && std::mem::replace(&mut self.writing, true) {
            self.changed = true;
            return None;
        }
        self.file.clone()
    }

    /// The write has finished. Whether the state has changed meanwhile.
    pub(crate) fn finish(&mut self, outcome: io::Result<()>) -> bool {
        self.writing = false;
        match outcome {
            Ok(()) => self.failed = false,
            // One warning for each series of failures.
            Err(error) => {
                if !std::mem::replace(&mut self.failed, true) {
                    warn!("cannot save {}: {error}", self.description);
                }
            }
        }
        std::mem::take(&mut self.changed)
    }

    /// Returns whether a write is in progress.
    pub(crate) fn is_writing(&self) -> bool {
        self.writing
    }

    /// Returns whether the last write has failed and none is in progress.
    pub(crate) fn needs_retry(&self) -> bool {
        self.failed && !self.writing
    }
}

/// Reads a whole file. `None` if it does not exist.
///
/// # Errors
/// If it exists and cannot be read, or is larger than 32 MiB.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match input::read(path, MAX_FILE_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// State that is kept in a file as a JSON object.
pub(crate) trait JsonState: Default + Serialize + DeserializeOwned {
    /// End of the name of the file.
    const FILE_SUFFIX: &str;

    /// Reads the file; the default value if it does not exist.
    ///
    /// # Errors
    /// If it exists and cannot be read or parsed.
    fn load(path: &Path) -> io::Result<Self> {
        let Some(text) = read(path)? else {
            return Ok(Self::default());
        };
        let bad = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        if text.trim_ascii().is_empty() {
            return bad("it is empty");
        }
        match serde_json::from_slice(&text)? {
            // Serde would read a list into a struct whose fields are all optional.
            object @ Value::Object(_) => Ok(serde_json::from_value(object)?),
            _ => bad("it is not an object of JSON"),
        }
    }

    /// Content of the file.
    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data with string keys")
    }
}

/// Renames a file that cannot be read, so that it is not overwritten. Returns a text for the log.
pub(crate) fn set_aside(path: &Path) -> String {
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
    let free = (0..100).map(named).find(|renamed| !renamed.exists());
    let renamed = free.unwrap_or_else(|| named(0));
    match fs::rename(path, &renamed) {
        Ok(()) => format!("it is kept as {}", renamed.display()),
        Err(error) => {
            format!("it cannot be renamed and is overwritten by the next change: {error}")
        }
    }
}

/// Replaces a file atomically. Only this user can read it.
///
/// # Errors
/// If the file or its directory cannot be written.
pub(crate) fn save(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
    }
    atomic_file::write_private(path, content.as_ref())
}

/// Appends lines to an existing file.
///
/// # Errors
/// If it does not exist or cannot be written.
pub(crate) fn append(path: &Path, lines: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

/// Runs a job that may block on the disk on a blocking thread.
///
/// # Errors
/// If it fails or panics, or no thread can be started.
pub(crate) async fn run_blocking(
    job: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    // Tokio panics if it cannot start a thread.
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
    async fn blocking_job_failure_is_error() {
        assert!(run_blocking(|| Ok(())).await.is_ok());
        assert!(
            run_blocking(|| Err(io::Error::other("full")))
                .await
                .is_err()
        );
        assert!(run_blocking(|| panic!("on purpose")).await.is_err());
    }

    #[test]
    fn wait_is_pending_for_two_days_at_most() {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let pending = |until| pending_until(until, now).is_some();
        assert!(!pending(0) && !pending(1_700_000_000) && pending(1_700_000_001));
        assert!(pending(1_700_000_000 + MAX_WAIT_S) && !pending(1_700_000_001 + MAX_WAIT_S));
        assert!(!pending(u64::MAX));
    }

    #[test]
    fn save_queue_coalesces_changes() {
        let file = PathBuf::from("/kept");
        let mut queue = SaveQueue::new(Some(file.clone()), "this");
        assert_eq!(queue.begin(), Some(file.clone()));
        assert_eq!(queue.begin(), None);
        assert_eq!(queue.begin(), None);
        assert!(queue.finish(Ok(())));
        assert_eq!(queue.begin(), Some(file.clone()));
        assert!(!queue.needs_retry());
        assert!(!queue.finish(Err(io::Error::other("full"))));
        assert!(queue.needs_retry());
        assert_eq!(queue.begin(), Some(file));
        assert!(!queue.needs_retry());
        assert!(!queue.finish(Ok(())));
        assert!(!queue.needs_retry());
        let mut without_file = SaveQueue::new(None, "this");
        assert_eq!((without_file.begin(), without_file.begin()), (None, None));
    }

    #[test]
    fn file_missing_is_none_and_too_large_is_error() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some/where/file");
        assert_eq!(read(&path).unwrap(), None);
        save(&path, "text").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some(&b"text"[..]));
        save(&path, "x".repeat(MAX_FILE_BYTES as usize + 1)).unwrap();
        assert!(read(&path).is_err());
    }

    #[test]
    fn file_unreadable_is_set_aside() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        save(&path, "damaged").unwrap();
        let message = set_aside(&path);
        let (_, renamed) = message.split_once("it is kept as ").unwrap();
        assert_eq!(fs::read(renamed).unwrap(), b"damaged");
        assert!(!path.exists());
        save(&path, "again").unwrap();
        assert!(set_aside(&path).contains("it is kept as "));
        assert_eq!(fs::read(renamed).unwrap(), b"damaged");
        assert!(set_aside(&path).contains("cannot be renamed"));
    }
}
