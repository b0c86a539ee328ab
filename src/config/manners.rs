//! What can be set about manners: draws, resignation, chat.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::seconds;

/// `[draw]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Draw {
    /// Whether to offer draws.
    pub offer: bool,
    /// Whether to accept draws.
    pub accept: bool,
    /// Full moves that must have been played before a draw is offered or accepted.
    pub min_move: u32,
    /// A position counts as level while neither side would win more of 100 such games.
    pub max_win_percent: u32,
    /// How many of our moves in a row the position must have been level before we offer or accept.
    pub min_level_moves: u32,
    /// How many draws we offer in a game at most.
    pub max_offers: u32,
}

/// `[resign]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resign {
    /// Whether to resign lost games.
    pub enabled: bool,
    /// Whether to resign them to people, too.
    pub humans: bool,
    /// A position counts as lost when we are down by this many centipawns, or mated.
    pub score_cp: u32,
    /// How many of our moves in a row the position must have been lost.
    pub min_lost_moves: u32,
    /// With less than so many seconds on the opponent's clock we play on.
    pub their_time_s: u64,
}

/// `[chat]`; an empty text says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chat {
    /// Said to the opponent when the game starts.
    pub greeting: String,
    /// Said to the opponent when the game is over.
    pub farewell: String,
    /// Said to the spectators when the game starts.
    pub greeting_spectators: String,
    /// Said to the spectators when the game is over.
    pub farewell_spectators: String,
    /// Whether to answer commands such as `!help`.
    pub commands: bool,
    /// Who is told what the engine thinks of a game that is on.
    pub evals: Evals,
    /// How many commands are answered within a minute in each room of a game.
    pub per_minute: usize,
    /// The answer to `!motd`.
    pub motd: String,
}

/// Who is told what the engine thinks of a game that is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evals {
    Nobody,
    Spectators,
    /// The opponent too.
    Everybody,
}

/// Who gets moves back.
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

/// What can stand in braces in a text of `[chat]`.
pub const PLACEHOLDERS: &[&str] = &[
    "me", "opponent", "rating", "color", "speed", "time", "version",
];

/// What can stand there beside once the game is over.
pub const LAST_PLACEHOLDERS: &[&str] = &["result", "outcome", "moves"];

impl Default for Draw {
    fn default() -> Self {
        Self {
            offer: true,
            accept: true,
            min_move: 35,
            max_win_percent: 15,
            min_level_moves: 6,
            max_offers: 3,
        }
    }
}

impl Default for Resign {
    fn default() -> Self {
        Self {
            enabled: true,
            humans: false,
            score_cp: 900,
            min_lost_moves: 4,
            their_time_s: 20,
        }
    }
}

impl Resign {
    /// With less than this on the opponent's clock we play on.
    pub fn their_time(&self) -> Duration {
        seconds(self.their_time_s)
    }
}

impl Default for Chat {
    fn default() -> Self {
        Self {
            greeting: "Good luck and have fun, {opponent}!".into(),
            farewell: "Thank you for the game, {opponent}!".into(),
            greeting_spectators: String::new(),
            farewell_spectators: String::new(),
            commands: true,
            evals: Evals::Spectators,
            per_minute: 6,
            motd: String::new(),
        }
    }
}
