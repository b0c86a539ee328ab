//! Requests of users: what the API and built-in players can do, across the subsystems.

use std::collections::HashSet;

use knightwatch_chess::Color;
use tokio::sync::mpsc;

use crate::arena::entry::JoinRequest;
use crate::arena::options::ArenaOptions;
use crate::arena::{Arena, ArenaStatus};
use crate::challenge::checks::{check_bot_games, check_challenge};
use crate::challenge::{Challenge, ChallengeConfig, DeclineReason, OpenChallenge};
use crate::lobby::{Seek, SeekConfig, SeekStream};
use crate::options::NewUser;
use crate::players::PlayerOptions;
use crate::referee::{ActionOutcome, GameError, Referee};
use crate::round::PlayerStream;
use crate::round::chat::{Room, has_link};
use crate::round::rematch::NO_REMATCH;
use crate::round::setup::{Setup, Source};
use crate::round::spectators::WatchedGames;
use crate::site::limits::{Permit, SEEKS};
use crate::site::state::unused_id;
use crate::site::team::NewTeam;
use crate::site::{
    AccountKind, ApiError, ArenaId, Effect, Feed, GameId, Notice, SimTime, SiteState, TeamId,
    Topic, UserId, Variant,
};
use crate::time_control::TimeControl;
use crate::view::{challenge, game, spectator};
use crate::wire::{self, Object};

/// Streams.
impl SiteState {
    /// Opens the event stream of a token and ends its previous one. The stream starts with the ongoing games, most
    /// urgent first, and the incoming challenges.
    pub(crate) fn open_event_stream(&mut self, token: &str, user: &UserId, now: SimTime) -> Feed {
        let feed = Feed::default();
        for event in game::ongoing_events(self, user, now) {
            feed.push(wire::line(&event));
        }
        for event in challenge::challenges_for_replay(self, user, now) {
            feed.push(wire::line(&event));
        }
        self.users.on_stream_opened(user, now);
        self.event_streams.open(token, user, feed.clone());
        feed
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
        let (round, color) = self.rounds.player(user, Some(id))?;
        let view = self.outage.skewed_view(round.referee.snapshot(now), now);
        let feed = Feed::default();
        feed.push(game::full_line(round, &view));
        self.users.on_stream_opened(user, now);
        let stream = PlayerStream {
            color,
            user: user.clone(),
            user_agent: user_agent.to_owned(),
            feed: feed.clone(),
        };
        let effects = self.rounds.open_stream(id, stream);
        self.apply(effects, now);
        Ok((feed, color))
    }

    /// Handles a stream that was closed by its reader.
    pub(crate) fn on_stream_closed(&mut self, topic: &Topic, feed: &Feed, now: SimTime) {
        match topic {
            Topic::Events { user } => {
                self.event_streams.remove(feed);
                self.users.on_stream_closed(user, now);
            }
            Topic::Game { user, id, color } => {
                self.users.on_stream_closed(user, now);
                self.rounds.on_stream_closed(*id, *color, feed, now);
            }
            Topic::Spectators => self.spectators.remove(feed),
            Topic::Challenge { id } => self.challenges.on_stream_closed(*id, now),
            Topic::Seek { id } => drop(self.lobby.remove(*id)),
        }
    }

