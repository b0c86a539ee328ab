//! The socket of a running daemon, and the commands that talk to it.
//!
//! A client sends one line of JSON, the daemon answers with one line, for as long as the client keeps asking. The
//! socket belongs to the daemon's user alone (mode 0600, in a directory where nobody else can put one): who can open it
//! may do everything.

mod client;
mod server;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::metrics::Status;

pub use client::{Error, ask, status_command};
pub use server::{BindError, Server, keep};

/// The socket's file name.
const NAME: &str = "control.sock";

/// Where the systemd unit has its runtime directory.
const SYSTEM: &str = "/run/knightwatch";

/// What a client may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields, tag = "ask")]
pub enum Request {
    /// How is it going?
    Status,
}

impl Request {
    /// Reads a line of a client.
    ///
    /// # Errors
    /// Why it is no request.
    pub fn read(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| {
            // It quotes the line, which may be long and hold anything.
            let why: String = error.to_string().escape_debug().take(200).collect();
            format!("not a request: {why}")
        })
    }
}

/// What the daemon answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// That is how it is going.
    Status(Box<Status>),
    /// The request makes no sense; why.
    Error(String),
}

/// Where a daemon opens its socket when nobody says where: in the runtime directory that systemd gives it, else in that
/// of the session, else in a directory of its own below the one for temporary files.
pub fn default_path() -> PathBuf {
    let directory = |variable| {
        let value = std::env::var_os(variable)?;
        // systemd may name several, with colons between them.
        let first = std::env::split_paths(&value).next()?;
        first.is_absolute().then_some(first)
    };
    let directory = directory("RUNTIME_DIRECTORY")
        .or_else(|| directory("XDG_RUNTIME_DIR").map(|session| session.join("knightwatch")))
        .unwrap_or_else(|| std::env::temp_dir().join(format!("knightwatch-{}", user())));
    directory.join(NAME)
}

/// Where a daemon's socket may be, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    vec![default_path(), PathBuf::from(SYSTEM).join(NAME)]
}

/// The number of the user who runs this process.
fn user() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // The real one, and the one that files are made as.
    let effective = ids.and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok());
    effective.unwrap_or(0)
}
