//! Games: players, referee, streams and chat.

pub(super) mod ai;
mod bulk_pairing;
pub(super) mod chat;
pub(super) mod export;
pub(super) mod filter;
pub(super) mod presence;
pub(super) mod rematch;
mod results;
pub(super) mod spectators;
pub(super) mod view;

use std::sync::Arc;
use std::time::Duration;

use knightwatch_chess::{Color, Position};

use crate::faults::{StreamFault, ply_of_line};
use crate::http::error::ApiError;
use crate::http::limits::BOT_GAMES;
use crate::http::stream::{Feed, KEEP_ALIVE_INTERVAL};
use crate::options::TimeControl;
use crate::players::GameSummary;
use crate::quirks::{PlayingStatus, Quirks};
use crate::referee::{
    ActionOutcome, ArenaGameConfig, GameConfig, GameError, Referee, StateSnapshot, Status,
};
use crate::round::chat::ChatMessage;
use crate::round::presence::Presence;
use crate::site::id::{ArenaId, GameId, Secrets, UserId};
use crate::site::state::{Notice, SiteState};
use crate::site::time::SimTime;
use crate::site::users::AccountKind;
use crate::site::variant::{Perf, Speed, Variant};
use crate::wire::{self, GameEvent, GameState, NowPlaying, StatusOrName};

/// Time after which a game without moves is deleted.
const UNPLAYED_GAME_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

pub(crate) const COLORS: [Color; 2] = [Color::White, Color::Black];

/// Origin of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A regular challenge.
    Friend,
    /// A challenge to the AI.
    Ai,
    /// Bulk pairing.
    Api,
    /// An arena.
    Arena {
        id: ArenaId,
        /// Bots are allowed in the arena.
        bots: bool,
        /// Berserk is allowed.
        berserkable: bool,
    },
}

impl Source {
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Friend => "friend",
            Self::Ai => "ai",
            Self::Api => "api",
            Self::Arena { .. } => "arena",
        }
    }

    pub(crate) fn arena(self) -> Option<ArenaId> {
        match self {
            Self::Arena { id, .. } => Some(id),
            Self::Friend | Self::Ai | Self::Api => None,
        }
    }
}

/// Options of a new game.
pub(crate) struct Setup {
    pub id: GameId,
    /// White and Black.
    pub users: [UserId; 2],
    pub source: Source,
    pub variant: Variant,
    /// Starting position. A Chess960 game without one gets a random one.
    pub start: Option<Position>,
    pub time_control: TimeControl,
    pub rated: bool,
    pub rules: Vec<&'static str>,
}

/// One player of a game.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub user: UserId,
    pub account_kind: AccountKind,
    pub name: String,
    pub title: Option<&'static str>,
    pub rating: i32,
    pub rating_diff: Option<i32>,
    pub provisional: bool,
    pub presence: Presence,
}

pub(crate) struct PlayerStream {
    pub color: Color,
    user: UserId,
    user_agent: String,
    feed: Feed,
}

pub(crate) struct Round {
    pub id: GameId,
    pub sides: [Side; 2],
    pub source: Source,
    pub rated: bool,
    pub created_at: SimTime,
    pub referee: Referee,
    pub secrets: Secrets,
    pub variant: Variant,
    pub time_control: TimeControl,
    pub quirks: Arc<Quirks>,
    player_streams: Vec<PlayerStream>,
    pub chat: Vec<ChatMessage>,
    pub no_rematch: bool,
    /// Per player: clock time lost to faults, and the time until which it has been counted.
    fault_delays: [(Duration, SimTime); 2],
    /// Id of the rematch.
    pub rematch: Option<GameId>,
    next_flag_check: SimTime,
}

impl Round {
    pub(crate) fn speed(&self) -> Speed {
        Speed::of(self.time_control)
    }

    pub(crate) fn perf(&self) -> Perf {
        Perf::of(self.variant, self.speed())
    }

    pub(crate) fn side(&self, color: Color) -> &Side {
        &self.sides[color.index()]
    }

    pub(crate) fn color_of(&self, user: &UserId) -> Option<Color> {
        COLORS
            .into_iter()
            .find(|color| self.side(*color).user == *user)
    }

