//! Layers above the defaults: file, environment and arguments, read into values with their places.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Table, Value};

use super::account;
use super::problem::{Excerpt, Place, Problem};
use super::rule::RawRule;
use super::schema;
use crate::lichess::model::clip;
use crate::lichess::{self, CREDENTIALS_VARIABLE};
use crate::spelling::{choices, nearest};

/// Prefix of the environment variables that set something.
pub(super) const PREFIX: &str = "KNIGHTWATCH__";

/// Prefix of variables that were probably meant to set something.
const SINGLE_UNDERSCORE_PREFIX: &str = "KNIGHTWATCH_";

/// Whether the lines of a span are free of syntax errors.
pub(super) type IsIntact<'a> = &'a dyn Fn(Range<usize>) -> bool;

/// Maps a span of the text to its place.
pub(super) type Locate<'a> = &'a dyn Fn(Range<usize>) -> Place;

/// A setting as written in one layer.
pub(super) struct Leaf {
    pub section: &'static str,
    pub key: &'static str,
    pub value: Value,
    pub place: Place,
}

/// The valid settings of a layer; the others have been reported as problems.
pub(super) struct Layer {
    pub leaves: Vec<Leaf>,
    /// Rules; only a file has any.
    pub rules: Vec<RawRule>,
}

impl Layer {
    /// The layer as a TOML document.
    pub(super) fn table(&self) -> Table {
        let mut document = Table::new();
        for leaf in &self.leaves {
            let section = document
                .entry(leaf.section)
                .or_insert_with(|| Table::new().into());
            let section = section.as_table_mut().expect("sections are tables");
            section.insert(leaf.key.to_owned(), leaf.value.clone());
        }
        document
    }
}

/// Reads the layers and collects their problems.
pub(super) struct Reader<'a> {
    pub environment: &'a BTreeMap<String, String>,
    pub problems: Vec<Problem>,
    /// The accounts of the file.
    pub accounts: Vec<account::RawAccount>,
}

