//! Variants and speeds as written in the settings: those that a bot plays.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

use super::rule::one_or_many;
use crate::lichess::model::{Speed, Variant};

/// A value that is written as Lichess's key of it.
pub(crate) trait Key: Copy {
    /// The keys that a setting accepts.
    const ACCEPTED: &'static [&'static str];

    fn from_key(key: &str) -> Self;

    fn key(self) -> &'static str;
}

impl Key for Variant {
    const ACCEPTED: &'static [&'static str] = &Variant::KEYS;

    fn from_key(key: &str) -> Self {
        Self::from_key(key)
    }

    fn key(self) -> &'static str {
        self.key()
    }
}

impl Key for Speed {
    const ACCEPTED: &'static [&'static str] =
        &["bullet", "blitz", "rapid", "classical", "correspondence"];

    fn from_key(key: &str) -> Self {
        Self::from_key(key)
    }

    fn key(self) -> &'static str {
        self.key()
    }
}

/// One of the accepted values.
struct Accepted<T>(T);

impl<'de, T: Key> Deserialize<'de> for Accepted<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let key = String::deserialize(from)?;
        match T::ACCEPTED.contains(&key.as_str()) {
            true => Ok(Self(T::from_key(&key))),
            false => Err(D::Error::unknown_variant(&key, T::ACCEPTED)),
        }
    }
}

/// Writes a list of keys; for `#[serde(with = "...")]`.
pub(crate) fn serialize<T: Key, S: Serializer>(values: &[T], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(|value| value.key()))
}

/// Reads a list of keys.
pub(super) fn deserialize<'de, T: Key, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let values = Vec::<Accepted<T>>::deserialize(from)?;
    Ok(values.into_iter().map(|Accepted(value)| value).collect())
}

/// Lists that may be written as a single key.
pub(super) mod one_or_list {
    use super::{Accepted, Deserializer, Key, one_or_many};

    pub(crate) use super::serialize;

    /// Reads one key or a list of keys.
    pub(crate) fn deserialize<'de, T: Key, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<T>, D::Error> {
        let values: Vec<Accepted<T>> = one_or_many(from)?;
        Ok(values.into_iter().map(|Accepted(value)| value).collect())
    }
}
