//! Chat of a game.

use crate::Sim;
use crate::round::COLORS;
use crate::site::id::{GameId, UserId};
use crate::site::state::SiteState;
use crate::site::users::AccountKind;
use crate::wire::{self, ChatEntry, ChatLine};

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
    room: Room,
    name: String,
    text: String,
}

impl SiteState {
    /// Posts a chat line. Lines of bots that contain links are dropped silently, as on Lichess.
    pub(crate) fn say(&mut self, user: &UserId, id: GameId, room: Room, text: &str) {
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
        let Some(round) = self.rounds.get(&id) else {
            return;
        };
        // Games against the AI have no chat, and kid mode disables it.
        if self.user(user).kid || (room == Room::Player && !round.has_chat()) {
            return;
        }
        let players = COLORS.map(|color| self.user(&round.side(color).user));
        let receives = players.map(|player| !player.kid && (room == Room::Player || player.bot));
        let name = match (self.user(user).account_kind, round.color_of(user)) {
            (AccountKind::User, _) | (_, None) => name,
            (_, Some(color)) => color.key().to_owned(),
        };
        let Some(round) = self.rounds.get_mut(&id) else {
            return;
        };
        let line = wire::line(&ChatLine {
            kind: "chatLine",
            room: room.key(),
            username: &name,
            text,
        });
        round.push(&line, |stream| receives[stream.color.index()]);
        round.chat.push(ChatMessage {
            room,
            name,
            text: text.to_owned(),
        });
    }

    /// Messages in one room of a game.
    pub(crate) fn chat_log(&self, id: GameId, room: Room) -> Vec<ChatEntry<'_>> {
        self.rounds
            .get(&id)
            .iter()
            .flat_map(|round| &round.chat)
            .filter(|message| message.room == room)
            .map(|message| ChatEntry {
                text: &message.text,
                user: &message.name,
            })
            .collect()
    }
}

impl Sim {
    /// Posts a line in the spectator chat. Does nothing if there is no such user or game.
    pub fn say_as_spectator(&self, user: &str, game: &str, text: &str) {
        let mut state = self.state();
        let user = state.user_by_name(user).map(|user| user.id.clone());
        if let (Some(user), Some(game)) = (user, GameId::parse_any(game)) {
            state.say(&user, game, Room::Spectator, text);
        }
    }
}