impl Reader<'_> {
    /// Reads a configuration file. Paths in it are relative to the directory of the file.
    pub(super) fn file(&mut self, path: &Path, text: &str) -> Layer {
        let (document, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() && is_yaml(text) {
            let message = format!("{} is YAML; knightwatch reads TOML", path.display());
            let hint = "knightwatch convert converts a config.yml of lichess-bot or BotLi";
            let problem = Problem::new(Place::Nowhere, message);
            self.problems.push(problem.hint(hint));
            return Layer {
                leaves: Vec::new(),
                rules: Vec::new(),
            };
        }
        let locate = |span| Place::File(Box::new(Excerpt::new(path.to_owned(), text, span)));
        let base = path.parent().unwrap_or(Path::new("")).to_owned();

        // One mistake often causes several errors; report the first of each line.
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line = |at: usize| ends.partition_point(|&end| end < at);
        let mut broken = Vec::new();
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            if !broken.contains(&line(span.start)) {
                broken.push(line(span.start));
                let message = format!("not valid TOML: {}", error.message().replace('\n', ", "));
                self.problems.push(Problem::new(locate(span), message));
            }
        }
        let is_intact = |span: Range<usize>| {
            let lines = line(span.start)..=line(span.end);
            !broken.iter().any(|broken| lines.contains(broken))
        };

        self.sections(document.into_inner(), &locate, &is_intact, &base, false)
    }

    /// Reads the sections and rules of a file or of an account.
    pub(super) fn sections(
        &mut self,
        document: DeTable<'_>,
        locate: Locate<'_>,
        is_intact: IsIntact<'_>,
        base: &Path,
        of_account: bool,
    ) -> Layer {
        let mut leaves = Vec::new();
        let mut rules = Vec::new();
        for (name, content) in document {
            if !is_intact(name.span()) {
                continue;
            }
            if name.get_ref() == "rule" {
                rules = self.rules(content, locate, is_intact);
                continue;
            }
            let place = locate(name.span());
            if of_account && !account::PER_ACCOUNT_SECTIONS.contains(&name.get_ref().as_ref()) {
                self.reject_account_key(name.get_ref(), place);
                continue;
            }
            if name.get_ref() == "account" {
                self.accounts = self.accounts(content, locate, is_intact, base);
                continue;
            }
            let Some(section) = self.section(name.get_ref(), &place) else {
                continue;
            };
            let span = content.span();
            let DeValue::Table(table) = content.into_inner() else {
                let problem = Problem::new(locate(span), format!("`{section}` is a section"));
                self.problems
                    .push(problem.hint(format!("write its keys below a line [{section}]")));
                continue;
            };
            for (name, value) in table {
                let place = locate(name.span());
                if !is_intact(name.span().start..value.span().end) {
                    continue;
                }
                if let Some(key) = self.key(section, name.get_ref(), &place) {
                    if (section, key) == ("matchmaking", schema::PROFILE) {
                        leaves.push(self.profiles(section, value, locate, is_intact));
                        continue;
                    }
                    leaves.extend(self.file_leaf(section, key, value, locate, base));
                }
            }
        }
        Layer { leaves, rules }
    }

    fn file_leaf(
        &mut self,
        section: &'static str,
        key: &'static str,
        written: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
        base: &Path,
    ) -> Option<Leaf> {
        let span = written.span();
        let elements: Vec<_> = match written.get_ref() {
            DeValue::Array(elements) => elements.iter().map(Spanned::span).collect(),
            _ => Vec::new(),
        };
        let value = match Value::deserialize(ValueDeserializer::from(written)) {
            Ok(value) => value,
            Err(error) => {
                self.problems
                    .push(Problem::new(locate(span), error.message()));
                return None;
            }
        };
        let elements = elements.into_iter().map(locate).collect();
        self.leaf(section, key, value, None, locate(span), elements, base)
    }

    /// Warnings about environment variables that name a section but lack the second underscore.
    pub(super) fn misspelled_variables(&self) -> Vec<String> {
        let names_section = |name: &str| {
            let rest = name
                .strip_prefix(SINGLE_UNDERSCORE_PREFIX)
                .map(str::to_ascii_lowercase);
            let section = rest.as_deref().and_then(|rest| rest.split_once('_'));
            section.is_some_and(|(section, _)| schema::sections().contains(&section))
        };
        let names = self.environment.keys();
        let misspelled = names.filter(|name| names_section(name));
        let warning = |name: &String| {
            let name = clip(name, 80);
            format!(
                "the environment variable {name} sets nothing: settings are written {PREFIX}SECTION__KEY, with two underscores"
            )
        };
        misspelled.map(warning).collect()
    }

    /// Reads the layer of the environment: `KNIGHTWATCH__SECTION__KEY`.
    pub(super) fn environment(&mut self) -> Layer {
        let mut leaves = Vec::new();
        for (name, text) in self.environment {
            let Some(path) = name.strip_prefix(PREFIX) else {
                continue;
            };
            let place = Place::Environment(name.clone());
            let Some((section, key)) = path.split_once("__") else {
                let problem = Problem::new(place, format!("{name} names no setting"));
                self.problems
                    .push(problem.hint(format!("write {PREFIX}SECTION__KEY")));
                continue;
            };
            leaves.extend(self.text_leaf(
                &section.to_lowercase(),
                &key.to_lowercase(),
                text,
                place,
            ));
        }
        Layer {
            leaves,
            rules: Vec::new(),
        }
    }

    /// Reads the layer of `--set section.key=value`.
    pub(super) fn arguments(&mut self, set: &[(String, String)]) -> Layer {
        let mut leaves = Vec::new();
        for (name, text) in set {
            let place = Place::Argument(name.clone());
            let Some((section, key)) = name.split_once('.') else {
                let problem = Problem::new(place, format!("`{name}` names no setting"));
                self.problems
                    .push(problem.hint("write --set SECTION.KEY=VALUE"));
                continue;
            };
            leaves.extend(self.text_leaf(section, key, text, place));
        }
        Layer {
            leaves,
            rules: Vec::new(),
        }
    }

    fn text_leaf(&mut self, section: &str, key: &str, text: &str, place: Place) -> Option<Leaf> {
        let section = self.section(section, &place)?;
        let key = self.key(section, key, &place)?;
        let value = schema::value_from_text(section, key, text);
        let of_list = value.is_array();
        let text = (!of_list).then_some(text);
        self.leaf(section, key, value, text, place, Vec::new(), Path::new(""))
    }

    /// Checks a value and resolves its paths. `text` is the original text of a value from outside of the file.
    #[expect(clippy::too_many_arguments)]
    fn leaf(
        &mut self,
        section: &'static str,
        key: &'static str,
        mut value: Value,
        text: Option<&str>,
        place: Place,
        elements: Vec<Place>,
        base: &Path,
    ) -> Option<Leaf> {
        let before = self.problems.len();
        // Check list elements one by one, so that errors point at the element.
        let places = elements.into_iter().chain(std::iter::repeat(place.clone()));
        let invalid = |value: &Value| schema::invalid(section, key, value, None);
        let list = schema::unexpected_list(&value, invalid);
        let elements = value.as_array().filter(|_| list.is_none());
        for (element, place) in elements.into_iter().flatten().zip(places) {
            let alone = Value::Array(vec![element.clone()]);
            self.report_invalid(section, key, &alone, None, place);
        }
        if !value.is_array() || self.problems.len() == before {
            let text = list.as_deref().or(text);
            self.report_invalid(section, key, &value, text, place.clone());
        }
        let paths = match (section, key, &mut value) {
            ("lichess", "token_file" | "ca_file", path)
            | ("web", "key_file" | "watch_key_file" | "metrics_key_file", path) => {
                std::slice::from_mut(path)
            }
            ("daemon", "socket", path) | ("records", "directory", path) => {
                std::slice::from_mut(path)
            }
            ("book", "files", Value::Array(paths)) => paths.as_mut_slice(),
            _ => &mut [],
        };
        let resolve = match key {
            "token_file" => resolve_token,
            _ => resolve,
        };
        for path in paths {
            if let Value::String(text) = path {
                match resolve(text, base, self.environment) {
                    Ok(resolved) => *text = resolved,
                    Err(message) => self.problems.push(Problem::new(place.clone(), message)),
                }
            }
        }
        (self.problems.len() == before).then_some(Leaf {
            section,
            key,
            value,
            place,
        })
    }

    fn report_invalid(
        &mut self,
        section: &str,
        key: &str,
        value: &Value,
        text: Option<&str>,
        place: Place,
    ) {
        if let Some(invalid) = schema::invalid(section, key, value, text) {
            let hint = invalid.hint;
            let problem = Problem::new(place, invalid.message);
            self.problems.push(Problem { hint, ..problem });
        }
    }

    fn section(&mut self, name: &str, place: &Place) -> Option<&'static str> {
        if name == "rule" || name == "account" {
            let message = format!("{name}s are written in the file only");
            let hint = format!("write each below a line [[{name}]] of its own");
            self.problems
                .push(Problem::new(place.clone(), message).hint(hint));
            return None;
        }
        let mut sections = schema::sections().iter().copied();
        if let Some(section) = sections.find(|section| *section == name) {
            return Some(section);
        }
        let (message, hint) = match schema::section_of(name) {
            _ if name == "token" => token(),
            Some(section) if name != schema::PROFILE => (
                format!("`{name}` is outside of its section"),
                format!("it belongs to [{section}]"),
            ),
            _ => (format!("there is no section `{name}`"), headings(name)),
        };
        self.problems
            .push(Problem::new(place.clone(), message).hint(hint));
        None
    }

    fn key(&mut self, section: &str, name: &str, place: &Place) -> Option<&'static str> {
        let keys = schema::keys(section).unwrap_or_default();
        if let Some(key) = keys.iter().find(|key| **key == name) {
            return Some(key);
        }
        let (message, hint) = match schema::section_of(name) {
            _ if name == "token" => token(),
            Some(other) => (
                format!("[{section}] has no key `{name}`"),
                format!("`{name}` belongs to [{other}]"),
            ),
            None => {
                let all = format!("keys of [{section}]");
                (
                    format!("[{section}] has no key `{name}`"),
                    choices(&all, name, keys),
                )
            }
        };
        self.problems
            .push(Problem::new(place.clone(), message).hint(hint));
        None
    }
}

