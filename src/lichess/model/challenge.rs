//! Challenges: what somebody wants to play, and what we want to play with somebody.

use serde::{Deserialize, Deserializer};

use super::Color;
use super::ids::{self, ChallengeId, ChallengeStatus, DeclineReason, Speed, Username, Variant};
use super::text;

/// A challenge as it comes in events, in lists and in the answer to a challenge of ours.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    pub id: ChallengeId,
    #[serde(default = "created")]
    pub status: ChallengeStatus,
    /// Nobody when the challenge is open or anonymous.
    #[serde(default)]
    pub challenger: Option<Challenger>,
    /// Nobody when the challenge is open.
    #[serde(default, deserialize_with = "text::lenient")]
    pub dest_user: Option<Challenger>,
    #[serde(default)]
    pub variant: Variant,
    #[serde(default, deserialize_with = "text::lenient")]
    pub rated: bool,
    #[serde(default)]
    pub speed: Speed,
    #[serde(default, deserialize_with = "text::lenient")]
    pub time_control: TimeControl,
    /// What the challenger asked for, seen from the challenger.
    #[serde(default, deserialize_with = "wish")]
    pub color: ColorWish,
    /// The challenger's colour, drawn if it was left to chance.
    #[serde(default, deserialize_with = "text::color")]
    pub final_color: Option<Color>,
    /// Only in lists and answers, never in the event stream.
    #[serde(default, deserialize_with = "direction")]
    pub direction: Option<Direction>,
    /// The game that this would be a rematch of.
    #[serde(default, deserialize_with = "text::lenient")]
    pub rematch_of: Option<ChallengeId>,
    /// The FEN of fromPosition, of a Chess960 position asked for, and of variants that start elsewhere.
    #[serde(default, deserialize_with = "text::lenient")]
    pub initial_fen: Option<String>,
    /// The reason as Lichess words it, in the language of the account.
    #[serde(default, deserialize_with = "text::words_option")]
    pub decline_reason: Option<String>,
    #[serde(default)]
    pub decline_reason_key: Option<DeclineReason>,
    /// noAbort, noRematch, noGiveTime, noClaimWin, noEarlyDraw.
    #[serde(default, deserialize_with = "text::names")]
    pub rules: Vec<String>,
}

fn created() -> ChallengeStatus {
    ChallengeStatus::Created
}

/// One side of a challenge.
#[derive(Debug, Clone, Deserialize)]
pub struct Challenger {
    pub name: Username,
    #[serde(default, deserialize_with = "text::title")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "text::rating")]
    pub rating: Option<i32>,
    #[serde(default, deserialize_with = "text::lenient")]
    pub provisional: bool,
    #[serde(default, deserialize_with = "text::lenient")]
    pub online: bool,
}

impl Challenger {
    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// How much time the players get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimeControl {
    /// Seconds at the start and seconds per move. A limit of 0 gives max(increment, 3 s) to begin with.
    Clock {
        limit: u32,
        increment: u32,
    },
    /// Days for each move; 0 when it did not say.
    Correspondence {
        days: u32,
    },
    Unlimited,
    /// Something newer than this program.
    #[default]
    Unknown,
}

impl TimeControl {
    /// Whether there is a chess clock.
    pub fn is_clock(self) -> bool {
        matches!(self, Self::Clock { .. })
    }

    /// How long such a game lasts for one side, in seconds, as Lichess reckons it; `None` without a clock.
    pub fn estimate(self) -> Option<u32> {
        match self {
            Self::Clock { limit, increment } => Some(ids::estimate(limit, increment)),
            Self::Correspondence { .. } | Self::Unlimited | Self::Unknown => None,
        }
    }
}

impl<'de> Deserialize<'de> for TimeControl {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            #[serde(rename = "type", default, deserialize_with = "text::lenient")]
            kind: String,
            #[serde(default, deserialize_with = "text::count")]
            limit: Option<u32>,
            #[serde(default, deserialize_with = "text::count")]
            increment: Option<u32>,
            #[serde(default, deserialize_with = "text::count")]
            days_per_turn: Option<u32>,
        }
        let wire = Wire::deserialize(from)?;
        Ok(match (wire.kind.as_str(), wire.limit) {
            ("clock", Some(limit)) => Self::Clock {
                limit,
                increment: wire.increment.unwrap_or(0),
            },
            ("correspondence", _) => Self::Correspondence {
                days: wire.days_per_turn.unwrap_or(0),
            },
            ("unlimited", _) => Self::Unlimited,
            _ => Self::Unknown,
        })
    }
}

impl std::fmt::Display for TimeControl {
    /// `3+2`, `½+0`, `1.5+1`, `2 days`, as Lichess shows it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Clock { limit, increment } => {
                match limit {
                    15 => f.write_str("¼")?,
                    30 => f.write_str("½")?,
                    45 => f.write_str("¾")?,
                    limit => write!(f, "{}", f64::from(limit) / 60.0)?,
                }
                write!(f, "+{increment}")
            }
            Self::Correspondence { days: 1 } => f.write_str("1 day"),
            Self::Correspondence { days } => write!(f, "{days} days"),
            Self::Unlimited => f.write_str("unlimited"),
            Self::Unknown => f.write_str("unknown time control"),
        }
    }
}

/// Which colour the challenger asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorWish {
    White,
    Black,
    #[default]
    Random,
}

impl ColorWish {
    /// The word on the wire.
    pub fn key(self) -> &'static str {
        match self {
            Self::White => "white",
            Self::Black => "black",
            Self::Random => "random",
        }
    }
}

fn wish<'de, D: Deserializer<'de>>(from: D) -> Result<ColorWish, D::Error> {
    Ok(match text::color(from)? {
        Some(Color::White) => ColorWish::White,
        Some(Color::Black) => ColorWish::Black,
        None => ColorWish::Random,
    })
}

/// Whether a challenge came to us or went out from us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

fn direction<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Direction>, D::Error> {
    Ok(match text::lenient::<_, Option<String>>(from)?.as_deref() {
        Some("in") => Some(Direction::In),
        Some("out") => Some(Direction::Out),
        _ => None,
    })
}

/// The answer of `/api/challenge`: the challenges that still wait, without those whose challenger went offline.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Challenges {
    #[serde(rename = "in", default, deserialize_with = "text::list")]
    pub incoming: Vec<Challenge>,
    #[serde(rename = "out", default, deserialize_with = "text::list")]
    pub outgoing: Vec<Challenge>,
}

/// A challenge that we make.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChallenge {
    pub time_control: TimeControl,
    pub rated: bool,
    /// Our colour.
    pub color: ColorWish,
    pub variant: Variant,
    /// Where the game starts: for standard, fromPosition and chess960.
    pub fen: Option<String>,
}

impl NewChallenge {
    /// The form to post. Booleans are exactly `true` and `false`: the server refuses every other spelling here.
    pub fn form(&self) -> Vec<(&'static str, String)> {
        let mut form = vec![
            ("rated", self.rated.to_string()),
            ("color", self.color.key().to_owned()),
            ("variant", self.variant.key().to_owned()),
        ];
        match self.time_control {
            TimeControl::Clock { limit, increment } => {
                form.push(("clock.limit", limit.to_string()));
                form.push(("clock.increment", increment.to_string()));
            }
            TimeControl::Correspondence { days } => form.push(("days", days.to_string())),
            TimeControl::Unlimited | TimeControl::Unknown => {}
        }
        if let Some(fen) = &self.fen {
            form.push(("fen", fen.clone()));
        }
        form
    }
}
