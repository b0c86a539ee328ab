//! Who watches without playing: one game move by move, or the beginnings and ends of many.

use std::collections::HashSet;
use std::fmt::Write;

use bytes::Bytes;
use serde::Serialize;

use crate::chess::{CastlingNotation, Color, Position};

use super::export::{ClockInfo, DELAY, Player, shown_game};
use super::failure::Failure;
use super::faults::StreamFault;
use super::id::{GameId, UserId};
use super::limits::Pass;
use super::options::{TimeControl, clock_start};
use super::round::{COLORS, Round, Side};
use super::stream::Feed;
use super::users::Face;
use super::view::board_and_turn;
use super::wire::{self, Ordered, StatusJson, VariantJson};
use super::world::World;

/// Who watches one game, up to a ply. He counts against the limit of streams as long as he does.
struct Spectator {
    game: GameId,
    feed: Feed,
    shown: usize,
    _pass: Pass,
}

/// Which games somebody wants to hear of.
#[derive(Clone, Debug)]
pub(super) enum Interest {
    /// Those in which both players are of these.
    Users(HashSet<UserId>),
    Games(HashSet<GameId>),
}

struct Listener {
    /// By which more games can be added.
    name: Option<String>,
    interest: Interest,
    feed: Feed,
    _pass: Pass,
}

/// All who watch.
#[derive(Default)]
pub(super) struct Audience {
    spectators: Vec<Spectator>,
    listeners: Vec<Listener>,
}

impl Audience {
    /// The reader of a stream is gone.
    pub fn leaves(&mut self, feed: &Feed) {
        self.spectators.retain(|other| !other.feed.is(feed));
        self.listeners.retain(|other| !other.feed.is(feed));
    }

    /// A game is gone: who watches it sees nothing more.
    pub fn end_game(&mut self, id: GameId) {
        self.spectators.retain(|spectator| {
            if spectator.game == id {
                spectator.feed.end();
            }
            spectator.game != id
        });
    }

    /// Something happens to all their streams.
    pub fn break_off(&self, how: StreamFault) {
        self.feeds().for_each(|feed| feed.break_off(how));
    }

    fn feeds(&self) -> impl Iterator<Item = &Feed> {
        let spectators = self.spectators.iter().map(|spectator| &spectator.feed);
        spectators.chain(self.listeners.iter().map(|listener| &listener.feed))
    }

    /// The site goes down.
    pub fn close(&self) {
        self.feeds().for_each(Feed::close);
    }
}

impl Interest {
    fn takes(&self, round: &Round) -> bool {
        match self {
            Self::Users(users) => round.sides.iter().all(|side| users.contains(&side.user)),
            Self::Games(games) => games.contains(&round.id),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Description {
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
struct News {
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
    players: Ordered<PlayerNews>,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlayerNews {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating: Option<i32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    provisional: bool,
}

impl From<&Side> for PlayerNews {
    fn from(side: &Side) -> Self {
        let known = side.face == Face::User;
        Self {
            user_id: known.then(|| side.user.to_string()),
            rating: known.then_some(side.rating),
            provisional: known && side.provisional,
        }
    }
}

impl Round {
    /// Plies that outsiders see.
    fn visible(&self) -> usize {
        let delay = if self.referee.is_running() { DELAY } else { 0 };
        self.referee.plies().saturating_sub(delay)
    }

    fn description(&self) -> Bytes {
        let game = shown_game(self);
        let position = game.position();
        let ply = |position: &Position| {
            2 * (position.fullmove_number().max(1) as usize - 1)
                + usize::from(position.turn() == Color::Black)
        };
        let last = game.moves().last();
        let players = COLORS.map(|color| (color.key().to_owned(), self.side(color).into()));
        wire::line(&Description {
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

    /// Lines with the positions from one ply up to another, each with the move that led to it and the seconds left.
    fn plies(&self, from: usize, to: usize) -> Bytes {
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
                // Writing to a string does not fail.
                let _ = writeln!(text, "{}", wire::json(&shown));
            }
        }
        text.into()
    }

    fn news(&self) -> Bytes {
        let players = COLORS.map(|color| (color.key().to_owned(), self.side(color).into()));
        let status = self.referee.status();
        wire::line(&News {
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

impl World {
    /// Watches one game: what it is, its positions so far and from now on, and at its end what it is once more.
    pub fn watch(&mut self, id: Option<GameId>, pass: Pass) -> Result<Feed, Failure> {
        let round = id.and_then(|id| self.rounds.get(&id));
        let round = round.ok_or_else(Failure::not_found)?;
        let feed = Feed::default();
        let visible = round.visible();
        feed.push(round.description());
        // All in one piece, since only so many pieces may wait.
        feed.push(round.plies(0, visible));
        if round.referee.is_running() {
            self.audience.spectators.push(Spectator {
                game: round.id,
                feed: feed.clone(),
                shown: visible,
                _pass: pass,
            });
        } else {
            feed.push(round.description());
            feed.end();
        }
        Ok(feed)
    }

    /// Hears of the beginnings and ends of games; on wish first of those that are on.
    pub fn listen(
        &mut self,
        interest: Interest,
        name: Option<String>,
        with_current: bool,
        pass: Pass,
    ) -> Feed {
        let feed = Feed::default();
        if with_current {
            self.tell_current(&interest, &feed);
        }
        self.audience.listeners.push(Listener {
            name,
            interest,
            feed: feed.clone(),
            _pass: pass,
        });
        feed
    }

    /// More games for the listeners of this name. Tells whether there are any.
    pub fn listen_also(&mut self, name: &str, more: HashSet<GameId>) -> bool {
        let mut audience = std::mem::take(&mut self.audience);
        let mut found = false;
        for listener in &mut audience.listeners {
            if let (true, Interest::Games(games)) = (
                listener.name.as_deref() == Some(name),
                &mut listener.interest,
            ) {
                found = true;
                games.extend(more.iter().copied());
                self.tell_current(&Interest::Games(more.clone()), &listener.feed);
            }
        }
        self.audience = audience;
        found
    }

    fn tell_current(&self, interest: &Interest, feed: &Feed) {
        let rounds = self.rounds.values();
        let news = rounds
            .filter(|round| match interest {
                Interest::Users(_) => round.referee.is_running(),
                Interest::Games(_) => true,
            })
            .filter(|round| interest.takes(round))
            .flat_map(|round| round.news().to_vec());
        let news: Vec<u8> = news.collect();
        if !news.is_empty() {
            feed.push(news.into());
        }
    }

    /// A game has begun or ended: who is interested hears of it.
    pub fn announce_round(&self, id: GameId) {
        let Some(round) = self.rounds.get(&id) else {
            return;
        };
        let listeners = self.audience.listeners.iter();
        for listener in listeners.filter(|listener| listener.interest.takes(round)) {
            listener.feed.push(round.news());
        }
    }

    /// Something happened in a game: spectators see what they may.
    pub fn show_spectators(&mut self, id: GameId) {
        let Some(round) = self.rounds.get(&id) else {
            return;
        };
        let visible = round.visible();
        let is_over = !round.referee.is_running();
        let watching = self.audience.spectators.iter_mut();
        for spectator in watching.filter(|spectator| spectator.game == id) {
            if visible > spectator.shown {
                spectator
                    .feed
                    .push(round.plies(spectator.shown + 1, visible));
            }
            // Moves that were taken back are shown no more, and those in their place are.
            spectator.shown = visible;
            if is_over {
                spectator.feed.push(round.description());
            }
        }
        if is_over {
            self.audience.end_game(id);
        }
    }
}
