//! Schema of the configuration: sections, keys and types, derived from [`Settings`].

use std::sync::LazyLock;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::alert::AlertTarget;
use super::correspondence::Correspondence;
use super::daemon::Daemon;
use super::etiquette::{Chat, Draw, Resign};
use super::external::External;
use super::lichess::Lichess;
use super::matchmaking::{Matchmaking, Profile};
use super::rule::{Limit, Match, Play, Rule};
use super::settings::{Book, Challenge, Engine, Games, Records, Settings, Tournaments};
use super::web::Web;
use crate::lichess::model::clip;
use crate::spelling::choices;

/// The names of all sections, in order.
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

/// A list of tables in the file, which are read like a table of a rule.
#[derive(Debug)]
pub(super) struct TableList {
    /// The section of the list.
    pub section: &'static str,
    /// Its key there.
    pub key: &'static str,
    /// The line above each table.
    pub heading: &'static str,
    /// The name of one table.
    pub noun: &'static str,
    /// The name of one table in front of its own name or its number.
    pub label: &'static str,
    /// The keys of a table.
    keys: fn() -> &'static [&'static str],
    /// The error of a table, if it has one.
    error: fn(Table) -> Option<toml::de::Error>,
    /// The tables of these settings.
    pub tables: fn(&Settings) -> Vec<Table>,
    /// The key whose values may be secrets.
    secret: Option<&'static str>,
}

impl TableList {
    /// Returns whether the list is written outside of its section.
    pub(super) fn is_at_top(&self) -> bool {
        !self.heading.contains('.')
    }

    /// The tables of these settings without secrets.
    pub(super) fn shown_tables(&self, settings: &Settings) -> Vec<Table> {
        let mut tables = (self.tables)(settings);
        for table in &mut tables {
            match self.secret.and_then(|key| table.get_mut(key)) {
                Some(Value::Table(values)) => values.iter_mut().for_each(|(_, value)| hide(value)),
                Some(value) => hide(value),
                None => {}
            }
        }
        tables
    }
}

fn hide(value: &mut Value) {
    *value = Value::from("(hidden)");
}

/// A part of the settings as a table.
pub(super) fn table_of<T: Serialize>(what: &T) -> Table {
    Table::try_from(what).expect("settings come from TOML")
}

fn tables_of<T: Serialize>(list: &[T]) -> Vec<Table> {
    list.iter().map(table_of).collect()
}

/// All lists of tables besides rules and accounts.
pub(super) const TABLE_LISTS: [TableList; 3] = [
    TableList {
        section: "matchmaking",
        key: "profile",
        heading: "[[matchmaking.profile]]",
        noun: "a profile",
        label: "profile",
        keys: fields::<Profile>,
        error: |table| table.try_into::<Profile>().err(),
        tables: |settings| tables_of(&settings.matchmaking.profile),
        secret: None,
    },
    TableList {
        section: "engine",
        key: "external",
        heading: "[[engine.external]]",
        noun: "an external engine",
        label: "engine",
        keys: fields::<External>,
        error: |table| table.try_into::<External>().err(),
        tables: |settings| tables_of(&settings.engine.external),
        secret: Some("environment"),
    },
    TableList {
        section: "daemon",
        key: "alert",
        heading: "[[alert]]",
        noun: "an alert",
        label: "alert",
        keys: fields::<AlertTarget>,
        error: |table| table.try_into::<AlertTarget>().err(),
        tables: |settings| tables_of(&settings.daemon.alert),
        secret: Some("url"),
    },
];

/// The list of tables with this key.
pub(super) fn table_list(key: &str) -> Option<&'static TableList> {
    TABLE_LISTS.iter().find(|list| list.key == key)
}