    /// Returns whether the game has a player chat.
    pub(crate) fn has_chat(&self) -> bool {
        !matches!(self.source, Source::Ai | Source::Arena { .. })
    }

    /// Returns whether the game can be played through the Bot API.
    pub(crate) fn allows_bots(&self) -> bool {
        let bots_allowed = match self.source {
            Source::Arena { bots, .. } => bots,
            Source::Friend | Source::Ai | Source::Api => true,
        };
        bots_allowed && self.speed() >= Speed::Bullet
    }

    /// Returns whether the game can be played through the Board API.
    pub(crate) fn allows_boards(&self) -> bool {
        let min_speed = match self.source {
            Source::Friend | Source::Ai | Source::Api => Speed::Blitz,
            Source::Arena { .. } => Speed::Rapid,
        };
        self.speed() >= min_speed
    }

    pub(crate) fn push(&self, line: &bytes::Bytes, to: impl Fn(&PlayerStream) -> bool) {
        for stream in self.player_streams.iter().filter(|stream| to(stream)) {
            stream.feed.push(line.clone());
        }
    }

    /// Number of open player streams.
    pub(crate) fn open_streams(&self) -> usize {
        self.player_streams.len()
    }

    /// Sends a line to the streams of one side.
    pub(crate) fn push_to_player(&self, color: Color, line: &bytes::Bytes) {
        self.push(line, |stream| stream.color == color);
    }

    /// Applies a fault to the streams of these users.
    pub(crate) fn break_streams(&self, matches: &dyn Fn(&UserId) -> bool, fault: StreamFault) {
        for stream in self
            .player_streams
            .iter()
            .filter(|stream| matches(&stream.user))
        {
            stream.feed.inject_fault(fault);
        }
    }

    /// Closes all streams, including silent ones.
    pub(crate) fn close(&self) {
        for stream in &self.player_streams {
            stream.feed.close();
        }
    }

    fn end_streams(&mut self) {
        for stream in self.player_streams.drain(..) {
            stream.feed.end();
        }
    }

    pub(crate) fn result(&self) -> &'static str {
        match (self.referee.status(), self.referee.winner()) {
            (Status::Started | Status::Aborted, _) => "*",
            (_, Some(Color::White)) => "1-0",
            (_, Some(Color::Black)) => "0-1",
            (_, None) => "1/2-1/2",
        }
    }

    /// Counts clock time that a fault costs this side by delaying its move. Overlapping delays count once.
    pub(crate) fn add_fault_delay(&mut self, color: Color, from: SimTime, until: SimTime) {
        if self.referee.is_running() && self.referee.turn() == color {
            let (by, counted) = &mut self.fault_delays[color.index()];
            *by += until.since(from.max(*counted));
            *counted = until.max(*counted);
        }
    }

    /// Counts clock time that a fault costs this side by delaying a stream line, if that line shows that it is to move.
    pub(crate) fn add_line_delay(
        &mut self,
        color: Color,
        line: &[u8],
        from: SimTime,
        until: SimTime,
    ) {
        if ply_of_line(line) == Some(self.referee.plies()) {
            self.add_fault_delay(color, from, until);
        }
    }

    pub(crate) fn summary(&self, now: SimTime) -> GameSummary {
        GameSummary {
            time_left: COLORS.map(|color| self.referee.time_left(color, now)),
            fault_delay: self.fault_delays.map(|(by, _)| by),
            id: self.id.to_string(),
            white: self.side(Color::White).shown_name(),
            black: self.side(Color::Black).shown_name(),
            variant: self.variant.key(),
            time_control: self.time_control,
            rated: self.rated,
            plies: self.referee.plies(),
            status: self.referee.status().name(),
            result: self.result(),
        }
    }
}

/// Time for the first move in an arena game.
fn first_move_time(variant: Variant, speed: Speed) -> Duration {
    let seconds = match speed {
        Speed::UltraBullet => 11,
        Speed::Bullet => 16,
        Speed::Blitz => 21,
        Speed::Rapid => 25,
        Speed::Classical | Speed::Correspondence => 30,
    };
    let base = Duration::from_secs(seconds);
    match variant {
        Variant::Chess960 => base * 5 / 4,
        Variant::Standard | Variant::FromPosition => base,
    }
}

