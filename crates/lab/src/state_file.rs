//! State files of runs that can be continued, in JSON.

use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;

use knightwatch_util::{atomic_file, input};

/// Upper limit of a state file, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Reads the state of `what`, such as "a run"; `None` if there is no file.
///
/// # Errors
/// When the file cannot be read or is not such a state.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, what: &str) -> anyhow::Result<Option<T>> {
    let name = path.display();
    match input::read(path, MAX_FILE_BYTES) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .with_context(|| format!("{name} is not the state of {what}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {name}")),
    }
}

/// Replaces the file.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(path: &Path, state: &impl Serialize) -> anyhow::Result<()> {
    atomic_file::write(path, &serde_json::to_vec_pretty(state)?)
        .with_context(|| format!("cannot write {}", path.display()))
}
