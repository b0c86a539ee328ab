//! Settings: defaults < file < environment < flags.
//!
//! `settings` defines the settings and their defaults, `layers` reads the sources, `check` finds contradictions. All
//! problems are reported at once, each with its place and a hint.

/// A section of the settings, or a table of a list. Each field has its default behind it, or else that of its type.
macro_rules! section {
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty $(= $default:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: section!(@default $($default)?),)* }
            }
        }
    };
}

mod account;
mod alert;
mod arena_entry;
mod block_list;
mod check;
mod correspondence;
mod daemon;
mod diff;
mod effective;
mod etiquette;
mod external;
mod layers;
mod lichess;
mod matchmaking;
mod problem;
mod reader;
mod rule;
mod schema;
mod settings;
mod strength;
mod values;
mod variant_books;
mod web;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::credentials::CREDENTIALS_VARIABLE;
use crate::input;
use crate::lichess::{Token, TokenError, TokenFault};
use crate::seconds::CENTURY;
use layers::{Layer, RawAccount};
use problem::{Place, Problem};
use reader::{Leaf, Reader};

pub use alert::{AlertFormat, AlertKind, AlertTarget};
pub use arena_entry::{ArenaEntry, TeamEntry};
pub use block_list::BlockList;
pub use check::{MAX_GAMES, MAX_HASH_MIB, MAX_THREADS};
pub use correspondence::Correspondence;
pub use daemon::{Daemon, LogFormat, LogLevel};
pub use diff::Change;
pub use effective::effective_text;
pub use etiquette::{Chat, Draw, Evals, LAST_PLACEHOLDERS, PLACEHOLDERS, Resign, Takebacks};
pub use external::{
    EMBEDDED_ENGINE, EngineOptions, External, MAX_EXTERNAL_HASH_MIB, MAX_EXTERNAL_THREADS,
    OptionValue, Protocol, TimeManager, option_texts,
};
pub use lichess::Lichess;
pub use matchmaking::{
    ColorPreference, Matchmaking, Order, Profile, is_rateable, time_control_problem, unoffered,
};
pub use problem::Error;
pub use rule::{
    Books, ClockSpec, Decline, EngineName, ExtraRule, FenPattern, Hours, Limit, Match, Pattern,
    Play, Range, Rule, TextPattern, Title, Window, Windows,
};
pub use settings::{
    Book, Challenge, Engine, Games, PgnFiles, Prefer, Records, SERVICE_STATE, Selection, Settings,
    Tournaments, directory_in_environment,
};
pub use strength::{MAX_ELO, MIN_ELO, Strength, StrengthMode};
pub use web::{Web, WebKey};

/// A duration in seconds, limited to a century.
pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(CENTURY))
}

/// Size limit of a configuration file; leaves room for long block lists.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The environment variable that holds a token.
pub const TOKEN_VARIABLE: &str = "LICHESS_TOKEN";

/// The configuration file of the system service.
pub const SERVICE_CONFIG: &str = "/etc/knightwatch/config.toml";

/// The token file of the system service, readable only by root. The unit passes it on as a credential.
pub const SERVICE_TOKEN: &str = "/etc/knightwatch/token";

/// Directory of the files that the unit passes to the service as credentials.
const SERVICE_CREDENTIALS: &str = "/etc/knightwatch";

/// The name of the systemd credential that holds the token.
const CREDENTIAL: &str = "token";

/// Sources of settings, in addition to the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The configuration file; if `None`, the first file of [`Sources::search_path`] that exists.
    pub file: Option<PathBuf>,
    /// The environment variables.
    pub environment: BTreeMap<String, String>,
    /// Settings from the command line, as `("engine.hash_mib", "64")`; the last one wins.
    pub set: Vec<(String, String)>,
    /// Whether the process runs as root, for which the configuration of the service precedes that of the user.
    pub superuser: bool,
}

impl Sources {
    /// The sources of this process: environment, user and the given command-line arguments.
    pub fn from_process(file: Option<PathBuf>, set: Vec<(String, String)>) -> Self {
        // What is not UTF-8 must not be ignored: the replacement character leads to an error that names the variable.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((
                name.into_string().ok()?,
                value.to_string_lossy().into_owned(),
            ))
        };
        Self {
            file,
            environment: std::env::vars_os().filter_map(text).collect(),
            set,
            superuser: is_superuser(),
        }
    }

    /// The paths searched for a configuration file, in order.
    pub fn search_path(&self) -> Vec<PathBuf> {
        let mut path = vec![PathBuf::from("knightwatch.toml")];
        path.extend(self.user_file());
        let service = if self.superuser { 1 } else { path.len() };
        path.insert(service, PathBuf::from(SERVICE_CONFIG));
        path
    }

    /// The configuration file of the user: `knightwatch/config.toml` in `XDG_CONFIG_HOME` or `~/.config`.
    pub fn user_file(&self) -> Option<PathBuf> {
        let variable = |name: &str| {
            self.environment
                .get(name)
                .filter(|value| value.starts_with('/'))
        };
        let configs = match (variable("XDG_CONFIG_HOME"), variable("HOME")) {
            (Some(configs), _) => PathBuf::from(configs),
            (None, Some(home)) => Path::new(home).join(".config"),
            (None, None) => return None,
        };
        Some(configs.join("knightwatch/config.toml"))
    }

    /// The configuration file to read, if there is one.
    pub fn find_file(&self) -> Option<PathBuf> {
        self.file
            .clone()
            .or_else(|| self.search_path().into_iter().find(|path| path.exists()))
    }
}

