//! Challenges, incoming and outgoing.

use knightwatch_util::keys;
use serde::{Deserialize, Deserializer, Serialize};

use super::Color;
use super::ids::{ChallengeId, ChallengeStatus, DeclineReason, Speed, Username, Variant};
use super::text;

/// A challenge as it comes in events, in lists and in the response to our own challenge.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    /// Its id.
    pub id: ChallengeId,
    /// Its state.
    #[serde(default = "created")]
    pub status: ChallengeStatus,
    /// `None` when the challenge is open or anonymous.
    pub challenger: Option<ChallengeUser>,
    /// `None` when the challenge is open.
    #[serde(default, deserialize_with = "text::lenient")]
    pub dest_user: Option<ChallengeUser>,
    /// The variant.
    #[serde(default)]
    pub variant: Variant,
    /// Whether the game would be rated.
    #[serde(default, deserialize_with = "text::lenient")]
    pub rated: bool,
    /// The speed, from the time control.
    #[serde(default)]
    pub speed: Speed,
    /// The time control.
    #[serde(default, deserialize_with = "text::lenient")]
    pub time_control: TimeControl,
    /// The color that the challenger asked for, for themselves.
    #[serde(default, deserialize_with = "color_choice")]
    pub color: ColorChoice,
    /// The challenger's color, also when drawn at random.
    #[serde(default, deserialize_with = "text::color")]
    pub final_color: Option<Color>,
    /// Only in lists and responses, never in the event stream.
    #[serde(default, deserialize_with = "direction")]
    pub direction: Option<Direction>,
    /// The previous game, if this is a rematch.
    #[serde(default, deserialize_with = "text::lenient")]
    pub rematch_of: Option<ChallengeId>,
    /// FEN of fromPosition, of a requested Chess960 position, and of variants with other starting positions.
    #[serde(default, deserialize_with = "text::lenient")]
    pub initial_fen: Option<String>,
    /// The localized decline reason.
    #[serde(default, deserialize_with = "text::text_option")]
    pub decline_reason: Option<String>,
    /// Reason of a decline, as a key.
    pub decline_reason_key: Option<DeclineReason>,
    /// noAbort, noRematch, noGiveTime, noClaimWin, noEarlyDraw.
    #[serde(default, deserialize_with = "text::names")]
    pub rules: Vec<String>,
}

impl Challenge {
    /// The user who is challenged; `None` if the challenge is open to all.
    pub fn to(&self) -> Option<&Username> {
        self.dest_user.as_ref().map(|user| &user.name)
    }

    /// Why it was declined, if it was; Lichess may give no reason.
    pub fn refusal(&self) -> Option<DeclineReason> {
        let unnamed = self.status == ChallengeStatus::Declined;
        let unnamed = unnamed.then_some(DeclineReason::Generic);
        self.decline_reason_key.or(unnamed)
    }
}

fn created() -> ChallengeStatus {
    ChallengeStatus::Created
}

/// One side of a challenge.
#[derive(Debug, Clone, Deserialize)]
pub struct ChallengeUser {
    /// Name.
    pub name: Username,
    /// Title, such as `BOT` or `GM`.
    #[serde(default, deserialize_with = "text::title")]
    pub title: Option<String>,
    /// Rating in the variant or speed of the challenge.
    #[serde(default, deserialize_with = "text::rating")]
    pub rating: Option<i32>,
    /// Whether the rating is provisional.
    #[serde(default, deserialize_with = "text::lenient")]
    pub provisional: bool,
    /// Whether the user is online.
    #[serde(default, deserialize_with = "text::lenient")]
    pub online: bool,
}

impl ChallengeUser {
    /// Returns whether the user has the title `BOT`.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// Time control of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimeControl {
    /// Initial time and increment in seconds. A limit of 0 starts with max(increment, 3 s).
    Clock {
        /// Initial time in seconds.
        limit: u32,
        /// Increment in seconds.
        increment: u32,
    },
    /// Days per move; 0 if absent.
    Correspondence {
        /// Days per move.
        days: u32,
    },
    /// No clock.
    Unlimited,
    /// Something newer than this program.
    #[default]
    Unknown,
}

impl TimeControl {
    /// Returns whether there is a chess clock.
    pub fn is_clock(self) -> bool {
        matches!(self, Self::Clock { .. })
    }

    /// Estimated duration of a game for one side, in seconds, by Lichess's formula; `None` without a clock.
    pub fn estimate(self) -> Option<u32> {
        match self {
            Self::Clock { limit, increment } => Some(Speed::estimate(limit, increment)),
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
    /// As Lichess writes it: `3+2`, `½+0`, `1.5+1`, `2 days`. A limit that is not a multiple of a quarter minute is written
    /// in seconds, as in `10s+1`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Clock { limit, increment } => {
                match limit {
                    15 => f.write_str("¼")?,
                    30 => f.write_str("½")?,
                    45 => f.write_str("¾")?,
                    limit if limit % 15 == 0 => write!(f, "{}", f64::from(limit) / 60.0)?,
                    limit => write!(f, "{limit}s")?,
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

keys! {
    /// Color that the challenger asks for.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ColorChoice {
        /// We play White.
        White = "white",
        /// We play Black.
        Black = "black",
        /// Lichess draws the color.
        #[default]
        Random = "random",
    }
}

impl ColorChoice {
    /// The color of the opponent.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::White => Self::Black,
            Self::Black => Self::White,
            Self::Random => Self::Random,
        }
    }
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::White => Self::White,
            Color::Black => Self::Black,
        }
    }
}

fn color_choice<'de, D: Deserializer<'de>>(from: D) -> Result<ColorChoice, D::Error> {
    Ok(text::color(from)?.map_or(ColorChoice::Random, ColorChoice::from))
}

/// Direction of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From another user to us.
    In,
    /// From us to another user.
    Out,
}

fn direction<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Direction>, D::Error> {
    Ok(match text::lenient::<_, Option<String>>(from)?.as_deref() {
        Some("in") => Some(Direction::In),
        Some("out") => Some(Direction::Out),
        _ => None,
    })
}

/// The response of `/api/challenge`: pending challenges, without those whose challenger went offline.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Challenges {
    /// Challenges of others to us.
    #[serde(rename = "in", default, deserialize_with = "text::list")]
    pub incoming: Vec<Challenge>,
    /// Our challenges to others.
    #[serde(rename = "out", default, deserialize_with = "text::list")]
    pub outgoing: Vec<Challenge>,
}

/// A challenge to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChallenge {
    /// The time control.
    pub time_control: TimeControl,
    /// Whether the game is rated.
    pub rated: bool,
    /// Our color.
    pub color: ColorChoice,
    /// The variant.
    pub variant: Variant,
    /// Starting position, for standard, fromPosition and chess960.
    pub fen: Option<String>,
}

impl NewChallenge {
    /// The form to post. Booleans must be exactly `true` or `false`: the server rejects every other spelling here.
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