/// The keys of a rule, of a table in a rule, or of a table of a list.
pub(super) fn keys_of_rule(inner: Option<&str>) -> &'static [&'static str] {
    match inner {
        Some("match") => fields::<Match>(),
        Some("limit") => fields::<Limit>(),
        Some("play") => fields::<Play>(),
        Some(inner) if let Some(list) = table_list(inner) => (list.keys)(),
        _ => fields::<Rule>(),
    }
}

/// The section of this key, for hints about misplaced keys.
pub(super) fn section_of(key: &str) -> Option<&'static str> {
    let mut sections = sections().iter().copied();
    sections.find(|section| keys(section).is_some_and(|keys| keys.contains(&key)))
}

/// Parses the text of an environment variable or argument according to the type of its key.
///
/// Lists may be comma-separated. Text that fits no type becomes a string, which the type check reports.
pub(super) fn value_from_text(section: &str, key: &str, text: &str) -> Value {
    let written = from_toml(text);
    // A text needs no quotes, but may have those that it needs in a file.
    let unquoted = match &written {
        Some(Value::String(unquoted)) => unquoted,
        _ => text,
    };
    static DEFAULTS: LazyLock<Table> =
        LazyLock::new(|| Table::try_from(Settings::default()).expect("the defaults are a table"));
    match DEFAULTS.get(section).and_then(|section| section.get(key)) {
        Some(Value::Array(_)) if text.trim_start().starts_with('[') => written,
        Some(Value::Array(_)) => {
            let items = unquoted.split(',').map(str::trim);
            let items = items.filter(|item| !item.is_empty());
            Some(Value::Array(items.map(Value::from).collect()))
        }
        Some(Value::Integer(_) | Value::Boolean(_)) => written,
        // If the key does not accept the text, it may be a table, as in `{ elo = 1500 }`.
        _ if invalid(section, key, &Value::from(unquoted), None).is_some() => written,
        _ => Some(Value::from(unquoted)),
    }
    .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Parses the text as a TOML value.
fn from_toml(text: &str) -> Option<Value> {
    let table = format!("value = {text}").parse::<Table>();
    // A line break in the text could set more than one key.
    let mut table = table.ok().filter(|table| table.len() == 1)?;
    table.remove("value")
}

/// Checks the type of a value. `text` is its original text if it is not from the file.
pub(super) fn invalid(
    section: &str,
    key: &str,
    value: &Value,
    text: Option<&str>,
) -> Option<InvalidValue> {
    let error = |value: &Value| {
        let leaf = Table::from_iter([(key.to_owned(), value.clone())]);
        let document = Table::from_iter([(section.to_owned(), Value::Table(leaf))]);
        document.try_into::<Settings>().err()
    };
    let wrong = error(value)?;
    Some(InvalidValue::new(section, key, value, text, error, &wrong))
}

/// Checks the type of a value of a rule, of a table in a rule, or of a table of a list.
pub(super) fn invalid_in_rule(
    inner: Option<&'static str>,
    key: &str,
    value: &Value,
    text: Option<&str>,
) -> Option<InvalidValue> {
    let read = |rule: Table| rule.try_into::<Rule>().err();
    let error = |value: &Value| {
        let leaf = Table::from_iter([(key.to_owned(), value.clone())]);
        match inner {
            Some(inner) if let Some(list) = table_list(inner) => (list.error)(leaf),
            Some(inner) => read(Table::from_iter([(inner.to_owned(), Value::Table(leaf))])),
            None => read(leaf),
        }
    };
    let wrong = error(value)?;
    Some(InvalidValue::new("rule", key, value, text, error, &wrong))
}

/// The text of a list whose key accepts no list, so that its elements need no check.
pub(super) fn unexpected_list(
    value: &Value,
    invalid: impl FnOnce(&Value) -> Option<InvalidValue>,
) -> Option<String> {
    let empty = Value::Array(Vec::new());
    (value.is_array() && invalid(&empty).is_some()).then(|| value.to_string())
}

/// A value of the wrong type: description and expected type.
pub(super) struct InvalidValue {
    pub message: String,
    pub hint: Option<String>,
}

impl InvalidValue {
    fn new(
        section: &str,
        key: &str,
        value: &Value,
        text: Option<&str>,
        error_of: impl Fn(&Value) -> Option<toml::de::Error>,
        error: &toml::de::Error,
    ) -> Self {
        let error = error.message();
        // A list with one element represents that element.
        let one = match value {
            Value::Array(elements) if elements.len() == 1 => &elements[0],
            other => other,
        };
        let given = one.as_str().unwrap_or_default();
        // A quoted number or boolean needs a hint about the quotes.
        let bare = from_toml(given).filter(|bare| !bare.is_str() && !value.is_array());
        let unquoted = bare.is_some_and(|bare| error_of(&bare).is_none());
        let example = match (section, key) {
            ("lichess", "url") => Some("https://lichess.org"),
            ("lichess", "engine_url") => Some("https://engine.lichess.ovh"),
            _ => None,
        };
        if let Some(example) = example.filter(|_| value.is_str()) {
            return Self {
                message: format!("`{given}` is not a URL"),
                hint: Some(format!("write it in full, as in {example}")),
            };
        }
        if let Some((_, expected)) = error.split_once("unknown variant ") {
            // The message goes on: `given`, expected one of `this`, `that`
            let names: Vec<&str> = expected.split('`').skip(3).step_by(2).collect();
            // In a table it is one of the keys.
            let given = match one {
                Value::Table(_) => expected.split('`').nth(1).unwrap_or_default(),
                _ => given,
            };
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
            Some((_, "a string" | "path string" | "string or table")) => EXPECTED_TEXT,
            Some((_, other)) => other,
            None => error,
        };
        Self::does_not_fit(key, one, text, expected, unquoted)
    }

    /// The error for a value that should be a text.
    pub(super) fn not_text(key: &str, value: &Value) -> Self {
        Self::does_not_fit(key, value, None, EXPECTED_TEXT, false)
    }

    fn does_not_fit(
        key: &str,
        value: &Value,
        text: Option<&str>,
        expected: &str,
        unquoted: bool,
    ) -> Self {
        let quotes = if unquoted { ", without quotes" } else { "" };
        let shown = match text {
            _ if key == "password" => "the value".to_owned(),
            Some(text) => format!("`{}`", clip(text, MAX_VALUE_CHARS)),
            None => format!("`{}`", clip(&value.to_string(), MAX_VALUE_CHARS)),
        };
        Self {
            message: format!("{shown} does not fit `{key}`"),
            hint: Some(format!("`{key}` is {expected}{quotes}")),
        }
    }
}

/// The expected type of a text key.
const EXPECTED_TEXT: &str = "a text in quotes";

/// Longer values are cut in messages.
const MAX_VALUE_CHARS: usize = 60;

/// The field names of a struct, as passed by its `Deserialize` implementation.
fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    match T::deserialize(FieldNames) {
        Err(FieldList(fields)) => fields,
        Ok(_) => unreachable!("no value is ever given"),
    }
}

/// A deserializer that fails with the field names of the requested struct.
struct FieldNames;

#[derive(Debug)]
struct FieldList(&'static [&'static str]);

impl std::fmt::Display for FieldList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for FieldList {}

impl de::Error for FieldList {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for FieldNames {
    type Error = FieldList;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, FieldList> {
        Err(FieldList(fields))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, FieldList> {
        Err(FieldList(&[]))
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
    fn schema_lists_keys_of_every_section() {
        for section in sections().iter().filter(|section| **section != "rule") {
            let keys = keys(section).unwrap_or_default();
            assert!(!keys.is_empty(), "[{section}] is missing from the list");
        }
    }

    #[test]
    fn section_of_key_is_found() {
        assert_eq!(section_of("hash_mib"), Some("engine"));
        assert_eq!(section_of("speed"), None);
    }

    #[test]
    fn text_value_is_parsed_by_type_of_key() {
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
