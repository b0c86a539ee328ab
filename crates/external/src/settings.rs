//! Settings of an external engine.

use std::time::Duration;

use super::channel::{EngineError, Launch};
use super::engine::{EngineProcess, HASH, PONDER, THREADS};

/// Limits of every search of an engine, such as one node for Maia.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FixedLimits {
    /// Nodes.
    pub nodes: Option<u64>,
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Time.
    pub movetime: Option<Duration>,
}

/// The value of an option in a list.
pub(crate) fn value_of(options: &[(String, String)], name: &str) -> Option<String> {
    let mut options = options.iter();
    let found = options.find(|(other, _)| other.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.clone())
}

/// Settings of an external engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalSettings {
    /// Name in the configuration.
    pub name: String,
    /// How to start it.
    pub launch: Launch,
    /// Names and values of options.
    pub options: Vec<(String, String)>,
    /// Threads of each process; `None` leaves them to the engine or to `options`.
    pub threads: Option<usize>,
    /// Size of the hash table of each process in MiB.
    pub hash_mib: Option<usize>,
    /// Processes, which share the games.
    pub processes: usize,
    /// Limits of every search.
    pub limits: FixedLimits,
    /// Our time management decides, and the engine gets a fixed time; otherwise it gets the clock.
    pub own_time_management: bool,
    /// Search on the opponent's time, if the engine can and a process is free.
    pub ponder: bool,
}

impl ExternalSettings {
    /// Sets the options of a process, and waits until it is ready.
    ///
    /// # Errors
    /// When the engine does not have an option or a value.
    pub fn configure(&self, process: &mut EngineProcess) -> Result<(), EngineError> {
        if let Some(threads) = self.threads {
            process.set_threads(threads)?;
        }
        if let Some(mib) = self.hash_mib {
            process.set_hash(mib)?;
        }
        if self.ponder && process.option(PONDER).is_some() {
            process.send_option(PONDER, "true")?;
        }
        let options = self.options.iter();
        process.set_options(options.map(|(name, value)| (&**name, &**value)))
    }

    /// The value that these settings give an option of the engine, if any.
    pub(crate) fn option(&self, name: &str) -> Option<String> {
        let is = |other: &str| other.eq_ignore_ascii_case(name);
        if let Some(value) = value_of(&self.options, name) {
            return Some(value);
        }
        if THREADS.into_iter().any(is) {
            return self.threads.map(|threads| threads.to_string());
        }
        if is(HASH) {
            return self.hash_mib.map(|mib| mib.to_string());
        }
        (is(PONDER) && self.ponder).then(|| true.to_string())
    }
}
