//! Raw form of a built-in player: the keys of a `[[player]]` table and of the command line.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use crate::challenge::{ColorChoice, DeclineReason};
use crate::site::Variant;
use crate::site::id::check_name;
use crate::site::time::parse_duration;

/// Challenges that a player sends at once.
const MAX_BURST: usize = 1_000;
use crate::spec::parse_spec;
use crate::time_control::TimeControl;
use knightwatch_chess::Position;

use super::{Behavior, ChallengePlan, ChatStyle, Disconnect, PlayerKind, PlayerOptions};

/// Pawns behind at which `resigns` and `stalls-when-lost` apply by default: a queen.
const DEFAULT_LOST_PAWNS: u32 = 9;
const DEFAULT_NODES: u64 = 2_000;
const MAX_COPIES: usize = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawPlayer {
    name: String,
    #[serde(default)]
    kind: KindName,
    nodes: Option<u64>,
    copies: Option<u64>,
    #[serde(default)]
    human: bool,
    rating: Option<u32>,
    delay: Option<String>,

    declines: Option<StringList>,
    #[serde(default)]
    aborts: bool,
    resigns: Option<Pawns>,
    stalls_when_lost: Option<Pawns>,
    disconnects_at: Option<u64>,
    reconnects_after: Option<String>,
    #[serde(default)]
    offers_draws: bool,
    #[serde(default)]
    accepts_draws: bool,
    #[serde(default)]
    requests_takebacks: bool,
    #[serde(default)]
    accepts_takebacks: bool,
    chats: Option<StringList>,
    #[serde(default)]
    offers_rematches: bool,
    #[serde(default)]
    joins_arenas: bool,
    #[serde(default)]
    answers_seeks: bool,

    challenges: Option<String>,
    clock: Option<StringList>,
    color: Option<StringList>,
    rated: Option<bool>,
    variant: Option<String>,
    fen: Option<String>,
    count: Option<u64>,
    concurrency: Option<u64>,
    burst: Option<u64>,
    cancels_every: Option<u64>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum KindName {
    #[default]
    Random,
    Greedy,
    Engine,
    Idle,
}

/// One string or several; `true` is an empty list, which means the default ones.
#[derive(Default)]
struct StringList(Vec<String>);

impl<'de> Deserialize<'de> for StringList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = StringList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_bool<E: de::Error>(self, yes: bool) -> Result<StringList, E> {
                match yes {
                    true => Ok(StringList(Vec::new())),
                    false => Err(E::custom("omit the key instead of `false`")),
                }
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<StringList, E> {
                Ok(StringList(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<StringList, A::Error> {
                let mut values = Vec::new();
                while let Some(text) = list.next_element()? {
                    values.push(text);
                }
                Ok(StringList(values))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl StringList {
    fn parsed<T: FromStr>(&self, key: &str) -> Result<Vec<T>, String>
    where
        T::Err: fmt::Display,
    {
        let parse = |text: &String| text.parse().map_err(|error| format!("`{key}`: {error}"));
        self.0.iter().map(parse).collect()
    }
}

/// Pawns of material; `true` means the default number.
struct Pawns(Option<u32>);

impl<'de> Deserialize<'de> for Pawns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Pawns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of pawns, or no value")
            }

            fn visit_bool<E: de::Error>(self, yes: bool) -> Result<Pawns, E> {
                Ok(Pawns(yes.then_some(DEFAULT_LOST_PAWNS)))
            }

            fn visit_u64<E: de::Error>(self, pawns: u64) -> Result<Pawns, E> {
                let pawns = u32::try_from(pawns);
                let pawns = pawns.map_err(|_| E::custom("number too large"))?;
                Ok(Pawns(Some(pawns)))
            }

            fn visit_i64<E: de::Error>(self, pawns: i64) -> Result<Pawns, E> {
                self.visit_u64(pawns.try_into().unwrap_or(u64::MAX))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Pawns, E> {
                let pawns = text.parse();
                self.visit_u64(pawns.map_err(|_| E::custom(format!("`{text}` is not a number")))?)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for PlayerOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(RawPlayer::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl FromStr for PlayerOptions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_spec(text)
    }
}

impl TryFrom<RawPlayer> for PlayerOptions {
    type Error = String;

    fn try_from(raw: RawPlayer) -> Result<Self, String> {
        let copies = number("copies", raw.copies, 1, MAX_COPIES)?;
        check_name(&raw.name)?;
        if copies > 1 {
            check_name(&format!("{}{copies}", raw.name))?;
        }
        if raw.nodes == Some(0) {
            return Err("`nodes`: at least 1".to_owned());
        }
        if raw.nodes.is_some() && raw.kind != KindName::Engine {
            return Err("`nodes` needs kind=engine".to_owned());
        }
        let kind = match raw.kind {
            KindName::Random => PlayerKind::Random,
            KindName::Greedy => PlayerKind::Greedy,
            KindName::Idle => PlayerKind::Idle,
            KindName::Engine => PlayerKind::Engine {
                nodes: raw.nodes.unwrap_or(DEFAULT_NODES).max(1),
            },
        };
        let defaults = Self::new(raw.name.clone(), kind);
        Ok(Self {
            copies,
            bot: !raw.human,
            rating: raw.rating.unwrap_or(defaults.rating),
            delay: raw
                .delay
                .as_deref()
                .map_or(Ok(defaults.delay), parse_delay)?,
            behavior: behavior(&raw)?,
            joins_arenas: raw.joins_arenas,
            answers_seeks: raw.answers_seeks,
            challenges: challenge_plan(&raw)?,
            ..Self::new(raw.name, kind)
        })
    }
}

fn behavior(raw: &RawPlayer) -> Result<Behavior, String> {
    let reconnect_after = match &raw.reconnects_after {
        Some(_) if raw.disconnects_at.is_none() => {
            return Err("`reconnects-after` needs `disconnects-at`".to_owned());
        }
        Some(text) => {
            Some(parse_duration(text).map_err(|error| format!("`reconnects-after`: {error}"))?)
        }
        None => None,
    };
    let decline_reasons = match &raw.declines {
        None => Vec::new(),
        Some(values) if values.0.is_empty() => DeclineReason::all().collect(),
        Some(values) => values.parsed("declines")?,
    };
    let chats: Vec<ChatStyle> = match &raw.chats {
        None => Vec::new(),
        Some(values) if values.0.is_empty() => vec![ChatStyle::Plain],
        Some(values) => values.parsed("chats")?,
    };
    if raw.offers_rematches && !raw.human {
        return Err("`offers-rematches` needs `human`: bots cannot offer rematches".to_owned());
    }
    if raw.answers_seeks && !raw.human {
        return Err("`answers-seeks` needs `human`: bots may not use the lobby".to_owned());
    }
    Ok(Behavior {
        decline_reasons,
        aborts: raw.aborts,
        resigns_when_lost: raw.resigns.as_ref().and_then(|pawns| pawns.0),
        stalls_when_lost: raw.stalls_when_lost.as_ref().and_then(|pawns| pawns.0),
        disconnects: raw.disconnects_at.map(|ply| Disconnect {
            at_ply: usize::try_from(ply).unwrap_or(usize::MAX),
            reconnect_after,
        }),
        offers_draws: raw.offers_draws,
        accepts_draws: raw.accepts_draws,
        requests_takebacks: raw.requests_takebacks,
        accepts_takebacks: raw.accepts_takebacks,
        chats,
        offers_rematches: raw.offers_rematches,
    })
}

fn challenge_plan(raw: &RawPlayer) -> Result<Option<ChallengePlan>, String> {
    let Some(opponent) = &raw.challenges else {
        let given = [
            ("clock", raw.clock.is_some()),
            ("color", raw.color.is_some()),
            ("rated", raw.rated.is_some()),
            ("variant", raw.variant.is_some()),
            ("fen", raw.fen.is_some()),
            ("count", raw.count.is_some()),
            ("concurrency", raw.concurrency.is_some()),
            ("burst", raw.burst.is_some()),
            ("cancels-every", raw.cancels_every.is_some()),
        ];
        return match given.into_iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(format!("`{key}` needs `challenges`")),
            None => Ok(None),
        };
    };
    check_name(opponent)?;
    let defaults = ChallengePlan::against(opponent.clone(), TimeControl::clock(60, 0));
    let positive = |key, value: Option<u64>| match value {
        Some(_) => number(key, value, 1, usize::MAX).map(Some),
        None => Ok(None),
    };
    let listed =
        |values: &Option<StringList>| values.as_ref().is_some_and(|values| !values.0.is_empty());
    let variant = raw.variant.clone();
    let variant = variant.unwrap_or_else(|| "standard".to_owned());
    let known = Variant::from_key(&variant)
        .map_err(|_| format!("`variant`: `{variant}` is not a variant"))?;
    if let Some(fen) = &raw.fen {
        if matches!(known, Variant::Other(_)) {
            return Err(format!("`fen`: games of {variant} have one start position"));
        }
        Position::from_fen(fen).map_err(|error| format!("`fen`: {error}"))?;
    } else if variant == "fromPosition" {
        return Err("`variant`: fromPosition needs a `fen`".to_owned());
    }
    Ok(Some(ChallengePlan {
        time_controls: match &raw.clock {
            Some(values) if listed(&raw.clock) => values.parsed("clock")?,
            _ => defaults.time_controls,
        },
        colors: match &raw.color {
            Some(values) if listed(&raw.color) => values.parsed("color")?,
            _ => defaults.colors,
        },
        rated: raw.rated.unwrap_or(false),
        variants: vec![variant],
        fen: raw.fen.clone(),
        count: positive("count", raw.count)?,
        concurrency: number("concurrency", raw.concurrency, 1, usize::MAX)?,
        burst: number("burst", raw.burst, 1, MAX_BURST)?,
        cancel_every: positive("cancels-every", raw.cancels_every)?,
        opponent: defaults.opponent,
    }))
}

/// A number from 1 to `max`.
fn number(key: &str, value: Option<u64>, default: usize, max: usize) -> Result<usize, String> {
    let Some(value) = value else {
        return Ok(default);
    };
    usize::try_from(value)
        .ok()
        .filter(|value| (1..=max).contains(value))
        .ok_or_else(|| match max {
            usize::MAX => format!("`{key}`: at least 1"),
            _ => format!("`{key}`: from 1 to {max}"),
        })
}

/// `1s` or `200ms..1s`
fn parse_delay(text: &str) -> Result<RangeInclusive<Duration>, String> {
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    let span = |text| parse_duration(text).map_err(|error| format!("`delay`: {error}"));
    let (min, max) = (span(min)?, span(max)?);
    if min > max {
        return Err(format!("`delay`: {text} ends before it begins"));
    }
    Ok(min..=max)
}

impl FromStr for ColorChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_key(text).ok_or_else(|| format!("`{text}` is not white, black or random"))
    }
}

impl FromStr for ChatStyle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::from_key(text);
        known.ok_or_else(|| format!("`{text}` is not plain, long, links or control"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("Echo,challenges=MyBot,variant=bughouse", "`variant`"),
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
