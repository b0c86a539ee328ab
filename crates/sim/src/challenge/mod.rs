//! Challenges: the record of one, and the reasons for declining it.

pub(crate) mod challenges;
pub(crate) mod checks;

use std::str::FromStr;

use serde::Deserialize;

use knightwatch_chess::{Color, Position};
use knightwatch_util::keys;

use crate::round::setup::{Setup, Source};
use crate::site::{Feed, GameId, Perf, SimTime, Speed, UserId, Variant};
use crate::time_control::TimeControl;

keys! {
    pub(crate) enum ChallengeStatus {
        Created = "created",
        Offline = "offline",
        Canceled = "canceled",
        Declined = "declined",
        Accepted = "accepted",
    }
}

impl ChallengeStatus {
    /// Returns whether it can still be accepted.
    pub(crate) fn is_active(self) -> bool {
        matches!(self, Self::Created | Self::Offline)
    }
}

keys! {
    /// Color requested by a challenger.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ColorChoice {
        /// The challenger plays White.
        White = "white",
        /// The challenger plays Black.
        Black = "black",
        /// The site draws the color.
        Random = "random",
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

impl ColorChoice {
    /// The color of the opponent.
    pub(crate) fn negate(self) -> Self {
        match self {
            Self::White => Self::Black,
            Self::Black => Self::White,
            Self::Random => Self::Random,
        }
    }

    /// Returns the requested color, or a random one.
    pub(crate) fn resolve(self, rng: &mut fastrand::Rng) -> Color {
        match self {
            Self::White => Color::White,
            Self::Black => Color::Black,
            Self::Random if rng.bool() => Color::White,
            Self::Random => Color::Black,
        }
    }
}

/// Reason for declining a challenge: the key in a request and the text for the challenger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclineReason {
    /// Key in `declineReasonKey`, in lower case.
    pub key: &'static str,
    /// Sentence for the challenger.
    pub text: &'static str,
}

#[rustfmt::skip]
const REASONS: [(&str, DeclineReason); 11] = [
    ("generic", DeclineReason { key: "generic", text: "I'm not accepting challenges at the moment." }),
    ("later", DeclineReason { key: "later", text: "This is not the right time for me, please ask again later." }),
    ("tooFast", DeclineReason { key: "toofast", text: "This time control is too fast for me, please challenge again with a slower game." }),
    ("tooSlow", DeclineReason { key: "tooslow", text: "This time control is too slow for me, please challenge again with a faster game." }),
    ("timeControl", DeclineReason { key: "timecontrol", text: "I'm not accepting challenges with this time control." }),
    ("rated", DeclineReason { key: "rated", text: "Please send me a rated challenge instead." }),
    ("casual", DeclineReason { key: "casual", text: "Please send me a casual challenge instead." }),
    ("standard", DeclineReason { key: "standard", text: "I'm not accepting variant challenges right now." }),
    ("variant", DeclineReason { key: "variant", text: "I'm not willing to play this variant right now." }),
    ("noBot", DeclineReason { key: "nobot", text: "I'm not accepting challenges from bots." }),
    ("onlyBot", DeclineReason { key: "onlybot", text: "I'm only accepting challenges from bots." }),
];

impl DeclineReason {
    /// Parses a key, ignoring case; an unknown key is the generic reason.
    pub fn from_key(key: &str) -> Self {
        REASONS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key))
            .map_or(REASONS[0].1, |(_, reason)| *reason)
    }

    /// All reasons.
    pub fn all() -> impl Iterator<Item = Self> {
        REASONS.iter().map(|(_, reason)| *reason)
    }
}

/// Parses a key, ignoring case; unknown keys are errors.
impl FromStr for DeclineReason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = REASONS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(_, reason)| *reason).ok_or_else(|| {
            let names = REASONS.map(|(name, _)| name).join(", ");
            format!("`{text}` is not a decline reason: expected one of {names}")
        })
    }
}

