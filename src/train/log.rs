//! What long runs say that make something.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::atomic_file;

/// Says something on stdout. Whether anybody reads it or not, the run goes on: what it makes is not printed.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// What a run of the trainer says, on the terminal and, as soon as there is a network, in a file beside it.
pub struct Log {
    path: PathBuf,
    text: String,
    /// The file is this run's.
    kept: bool,
}

impl Log {
    /// The log of a run that is to write this network.
    ///
    /// # Errors
    /// When there is no place for both.
    pub fn beside(network: &Path) -> anyhow::Result<Log> {
        let path = network.with_extension("log");
        let shown = network.display();
        ensure!(
            path != network,
            "{shown} is where the log goes: --out needs another ending"
        );
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        ensure!(
            folder.is_none_or(Path::is_dir),
            "cannot write {shown}: there is no such folder"
        );
        Ok(Log {
            path,
            text: String::new(),
            kept: false,
        })
    }

    /// Says it.
    ///
    /// # Errors
    /// When the file cannot be written any more.
    pub fn line(&mut self, text: &str) -> anyhow::Result<()> {
        say(text);
        self.text += text;
        self.text.push('\n');
        if self.kept { self.keep() } else { Ok(()) }
    }

    /// The network has been written; its log is written from now on.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn keep(&mut self) -> anyhow::Result<()> {
        self.kept = true;
        atomic_file::write(&self.path, self.text.as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}
