//! A configuration that is being converted: which keys were read, and what became of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toml::{Table, Value as Toml};

use super::yaml::{Leaf, Value};
use crate::config::{Challenge, Settings, Sources};
use crate::lichess::model::{clean, clip};

/// Upper limit of a quoted name or value, in characters.
const MAX_QUOTED_CHARS: usize = 100;

/// Width of comments, in characters.
const MAX_COLUMNS: usize = 110;

/// Upper limit of attempts to find the setting that the loader rejects.
const MAX_ATTEMPTS: usize = 500;

/// The order of the sections.
const SECTIONS: [&str; 14] = [
    "lichess",
    "engine",
    "[engine.external]",
    "book",
    "challenge",
    "[rule]",
    "games",
    "matchmaking",
    "[matchmaking.profile]",
    "correspondence",
    "draw",
    "resign",
    "chat",
    "records",
];

/// Fate of a key.
pub(super) enum Outcome {
    /// The same setting.
    Same(Toml),
    /// A setting that differs, with how it does.
    Changed(Toml, String),
    /// No setting, with the reason.
    Not(String),
}

/// A key of the old file, the section and the key that it becomes, and how its value is converted.
pub(super) type Mapping = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Value) -> Outcome,
);

/// A list of [`Mapping`]s.
macro_rules! mappings {
    ($($path:literal => $section:ident.$key:ident: $convert:expr;)*) => {
        &[$(($path, stringify!($section), stringify!($key), $convert)),*]
    };
}
pub(super) use mappings;

/// A setting, rule or profile of the result.
struct Item {
    /// `engine`, or `[rule]` for one of a list.
    section: &'static str,
    entries: Vec<(&'static str, Toml)>,
    /// The keys that it comes from.
    from: Vec<String>,
    remark: String,
    /// Objection of the loader.
    rejected: Option<String>,
}

/// The keys of the file and the settings made of them.
pub(super) struct Draft {
    /// `None` for keys that were read.
    leaves: Vec<(Leaf, bool)>,
    items: Vec<Item>,
    /// Reasons with the keys that were not carried over.
    dropped: BTreeMap<String, Vec<String>>,
    /// Keys that were not carried over because nothing is known about them.
    pub unknown: usize,
}

/// Numbers of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub carried: usize,
    pub changed: usize,
    pub dropped: usize,
}

impl Draft {
    pub(super) fn new(leaves: Vec<Leaf>) -> Self {
        Self {
            leaves: leaves.into_iter().map(|leaf| (leaf, false)).collect(),
            items: Vec::new(),
            dropped: BTreeMap::new(),
            unknown: 0,
        }
    }

    /// The value of a key and its place, once. An empty value counts as none.
    pub(super) fn take(&mut self, path: &str) -> Option<(Value, String)> {
        match self.take_or_blank(path)? {
            (Value::Empty, from) => {
                self.drop_key("it has no value there", from);
                None
            }
            found => Some(found),
        }
    }

    /// The value of a key, also an empty one, and its place, once.
    pub(super) fn take_or_blank(&mut self, path: &str) -> Option<(Value, String)> {
        let (leaf, read) = self.leaves.iter_mut().find(|(leaf, _)| leaf.path == path)?;
        if std::mem::replace(read, true) {
            return None;
        }
        Some((leaf.value.clone(), source(leaf)))
    }

    /// The value of a key, which stays unread.
    pub(super) fn value(&self, path: &str) -> Option<&Value> {
        self.value_or_blank(path)
            .filter(|value| **value != Value::Empty)
    }

    /// The value of a key, also an empty one, which stays unread.
    pub(super) fn value_or_blank(&self, path: &str) -> Option<&Value> {
        let (leaf, _) = self.leaves.iter().find(|(leaf, _)| leaf.path == path)?;
        Some(&leaf.value)
    }

    /// The paths of unread keys that begin with `prefix`.
    pub(super) fn paths(&self, prefix: &str) -> Vec<String> {
        let unread = self.leaves.iter().filter(|(_, read)| !read);
        let paths = unread.map(|(leaf, _)| &leaf.path);
        paths
            .filter(|path| path.starts_with(prefix))
            .cloned()
            .collect()
    }

