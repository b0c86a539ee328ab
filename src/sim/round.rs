//! A game on the site: its players, its referee, who watches it, what is said in it.

use std::time::Duration;

use crate::chess::{CastlingNotation, Color, Game, Position};

use super::challenge::Challenge;
use super::failure::Failure;
use super::faults::StreamFault;
use super::id::{GameId, Secrets, UserId};
use super::options::TimeControl;
use super::presence::Presence;
use super::referee::{Referee, Refusal, Ruling, Status, Terms, View};
use super::sparring::GameSummary;
use super::stream::{Feed, HEARTBEAT};
use super::time::Moment;
use super::variant::{Perf, Speed, Variant};
use super::wire::{
    self, ChatEntry, ChatLine, ClockJson, Compat, GameEvent, GameFull, GamePlayer, GamePreview,
    GameState, NowPlaying, Opponent, PerfJson, VariantJson, color_name,
};
use super::world::{Notice, World};

/// A game in which nobody has moved is deleted after this.
const UNPLAYED_KEPT: Duration = Duration::from_secs(24 * 3_600);

pub(super) const COLORS: [Color; 2] = [Color::White, Color::Black];

/// One of the two who play.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub user: UserId,
    pub name: String,
    pub title: Option<&'static str>,
    pub rating: i32,
    pub rating_diff: Option<i32>,
    provisional: bool,
    pub presence: Presence,
}

struct Watcher {
    user: UserId,
    color: Color,
    user_agent: String,
    feed: Feed,
}

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

struct Said {
    room: Room,
    name: String,
    text: String,
}

pub(super) struct Round {
    pub id: GameId,
    pub sides: [Side; 2],
    pub rated: bool,
    pub created_at: Moment,
    pub referee: Referee,
    secrets: Secrets,
    variant: Variant,
    time_control: TimeControl,
    watchers: Vec<Watcher>,
    chat: Vec<Said>,
    next_look: Moment,
}

impl Round {
    pub fn speed(&self) -> Speed {
        Speed::of(self.time_control)
    }

    pub fn perf(&self) -> Perf {
        Perf::of(self.variant, self.speed())
    }

    pub fn variant(&self) -> Variant {
        self.variant
    }

    pub fn time_control(&self) -> TimeControl {
        self.time_control
    }

    pub fn side(&self, color: Color) -> &Side {
        &self.sides[color.index()]
    }

    pub fn color_of(&self, user: &UserId) -> Option<Color> {
        COLORS
            .into_iter()
            .find(|color| self.side(*color).user == *user)
    }

    /// Bots may play it through the API.
    pub fn suits_bots(&self) -> bool {
        self.speed() >= Speed::Bullet
    }

    fn initial_fen(&self) -> String {
        match self.variant {
            Variant::Standard => "startpos".to_owned(),
            Variant::Chess960 | Variant::FromPosition => self.referee.terms().start.fen(),
        }
    }

    fn push(&self, line: &bytes::Bytes, to: impl Fn(&Watcher) -> bool) {
        for watcher in self.watchers.iter().filter(|watcher| to(watcher)) {
            watcher.feed.push(line.clone());
        }
    }

    /// Tells one side something about the other.
    pub fn push_to(&self, color: Color, line: &bytes::Bytes) {
        self.push(line, |watcher| watcher.color == color);
    }

    /// Breaks the streams of these users.
    pub fn cut(&self, meant: &dyn Fn(&UserId) -> bool, how: StreamFault) {
        for watcher in self.watchers.iter().filter(|watcher| meant(&watcher.user)) {
            watcher.feed.break_off(how);
        }
    }

    /// Ends all streams, also silent ones.
    pub fn close(&self) {
        for watcher in &self.watchers {
            watcher.feed.close();
        }
    }

    fn end_streams(&mut self) {
        for watcher in self.watchers.drain(..) {
            watcher.feed.end();
        }
    }

    fn preview(&self, color: Color, now: Moment) -> GamePreview {
        let (mine, theirs) = (self.side(color), self.side(!color));
        let referee = &self.referee;
        let over = !referee.is_on();
        let game = referee.game();
        let name = match theirs.title {
            Some(title) => format!("{title} {}", theirs.name),
            None => theirs.name.clone(),
        };
        GamePreview {
            full_id: self.secrets.full_id(self.id, color),
            game_id: self.id.to_string(),
            fen: game.position().fen(),
            color: color_name(color),
            last_move: game.moves().last().map_or_else(String::new, |mv| {
                mv.uci(CastlingNotation::Standard).to_string()
            }),
            source: "friend",
            status: referee.status().into(),
            variant: VariantJson::brief(self.variant),
            speed: self.speed().key(),
            perf: self.perf().key,
            rated: self.rated,
            has_moved: has_moved(game, color),
            opponent: Opponent {
                id: theirs.user.to_string(),
                username: name,
                rating: theirs.rating,
                rating_diff: theirs.rating_diff,
            },
            is_my_turn: !over && referee.turn() == color,
            seconds_left: referee.seconds_left(color, now),
            winner: referee.winner().map(color_name),
            rating: over.then_some(mine.rating),
            rating_diff: mine.rating_diff,
            compat: None,
            id: None,
        }
    }