/// Returns whether this process runs as root, according to `/proc`.
fn is_superuser() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // The second id is the effective user.
    ids.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

/// Source of the token. The token itself is never part of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// The environment variable [`TOKEN_VARIABLE`].
    Environment,
    /// The environment variable of one of several accounts.
    Variable(String),
    /// A token file.
    File(PathBuf),
}

impl TokenSource {
    /// Reads the token.
    ///
    /// # Errors
    /// When it is missing or invalid; the error never quotes it.
    pub fn read(&self) -> Result<Token, TokenError> {
        let variable = match self {
            Self::File(path) => return Token::from_file(path),
            Self::Environment => TOKEN_VARIABLE,
            Self::Variable(name) => name,
        };
        Token::from_env(variable)?.ok_or_else(|| TokenError::InEnvironment {
            name: variable.to_owned(),
            why: TokenFault::Empty,
        })
    }
}

impl Settings {
    /// Loads all layers, each overriding the previous ones.
    ///
    /// # Errors
    /// All problems of the layers, and all contradictions in the result.
    pub fn load(sources: &Sources) -> Result<Self, Error> {
        Layered::read(sources).map(|layered| layered.settings)
    }

    /// The control socket, and why the configuration cannot be used, if so. A mistake elsewhere does not change the socket,
    /// so that a running bot can be reached while its configuration is edited; a file that cannot be read has none.
    pub fn control_socket(sources: &Sources) -> (Option<PathBuf>, Option<Error>) {
        let file = sources.find_file();
        let text = file.as_deref().map(read_file).transpose();
        let is_read = text.is_ok();
        let (layered, problems) = Layered::of(sources, file, text);
        let socket = layered.settings.daemon.socket.filter(|_| is_read);
        (socket, Error::unless_empty(problems))
    }

    /// Loads the layers with `text` instead of the content of the file.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_text(text: String, sources: &Sources) -> Result<Self, Error> {
        let (layered, problems) = Layered::of(sources, sources.file.clone(), Ok(Some(text)));
        Error::unless_empty(problems).map_or(Ok(layered.settings), Err)
    }
}

/// The settings and their layers.
struct Layered {
    settings: Settings,
    /// In ascending precedence: the file, if there is one, the environment, the arguments.
    layers: Vec<Layer>,
    accounts: Vec<RawAccount>,
}

impl Layered {
    fn read(sources: &Sources) -> Result<Self, Error> {
        let file = sources.find_file();
        let text = file.as_deref().map(read_file).transpose();
        let (layered, problems) = Self::of(sources, file, text);
        Error::unless_empty(problems).map_or(Ok(layered), Err)
    }

    /// The layers without the values that have problems, and these.
    fn of(
        sources: &Sources,
        file: Option<PathBuf>,
        text: Result<Option<String>, Problem>,
    ) -> (Self, Vec<Problem>) {
        let mut reader = Reader {
            environment: &sources.environment,
            problems: Vec::new(),
        };
        let mut layers = Vec::new();
        match text {
            Ok(text) => layers.extend(
                text.map(|text| reader.file(file.as_deref().unwrap_or(Path::new("")), &text)),
            ),
            Err(problem) => reader.problems.push(problem),
        }
        layers.push(reader.environment());
        layers.push(reader.arguments(&sources.set));

        let accounts = layers
            .iter_mut()
            .flat_map(|layer| std::mem::take(&mut layer.accounts));
        let accounts: Vec<RawAccount> = accounts.collect();
        let owned_layers = layers;
        let layers: Vec<&Layer> = owned_layers.iter().collect();
        let mut settings = merge(&layers);
        settings.file = file;
        settings.account =
            account::account_settings(&accounts, &settings, &layers, sources, &mut reader.problems);
        if accounts.is_empty() {
            settings.token = token_source(&settings, sources, &layers, &mut reader.problems);
        }
        for contradiction in check::contradictions(&settings) {
            if !account::applies(&contradiction, &settings.account) {
                continue;
            }
            let place = place_of_contradiction(&contradiction, &layers);
            let problem = place.map(|place| Problem::new(place, contradiction.sentence));
            reader.problems.extend(problem);
        }
        for (number, sentence) in rule::contradictions(&settings) {
            let mut rules = layers.iter().flat_map(|layer| &layer.rules);
            // A rule with a problem is incomplete, so its contradictions may be false.
            let rule = rules.nth(number).filter(|rule| rule.is_complete);
            let problem = rule.map(|rule| Problem::new(rule.place.clone(), sentence));
            reader.problems.extend(problem);
        }
        settings.warnings = reader.misspelled_variables();
        for account in settings.accounts() {
            settings.warnings.extend(check::warnings(&account));
        }
        let layered = Self {
            settings,
            layers: owned_layers,
            accounts,
        };
        (layered, reader.problems)
    }
}

