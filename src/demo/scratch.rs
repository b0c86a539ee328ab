//! A directory for temporary files, which is removed with all that is in it.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Tries to find a name that nobody has.
const TRIES: usize = 16;

/// See the module's text. Dropping it removes the directory.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// A new directory, which only this user can look into.
    ///
    /// # Errors
    /// When the system does not let us make one.
    pub fn new() -> io::Result<Self> {
        let mut result = Err(io::Error::from(io::ErrorKind::AlreadyExists));
        for _ in 0..TRIES {
            let name = format!("knightwatch-demo-{:016x}", fastrand::u64(..));
            let path = env::temp_dir().join(name);
            // One that is there already is somebody else's.
            result = DirBuilder::new().mode(0o700).create(&path);
            match &result {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => break,
            }
        }
        Err(result.expect_err("it would have been returned"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the directory for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
