//! Spectator streams: the moves of one game, or the starts and ends of many.

use std::collections::HashSet;
use std::fmt::Write;

use bytes::Bytes;
use serde::Serialize;

use knightwatch_chess::{CastlingNotation, Color, Position};

use crate::faults::StreamFault;
use crate::http::error::ApiError;
use crate::http::limits::Permit;
use crate::http::stream::Feed;
use crate::options::{TimeControl, clock_start};
use crate::round::export::{ClockInfo, Player, SPECTATOR_DELAY_PLIES, public_game};
use crate::round::view::board_and_turn;
use crate::round::{COLORS, Round, Side};
use crate::site::id::{GameId, UserId};
use crate::site::state::SiteState;
use crate::site::users::AccountKind;
use crate::wire::{self, Ordered, StatusJson, VariantJson};

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
    fn contains(&self, round: &Round) -> bool {
        match self {
            Self::Users(users) => round.sides.iter().all(|side| users.contains(&side.user)),
            Self::Games(games) => games.contains(&round.id),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GameDescription {
    id: String,
    variant: VariantJson,
    speed: &'static str,
    perf: &'static str,
    rated: bool,
    initial_fen: String,
    fen: String,
    player: &'static str,
    turns: usize,
    started_at_turn: usize,
    source: &'static str,
    status: StatusJson,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_move: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'static str>,
    players: Ordered<Player>,
}

#[derive(Serialize)]
struct PlyJson {
    fen: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wc: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bc: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GameUpdate {
    id: String,
    rated: bool,
    variant: &'static str,
    speed: &'static str,
    perf: &'static str,
    created_at: i64,
    status: u8,
    status_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<ClockInfo>,
    players: Ordered<PlayerUpdate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlayerUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating: Option<i32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    provisional: bool,
}

impl From<&Side> for PlayerUpdate {
    fn from(side: &Side) -> Self {
        let known = side.account_kind == AccountKind::User;
        Self {
            user_id: known.then(|| side.user.to_string()),
            rating: known.then_some(side.rating),
            provisional: known && side.provisional,
        }
    }
}

impl Round {
    /// Plies shown to spectators.
    fn visible_plies(&self) -> usize {
        let delay = if self.referee.is_running() {
            SPECTATOR_DELAY_PLIES
        } else {
            0
        };
        self.referee.plies().saturating_sub(delay)
    }

    fn description_line(&self) -> Bytes {
        let game = public_game(self);
        let position = game.position();
        let ply = |position: &Position| {
            2 * (position.fullmove_number().max(1) as usize - 1)
                + usize::from(position.turn() == Color::Black)
        };
        let last = game.moves().last();
        let players = COLORS.map(|color| (color.key().to_owned(), self.side(color).into()));
        wire::line(&GameDescription {
            id: self.id.to_string(),
            variant: VariantJson::full(self.variant),
            speed: self.speed().key(),
            perf: self.perf().key,
            rated: self.rated,
            initial_fen: game.initial().fen(),
            fen: position.fen(),
            player: position.turn().key(),
            turns: ply(position),
            started_at_turn: ply(game.initial()),
            source: self.source.key(),
            status: self.referee.status().into(),
            created_at: self.created_at.0,
            last_move: last.map(|mv| mv.uci(CastlingNotation::Standard).to_string()),
            winner: self.referee.winner().map(Color::key),
            players: Ordered(players.into()),
        })
    }

    /// Lines with the positions of a range of plies, each with its last move and the clocks in seconds.
    fn ply_lines(&self, from: usize, to: usize) -> Bytes {
        let game = self.referee.game();
        let mut position = game.initial().clone();
        let mut left = match self.time_control {
            TimeControl::Clock { limit, increment } => {
                [Some(i64::from(clock_start(limit, increment))); 2]
            }
            TimeControl::Days(_) | TimeControl::Unlimited => [None; 2],
        };
        let history = self.referee.clock_history();
        let mut text = String::new();
        for ply in 0..=to.min(game.moves().len()) {
            let mut last = None;
            if let Some(before) = ply.checked_sub(1) {
                let mv = game.moves()[before];
                if let Some(centis) = history.get(before) {
                    left[position.turn().index()] = Some(centis.0 / 100);
                }
                last = Some(mv.uci(CastlingNotation::Standard).to_string());
                position.play(mv);
            }
            if ply >= from {
                let shown = PlyJson {
                    fen: board_and_turn(&position),
                    lm: last,
                    wc: left[0],
                    bc: left[1],
                };
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{}", wire::json(&shown));
            }
        }
        text.into()
    }

    fn update_line(&self) -> Bytes {
        let players = COLORS.map(|color| (color.key().to_owned(), self.side(color).into()));
        let status = self.referee.status();
        wire::line(&GameUpdate {
            id: self.id.to_string(),
            rated: self.rated,
            variant: self.variant.key(),
            speed: self.speed().key(),
            perf: self.perf().key,
            created_at: self.created_at.0,
            status: status.id(),
            status_name: status.name(),
            clock: ClockInfo::of(self.time_control),
            players: Ordered(players.into()),
            winner: self.referee.winner().map(Color::key),
        })
    }
}

impl SiteState {
    /// Opens a stream of one game: its description, the positions so far and from then on, and the description again at
    /// the end.
    pub(crate) fn watch_game(
        &mut self,
        id: Option<GameId>,
        permit: Permit,
    ) -> Result<Feed, ApiError> {
        let round = id.and_then(|id| self.rounds.get(&id));
        let round = round.ok_or_else(ApiError::not_found)?;
        let feed = Feed::default();
        let visible = round.visible_plies();
        feed.push(round.description_line());
        // One chunk for all positions because the queue is bounded.
        feed.push(round.ply_lines(0, visible));
        if round.referee.is_running() {
            self.spectators.game_spectators.push(GameSpectator {
                game: round.id,
                feed: feed.clone(),
                shown: visible,
                _permit: permit,
            });
        } else {
            feed.push(round.description_line());
            feed.end();
        }
        Ok(feed)
    }

    /// Opens a stream of the starts and ends of games, optionally preceded by the current ones.
    pub(crate) fn watch_games(
        &mut self,
        watched: WatchedGames,
        name: Option<String>,
        with_current: bool,
        permit: Permit,
    ) -> Feed {
        let feed = Feed::default();
        if with_current {
            self.send_current_games(&watched, &feed);
        }
        self.spectators.list_spectators.push(ListSpectator {
            name,
            watched,
            feed: feed.clone(),
            _permit: permit,
        });
        feed
    }

    /// Adds games to the streams with this id. Returns whether there are any.
    pub(crate) fn add_watched_games(&mut self, name: &str, more: HashSet<GameId>) -> bool {
        let mut spectators = std::mem::take(&mut self.spectators);
        let mut found = false;
        for spectator in &mut spectators.list_spectators {
            if let (true, WatchedGames::Games(games)) = (
                spectator.name.as_deref() == Some(name),
                &mut spectator.watched,
            ) {
                found = true;
                games.extend(more.iter().copied());
                self.send_current_games(&WatchedGames::Games(more.clone()), &spectator.feed);
            }
        }
        self.spectators = spectators;
        found
    }

    fn send_current_games(&self, watched: &WatchedGames, feed: &Feed) {
        let rounds = self.rounds.values();
        let news = rounds
            .filter(|round| match watched {
                WatchedGames::Users(_) => round.referee.is_running(),
                WatchedGames::Games(_) => true,
            })
            .filter(|round| watched.contains(round))
            .flat_map(|round| round.update_line().to_vec());
        let news: Vec<u8> = news.collect();
        if !news.is_empty() {
            feed.push(news.into());
        }
    }

    /// Sends the start or end of a game to the list streams that watch it.
    pub(crate) fn notify_list_spectators(&self, id: GameId) {
        let Some(round) = self.rounds.get(&id) else {
            return;
        };
        let list_spectators = self.spectators.list_spectators.iter();
        for spectator in list_spectators.filter(|spectator| spectator.watched.contains(round)) {
            spectator.feed.push(round.update_line());
        }
    }

    /// Sends new positions to the spectators of a game.
    pub(crate) fn update_game_spectators(&mut self, id: GameId) {
        let Some(round) = self.rounds.get(&id) else {
            return;
        };
        let visible = round.visible_plies();
        let is_over = !round.referee.is_running();
        let watching = self.spectators.game_spectators.iter_mut();
        for spectator in watching.filter(|spectator| spectator.game == id) {
            if visible > spectator.shown {
                spectator
                    .feed
                    .push(round.ply_lines(spectator.shown + 1, visible));
            }
            // After a takeback, only the new moves are sent.
            spectator.shown = visible;
            if is_over {
                spectator.feed.push(round.description_line());
            }
        }
        if is_over {
            self.spectators.end_game(id);
        }
    }
}
