//! `[[engine.external]]`: engines in processes of their own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Settings;
use crate::chess;
use crate::lichess::model::Variant;

/// Name of the embedded engine.
pub const EMBEDDED_ENGINE: &str = "knightwatch";

/// Upper limit of the processes of an engine.
const MAX_PROCESSES: usize = 64;

/// Upper limit of the threads of a process.
pub const MAX_EXTERNAL_THREADS: usize = 1_024;

/// Upper limit of the hash table of a process, in MiB.
pub const MAX_EXTERNAL_HASH_MIB: usize = 1 << 20;

/// Upper limit of the time for a part of a start, in seconds.
pub(super) const MAX_START_TIMEOUT_S: u64 = 3_600;

/// Options by name.
pub type EngineOptions = BTreeMap<String, OptionValue>;

section! {
    /// One `[[engine.external]]`.
    pub struct External {
        /// Name for `engine.default` and for rules.
        pub name: String,
        /// Program and arguments. A program with a slash is relative to the file, others are searched in PATH.
        pub command: Vec<String>,
        /// Protocol that it speaks.
        pub protocol: Protocol = Protocol::Uci,
        /// Working directory; ours without one.
        pub directory: Option<PathBuf>,
        /// Environment variables in addition to ours.
        pub environment: BTreeMap<String, String>,
        /// Options by name.
        pub options: EngineOptions,
        /// Time limit for each part of its start, in seconds, 1 to 3600: until it has introduced itself, and until it is ready.
        pub start_timeout_s: u64 = 30,
        /// Processes that share the games, 1 to 64.
        pub processes: usize = 1,
        /// Threads of each process; the embedded engine leaves them to it.
        pub threads: Option<usize>,
        /// Size of the hash table of each process, in MiB.
        pub hash_mib: Option<usize>,
        /// Variants that it plays; empty for standard chess, Chess960 and games from a position. The embedded engine plays the
        /// others.
        #[serde(with = "super::values::one_or_list")]
        pub variants: Vec<Variant>,
        /// Whether it is offered on the analysis board of our account.
        pub provider: bool = false,
        /// Whether it searches on the opponent's time, while a process is free.
        pub ponder: bool = false,
        /// Whether the engine manages its time, or gets a fixed time from our time management.
        pub time: TimeManager = TimeManager::Engine,
        /// Node limit for every move.
        pub nodes: Option<u64>,
        /// Depth limit for every move, in plies.
        pub depth: Option<u32>,
        /// Time for every move, in ms.
        pub movetime_ms: Option<u64>,
    }
}

/// Protocol of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Universal Chess Interface.
    Uci,
    /// Chess Engine Communication Protocol of XBoard.
    Xboard,
    /// One JSON object in for each move, one line with the move out.
    Lines,
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

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "true, false, a whole number, or a text in quotes"
)]
pub enum OptionValue {
    /// A check box.
    Check(bool),
    /// A number.
    Spin(i64),
    Text(String),
}

/// Returns whether a variant has the rules of standard chess.
fn is_standard(variant: Variant) -> bool {
    matches!(
        variant,
        Variant::Standard | Variant::Chess960 | Variant::FromPosition
    )
}

impl External {
    /// Returns whether it plays a variant; yes if none is known.
    pub fn plays(&self, variant: Option<Variant>) -> bool {
        variant.is_none_or(|variant| match self.variants.is_empty() {
            true => is_standard(variant),
            false => self.variants.contains(&variant),
        })
    }

    /// The rules of the games that it plays, without repetition.
    pub fn rules(&self) -> Vec<chess::Variant> {
        let all = chess::Variant::ALL.into_iter();
        let is_listed = |rules| {
            let mut listed = self.variants.iter();
            match self.variants.is_empty() {
                true => rules == chess::Variant::Standard,
                false => listed.any(|variant| variant.rules() == Some(rules)),
            }
        };
        all.filter(|rules| is_listed(*rules)).collect()
    }

    /// Threads of each process: by `threads`, by an option, or one.
    pub fn threads_of_process(&self) -> usize {
        let by_option = || self.number(&["threads", "number of threads", "cores"]);
        self.threads.or_else(by_option).unwrap_or(1).max(1)
    }

    /// Threads of all its processes together.
    pub fn all_threads(&self) -> usize {
        self.threads_of_process().saturating_mul(self.processes)
    }

    /// Size of the hash tables of all its processes together in MiB, as far as it is set.
    pub fn all_hash_mib(&self) -> usize {
        let by_option = || self.number(&["hash", "memory"]);
        let of_process = self.hash_mib.or_else(by_option).unwrap_or(0);
        of_process.saturating_mul(self.processes)
    }

