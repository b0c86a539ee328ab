//! Progress line of long commands: rewritten in place on a terminal, a new line now and then elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Update interval on a terminal.
const TERMINAL_INTERVAL: Duration = Duration::from_millis(200);
/// Update interval in a file or pipe.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// A progress line on stderr, removed on drop.
pub struct Progress {
    rewrites: bool,
    started_at: Instant,
    shown_at: Instant,
    is_shown: bool,
}

impl Default for Progress {
    fn default() -> Progress {
        let now = Instant::now();
        Progress {
            rewrites: io::stderr().is_terminal(),
            started_at: now,
            shown_at: now,
            is_shown: false,
        }
    }
}

impl Progress {
    /// Shows a line, unless the last one is too recent.
    pub fn show(&mut self, line: impl FnOnce() -> String) {
        let interval = if self.rewrites {
            TERMINAL_INTERVAL
        } else {
            PLAIN_INTERVAL
        };
        if self.shown_at.elapsed() < interval {
            return;
        }
        self.shown_at = Instant::now();
        let line = line();
        // If stderr cannot be written to, nobody reads it.
        let _ = if self.rewrites {
            self.is_shown = true;
            write!(io::stderr(), "\r\x1b[K{line}")
        } else {
            writeln!(io::stderr(), "{line}")
        };
    }

    /// Removes the line, so that other output can follow.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started_at.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
