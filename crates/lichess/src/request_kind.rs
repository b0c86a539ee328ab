//! Kinds of requests.

use std::fmt;

/// Purpose of a request. It decides how the request is retried, and a 429 of Lichess pauses its own kind only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// A move. Never paused, never given up while it is our turn.
    Move,
    /// Abort or resign.
    Command,
    /// Draws and takebacks, which opponents can ask for as often as they like.
    Offer,
    /// Claiming the win or a draw from an opponent who has left.
    Claim,
    /// A chat line. Not worth a retry.
    Chat,
    /// Accept, decline or cancel a challenge.
    Answer,
    /// Create a challenge.
    Challenge,
    /// Joining an arena or a team.
    Arena,
    /// Leaving an arena. Limits on joining must not delay it, since we would be paired meanwhile.
    Withdrawal,
    /// Reads about ourselves, our games, challenges, arenas and teams.
    Query,
    /// Reads about other users: profiles and who is online. Their limits are those of the IP address, which other programs
    /// may use up.
    User,
    /// Opening the account's stream; see [`ReconnectPolicy`](crate::ReconnectPolicy).
    EventStream,
    /// Opening a game's stream; see [`ReconnectPolicy`](crate::ReconnectPolicy).
    GameStream,
}

impl RequestKind {
    /// Every kind, in the order of the discriminants.
    pub const ALL: [RequestKind; 13] = [
        RequestKind::Move,
        RequestKind::Command,
        RequestKind::Offer,
        RequestKind::Claim,
        RequestKind::Chat,
        RequestKind::Answer,
        RequestKind::Challenge,
        RequestKind::Arena,
        RequestKind::Withdrawal,
        RequestKind::Query,
        RequestKind::User,
        RequestKind::EventStream,
        RequestKind::GameStream,
    ];

    /// Returns whether a 429 can pause this kind. Moves are never paused, and streams have their own schedule.
    pub(super) fn can_pause(self) -> bool {
        !matches!(
            self,
            RequestKind::Move | RequestKind::EventStream | RequestKind::GameStream
        )
    }
}

impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RequestKind::Move => "move",
            RequestKind::Command => "game command",
            RequestKind::Offer => "offer",
            RequestKind::Claim => "claim",
            RequestKind::Chat => "chat",
            RequestKind::Answer => "challenge answer",
            RequestKind::Challenge => "challenge",
            RequestKind::Arena => "arena",
            RequestKind::Withdrawal => "withdrawal",
            RequestKind::Query => "query",
            RequestKind::User => "user",
            RequestKind::EventStream => "event stream",
            RequestKind::GameStream => "game stream",
        })
    }
}