/// Whether this is probably YAML, the format of other bots: most assignments use a colon.
fn is_yaml(text: &str) -> bool {
    let is_key = |key: &str| {
        let mut letters = key.trim().trim_start_matches("- ").chars();
        !key.trim().is_empty() && letters.all(|c| c.is_ascii_alphanumeric() || "_-\"'".contains(c))
    };
    let sets_by = |sign: char| {
        let lines = text.lines().filter_map(|line| line.split_once(sign));
        lines.filter(|(key, _)| is_key(key)).count()
    };
    let has_heading = text.lines().any(|line| line.starts_with('['));
    !has_heading && sets_by(':') > sets_by('=')
}

/// A hint with all headings, and "did you mean ...?" if one is similar to this name.
fn headings(name: &str) -> String {
    let heading = |section: &str| match section {
        "rule" => "[[rule]]".to_owned(),
        section => format!("[{section}]"),
    };
    let sections = schema::sections().iter().map(|section| heading(section));
    let lists = ["[[matchmaking.profile]]", "[[account]]"].map(str::to_owned);
    let all: Vec<String> = sections.chain(lists).collect();
    let names = all.iter().map(|heading| heading.trim_matches(['[', ']']));
    let names: Vec<&str> = names.collect();
    // `profile` is the last word of its heading.
    let nearest_name = match nearest(name, &names) {
        None if nearest(name, &[schema::PROFILE]).is_some() => Some("matchmaking.profile"),
        other => other,
    };
    let number = names.iter().position(|name| Some(*name) == nearest_name);
    let sections = format!("sections are: {}", all.join(", "));
    match number {
        Some(number) => format!("did you mean `{}`? {sections}", all[number]),
        None => sections,
    }
}

