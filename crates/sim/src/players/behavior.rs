//! Behavior of a built-in player apart from its moves.

use std::time::Duration;

use serde::Deserialize;

use knightwatch_util::keys;

use crate::challenge::DeclineReason;

/// Reactions, offers and misbehavior. By default there are none, and every challenge is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behavior {
    /// Declines all challenges, with these reasons in turn; accepts all if empty.
    pub decline_reasons: Vec<DeclineReason>,
    /// Aborts instead of making its first move, while that is possible.
    pub aborts: bool,
    /// Resigns when this many pawns of material behind.
    pub resigns_when_lost: Option<u32>,
    /// Lets its clock run out when this many pawns of material behind.
    pub stalls_when_lost: Option<u32>,
    /// Disconnects once in each game.
    pub disconnects: Option<Disconnect>,
    /// Offers a draw with every move for which the rules allow it, and so accepts every offer too.
    pub offers_draws: bool,
    /// Accepts draw offers.
    pub accepts_draws: bool,
    /// Proposes a takeback after about every second of its moves. Bots are not asked for takebacks by default: this account
    /// allows them, the opponent's must too.
    pub requests_takebacks: bool,
    /// Accepts takeback proposals.
    pub accepts_takebacks: bool,
    /// Sends a message of these styles in turn with every move, in both rooms.
    pub chats: Vec<ChatStyle>,
    /// Offers a rematch after each game.
    pub offers_rematches: bool,
}

impl Behavior {
    /// Returns whether the account can be asked for takebacks, even if its kind does not allow them by default.
    pub(crate) fn allows_takebacks(&self) -> bool {
        self.requests_takebacks || self.accepts_takebacks
    }
}

/// A disconnect in the middle of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnect {
    /// Plies after which it happens.
    pub at_ply: usize,
    /// Simulated time until the player is back; `None`: never.
    pub reconnect_after: Option<Duration>,
}

keys! {
    /// Style of chat messages.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ChatStyle {
        /// Ordinary sentences.
        Plain = "plain",
        /// Messages of the maximum length.
        Long = "long",
        /// Messages with links, which the site drops when a bot sends them.
        Links = "links",
        /// Messages with control characters, escape sequences and letters of many scripts.
        Control = "control",
    }
}
