//! Parser of `NAME,key=value,key,...` specs on the command line.
//!
//! Deserializes into the same types as a TOML table. A key without a value is `true`; a repeated key is a list.

use std::fmt::Display;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use knightwatch_util::spelling;

/// Deserializes a spec into a type with a `name` and further keys.
///
/// # Errors
/// A missing name, unknown keys or invalid values, with the key.
pub(crate) fn parse_spec<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut items = text.split(',').map(str::trim);
    let name = items.next().unwrap_or_default();
    if name.is_empty() || name.contains('=') {
        return Err("a name comes first, as in NAME,key=value".to_owned());
    }
    let mut values: Vec<(&str, SpecValue<'_>)> =
        vec![("name", SpecValue::named("name", Some(name)))];
    for item in items.filter(|item| !item.is_empty()) {
        let (key, value) = match item.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (item, None),
        };
        match values.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => known.values.extend(value),
            None => values.push((key, SpecValue::named(key, value))),
        }
    }
    let map = MapDeserializer::new(values.into_iter());
    T::deserialize(map).map_err(|error: Error| spelling::suggest(&error.to_string()))
}

/// The value of a key.
struct SpecValue<'a> {
    key: &'a str,
    /// Empty for a key without a value; several for a repeated key.
    values: Vec<&'a str>,
}

impl<'a> SpecValue<'a> {
    fn named(key: &'a str, value: Option<&'a str>) -> Self {
        Self {
            key,
            values: value.into_iter().collect(),
        }
    }

    fn error(&self, why: impl Display) -> Error {
        Error::custom(format_args!("`{}`: {why}", self.key))
    }

    fn parsed<T: FromStr>(&self, what: &str) -> Result<T, Error> {
        match self.values[..] {
            [one] => one
                .parse()
                .map_err(|_| self.error(format_args!("`{one}` is not {what}"))),
            [] => Err(self.error(format_args!("needs {what}"))),
            _ => Err(self.error("is given more than once")),
        }
    }
}

impl IntoDeserializer<'_, Error> for SpecValue<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for SpecValue<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let key = self.key;
        let read = match self.values[..] {
            [] => visitor.visit_bool(true),
            [one] => visitor.visit_str(one),
            _ => visitor.visit_seq(SeqDeserializer::new(self.values.into_iter())),
        };
        read.map_err(|error: Error| Error::custom(format_args!("`{key}`: {error}")))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let yes = self.values.is_empty() || self.parsed("true or false")?;
        visitor.visit_bool(yes)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(self.parsed("a number")?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(self.parsed("a number")?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        type_name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let name: String = self.parsed(&format!("one of {}", variants.join(", ")))?;
        StrDeserializer::<Error>::new(&name)
            .deserialize_enum(type_name, variants, visitor)
            .map_err(|error| self.error(error))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

/// Deserializes one name or a list.
pub(crate) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Names::deserialize(deserializer)? {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    })
}