    /// The value of an option with one of these names, in lower case, that is a number.
    fn number(&self, names: &[&str]) -> Option<usize> {
        self.options.iter().find_map(|(name, value)| match value {
            OptionValue::Spin(number) if names.contains(&name.to_lowercase().as_str()) => {
                usize::try_from(*number).ok()
            }
            _ => None,
        })
    }
}

impl Settings {
    /// The options that rules set for games of an external engine, also those of the accounts; by rule, without repetition.
    pub fn game_options(&self, engine: &str) -> Vec<Vec<(String, String)>> {
        let plays = self.rule.iter().map(|rule| &rule.play);
        let of_engine = plays.filter(|play| {
            let name = play.engine.as_ref().unwrap_or(&self.engine.default);
            name == engine
        });
        let here = of_engine.filter_map(|play| play.options.as_ref());
        let of_accounts = self.account.iter();
        let of_accounts = of_accounts.flat_map(|account| account.game_options(engine));
        let mut all: Vec<Vec<(String, String)>> = Vec::new();
        for options in here.map(option_texts).chain(of_accounts) {
            if !all.contains(&options) {
                all.push(options);
            }
        }
        all
    }
}

/// Options as the protocols write them.
pub fn option_texts(options: &EngineOptions) -> Vec<(String, String)> {
    let options = options.iter();
    options
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect()
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

/// Sentences about what is wrong with the engines, with their numbers from 0.
pub(super) fn problems(externals: &[External]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, engine) in externals.iter().enumerate() {
        let mut problems = Vec::new();
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
        if !(1..=MAX_START_TIMEOUT_S).contains(&engine.start_timeout_s) {
            problems.push(format!(
                "the engine {name} has start_timeout_s = {}, but it can be 1 to {MAX_START_TIMEOUT_S}",
                engine.start_timeout_s
            ));
        }
        if engine
            .threads
            .is_some_and(|threads| !(1..=MAX_EXTERNAL_THREADS).contains(&threads))
        {
            problems.push(format!(
                "the engine {name} can have 1 to {MAX_EXTERNAL_THREADS} threads in each process"
            ));
        }
        if engine
            .hash_mib
            .is_some_and(|mib| !(1..=MAX_EXTERNAL_HASH_MIB).contains(&mib))
        {
            problems.push(format!(
                "the engine {name} can have a hash of 1 to {MAX_EXTERNAL_HASH_MIB} MiB in each process"
            ));
        }
        if engine.protocol == Protocol::Xboard && engine.nodes.is_some() {
            problems.push(format!(
                "the engine {name} speaks XBoard's protocol, which has no limit of nodes; use depth or movetime_ms"
            ));
        }
        if engine.protocol == Protocol::Lines && engine.provider {
            problems.push(format!(
                "the engine {name} cannot analyze for the board: it is not told to stop; write provider = false"
            ));
        }
        if engine.protocol != Protocol::Uci && engine.ponder {
            problems.push(format!(
                "the engine {name} cannot ponder: only UCI lets processes be shared meanwhile"
            ));
        }
        if engine.nodes == Some(0) || engine.depth == Some(0) || engine.movetime_ms == Some(0) {
            problems.push(format!(
                "a limit of the engine {name} is 0, so it could not search"
            ));
        }
        found.extend(problems.into_iter().map(|problem| (index, problem)));
    }
    found
}

/// Returns whether an engine has this name.
pub(super) fn is_known(externals: &[External], name: &str) -> bool {
    name == EMBEDDED_ENGINE || externals.iter().any(|engine| engine.name == name)
}

/// `engines are knightwatch, stockfish`
pub(super) fn known_names(externals: &[External]) -> String {
    let names = externals.iter().map(|engine| engine.name.as_str());
    let names: Vec<&str> = std::iter::once(EMBEDDED_ENGINE).chain(names).collect();
    format!("engines are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_hash_are_booked_for_all_processes() {
        let engine = |text: &str| -> External { toml::from_str(text).unwrap() };
        for (text, threads, hash) in [
            ("", 1, 0),
            ("processes = 3", 3, 0),
            ("processes = 2\nthreads = 4\nhash_mib = 64", 8, 128),
            ("processes = 2\noptions = { Threads = 3, hash = 16 }", 6, 32),
            ("options = { \"Number of Threads\" = 2 }", 2, 0),
            (
                "protocol = \"xboard\"\noptions = { cores = 2, memory = 8 }",
                2,
                8,
            ),
            ("threads = 2\noptions = { Threads = 7 }", 2, 0),
        ] {
            let engine = engine(text);
            assert_eq!(
                (engine.all_threads(), engine.all_hash_mib()),
                (threads, hash),
                "{text}"
            );
        }
    }
}