    /// Opens a stream of one game: its description, the positions so far and from then on, and the description again at
    /// the end.
    pub(crate) fn watch_game(
        &mut self,
        id: Option<GameId>,
        permit: Permit,
    ) -> Result<Feed, ApiError> {
        let round = self.rounds.find(id.ok_or_else(ApiError::not_found)?)?;
        let feed = Feed::default();
        let visible = spectator::visible_plies(round);
        feed.push(spectator::description_line(round));
        // One chunk for all positions because the queue is bounded.
        feed.push(spectator::ply_lines(round, 0, visible));
        if round.referee.is_running() {
            self.spectators
                .add_game(round.id, feed.clone(), visible, permit);
        } else {
            feed.push(spectator::description_line(round));
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
        self.spectators
            .add_list(watched, name, feed.clone(), permit);
        feed
    }

    /// Adds games to the streams with this id. Returns whether there are any.
    pub(crate) fn add_watched_games(&mut self, name: &str, more: HashSet<GameId>) -> bool {
        let feeds = self.spectators.extend_lists(name, &more);
        let watched = WatchedGames::Games(more);
        for feed in &feeds {
            self.send_current_games(&watched, feed);
        }
        !feeds.is_empty()
    }

    fn send_current_games(&self, watched: &WatchedGames, feed: &Feed) {
        let ongoing_only = matches!(watched, WatchedGames::Users(_));
        let news: Vec<u8> = self
            .rounds
            .iter()
            .filter(|round| round.referee.is_running() || !ongoing_only)
            .filter(|round| watched.contains(round))
            .flat_map(spectator::update_line)
            .collect();
        if !news.is_empty() {
            feed.push(news.into());
        }
    }
}

/// Challenges.
impl SiteState {
    /// Creates a challenge, with a keep-alive stream if requested.
    pub(crate) fn challenge(
        &mut self,
        me: &UserId,
        dest: &str,
        config: ChallengeConfig,
        now: SimTime,
    ) -> Result<(GameId, Option<Feed>), ApiError> {
        let dest = self
            .users
            .by_name(dest)
            .map(|user| user.id.clone())
            .ok_or_else(|| ApiError::bad_request(format!("No such user: {dest}")))?;
        check_challenge(&self.users, &mut self.limits, me, &dest, &config, now)?;
        self.challenges.replace(me, &dest, now);

        let id = self.new_id();
        let final_color = config.color.resolve(&mut self.rng);
        let feed = config.keep_alive.then(Feed::default);
        let mut challenge = Challenge {
            challenger: Some(me.clone()),
            dest: Some(dest),
            stream: feed.clone(),
            ..Challenge::new(id, config, final_color, now)
        };
        // Anonymous players have no rating.
        challenge.rated &= self.users.get(me).account_kind == AccountKind::User;
        if let Some(feed) = &feed {
            feed.push(challenge::keep_alive_line(self, &challenge, now));
        }
        let effects = self.challenges.publish(challenge, &self.users, now);
        self.apply(effects, now);
        Ok((id, feed))
    }

    pub(crate) fn open_challenge(
        &mut self,
        config: ChallengeConfig,
        open: OpenChallenge,
        now: SimTime,
    ) -> Object {
        let id = self.new_id();
        let final_color = config.color.resolve(&mut self.rng);
        let challenge = Challenge {
            open: Some(open),
            ..Challenge::new(id, config, final_color, now)
        };
        let shown = challenge::open_challenge_json(self, &challenge, now);
        self.challenges.add(challenge);
        shown
    }

    /// Accepts a challenge or a rematch. The preferred color is only used for open challenges.
    pub(crate) fn accept(
        &mut self,
        me: &UserId,
        id: GameId,
        color: Option<Color>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let services = (&self.users, &mut self.limits);
        let effects = if self.challenges.contains(id) {
            self.challenges.accept(me, id, color, services, now)
        } else {
            self.rematches.respond(me, id, true, services, now)
        }?;
        self.apply(effects, now);
        Ok(())
    }

    /// Declines a challenge or a rematch.
    pub(crate) fn decline(
        &mut self,
        me: &UserId,
        id: GameId,
        reason: DeclineReason,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let effects = if self.challenges.contains(id) {
            self.challenges.decline(me, id, reason, now)
        } else {
            let services = (&self.users, &mut self.limits);
            self.rematches.respond(me, id, false, services, now)
        }?;
        self.apply(effects, now);
        Ok(())
    }

    /// Cancels a challenge: a challenger cancels, a recipient declines, a game that was created from it is aborted.
    /// `opponent` is the owner of the `opponentToken` in the request, if there was one.
    pub(crate) fn cancel(
        &mut self,
        me: &UserId,
        id: GameId,
        opponent: Option<Option<UserId>>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let mut canceled = self.challenges.cancel(me, id, now);
        let plays = self.rounds.player(me, Some(id)).is_ok();
        if canceled.is_none() && !plays && self.challenges.is_creator(me, id, now) {
            canceled = self.challenges.cancel_open(id, now);
            let round = self.rounds.get(id).filter(|r| r.referee.is_running());
            if let (None, Some(round)) = (&canceled, round) {
                if round.referee.plies() >= 2 {
                    return Err(ApiError::bad_request("The game can no longer be aborted"));
                }
                return Ok(self.act(id, |referee| referee.abort_by_consent(now), now)?);
            }
        }
        match canceled {
            Some(effects) => {
                self.apply(effects, now);
                Ok(())
            }
            None => self.cancel_round(me, id, opponent, now),
        }
    }

