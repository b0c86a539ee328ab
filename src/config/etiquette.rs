//! `[draw]`, `[resign]` and `[chat]`: settings of draws, resignation and chat.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::seconds;

section! {
    /// `[draw]`
    pub struct Draw {
        /// Whether to offer draws.
        pub offer: bool = true,
        /// Whether to accept draws.
        pub accept: bool = true,
        /// Full moves that must have been played before a draw is offered or accepted.
        pub min_move: u32 = 35,
        /// A position counts as level while neither side would win more than this many of 100 such games.
        pub max_win_percent: u32 = 15,
        /// How many of our moves in a row the position must have been level before we offer or accept.
        pub min_level_moves: u32 = 6,
        /// How many draws we offer in a game at most.
        pub max_offers: u32 = 3,
    }
}

section! {
    /// `[resign]`
    pub struct Resign {
        /// Whether to resign lost games.
        pub enabled: bool = true,
        /// Whether to resign to people too.
        pub humans: bool = false,
        /// A position counts as lost when we are behind by this many centipawns, or being mated.
        pub score_cp: u32 = 900,
        /// How many of our moves in a row the position must have been lost.
        pub min_lost_moves: u32 = 4,
        /// We do not resign while the opponent has less than this many seconds left.
        pub their_time_s: u64 = 20,
    }
}

section! {
    /// `[chat]`; an empty text is not sent.
    pub struct Chat {
        /// Sent to the opponent at the start of the game.
        pub greeting: String = "Good luck and have fun, {opponent}!".into(),
        /// Sent to the opponent at the end of the game.
        pub farewell: String = "Thank you for the game, {opponent}!".into(),
        /// Sent to the spectators at the start of the game.
        pub greeting_spectators: String,
        /// Sent to the spectators at the end of the game.
        pub farewell_spectators: String,
        /// Whether to answer commands such as `!help`.
        pub commands: bool = true,
        /// Users who may ask for the evaluation of a running game.
        pub evals: Evals = Evals::Spectators,
        /// Commands answered per minute in each chat room of a game.
        pub per_minute: usize = 6,
        /// The answer to `!motd`.
        pub motd: String,
    }
}

/// Users who may ask for the evaluation of a running game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evals {
    Nobody,
    Spectators,
    /// The opponent too.
    Everybody,
}

/// Policy for accepting takeback requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Takebacks {
    Never,
    /// People in casual games.
    Casual,
    /// People.
    Humans,
    Always,
}

/// Placeholders of the texts of `[chat]`, written in braces.
pub const PLACEHOLDERS: &[&str] = &[
    "me", "opponent", "rating", "color", "speed", "time", "engine", "version",
];

/// Additional placeholders of texts that are sent at the end of the game.
pub const LAST_PLACEHOLDERS: &[&str] = &["result", "outcome", "moves"];

impl Resign {
    /// We do not resign while the opponent has less time than this left.
    pub fn their_time(&self) -> Duration {
        seconds(self.their_time_s)
    }
}