impl SiteState {
    /// Returns whether takebacks can be proposed: both players allow them, or one plays in a browser.
    fn allows_takebacks(&self, users: &[UserId; 2]) -> bool {
        let mut users = users.iter().map(|id| self.user(id));
        users.clone().any(|user| user.browser) || users.all(|user| user.takebacks)
    }

    /// Starts a game and notifies both players.
    pub(crate) fn start_round(&mut self, setup: Setup, now: SimTime) {
        let start = match (setup.variant, setup.start) {
            (_, Some(start)) => start,
            (Variant::Chess960, None) => {
                let number = self.rng.u32(0..960);
                Position::chess960_start(number).unwrap_or_else(Position::startpos)
            }
            (_, None) => Position::startpos(),
        };
        let perf = Perf::of(setup.variant, Speed::of(setup.time_control));
        let users = setup.users;
        let sides = users.each_ref().map(|id| {
            let user = self.user(id);
            let rating = user.rating(perf.key);
            Side {
                user: id.clone(),
                account_kind: user.account_kind,
                name: user.name.clone(),
                title: user.title(),
                rating: rating.value(),
                provisional: rating.is_provisional(),
                rating_diff: None,
                presence: Presence::new(user.always_online, now),
            }
        });
        let arena = match setup.source {
            Source::Arena { berserkable, .. } => Some(ArenaGameConfig {
                berserkable,
                first_move_timeout: first_move_time(setup.variant, Speed::of(setup.time_control)),
                shows_expiration: self.quirks.expiration,
            }),
            Source::Friend | Source::Ai | Source::Api => None,
        };
        let rule = |name: &str| setup.rules.contains(&name);
        let config = GameConfig {
            variant: setup.variant,
            start,
            time_control: setup.time_control,
            bot_plays: users.iter().any(|id| self.user(id).bot),
            takebacks: arena.is_none() && self.allows_takebacks(&users),
            ai: setup.source == Source::Ai,
            no_abort: rule("noAbort"),
            no_early_draw: rule("noEarlyDraw"),
            no_claim_win: rule("noClaimWin"),
            castling: self.castling,
            arena,
        };
        if users.iter().all(|id| self.user(id).bot) {
            for user in &users {
                self.limits
                    .charge_unchecked(&BOT_GAMES, user.as_str(), 1, now);
            }
        }
        let round = Round {
            id: setup.id,
            sides,
            source: setup.source,
            rated: setup.rated,
            created_at: now,
            referee: Referee::new(config, now),
            secrets: Secrets::random(&mut self.rng),
            variant: setup.variant,
            time_control: setup.time_control,
            quirks: Arc::clone(&self.quirks),
            player_streams: Vec::new(),
            chat: Vec::new(),
            no_rematch: rule("noRematch"),
            fault_delays: [(Duration::ZERO, now); 2],
            rematch: None,
            next_flag_check: now + KEEP_ALIVE_INTERVAL,
        };
        for user in &users {
            self.user_mut(user).playing.push(setup.id);
        }
        for color in COLORS {
            let user = &round.side(color).user;
            self.send_event(user, &wire::line(&round.event("gameStart", color, now)));
        }
        self.running.push(setup.id);
        self.rounds.insert(setup.id, round);
        self.notify_list_spectators(setup.id);
        for user in &users {
            self.notify(user, Notice::Game(setup.id));
        }
    }

    /// Ongoing games of this user, most urgent first.
    fn rounds_by_urgency(&self, user: &UserId, now: SimTime) -> Vec<(&Round, Color)> {
        let mut rounds: Vec<(&Round, Color)> = self
            .user(user)
            .playing
            .iter()
            .filter_map(|id| self.rounds.get(id))
            .filter_map(|round| Some((round, round.color_of(user)?)))
            .collect();
        rounds.sort_by_key(|(round, color)| {
            let left = round.referee.seconds_left(*color, now);
            (round.referee.turn() != *color, left.unwrap_or(i64::MAX))
        });
        rounds
    }