    /// Cancels a challenge that has become a game by aborting the game: without consent while the game is abortable,
    /// afterwards with the opponent's token as consent.
    fn cancel_round(
        &mut self,
        me: &UserId,
        id: GameId,
        opponent: Option<Option<UserId>>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let (round, color) = self
            .rounds
            .player(me, Some(id))
            .map_err(|_| ApiError::not_found())?;
        if !round.referee.is_running() {
            return Err(ApiError::not_found());
        }
        if round.referee.is_abortable() {
            return Ok(self.act(id, |referee| referee.abort(now), now)?);
        }
        let other = &round.side(!color).user;
        match opponent {
            None => Err(ApiError::bad_request("Missing opponentToken")),
            Some(user) if user.as_ref() != Some(other) => {
                Err(ApiError::bad_request("Not the opponent token"))
            }
            Some(_) => Ok(self.act(id, |referee| referee.abort_by_consent(now), now)?),
        }
    }
}

/// The lobby.
impl SiteState {
    /// Seeks a game: starts the one with the oldest seek that matches, or waits for somebody. Returns the id of the seek,
    /// and its stream if it has a clock.
    pub(crate) fn seek(
        &mut self,
        me: &UserId,
        config: SeekConfig,
        now: SimTime,
    ) -> Result<(GameId, Option<Feed>), ApiError> {
        let id = self.new_id();
        let has_clock = matches!(config.time_control, TimeControl::Clock { .. });
        let is_known = self.users.get(me).account_kind == AccountKind::User;
        if !has_clock && !is_known {
            return Err(ApiError::bad_request("Anonymous users cannot create seeks"));
        }
        let feed = has_clock.then(Feed::default);
        let stream = match &feed {
            Some(feed) => Some(SeekStream {
                feed: feed.clone(),
                _permit: self.limits.acquire(SEEKS, me.as_str())?,
            }),
            None => None,
        };
        let seek = Seek {
            id,
            user: me.clone(),
            config: SeekConfig {
                rated: config.rated && is_known,
                ..config
            },
            created_at: now,
            stream,
        };
        let found = self.lobby.take_match(&seek, &self.users);
        // A correspondence seek that is answered at once needs no place.
        if has_clock || found.is_none() {
            self.lobby.make_room(me, has_clock);
        }
        match found {
            Some(found) => self.start_sought(found, me.clone(), now),
            None => {
                self.lobby.add(seek);
                self.apply(vec![Effect::NotifyAll(Notice::Seek(id))], now);
            }
        }
        Ok((id, feed))
    }

    /// Joins a seek, if it is open for this user.
    pub(crate) fn join_seek(&mut self, me: &UserId, id: GameId, now: SimTime) {
        let seek = self.lobby.get(id);
        if seek.is_some_and(|seek| seek.admits(self.users.get(me), &self.users))
            && let Some(seek) = self.lobby.remove(id)
        {
            self.start_sought(seek, me.clone(), now);
        }
    }

    /// Starts the game of a seek.
    fn start_sought(&mut self, seek: Seek, opponent: UserId, now: SimTime) {
        let color = seek.config.color.resolve(&mut self.rng);
        let id = self.new_id();
        self.start_round(seek.setup(id, opponent, color), now);
    }
}

/// Games.
impl SiteState {
    /// Runs a command of the referee and sends the resulting states.
    pub(crate) fn act(
        &mut self,
        id: GameId,
        command: impl FnOnce(&mut Referee) -> ActionOutcome,
        now: SimTime,
    ) -> Result<(), GameError> {
        let (effects, result) = self.rounds.act(id, command);
        self.apply(effects, now);
        result
    }

    /// Handles the return of a built-in player.
    pub(crate) fn on_returned(&mut self, id: GameId, color: Color, now: SimTime) {
        let effects = self.rounds.on_returned(id, color);
        self.apply(effects, now);
    }

