//! The games of a site: ongoing and archived ones.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use knightwatch_chess::{Color, Position};
use tokio::sync::{Notify, watch};

use crate::faults::StreamFault;
use crate::quirks::{Castling, Quirks};
use crate::referee::{
    ActionOutcome, ArenaGameConfig, Centis, FirstMoveLimit, GameConfig, GameError, Referee,
    first_move_timeout,
};
use crate::round::chat::{ChatMessage, Room};
use crate::round::setup::{Setup, Source};
use crate::round::summary::GameSummary;
use crate::round::{COLORS, PlayerStream, Round, Side};
use crate::site::feed::KEEP_ALIVE_INTERVAL;
use crate::site::id::Secrets;
use crate::site::{
    ApiError, Effect, Feed, GameId, Notice, Perf, SimTime, Speed, User, UserId, Variant,
};
use crate::time_control::TimeControl;

/// Upper limit of chat lines of a game; older ones are dropped.
const MAX_CHAT_LINES: usize = 1_000;

/// Time after which a game without moves is deleted.
const UNPLAYED_GAME_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// All games.
pub(crate) struct Rounds {
    all: HashMap<GameId, Round>,
    ongoing: Vec<GameId>,
    /// Oldest first.
    archived: VecDeque<GameId>,
    max_archived: usize,
    quirks: Arc<Quirks>,
    /// Current notation of castling moves.
    castling: Castling,
    /// Number of games that have finished.
    finished_count: watch::Sender<usize>,
    /// Notified at every change of a game.
    changed: Arc<Notify>,
}

impl Rounds {
    /// Keeps at most this many archived games.
    pub(crate) fn new(
        max_archived: usize,
        quirks: Arc<Quirks>,
        finished_count: watch::Sender<usize>,
        changed: Arc<Notify>,
    ) -> Self {
        Self {
            all: HashMap::new(),
            ongoing: Vec::new(),
            archived: VecDeque::new(),
            max_archived,
            castling: quirks.castling,
            quirks,
            finished_count,
            changed,
        }
    }

    pub(crate) fn get(&self, id: GameId) -> Option<&Round> {
        self.all.get(&id)
    }

    /// Changes a game, if it is stored.
    fn edit(&mut self, id: GameId, change: impl FnOnce(&mut Round)) {
        if let Some(round) = self.all.get_mut(&id) {
            change(round);
        }
    }

    /// Finds the game named in a request.
    pub(crate) fn find(&self, id: GameId) -> Result<&Round, ApiError> {
        self.get(id).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn contains(&self, id: GameId) -> bool {
        self.all.contains_key(&id)
    }

    /// All games, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Round> {
        self.all.values()
    }

    pub(crate) fn ongoing(&self) -> impl Iterator<Item = &Round> {
        self.ongoing.iter().filter_map(|id| self.all.get(id))
    }

    pub(crate) fn ongoing_ids(&self) -> Vec<GameId> {
        self.ongoing.clone()
    }

