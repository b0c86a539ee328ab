//! `[daemon]`: settings of the process itself.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::alert::AlertTarget;
use super::seconds;
use crate::keys;

/// `[daemon]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Daemon {
    /// Seconds that running games get to finish after SIGTERM or the first Ctrl-C.
    pub grace_s: u64,
    /// How much to log.
    pub log_level: LogLevel,
    /// Form of the log lines.
    pub log_format: LogFormat,
    /// A file that gets the log, too.
    pub log_file: Option<PathBuf>,
    /// Size in MiB from which a new log file is begun.
    pub log_file_mib: u32,
    /// Number of log files that are kept, the current one included.
    pub log_files: u32,
    /// The control socket, for `knightwatch status`; by default `control.sock` in the runtime directory.
    pub socket: Option<PathBuf>,
    /// Webhooks for alerts, each below `[[alert]]`.
    #[serde(skip_serializing)]
    pub alert: Vec<AlertTarget>,
}

keys! {
    /// The least severe kind of log line that is still written.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum LogLevel {
        Error = "error",
        Warn = "warn",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}

/// Form of the log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Daemon {
    /// Time that running games get to finish after SIGTERM or the first Ctrl-C.
    pub fn grace(&self) -> Duration {
        seconds(self.grace_s)
    }

    /// Size in bytes from which a new log file is begun.
    pub fn log_file_bytes(&self) -> u64 {
        u64::from(self.log_file_mib) << 20
    }
}

impl Default for Daemon {
    fn default() -> Self {
        Self {
            grace_s: 900,
            log_level: LogLevel::Info,
            log_format: LogFormat::Text,
            log_file: None,
            log_file_mib: 10,
            log_files: 5,
            socket: None,
            alert: Vec::new(),
        }
    }
}
