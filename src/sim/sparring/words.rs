//! A sparring user in one word of the command line: `NAME,key=value,key,...`.
//!
//! It is read into the same keys as a table of a file. A key alone says yes, a key that comes again makes a list.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::Sparring;
use crate::spelling;

impl FromStr for Sparring {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text)
    }
}

/// Reads whatever has a name and keys.
pub(in crate::sim) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut words = text.split(',').map(str::trim);
    let name = words.next().unwrap_or_default();
    if name.is_empty() || name.contains('=') {
        return Err("a name comes first, as in NAME,key=value".to_owned());
    }
    let mut values: Vec<(&str, Word<'_>)> = vec![("name", Word::named("name", Some(name)))];
    for word in words.filter(|word| !word.is_empty()) {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (word, None),
        };
        match values.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => known.values.extend(value),
            None => values.push((key, Word::named(key, value))),
        }
    }
    let map = MapDeserializer::new(values.into_iter());
    T::deserialize(map).map_err(|error: Error| spelling::suggest(&error.to_string()))
}

/// What stands behind a key.
struct Word<'a> {
    key: &'a str,
    /// None: the key alone; more than one: a list.
    values: Vec<&'a str>,
}

impl<'a> Word<'a> {
    fn named(key: &'a str, value: Option<&'a str>) -> Self {
        Self {
            key,
            values: value.into_iter().collect(),
        }
    }

    fn wrong(&self, why: impl Display) -> Error {
        Error::custom(format_args!("`{}`: {why}", self.key))
    }

    fn parsed<T: FromStr>(&self, what: &str) -> Result<T, Error> {
        match self.values[..] {
            [one] => one
                .parse()
                .map_err(|_| self.wrong(format_args!("`{one}` is not {what}"))),
            [] => Err(self.wrong(format_args!("wants {what}"))),
            _ => Err(self.wrong("comes more than once")),
        }
    }
}

impl<'de> IntoDeserializer<'de, Error> for Word<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Word<'_> {
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
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let word: String = self.parsed(&format!("one of {}", variants.join(", ")))?;
        StrDeserializer::<Error>::new(&word)
            .deserialize_enum(name, variants, visitor)
            .map_err(|error| self.wrong(error))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{ColorChoice, Kind, Quit, Talk};
    use super::*;
    use crate::sim::TimeControl;

    fn refused(text: &str) -> String {
        text.parse::<Sparring>().unwrap_err()
    }

    #[test]
    fn a_challenger_in_one_word() {
        let echo: Sparring = "Echo,kind=engine,nodes=500,rating=1800,challenges=123,clock=60+0,clock=3d,count=10,\
                              at-once=2,color=white,rated,burst=4,cancels=3,begs-draws,delay=200ms..1s"
            .parse()
            .unwrap();
        assert_eq!(
            (echo.name.as_str(), echo.kind),
            ("Echo", Kind::Engine { nodes: 500 })
        );
        assert_eq!(
            echo.delay,
            Duration::from_millis(200)..=Duration::from_secs(1)
        );
        assert!(echo.bot && echo.habits.begs_draws && !echo.habits.aborts);
        let plan = echo.challenges.unwrap();
        assert_eq!(
            plan.time_controls,
            [TimeControl::clock(60, 0), TimeControl::Days(3)]
        );
        assert_eq!(
            (plan.opponent.as_str(), plan.rated, plan.count),
            ("123", true, Some(10))
        );
        assert_eq!((plan.at_once, plan.burst, plan.cancels), (2, 4, Some(3)));
        assert_eq!(plan.colors, [ColorChoice::White]);
    }

    #[test]
    fn habits_in_one_word() {
        let user: Sparring = "Nuisance,human,quits-at=12,back-after=30s,stalls-when-lost,resigns=5,declines=tooFast,\
                              declines=noBot,chats=links,chats=long"
            .parse()
            .unwrap();
        let habits = user.habits;
        assert!(!user.bot && user.kind == Kind::Random);
        assert_eq!(
            habits.quits,
            Some(Quit {
                at_ply: 12,
                back_after: Some(Duration::from_secs(30))
            })
        );
        assert_eq!((habits.stalls, habits.resigns), (Some(9), Some(5)));
        assert_eq!(habits.declines.len(), 2);
        assert_eq!(habits.chats, [Talk::Links, Talk::Long]);
        let all: Sparring = "Nay,declines".parse().unwrap();
        assert_eq!(all.habits.declines.len(), 11);
    }

    #[test]
    fn the_same_keys_in_a_table() {
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
        let word = "Echo,kind=engine,nodes=500,stalls-when-lost=5,chats,delay=1s,challenges=MyBot,clock=60+0,\
                    clock=30+1,color=black";
        let read: Sparring = toml::from_str(table).unwrap();
        assert_eq!(read, word.parse().unwrap());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_key() {
        let unknown = refused("Echo,speed=3");
        assert!(
            unknown.contains("`speed`") && unknown.contains("`stalls-when-lost`"),
            "{unknown}"
        );
        assert!(!unknown.contains("did you mean"), "{unknown}");
        for (text, meant) in [
            ("Echo,kidn=engine", "`kind`?"),
            ("Echo,kind=engin", "`engine`?"),
            ("Echo,begs_draw", "`begs-draws`?"),
        ] {
            let refused = refused(text);
            assert!(
                refused.contains(&format!("did you mean {meant}")),
                "{refused}"
            );
        }
        for (text, why) in [
            ("kind=random", "a name comes first"),
            ("A,kind=random", "not a user name"),
            ("Echo,kind=king", "`king`"),
            ("Echo,nodes=5", "kind=engine"),
            ("Echo,rating=high", "`rating`"),
            ("Echo,rating=1,rating=2", "`rating`"),
            ("Echo,clock=60+0", "add `challenges`"),
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
            ("Echo,back-after=1s", "`quits-at`"),
            ("Echo,declines=mood", "tooFast"),
            ("Echo,chats=loud", "`chats`"),
            ("Echo,resigns=often", "`resigns`"),
            ("Echo,human=maybe", "`human`"),
        ] {
            assert!(refused(text).contains(why), "{text}: {}", refused(text));
        }
    }
}
