//! Log file of limited size: a full file is renamed to `NAME.1`, an older one to `NAME.2` and so on, and the oldest is
//! overwritten. A full file that cannot be renamed begins again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

/// A log file. It is opened again if somebody has moved or removed it, or after a failure.
pub(super) struct RotatingFile {
    path: PathBuf,
    /// Maximum size in bytes, unless a single line is longer.
    max_bytes: u64,
    /// Number of files in all, at least 1.
    files: u32,
    open: Option<File>,
    /// A full file could not be renamed, which was reported.
    is_stuck: bool,
}

impl RotatingFile {
    pub(super) fn new(path: PathBuf, max_bytes: u64, files: u32) -> Self {
        Self {
            path,
            max_bytes,
            files,
            open: None,
            is_stuck: false,
        }
    }

    /// Opens the file, for so many further bytes.
    ///
    /// # Errors
    /// If it cannot be opened. The next call tries again.
    pub(super) fn open(&mut self, bytes: usize) -> io::Result<&mut File> {
        let open = self.open.take().filter(|file| self.is_current(file));
        let mut file = open.map_or_else(|| self.create(), Ok)?;
        let size = file.metadata()?.len();
        if size > 0 && size + bytes as u64 > self.max_bytes {
            match self.rotate() {
                Ok(()) => {
                    self.is_stuck = false;
                    file = self.create()?;
                }
                Err(error) => {
                    file.set_len(0)?;
                    if !std::mem::replace(&mut self.is_stuck, true) {
                        let path = self.path.display();
                        super::warn_on_stderr(&format!(
                            "daemon.log_file {path} is full and cannot be renamed, so it begins again: {error}"
                        ));
                    }
                }
            }
        }
        Ok(self.open.insert(file))
    }

    /// Returns whether the path still names the open file.
    fn is_current(&self, open: &File) -> bool {
        let named = fs::metadata(&self.path);
        let same = |(named, open): (fs::Metadata, fs::Metadata)| {
            (named.dev(), named.ino()) == (open.dev(), open.ino())
        };
        named.ok().zip(open.metadata().ok()).is_some_and(same)
    }

    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// If it cannot be opened, or is a pipe.
    pub(super) fn create(&self) -> io::Result<File> {
        if fs::metadata(&self.path).is_ok_and(|named| named.file_type().is_fifo()) {
            // It would block.
            return Err(io::Error::other("it is a pipe, not a file"));
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        options.open(&self.path)
    }

    fn rotate(&self) -> io::Result<()> {
        if self.files <= 1 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.files).rev() {
            match fs::rename(self.numbered(number - 1), self.numbered(number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The path for 0, or the path of an older file.
    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        name.into()
    }
}

impl Write for RotatingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open(bytes.len())?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_file_is_rotated_by_size() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let mut file = RotatingFile::new(path.clone(), 20, 3);
        for number in 0..9 {
            let line = format!("line {number:>3}\n");
            file.write_all(line.as_bytes()).unwrap();
        }
        let text = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
        assert_eq!(text("log"), "line   8\n");
        assert_eq!(text("log.1"), "line   6\nline   7\n");
        assert_eq!(text("log.2"), "line   4\nline   5\n");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 3);
        // A line that is too long for any file is kept.
        let long = "x".repeat(100);
        file.write_all(format!("{long}\n").as_bytes()).unwrap();
        assert_eq!(text("log"), format!("{long}\n"));
        // The size counts what earlier processes have written.
        let mut again = RotatingFile::new(path.clone(), 20, 1);
        writeln!(again, "alone").unwrap();
        assert_eq!(text("log"), "alone\n");
        assert_eq!(text("log.1"), "line   8\n");
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn full_file_that_cannot_be_renamed_begins_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let older = home.path().join("log.1");
        fs::create_dir_all(older.join("not empty")).unwrap();
        let mut file = RotatingFile::new(path.clone(), 20, 2);
        for line in ["line one\n", "line two\n", "line three\n"] {
            file.write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "line three\n");
        fs::remove_dir_all(&older).unwrap();
        file.write_all(b"line number four\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "line number four\n");
        assert_eq!(fs::read_to_string(&older).unwrap(), "line three\n");
    }

    #[test]
    fn log_file_is_opened_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("there/log");
        let mut file = RotatingFile::new(path.clone(), 1_000, 2);
        assert!(writeln!(file, "no directory").is_err());
        fs::create_dir(home.path().join("there")).unwrap();
        writeln!(file, "first").unwrap();
        fs::rename(&path, home.path().join("moved")).unwrap();
        writeln!(file, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second\n");
        fs::remove_file(&path).unwrap();
        writeln!(file, "third").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "third\n");
    }
}
