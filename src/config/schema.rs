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
use super::web::Web;
use crate::lichess::model::clip;
use crate::spelling::choices;

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
        "web" => fields::<Web>(),
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
    let written = || from_toml(text);
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
        // A text needs no quotes. What cannot be one may still be a table, as in `{ elo = 1500 }`.
        _ if complaint(section, key, &Value::from(text), None).is_some() => written(),
        _ => None,
    }
    .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The value that the text is in TOML.
fn from_toml(text: &str) -> Option<Value> {
    let table = format!("value = {text}").parse::<Table>();
    // Text with a line break could set more than one key.
    let mut table = table.ok().filter(|table| table.len() == 1)?;
    table.remove("value")
}

/// What is wrong with this value for this key, if anything. `text` is how it was written, where not in the file.
pub(super) fn complaint(
    section: &str,
    key: &str,
    value: &Value,
    text: Option<&str>,
) -> Option<Complaint> {
    let error = |value: &Value| {
        let leaf = Table::from_iter([(key.to_owned(), value.clone())]);
        let document = Table::from_iter([(section.to_owned(), Value::Table(leaf))]);
        document.try_into::<Settings>().err()
    };
    let wrong = error(value)?;
    Some(Complaint::new(section, key, value, text, error, &wrong))
}

/// What is wrong with this value for this key of a rule, or of a table within it, or of a profile, if anything.
pub(super) fn complaint_of_rule(
    inner: Option<&'static str>,
    key: &str,
    value: &Value,
    text: Option<&str>,
) -> Option<Complaint> {
    let read = |rule: Table| rule.try_into::<Rule>().err();
    let error = |value: &Value| {
        let leaf = Table::from_iter([(key.to_owned(), value.clone())]);
        match inner {
            Some(PROFILE) => leaf.try_into::<Profile>().err(),
            Some(inner) => read(Table::from_iter([(inner.to_owned(), Value::Table(leaf))])),
            None => read(leaf),
        }
    };
    let wrong = error(value)?;
    Some(Complaint::new("rule", key, value, text, error, &wrong))
}

/// How a list is written that stands where there can be none: its elements say nothing then.
pub(super) fn misplaced_list(
    value: &Value,
    complaint: impl FnOnce(&Value) -> Option<Complaint>,
) -> Option<String> {
    let empty = Value::Array(Vec::new());
    (value.is_array() && complaint(&empty).is_some()).then(|| value.to_string())
}

/// A value that its key does not take: what is wrong, and what would be right.
pub(super) struct Complaint {
    pub message: String,
    pub hint: Option<String>,
}

impl Complaint {
    fn new(
        section: &str,
        key: &str,
        value: &Value,
        text: Option<&str>,
        error_of: impl Fn(&Value) -> Option<toml::de::Error>,
        error: &toml::de::Error,
    ) -> Self {
        let error = error.message();
        // A list of one stands for its element.
        let one = match value {
            Value::Array(elements) if elements.len() == 1 => &elements[0],
            other => other,
        };
        let given = one.as_str().unwrap_or_default();
        // A number in quotes looks right until the quotes are shown.
        let bare = from_toml(given).filter(|bare| !bare.is_str() && !value.is_array());
        let unquoted = bare.is_some_and(|bare| error_of(&bare).is_none());
        if (section, key) == ("lichess", "url") && value.is_str() {
            return Self {
                message: format!("`{given}` is not a URL"),
                hint: Some("write it in full, as in https://lichess.org".to_owned()),
            };
        }
        if let Some((_, expected)) = error.split_once("unknown variant ") {
            // The message goes on: `given`, expected one of `this`, `that`
            let names: Vec<&str> = expected.split('`').skip(3).step_by(2).collect();
            return Self {
                message: format!("`{given}` is not a valid value of `{key}`"),
                hint: Some(choices("valid are", given, &names)),
            };
        }
        let expected = match error.trim_end().rsplit_once("expected ") {
            Some((_, "u16")) => "a whole number from 0 to 65535",
            Some((_, "u32" | "u64" | "usize")) => "a whole number, 0 or more",
            Some((_, "i32")) => "a whole number",
            Some((_, "a boolean")) => "true or false",
            Some((_, "a sequence")) => "a list, as in [\"one\", \"two\"]",
            Some((_, "a string" | "path string" | "string or table")) => TEXT,
            Some((_, other)) => other,
            None => error,
        };
        Self::misfit(key, one, text, expected, unquoted)
    }

    /// The value is no text, and the key takes one.
    pub fn no_text(key: &str, value: &Value) -> Self {
        Self::misfit(key, value, None, TEXT, false)
    }

    fn misfit(
        key: &str,
        value: &Value,
        text: Option<&str>,
        expected: &str,
        unquoted: bool,
    ) -> Self {
        let quotes = if unquoted { ", without quotes" } else { "" };
        let shown = match text {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        };
        Self {
            message: format!("`{}` does not fit `{key}`", clip(&shown, WIDEST)),
            hint: Some(format!("`{key}` is {expected}{quotes}")),
        }
    }
}

/// What a key of text takes.
const TEXT: &str = "a text in quotes";

/// The most that is shown of a value, in characters.
const WIDEST: usize = 60;

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
    fn a_key_knows_its_section() {
        assert_eq!(section_of("hash_mib"), Some("engine"));
        assert_eq!(section_of("speed"), None);
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
