//! Layers above the defaults: file, environment and arguments, read into values with their places.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{ConfigError, Map, Source, ValueKind};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::block_list::BlockList;
use super::problem::{Excerpt, Place, Problem, SourceFile};
use super::reader::{IsIntact, Leaf, Locate, Reader, resolve, resolve_secret};
use super::rule::RawRule;
use super::{TOKEN_VARIABLE, schema};
use crate::lichess::model::clip;
use crate::spelling::{choices, nearest};

/// Prefix of the environment variables that set something.
pub(super) const PREFIX: &str = "KNIGHTWATCH__";

/// The valid settings of a layer; the others have been reported as problems.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    pub leaves: Vec<Leaf>,
    /// Rules; only a file has any.
    pub rules: Vec<RawRule>,
    /// Accounts; only a file has any.
    pub accounts: Vec<RawAccount>,
}

/// The sections that an account may override. All other sections apply to all accounts.
pub(super) const PER_ACCOUNT_SECTIONS: [&str; 8] = [
    "challenge",
    "games",
    "matchmaking",
    "correspondence",
    "tournaments",
    "draw",
    "resign",
    "chat",
];

/// An `[[account]]` table as written.
#[derive(Clone, Debug)]
pub(super) struct RawAccount {
    pub name: Option<String>,
    pub token_file: Option<PathBuf>,
    /// `token_file` was set but invalid; the problem has been reported.
    pub bad_token_file: bool,
    pub layer: Layer,
    /// The place of its heading.
    pub place: Place,
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, config::Value>, ConfigError> {
        let setting = |leaf: &Leaf| {
            let value = with_origin(&leaf.place.describe(), &leaf.value);
            (format!("{}.{}", leaf.section, leaf.key), value)
        };
        Ok(self.leaves.iter().map(setting).collect())
    }
}

fn with_origin(origin: &String, value: &Value) -> config::Value {
    let kind = match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(flag) => (*flag).into(),
        Value::Datetime(date) => date.to_string().into(),
        Value::Array(list) => {
            ValueKind::Array(list.iter().map(|item| with_origin(origin, item)).collect())
        }
        Value::Table(table) => {
            let entry = |(key, value): (&String, _)| (key.clone(), with_origin(origin, value));
            ValueKind::Table(table.iter().map(entry).collect())
        }
    };
    config::Value::new(Some(origin), kind)
}