    /// Starts a game against the AI.
    pub(crate) fn start_ai_game(
        &mut self,
        me: &UserId,
        engine: UserId,
        config: ChallengeConfig,
        now: SimTime,
    ) -> GameId {
        let id = self.new_id();
        let mut users = [me.clone(), engine];
        if config.color.resolve(&mut self.rng) == Color::Black {
            users.swap(0, 1);
        }
        let setup = Setup {
            id,
            users,
            source: Source::Ai,
            variant: config.variant,
            start: config.start,
            time_control: config.time_control,
            rated: false,
            rules: Vec::new(),
        };
        self.start_round(setup, now);
        id
    }

    /// Starts a casual game between two users, White first, without a challenge. Returns `None` if one of them does not
    /// exist.
    pub(crate) fn pair(
        &mut self,
        players: [&str; 2],
        clock: TimeControl,
        rules: &[&'static str],
        now: SimTime,
    ) -> Option<GameId> {
        let known = players.map(|name| self.users.by_name(name).map(|user| user.id.clone()));
        let [Some(white), Some(black)] = known else {
            tracing::warn!("no game was started: {players:?} do not both exist");
            return None;
        };
        let id = self.new_id();
        let setup = Setup {
            id,
            users: [white, black],
            source: Source::Api,
            variant: Variant::Standard,
            start: None,
            time_control: clock,
            rated: false,
            rules: rules.to_vec(),
        };
        self.start_round(setup, now);
        Some(id)
    }

    /// Posts a chat line. Lines of bots that contain links are dropped silently, as on Lichess.
    pub(crate) fn say(&mut self, user: &UserId, id: GameId, room: Room, text: &str) {
        let user = self.users.get(user);
        let Some(round) = self.rounds.get(id) else {
            return;
        };
        // Games against the AI have no chat, and kid mode disables it.
        let is_closed = user.kid || (room == Room::Player && !round.has_chat());
        if is_closed || (user.bot && has_link(text)) {
            return;
        }
        let receives = round.users().map(|player| {
            let player = self.users.get(&player);
            !player.kid && (room == Room::Player || player.bot)
        });
        let name = match (user.account_kind, round.color_of(&user.id)) {
            (AccountKind::User, _) | (_, None) => user.name.clone(),
            (_, Some(color)) => color.key().to_owned(),
        };
        let line = game::chat_line(room, &name, text);
        self.rounds.push(id, &line, |color| receives[color.index()]);
        self.rounds.say(id, room, name, text);
    }

    /// Offers a rematch, or accepts the opponent's offer. Returns the id of the next game.
    pub(crate) fn offer_rematch(
        &mut self,
        me: &UserId,
        game: GameId,
        now: SimTime,
    ) -> Result<GameId, ApiError> {
        let player = self.rounds.player(me, Some(game))?;
        let new_id = || unused_id(&mut self.rng, &self.rounds, &self.challenges);
        let (id, effects) = self
            .rematches
            .offer(me, player, new_id, &mut self.limits, now)?;
        self.apply(effects, now);
        Ok(id)
    }

    /// Withdraws the user's own offer. Returns whether there was one.
    pub(crate) fn withdraw_rematch(&mut self, me: &UserId, game: GameId, now: SimTime) -> bool {
        let withdrawn = self.rematches.withdraw(me, game, &self.rounds, now);
        let found = withdrawn.is_some();
        self.apply(withdrawn.unwrap_or_default(), now);
        found
    }

    /// Creates a regular challenge to a rematch, as the web page of a game does.
    pub(crate) fn challenge_to_rematch(
        &mut self,
        me: &UserId,
        game: GameId,
        now: SimTime,
    ) -> Result<GameId, ApiError> {
        let (round, color) = self.rounds.player(me, Some(game))?;
        if !round.allows_rematch() {
            return Err(ApiError::bad_request(NO_REMATCH));
        }
        let to = round.side(!color).user.clone();
        check_bot_games(&self.users, &mut self.limits, me, &to, now)?;
        let id = self.new_id();
        let round = self.rounds.find(game)?;
        let challenge = self.rematches.challenge(round, (me, &to), id, now);
        let effects = self.challenges.publish(challenge, &self.users, now);
        self.apply(effects, now);
        Ok(id)
    }
}

/// Teams, arenas and built-in players.
impl SiteState {
    /// Creates a team. Accounts of leader and members are created if missing.
    pub(crate) fn add_team(&mut self, team: NewTeam, now: SimTime) {
        for name in team.leader.iter().chain(&team.members) {
            self.users.add(NewUser::human(name), now);
        }
        self.teams.add(team, now);
    }

