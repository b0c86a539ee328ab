//! Which keys there are, of what type, and which one was probably meant.
//!
//! All of it is taken from [`Settings`] itself, so that it cannot fall behind.

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use toml::{Table, Value};

use super::correspondence::Correspondence;
use super::daemon::Daemon;
use super::manners::{Chat, Draw, Resign};
use super::matchmaking::{Matchmaking, Profile};
use super::rule::{Limit, Match, Play, Rule};
use super::settings::{Book, Challenge, Engine, Games, Lichess, Records, Settings, Tournaments};

/// The names of all sections, in their order.
pub(super) fn sections() -> &'static [&'static str] {
    fields::<Settings>()
}

/// The keys of a section; `None` if there is no such section.
pub(super) fn keys(section: &str) -> Option<&'static [&'static str]> {
    Some(match section {
        "lichess" => fields::<Lichess>(),
        "engine" => fields::<Engine>(),
        "book" => fields::<Book>(),
        "challenge" => fields::<Challenge>(),
        "games" => fields::<Games>(),
        "matchmaking" => fields::<Matchmaking>(),
        "correspondence" => fields::<Correspondence>(),
        "tournaments" => fields::<Tournaments>(),
        "draw" => fields::<Draw>(),
        "resign" => fields::<Resign>(),
        "chat" => fields::<Chat>(),
        "records" => fields::<Records>(),
        "daemon" => fields::<Daemon>(),
        _ => return None,
    })
}

/// What the profiles of matchmaking are called where they are read like a table within a rule.
pub(super) const PROFILE: &str = "profile";

/// The keys of a rule, or of one of the tables within it, or of a profile.
pub(super) fn keys_of_rule(inner: Option<&str>) -> &'static [&'static str] {
    match inner {
        Some("match") => fields::<Match>(),
        Some("limit") => fields::<Limit>(),
        Some("play") => fields::<Play>(),
        Some(PROFILE) => fields::<Profile>(),
        _ => fields::<Rule>(),
    }
}

/// The section that has this key, for a key in the wrong place.
pub(super) fn section_of(key: &str) -> Option<&'static str> {
    let mut sections = sections().iter().copied();
    sections.find(|section| keys(section).is_some_and(|keys| keys.contains(&key)))
}