    /// `gameStart` events of the ongoing games, for a new event stream.
    pub(crate) fn ongoing_game_events(&self, user: &UserId, now: SimTime) -> Vec<GameEvent> {
        self.rounds_by_urgency(user, now)
            .into_iter()
            .map(|(round, color)| round.event("gameStart", color, now))
            .collect()
    }

    pub(crate) fn now_playing(&self, user: &UserId, max: usize, now: SimTime) -> NowPlaying {
        let rounds = self.rounds_by_urgency(user, now);
        NowPlaying {
            nb_my_turn: self.quirks.nb_my_turn.then(|| {
                let mine = |(round, color): &&(&Round, Color)| round.referee.turn() == *color;
                rounds.iter().filter(mine).count()
            }),
            now_playing: rounds
                .iter()
                .take(max)
                .map(|(round, color)| {
                    let mut preview = round.preview(*color, now);
                    let status = round.referee.status();
                    preview.status = match self.quirks.playing_status {
                        PlayingStatus::Object => preview.status,
                        PlayingStatus::String => Some(StatusOrName::Name(status.name())),
                        PlayingStatus::Absent => None,
                    };
                    preview
                })
                .collect(),
        }
    }

    /// Returns the game and the color of this player in it.
    pub(crate) fn player_of(
        &self,
        user: &UserId,
        id: Option<GameId>,
    ) -> Result<(&Round, Color), ApiError> {
        let round = id
            .and_then(|id| self.rounds.get(&id))
            .ok_or_else(|| ApiError::new(404, "No such game"))?;
        let color = round
            .color_of(user)
            .ok_or_else(|| ApiError::new(404, "Not your game"))?;
        Ok((round, color))
    }

    /// Opens a player's game stream and ends their previous one with the same `User-Agent`. The stream of a finished
    /// game ends after its first line.
    pub(crate) fn open_game_stream(
        &mut self,
        user: &UserId,
        id: GameId,
        user_agent: &str,
        now: SimTime,
    ) -> Result<(Feed, Color), ApiError> {
        let (_, color) = self.player_of(user, Some(id))?;
        self.user_mut(user).on_stream_opened(now);
        let feed = Feed::default();
        let Some(round) = self.rounds.get_mut(&id) else {
            return Err(ApiError::not_found());
        };
        round.player_streams.retain(|old| {
            let same = old.color == color && old.user_agent == user_agent;
            if same {
                old.feed.end();
            }
            !same
        });
        let view = self.outage.skewed_view(round.referee.snapshot(now), now);
        feed.push(round.full_line(&view));
        if round.referee.is_running() {
            round.player_streams.push(PlayerStream {
                user: user.clone(),
                color,
                user_agent: user_agent.to_owned(),
                feed: feed.clone(),
            });
            round.on_returned(color);
        } else {
            feed.end();
        }
        Ok((feed, color))
    }

    /// Handles a game stream that was closed by its reader.
    pub(crate) fn on_game_stream_closed(
        &mut self,
        user: &UserId,
        id: GameId,
        color: Color,
        feed: &Feed,
        now: SimTime,
    ) {
        self.user_mut(user).on_stream_closed(now);
        let Some(round) = self.rounds.get_mut(&id) else {
            return;
        };
        round.player_streams.retain(|stream| !stream.feed.is(feed));
        if !round
            .player_streams
            .iter()
            .any(|stream| stream.color == color)
        {
            round.sides[color.index()].presence.on_left(now);
        }
    }

    /// Runs a command of the referee and broadcasts the resulting states.
    pub(crate) fn with_referee(
        &mut self,
        id: GameId,
        command: impl FnOnce(&mut Referee) -> ActionOutcome,
        now: SimTime,
    ) -> Result<(), GameError> {
        let Some(round) = self.rounds.get_mut(&id) else {
            return Ok(());
        };
        let was_running = round.referee.is_running();
        let ActionOutcome { snapshots, result } = command(&mut round.referee);
        if !snapshots.is_empty() {
            self.broadcast(id, &snapshots, was_running, now);
        }
        result
    }

