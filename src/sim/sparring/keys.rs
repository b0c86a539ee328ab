//! A sparring user as it is written down: the keys of a table in a file, and of the command line.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use crate::chess::Position;
use crate::sim::options::check_name;
use crate::sim::site::time::parse_duration;
use crate::sim::site::variant::Variant;
use crate::sim::{DeclineReason, TimeControl};

use super::{ColorChoice, Habits, Kind, Plan, Quit, Sparring, Talk};

/// A queen: what `resigns` and `stalls-when-lost` mean without a number.
const LOST: u32 = 9;
/// Nodes of an engine that is given none.
const NODES: u64 = 2_000;
/// Most copies of one user.
const MAX_COPIES: usize = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Keys {
    name: String,
    #[serde(default)]
    kind: KindName,
    nodes: Option<u64>,
    copies: Option<u64>,
    #[serde(default)]
    human: bool,
    rating: Option<u32>,
    delay: Option<String>,

    declines: Option<Texts>,
    #[serde(default)]
    aborts: bool,
    resigns: Option<Limit>,
    stalls_when_lost: Option<Limit>,
    quits_at: Option<u64>,
    back_after: Option<String>,
    #[serde(default)]
    begs_draws: bool,
    #[serde(default)]
    accepts_draws: bool,
    #[serde(default)]
    begs_takebacks: bool,
    #[serde(default)]
    accepts_takebacks: bool,
    chats: Option<Texts>,
    #[serde(default)]
    rematches: bool,
    #[serde(default)]
    arenas: bool,

    challenges: Option<String>,
    clock: Option<Texts>,
    color: Option<Texts>,
    rated: Option<bool>,
    variant: Option<String>,
    fen: Option<String>,
    count: Option<u64>,
    at_once: Option<u64>,
    burst: Option<u64>,
    cancels: Option<u64>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum KindName {
    #[default]
    Random,
    Greedy,
    Engine,
    Sleeper,
}

/// One text or several; `true` is none of them, which stands for the usual ones.
#[derive(Default)]
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_bool<E: de::Error>(self, yes: bool) -> Result<Texts, E> {
                match yes {
                    true => Ok(Texts(Vec::new())),
                    false => Err(E::custom("leave it out instead of `false`")),
                }
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Texts(texts))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Texts {
    fn parsed<T: FromStr>(&self, key: &str) -> Result<Vec<T>, String>
    where
        T::Err: fmt::Display,
    {
        let parse = |text: &String| text.parse().map_err(|error| format!("`{key}`: {error}"));
        self.0.iter().map(parse).collect()
    }
}

/// Pawns of material, or `true` for the usual number.
struct Limit(Option<u32>);

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Limit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of pawns, or nothing")
            }

            fn visit_bool<E: de::Error>(self, yes: bool) -> Result<Limit, E> {
                Ok(Limit(yes.then_some(LOST)))
            }

            fn visit_u64<E: de::Error>(self, pawns: u64) -> Result<Limit, E> {
                let pawns = u32::try_from(pawns);
                let pawns = pawns.map_err(|_| E::custom("so many pawns there are not"))?;
                Ok(Limit(Some(pawns)))
            }

            fn visit_i64<E: de::Error>(self, pawns: i64) -> Result<Limit, E> {
                self.visit_u64(pawns.try_into().unwrap_or(u64::MAX))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Limit, E> {
                let pawns = text.parse();
                self.visit_u64(pawns.map_err(|_| E::custom(format!("`{text}` is not a number")))?)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl TryFrom<Keys> for Sparring {
    type Error = String;

    fn try_from(keys: Keys) -> Result<Self, String> {
        let copies = number("copies", keys.copies, 1, MAX_COPIES)?;
        check_name(&keys.name)?;
        if copies > 1 {
            check_name(&format!("{}{copies}", keys.name))?;
        }
        if keys.nodes == Some(0) {
            return Err("`nodes`: at least 1".to_owned());
        }
        if keys.nodes.is_some() && keys.kind != KindName::Engine {
            return Err("`nodes` is for kind=engine".to_owned());
        }
        let kind = match keys.kind {
            KindName::Random => Kind::Random,
            KindName::Greedy => Kind::Greedy,
            KindName::Sleeper => Kind::Sleeper,
            KindName::Engine => Kind::Engine {
                nodes: keys.nodes.unwrap_or(NODES).max(1),
            },
        };
        let usual = Self::new(keys.name.clone(), kind);
        Ok(Self {
            copies,
            bot: !keys.human,
            rating: keys.rating.unwrap_or(usual.rating),
            delay: keys.delay.as_deref().map_or(Ok(usual.delay), delay)?,
            habits: habits(&keys)?,
            arenas: keys.arenas,
            challenges: plan(&keys)?,
            ..Self::new(keys.name, kind)
        })
    }
}

fn habits(keys: &Keys) -> Result<Habits, String> {
    let back_after = match &keys.back_after {
        Some(_) if keys.quits_at.is_none() => {
            return Err("`back-after` is for who leaves: add `quits-at`".to_owned());
        }
        Some(text) => Some(parse_duration(text).map_err(|error| format!("`back-after`: {error}"))?),
        None => None,
    };
    let declines = match &keys.declines {
        None => Vec::new(),
        Some(texts) if texts.0.is_empty() => DeclineReason::all().collect(),
        Some(texts) => texts.parsed("declines")?,
    };
    let chats: Vec<Talk> = match &keys.chats {
        None => Vec::new(),
        Some(texts) if texts.0.is_empty() => vec![Talk::Plain],
        Some(texts) => texts.parsed("chats")?,
    };
    if keys.rematches && !keys.human {
        return Err("`rematches` needs `human`: bots cannot offer rematches".to_owned());
    }
    Ok(Habits {
        declines,
        aborts: keys.aborts,
        resigns: keys.resigns.as_ref().and_then(|limit| limit.0),
        stalls: keys.stalls_when_lost.as_ref().and_then(|limit| limit.0),
        quits: keys.quits_at.map(|ply| Quit {
            at_ply: usize::try_from(ply).unwrap_or(usize::MAX),
            back_after,
        }),
        begs_draws: keys.begs_draws,
        accepts_draws: keys.accepts_draws,
        begs_takebacks: keys.begs_takebacks,
        accepts_takebacks: keys.accepts_takebacks,
        chats,
        rematches: keys.rematches,
    })
}

fn plan(keys: &Keys) -> Result<Option<Plan>, String> {
    let Some(opponent) = &keys.challenges else {
        let lonely = [
            ("clock", keys.clock.is_some()),
            ("color", keys.color.is_some()),
            ("rated", keys.rated.is_some()),
            ("variant", keys.variant.is_some()),
            ("fen", keys.fen.is_some()),
            ("count", keys.count.is_some()),
            ("at-once", keys.at_once.is_some()),
            ("burst", keys.burst.is_some()),
            ("cancels", keys.cancels.is_some()),
        ];
        return match lonely.into_iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(format!("`{key}` is for challengers: add `challenges`")),
            None => Ok(None),
        };
    };
    check_name(opponent)?;
    let usual = Plan::against(opponent.clone(), TimeControl::clock(60, 0));
    let some = |key, value: Option<u64>| match value {
        Some(_) => number(key, value, 1, usize::MAX).map(Some),
        None => Ok(None),
    };
    let listed = |texts: &Option<Texts>| texts.as_ref().is_some_and(|texts| !texts.0.is_empty());
    let variant = keys.variant.clone().unwrap_or(usual.variant);
    if Variant::from_key(&variant).is_err() {
        return Err(format!("`variant`: `{variant}` is not played here"));
    }
    if let Some(fen) = &keys.fen {
        Position::from_fen(fen).map_err(|error| format!("`fen`: {error}"))?;
    } else if variant == "fromPosition" {
        return Err("`variant`: fromPosition needs a `fen`".to_owned());
    }
    Ok(Some(Plan {
        time_controls: match &keys.clock {
            Some(texts) if listed(&keys.clock) => texts.parsed("clock")?,
            _ => usual.time_controls,
        },
        colors: match &keys.color {
            Some(texts) if listed(&keys.color) => texts.parsed("color")?,
            _ => usual.colors,
        },
        rated: keys.rated.unwrap_or(false),
        variant,
        fen: keys.fen.clone(),
        count: some("count", keys.count)?,
        at_once: number("at-once", keys.at_once, 1, usize::MAX)?,
        burst: number("burst", keys.burst, 1, usize::MAX)?,
        cancels: some("cancels", keys.cancels)?,
        opponent: usual.opponent,
    }))
}

/// A number from 1 to `most`.
fn number(key: &str, value: Option<u64>, usual: usize, most: usize) -> Result<usize, String> {
    let Some(value) = value else {
        return Ok(usual);
    };
    usize::try_from(value)
        .ok()
        .filter(|value| (1..=most).contains(value))
        .ok_or_else(|| match most {
            usize::MAX => format!("`{key}`: at least 1"),
            _ => format!("`{key}`: from 1 to {most}"),
        })
}

/// `1s` or `200ms..1s`
fn delay(text: &str) -> Result<RangeInclusive<Duration>, String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let span = |text| parse_duration(text).map_err(|error| format!("`delay`: {error}"));
    let (least, most) = (span(least)?, span(most)?);
    if least > most {
        return Err(format!("`delay`: {text} is the wrong way round"));
    }
    Ok(least..=most)
}

impl FromStr for ColorChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "white" => Ok(Self::White),
            "black" => Ok(Self::Black),
            "random" => Ok(Self::Random),
            _ => Err(format!("`{text}` is not white, black or random")),
        }
    }
}

impl FromStr for Talk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "plain" => Ok(Self::Plain),
            "long" => Ok(Self::Long),
            "links" => Ok(Self::Links),
            "control" => Ok(Self::Control),
            _ => Err(format!("`{text}` is not plain, long, links or control")),
        }
    }
}
