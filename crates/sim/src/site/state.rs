//! State of the site, behind one lock: accounts, tokens, challenges, games and open streams.
//!
//! The methods of [`SiteState`] are defined next to their subjects. None of them blocks; each takes the current time as
//! an argument.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, watch};

use crate::arena::Arenas;
use crate::challenge::Challenge;
use crate::faults::StreamFault;
use crate::http::error::ApiError;
use crate::http::limits::Limits;
use crate::http::stream::{Feed, Topic};
use crate::options::NewUser;
use crate::players::GameSummary;
use crate::quirks::{Castling, Quirks};
use crate::round::Round;
use crate::round::rematch::Rematches;
use crate::round::spectators::Spectators;
use crate::site::crosstable::Crosstables;
use crate::site::id::{ArenaId, GameId, UserId};
use crate::site::outage::Outage;
use crate::site::schedule::Schedule;
use crate::site::team::{Team, TeamId};
use crate::site::time::SimTime;
use crate::site::users::{AccountKind, User};
use crate::wire::{self, LightUser, Relation, UserJson};
use crate::{SimOptions, SimStats};

/// User and scopes of a token.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub user: UserId,
    pub scopes: Vec<String>,
}

/// Notification to a built-in player.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    /// The player was challenged.
    Challenged(GameId),
    /// The player's challenge was declined or canceled.
    ChallengeEnded(GameId),
    /// The player's game started or changed.
    Game(GameId),
    /// An arena was announced, or the player was removed from it.
    Arena(ArenaId),
}

struct EventStream {
    token: String,
    user: UserId,
    feed: Feed,
}

pub(crate) struct SiteState {
    pub users: BTreeMap<UserId, User>,
    pub challenges: HashMap<GameId, Challenge>,
    /// Challenges in the state `created` or `offline`, oldest first.
    pub open_challenges: Vec<GameId>,
    pub rounds: HashMap<GameId, Round>,
    /// Ongoing games.
    pub running: Vec<GameId>,
    pub rng: fastrand::Rng,
    pub seed: u64,
    pub quirks: Arc<Quirks>,
    /// Current notation of castling moves.
    pub castling: Castling,
    pub outage: Outage,
    pub limits: Limits,
    pub crosstables: Crosstables,
    pub spectators: Spectators,
    pub schedule: Schedule,
    pub rematches: Rematches,
    /// Address of the site as `http://host:port`.
    pub base_url: String,
    pub arenas: Arenas,
    pub teams: BTreeMap<TeamId, Team>,
    pub builtin_players: HashMap<UserId, mpsc::UnboundedSender<Notice>>,
    tokens: HashMap<String, Grant>,
    event_streams: Vec<EventStream>,
    finished: VecDeque<GameId>,
    kept_games: usize,
    finished_count: watch::Sender<usize>,
    /// Notified at every change of a game.
    pub game_changed: Arc<Notify>,
}

impl SiteState {
    pub(crate) fn new(
        options: SimOptions,
        finished_count: watch::Sender<usize>,
        game_changed: Arc<Notify>,
        now: SimTime,
    ) -> Self {
        let mut state = Self {
            users: BTreeMap::new(),
            challenges: HashMap::new(),
            open_challenges: Vec::new(),
            rounds: HashMap::new(),
            running: Vec::new(),
            rng: fastrand::Rng::with_seed(options.seed),
            seed: options.seed,
            limits: Limits::new(options.limits, options.quirks.limiter, options.nginx_limit),
            castling: options.quirks.castling,
            quirks: Arc::new(options.quirks),
            outage: Outage::default(),
            game_changed,
            crosstables: Crosstables::default(),
            spectators: Spectators::default(),
            schedule: Schedule::default(),
            rematches: Rematches::default(),
            base_url: "http://127.0.0.1".to_owned(),
            arenas: Arenas::default(),
            teams: BTreeMap::new(),
            builtin_players: HashMap::new(),
            tokens: HashMap::new(),
            event_streams: Vec::new(),
            finished: VecDeque::new(),
            kept_games: options.kept_games,
            finished_count,
        };
        for user in options.users {
            state.add_user(user, now);
        }
        state
    }