    /// Leaves a team and its arenas.
    pub(crate) fn quit_team(&mut self, me: &UserId, id: &str) -> Result<(), ApiError> {
        let team = self.teams.quit(me, id)?;
        self.arenas.leave_those_of(&team, me);
        Ok(())
    }

    /// Creates an arena. The account of its creator is created if missing.
    ///
    /// # Errors
    /// Invalid options, a duplicate id, or an unknown team.
    pub(crate) fn add_arena(
        &mut self,
        options: &ArenaOptions,
        now: SimTime,
    ) -> Result<ArenaId, String> {
        let id = self.arenas.add(options, &self.teams, &mut self.rng, now)?;
        if let Some(name) = &options.created_by {
            self.users.add(NewUser::human(name), now);
        }
        self.apply(vec![Effect::NotifyAll(Notice::Arena(id))], now);
        Ok(id)
    }

    pub(crate) fn join_arena(
        &mut self,
        me: &UserId,
        id: ArenaId,
        entry: &JoinRequest,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let user = self.users.get(me);
        let services = (&self.teams, &mut self.limits, &*self.quirks.restriction);
        self.arenas.join(user, id, entry, services, now)
    }

    /// Joins a built-in player to an arena that admits bots, with its password and team membership.
    pub(crate) fn join_as_builtin(&mut self, user: &UserId, id: ArenaId, now: SimTime) {
        let arena = self.arenas.get(id);
        let Some(config) = arena
            .map(|arena| &arena.config)
            .filter(|c| c.conditions.bots)
        else {
            return;
        };
        let entry = JoinRequest {
            password: config.password.clone(),
            team: config.team_battle.first().map(TeamId::to_string),
            pair_me_asap: true,
        };
        for team in config.conditions.team.iter().chain(&config.team_battle) {
            self.teams.add_member(team, user, now);
        }
        if let Err(why) = self.join_arena(user, id, &entry, now) {
            tracing::debug!("{user} cannot join arena {id}: {why:?}");
        }
    }

    /// Goes berserk in a game; `false` if rejected: for bots, a second time, after both have moved, and in games without
    /// berserk.
    pub(crate) fn berserk(&mut self, me: &UserId, game: GameId, now: SimTime) -> bool {
        let Ok((round, color)) = self.rounds.player(me, Some(game)) else {
            return false;
        };
        let Source::Arena {
            id,
            berserkable: true,
            ..
        } = round.source
        else {
            return false;
        };
        let is_accepted = !self.users.get(me).bot
            && self
                .act(game, |referee| referee.berserk(color, now), now)
                .is_ok();
        if is_accepted {
            self.arenas.on_berserk(id, game, color);
        }
        is_accepted
    }

    /// Creates the account of a built-in player if there is none. Returns its notices, or `None` if a built-in player of
    /// this name exists.
    pub(crate) fn add_builtin_player(
        &mut self,
        options: &PlayerOptions,
        now: SimTime,
    ) -> Option<mpsc::UnboundedReceiver<Notice>> {
        let me = UserId::of(&options.name);
        let notices = self.event_streams.add_builtin(&me)?;
        let account = if options.bot {
            NewUser::bot(&options.name)
        } else {
            NewUser::human(&options.name)
        };
        self.users.add(account.rating(options.rating), now);
        self.users
            .set_builtin(&me, options.behavior.allows_takebacks());
        if options.joins_arenas {
            let open = |arena: &&Arena| arena.status != ArenaStatus::Finished;
            let ids: Vec<ArenaId> = self.arenas.iter().filter(open).map(|a| a.id).collect();
            for id in ids {
                self.join_as_builtin(&me, id, now);
            }
        }
        Some(notices)
    }
}