impl Reader<'_> {
    /// Reads a configuration file. Paths in it are relative to the directory of the file.
    pub(super) fn file(&mut self, path: &Path, text: &str) -> Layer {
        let (document, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() && is_yaml(text) {
            let message = format!("{} is YAML; knightwatch reads TOML", path.display());
            let hint = "knightwatch convert converts a config.yml of lichess-bot or BotLi";
            self.reject(&Place::Nowhere, message, hint);
            return Layer::default();
        }
        let file = Arc::new(SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        });
        let locate = |span| Place::File(Excerpt::new(&file, span));
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
        let mut accounts = Vec::new();
        for (name, content) in document {
            if !is_intact(name.span()) {
                continue;
            }
            if name.get_ref() == "rule" {
                rules = self.rules(content, locate, is_intact);
                continue;
            }
            let place = locate(name.span());
            if of_account && !PER_ACCOUNT_SECTIONS.contains(&name.get_ref().as_ref()) {
                self.reject_account_key(name.get_ref(), &place);
                continue;
            }
            if name.get_ref() == "account" {
                accounts = self.accounts(content, locate, is_intact, base);
                continue;
            }
            if let Some(list) = schema::table_list(name.get_ref()).filter(|list| list.is_at_top()) {
                leaves.push(self.table_list(list, content, locate, is_intact, base));
                continue;
            }
            let Some(section) = self.section(name.get_ref(), &place) else {
                continue;
            };
            let span = content.span();
            let DeValue::Table(table) = content.into_inner() else {
                let hint = format!("write its keys below a line [{section}]");
                self.reject(&locate(span), format!("`{section}` is a section"), hint);
                continue;
            };
            for (name, value) in table {
                let place = locate(name.span());
                if !is_intact(name.span().start..value.span().end) {
                    continue;
                }
                if let Some(key) = self.key(section, name.get_ref(), &place) {
                    let list = schema::table_list(key).filter(|list| list.section == section);
                    if let Some(list) = list {
                        leaves.push(self.table_list(list, value, locate, is_intact, base));
                        continue;
                    }
                    leaves.extend(self.file_leaf(section, key, value, locate, base));
                }
            }
        }
        Layer {
            leaves,
            rules,
            accounts,
        }
    }

    fn file_leaf(
        &mut self,
        section: &'static str,
        key: &'static str,
        written: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
        base: &Path,
    ) -> Option<Leaf> {
        let (value, place, elements) = self.value(written, locate)?;
        self.leaf(section, key, value, None, place, &elements, base)
    }

    /// Warnings about environment variables that were probably meant to set something.
    pub(super) fn misspelled_variables(&self) -> Vec<String> {
        let names = self.environment.keys();
        let misspelled = names.filter(|name| !name.starts_with(PREFIX));
        let warning = |name: &String| {
            let (intended, name) = (clip(&intended_variable(name)?, 80), clip(name, 80));
            Some(format!(
                "the environment variable {name} sets nothing: write {intended}"
            ))
        };
        misspelled.filter_map(warning).collect()
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
                let intended = intended_variable(name).unwrap_or(format!("{PREFIX}SECTION__KEY"));
                let message = format!("{name} names no setting");
                self.reject(&place, message, format!("write {intended}"));
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
            ..Layer::default()
        }
    }

    /// Reads the layer of `--set section.key=value`.
    pub(super) fn arguments(&mut self, set: &[(String, String)]) -> Layer {
        let mut leaves = Vec::new();
        for (name, text) in set {
            let place = Place::Argument(name.clone());
            let Some((section, key)) = name.split_once('.') else {
                let message = format!("`{name}` names no setting");
                self.reject(&place, message, "write --set SECTION.KEY=VALUE");
                continue;
            };
            leaves.extend(self.text_leaf(section, key, text, place));
        }
        Layer {
            leaves,
            ..Layer::default()
        }
    }

    fn text_leaf(&mut self, section: &str, key: &str, text: &str, place: Place) -> Option<Leaf> {
        let section = self.section(section, &place)?;
        let key = self.key(section, key, &place)?;
        let value = schema::value_from_text(section, key, text);
        let of_list = value.is_array();
        let text = (!of_list).then_some(text);
        self.leaf(section, key, value, text, place, &[], Path::new(""))
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
        elements: &[Place],
        base: &Path,
    ) -> Option<Leaf> {
        let before = self.problems.len();
        self.check_value(&value, text, &place, elements, |value, text| {
            schema::invalid(section, key, value, text)
        });
        let paths: Vec<&mut Value> = match (section, key, &mut value) {
            ("lichess", "token_file" | "ca_file", path)
            | ("web", "key_file" | "watch_key_file" | "metrics_key_file", path)
            | ("daemon", "socket" | "log_file", path)
            | ("records", "directory", path) => vec![path],
            ("book", "files", Value::Array(paths)) | (_, "block_lists", Value::Array(paths)) => {
                paths.iter_mut().collect()
            }
            ("book", "variants", Value::Table(variants)) => {
                let files = variants.iter_mut().map(|(_, files)| match files {
                    Value::Array(files) => files.as_mut_slice(),
                    file => std::slice::from_mut(file),
                });
                files.flatten().collect()
            }
            _ => Vec::new(),
        };
        let resolve = match key {
            "token_file" | "key_file" | "watch_key_file" | "metrics_key_file" => resolve_secret,
            _ => resolve,
        };
        for path in paths {
            if let Value::String(text) = path
                && !(key == "block_lists" && BlockList::is_url(text))
            {
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
            tables: Vec::new(),
        })
    }

    fn section(&mut self, name: &str, place: &Place) -> Option<&'static str> {
        if name == "rule" || name == "account" {
            let message = format!("{name}s are written in the file only");
            let hint = format!("write each below a line [[{name}]] of its own");
            self.reject(place, message, hint);
            return None;
        }
        let mut sections = schema::sections().iter().copied();
        if let Some(section) = sections.find(|section| *section == name) {
            return Some(section);
        }
        let (message, hint) = match schema::section_of(name) {
            _ if name == "token" => token(),
            Some(section) if schema::table_list(name).is_none() => (
                format!("`{name}` is outside of its section"),
                format!("it belongs to [{section}]"),
            ),
            _ => (format!("there is no section `{name}`"), headings(name)),
        };
        self.reject(place, message, hint);
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
        self.reject(place, message, hint);
        None
    }
}

/// The variable that was probably meant by one with a wrong number of underscores, or without a section.
fn intended_variable(name: &str) -> Option<String> {
    let name = name.strip_prefix("KNIGHTWATCH_")?.to_ascii_lowercase();
    let name = name.trim_start_matches('_');
    let after = |section: &str| name.strip_prefix(section)?.strip_prefix('_');
    let mut sections = schema::sections().iter();
    let with_section = sections.find_map(|section| Some((*section, after(section)?)));
    let (section, key) = match with_section {
        Some((section, key)) => (section, key.trim_start_matches('_')),
        None if name == "token" => ("lichess", name),
        None => (schema::section_of(name)?, name),
    };
    Some(match key {
        "token" => TOKEN_VARIABLE.to_owned(),
        key => format!("{PREFIX}{section}__{key}").to_ascii_uppercase(),
    })
}

/// Returns whether this is probably YAML, the format of other bots: most assignments use a colon.
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
    let lists = schema::TABLE_LISTS.iter().map(|list| list.heading);
    let lists = lists.chain(["[[account]]"]).map(str::to_owned);
    let all: Vec<String> = sections.chain(lists).collect();
    let names = all.iter().map(|heading| heading.trim_matches(['[', ']']));
    let names: Vec<&str> = names.collect();
    // `profile` is the last word of its heading.
    let last = |name: &'_ str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let nearest_name = nearest(name, &names).map(str::to_owned).or_else(|| {
        let mut lists = schema::TABLE_LISTS.iter();
        let list = lists.find(|list| nearest(name, &[list.key]).is_some())?;
        names
            .iter()
            .find(|name| last(name) == list.key)
            .map(|name| (*name).to_owned())
    });
    let number = names
        .iter()
        .position(|name| Some(*name) == nearest_name.as_deref());
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