    fn event(&self, kind: &'static str, color: Color, now: Moment) -> GameEvent {
        let mut game = self.preview(color, now);
        let clockless = !matches!(self.time_control, TimeControl::Clock { .. });
        game.compat = Some(Compat {
            bot: self.side(color).title == Some("BOT") && self.suits_bots(),
            board: clockless || self.speed() >= Speed::Blitz,
        });
        game.id = Some(self.id.to_string());
        GameEvent { kind, game }
    }

    fn full_line(&self, now: Moment) -> bytes::Bytes {
        let view = self.referee.view(now);
        let player = |color| {
            let side = self.side(color);
            GamePlayer {
                id: side.user.to_string(),
                name: side.name.clone(),
                title: side.title,
                rating: side.rating,
                provisional: side.provisional,
            }
        };
        let (clock, days_per_turn) = match self.time_control {
            TimeControl::Clock { limit, increment } => {
                let clock = ClockJson {
                    initial: u64::from(limit) * 1_000,
                    increment: u64::from(increment) * 1_000,
                };
                (Some(clock), None)
            }
            TimeControl::Days(days) => (None, Some(days)),
            TimeControl::Unlimited => (None, None),
        };
        wire::line(&GameFull {
            id: self.id.to_string(),
            variant: VariantJson::full(self.variant),
            speed: self.speed().key(),
            perf: PerfJson::named(self.perf()),
            rated: self.rated,
            created_at: self.created_at.0,
            white: player(Color::White),
            black: player(Color::Black),
            initial_fen: self.initial_fen(),
            clock,
            days_per_turn,
            kind: "gameFull",
            state: GameState::from(&view),
        })
    }

    pub fn result(&self) -> &'static str {
        match (self.referee.status(), self.referee.winner()) {
            (Status::Started | Status::Aborted, _) => "*",
            (_, Some(Color::White)) => "1-0",
            (_, Some(Color::Black)) => "0-1",
            (_, None) => "1/2-1/2",
        }
    }

    pub fn summary(&self) -> GameSummary {
        GameSummary {
            id: self.id.to_string(),
            white: self.side(Color::White).name.clone(),
            black: self.side(Color::Black).name.clone(),
            variant: self.variant.key(),
            time_control: self.time_control,
            rated: self.rated,
            plies: self.referee.plies(),
            status: self.referee.status().name(),
            result: self.result(),
        }
    }
}

fn has_moved(game: &Game, color: Color) -> bool {
    let first = game.initial().turn() == color;
    game.moves().len() > usize::from(!first)
}

impl World {
    /// An accepted challenge becomes a game; both players are told.
    pub fn begin_round(&mut self, challenge: &Challenge, now: Moment) {
        let start = match (challenge.variant, &challenge.start) {
            (_, Some(start)) => start.clone(),
            (Variant::Chess960, None) => {
                let number = self.rng.u32(0..960);
                Position::chess960_start(number).unwrap_or_else(Position::startpos)
            }
            (_, None) => Position::startpos(),
        };
        let mut users = [&challenge.challenger, &challenge.dest];
        if challenge.final_color == Color::Black {
            users.swap(0, 1);
        }
        let perf = challenge.perf();
        let sides = users.map(|id| {
            let user = self.user(id);
            let rating = user.rating(perf.key);
            Side {
                user: id.clone(),
                name: user.name.clone(),
                title: user.title(),
                rating: rating.value(),
                provisional: rating.is_provisional(),
                rating_diff: None,
                presence: Presence::new(user.sparring, now),
            }
        });
        let rule = |name: &str| challenge.rules.contains(&name);
        let terms = Terms {
            variant: challenge.variant,
            start,
            time_control: challenge.time_control,
            bot_plays: users.iter().any(|id| self.user(id).bot),
            takebacks: users.iter().all(|id| self.user(id).takebacks),
            no_abort: rule("noAbort"),
            no_early_draw: rule("noEarlyDraw"),
            no_claim_win: rule("noClaimWin"),
            castling: self.castling,
        };
        let round = Round {
            id: challenge.id,
            sides,
            rated: challenge.rated,
            created_at: now,
            referee: Referee::new(terms, now),
            secrets: Secrets::random(&mut self.rng),
            variant: challenge.variant,
            time_control: challenge.time_control,
            watchers: Vec::new(),
            chat: Vec::new(),
            next_look: now + HEARTBEAT,
        };
        for user in users {
            self.user_mut(user).playing.push(challenge.id);
        }
        for color in COLORS {
            let user = &round.side(color).user;
            self.tell(user, &wire::line(&round.event("gameStart", color, now)));
        }
        self.running.push(challenge.id);
        self.rounds.insert(challenge.id, round);
        for user in users {
            self.notify(user, Notice::Game(challenge.id));
        }
    }

