//! Chat of a game.

use knightwatch_util::keys;

keys! {
    /// Chat room of a game.
    pub(crate) enum Room {
        Player = "player",
        Spectator = "spectator",
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
