//! `[[account]]`: one of several accounts that one daemon plays.
//!
//! Each has its name on Lichess and its token. Beside them it may write any section of behaviour, whose keys stand over
//! those of the whole file, and rules, which are read before those of the whole file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::layers::{At, Layer, Reader, Sound, resolve_token};
use super::problem::{Place, Problem};
use super::schema;
use super::{
    Error, Settings, Sources, TOKEN_VARIABLE, TokenSource, check, is_set, merge, place_of, rule,
};
use crate::lichess::model::address::{self, Page};
use crate::spelling::choices;

/// The sections that an account may have of its own; of the others there is one for all.
pub(super) const OWN: [&str; 8] = [
    "challenge",
    "games",
    "matchmaking",
    "correspondence",
    "tournaments",
    "draw",
    "resign",
    "chat",
];

/// An account as it was written.
pub(super) struct Written {
    pub name: Option<String>,
    token_file: Option<PathBuf>,
    /// That was wrong, and has been told.
    bad_token_file: bool,
    /// Its sections and rules.
    pub layer: Layer,
    /// Its heading.
    pub place: Place,
}

impl Reader<'_> {
    /// The accounts, each below a heading `[[account]]`.
    pub fn accounts(
        &mut self,
        content: Spanned<DeValue<'_>>,
        at: At<'_>,
        sound: Sound<'_>,
        base: &Path,
    ) -> Vec<Written> {
        let tables = self.tables(content, "account", "[[account]]", at);
        let mut accounts: Vec<Written> = Vec::new();
        for (place, mut table) in tables {
            let names_file = table.contains_key("token_file");
            let mut text = |key: &str| {
                let value = table.remove(key)?;
                sound(value.span()).then(|| self.text_of_account(key, value, at))?
            };
            let (name, token_file) = (text("name"), text("token_file"));
            let name = match name {
                Some((name, place)) => self.name_of_account(name, place, &accounts),
                None => {
                    let problem = Problem::new(place.clone(), "an account has no name");
                    self.problems
                        .push(problem.hint("write name = \"...\", as Lichess calls it"));
                    None
                }
            };
            let token_file = token_file.and_then(|(path, place)| {
                let resolved = resolve_token(&path, base, self.environment);
                resolved
                    .map(PathBuf::from)
                    .map_err(|message| self.problems.push(Problem::new(place, message)))
                    .ok()
            });
            accounts.push(Written {
                name,
                bad_token_file: names_file && token_file.is_none(),
                token_file,
                layer: self.sections(table, at, sound, base, true),
                place,
            });
        }
        accounts
    }

    fn text_of_account(
        &mut self,
        key: &str,
        value: Spanned<DeValue<'_>>,
        at: At<'_>,
    ) -> Option<(String, Place)> {
        let place = at(value.span());
        let read = Value::deserialize(ValueDeserializer::from(value));
        let (message, hint) = match read {
            Ok(Value::String(text)) => return Some((text, place)),
            Ok(other) => {
                let complaint = schema::Complaint::no_text(key, &other);
                (complaint.message, complaint.hint)
            }
            Err(error) => (error.message().to_owned(), None),
        };
        let problem = Problem::new(place, message);
        self.problems.push(Problem { hint, ..problem });
        None
    }

    /// The name, if it can be one and no other account has it.
    fn name_of_account(
        &mut self,
        name: String,
        place: Place,
        others: &[Written],
    ) -> Option<String> {
        let name = address::id(&name, Page::User).to_owned();
        let problem = if !is_user_name(&name) {
            Problem::new(place, format!("`{name}` is not the name of an account"))
                .hint("write it as Lichess does: 2 to 30 letters, digits, _ and -")
        } else if others
            .iter()
            .filter_map(|other| other.name.as_ref())
            .any(|other| variable(other) == variable(&name))
        {
            Problem::new(place, format!("two accounts are called `{name}`"))
                .hint("each account of Lichess is played once")
        } else {
            return Some(name);
        };
        self.problems.push(problem);
        None
    }

    /// What an account has that it cannot have.
    pub(super) fn not_of_account(&mut self, name: &str, place: Place) {
        let all: Vec<&str> = ["name", "token_file", "rule"]
            .into_iter()
            .chain(OWN)
            .collect();
        let problem = match schema::section_of(name) {
            _ if schema::sections().contains(&name) => {
                Problem::new(place, format!("[{name}] is the same for all accounts")).hint(format!(
                    "write it outside of [[account]]; of its own an account may have {}",
                    OWN.join(", ")
                ))
            }
            Some(section) if OWN.contains(&section) => {
                Problem::new(place, format!("`{name}` stands outside of its section"))
                    .hint(format!("write {section}.{name}"))
            }
            _ => Problem::new(place, format!("an account has no key `{name}`")).hint(choices(
                "keys of [[account]]",
                name,
                &all,
            )),
        };
        self.problems.push(problem);
    }
}

