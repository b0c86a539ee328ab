//! `[[rule]]`: exceptions to `[challenge]`, and play settings for matching opponents.
//!
//! Rules are evaluated from top to bottom until one accepts or declines. If several matching rules set a value, the first wins.

mod books;
mod check;
mod hours;
mod limit;
mod reader;
mod values;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::etiquette::Takebacks;
use super::external::EngineOptions;
use super::strength::Strength;
use crate::keys;
use crate::lichess::model::{ColorChoice, DeclineReason, Speed, Variant};

pub use books::Books;
pub(super) use check::contradictions;
pub use hours::Hours;
pub use limit::{Limit, Window, Windows};
pub(super) use reader::RawRule;
pub(super) use values::one_or_many;
pub use values::{ClockSpec, EngineName, FenPattern, Pattern, Range, TextPattern};

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Name in the log and in the daily counts; a rule without a name is identified by its number.
    pub name: String,
    /// Conditions, all of which must hold; empty matches every challenge.
    #[serde(rename = "match")]
    pub matching: Match,
    /// Accept, overriding `[challenge]`.
    pub accept: Option<bool>,
    /// Decline, with this reason.
    pub decline: Option<Decline>,
    /// Limits, overriding those of `[challenge]`.
    pub limit: Option<Limit>,
    /// Priority in the queue, larger first; 0 by default.
    pub priority: Option<i32>,
    /// Settings of the games.
    pub play: Play,
    /// It comes from a command of the operator, so it does not count in the numbers of the others.
    #[serde(skip)]
    pub by_operator: bool,
}

/// Conditions of a rule. Unset conditions always hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// The opponent is a bot; with false, a person.
    pub bot: Option<bool>,
    /// The opponent has one of these titles.
    #[serde(deserialize_with = "one_or_many")]
    pub title: Vec<Title>,
    /// The opponent has one of these names.
    #[serde(deserialize_with = "one_or_many")]
    pub name: Vec<Pattern>,
    /// The opponent's rating for the speed or variant.
    pub rating: Option<Range>,
    /// The opponent's rating minus ours.
    pub rating_diff: Option<Range>,
    /// The opponent's rating is provisional.
    pub provisional: Option<bool>,
    /// The age of the opponent's account in days.
    pub age_days: Option<Range>,
    /// The opponent is on one of `challenge.block_lists`.
    pub listed: Option<bool>,
    /// The opponent is a bot whose profile mentions one of these engines.
    #[serde(deserialize_with = "one_or_many")]
    pub engine: Vec<EngineName>,
    /// The opponent's profile is one of these texts: its biography, and its links below.
    #[serde(deserialize_with = "one_or_many")]
    pub bio: Vec<TextPattern>,
    /// The time of day at the challenge or at the start of the game is in one of these.
    #[serde(deserialize_with = "one_or_many")]
    pub hours: Vec<Hours>,
    /// One of these variants.
    #[serde(with = "super::values::one_or_list")]
    pub variant: Vec<Variant>,
    /// One of these initial positions.
    #[serde(deserialize_with = "one_or_many")]
    pub fen: Vec<FenPattern>,
    /// One of these speeds.
    #[serde(with = "super::values::one_or_list")]
    pub speed: Vec<Speed>,
    /// Exactly one of these time controls.
    #[serde(deserialize_with = "one_or_many")]
    pub clock: Vec<ClockSpec>,
    /// The initial time in seconds.
    pub base_s: Option<Range>,
    /// The increment in seconds.
    pub increment_s: Option<Range>,
    /// Estimated time per side as defined by Lichess: the initial time plus 40 increments, in seconds.
    pub estimate_s: Option<Range>,
    /// Days for a move.
    pub days: Option<Range>,
    /// The game counts for the rating.
    pub rated: Option<bool>,
    /// Our color.
    #[serde(deserialize_with = "one_or_many")]
    pub color: Vec<ColorChoice>,
    /// The challenge has one of these extra rules.
    #[serde(deserialize_with = "one_or_many")]
    pub rules: Vec<ExtraRule>,
    /// The challenge asks for a rematch.
    pub rematch: Option<bool>,
    /// The game is part of a tournament.
    pub tournament: Option<bool>,
}

/// Settings of the games. Unset ones are those of the sections of the same names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Play {
    /// The books to use.
    pub book: Option<Books>,
    /// Whether we offer draws.
    pub offer_draws: Option<bool>,
    /// Whether we accept draws.
    pub accept_draws: Option<bool>,
    /// Whether we resign.
    pub resign: Option<bool>,
    /// Whether we greet, and answer commands.
    pub chat: Option<bool>,
    /// Policy for accepting takeback requests.
    pub takebacks: Option<Takebacks>,
    /// Whether we offer a rematch.
    pub offer_rematch: Option<bool>,
    /// Seconds to wait for the opponent's first move before the game is aborted; 0 waits forever.
    pub abort_after_s: Option<u64>,
    /// Longest thinking time for a move, in ms.
    pub max_move_ms: Option<u64>,
    /// Search depth limit, in plies.
    pub max_depth: Option<u32>,
    /// Node limit for a move.
    pub max_nodes: Option<u64>,
    /// Playing strength.
    pub strength: Option<Strength>,
    /// Name of an external engine, or `knightwatch`.
    pub engine: Option<String>,
    /// Options of the external engine in these games, in addition to its own.
    pub options: Option<EngineOptions>,
}

impl Play {
    /// These settings, with unset ones taken from `other`.
    pub fn or(self, other: Self) -> Self {
        Self {
            book: self.book.or(other.book),
            offer_draws: self.offer_draws.or(other.offer_draws),
            accept_draws: self.accept_draws.or(other.accept_draws),
            resign: self.resign.or(other.resign),
            chat: self.chat.or(other.chat),
            takebacks: self.takebacks.or(other.takebacks),
            offer_rematch: self.offer_rematch.or(other.offer_rematch),
            abort_after_s: self.abort_after_s.or(other.abort_after_s),
            max_move_ms: self.max_move_ms.or(other.max_move_ms),
            engine: self.engine.or(other.engine),
            options: self.options.or(other.options),
            max_depth: self.max_depth.or(other.max_depth),
            max_nodes: self.max_nodes.or(other.max_nodes),
            strength: self.strength.or(other.strength),
        }
    }

    /// Longest thinking time for a move.
    pub fn max_move(&self) -> Option<Duration> {
        self.max_move_ms.map(Duration::from_millis)
    }
}

keys! {
    /// A title of a person.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Title {
        GM = "GM",
        WGM = "WGM",
        IM = "IM",
        WIM = "WIM",
        FM = "FM",
        WFM = "WFM",
        CM = "CM",
        WCM = "WCM",
        NM = "NM",
        WNM = "WNM",
        LM = "LM",
    }
}

keys! {
    /// An extra rule of a challenge, by Lichess's key.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum ExtraRule {
        NoAbort = "noAbort",
        NoRematch = "noRematch",
        NoGiveTime = "noGiveTime",
        NoClaimWin = "noClaimWin",
        NoEarlyDraw = "noEarlyDraw",
    }
}

keys! {
    /// A decline reason, by Lichess's key.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Decline {
        Generic = "generic",
        Later = "later",
        TooFast = "tooFast",
        TooSlow = "tooSlow",
        TimeControl = "timeControl",
        Rated = "rated",
        Casual = "casual",
        Standard = "standard",
        Variant = "variant",
        NoBot = "noBot",
        OnlyBot = "onlyBot",
    }
}

impl Decline {
    /// The value on the wire.
    pub fn reason(self) -> DeclineReason {
        DeclineReason::from_key(self.key())
    }
}
