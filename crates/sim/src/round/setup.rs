//! Options of a new game.

use knightwatch_chess::Position;

use crate::site::{ArenaId, GameId, UserId, Variant};
use crate::time_control::TimeControl;

/// Origin of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A regular challenge.
    Friend,
    /// A challenge to the AI.
    Ai,
    /// Bulk pairing.
    Api,
    /// A seek in the lobby.
    Lobby,
    /// An arena.
    Arena {
        id: ArenaId,
        /// Bots are allowed in the arena.
        bots: bool,
        /// Berserk is allowed.
        berserkable: bool,
    },
}

impl Source {
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Friend => "friend",
            Self::Ai => "ai",
            Self::Api => "api",
            Self::Lobby => "lobby",
            Self::Arena { .. } => "arena",
        }
    }

    pub(crate) fn arena(self) -> Option<ArenaId> {
        match self {
            Self::Arena { id, .. } => Some(id),
            Self::Friend | Self::Ai | Self::Api | Self::Lobby => None,
        }
    }
}

/// Options of a new game.
pub(crate) struct Setup {
    pub id: GameId,
    /// White and Black.
    pub users: [UserId; 2],
    pub source: Source,
    pub variant: Variant,
    /// Starting position. A Chess960 game without one gets a random one.
    pub start: Option<Position>,
    pub time_control: TimeControl,
    pub rated: bool,
    pub rules: Vec<&'static str>,
}