    /// The names below `prefix`, in the order of the file, without repetition.
    pub(super) fn names(&self, prefix: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for path in self.paths(prefix) {
            let name = path[prefix.len()..].split('.').next().unwrap_or_default();
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Converts a key to a setting.
    pub(super) fn map(
        &mut self,
        path: &str,
        section: &'static str,
        key: &'static str,
        convert: impl FnOnce(&Value) -> Outcome,
    ) {
        if let Some((value, from)) = self.take(path) {
            let outcome = convert(&value);
            self.set(section, key, outcome, vec![from]);
        }
    }

    /// Converts keys to settings.
    pub(super) fn map_all(&mut self, keys: &[Mapping]) {
        for (path, section, key, convert) in keys {
            self.map(path, section, key, convert);
        }
    }

    /// Adds a setting made of these keys.
    pub(super) fn set(
        &mut self,
        section: &'static str,
        key: &'static str,
        outcome: Outcome,
        from: Vec<String>,
    ) {
        let (value, remark) = match outcome {
            Outcome::Same(value) => (value, String::new()),
            Outcome::Changed(value, remark) => (value, remark),
            Outcome::Not(reason) => {
                for from in from {
                    self.drop_key(&reason, from);
                }
                return;
            }
        };
        self.add(section, vec![(key, value)], from, remark);
    }

    /// Adds a setting, or an entry of the list `section`.
    pub(super) fn add(
        &mut self,
        section: &'static str,
        entries: Vec<(&'static str, Toml)>,
        from: Vec<String>,
        remark: impl Into<String>,
    ) {
        self.items.push(Item {
            section,
            entries,
            from,
            remark: remark.into(),
            rejected: None,
        });
    }

    /// Adds a rule.
    pub(super) fn rule(
        &mut self,
        matching: Table,
        action: (&'static str, Toml),
        from: Vec<String>,
        remark: &str,
    ) {
        let mut entries = Vec::new();
        if !matching.is_empty() {
            entries.push(("match", Toml::Table(matching)));
        }
        entries.push(action);
        self.add("[rule]", entries, from, remark);
    }

    /// Returns whether a setting has a value.
    pub(super) fn is_set(&self, section: &str, key: &str) -> bool {
        self.entries(section).any(|(set, _)| *set == key)
    }

    /// Returns whether a rule accepts challenges.
    pub(super) fn accepts_by_rule(&self) -> bool {
        self.is_set("[rule]", "accept")
    }

    /// `[challenge]`; values that the loader cannot read count as unset.
    pub(super) fn challenge(&self) -> Challenge {
        let mut table = Table::new();
        for (key, value) in self.entries("challenge") {
            let mut more = table.clone();
            more.insert((*key).to_owned(), value.clone());
            if more.clone().try_into::<Challenge>().is_ok() {
                table = more;
            }
        }
        table.try_into().unwrap_or_default()
    }

    fn entries(&self, section: &str) -> impl Iterator<Item = &(&'static str, Toml)> {
        let items = self
            .items
            .iter()
            .filter(move |item| item.section == section);
        items.flat_map(|item| &item.entries)
    }

    /// Notes that a key is not carried over.
    pub(super) fn drop_key(&mut self, reason: &str, from: String) {
        self.dropped
            .entry(reason.to_owned())
            .or_default()
            .push(from);
    }

    /// Notes that no key that begins with `prefix` is carried over.
    pub(super) fn drop_all(&mut self, prefix: &str, reason: &str) {
        for path in self.paths(prefix) {
            if let Some((_, from)) = self.take(&path) {
                self.drop_key(reason, from);
            }
        }
    }

    /// Notes that nothing is known about the other keys.
    pub(super) fn finish(&mut self) {
        self.unknown = self.paths("").len();
        self.drop_all(
            "",
            "nothing is known about it here; config.example.toml lists what can be set",
        );
    }

    /// Rejects what the loader does not accept.
    pub(super) fn reject_invalid(&mut self) {
        let mut attempts = 0;
        while let Some(problems) = self.problems() {
            let mut found = None;
            // Rules and profiles first: without the setting, they would do nothing or something else.
            let (tables, settings): (Vec<_>, Vec<_>) = (0..self.items.len())
                .partition(|&number| self.items[number].section.starts_with('['));
            for number in tables.into_iter().chain(settings) {
                if self.items[number].rejected.is_some() || attempts >= MAX_ATTEMPTS {
                    continue;
                }
                attempts += 1;
                self.items[number].rejected = Some(String::new());
                let left = self.problems().unwrap_or_default();
                self.items[number].rejected = None;
                if left.len() < problems.len() {
                    let solved = problems.iter().find(|problem| !left.contains(problem));
                    found = solved.map(|problem| (number, problem.clone()));
                    break;
                }
            }
            // If no single one is to blame, the last one goes first.
            let last = self.items.iter().rposition(|item| item.rejected.is_none());
            let last = last.map(|number| (number, problems[0].clone()));
            let Some((number, problem)) = found.or(last) else {
                return;
            };
            self.items[number].rejected = Some(problem);
        }
    }

    /// The problems that the loader has with the settings.
    fn problems(&self) -> Option<Vec<String>> {
        let home = std::env::var("HOME").into_iter();
        let sources = Sources {
            environment: home.map(|home| ("HOME".to_owned(), home)).collect(),
            ..Sources::default()
        };
        let error = Settings::from_text(self.settings(""), &sources).err()?;
        let problems = error.problems().iter().map(|problem| {
            let line = problem.line();
            // Behind file, line and column.
            let sentence = line
                .splitn(4, ':')
                .nth(3)
                .map(|rest| rest.trim().to_owned());
            sentence.unwrap_or(line)
        });
        Some(problems.collect())
    }

    /// The settings with their comments. `lichess` is more of `[lichess]`.
    fn settings(&self, lichess: &str) -> String {
        let mut text = String::new();
        for section in SECTIONS {
            let items = self.items.iter().filter(|item| item.section == section);
            let items: Vec<&Item> = items.collect();
            let is_list = section.starts_with('[');
            let more = if section == "lichess" { lichess } else { "" };
            let is_empty = items.is_empty() && more.is_empty();
            if !(is_list || is_empty) {
                let _ = write!(text, "\n[{section}]\n{more}");
            }
            for item in items {
                if is_list {
                    text.push('\n');
                }
                text += &comment(&item.comment());
                let sign = if item.rejected.is_some() { "#" } else { "" };
                if is_list {
                    let _ = writeln!(text, "{sign}[{section}]");
                }
                for (key, value) in &item.entries {
                    let _ = writeln!(text, "{sign}{key} = {}", inline(value));
                }
            }
        }
        text
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for item in &self.items {
            let count = match (&item.rejected, item.remark.is_empty()) {
                (Some(_), _) => &mut counts.dropped,
                (None, true) => &mut counts.carried,
                (None, false) => &mut counts.changed,
            };
            *count += item.from.len();
        }
        counts.dropped += self.dropped.values().map(Vec::len).sum::<usize>();
        counts
    }

    /// The whole configuration.
    pub(super) fn text(&self, heading: &str, lichess: &str) -> String {
        let mut text = comment(heading) + &self.settings(lichess);
        if !self.dropped.is_empty() {
            text += "\n# Not carried over:\n";
        }
        for (reason, from) in &self.dropped {
            text += "#\n";
            text += &comment(&format!("{}: {reason}.", from.join(", ")));
        }
        text
    }
}

impl Item {
    fn comment(&self) -> String {
        let from = self.from.join(", ");
        match (&self.rejected, self.remark.as_str()) {
            (Some(reason), _) => format!("Not carried over, {from}: {reason}."),
            (None, "") => format!("From {from}."),
            (None, remark) if from.is_empty() => format!("Changed: {remark}."),
            (None, remark) => format!("From {from}, changed: {remark}."),
        }
    }
}

/// A key with its line.
fn source(leaf: &Leaf) -> String {
    format!("{} (line {})", quoted(&leaf.path), leaf.line)
}

/// A text of the file for a comment.
pub(super) fn quoted(text: &str) -> String {
    let shown = clip(&clean(text), MAX_QUOTED_CHARS);
    crate::lichess::redact_prefixed_tokens(&shown)
}

/// A text as comment lines.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = "#".to_owned();
    for word in text.split_whitespace() {
        if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > MAX_COLUMNS {
            lines += &line;
            lines.push('\n');
            line = "#".to_owned();
        }
        line.push(' ');
        line += word;
    }
    lines + &line + "\n"
}

/// A value in one line.
fn inline(value: &Toml) -> String {
    match value {
        Toml::Table(table) => {
            let entries = table.iter();
            let entries = entries.map(|(key, value)| {
                let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                let key = match !key.is_empty() && key.bytes().all(is_bare) {
                    true => key.clone(),
                    false => inline(&Toml::from(key.as_str())),
                };
                format!("{key} = {}", inline(value))
            });
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Toml::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        // Strings of JSON are strings of TOML, in one line, but for one control character.
        Toml::String(text) => serde_json::Value::from(text.as_str())
            .to_string()
            .replace('\u{7f}', "\\u007F"),
        value => value.to_string(),
    }
}
