//! Opening books of variants: `book.variants`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::{self, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::rule::one_or_many;
use crate::lichess::model::Variant;

/// Lichess's keys of the variants with books of their own; `book.files` are for the others.
const KEYS: [&str; 8] = [
    "chess960",
    "crazyhouse",
    "antichess",
    "atomic",
    "horde",
    "kingOfTheHill",
    "racingKings",
    "threeCheck",
];

/// Polyglot books by variant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariantBooks(BTreeMap<Variant, Vec<PathBuf>>);

impl VariantBooks {
    /// Returns whether no variant has books.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(Vec::is_empty)
    }

    /// The books of this variant.
    pub(super) fn of(&self, variant: Variant) -> &[PathBuf] {
        self.0.get(&variant).map_or(&[], Vec::as_slice)
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Files(#[serde(deserialize_with = "one_or_many")] Vec<PathBuf>);

impl<'de> Deserialize<'de> for VariantBooks {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(VariantBooksVisitor)
    }
}

struct VariantBooksVisitor;

impl<'de> Visitor<'de> for VariantBooksVisitor {
    type Value = VariantBooks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Polyglot books by variant, as in { atomic = [\"atomic.bin\"] }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<VariantBooks, A::Error> {
        let mut books = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if !KEYS.contains(&key.as_str()) {
                return Err(de::Error::unknown_variant(&key, &KEYS));
            }
            let Files(files) = map
                .next_value()
                .map_err(|_| de::Error::invalid_type(Unexpected::Other("another value"), &self))?;
            books.insert(Variant::from_key(&key), files);
        }
        Ok(VariantBooks(books))
    }
}

impl Serialize for VariantBooks {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(variant, files)| (variant.key(), files)))
    }
}
