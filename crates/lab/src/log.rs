//! Output of long training runs.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use knightwatch_util::atomic_file;

/// Prints a line to stdout. Errors are ignored: the run matters more than its output.
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Log of a training run: printed, and also written to a file once there is a network.
pub(crate) struct RunLog {
    path: PathBuf,
    text: String,
    /// The file is written.
    has_file: bool,
}

impl RunLog {
    /// Creates the log of a run that writes this network; one that is resumed adds to the log that is there.
    ///
    /// # Errors
    /// When the log or the network cannot be written there.
    pub(crate) fn for_network(network: &Path, resume: bool) -> anyhow::Result<RunLog> {
        let path = network.with_extension("log");
        let shown = network.display();
        ensure!(
            path != network,
            "the log would overwrite {shown}: --out must not end in .log"
        );
        atomic_file::check_directory(&path).with_context(|| format!("cannot write {shown}"))?;
        let before = resume.then(|| std::fs::read_to_string(&path).ok());
        let before = before.flatten();
        Ok(RunLog {
            path,
            has_file: before.is_some(),
            text: before.unwrap_or_default(),
        })
    }

    /// Logs a line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn print(&mut self, text: &str) -> anyhow::Result<()> {
        print_line(text);
        self.text += text;
        self.text.push('\n');
        if self.has_file {
            self.start_file()
        } else {
            Ok(())
        }
    }

    /// Starts writing the file, after the network was written.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn start_file(&mut self) -> anyhow::Result<()> {
        self.has_file = true;
        atomic_file::write(&self.path, self.text.as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}