    /// Creates an account with its personal token, unless the name is taken.
    pub(crate) fn add_user(&mut self, user: NewUser, now: SimTime) {
        let id = UserId::of(&user.name);
        if self.users.contains_key(&id) {
            return;
        }
        self.add_token(crate::token_of(&user.name), id.clone(), user.scopes.clone());
        self.users.insert(id, User::new(user, now));
    }

    /// Adds the user behind the AI or an anonymous player. They cannot be found by name.
    pub(crate) fn add_unlisted_user(&mut self, account_kind: AccountKind, now: SimTime) -> UserId {
        let name = match account_kind {
            AccountKind::Ai(level) => format!("@ai{level}"),
            AccountKind::User | AccountKind::Anonymous => format!("@guest{}", self.users.len()),
        };
        let id = UserId::of(&name);
        self.users
            .entry(id.clone())
            .or_insert_with(|| User::unlisted(account_kind, name, now));
        id
    }

    pub(crate) fn add_token(&mut self, token: String, user: UserId, scopes: Vec<String>) {
        self.tokens.insert(token, Grant { user, scopes });
    }

    /// Invalidates a token.
    pub(crate) fn revoke(&mut self, token: &str) {
        self.tokens.remove(token);
    }

    pub(crate) fn grant(&self, token: &str) -> Option<&Grant> {
        self.tokens.get(token)
    }

    pub(crate) fn user_by_name(&self, name: &str) -> Option<&User> {
        self.users
            .get(&UserId::of(name))
            .filter(|user| user.account_kind == AccountKind::User)
    }

    pub(crate) fn user(&self, id: &UserId) -> &User {
        self.users.get(id).expect("accounts are never deleted")
    }

    pub(crate) fn user_mut(&mut self, id: &UserId) -> &mut User {
        self.users.get_mut(id).expect("accounts are never deleted")
    }

    /// Returns an id that no game or challenge has.
    pub(crate) fn new_id(&mut self) -> GameId {
        loop {
            let id = GameId::random(&mut self.rng);
            if !self.rounds.contains_key(&id) && !self.challenges.contains_key(&id) {
                return id;
            }
        }
    }

    /// Opens the event stream of a token and ends its previous one. The stream starts with the ongoing games, most
    /// urgent first, and the incoming challenges.
    pub(crate) fn open_event_stream(&mut self, token: &str, user: &UserId, now: SimTime) -> Feed {
        self.event_streams.retain(|old| {
            if old.token == token {
                old.feed.end();
            }
            old.token != token
        });
        let feed = Feed::default();
        for event in self.ongoing_game_events(user, now) {
            feed.push(wire::line(&event));
        }
        for challenge in self.challenges_for_replay(user, now) {
            feed.push(wire::line(&challenge));
        }
        self.user_mut(user).on_stream_opened(now);
        self.event_streams.push(EventStream {
            token: token.to_owned(),
            user: user.clone(),
            feed: feed.clone(),
        });
        feed
    }

    /// Sends a line to every event stream of this user.
    pub(crate) fn send_event(&self, user: &UserId, line: &Bytes) {
        for stream in self
            .event_streams
            .iter()
            .filter(|stream| stream.user == *user)
        {
            stream.feed.push(line.clone());
        }
    }

    pub(crate) fn notify(&self, user: &UserId, notice: Notice) {
        if let Some(player) = self.builtin_players.get(user) {
            // The player may have stopped.
            let _ = player.send(notice);
        }
    }

    /// Handles a keep-alive line of a stream. Lichess checks the clock of the game at that time.
    pub(crate) fn on_keep_alive(&mut self, topic: &Topic, now: SimTime) {
        match topic {
            Topic::Game { id, .. } if !self.is_down(now) => self.check_flag(*id, now),
            _ => {}
        }
    }

    /// Handles a stream that was closed by its reader.
    pub(crate) fn on_stream_closed(&mut self, topic: &Topic, feed: &Feed, now: SimTime) {
        match topic {
            Topic::Events { user } => {
                self.event_streams.retain(|stream| !stream.feed.is(feed));
                self.user_mut(user).on_stream_closed(now);
            }
            Topic::Game { user, id, color } => {
                self.on_game_stream_closed(user, *id, *color, feed, now);
            }
            Topic::Spectators => self.spectators.remove(feed),
            Topic::Challenge { id } => {
                if let Some(challenge) = self.challenges.get_mut(id) {
                    challenge.on_stream_closed(now);
                }
            }
        }
    }

