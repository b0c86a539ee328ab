//! Built-in players.
//!
//! A [`PlayerKind`] chooses the moves; [`Behavior`] covers everything else and combines with any kind. All random choices
//! follow the seed of the site and the player's name, so the same opponent moves get the same replies.

mod behavior;
mod builtin;
mod challenger;
mod chat;
mod game_task;
mod move_choice;
mod raw;

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::challenge::ColorChoice;
use crate::time_control::TimeControl;

pub use behavior::{Behavior, ChatStyle, Disconnect};

pub(super) use builtin::BuiltinPlayer;
pub(super) use move_choice::SearchPool;

/// Options of a built-in player.
///
/// Parsed from text as on the command line, `NAME,key=value,key,...`, or deserialized from a table with the same keys.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayerOptions {
    /// Name of the account.
    pub name: String,
    /// Number of accounts. With more than one, each name gets its number appended.
    pub copies: usize,
    /// Has the BOT title; otherwise it looks like a human.
    pub bot: bool,
    /// Rating in every perf.
    pub rating: u32,
    /// Choice of the moves.
    pub kind: PlayerKind,
    /// Simulated time per move.
    pub delay: RangeInclusive<Duration>,
    /// Everything else than moves.
    pub behavior: Behavior,
    /// Challenges to send; `None`: none.
    pub challenges: Option<ChallengePlan>,
    /// Joins every arena that admits bots.
    pub joins_arenas: bool,
    /// Plays everybody who seeks a game in the lobby, which bots may not.
    pub answers_seeks: bool,
}

impl PlayerOptions {
    /// A bot that accepts every challenge, moves after 200 to 300 ms and never resigns.
    pub fn new(name: impl Into<String>, kind: PlayerKind) -> Self {
        Self {
            name: name.into(),
            copies: 1,
            bot: true,
            rating: 1500,
            kind,
            delay: Duration::from_millis(200)..=Duration::from_millis(300),
            behavior: Behavior::default(),
            challenges: None,
            joins_arenas: false,
            answers_seeks: false,
        }
    }

    /// Sends these challenges.
    pub fn challenging(self, plan: ChallengePlan) -> Self {
        Self {
            challenges: Some(plan),
            ..self
        }
    }

    /// The options of each copy.
    pub(super) fn expand_copies(self) -> Vec<Self> {
        if self.copies <= 1 {
            return vec![self];
        }
        (1..=self.copies)
            .map(|number| Self {
                name: format!("{}{number}", self.name),
                copies: 1,
                ..self.clone()
            })
            .collect()
    }
}

/// Move choice of a built-in player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerKind {
    /// Random legal moves.
    Random,
    /// Mates, else captures the most valuable piece, else gives check, else moves at random.
    Greedy,
    /// The engine with this many nodes per move.
    Engine {
        /// Nodes searched per move, at least 1.
        nodes: u64,
    },
    /// Never moves.
    Idle,
}

/// Challenges that a built-in player sends.
#[derive(Clone, Debug, PartialEq)]
pub struct ChallengePlan {
    /// Name of the challenged user.
    pub opponent: String,
    /// Used in turn.
    pub time_controls: Vec<TimeControl>,
    /// The challenger's color, used in turn.
    pub colors: Vec<ColorChoice>,
    /// Challenges are rated.
    pub rated: bool,
    /// Keys of the variants, used in turn.
    pub variants: Vec<String>,
    /// Start position for `fromPosition` and `chess960`.
    pub fen: Option<String>,
    /// Games in total; `None`: unlimited.
    pub count: Option<usize>,
    /// Maximum number of simultaneous games and pending challenges.
    pub concurrency: usize,
    /// Challenges sent at once. Each replaces the one before it, unless that was accepted immediately.
    pub burst: usize,
    /// Cancels every Nth challenge within a second; `None`: none.
    pub cancel_every: Option<usize>,
}

impl ChallengePlan {
    /// Casual standard games, unlimited, one at a time, with random colors.
    pub fn against(opponent: impl Into<String>, time_control: TimeControl) -> Self {
        Self {
            opponent: opponent.into(),
            time_controls: vec![time_control],
            colors: vec![ColorChoice::Random],
            rated: false,
            variants: vec!["standard".to_owned()],
            fen: None,
            count: None,
            concurrency: 1,
            burst: 1,
            cancel_every: None,
        }
    }
}