/// The environment variable that holds the token of an account without `token_file`.
fn variable(name: &str) -> String {
    let name = name.to_ascii_uppercase().replace('-', "_");
    format!("{TOKEN_VARIABLE}_{name}")
}

/// The settings of each account: those of all, with its own over them.
pub(super) fn each(
    written: &[Written],
    all: &Settings,
    layers: &[&Layer],
    sources: &Sources,
    problems: &mut Vec<Problem>,
) -> Vec<Settings> {
    if written.is_empty() {
        return Vec::new();
    }
    one_token_too_many(all, layers, sources, problems);
    let names: Vec<&String> = written.iter().filter_map(|one| one.name.as_ref()).collect();
    let settings = written.iter().filter_map(|account| {
        let name = account.name.clone()?;
        // The file is the first layer: without one there are no accounts.
        let (file, above) = layers.split_first()?;
        let own: Vec<&Layer> = [&[*file, &account.layer], above].concat();
        let mut settings = merge(&own);
        settings.rule.rotate_right(account.layer.rules.len());
        for problem in contradictions(&settings, all, &account.layer, &own) {
            problems.push(problem);
        }
        settings.token = token_source(&name, account, sources, problems);
        settings.lichess.token_file = account.token_file.clone();
        settings.file = all.file.clone();
        let sisters = names.iter().filter(|other| ***other != name);
        settings.sisters = sisters.map(|other| (*other).clone()).collect();
        // In whichever order they are written.
        settings.sisters.sort_unstable();
        settings.name = Some(name);
        Some(settings)
    });
    settings.collect()
}

/// With several accounts nobody knows whose the token of the whole is.
fn one_token_too_many(
    all: &Settings,
    layers: &[&Layer],
    sources: &Sources,
    problems: &mut Vec<Problem>,
) {
    const MESSAGE: &str = "with [[account]] each account has a token of its own";
    if all.lichess.token_file.is_some() {
        let place = place_of("lichess", &["token_file"], layers);
        problems.push(Problem::new(place, MESSAGE).hint("write token_file below [[account]]"));
    }
    if is_set(sources, TOKEN_VARIABLE) {
        let place = Place::Environment(TOKEN_VARIABLE.to_owned());
        let hint = format!("put the account's name behind it: {TOKEN_VARIABLE}_NAME");
        problems.push(Problem::new(place, MESSAGE).hint(hint));
    }
}

fn token_source(
    name: &str,
    account: &Written,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) -> Option<TokenSource> {
    let variable = variable(name);
    let problem = |message: String| Problem::new(account.place.clone(), message);
    match (is_set(sources, &variable), &account.token_file) {
        (true, None) => Some(TokenSource::Variable(variable)),
        (false, Some(file)) => Some(TokenSource::File(file.clone())),
        (true, Some(file)) => {
            let file = file.display();
            problems.push(
                problem(format!(
                    "{name} has two tokens: one in {variable} and one in {file}"
                ))
                .hint(format!("unset {variable} or take token_file out")),
            );
            None
        }
        (false, None) if account.bad_token_file => None,
        (false, None) => {
            problems.push(problem(format!("{name} has no token")).hint(format!(
                "put it into a file and name that with token_file, or into {variable}"
            )));
            None
        }
    }
}

