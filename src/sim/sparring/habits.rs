//! What a sparring user does beside choosing moves.

use std::time::Duration;

use serde::Deserialize;

use crate::sim::DeclineReason;

/// Good and bad habits; by default there are none, and every challenge is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Declines all challenges, with these reasons in turn; without any it accepts them all.
    pub declines: Vec<DeclineReason>,
    /// Aborts while that is possible, instead of its first move.
    pub aborts: bool,
    /// Resigns when this many pawns of material behind.
    pub resigns: Option<u32>,
    /// Lets its clock run out when this many pawns of material behind.
    pub stalls: Option<u32>,
    /// Leaves the game.
    pub quits: Option<Quit>,
    /// Offers a draw with every move with which the rules let it, and so accepts every offer too.
    pub begs_draws: bool,
    pub accepts_draws: bool,
    /// Asks for a takeback after about every second of its moves. Only humans are asked for takebacks on the site, so this
    /// account allows them, but the opponent's has to as well.
    pub begs_takebacks: bool,
    pub accepts_takebacks: bool,
    /// What it says with every move, in both rooms.
    pub chats: Vec<Talk>,
    /// Offers a rematch when a game is over.
    pub rematches: bool,
}

impl Habits {
    /// Whether the account can be asked for takebacks, whatever is usual for its kind.
    pub(in crate::sim) fn minds_takebacks(&self) -> bool {
        self.begs_takebacks || self.accepts_takebacks
    }
}

/// When somebody leaves a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quit {
    /// Plies that have been played by then.
    pub at_ply: usize,
    /// When it is back; `None`: never.
    pub back_after: Option<Duration>,
}

/// What somebody talks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Talk {
    /// As people do.
    Plain,
    /// As long as a line may be.
    Long,
    /// With addresses, which the site drops when a bot sends them.
    Links,
    /// With control characters, escape sequences and letters of all kinds.
    Control,
}