fn token() -> (String, String) {
    let message = "a token does not belong in the settings";
    let hint = "put it into a separate file with mode 0600 and set token_file in [lichess], \
                or set the environment variable LICHESS_TOKEN";
    (message.to_owned(), hint.to_owned())
}

/// Resolves the path of a token. Outside of the service `%d` is kept: most commands read no token, and reading one reports why
/// it is missing.
pub(super) fn resolve_token(
    path: &str,
    base: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<String, String> {
    resolve(path, base, environment).or_else(|why| match lichess::is_credential(Path::new(path)) {
        true => Ok(path.to_owned()),
        false => Err(why),
    })
}

/// Resolves a path: `%d` is the credentials directory of systemd, `~` the home directory; other paths are relative to `base`.
fn resolve(
    path: &str,
    base: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<String, String> {
    let below = |variable: &str, rest: &str, why: &str| match environment.get(variable) {
        Some(directory) if !directory.is_empty() => Ok(format!("{directory}{rest}")),
        _ => Err(format!(
            "`{path}` needs {variable}, which is not set: {why}"
        )),
    };
    if let Some(rest) = path.strip_prefix("%d").filter(|rest| rest.starts_with('/')) {
        return below(
            CREDENTIALS_VARIABLE,
            rest,
            "%d works in a systemd unit with LoadCredential",
        );
    }
    if let Some(rest) = path.strip_prefix('~').filter(|rest| rest.starts_with('/')) {
        return below("HOME", rest, "write the path in full");
    }
    let joined: PathBuf = base.join(path);
    Ok(joined.to_string_lossy().into_owned())
}
