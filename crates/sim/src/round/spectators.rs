//! Spectator streams: the moves of one game, or the starts and ends of many.

use std::collections::HashSet;

use crate::faults::StreamFault;
use crate::round::Round;
use crate::site::limits::Permit;
use crate::site::{Feed, GameId, UserId};

/// Stream of the moves of one game. It holds a permit while it is open.
struct GameSpectator {
    game: GameId,
    feed: Feed,
    shown: usize,
    _permit: Permit,
}

/// Games watched by a stream.
#[derive(Clone, Debug)]
pub(crate) enum WatchedGames {
    /// Games between two of these users.
    Users(HashSet<UserId>),
    Games(HashSet<GameId>),
}

struct ListSpectator {
    /// Stream id chosen by the client, under which games can be added.
    name: Option<String>,
    watched: WatchedGames,
    feed: Feed,
    _permit: Permit,
}

/// All spectator streams.
#[derive(Default)]
pub(crate) struct Spectators {
    game_spectators: Vec<GameSpectator>,
    list_spectators: Vec<ListSpectator>,
}

impl Spectators {
    /// Removes a stream that was closed by its reader.
    pub(crate) fn remove(&mut self, feed: &Feed) {
        self.game_spectators.retain(|other| !other.feed.is(feed));
        self.list_spectators.retain(|other| !other.feed.is(feed));
    }

    /// Adds a stream of a game that shows this many plies.
    pub(crate) fn add_game(&mut self, game: GameId, feed: Feed, shown: usize, permit: Permit) {
        self.game_spectators.push(GameSpectator {
            game,
            feed,
            shown,
            _permit: permit,
        });
    }

    /// Adds a stream of the starts and ends of games, with the id that the client has chosen for it.
    pub(crate) fn add_list(
        &mut self,
        watched: WatchedGames,
        name: Option<String>,
        feed: Feed,
        permit: Permit,
    ) {
        self.list_spectators.push(ListSpectator {
            name,
            watched,
            feed,
            _permit: permit,
        });
    }

    /// Adds games to the streams with this id. Returns these streams.
    pub(crate) fn extend_lists(&mut self, name: &str, more: &HashSet<GameId>) -> Vec<Feed> {
        let mut extended = Vec::new();
        for spectator in &mut self.list_spectators {
            if let (true, WatchedGames::Games(games)) = (
                spectator.name.as_deref() == Some(name),
                &mut spectator.watched,
            ) {
                games.extend(more);
                extended.push(spectator.feed.clone());
            }
        }
        extended
    }

    /// Streams of the starts and ends of games that watch this game.
    pub(crate) fn lists_with(&self, round: &Round) -> impl Iterator<Item = &Feed> {
        let lists = self.list_spectators.iter();
        let watching = lists.filter(|spectator| spectator.watched.contains(round));
        watching.map(|spectator| &spectator.feed)
    }

    /// Returns the streams of a game, each with the number of plies shown before; now it is this number.
    pub(crate) fn show(&mut self, game: GameId, plies: usize) -> Vec<(Feed, usize)> {
        let streams = self.game_spectators.iter_mut();
        let streams = streams.filter(|spectator| spectator.game == game);
        streams
            .map(|spectator| {
                let before = std::mem::replace(&mut spectator.shown, plies);
                (spectator.feed.clone(), before)
            })
            .collect()
    }

    /// Ends the streams of a game.
    pub(crate) fn end_game(&mut self, id: GameId) {
        self.game_spectators.retain(|spectator| {
            if spectator.game == id {
                spectator.feed.end();
            }
            spectator.game != id
        });
    }

    /// Applies a fault to all streams.
    pub(crate) fn inject_fault(&self, fault: StreamFault) {
        self.feeds().for_each(|feed| feed.inject_fault(fault));
    }

    fn feeds(&self) -> impl Iterator<Item = &Feed> {
        let spectators = self.game_spectators.iter().map(|spectator| &spectator.feed);
        spectators.chain(self.list_spectators.iter().map(|spectator| &spectator.feed))
    }

    /// Closes all streams.
    pub(crate) fn close(&self) {
        self.feeds().for_each(Feed::close);
    }
}

impl WatchedGames {
    pub(crate) fn contains(&self, round: &Round) -> bool {
        match self {
            Self::Users(users) => round.sides.iter().all(|side| users.contains(&side.user)),
            Self::Games(games) => games.contains(&round.id),
        }
    }
}
