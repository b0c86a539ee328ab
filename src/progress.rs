//! A line that tells how a long command is doing: rewritten in place on a terminal, elsewhere a new one now and then.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Between two lines on a terminal.
const OFTEN: Duration = Duration::from_millis(200);
/// Between two lines in a file or a pipe.
const SELDOM: Duration = Duration::from_secs(10);

/// The line, on stderr. It goes away with its owner.
pub struct Progress {
    rewrites: bool,
    began: Instant,
    told: Instant,
    shown: bool,
}

impl Default for Progress {
    fn default() -> Progress {
        let now = Instant::now();
        Progress {
            rewrites: io::stderr().is_terminal(),
            began: now,
            told: now,
            shown: false,
        }
    }
}

impl Progress {
    /// Says how things are, unless it has just been said.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        let pause = if self.rewrites { OFTEN } else { SELDOM };
        if self.told.elapsed() < pause {
            return;
        }
        self.told = Instant::now();
        let line = line();
        // Where it cannot be written, nobody reads it.
        let _ = if self.rewrites {
            self.shown = true;
            write!(io::stderr(), "\r\x1b[K{line}")
        } else {
            writeln!(io::stderr(), "{line}")
        };
    }

    /// Takes the line away, so that something else can be written.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    /// Since the start.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
