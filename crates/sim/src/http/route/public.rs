//! Routes of public, read-only data: accounts, games, the opening explorer, the tablebase and cloud evaluations.

use crate::faults::Endpoint;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PublicRoute<'a> {
    Users,
    Crosstable(&'a str, &'a str),
    /// The game the user is playing, or their last one.
    CurrentGame(&'a str),
    GamesOf(&'a str),
    GamesByIds,
    SpectatorChat(&'a str),
    StreamGame(&'a str),
    /// Streams starts and ends of the games between listed users.
    StreamUsers,
    /// Streams starts and ends of listed games. The stream id is chosen by the client; games can be added under it.
    StreamIds(&'a str),
    AddIds(&'a str),
    CloudEval,
    /// `masters`, `lichess` or `player`
    Explorer(&'a str),
    Tablebase,
}

impl<'a> PublicRoute<'a> {
    pub fn parse(get: bool, post: bool, parts: &[&'a str]) -> Option<Self> {
        let route = match *parts {
            ["api", "users"] if post => Self::Users,
            ["api", "crosstable", one, other] if get => Self::Crosstable(one, other),
            ["api", "user", name, "current-game"] if get => Self::CurrentGame(name),
            ["api", "games", "user", name] if get => Self::GamesOf(name),
            ["api", "games", "export", "_ids"] if post => Self::GamesByIds,
            ["api", "game", id, "chat"] if get => Self::SpectatorChat(id),
            ["api", "stream", "game", id] if get => Self::StreamGame(id),
            ["api", "stream", "games-by-users"] if post => Self::StreamUsers,
            ["api", "stream", "games", name] if post => Self::StreamIds(name),
            ["api", "stream", "games", name, "add"] if post => Self::AddIds(name),
            ["api", "cloud-eval"] if get => Self::CloudEval,
            [kind @ ("masters" | "lichess" | "player")] if get => Self::Explorer(kind),
            ["standard" | "atomic" | "antichess"] if get => Self::Tablebase,
            _ => return None,
        };
        Some(route)
    }

    pub fn endpoint(self) -> Endpoint {
        match self {
            Self::Users => Endpoint::Users,
            Self::Crosstable(..) => Endpoint::Crosstable,
            Self::CurrentGame(_) | Self::GamesOf(_) | Self::GamesByIds => Endpoint::Games,
            Self::SpectatorChat(_) => Endpoint::SpectatorChat,
            Self::StreamGame(_) | Self::StreamUsers | Self::StreamIds(_) | Self::AddIds(_) => {
                Endpoint::GamesStream
            }
            Self::CloudEval => Endpoint::CloudEval,
            Self::Explorer(_) => Endpoint::Explorer,
            Self::Tablebase => Endpoint::Tablebase,
        }
    }

    /// Accepted scopes, see [`accepted_scopes`](crate::http::handlers::accepted_scopes).
    pub fn scopes(self) -> Option<&'static [&'static str]> {
        matches!(self, Self::Explorer(_)).then_some(&[])
    }
}