fn read_file(path: &Path) -> Result<String, Problem> {
    let text = input::read_text(path, MAX_FILE_BYTES).map_err(|error| {
        let problem = Problem::new(
            Place::Nowhere,
            format!("cannot read {}: {error}", path.display()),
        );
        match error.kind() {
            io::ErrorKind::NotFound => problem
                .hint("knightwatch init creates one; without a file every setting has its default"),
            _ => problem,
        }
    })?;
    // Do not show it: an excerpt would contain the token.
    if is_one_word(&text) {
        let message = format!(
            "{} holds a single word and no settings, so it may be the token file: it is not shown",
            path.display()
        );
        let hint = "--config names the configuration; the token file is named in it, with token_file in [lichess]";
        return Err(Problem::new(Place::Nowhere, message).hint(hint));
    }
    Ok(text)
}

/// Returns whether a text consists of a single word, as a token file does.
fn is_one_word(text: &str) -> bool {
    let word = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "=[#".contains(c))
}

/// Merges the layers: the last one that has a setting gives its whole value. `config` alone would merge tables.
fn merge_layers(layers: &[&Layer]) -> config::Config {
    let leaves = layers.iter().flat_map(|layer| &layer.leaves);
    let last: BTreeMap<_, _> = leaves
        .map(|leaf| ((leaf.section, leaf.key), leaf))
        .collect();
    let merged = Layer {
        leaves: last.into_values().cloned().collect(),
        ..Layer::default()
    };
    let layered = config::Config::builder().add_source(merged);
    layered.build().expect("layers can be read")
}

/// Merges the layers with the defaults. All values have been checked.
fn merge(layers: &[&Layer]) -> Settings {
    let merged = merge_layers(layers).try_deserialize();
    let rules = layers.iter().flat_map(|layer| &layer.rules);
    let rules = rules.map(|rule| rule.table.clone().try_into());
    Settings {
        rule: rules
            .collect::<Result<_, _>>()
            .expect("all values have been checked"),
        ..merged.expect("all values have been checked")
    }
}

fn token_source(
    settings: &Settings,
    sources: &Sources,
    layers: &[&Layer],
    problems: &mut Vec<Problem>,
) -> Option<TokenSource> {
    match (
        is_set(sources, TOKEN_VARIABLE),
        &settings.lichess.token_file,
    ) {
        (true, Some(file)) => {
            let place = place_of("lichess", &["token_file"], layers);
            let message = format!(
                "there are two tokens: one in {TOKEN_VARIABLE} and one in {}",
                file.display()
            );
            problems.push(
                Problem::new(place, message)
                    .hint(format!("unset {TOKEN_VARIABLE} or remove token_file")),
            );
            None
        }
        (true, None) => Some(TokenSource::Environment),
        (false, Some(file)) => Some(TokenSource::File(file.clone())),
        (false, None) => {
            let credentials = sources.environment.get(CREDENTIALS_VARIABLE);
            let file = settings.find_credential(credentials.map(Path::new), CREDENTIAL);
            file.map(TokenSource::File)
        }
    }
}

/// Returns whether an environment variable is set and not blank.
fn is_set(sources: &Sources, variable: &str) -> bool {
    let text = sources.environment.get(variable);
    text.is_some_and(|text| !text.trim().is_empty())
}

/// The last place of the first of these keys that is set.
fn place_of(section: &str, keys: &[&str], layers: &[&Layer]) -> Place {
    leaf_of(section, keys, layers).map_or(Place::Nowhere, |leaf| leaf.place.clone())
}

/// The place of a contradiction. `None` in a table with a problem: it is incomplete, so its contradictions may be false.
fn place_of_contradiction(one: &check::Contradiction, layers: &[&Layer]) -> Option<Place> {
    let leaf = leaf_of(one.section, one.keys, layers);
    let table = leaf
        .zip(one.table)
        .and_then(|(leaf, number)| leaf.tables.get(number));
    match (leaf, table) {
        (_, Some(table)) => table.is_complete.then(|| table.place.clone()),
        (Some(leaf), None) => Some(leaf.place.clone()),
        (None, None) => Some(Place::Nowhere),
    }
}

/// The last value of the first of these keys that is set.
fn leaf_of<'a>(section: &str, keys: &[&str], layers: &[&'a Layer]) -> Option<&'a Leaf> {
    keys.iter().find_map(|key| {
        let mut leaves = layers
            .iter()
            .rev()
            .flat_map(|layer| layer.leaves.iter().rev());
        leaves.find(|leaf| (leaf.section, leaf.key) == (section, *key))
    })
}

#[cfg(test)]
mod tests;
