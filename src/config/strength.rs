//! Playing strength: `"full"`, `1500`, `"adaptive"`, or a table.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Lowest calibrated Elo.
pub const MIN_ELO: u16 = 1000;
/// Highest calibrated Elo.
pub const MAX_ELO: u16 = 2800;

/// Largest offset of adaptive strength from the rating of the opponent.
const MAX_OFFSET_ELO: i16 = 1000;

/// Playing strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    /// The target strength.
    pub mode: StrengthMode,
    /// Whether it also applies to rated games.
    pub allow_rated: bool,
}

/// Target strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrengthMode {
    /// Full strength.
    #[default]
    Full,
    /// A fixed Elo from [`MIN_ELO`] to [`MAX_ELO`].
    Elo(u16),
    /// The rating of the opponent plus an offset.
    Adaptive {
        /// In Elo; negative for weaker.
        offset: i16,
    },
}

impl Strength {
    /// A fixed Elo in casual games.
    ///
    /// # Errors
    /// When the Elo is out of range.
    pub fn of_elo(elo: u16) -> Result<Self, &'static str> {
        Ok(Self {
            mode: StrengthMode::Elo(elo_level(elo.into())?),
            allow_rated: false,
        })
    }

    /// Returns whether games of this kind are played below full strength. In rated games that would be sandbagging and
    /// needs `allow_rated`.
    pub fn limits(self, rated: bool) -> bool {
        self.mode != StrengthMode::Full && (self.allow_rated || !rated)
    }
}

/// Phrase that follows "plays".
impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode {
            StrengthMode::Full => f.write_str("at full strength")?,
            StrengthMode::Elo(elo) => write!(f, "at {elo} Elo")?,
            StrengthMode::Adaptive { offset: 0 } => f.write_str("as strong as the opponent")?,
            StrengthMode::Adaptive { offset } => write!(f, "as strong as the opponent {offset:+}")?,
        }
        match self.allow_rated && self.mode != StrengthMode::Full {
            true => f.write_str(", in rated games too"),
            false => Ok(()),
        }
    }
}

/// The table form.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawStrength {
    elo: Option<i64>,
    adaptive: bool,
    offset: Option<i64>,
    allow_rated: bool,
}

const EXPECTED: &str = "\"full\", \"adaptive\", or an Elo from 1000 to 2800, as in { elo = 1500 } or { adaptive = true, offset = -100 }";

const EXPECTED_TABLE: &str = "expected a table of elo or adaptive, of offset and of allow_rated, as in { elo = 1500, allow_rated = true }";

impl TryFrom<RawStrength> for Strength {
    type Error = &'static str;

    fn try_from(raw: RawStrength) -> Result<Self, &'static str> {
        let mode = match (raw.elo, raw.adaptive, raw.offset) {
            (Some(elo), false, None) => StrengthMode::Elo(elo_level(elo)?),
            (None, true, offset) => StrengthMode::Adaptive {
                offset: i16::try_from(offset.unwrap_or(0))
                    .ok()
                    .filter(|offset| offset.abs() <= MAX_OFFSET_ELO)
                    .ok_or("expected { adaptive = true, offset = ... } with an offset from -1000 to 1000")?,
            },
            (Some(_), true, _) => return Err("expected a table of elo or of adaptive, not of both"),
            (Some(_) | None, false, Some(_)) => {
                return Err("expected an offset only together with adaptive = true");
            }
            (None, false, None) => return Err(EXPECTED_TABLE),
        };
        Ok(Self {
            mode,
            allow_rated: raw.allow_rated,
        })
    }
}

fn elo_level(elo: i64) -> Result<u16, &'static str> {
    u16::try_from(elo)
        .ok()
        .filter(|elo| (MIN_ELO..=MAX_ELO).contains(elo))
        .ok_or("expected an Elo from 1000 to 2800; beyond that write \"full\"")
}

impl<'de> Deserialize<'de> for Strength {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct StrengthVisitor;

        impl<'de> Visitor<'de> for StrengthVisitor {
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
                let mode = match text {
                    "full" => StrengthMode::Full,
                    "adaptive" => StrengthMode::Adaptive { offset: 0 },
                    // As in the environment and on the command line.
                    _ => match text.parse() {
                        Ok(elo) => return self.visit_i64(elo),
                        Err(_) => return Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                    },
                };
                Ok(Strength {
                    mode,
                    allow_rated: false,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Strength, A::Error> {
                // Messages about Rust types would not help an operator.
                let raw = RawStrength::deserialize(MapAccessDeserializer::new(map));
                let raw = raw.map_err(|_| de::Error::custom(EXPECTED_TABLE))?;
                raw.try_into().map_err(de::Error::custom)
            }
        }

        from.deserialize_any(StrengthVisitor)
    }
}

/// Serializes to the shortest form.
impl Serialize for Strength {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (self.mode, self.allow_rated) {
            (StrengthMode::Full, _) => return to.serialize_str("full"),
            (StrengthMode::Elo(elo), false) => return to.serialize_u16(elo),
            (StrengthMode::Adaptive { offset: 0 }, false) => return to.serialize_str("adaptive"),
            _ => {}
        }
        let mut map = to.serialize_map(None)?;
        match self.mode {
            StrengthMode::Full => {}
            StrengthMode::Elo(elo) => map.serialize_entry("elo", &elo)?,
            StrengthMode::Adaptive { offset } => {
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
    fn strength_of_every_form_round_trips() {
        for (text, mode, allow_rated) in [
            ("\"full\"", StrengthMode::Full, false),
            ("1500", StrengthMode::Elo(1500), false),
            ("\"1500\"", StrengthMode::Elo(1500), false),
            ("{ elo = 1000 }", StrengthMode::Elo(1000), false),
            (
                "{ elo = 2800, allow_rated = true }",
                StrengthMode::Elo(2800),
                true,
            ),
            ("\"adaptive\"", StrengthMode::Adaptive { offset: 0 }, false),
            (
                "{ adaptive = true }",
                StrengthMode::Adaptive { offset: 0 },
                false,
            ),
            (
                "{ adaptive = true, offset = -100, allow_rated = true }",
                StrengthMode::Adaptive { offset: -100 },
                true,
            ),
        ] {
            let strength = read(text).unwrap();
            assert_eq!((strength.mode, strength.allow_rated), (mode, allow_rated));
            let raw = Table::try_from(Within { strength }).unwrap();
            assert_eq!(raw.try_into(), Ok(Within { strength }), "{text}");
        }
    }

    #[test]
    fn invalid_strength_shows_expected_form() {
        for (text, why) in [
            ("900", "from 1000 to 2800"),
            ("\"3000\"", "from 1000 to 2800"),
            ("\"weak\"", "\"adaptive\""),
            ("true", "{ elo = 1500 }"),
            ("{}", "elo or adaptive"),
            ("{ elo = 1500, adaptive = true }", "not of both"),
            ("{ elo = 1500, offset = 5 }", "together with adaptive"),
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
