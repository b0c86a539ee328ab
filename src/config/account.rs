//! `[[account]]`: settings of one of several accounts that one daemon plays.
//!
//! Each account has its Lichess user name and its own token. It may also override any section of
//! [`PER_ACCOUNT_SECTIONS`]. Its rules are read before those of the whole file.

use std::path::{Path, PathBuf};

use toml::de::DeValue;
use toml::{Spanned, Value};

use super::layers::{Layer, PER_ACCOUNT_SECTIONS, RawAccount};
use super::problem::{Place, Problem};
use super::reader::{IsIntact, Locate, Reader, resolve_secret};
use super::schema::{self, InvalidValue};
use super::{
    Error, Settings, Sources, TOKEN_VARIABLE, TokenSource, check, is_set, merge, place_of,
    place_of_contradiction, rule,
};
use crate::lichess::model::Username;
use crate::lichess::model::address::{self, Page};
use crate::spelling::choices;

impl Reader<'_> {
    /// Reads the accounts, each below a heading `[[account]]`.
    pub(super) fn accounts(
        &mut self,
        content: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
        is_intact: IsIntact<'_>,
        base: &Path,
    ) -> Vec<RawAccount> {
        let tables = self.tables(content, "account", "[[account]]", locate);
        let mut accounts: Vec<RawAccount> = Vec::new();
        for (place, mut table) in tables {
            let names_file = table.contains_key("token_file");
            let mut text = |key: &str| {
                let value = table.remove(key)?;
                is_intact(value.span()).then(|| self.text_of_account(key, value, locate))?
            };
            let (name, token_file) = (text("name"), text("token_file"));
            let name = match name {
                Some((name, place)) => self.name_of_account(name, place, &accounts),
                None => {
                    let hint = "write name = \"...\", the Lichess user name";
                    self.reject(&place, "an account has no name", hint);
                    None
                }
            };
            let token_file = token_file.and_then(|(path, place)| {
                let resolved = resolve_secret(&path, base, self.environment);
                resolved
                    .map(PathBuf::from)
                    .map_err(|message| self.problems.push(Problem::new(place, message)))
                    .ok()
            });
            accounts.push(RawAccount {
                name,
                bad_token_file: names_file && token_file.is_none(),
                token_file,
                layer: self.sections(table, locate, is_intact, base, true),
                place,
            });
        }
        accounts
    }

    fn text_of_account(
        &mut self,
        key: &str,
        value: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
    ) -> Option<(String, Place)> {
        match self.value(value, locate)? {
            (Value::String(text), place, _) => Some((text, place)),
            (other, place, _) => {
                self.reject_value(Some(InvalidValue::not_text(key, &other)), &place);
                None
            }
        }
    }

    /// The name, if it is a valid user name and no other account has it.
    fn name_of_account(
        &mut self,
        name: String,
        place: Place,
        others: &[RawAccount],
    ) -> Option<String> {
        let name = address::id(&name, Page::User).to_owned();
        if !Username::is_valid(&name) {
            let hint = "write it as Lichess does: 2 to 30 letters, digits, _ and -";
            self.reject(
                &place,
                format!("`{name}` is not the name of an account"),
                hint,
            );
            return None;
        }
        let mut others = others.iter().filter_map(|other| other.name.as_ref());
        if others.any(|other| token_variable(other) == token_variable(&name)) {
            let hint = "each account of Lichess is played once";
            self.reject(&place, format!("two accounts are called `{name}`"), hint);
            return None;
        }
        Some(name)
    }

    /// Reports a key that an account cannot have.
    pub(super) fn reject_account_key(&mut self, name: &str, place: &Place) {
        let all: Vec<&str> = ["name", "token_file", "rule"]
            .into_iter()
            .chain(PER_ACCOUNT_SECTIONS)
            .collect();
        let (message, hint) = match schema::section_of(name) {
            _ if schema::sections().contains(&name) => (
                format!("[{name}] is the same for all accounts"),
                format!(
                    "write it outside of [[account]]; an account may override {}",
                    PER_ACCOUNT_SECTIONS.join(", ")
                ),
            ),
            Some(section) if PER_ACCOUNT_SECTIONS.contains(&section) => (
                format!("`{name}` is outside of its section"),
                format!("write {section}.{name}"),
            ),
            _ => (
                format!("an account has no key `{name}`"),
                choices("keys of [[account]]", name, &all),
            ),
        };
        self.reject(place, message, hint);
    }
}

/// The environment variable that holds the token of an account without `token_file`.
fn token_variable(name: &str) -> String {
    let name = name.to_ascii_uppercase().replace('-', "_");
    format!("{TOKEN_VARIABLE}_{name}")
}

/// The settings of each account: the common ones, overridden by its own.
pub(super) fn account_settings(
    written: &[RawAccount],
    all: &Settings,
    layers: &[&Layer],
    sources: &Sources,
    problems: &mut Vec<Problem>,
) -> Vec<Settings> {
    if written.is_empty() {
        return Vec::new();
    }
    reject_shared_token(all, layers, sources, problems);
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
        let other_accounts = names.iter().filter(|other| ***other != name);
        settings.other_accounts = other_accounts.map(|other| (*other).clone()).collect();
        // Independent of the order in the file.
        settings.other_accounts.sort_unstable();
        settings.name = Some(name);
        Some(settings)
    });
    settings.collect()
}