    /// Applies a fault to open streams of this user or of all, in this game or in all, to event streams and game
    /// streams as selected.
    pub(crate) fn break_streams(
        &self,
        user: Option<&str>,
        game: Option<&str>,
        [events, games]: [bool; 2],
        fault: StreamFault,
    ) {
        let user = user.map(UserId::of);
        let matches = |id: &UserId| user.as_ref().is_none_or(|user| user == id);
        if events {
            for stream in self
                .event_streams
                .iter()
                .filter(|stream| matches(&stream.user))
            {
                stream.feed.inject_fault(fault);
            }
        }
        let only = game.and_then(GameId::parse_any);
        for (id, round) in &self.rounds {
            if games && (game.is_none() || only == Some(*id)) {
                round.break_streams(&matches, fault);
            }
        }
    }

    /// Closes all streams, including broken and silent ones.
    pub(crate) fn close(&self) {
        self.spectators.close();
        for stream in &self.event_streams {
            stream.feed.close();
        }
        for round in self.rounds.values() {
            round.close();
        }
        for challenge in self.challenges.values() {
            challenge.close();
        }
    }

    pub(crate) fn light_user(&self, id: &UserId) -> LightUser {
        let user = self.user(id);
        LightUser {
            id: user.id.to_string(),
            name: user.name.clone(),
            title: user.title(),
        }
    }

    /// Profile of a user.
    pub(crate) fn profile(&self, user: &User, relation: Option<Relation>) -> UserJson {
        let playing = user.playing.last().and_then(|id| self.rounds.get(id));
        let playing = playing.and_then(|round| {
            let color = round.color_of(&user.id)?.key();
            Some(format!("{}/{}/{color}", self.base_url, round.id))
        });
        user.extended_json(&self.base_url, playing, relation)
    }

    /// Periodic work, once per second of the site's time.
    pub(crate) fn tick(&mut self, now: SimTime) {
        if self.is_down(now) {
            return;
        }
        self.tick_challenges(now);
        let rounds = &self.rounds;
        self.rematches
            .remove_expired(now, |id| rounds.contains_key(id));
        self.limits.remove_expired(now);
        for id in self.running.clone() {
            self.tick_round(id, now);
        }
        self.tick_arenas(now);
    }

    /// Archives a finished game and drops the oldest archived game if there are too many.
    pub(crate) fn archive(&mut self, id: GameId) {
        self.running.retain(|other| *other != id);
        self.finished.push_back(id);
        if self.finished.len() > self.kept_games
            && let Some(oldest) = self.finished.pop_front()
        {
            self.rounds.remove(&oldest);
        }
        self.finished_count.send_modify(|count| *count += 1);
    }

    pub(crate) fn stats(&self) -> SimStats {
        let watched = self.rounds.values().map(Round::open_streams);
        SimStats {
            accounts: self.users.len(),
            challenges: self.challenges.len(),
            games: self.rounds.len(),
            ongoing_games: self.running.len(),
            streams: self.event_streams.len() + watched.sum::<usize>(),
        }
    }

    pub(crate) fn summaries(&self, now: SimTime) -> Vec<GameSummary> {
        self.finished
            .iter()
            .chain(&self.running)
            .filter_map(|id| self.rounds.get(id))
            .map(|round| round.summary(now))
            .collect()
    }

    /// Returns the archived games after the first `first` ones, and how many games have finished in total.
    pub(crate) fn finished_after(&self, first: usize, now: SimTime) -> (Vec<GameSummary>, usize) {
        let total = *self.finished_count.borrow();
        let dropped = total - self.finished.len();
        let kept = self.finished.iter().skip(first.saturating_sub(dropped));
        let games = kept
            .filter_map(|id| self.rounds.get(id))
            .map(|round| round.summary(now));
        (games.collect(), total)
    }

    /// Finds the user named in a request.
    pub(crate) fn find_user(&self, name: &str) -> Result<&User, ApiError> {
        self.user_by_name(name).ok_or_else(ApiError::not_found)
    }
}
