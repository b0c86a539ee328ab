//! Settings: defaults < file < environment < flags.
//!
//! [`settings`] says what can be set and what holds without a word from the operator, [`layers`] reads what the
//! operator wrote, [`check`] looks for contradictions. Whatever is wrong is told at once: where, what, and what to do.

mod account;
mod check;
mod correspondence;
mod daemon;
mod diff;
mod in_force;
mod joining;
mod layers;
mod manners;
mod matchmaking;
mod problem;
mod rule;
mod schema;
mod settings;
mod strength;
mod web;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::input;
use crate::lichess::{CREDENTIALS_VARIABLE, Token, TokenError, TokenFault};
use layers::{Layer, Reader};
use problem::{Place, Problem};

pub use correspondence::Correspondence;
pub use daemon::{Daemon, LogLevel};
pub use diff::Change;
pub use in_force::in_force;
pub use joining::{Joining, Membership};
pub use manners::{Chat, Draw, Evals, LAST_PLACEHOLDERS, PLACEHOLDERS, Resign, Takebacks};
pub use matchmaking::{Matchmaking, Profile, Side, fault_of};
pub use problem::Error;
pub use rule::{
    Books, Decline, Exact, ExtraRule, Limit, Match, OurColor, Pattern, Play, Range, Rule, Title,
};
pub use settings::{
    Book, Challenge, Engine, Games, Lichess, PgnFiles, Prefer, Records, SERVICE_STATE, Selection,
    Settings, Speed, Tournaments, Variant,
};
pub use strength::{Aim, STRONGEST, Strength, WEAKEST};
pub use web::Web;

/// So many seconds, and a century at most: whoever writes more means for ever.
pub(crate) fn seconds(seconds: u64) -> Duration {
    const CENTURY: u64 = 100 * 365 * 86_400;
    Duration::from_secs(seconds.min(CENTURY))
}

/// The longest configuration file, in bytes: forty times the example, for whoever blocks a great many players.
const LONGEST_FILE: u64 = 256 * 1024;

/// The environment variable that holds a token.
pub const TOKEN_VARIABLE: &str = "LICHESS_TOKEN";

/// The configuration file of the system service.
pub const SERVICE_CONFIG: &str = "/etc/knightwatch/config.toml";

/// The token file of the system service, which only root can read. The unit passes it on as a credential.
pub const SERVICE_TOKEN: &str = "/etc/knightwatch/token";

/// The name of that credential.
const CREDENTIAL: &str = "token";

/// Where settings come from besides the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file that was named; without one, the first of [`Sources::search_path`] that exists, if any.
    pub file: Option<PathBuf>,
    /// The variables of the environment.
    pub environment: BTreeMap<String, String>,
    /// Single settings from the command line, as `("engine.hash_mib", "64")`; the later wins.
    pub set: Vec<(String, String)>,
    /// Whether root asks, who is there for the service: its configuration is then found before root's own.
    pub superuser: bool,
}

impl Sources {
    /// The sources of this process: its environment, its user, and what its command line says.
    pub fn of_process(file: Option<PathBuf>, set: Vec<(String, String)>) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            file,
            environment: std::env::vars_os().filter_map(text).collect(),
            set,
            superuser: is_superuser(),
        }
    }

    /// Where a configuration file is looked for when none is named.
    pub fn search_path(&self) -> Vec<PathBuf> {
        let mut path = vec![PathBuf::from("knightwatch.toml")];
        path.extend(self.user_file());
        let service = if self.superuser { 1 } else { path.len() };
        path.insert(service, PathBuf::from(SERVICE_CONFIG));
        path
    }

    /// The configuration file of this user: `knightwatch/config.toml` in `XDG_CONFIG_HOME`, or else in `~/.config`.
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

    /// The file that is read.
    pub fn find_file(&self) -> Option<PathBuf> {
        self.file
            .clone()
            .or_else(|| self.search_path().into_iter().find(|path| path.exists()))
    }
}

/// Whether this process runs as root, as far as the system tells.
fn is_superuser() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // The first is the real user, the second the effective one.
    ids.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

/// Where the token is. The token itself is never among the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// In the environment variable [`TOKEN_VARIABLE`].
    Environment,
    /// In another one: that of an account of several.
    Variable(String),
    /// In a file of its own.
    File(PathBuf),
}

impl TokenSource {
    /// Reads the token. Call it before there are threads, or at least seldom: the environment is the process's own.
    ///
    /// # Errors
    /// When it is not there or is no token; the error never quotes it.
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
    /// Reads all layers, each over the one before it.
    ///
    /// # Errors
    /// Everything that is wrong in any of them, and every contradiction in what they make together.
    pub fn load(sources: &Sources) -> Result<Self, Error> {
        Layered::read(sources).map(|read| read.settings)
    }

    /// The same with this text in place of the file's.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_text(text: String, sources: &Sources) -> Result<Self, Error> {
        Layered::of(sources, sources.file.clone(), Ok(Some(text))).map(|read| read.settings)
    }
}