    /// Number of all games, of ongoing games and of players' open streams.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let streams = self.iter().map(|round| round.player_streams.len());
        (self.all.len(), self.ongoing.len(), streams.sum())
    }

    /// Returns the archived games, then the ongoing ones.
    pub(crate) fn summaries(&self, now: SimTime) -> Vec<GameSummary> {
        let ids = self.archived.iter().chain(&self.ongoing);
        let rounds = ids.filter_map(|id| self.all.get(id));
        rounds.map(|round| round.summary(now)).collect()
    }

    /// Returns the archived games after the first `first` ones, and how many games have finished in total.
    pub(crate) fn finished_after(&self, first: usize, now: SimTime) -> (Vec<GameSummary>, usize) {
        let total = *self.finished_count.borrow();
        let dropped = total - self.archived.len();
        let kept = self.archived.iter().skip(first.saturating_sub(dropped));
        let rounds = kept.filter_map(|id| self.all.get(id));
        (rounds.map(|round| round.summary(now)).collect(), total)
    }

    /// Returns the game and the color of this player in it.
    pub(crate) fn player(
        &self,
        user: &UserId,
        id: Option<GameId>,
    ) -> Result<(&Round, Color), ApiError> {
        let round = id.and_then(|id| self.all.get(&id));
        let round = round.ok_or_else(|| ApiError::new(404, "No such game"))?;
        let color = round.color_of(user);
        Ok((
            round,
            color.ok_or_else(|| ApiError::new(404, "Not your game"))?,
        ))
    }

    /// Returns the user's ongoing game, else their last one.
    pub(crate) fn latest_of(&self, user: &UserId) -> Option<&Round> {
        self.iter()
            .filter(|round| round.color_of(user).is_some())
            .max_by_key(|round| (round.referee.is_running(), round.created_at))
    }

    /// Starts a game.
    pub(crate) fn start(
        &mut self,
        setup: Setup,
        users: [&User; 2],
        rng: &mut fastrand::Rng,
        now: SimTime,
    ) -> Vec<Effect> {
        let rules = ["noAbort", "noEarlyDraw", "noClaimWin", "noRematch"];
        let [no_abort, no_early_draw, no_claim_win, no_rematch] =
            rules.map(|rule| setup.rules.contains(&rule));
        let start = match (setup.variant, setup.start) {
            (_, Some(start)) => start,
            (Variant::Chess960, None) => {
                let number = rng.u32(0..960);
                Position::chess960_start(number).unwrap_or_else(Position::startpos)
            }
            (variant, None) => variant.rules().start(),
        };
        let speed = Speed::of(setup.time_control);
        let arena = match setup.source {
            Source::Arena { berserkable, .. } => Some(ArenaGameConfig { berserkable }),
            Source::Friend | Source::Ai | Source::Api | Source::Lobby => None,
        };
        // Games of friends never expire, nor games without a clock (`RoundGame#expirable` of lila).
        let has_clock = matches!(setup.time_control, TimeControl::Clock { .. });
        let expires = matches!(setup.source, Source::Lobby | Source::Arena { .. }) && has_clock;
        let first_move_limit = expires.then(|| FirstMoveLimit {
            timeout: first_move_timeout(arena.is_some(), setup.variant, speed),
            is_shown: self.quirks.expiration,
        });
        // Takebacks can be proposed if both players allow them, or one plays in a browser.
        let takebacks = users.iter().any(|user| user.browser) || users.iter().all(|u| u.takebacks);
        let config = GameConfig {
            variant: setup.variant,
            start,
            time_control: setup.time_control,
            bot_plays: users.iter().any(|user| user.bot),
            takebacks: arena.is_none() && takebacks,
            ai: setup.source == Source::Ai,
            no_abort,
            no_early_draw,
            no_claim_win,
            castling: self.castling,
            first_move_limit,
            arena,
        };
        let round = Round {
            id: setup.id,
            sides: users.map(|user| Side::new(user, Perf::of(setup.variant, speed), now)),
            source: setup.source,
            rated: setup.rated,
            created_at: now,
            referee: Referee::new(config, now),
            secrets: Secrets::random(rng),
            variant: setup.variant,
            time_control: setup.time_control,
            quirks: Arc::clone(&self.quirks),
            player_streams: Vec::new(),
            chat: Vec::new(),
            no_rematch,
            fault_delays: [(Duration::ZERO, now); 2],
            rematch: None,
            next_flag_check: now + KEEP_ALIVE_INTERVAL,
        };
        self.ongoing.push(setup.id);
        self.all.insert(setup.id, round);
        let notify = |user| Effect::Notify(user, Notice::Game(setup.id));
        let mut effects = vec![Effect::Started(setup.id)];
        effects.extend(setup.users.map(notify));
        effects
    }

    /// Runs a command of the referee. The effects send the resulting states.
    pub(crate) fn act(
        &mut self,
        id: GameId,
        command: impl FnOnce(&mut Referee) -> ActionOutcome,
    ) -> (Vec<Effect>, Result<(), GameError>) {
        let Some(round) = self.all.get_mut(&id) else {
            return (Vec::new(), Ok(()));
        };
        let was_running = round.referee.is_running();
        let ActionOutcome { snapshots, result } = command(&mut round.referee);
        if snapshots.is_empty() {
            return (Vec::new(), result);
        }
        self.changed.notify_one();
        let mut effects = vec![Effect::States(id, snapshots)];
        if was_running && !round.referee.is_running() {
            effects.push(Effect::Finished(id));
        }
        effects.push(Effect::Watched(id));
        let notify = |user| Effect::Notify(user, Notice::Game(id));
        effects.extend(round.users().map(notify));
        (effects, result)
    }

    /// Ends the game if the side to move is out of time.
    pub(crate) fn check_flag(&mut self, id: GameId, now: SimTime) -> Vec<Effect> {
        self.act(id, |referee| referee.check_flag(now)).0
    }

    /// Adds time to both clocks; the players see it at once or with the next state. `bonus` is that of the side to move
    /// or of the other one.
    pub(crate) fn give_time(
        &mut self,
        id: GameId,
        bonus: impl Fn(bool) -> Centis,
        now: SimTime,
    ) -> Vec<Effect> {
        let is_pushed = self.quirks.gifts_push;
        let (effects, _) = self.act(id, |referee| {
            let turn = referee.turn();
            for color in COLORS {
                referee.add_time(color, bonus(color == turn));
            }
            let mut outcome = referee.no_change();
            if is_pushed {
                outcome.snapshots.push(referee.snapshot(now));
            }
            outcome
        });
        effects
    }

    /// Notes a restart of the site in a game.
    pub(crate) fn on_site_restart(&mut self, id: GameId, at: SimTime) {
        self.edit(id, |round| round.referee.on_site_restart(at));
    }

    /// Starts the clock of a game.
    pub(crate) fn start_clock(&mut self, id: GameId, now: SimTime) {
        self.edit(id, |round| round.referee.start_clock(now));
    }

    /// Changes the notation of castling moves, also in ongoing games. Without one, that of the quirks applies again.
    pub(crate) fn set_castling(&mut self, castling: Option<Castling>) {
        let castling = castling.unwrap_or(self.quirks.castling);
        self.castling = castling;
        for id in self.ongoing_ids() {
            self.edit(id, |round| round.referee.set_castling_notation(castling));
        }
    }

    /// Adds a player's stream to an ongoing game and ends their previous one with the same `User-Agent`. The stream of a
    /// finished game ends at once.
    pub(crate) fn open_stream(&mut self, id: GameId, stream: PlayerStream) -> Vec<Effect> {
        let Some(round) = self.all.get_mut(&id) else {
            return Vec::new();
        };
        let color = stream.color;
        round.player_streams.retain(|old| {
            let same = old.color == color && old.user_agent == stream.user_agent;
            if same {
                old.feed.end();
            }
            !same
        });
        if !round.referee.is_running() {
            stream.feed.end();
            return Vec::new();
        }
        round.player_streams.push(stream);
        self.on_returned(id, color)
    }

    /// Handles the return of a player.
    pub(crate) fn on_returned(&mut self, id: GameId, color: Color) -> Vec<Effect> {
        let round = self.all.get_mut(&id);
        let is_reported = round.is_some_and(|round| round.on_returned(color));
        let effect = is_reported.then_some(Effect::OpponentGone {
            game: id,
            to: !color,
            claim_in: None,
        });
        effect.into_iter().collect()
    }

    /// Marks a player as absent, also a built-in one.
    pub(crate) fn leave(&mut self, id: GameId, color: Color, now: SimTime) {
        self.edit(id, |round| round.sides[color.index()].presence.leave(now));
    }

    /// Handles a player's stream that was closed by its reader.
    pub(crate) fn on_stream_closed(&mut self, id: GameId, color: Color, feed: &Feed, now: SimTime) {
        self.edit(id, |round| {
            round.player_streams.retain(|stream| !stream.feed.is(feed));
            let mut streams = round.player_streams.iter();
            if !streams.any(|stream| stream.color == color) {
                round.sides[color.index()].presence.on_left(now);
            }
        });
    }

    /// Sends a line to the players' streams of a game.
    pub(crate) fn push(&self, id: GameId, line: &Bytes, receives: impl Fn(Color) -> bool) {
        let round = self.all.get(&id).into_iter();
        let streams = round.flat_map(|round| &round.player_streams);
        let streams = streams.filter(|stream| receives(stream.color));
        streams.for_each(|stream| stream.feed.push(line.clone()));
    }

    /// Applies a fault to the players' streams of one game or all, of these users.
    pub(crate) fn inject_fault(
        &self,
        game: Option<GameId>,
        matches: impl Fn(&UserId) -> bool,
        fault: StreamFault,
    ) {
        let rounds = self.iter();
        rounds
            .filter(|round| game.is_none_or(|game| game == round.id))
            .flat_map(|round| &round.player_streams)
            .filter(|stream| matches(&stream.user))
            .for_each(|stream| stream.feed.inject_fault(fault));
    }

    /// Closes all players' streams, including silent ones.
    pub(crate) fn close(&self) {
        let streams = self.iter().flat_map(|round| &round.player_streams);
        streams.for_each(|stream| stream.feed.close());
    }

    pub(crate) fn say(&mut self, id: GameId, room: Room, name: String, text: &str) {
        let text = text.to_owned();
        self.edit(id, |round| {
            if round.chat.len() == MAX_CHAT_LINES {
                round.chat.remove(0);
            }
            round.chat.push(ChatMessage { room, name, text });
        });
    }

    /// Counts clock time that a fault costs a player by delaying their move.
    pub(crate) fn add_fault_delay(
        &mut self,
        id: GameId,
        color: Color,
        from: SimTime,
        until: SimTime,
    ) {
        self.edit(id, |round| round.add_fault_delay(color, from, until));
    }

    pub(crate) fn set_rematch(&mut self, id: GameId, next: GameId) {
        self.edit(id, |round| round.rematch = Some(next));
    }

    /// Ends the players' streams of a game.
    pub(crate) fn end_streams(&mut self, id: GameId) {
        self.edit(id, Round::end_streams);
    }

    pub(crate) fn set_rating_diffs(&mut self, id: GameId, diffs: [i32; 2]) {
        self.edit(id, |round| {
            for (side, diff) in round.sides.iter_mut().zip(diffs) {
                side.rating_diff = Some(diff);
            }
        });
    }

    /// Archives a finished game and drops the oldest archived game if there are too many.
    pub(crate) fn archive(&mut self, id: GameId) {
        self.ongoing.retain(|other| *other != id);
        self.archived.push_back(id);
        if self.archived.len() > self.max_archived
            && let Some(oldest) = self.archived.pop_front()
        {
            self.all.remove(&oldest);
        }
        self.finished_count.send_modify(|count| *count += 1);
    }

    /// Periodic work on one game.
    pub(crate) fn tick(&mut self, id: GameId, now: SimTime) -> Vec<Effect> {
        let Some(round) = self.all.get_mut(&id) else {
            return Vec::new();
        };
        let clockless = !matches!(round.time_control, TimeControl::Clock { .. });
        let is_unplayed = round.referee.plies() < 2;
        if is_unplayed && !clockless && now.since(round.created_at) > UNPLAYED_GAME_LIFETIME {
            return self.delete(id);
        }
        let mut effects: Vec<Effect> = round
            .absences(now)
            .into_iter()
            .map(|(to, seconds)| Effect::OpponentGone {
                game: id,
                to,
                claim_in: Some(seconds),
            })
            .collect();
        if round.referee.config().first_move_limit.is_some() && is_unplayed {
            effects.extend(self.act(id, |referee| referee.check_first_move(now)).0);
            return effects;
        }
        // Built-in players have no stream whose keep-alive lines would trigger the check.
        let has_builtin_player = round.sides.iter().any(|side| side.presence.is_builtin());
        if now >= round.next_flag_check && (has_builtin_player || clockless) {
            round.next_flag_check = now + KEEP_ALIVE_INTERVAL;
            effects.extend(self.check_flag(id, now));
            effects.extend(self.act(id, |referee| referee.check_abandoned(now)).0);
        }
        effects
    }

    /// Deletes a game that was never played. Its streams end without a further line.
    fn delete(&mut self, id: GameId) -> Vec<Effect> {
        let Some(mut round) = self.all.remove(&id) else {
            return Vec::new();
        };
        round.end_streams();
        self.ongoing.retain(|other| *other != id);
        vec![Effect::Deleted(id, round.users())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::NewUser;
    use crate::site::users::Users;

    fn id(text: &str) -> GameId {
        GameId::parse(text).unwrap()
    }

    fn at(seconds: u64) -> SimTime {
        SimTime(0) + Duration::from_secs(seconds)
    }

    /// Creates a site that archives one game, and starts these games of Anna against Bob.
    fn rounds(ids: &[&str]) -> Rounds {
        let mut users = Users::default();
        let names = ["Anna", "Bob"].map(|name| {
            users.add(NewUser::bot(name), at(0));
            UserId::of(name)
        });
        let mut rounds = Rounds::new(1, Arc::default(), watch::Sender::new(0), Arc::default());
        for text in ids {
            let setup = Setup {
                id: id(text),
                users: names.clone(),
                source: Source::Friend,
                variant: Variant::Standard,
                start: None,
                time_control: TimeControl::clock(60, 0),
                rated: true,
                rules: Vec::new(),
            };
            let players = names.each_ref().map(|name| users.get(name));
            let effects = rounds.start(setup, players, &mut fastrand::Rng::with_seed(1), at(0));
            assert!(matches!(
                effects[..],
                [Effect::Started(_), Effect::Notify(..), Effect::Notify(..)]
            ));
        }
        rounds
    }

    #[test]
    fn command_returns_states_and_the_end() {
        let mut rounds = rounds(&["aaaaaaaa"]);
        let game = id("aaaaaaaa");
        let (effects, result) = rounds.act(game, |referee| {
            referee.play(Color::White, "e2e4", false, at(1))
        });
        assert_eq!(result, Ok(()));
        assert!(matches!(
            &effects[..],
            [Effect::States(_, states), Effect::Watched(_), Effect::Notify(..), Effect::Notify(..)] if states.len() == 1
        ));
        let (effects, result) = rounds.act(game, |referee| {
            referee.play(Color::White, "e2e4", false, at(1))
        });
        assert!(effects.is_empty() && result.is_err());
        let (effects, _) = rounds.act(game, |referee| referee.abort(at(2)));
        assert!(matches!(
            effects[..2],
            [Effect::States(..), Effect::Finished(_)]
        ));
        assert!(
            rounds.get(game).unwrap().game_result(at(2)).is_none(),
            "aborted"
        );
    }

    #[test]
    fn archive_keeps_latest_games() {
        let mut rounds = rounds(&["aaaaaaaa", "bbbbbbbb", "cccccccc"]);
        for game in ["bbbbbbbb", "aaaaaaaa"] {
            let (effects, _) = rounds.act(id(game), |referee| referee.abort(at(1)));
            assert!(!effects.is_empty());
            rounds.archive(id(game));
        }
        assert_eq!(rounds.counts(), (2, 1, 0));
        let ids =
            |games: Vec<GameSummary>| games.into_iter().map(|game| game.id).collect::<Vec<_>>();
        assert_eq!(ids(rounds.summaries(at(2))), ["aaaaaaaa", "cccccccc"]);
        let (games, total) = rounds.finished_after(0, at(2));
        assert_eq!((ids(games), total), (vec!["aaaaaaaa".to_owned()], 2));
    }

    #[test]
    fn absence_is_told_to_the_opponent() {
        let mut rounds = rounds(&["aaaaaaaa"]);
        let game = id("aaaaaaaa");
        for (color, uci) in [(Color::White, "e2e4"), (Color::Black, "e7e5")] {
            let moved = rounds.act(game, |referee| referee.play(color, uci, false, at(0)));
            assert_eq!(moved.1, Ok(()));
        }
        let stream = PlayerStream {
            color: Color::White,
            user: UserId::of("Anna"),
            user_agent: String::new(),
            feed: Feed::default(),
        };
        let feed = stream.feed.clone();
        assert!(rounds.open_stream(game, stream).is_empty());
        assert!(rounds.tick(game, at(5)).is_empty());
        let effects = rounds.tick(game, at(6));
        assert!(matches!(
            effects[..],
            [Effect::OpponentGone {
                to: Color::White,
                claim_in: Some(24),
                ..
            }]
        ));
        rounds.on_stream_closed(game, Color::White, &feed, at(7));
        assert_eq!(rounds.counts().2, 0);
    }

    #[test]
    fn unplayed_game_is_deleted_after_a_day() {
        let mut rounds = rounds(&["aaaaaaaa"]);
        let effects = rounds.tick(id("aaaaaaaa"), at(24 * 3_600 + 1));
        assert!(matches!(effects[..], [Effect::Deleted(..)]));
        assert_eq!(rounds.counts(), (0, 0, 0));
    }
}
