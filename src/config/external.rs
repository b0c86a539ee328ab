//! `[[engine.external]]`: engines in processes of their own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Name of the embedded engine.
pub const EMBEDDED_ENGINE: &str = "knightwatch";

/// Upper limit of the processes of an engine.
const MAX_PROCESSES: usize = 64;

/// One `[[engine.external]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct External {
    /// Name for `engine.default` and for rules.
    pub name: String,
    /// Program and arguments. A program with a slash is relative to the file, others are searched in PATH.
    pub command: Vec<String>,
    /// Working directory; ours without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Environment variables in addition to ours.
    pub environment: BTreeMap<String, String>,
    /// UCI options by name.
    pub options: BTreeMap<String, OptionValue>,
    /// Processes that share the games, 1 to 64.
    pub processes: usize,
    /// Whether the engine manages its time, or gets a fixed time from our time management.
    pub time: TimeManager,
    /// Node limit for every move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Depth limit for every move, in plies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Time for every move, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movetime_ms: Option<u64>,
}

impl Default for External {
    fn default() -> Self {
        Self {
            name: String::new(),
            command: Vec::new(),
            directory: None,
            environment: BTreeMap::new(),
            options: BTreeMap::new(),
            processes: 1,
            time: TimeManager::Engine,
            nodes: None,
            depth: None,
            movetime_ms: None,
        }
    }
}

/// The side that decides on the time for a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeManager {
    /// The engine, from the clock less the measured lag.
    Engine,
    /// Our time management.
    Ours,
}

/// A value of a UCI option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// A check box.
    Check(bool),
    /// A number.
    Spin(i64),
    /// Text.
    Text(String),
}

/// As in `setoption`.
impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(value) => value.fmt(f),
            Self::Spin(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// Sentences about what is wrong with the engines.
pub(super) fn problems(externals: &[External]) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, engine) in externals.iter().enumerate() {
        let name = &engine.name;
        let is_name = !name.is_empty()
            && name.len() <= 40
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !is_name {
            problems.push(format!(
                "`{name}` is not a name of an engine: 1 to 40 letters, digits, `-`, `_` and `.`"
            ));
        } else if name == EMBEDDED_ENGINE {
            problems.push(format!(
                "{name} is the name of the embedded engine; choose another"
            ));
        } else if externals[..index].iter().any(|it| it.name == *name) {
            problems.push(format!("two engines have the name {name}"));
        }
        if engine.command.first().is_none_or(String::is_empty) {
            problems.push(format!("the engine {name} has no command"));
        }
        if !(1..=MAX_PROCESSES).contains(&engine.processes) {
            problems.push(format!(
                "the engine {name} has {} processes, but it can have 1 to {MAX_PROCESSES}",
                engine.processes
            ));
        }
        if engine.nodes == Some(0) || engine.depth == Some(0) || engine.movetime_ms == Some(0) {
            problems.push(format!(
                "a limit of the engine {name} is 0, so it could not search"
            ));
        }
    }
    problems
}

/// Whether an engine has this name.
pub(super) fn is_known(externals: &[External], name: &str) -> bool {
    name == EMBEDDED_ENGINE || externals.iter().any(|engine| engine.name == name)
}

/// `engines are knightwatch, stockfish`
pub(super) fn known_names(externals: &[External]) -> String {
    let names = externals.iter().map(|engine| engine.name.as_str());
    let names: Vec<&str> = std::iter::once(EMBEDDED_ENGINE).chain(names).collect();
    format!("engines are {}", names.join(", "))
}