/// The settings, and the layers that they are made of.
struct Layered {
    settings: Settings,
    /// Each over the one before: the file, if there is one, the environment, the arguments.
    layers: Vec<Layer>,
    accounts: Vec<account::Written>,
}

impl Layered {
    fn read(sources: &Sources) -> Result<Self, Error> {
        let file = sources.find_file();
        let text = file.as_deref().map(read).transpose();
        Self::of(sources, file, text)
    }

    fn of(
        sources: &Sources,
        file: Option<PathBuf>,
        text: Result<Option<String>, Problem>,
    ) -> Result<Self, Error> {
        let mut reader = Reader {
            environment: &sources.environment,
            problems: Vec::new(),
            accounts: Vec::new(),
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

        let read = layers;
        let layers: Vec<&Layer> = read.iter().collect();
        let mut settings = merge(&layers);
        settings.file = file;
        settings.account = account::each(
            &reader.accounts,
            &settings,
            &layers,
            sources,
            &mut reader.problems,
        );
        if reader.accounts.is_empty() {
            settings.token = token_source(&settings, sources, &layers, &mut reader.problems);
        }
        for contradiction in check::contradictions(&settings) {
            let place = place_of(contradiction.section, contradiction.keys, &layers);
            reader
                .problems
                .push(Problem::new(place, contradiction.sentence));
        }
        for (number, sentence) in rule::contradictions(&settings.rule, &settings.book) {
            let mut rules = layers.iter().flat_map(|layer| &layer.rules);
            // What is left of a rule after a slip says nothing about what was meant.
            let rule = rules.nth(number).filter(|rule| rule.whole);
            let problem = rule.map(|rule| Problem::new(rule.place.clone(), sentence));
            reader.problems.extend(problem);
        }
        settings.warnings = reader.strange_variables();
        for account in settings.accounts() {
            settings.warnings.extend(check::warnings(&account));
        }
        let mut problems = reader.problems;
        if problems.is_empty() {
            return Ok(Self {
                settings,
                layers: read,
                accounts: reader.accounts,
            });
        }
        problems.sort_by_key(|problem| problem.place.order());
        Err(Error::new(problems))
    }
}

fn read(path: &Path) -> Result<String, Problem> {
    let text = input::read_text(path, LONGEST_FILE).map_err(|error| {
        let problem = Problem::new(
            Place::Nowhere,
            format!("cannot read {}: {error}", path.display()),
        );
        match error.kind() {
            io::ErrorKind::NotFound => problem
                .hint("knightwatch init writes one; without a file every setting has its default"),
            _ => problem,
        }
    })?;
    // Without the token, which an excerpt would show.
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

/// Whether a text holds one word alone, as a token file does.
fn is_one_word(text: &str) -> bool {
    let word = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "=[#".contains(c))
}

/// The layers over the defaults. Each of their values has been found to fit its key.
fn merge(layers: &[&Layer]) -> Settings {
    let written = layers.iter().filter(|layer| !layer.leaves.is_empty());
    let layered = written.fold(config::Config::builder(), |builder, layer| {
        let document = layer.table().to_string();
        builder.add_source(config::File::from_str(&document, config::FileFormat::Toml))
    });
    let merged = layered.build().and_then(config::Config::try_deserialize);
    let rules = layers.iter().flat_map(|layer| &layer.rules);
    let rules = rules.map(|rule| rule.table.clone().try_into());
    Settings {
        rule: rules
            .collect::<Result<_, _>>()
            .expect("every value was found to fit its key"),
        ..merged.expect("every value was found to fit its key")
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
                    .hint(format!("unset {TOKEN_VARIABLE} or take token_file out")),
            );
            None
        }
        (true, None) => Some(TokenSource::Environment),
        (false, Some(file)) => Some(TokenSource::File(file.clone())),
        (false, None) => service_token(settings, sources).map(TokenSource::File),
    }
}

/// The token of the service, which needs no setting: the credential that systemd passes on, or for its configuration
/// outside of the service the file behind that credential.
fn service_token(settings: &Settings, sources: &Sources) -> Option<PathBuf> {
    let directory = sources.environment.get(CREDENTIALS_VARIABLE).map(Path::new);
    let credential = directory
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(CREDENTIAL));
    let behind = settings
        .is_of_service()
        .then(|| PathBuf::from(SERVICE_TOKEN));
    credential
        .into_iter()
        .chain(behind)
        .find(|path| path.exists())
}

/// Whether a variable of the environment holds anything.
fn is_set(sources: &Sources, variable: &str) -> bool {
    let text = sources.environment.get(variable);
    text.is_some_and(|text| !text.trim().is_empty())
}

/// Where the first of these keys that was set at all was set last.
fn place_of(section: &str, keys: &[&str], layers: &[&Layer]) -> Place {
    let set = |key: &&str| {
        let mut leaves = layers
            .iter()
            .rev()
            .flat_map(|layer| layer.leaves.iter().rev());
        leaves.find(|leaf| (leaf.section, leaf.key) == (section, *key))
    };
    keys.iter()
        .find_map(set)
        .map_or(Place::Nowhere, |leaf| leaf.place.clone())
}

#[cfg(test)]
mod tests;