/// Validated options of a new challenge.
#[derive(Clone, Debug)]
pub(crate) struct ChallengeConfig {
    pub variant: Variant,
    /// Starting position of a game from a custom position, or the requested Chess960 position.
    pub start: Option<Position>,
    pub rated: bool,
    pub time_control: TimeControl,
    pub color: ColorChoice,
    pub rules: Vec<&'static str>,
    pub keep_alive: bool,
    /// The challenge is only created if the recipient follows the challenger.
    pub only_if_followed: bool,
}

/// Properties of an open challenge.
#[derive(Clone, Debug)]
pub(crate) struct OpenChallenge {
    pub creator: Option<UserId>,
    /// If set, the only two users who may play, White first.
    pub players: Option<[UserId; 2]>,
    pub expires_at: SimTime,
}

#[derive(Clone)]
pub(crate) struct Challenge {
    pub id: GameId,
    /// `None` in an open challenge that nobody has joined.
    pub challenger: Option<UserId>,
    pub dest: Option<UserId>,
    pub open: Option<OpenChallenge>,
    /// Id of the game that it is a rematch of.
    pub rematch_of: Option<GameId>,
    pub variant: Variant,
    pub start: Option<Position>,
    pub rated: bool,
    pub time_control: TimeControl,
    pub rules: Vec<&'static str>,
    /// Color of the challenger.
    pub final_color: Color,
    pub color: ColorChoice,
    pub status: ChallengeStatus,
    pub reason: Option<DeclineReason>,
    pub created_at: SimTime,
    pub seen_at: SimTime,
    pub changed_at: SimTime,
    /// The challenger's keep-alive stream, while it is open.
    pub stream: Option<Feed>,
}

impl Challenge {
    /// Creates a challenge without challenger and recipient.
    pub(crate) fn new(
        id: GameId,
        config: ChallengeConfig,
        final_color: Color,
        now: SimTime,
    ) -> Self {
        Self {
            id,
            challenger: None,
            dest: None,
            open: None,
            rematch_of: None,
            variant: config.variant,
            start: config.start,
            rated: config.rated,
            time_control: config.time_control,
            rules: config.rules,
            final_color,
            color: config.color,
            status: ChallengeStatus::Created,
            reason: None,
            created_at: now,
            seen_at: now,
            changed_at: now,
            stream: None,
        }
    }

    /// Creates a challenge to a rematch; `color` is the challenger's.
    pub(crate) fn rematch(
        setup: Setup,
        previous: GameId,
        (from, to): (&UserId, &UserId),
        color: Color,
        now: SimTime,
    ) -> Self {
        let config = ChallengeConfig {
            variant: setup.variant,
            start: setup.start,
            rated: setup.rated,
            time_control: setup.time_control,
            color: color.into(),
            rules: Vec::new(),
            keep_alive: false,
            only_if_followed: false,
        };
        Self {
            challenger: Some(from.clone()),
            dest: Some(to.clone()),
            rematch_of: Some(previous),
            ..Self::new(setup.id, config, color, now)
        }
    }

    pub(crate) fn is_from(&self, user: &UserId) -> bool {
        self.challenger.as_ref() == Some(user)
    }

    pub(crate) fn is_for(&self, user: &UserId) -> bool {
        self.dest.as_ref() == Some(user)
    }

    pub(crate) fn speed(&self) -> Speed {
        Speed::of(self.time_control)
    }

    pub(crate) fn perf(&self) -> Perf {
        Perf::of(self.variant, self.speed())
    }

    /// Options of the game that it becomes.
    pub(crate) fn setup(&self) -> Option<Setup> {
        let mut users = [self.challenger.clone()?, self.dest.clone()?];
        if self.final_color == Color::Black {
            users.swap(0, 1);
        }
        Some(Setup {
            id: self.id,
            users,
            source: Source::Friend,
            variant: self.variant,
            start: self.start.clone(),
            time_control: self.time_control,
            rated: self.rated,
            rules: self.rules.clone(),
        })
    }

    pub(crate) fn is_real_time(&self) -> bool {
        matches!(self.time_control, TimeControl::Clock { .. })
    }

    pub(crate) fn set_status(&mut self, status: ChallengeStatus, now: SimTime) {
        self.status = status;
        self.changed_at = now;
    }
}
