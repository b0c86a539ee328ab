//! Ids and enumerations of the wire.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use knightwatch_util::keys;
use serde::{Deserialize, Deserializer, Serialize};

use super::text;

/// A game id, which is also the id of the challenge that the game came from.
///
/// Eight characters on Lichess; anything of 1 to 32 ASCII letters, digits, `-` and `_` is accepted, all of which are safe
/// in a path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct GameId(Box<str>);

/// A challenge id: the id of the game it becomes.
pub type ChallengeId = GameId;

/// An arena id, of the same form as a game id.
pub type ArenaId = GameId;

impl GameId {
    /// Placeholder for a game or challenge that has no id yet.
    pub fn unknown() -> Self {
        Self("unknown".into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GameId {
    type Err = InvalidId;

    fn from_str(id: &str) -> Result<Self, InvalidId> {
        let fits = (1..=32).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if fits {
            Ok(Self(id.into()))
        } else {
            Err(InvalidId)
        }
    }
}

/// An invalid game id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a game id (1 to 32 letters and digits)")]
pub struct InvalidId;

impl fmt::Display for GameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for GameId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Upper limit of a user name, in characters; Lichess allows 30.
const MAX_NAME_CHARS: usize = 40;

/// A user name as displayed. Comparison ignores case; [`Username::id`] is the form that compares equal.
#[derive(Clone, Serialize)]
pub struct Username(Box<str>);

impl Username {
    /// Upper limit of a valid name, in characters.
    pub const MAX_CHARS: usize = 30;

    /// Removes control characters and cuts overlong names, since names are printed to terminals and logs.
    pub fn new(name: &str) -> Self {
        Self(text::clip(name, MAX_NAME_CHARS).into())
    }

    /// Returns whether this is a valid user name: 2 to 30 letters, digits, `_` and `-`.
    pub fn is_valid(name: &str) -> bool {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        (2..=Self::MAX_CHARS).contains(&name.len()) && name.chars().all(fits)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The user's id: the name in lower case.
    pub fn id(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl PartialEq for Username {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Username {}

impl std::hash::Hash for Username {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl From<&str> for Username {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Username {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|name| Self::new(&name))
    }
}

/// Parses a key from a string or from an object: `{"key":"chess960","name":"Chess960"}`.
macro_rules! key_from {
    ($name:ident) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                #[serde(untagged)]
                enum Shape {
                    Plain(String),
                    Object { key: String },
                    Other(serde::de::IgnoredAny),
                }
                Ok(match Shape::deserialize(from)? {
                    Shape::Plain(key) | Shape::Object { key } => Self::from_key(&key),
                    Shape::Other(_) => Self::Unknown,
                })
            }
        }
    };
}

keys! {
    /// The rules of a game.
    pub enum Variant {
        Standard = "standard",
        Chess960 = "chess960",
        /// Standard rules from any position, Chess960 castling included. Never rated.
        FromPosition = "fromPosition",
        Crazyhouse = "crazyhouse",
        Antichess = "antichess",
        Atomic = "atomic",
        Horde = "horde",
        KingOfTheHill = "kingOfTheHill",
        RacingKings = "racingKings",
        ThreeCheck = "threeCheck",
    } else Unknown
}

key_from!(Variant);

impl Variant {
    /// The rules of its games; `None` if they are unknown.
    pub fn rules(self) -> Option<knightwatch_chess::Variant> {
        knightwatch_chess::Variant::from_name(self.key())
    }
}

keys! {
    /// Speed of a game by its estimated duration for one side: limit + 40 increments.
    pub enum Speed {
        /// 0 to 29 seconds. Bots may not play it.
        UltraBullet = "ultraBullet",
        /// 30 to 179 seconds.
        Bullet = "bullet",
        /// 180 to 479 seconds.
        Blitz = "blitz",
        /// 480 to 1,499 seconds.
        Rapid = "rapid",
        /// From 1,500 seconds.
        Classical = "classical",
        /// Days per move, or no clock at all.
        Correspondence = "correspondence",
    } else Unknown
}

impl Speed {
    /// The keys of the speeds that bots may play.
    pub const BOT_KEYS: [&str; Self::KEYS.len() - 1] = {
        let [_, bot_keys @ ..] = Self::KEYS;
        bot_keys
    };

    /// Estimated duration of a game for one side, in seconds: 40 moves, as Lichess counts.
    pub fn estimate(limit: u32, increment: u32) -> u32 {
        limit.saturating_add(increment.saturating_mul(40))
    }

    /// The [estimates](Self::estimate) of clocks of this speed; `None` for games without one.
    pub fn estimates(self) -> Option<RangeInclusive<u32>> {
        match self {
            Self::UltraBullet => Some(0..=29),
            Self::Bullet => Some(30..=179),
            Self::Blitz => Some(180..=479),
            Self::Rapid => Some(480..=1_499),
            Self::Classical => Some(1_500..=21_599),
            Self::Correspondence | Self::Unknown => None,
        }
    }

    /// The speed of a clock of `limit` and `increment` seconds.
    pub fn of_clock(limit: u32, increment: u32) -> Self {
        let estimate = Self::estimate(limit, increment);
        let is_within = |speed: &Self| {
            speed
                .estimates()
                .is_some_and(|range| range.contains(&estimate))
        };
        let speed = Self::ALL.iter().copied().find(is_within);
        speed.unwrap_or(Self::Correspondence)
    }
}

key_from!(Speed);

keys! {
    /// Status of a game. All but `Created` and `Started` mean that it is over, `Unknown` included.
    pub enum Status {
        Created = "created",
        Started = "started",
        Aborted = "aborted",
        Mate = "mate",
        Resign = "resign",
        Stalemate = "stalemate",
        /// The opponent left, and victory or a draw was claimed.
        Timeout = "timeout",
        Draw = "draw",
        /// Out of time; a draw if the opponent cannot mate.
        OutOfTime = "outoftime",
        Cheat = "cheat",
        /// Lost for not making the first move in time (arenas).
        NoStart = "noStart",
        UnknownFinish = "unknownFinish",
        InsufficientMaterialClaim = "insufficientMaterialClaim",
        VariantEnd = "variantEnd",
    } else Unknown
}

impl Status {
    /// Returns whether the game has ended.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Created | Self::Started)
    }

    /// Returns whether a game that has ended was played.
    pub fn was_played(self) -> bool {
        !matches!(self, Self::Aborted | Self::NoStart)
    }

    /// Returns whether a game that has ended without a winner is a draw. If not, it has no result.
    pub fn has_result(self) -> bool {
        self.was_played() && !matches!(self, Self::UnknownFinish | Self::Unknown)
    }

    fn from_id(id: u64) -> Self {
        match id {
            10 => Self::Created,
            20 => Self::Started,
            25 => Self::Aborted,
            30 => Self::Mate,
            31 => Self::Resign,
            32 => Self::Stalemate,
            33 => Self::Timeout,
            34 => Self::Draw,
            35 => Self::OutOfTime,
            36 => Self::Cheat,
            37 => Self::NoStart,
            38 => Self::UnknownFinish,
            39 => Self::InsufficientMaterialClaim,
            60 => Self::VariantEnd,
            _ => Self::Unknown,
        }
    }
}

impl<'de> Deserialize<'de> for Status {
    /// `"started"`, or `{"id":20,"name":"started"}` with either part missing.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Shape {
            Name(String),
            Object {
                #[serde(default, deserialize_with = "text::lenient")]
                id: Option<u64>,
                #[serde(default, deserialize_with = "text::lenient")]
                name: Option<String>,
            },
            Id(u64),
            Other(serde::de::IgnoredAny),
        }
        Ok(match Shape::deserialize(from)? {
            Shape::Name(name)
            | Shape::Object {
                name: Some(name), ..
            } => Self::from_key(&name),
            Shape::Object { id: Some(id), .. } | Shape::Id(id) => Self::from_id(id),
            Shape::Object { .. } | Shape::Other(_) => Self::Unknown,
        })
    }
}

keys! {
    /// Status of a challenge.
    pub enum ChallengeStatus {
        Created = "created",
        /// The challenger has not been seen for 20 s; it can still be accepted.
        Offline = "offline",
        Canceled = "canceled",
        Declined = "declined",
        Accepted = "accepted",
    } else Unknown
}

key_from!(ChallengeStatus);

keys! {
    /// Reason to decline a challenge. In events the key is in lower case.
    pub enum DeclineReason {
        Generic = "generic",
        Later = "later",
        TooFast = "tooFast",
        TooSlow = "tooSlow",
        TimeControl = "timeControl",
        /// "Please send me a rated challenge instead."
        Rated = "rated",
        /// "Please send me a casual challenge instead."
        Casual = "casual",
        /// "I'm not accepting variant challenges right now."
        Standard = "standard",
        /// "I'm not willing to play this variant right now."
        Variant = "variant",
        NoBot = "noBot",
        OnlyBot = "onlyBot",
    } else Unknown
}

key_from!(DeclineReason);

keys! {
    /// Chat room of a game.
    pub enum Room {
        /// The two players.
        Player = "player",
        /// The spectators.
        Spectator = "spectator",
    } else Unknown
}

key_from!(Room);
