//! JSON of Lichess's API, with keys in the order in which Lichess writes them.
//!
//! It is written from the documented formats alone; no type is shared with the client.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::quirks::{Absent, Quirks};
use crate::referee::Status;
use crate::site::{Perf, Variant};

/// Serializes a stream line, including the newline.
pub(super) fn line(value: &impl Serialize) -> bytes::Bytes {
    let mut text = json(value);
    text.push('\n');
    text.into()
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data with string keys")
}

/// JSON object that keeps the order of its keys.
#[derive(Clone, Default)]
pub(super) struct Object(String);

impl Object {
    /// Adds a key.
    pub(super) fn set(mut self, key: &str, value: impl Serialize) -> Self {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0 += &json(&key);
        self.0.push(':');
        self.0 += &json(&value);
        self
    }

    /// Adds a key, if there is a value.
    pub(super) fn maybe(self, key: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// Adds a key, if it is true.
    pub(super) fn flag(self, key: &str, is_set: bool) -> Self {
        self.maybe(key, is_set.then_some(true))
    }

    /// Adds the keys of another object.
    pub(super) fn and(mut self, other: &Self) -> Self {
        if !self.0.is_empty() && !other.0.is_empty() {
            self.0.push(',');
        }
        self.0 += &other.0;
        self
    }
}

impl<K: AsRef<str>, V: Serialize> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        entries.fold(Self::default(), |object, (key, value)| {
            object.set(key.as_ref(), value)
        })
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = RawValue::from_string(format!("{{{}}}", self.0));
        text.expect("an object").serialize(serializer)
    }
}

/// Object that begins with a key.
pub(super) fn object(key: &str, value: impl Serialize) -> Object {
    Object::default().set(key, value)
}

/// Title, or for users without one `null` or no key at all.
pub(super) fn title(title: Option<&'static str>, quirks: &Quirks) -> Option<Option<&'static str>> {
    (title.is_some() || quirks.title == Absent::Null).then_some(title)
}

pub(super) fn brief_variant(variant: Variant) -> Object {
    object("key", variant.key()).set("name", variant.name())
}

pub(super) fn full_variant(variant: Variant) -> Object {
    brief_variant(variant).set("short", variant.short())
}

pub(super) fn perf(perf: Perf) -> Object {
    object("name", perf.name)
}

pub(super) fn perf_with_icon(perf: Perf) -> Object {
    object("icon", perf.icon).set("name", perf.name)
}

pub(super) fn status(status: Status) -> Object {
    object("id", status.id()).set("name", status.key())
}

/// The APIs with which a game can be played.
pub(super) fn compat(bot: bool, board: bool) -> Object {
    object("bot", bot).set("board", board)
}
