//! Kinds of games offered in challenges.

use serde::{Deserialize, Serialize, Serializer};

use crate::lichess::model::{ColorChoice, NewChallenge, Speed, TimeControl, Variant};

/// Kind of game offered in a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SavedOffer", into = "SavedOffer")]
pub(crate) struct Offer {
    /// A clock, or days per move.
    pub time: TimeControl,
    pub variant: Variant,
    pub rated: bool,
}

impl Offer {
    pub(crate) fn speed(self) -> Speed {
        match self.time {
            TimeControl::Clock { limit, increment } => Speed::of_clock(limit, increment),
            _ => Speed::Correspondence,
        }
    }

    /// Lichess's key of the ratings of such games.
    pub(crate) fn perf_key(self) -> &'static str {
        match self.variant {
            Variant::Standard | Variant::FromPosition => self.speed().key(),
            other => other.key(),
        }
    }

    /// Estimated duration for each side in seconds, by Lichess's formula; days per move count for 40 moves, too.
    pub(crate) fn estimate(self) -> u32 {
        match self.time {
            TimeControl::Correspondence { days } => days.saturating_mul(40 * 86_400),
            time => time.estimate().unwrap_or(u32::MAX),
        }
    }

    /// The challenge to such a game, with our color.
    pub(crate) fn challenge(self, color: ColorChoice) -> NewChallenge {
        NewChallenge {
            time_control: self.time,
            rated: self.rated,
            color,
            variant: self.variant,
            fen: None,
        }
    }
}

/// An [`Offer`] as it is saved.
#[derive(Serialize, Deserialize)]
struct SavedOffer {
    #[serde(default)]
    limit: u32,
    #[serde(default)]
    increment: u32,
    /// Days per move, without a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    days: Option<u32>,
    #[serde(serialize_with = "key")]
    variant: Variant,
    rated: bool,
}

impl From<SavedOffer> for Offer {
    fn from(saved: SavedOffer) -> Self {
        let SavedOffer {
            limit, increment, ..
        } = saved;
        Self {
            time: match saved.days {
                Some(days) => TimeControl::Correspondence { days },
                None => TimeControl::Clock { limit, increment },
            },
            variant: saved.variant,
            rated: saved.rated,
        }
    }
}

impl From<Offer> for SavedOffer {
    fn from(offer: Offer) -> Self {
        let (limit, increment, days) = match offer.time {
            TimeControl::Clock { limit, increment } => (limit, increment, None),
            TimeControl::Correspondence { days } => (0, 0, Some(days)),
            TimeControl::Unlimited | TimeControl::Unknown => (0, 0, Some(0)),
        };
        Self {
            limit,
            increment,
            days,
            variant: offer.variant,
            rated: offer.rated,
        }
    }
}

/// Formats like `3+2 rated standard`.
impl std::fmt::Display for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rated = if self.rated { "rated" } else { "casual" };
        write!(f, "{} {rated} {}", self.time, self.variant)
    }
}

pub(super) fn key<S: Serializer>(variant: &Variant, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(variant.key())
}