    /// The games of this user that are on, the most urgent first.
    fn urgent_rounds(&self, user: &UserId, now: Moment) -> Vec<(&Round, Color)> {
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

    /// What a new event stream is told about games.
    pub fn games_on(&self, user: &UserId, now: Moment) -> Vec<GameEvent> {
        self.urgent_rounds(user, now)
            .into_iter()
            .map(|(round, color)| round.event("gameStart", color, now))
            .collect()
    }

    pub fn now_playing(&self, user: &UserId, most: usize, now: Moment) -> NowPlaying {
        let rounds = self.urgent_rounds(user, now);
        NowPlaying {
            nb_my_turn: rounds
                .iter()
                .filter(|(round, color)| round.referee.turn() == *color)
                .count(),
            now_playing: rounds
                .iter()
                .take(most)
                .map(|(round, color)| round.preview(*color, now))
                .collect(),
        }
    }

    /// The game and the colour of this player in it.
    pub fn player_of(&self, user: &UserId, id: Option<GameId>) -> Result<(&Round, Color), Failure> {
        let round = id
            .and_then(|id| self.rounds.get(&id))
            .ok_or_else(|| Failure::new(404, "No such game"))?;
        let color = round
            .color_of(user)
            .ok_or_else(|| Failure::new(404, "Not your game"))?;
        Ok((round, color))
    }

    /// Opens a player's stream and ends the one with the same User-Agent. A game that is over is shown and that is all.
    pub fn open_game(
        &mut self,
        user: &UserId,
        id: GameId,
        user_agent: &str,
        now: Moment,
    ) -> Result<(Feed, Color), Failure> {
        let (_, color) = self.player_of(user, Some(id))?;
        self.user_mut(user).opens_stream(now);
        let feed = Feed::default();
        let Some(round) = self.rounds.get_mut(&id) else {
            return Err(Failure::not_found());
        };
        round.watchers.retain(|old| {
            let same = old.color == color && old.user_agent == user_agent;
            if same {
                old.feed.end();
            }
            !same
        });
        feed.push(round.full_line(now));
        if round.referee.is_on() {
            round.watchers.push(Watcher {
                user: user.clone(),
                color,
                user_agent: user_agent.to_owned(),
                feed: feed.clone(),
            });
            let is_bot = round.side(color).title == Some("BOT");
            let was_given_up = round.sides[color.index()].presence.comes();
            if was_given_up && !is_bot {
                round.push_to(!color, &super::presence::back_line());
            }
        } else {
            feed.end();
        }
        Ok((feed, color))
    }

    /// The reader of a game stream is gone.
    pub fn leave_game(
        &mut self,
        user: &UserId,
        id: GameId,
        color: Color,
        feed: &Feed,
        now: Moment,
    ) {
        self.user_mut(user).closes_stream(now);
        let Some(round) = self.rounds.get_mut(&id) else {
            return;
        };
        round.watchers.retain(|watcher| !watcher.feed.is(feed));
        if !round.watchers.iter().any(|watcher| watcher.color == color) {
            round.sides[color.index()].presence.goes(now);
        }
    }

    /// Lets the referee decide something, and tells everybody what came of it.
    pub fn rule(
        &mut self,
        id: GameId,
        command: impl FnOnce(&mut Referee) -> Ruling,
        now: Moment,
    ) -> Result<(), Refusal> {
        let Some(round) = self.rounds.get_mut(&id) else {
            return Ok(());
        };
        let was_on = round.referee.is_on();
        let Ruling { shown, verdict } = command(&mut round.referee);
        if !shown.is_empty() {
            self.show(id, &shown, was_on, now);
        }
        verdict
    }

    fn show(&mut self, id: GameId, shown: &[View], was_on: bool, now: Moment) {
        let Some(round) = self.rounds.get_mut(&id) else {
            return;
        };
        for view in shown {
            round.push(&wire::line(&GameState::from(view)), |_| true);
        }
        let users = round.sides.each_ref().map(|side| side.user.clone());
        if was_on && !round.referee.is_on() {
            round.end_streams();
            self.finish_round(id, now);
        }
        for user in &users {
            self.notify(user, Notice::Game(id));
        }
    }

    fn finish_round(&mut self, id: GameId, now: Moment) {
        let Some(mut round) = self.rounds.remove(&id) else {
            return;
        };
        if round.referee.status() != Status::Aborted {
            self.settle_accounts(&mut round, now);
        }
        for color in COLORS {
            let user = &round.side(color).user;
            self.user_mut(user).playing.retain(|other| *other != id);
            self.tell(user, &wire::line(&round.event("gameFinish", color, now)));
        }
        self.rounds.insert(id, round);
        self.archive(id);
    }

    /// Counts the game for both players, and rates it if it is rated.
    fn settle_accounts(&mut self, round: &mut Round, now: Moment) {
        let key = round.perf().key;
        let winner = round.referee.winner();
        let ratings = round
            .sides
            .each_ref()
            .map(|side| self.user(&side.user).rating(key).clone());
        for color in COLORS {
            let side = &mut round.sides[color.index()];
            let user = self.user_mut(&side.user);
            user.play_time += now.since(round.created_at);
            user.tally.all += 1;
            let (count, score) = match winner {
                None => (&mut user.tally.draw, 0.5),
                Some(winner) if winner == color => (&mut user.tally.win, 1.0),
                Some(_) => (&mut user.tally.loss, 0.0),
            };
            *count += 1;
            if round.rated {
                let gain = ratings[color.index()].gain(&ratings[(!color).index()], score);
                user.tally.rated += 1;
                user.rating_mut(key).settle(gain);
                side.rating_diff = Some(gain);
            }
        }
    }

    /// Cancelling a challenge that has become a game aborts the game: at once while that is possible, else with the
    /// consent of the opponent, proven by his token.
    pub fn cancel_round(
        &mut self,
        me: &UserId,
        id: GameId,
        opponent: Option<Option<UserId>>,
        now: Moment,
    ) -> Result<(), Failure> {
        let (round, color) = self
            .player_of(me, Some(id))
            .map_err(|_| Failure::not_found())?;
        if !round.referee.is_on() {
            return Err(Failure::not_found());
        }
        if round.referee.is_abortable() {
            return Ok(self.rule(id, |referee| referee.abort(now), now)?);
        }
        let other = &round.side(!color).user;
        match opponent {
            None => Err(Failure::bad("Missing opponentToken")),
            Some(user) if user.as_ref() != Some(other) => {
                Err(Failure::bad("Not the opponent token"))
            }
            Some(_) => Ok(self.rule(id, |referee| referee.call_off(now), now)?),
        }
    }

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

    /// Looks whether a flag has fallen.
    pub fn check_flag(&mut self, id: GameId, now: Moment) {
        // Nothing is asked for, so nothing is refused.
        let _ = self.rule(id, |referee| referee.check_flag(now), now);
    }

    /// The housekeeping of one game.
    pub fn tick_round(&mut self, id: GameId, now: Moment) {
        let Some(round) = self.rounds.get_mut(&id) else {
            return;
        };
        if round.referee.plies() < 2 && now.since(round.created_at) > UNPLAYED_KEPT {
            if matches!(round.time_control, TimeControl::Clock { .. }) {
                self.delete_round(id);
            }
            return;
        }
        round.watch_presence(now);
        // Who sits at the board himself keeps an eye on the clock as his stream would.
        let resident = round.sides.iter().any(|side| side.presence.is_resident());
        let clockless = !matches!(round.time_control, TimeControl::Clock { .. });
        if now >= round.next_look && (resident || clockless) {
            round.next_look = now + HEARTBEAT;
            self.check_flag(id, now);
            let _ = self.rule(id, |referee| referee.check_patience(now), now);
        }
    }

    /// A game that was never played leaves no trace, and nobody is told.
    fn delete_round(&mut self, id: GameId) {
        let Some(mut round) = self.rounds.remove(&id) else {
            return;
        };
        round.end_streams();
        for side in &round.sides {
            self.user_mut(&side.user)
                .playing
                .retain(|other| *other != id);
        }
        self.running.retain(|other| *other != id);
    }
}
