//! Chat of a game.

/// Chat room of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Player,
    Spectator,
}

impl Room {
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Spectator => "spectator",
        }
    }
}

pub(crate) struct ChatMessage {
    pub room: Room,
    pub name: String,
    pub text: String,
}

/// Returns whether a bot's message is dropped silently because it contains a link, as on Lichess.
pub(crate) fn has_link(text: &str) -> bool {
    let links = ["http://", "https://", "www."];
    links.iter().any(|link| text.contains(link))
}