    fn broadcast(
        &mut self,
        id: GameId,
        snapshots: &[StateSnapshot],
        was_running: bool,
        now: SimTime,
    ) {
        let Some(round) = self.rounds.get_mut(&id) else {
            return;
        };
        for view in snapshots {
            let view = self.outage.skewed_view(view.clone(), now);
            round.push(&wire::line(&GameState::new(&view, &round.quirks)), |_| true);
        }
        self.game_changed.notify_one();
        let users = round.sides.each_ref().map(|side| side.user.clone());
        if was_running && !round.referee.is_running() {
            round.end_streams();
            self.finish_round(id, now);
        }
        self.update_game_spectators(id);
        for user in &users {
            self.notify(user, Notice::Game(id));
        }
    }

    fn finish_round(&mut self, id: GameId, now: SimTime) {
        let Some(mut round) = self.rounds.remove(&id) else {
            return;
        };
        if round.referee.status() != Status::Aborted {
            self.record_result(&mut round, now);
        }
        for color in COLORS {
            let user = &round.side(color).user;
            self.user_mut(user).playing.retain(|other| *other != id);
            self.send_event(user, &wire::line(&round.event("gameFinish", color, now)));
        }
        if let Some(arena) = round.source.arena() {
            self.arena_game_over(arena, &round);
        }
        self.rounds.insert(id, round);
        self.notify_list_spectators(id);
        self.archive(id);
    }

    /// Cancels a challenge that has become a game by aborting the game: without consent while the game is abortable,
    /// afterwards with the opponent's token as consent.
    pub(crate) fn cancel_round(
        &mut self,
        me: &UserId,
        id: GameId,
        opponent: Option<Option<UserId>>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let (round, color) = self
            .player_of(me, Some(id))
            .map_err(|_| ApiError::not_found())?;
        if !round.referee.is_running() {
            return Err(ApiError::not_found());
        }
        if round.referee.is_abortable() {
            return Ok(self.with_referee(id, |referee| referee.abort(now), now)?);
        }
        let other = &round.side(!color).user;
        match opponent {
            None => Err(ApiError::bad_request("Missing opponentToken")),
            Some(user) if user.as_ref() != Some(other) => {
                Err(ApiError::bad_request("Not the opponent token"))
            }
            Some(_) => Ok(self.with_referee(id, |referee| referee.abort_by_consent(now), now)?),
        }
    }

    /// Ends the game if the side to move is out of time.
    pub(crate) fn check_flag(&mut self, id: GameId, now: SimTime) {
        // There is no request that could be refused.
        let _ = self.with_referee(id, |referee| referee.check_flag(now), now);
    }

    /// Periodic work on one game.
    pub(crate) fn tick_round(&mut self, id: GameId, now: SimTime) {
        let Some(round) = self.rounds.get_mut(&id) else {
            return;
        };
        let clockless = !matches!(round.time_control, TimeControl::Clock { .. });
        let unplayed =
            round.referee.plies() < 2 && now.since(round.created_at) > UNPLAYED_GAME_LIFETIME;
        if unplayed && !clockless {
            self.delete_round(id);
            return;
        }
        round.send_opponent_gone(now);
        if round.source.arena().is_some() && round.referee.plies() < 2 {
            let _ = self.with_referee(id, |referee| referee.check_first_move(now), now);
            return;
        }
        // Built-in players have no stream whose keep-alive lines would trigger the check.
        let has_builtin_player = round.sides.iter().any(|side| side.presence.is_builtin());
        if now >= round.next_flag_check && (has_builtin_player || clockless) {
            round.next_flag_check = now + KEEP_ALIVE_INTERVAL;
            self.check_flag(id, now);
            let _ = self.with_referee(id, |referee| referee.check_abandoned(now), now);
        }
    }

    /// Deletes a game that was never played. Its streams end without a further line; built-in players are notified.
    fn delete_round(&mut self, id: GameId) {
        let Some(mut round) = self.rounds.remove(&id) else {
            return;
        };
        round.end_streams();
        self.spectators.end_game(id);
        self.running.retain(|other| *other != id);
        for side in &round.sides {
            let user = self.user_mut(&side.user);
            user.playing.retain(|other| *other != id);
            self.notify(&side.user, Notice::Game(id));
        }
    }
}