/// What contradicts itself in an account, and does not in what is written for all.
fn contradictions(
    settings: &Settings,
    all: &Settings,
    account: &Layer,
    layers: &[&Layer],
) -> Vec<Problem> {
    let said = check::contradictions(all);
    let is_said = |one: &check::Contradiction| {
        said.iter()
            .any(|other| (other.section, &other.sentence) == (one.section, &one.sentence))
    };
    let mut problems = Vec::new();
    for one in check::contradictions(settings) {
        if !is_said(&one) {
            let place = place_of(one.section, one.keys, layers);
            problems.push(Problem::new(place, one.sentence));
        }
    }
    // As the rules stand in the settings: its own, then those of all.
    let rules: Vec<_> = [account]
        .into_iter()
        .chain(
            layers
                .iter()
                .copied()
                .filter(|layer| !std::ptr::eq(*layer, account)),
        )
        .flat_map(|layer| &layer.rules)
        .collect();
    let said = rule::contradictions(&all.rule, &all.book);
    for (number, sentence) in rule::contradictions(&settings.rule, &settings.book) {
        let before = number.checked_sub(account.rules.len());
        let is_said = before.is_some_and(|number| said.contains(&(number, sentence.clone())));
        // What is left of a rule after a slip says nothing about what was meant.
        let rule = rules.get(number).filter(|rule| rule.whole && !is_said);
        problems.extend(rule.map(|rule| Problem::new(rule.place.clone(), sentence)));
    }
    problems
}

impl Settings {
    /// The settings of each account that is played, or these, where there is one.
    pub fn accounts(&self) -> Vec<Self> {
        match &self.account[..] {
            [] => vec![self.clone()],
            several => several.to_vec(),
        }
    }

    /// The names of the accounts, where there are several.
    pub fn names(&self) -> Vec<String> {
        let names = self
            .account
            .iter()
            .filter_map(|account| account.name.clone());
        names.collect()
    }

    /// The settings of the account of this name, or of the only one.
    ///
    /// # Errors
    /// When there is no such account, or there are several and none is named.
    pub fn of_account(self, name: Option<&str>) -> Result<Self, Error> {
        let name = name.map(|name| address::id(name, Page::User));
        let is_it = |account: &Self| name.is_none_or(|name| account.is_called(name));
        let names = self.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut meant = self.account.iter().filter(|account| is_it(account));
        let problem = match (meant.next(), meant.next(), name) {
            (None, _, None) => return Ok(self),
            (Some(account), None, _) => return Ok(account.clone()),
            (None, _, Some(name)) => {
                let message = format!("the configuration has no account `{name}`");
                Problem::new(Place::Nowhere, message).hint(match &names[..] {
                    [] => "it has no [[account]] at all; leave --account out".to_owned(),
                    names => choices("accounts are", name, names),
                })
            }
            (Some(_), Some(_), _) => {
                let message = "the configuration has several accounts, and one of them is meant";
                let hint = format!("say --account NAME: {}", names.join(", "));
                Problem::new(Place::Nowhere, message).hint(hint)
            }
        };
        Err(Error::new(vec![problem]))
    }

    /// What was read anew, for this account of several or for the only one. `None` when it is not among the accounts
    /// any more.
    pub fn anew_for(self, name: Option<&str>) -> Option<Self> {
        match name {
            Some(name) => self.account.into_iter().find(|one| one.is_called(name)),
            None => Some(self),
        }
    }

    /// What files are called that are kept for this account: like its server, with its name before that where it is one of
    /// several.
    pub fn state_name(&self) -> String {
        match &self.name {
            Some(name) => self.state_name_of(name),
            None => self.lichess.server_name(),
        }
    }

    /// The same for an account of this name.
    pub fn state_name_of(&self, name: &str) -> String {
        let server = self.lichess.server_name();
        format!("{}@{server}", name.to_ascii_lowercase())
    }

    /// Whether the account of these settings may be called so.
    pub fn is_called(&self, name: &str) -> bool {
        let wanted = self.name.as_deref();
        wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(name))
    }

    /// Whether this is another account of the same daemon.
    pub fn is_sister(&self, name: &str) -> bool {
        let mut sisters = self.sisters.iter();
        sisters.any(|sister| sister.eq_ignore_ascii_case(name))
    }
}

/// Whether somebody can be called so on Lichess: 2 to 30 letters, digits, `_` and `-`.
pub(super) fn is_user_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (2..=30).contains(&name.len()) && name.chars().all(fits)
}
