//! Temporary directory that is removed with its contents.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Attempts to find an unused name.
const TRIES: usize = 16;

/// A temporary directory. Dropping it removes the directory and its contents.
#[derive(Debug)]
pub(super) struct TempDir(PathBuf);

impl TempDir {
    /// Creates a directory that only this user can access.
    ///
    /// # Errors
    /// When the directory cannot be created.
    pub(super) fn new() -> io::Result<Self> {
        let mut result = Err(io::Error::from(io::ErrorKind::AlreadyExists));
        for _ in 0..TRIES {
            let name = format!("knightwatch-demo-{:016x}", fastrand::u64(..));
            let path = env::temp_dir().join(name);
            // Never use an existing directory: it may belong to another user.
            result = DirBuilder::new().mode(0o700).create(&path);
            match &result {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => break,
            }
        }
        Err(result.expect_err("success returns early"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // The system cleans up temporary files that cannot be removed here.
        let _ = fs::remove_dir_all(&self.0);
    }
}