/// Reads a value written as bare text, in the environment or in an argument, as its key wants it.
///
/// Lists may be written with commas. What fits no type is passed on as a string, for the type check to complain about.
pub(super) fn value_from_text(section: &str, key: &str, text: &str) -> Value {
    let written = || {
        let table = format!("value = {text}").parse::<Table>();
        table.ok().and_then(|mut table| table.remove("value"))
    };
    static DEFAULTS: LazyLock<Table> =
        LazyLock::new(|| Table::try_from(Settings::default()).expect("the defaults are a table"));
    match DEFAULTS.get(section).and_then(|section| section.get(key)) {
        Some(Value::Array(_)) if text.trim_start().starts_with('[') => written(),
        Some(Value::Array(_)) => {
            let items = text.split(',').map(str::trim);
            let items = items.filter(|item| !item.is_empty());
            Some(Value::Array(items.map(Value::from).collect()))
        }
        Some(Value::Integer(_) | Value::Boolean(_)) => written(),
        _ => None,
    }
    .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// What is wrong with this value for this key, if anything.
pub(super) fn complaint(section: &str, key: &str, value: &Value) -> Option<Complaint> {
    let leaf = Table::from_iter([(key.to_owned(), value.clone())]);
    let document = Table::from_iter([(section.to_owned(), Value::Table(leaf))]);
    let error = document.try_into::<Settings>().err()?;
    Some(Complaint::new(section, key, value, error.message()))
}

/// What is wrong with this value for this key of a rule, or of a table within it, or of a profile, if anything.
pub(super) fn complaint_of_rule(
    inner: Option<&'static str>,
    key: &str,
    value: &Value,
) -> Option<Complaint> {
    let leaf = Table::from_iter([(key.to_owned(), value.clone())]);
    let read = |rule: Table| rule.try_into::<Rule>().err();
    let error = match inner {
        Some(PROFILE) => leaf.try_into::<Profile>().err(),
        Some(inner) => read(Table::from_iter([(inner.to_owned(), Value::Table(leaf))])),
        None => read(leaf),
    }?;
    Some(Complaint::new("rule", key, value, error.message()))
}

/// A value that its key does not take: what is wrong, and what would be right.
pub(super) struct Complaint {
    pub message: String,
    pub hint: Option<String>,
}

impl Complaint {
    fn new(section: &str, key: &str, value: &Value, error: &str) -> Self {
        // A list of one stands for its element.
        let one = match value {
            Value::Array(elements) if elements.len() == 1 => &elements[0],
            other => other,
        };
        let given = one.as_str().unwrap_or_default();
        let shown = match one {
            Value::String(text) => format!("`{text}`"),
            Value::Array(_) => "the list".to_owned(),
            Value::Table(_) => "the table".to_owned(),
            other => format!("`{other}`"),
        };
        if (section, key) == ("lichess", "url") && value.is_str() {
            return Self {
                message: format!("{shown} is not a URL"),
                hint: Some("write it in full, as in https://lichess.org".to_owned()),
            };
        }
        if let Some((_, expected)) = error.split_once("unknown variant ") {
            // The message goes on: `given`, expected one of `this`, `that`
            let names: Vec<&str> = expected.split('`').skip(3).step_by(2).collect();
            return Self {
                message: format!("{shown} is not a valid value of `{key}`"),
                hint: Some(choices("valid are", given, &names)),
            };
        }
        let expected = match error.trim_end().rsplit_once("expected ") {
            Some((_, "u16")) => "a whole number from 0 to 65535",
            Some((_, "u32" | "u64" | "usize")) => "a whole number, 0 or more",
            Some((_, "i32")) => "a whole number",
            Some((_, "a boolean")) => "true or false",
            Some((_, "a sequence")) => "a list, as in [\"one\", \"two\"]",
            Some((_, "a string" | "path string" | "string or table")) => "a text in quotes",
            Some((_, other)) => other,
            None => error,
        };
        Self {
            message: format!("{shown} does not fit `{key}`"),
            hint: Some(format!("`{key}` is {expected}")),
        }
    }
}

/// "did you mean ...?" if one name is close, and all the names.
pub(super) fn choices(what: &str, given: &str, names: &[&str]) -> String {
    let all = names.join(", ");
    match nearest(given, names) {
        Some(name) => format!("did you mean `{name}`? {what}: {all}"),
        None => format!("{what}: {all}"),
    }
}

/// The name that is probably meant by `given`.
fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    let given = plain(given);
    let distances = names.iter().map(|name| {
        let name_plain = plain(name);
        // A name that was begun but not finished, such as `hash` for `hash_mib`, counts as close.
        let begun = given.len() >= 3 && name_plain.starts_with(&given);
        let distance = if begun {
            1
        } else {
            distance(&given, &name_plain)
        };
        (distance, *name)
    });
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= given.len().div_ceil(3).min(3)).then_some(name)
}

/// Levenshtein's distance: how many letters to insert, delete or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The field names of a struct, as its `Deserialize` announces them.
fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    match T::deserialize(Fields) {
        Err(Announced(fields)) => fields,
        Ok(_) => unreachable!("no value is ever given"),
    }
}

/// Gives no value, but takes down the fields that are asked for.
struct Fields;

#[derive(Debug)]
struct Announced(&'static [&'static str]);

impl std::fmt::Display for Announced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Announced {}

impl de::Error for Announced {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Fields {
    type Error = Announced;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Announced> {
        Err(Announced(fields))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Announced> {
        Err(Announced(&[]))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_keys() {
        for section in sections().iter().filter(|section| **section != "rule") {
            let keys = keys(section).unwrap_or_default();
            assert!(!keys.is_empty(), "[{section}] is missing from the list");
        }
    }

    #[test]
    fn a_slip_finds_its_key() {
        let names = ["hash_mib", "threads", "overhead_ms"];
        assert_eq!(nearest("hash", &names), Some("hash_mib"));
        assert_eq!(nearest("HashMib", &names), Some("hash_mib"));
        assert_eq!(nearest("thread", &names), Some("threads"));
        assert_eq!(nearest("move-overhead", &names), None);
        assert_eq!(section_of("hash_mib"), Some("engine"));
    }

    #[test]
    fn bare_text_takes_the_type_of_its_key() {
        let value = |section, key, text| value_from_text(section, key, text).to_string();
        assert_eq!(value("engine", "hash_mib", "64"), "64");
        assert_eq!(value("challenge", "rated", "false"), "false");
        assert_eq!(value("chat", "greeting", "42"), "\"42\"");
        let list = "[\"bullet\", \"blitz\"]";
        assert_eq!(value("challenge", "speeds", "bullet, blitz"), list);
        assert_eq!(value("challenge", "speeds", list), list);
        assert_eq!(value("challenge", "block", ""), "[]");
        assert_eq!(value("engine", "hash_mib", "much"), "\"much\"");
    }
}
