//! What is said in a game.

use super::id::{GameId, UserId};
use super::round::COLORS;
use super::wire::{self, ChatEntry, ChatLine};
use super::world::World;

/// Which of the two chats of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Player,
    Spectator,
}

impl Room {
    pub fn key(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Spectator => "spectator",
        }
    }
}

pub(super) struct Said {
    room: Room,
    name: String,
    text: String,
}

impl World {
    /// Somebody says something. Links of bots vanish without a word.
    pub fn say(&mut self, user: &UserId, id: GameId, room: Room, text: &str) {
        let (name, bot) = {
            let user = self.user(user);
            (user.name.clone(), user.bot)
        };
        if bot
            && ["http://", "https://", "www."]
                .iter()
                .any(|link| text.contains(link))
        {
            return;
        }
        let bots = COLORS.map(|color| {
            self.rounds
                .get(&id)
                .is_some_and(|round| self.user(&round.side(color).user).bot)
        });
        let Some(round) = self.rounds.get_mut(&id) else {
            return;
        };
        let line = wire::line(&ChatLine {
            kind: "chatLine",
            room: room.key(),
            username: &name,
            text,
        });
        round.push(&line, |watcher| {
            room == Room::Player || bots[watcher.color.index()]
        });
        round.chat.push(Said {
            room,
            name,
            text: text.to_owned(),
        });
    }

    /// What the players said to each other.
    pub fn chat_log(&self, id: GameId) -> String {
        let entries: Vec<ChatEntry<'_>> = self
            .rounds
            .get(&id)
            .iter()
            .flat_map(|round| &round.chat)
            .filter(|said| said.room == Room::Player)
            .map(|said| ChatEntry {
                text: &said.text,
                user: &said.name,
            })
            .collect();
        wire::json(&entries)
    }
}