/// Reports a token that is not assigned to one of several accounts.
fn reject_shared_token(
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
        let hint = format!("append the name of the account: {TOKEN_VARIABLE}_NAME");
        problems.push(Problem::new(place, MESSAGE).hint(hint));
    }
}

fn token_source(
    name: &str,
    account: &RawAccount,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) -> Option<TokenSource> {
    let variable = token_variable(name);
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
                .hint(format!("unset {variable} or remove token_file")),
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

/// Returns whether a contradiction of the common settings applies: with accounts, one in a section that they may override
/// applies only if an account has it as well.
pub(super) fn applies(common: &check::Contradiction, accounts: &[Settings]) -> bool {
    let is_same = |one: &check::Contradiction| {
        (one.section, &one.sentence) == (common.section, &common.sentence)
    };
    accounts.is_empty()
        || !PER_ACCOUNT_SECTIONS.contains(&common.section)
        || accounts
            .iter()
            .any(|account| check::contradictions(account).iter().any(is_same))
}

/// The contradictions of an account that the common settings do not have.
fn contradictions(
    settings: &Settings,
    all: &Settings,
    account: &Layer,
    layers: &[&Layer],
) -> Vec<Problem> {
    let reported = check::contradictions(all);
    let is_reported = |one: &check::Contradiction| {
        reported
            .iter()
            .any(|other| (other.section, &other.sentence) == (one.section, &one.sentence))
    };
    let mut problems = Vec::new();
    for one in check::contradictions(settings) {
        if !is_reported(&one) {
            let place = place_of_contradiction(&one, layers);
            problems.extend(place.map(|place| Problem::new(place, one.sentence)));
        }
    }
    // In the order of the settings: its own rules, then the common ones.
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
    let reported = rule::contradictions(all);
    for (number, sentence) in rule::contradictions(settings) {
        let before = number.checked_sub(account.rules.len());
        let is_reported =
            before.is_some_and(|number| reported.contains(&(number, sentence.clone())));
        // A rule with a problem is incomplete, so its contradictions may be false.
        let rule = rules
            .get(number)
            .filter(|rule| rule.is_complete && !is_reported);
        problems.extend(rule.map(|rule| Problem::new(rule.place.clone(), sentence)));
    }
    problems
}

impl Settings {
    /// The settings of each account; with a single account, these settings.
    pub fn accounts(&self) -> Vec<Self> {
        match &self.account[..] {
            [] => vec![self.clone()],
            several => several.to_vec(),
        }
    }

    /// The names of the accounts; empty with a single account.
    pub fn account_names(&self) -> Vec<String> {
        let names = self
            .account
            .iter()
            .filter_map(|account| account.name.clone());
        names.collect()
    }

    /// The settings of the account of this name, or of the only account.
    ///
    /// # Errors
    /// When there is no such account, or there are several and none is named.
    pub fn for_account(self, name: Option<&str>) -> Result<Self, Error> {
        let name = name.map(|name| address::id(name, Page::User));
        let matches_name = |account: &Self| name.is_none_or(|name| account.is_account_name(name));
        let names = self.account_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut matching = self.account.iter().filter(|account| matches_name(account));
        let problem = match (matching.next(), matching.next(), name) {
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
                let message = "the configuration has several accounts; choose one";
                let hint = format!("add --account NAME: {}", names.join(", "));
                Problem::new(Place::Nowhere, message).hint(hint)
            }
        };
        Err(Error::new(vec![problem]))
    }

    /// The reloaded settings of this account, or of the only one; `None` if the account was removed.
    pub fn reloaded_for(self, name: Option<&str>) -> Option<Self> {
        let Some(name) = name else { return Some(self) };
        let mut accounts = self.account.into_iter();
        let account = accounts.find(|one| one.is_account_name(name))?;
        Some(Self {
            warnings: self.warnings,
            ..account
        })
    }

    /// The base name of the state files of this account: `SERVER`, or `ACCOUNT@SERVER` with several accounts.
    pub fn state_name(&self) -> String {
        match &self.name {
            Some(name) => self.state_name_of(name),
            None => self.lichess.server_name(),
        }
    }

    /// The base name of the state files of the account of this name.
    pub fn state_name_of(&self, name: &str) -> String {
        let server = self.lichess.server_name();
        format!("{}@{server}", name.to_ascii_lowercase())
    }

    /// Returns whether `name` is the account of these settings; always true with a single account.
    pub fn is_account_name(&self, name: &str) -> bool {
        let wanted = self.name.as_deref();
        wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(name))
    }

    /// Returns whether `name` is another account of this process.
    pub fn is_own_account(&self, name: &str) -> bool {
        let mut other_accounts = self.other_accounts.iter();
        other_accounts.any(|other| other.eq_ignore_ascii_case(name))
    }
}
