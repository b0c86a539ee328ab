//! How strong the engine plays: `"full"`, `1500`, `"adaptive"`, or a table that says more.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The weakest and the strongest that can be asked for by number: what the engine has been measured at.
pub const WEAKEST: u16 = 1000;
pub const STRONGEST: u16 = 2800;

/// Farther from the opponent's rating nothing is adaptive.
const FARTHEST: i16 = 1000;

/// How strong the engine plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    /// As strong as what.
    pub aim: Aim,
    /// In rated games, too.
    pub allow_rated: bool,
}

/// As strong as what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aim {
    /// As it can.
    #[default]
    Full,
    /// This Elo, [`WEAKEST`] to [`STRONGEST`].
    Elo(u16),
    /// The opponent, and so much stronger.
    Adaptive {
        /// In Elo; negative for weaker.
        offset: i16,
    },
}

impl Strength {
    /// This Elo, in casual games.
    ///
    /// # Errors
    /// When there is no such level.
    pub fn of_elo(elo: u16) -> Result<Self, &'static str> {
        Ok(Self {
            aim: Aim::Elo(number(elo.into())?),
            allow_rated: false,
        })
    }

    /// Whether games of this kind are played below full strength. In rated games that is sandbagging, unless it is allowed.
    pub fn limits(self, rated: bool) -> bool {
        self.aim != Aim::Full && (self.allow_rated || !rated)
    }
}

/// In a few words, after "plays".
impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.aim {
            Aim::Full => f.write_str("at full strength")?,
            Aim::Elo(elo) => write!(f, "at {elo} Elo")?,
            Aim::Adaptive { offset: 0 } => f.write_str("as strong as the opponent")?,
            Aim::Adaptive { offset } => write!(f, "as strong as the opponent {offset:+}")?,
        }
        match self.allow_rated && self.aim != Aim::Full {
            true => f.write_str(", in rated games too"),
            false => Ok(()),
        }
    }
}

/// The table, as it is written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    elo: Option<i64>,
    adaptive: bool,
    offset: Option<i64>,
    allow_rated: bool,
}

const EXPECTED: &str = "\"full\", \"adaptive\", or an Elo from 1000 to 2800, as in { elo = 1500 } or { adaptive = true, offset = -100 }";

const KEYS: &str = "expected a table of elo or adaptive, of offset and of allow_rated, as in { elo = 1500, allow_rated = true }";

impl TryFrom<Written> for Strength {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, &'static str> {
        let aim = match (written.elo, written.adaptive, written.offset) {
            (Some(elo), false, None) => Aim::Elo(number(elo)?),
            (None, true, offset) => Aim::Adaptive {
                offset: i16::try_from(offset.unwrap_or(0))
                    .ok()
                    .filter(|offset| offset.abs() <= FARTHEST)
                    .ok_or("expected { adaptive = true, offset = ... } with an offset from -1000 to 1000")?,
            },
            (Some(_), true, _) => return Err("expected a table of elo or of adaptive, not of both"),
            (Some(_), false, Some(_)) | (None, false, Some(_)) => {
                return Err("expected a table with an offset beside adaptive = true alone");
            }
            (None, false, None) => return Err(KEYS),
        };
        Ok(Self {
            aim,
            allow_rated: written.allow_rated,
        })
    }
}

fn number(elo: i64) -> Result<u16, &'static str> {
    u16::try_from(elo)
        .ok()
        .filter(|elo| (WEAKEST..=STRONGEST).contains(elo))
        .ok_or("expected an Elo from 1000 to 2800; beyond that write \"full\"")
}

impl<'de> Deserialize<'de> for Strength {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'de> Visitor<'de> for Words {
            type Value = Strength;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_i64<E: de::Error>(self, elo: i64) -> Result<Strength, E> {
                let elo = u16::try_from(elo).unwrap_or(0);
                Strength::of_elo(elo).map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, elo: u64) -> Result<Strength, E> {
                self.visit_i64(i64::try_from(elo).unwrap_or(i64::MAX))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Strength, E> {
                let aim = match text {
                    "full" => Aim::Full,
                    "adaptive" => Aim::Adaptive { offset: 0 },
                    // As it comes from the environment and from the command line.
                    _ => match text.parse() {
                        Ok(elo) => return self.visit_i64(elo),
                        Err(_) => return Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                    },
                };
                Ok(Strength {
                    aim,
                    allow_rated: false,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Strength, A::Error> {
                // The types of Rust's say nothing to an operator.
                let written = Written::deserialize(MapAccessDeserializer::new(map));
                let written = written.map_err(|_| de::Error::custom(KEYS))?;
                written.try_into().map_err(de::Error::custom)
            }
        }

        from.deserialize_any(Words)
    }
}

/// As short as it can be written.
impl Serialize for Strength {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (self.aim, self.allow_rated) {
            (Aim::Full, _) => return to.serialize_str("full"),
            (Aim::Elo(elo), false) => return to.serialize_u16(elo),
            (Aim::Adaptive { offset: 0 }, false) => return to.serialize_str("adaptive"),
            _ => {}
        }
        let mut map = to.serialize_map(None)?;
        match self.aim {
            Aim::Full => {}
            Aim::Elo(elo) => map.serialize_entry("elo", &elo)?,
            Aim::Adaptive { offset } => {
                map.serialize_entry("adaptive", &true)?;
                map.serialize_entry("offset", &offset)?;
            }
        }
        if self.allow_rated {
            map.serialize_entry("allow_rated", &true)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use toml::Table;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Within {
        strength: Strength,
    }

    fn read(text: &str) -> Result<Strength, String> {
        let table: Table = format!("strength = {text}").parse().unwrap();
        let within: Result<Within, _> = table.try_into();
        within
            .map(|within| within.strength)
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn strengths_are_written_in_words_numbers_and_tables() {
        for (text, aim, allow_rated) in [
            ("\"full\"", Aim::Full, false),
            ("1500", Aim::Elo(1500), false),
            ("\"1500\"", Aim::Elo(1500), false),
            ("{ elo = 1000 }", Aim::Elo(1000), false),
            ("{ elo = 2800, allow_rated = true }", Aim::Elo(2800), true),
            ("\"adaptive\"", Aim::Adaptive { offset: 0 }, false),
            ("{ adaptive = true }", Aim::Adaptive { offset: 0 }, false),
            (
                "{ adaptive = true, offset = -100, allow_rated = true }",
                Aim::Adaptive { offset: -100 },
                true,
            ),
        ] {
            let strength = read(text).unwrap();
            assert_eq!((strength.aim, strength.allow_rated), (aim, allow_rated));
            // What is written is read as the same again.
            let written = Table::try_from(Within { strength }).unwrap();
            assert_eq!(written.try_into(), Ok(Within { strength }), "{text}");
        }
    }

    #[test]
    fn what_is_no_strength_is_told_what_would_be_one() {
        for (text, why) in [
            ("900", "from 1000 to 2800"),
            ("\"3000\"", "from 1000 to 2800"),
            ("\"weak\"", "\"adaptive\""),
            ("true", "{ elo = 1500 }"),
            ("{}", "elo or adaptive"),
            ("{ elo = 1500, adaptive = true }", "not of both"),
            ("{ elo = 1500, offset = 5 }", "beside adaptive"),
            ("{ adaptive = true, offset = 5000 }", "-1000 to 1000"),
            ("{ Elo = 1500 }", "elo or adaptive"),
            ("{ elo = \"1500\" }", "elo or adaptive"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
            assert!(error.contains("expected"), "{text}: {error}");
        }
    }
}
