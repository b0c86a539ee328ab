//! Parser of `NAME,key=value,key,...` specs on the command line.
//!
//! Deserializes into the same types as a TOML table. A key without a value is `true`; a repeated key is a list.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::PlayerOptions;
use knightwatch_util::spelling;

impl FromStr for PlayerOptions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_spec(text)
    }
}

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{ChatStyle, ColorChoice, Disconnect, PlayerKind};
    use super::*;
    use crate::TimeControl;

    fn error_of(text: &str) -> String {
        text.parse::<PlayerOptions>().unwrap_err()
    }

    #[test]
    fn spec_parses_challenger() {
        let echo: PlayerOptions = "Echo,kind=engine,nodes=500,rating=1800,challenges=123,clock=60+0,clock=3d,count=10,\
                              concurrency=2,color=white,rated,burst=4,cancels-every=3,offers-draws,delay=200ms..1s"
            .parse()
            .unwrap();
        assert_eq!(
            (echo.name.as_str(), echo.kind),
            ("Echo", PlayerKind::Engine { nodes: 500 })
        );
        assert_eq!(
            echo.delay,
            Duration::from_millis(200)..=Duration::from_secs(1)
        );
        assert!(echo.bot && echo.behavior.offers_draws && !echo.behavior.aborts);
        let plan = echo.challenges.unwrap();
        assert_eq!(
            plan.time_controls,
            [TimeControl::clock(60, 0), TimeControl::Days(3)]
        );
        assert_eq!(
            (plan.opponent.as_str(), plan.rated, plan.count),
            ("123", true, Some(10))
        );
        assert_eq!(
            (plan.concurrency, plan.burst, plan.cancel_every),
            (2, 4, Some(3))
        );
        assert_eq!(plan.colors, [ColorChoice::White]);
    }

    #[test]
    fn spec_parses_behavior() {
        let user: PlayerOptions = "Nuisance,human,disconnects-at=12,reconnects-after=30s,stalls-when-lost,resigns=5,declines=tooFast,\
                              declines=noBot,chats=links,chats=long"
            .parse()
            .unwrap();
        let behavior = user.behavior;
        assert!(!user.bot && user.kind == PlayerKind::Random);
        assert_eq!(
            behavior.disconnects,
            Some(Disconnect {
                at_ply: 12,
                reconnect_after: Some(Duration::from_secs(30))
            })
        );
        assert_eq!(
            (behavior.stalls_when_lost, behavior.resigns_when_lost),
            (Some(9), Some(5))
        );
        assert_eq!(behavior.decline_reasons.len(), 2);
        assert_eq!(behavior.chats, [ChatStyle::Links, ChatStyle::Long]);
        let all: PlayerOptions = "Nay,declines".parse().unwrap();
        assert_eq!(all.behavior.decline_reasons.len(), 11);
    }

    #[test]
    fn spec_and_table_are_equivalent() {
        let table = r#"
            name = "Echo"
            kind = "engine"
            nodes = 500
            stalls-when-lost = 5
            chats = true
            delay = "1s"
            challenges = "MyBot"
            clock = ["60+0", "30+1"]
            color = "black"
        "#;
        let spec = "Echo,kind=engine,nodes=500,stalls-when-lost=5,chats,delay=1s,challenges=MyBot,clock=60+0,\
                    clock=30+1,color=black";
        let read: PlayerOptions = toml::from_str(table).unwrap();
        assert_eq!(read, spec.parse().unwrap());
    }

    #[test]
    fn spec_error_names_key() {
        let unknown = error_of("Echo,speed=3");
        assert!(
            unknown.contains("`speed`") && unknown.contains("`stalls-when-lost`"),
            "{unknown}"
        );
        assert!(!unknown.contains("did you mean"), "{unknown}");
        for (text, meant) in [
            ("Echo,kidn=engine", "`kind`?"),
            ("Echo,kind=engin", "`engine`?"),
            ("Echo,offers_draw", "`offers-draws`?"),
        ] {
            let error = error_of(text);
            assert!(error.contains(&format!("did you mean {meant}")), "{error}");
        }
        for (text, why) in [
            ("kind=random", "a name comes first"),
            ("A,kind=random", "not a user name"),
            ("Echo,kind=king", "`king`"),
            ("Echo,nodes=5", "kind=engine"),
            ("Echo,rating=high", "`rating`"),
            ("Echo,rating=1,rating=2", "`rating`"),
            ("Echo,clock=60+0", "needs `challenges`"),
            ("Echo,challenges=MyBot,clock=60", "`clock`"),
            ("Echo,challenges=MyBot,color=red", "`color`"),
            ("Echo,challenges=MyBot,count=0", "`count`"),
            ("Echo,challenges=MyBot,variant=atomic", "`variant`"),
            (
                "Echo,challenges=MyBot,variant=fromPosition",
                "needs a `fen`",
            ),
            ("Echo,challenges=MyBot,fen=8/8", "`fen`"),
            ("Echo,delay=1s..200ms", "`delay`"),
            ("Echo,delay=1", "`delay`"),
            ("Echo,reconnects-after=1s", "`disconnects-at`"),
            ("Echo,declines=mood", "tooFast"),
            ("Echo,chats=loud", "`chats`"),
            ("Echo,resigns=often", "`resigns`"),
            ("Echo,human=maybe", "`human`"),
        ] {
            assert!(error_of(text).contains(why), "{text}: {}", error_of(text));
        }
    }
}
