//! One game, one task: from "the opponent moved" to "our reply is posted", in [`Play::on_state`] and what it calls.
//!
//! The stream is the truth. The task listens to it, keeps the score sheet ([`Sheet`]), lets [`Duty`] say what is owed,
//! and has at most one thing in flight for it: a search, a POST, or a wait. Everything else (chat, answers to offers,
//! claims) goes beside that and may fail.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};
use tracing::{debug, info, warn};

use super::budget::Budget;
use super::choice::{self, Choice, Search, report};
use super::duty::{Board, Duty, Step, Trouble};
use super::head::{Head, Unfit, millis};
use super::lag::Lag;
use super::link::{Heard, Link};
use super::manners::{Manner, Mood};
use super::sheet::{Change, Sheet};
use super::stop::{Stage, Stop};
use super::{House, chat};
use crate::chess::CastlingNotation;
use crate::engine::Limits;
use crate::events::{Event, GameFinished, Moved, Report, Timing};
use crate::lichess::model::{
    GameEvent, GameFull, GameId, GameInfo, GameState, OpponentGone, Room, Status,
};
use crate::lichess::retry::{self, Kind, Reopen, Retry};
use crate::lichess::{Error, GameStream};

/// After the account's stream says that a game is over, its own stream gets this long to say how it ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What is said at the end gets this long.
const FAREWELL: Duration = Duration::from_secs(3);

/// Waits before looking at the stream once more, while a position stays as it is.
const LOOKS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
];

/// A word from outside to a game that is on.
#[derive(Debug)]
pub enum Order {
    /// The account's stream says that it is over.
    Finished(Box<GameInfo>),
    /// Something is odd: look at the stream again.
    Look,
}

/// Why a game's task has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The game is over.
    Over,
    /// Lichess does not know the game, or does not let us play it.
    Gone,
    /// It cannot be played by us.
    Unfit,
    /// We were told to leave; the game is still on.
    Left,
}

/// Plays a game to its end.
pub async fn play(
    house: House,
    id: GameId,
    info: Option<Box<GameInfo>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    mut stop: Stop,
) -> Ended {
    let mut play = Play::new(house, id, info);
    play.obey(stop.stage());
    let ended = loop {
        tokio::select! {
            // The stream first: what it says may make everything else pointless.
            biased;
            heard = play.link.next() => play.hear(heard),
            landed = play.flight.landed() => play.land(landed),
            stage = stop.next() => play.obey(stage),
            Some(order) = orders.recv() => play.order(order),
            alarm = play.alarms.next() => play.ring(alarm),
            Some(_) = play.beside.join_next() => {}
        }
        if let Some(ended) = play.ended() {
            break ended;
        }
    };
    play.farewell(ended).await;
    ended
}

struct Play {
    house: House,
    id: GameId,
    info: Option<Box<GameInfo>>,
    link: Link<GameStream>,
    /// Known from the first `gameFull` on.
    table: Option<(Head, Sheet)>,
    duty: Duty,
    flight: Flight,
    /// Requests that nothing waits for.
    beside: JoinSet<()>,
    alarms: Alarms,
    turn: Turn,
    choice: Option<Choice>,
    lag: Lag,
    mood: Mood,
    rng: fastrand::Rng,
    /// Offers of the opponent, as the last state has them.
    draw_offered: bool,
    takeback_asked: bool,
    /// The stream is new: its first state is worth a [`Board::fresh`].
    greeted: bool,
    stage: Stage,
    over: Option<Ended>,
}

/// Our turn, from the line that began it.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// When that line came.
    since: Instant,
    /// Our clock in the latest state, and when that came.
    clock: (Duration, Instant),
    /// When the first POST of our move began, how many there were, and how long the answer took.
    posted: Option<Instant>,
    posts: u32,
    round_trip: Option<Duration>,
    /// How often we had to look at the stream.
    looks: usize,
    manner: Manner,
}

/// The one thing that is in flight for the move we owe.
enum Flight {
    None,
    Search(Search),
    Post(Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>),
    Wait(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// What came of it.
enum Landed {
    Found(Option<Choice>),
    Answered(Result<(), Error>),
    Due,
}

impl Flight {
    /// May be dropped and called again.
    async fn landed(&mut self) -> Landed {
        match self {
            Self::None => pending().await,
            Self::Search(search) => Landed::Found(search.done().await),
            Self::Post(post) => Landed::Answered(post.await),
            Self::Wait(wait) => {
                wait.await;
                Landed::Due
            }
        }
    }
}

/// What is to happen at a certain time.
#[derive(Debug, Default)]
struct Alarms {
    /// The opponent has not begun.
    abort: Option<Instant>,
    /// The opponent is gone, and the game may be claimed.
    claim: Option<Instant>,
    /// The game is over by the account's stream, its own has not said so.
    last_words: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
enum Alarm {
    Abort,
    Claim,
    LastWords,
}

impl Alarms {
    async fn next(&mut self) -> Alarm {
        let all = [
            (self.abort, Alarm::Abort),
            (self.claim, Alarm::Claim),
            (self.last_words, Alarm::LastWords),
        ];
        let first = all
            .into_iter()
            .filter_map(|(at, alarm)| Some((at?, alarm)))
            .min_by_key(|&(at, _)| at);
        match first {
            Some((at, alarm)) => {
                sleep_until(at.into()).await;
                alarm
            }
            None => pending().await,
        }
    }
}

impl Play {
    fn new(house: House, id: GameId, info: Option<Box<GameInfo>>) -> Self {
        let (client, game) = (house.client.clone(), id.clone());
        let link = Link::new(Reopen::game(), move |silence| {
            let (client, game) = (client.clone(), game.clone());
            async move { client.game(&game, silence).await }
        });
        let now = Instant::now();
        Self {
            house,
            id,
            info,
            link,
            table: None,
            duty: Duty::default(),
            flight: Flight::None,
            beside: JoinSet::new(),
            alarms: Alarms::default(),
            turn: Turn::begins(Duration::ZERO, now),
            choice: None,
            lag: Lag::default(),
            mood: Mood::default(),
            rng: fastrand::Rng::new(),
            draw_offered: false,
            takeback_asked: false,
            greeted: false,
            stage: Stage::Running,
            over: None,
        }
    }

    /// Something came from the stream.
    fn hear(&mut self, heard: Heard<GameEvent>) {
        let arrived = Instant::now();
        match heard {
            Heard::Opened => debug!(game = %self.id, "stream open"),
            Heard::Item(GameEvent::Full(full)) => self.on_full(&full, arrived),
            Heard::Item(GameEvent::State(state)) => self.on_state(&state, arrived, false),
            Heard::Item(GameEvent::Chat(line)) => self.house.events.send(Event::Chat {
                game: self.id.to_string(),
                room: line.room.key().into(),
                from: line.username.to_string(),
                text: line.text,
            }),
            Heard::Item(GameEvent::OpponentGone(gone)) => self.on_gone(gone, arrived),
            Heard::Item(GameEvent::Unknown(kind)) => debug!(game = %self.id, kind, "unknown event"),
            Heard::Item(GameEvent::Skipped(skipped)) => {
                // It may have been the opponent's move.
                warn!(game = %self.id, "unreadable line, opening the stream again: {}", skipped.why);
                self.link.mistrust();
            }
            Heard::Lost { error, wait } => {
                let why = error.map_or("it ended".into(), |error| error.to_string());
                warn!(game = %self.id, "game stream lost, back in {wait:.1?}: {why}");
            }
            Heard::Refused { error, wait } => self.on_refused(&error, wait),
        }
        self.greet();
    }

    fn on_refused(&mut self, error: &Error, wait: Duration) {
        match error.code() {
            Some(404) => {
                warn!(game = %self.id, "the game is gone: {error}");
                self.over = Some(Ended::Gone);
            }
            Some(400) => {
                warn!(game = %self.id, "Lichess does not let us play: {error}");
                self.over = Some(Ended::Unfit);
            }
            code => {
                if code == Some(401) {
                    self.house.doubt_token();
                }
                warn!(game = %self.id, "cannot open the game stream, again in {wait:.1?}: {error}");
            }
        }
    }

    /// The first line of a stream.
    fn on_full(&mut self, full: &GameFull, arrived: Instant) {
        if self.table.is_none() {
            match Head::read(full, &self.house.me, self.info.as_deref()) {
                Ok(head) => self.take_seat(head, full),
                Err(unfit) => return self.refuse(&unfit),
            }
        }
        self.on_state(&full.state, arrived, true);
    }

    fn take_seat(&mut self, head: Head, full: &GameFull) {
        let plies = full.state.moves().count();
        let started = head.started(full, plies);
        let (time, opponent) = (started.time_control, &head.opponent);
        if plies == 0 {
            info!(game = %self.id, "playing {} against {opponent}, {time}", head.us);
        } else {
            info!(game = %self.id, "taking up the game against {opponent}, {time}, after {plies} plies");
        }
        // Whoever comes back does not greet again.
        self.greeted = plies > 1 || head.tournament || head.against_ai;
        self.house.events.send(Event::GameStarted(started));
        let sheet = Sheet::new(head.initial.clone());
        self.table = Some((head, sheet));
    }

    /// We cannot play this. An abort costs nobody anything; otherwise it is left to the clock and to its operator.
    fn refuse(&mut self, unfit: &Unfit) {
        warn!(game = %self.id, "cannot play this game: {unfit}");
        let (client, id) = (self.house.client.clone(), self.id.clone());
        self.beside.spawn(async move {
            if let Err(error) = client.abort(&id).await {
                warn!(game = %id, "cannot abort it either: {error}");
            }
        });
        self.over = Some(Ended::Unfit);
    }

    /// How the game stands. `fresh`: by the first line of a new stream.
    fn on_state(&mut self, state: &GameState, arrived: Instant, fresh: bool) {
        let Some((head, sheet)) = &mut self.table else {
            // Before `gameFull`, which has all of it and is about to come.
            return;
        };
        let over = state.status.is_over();
        let change = match sheet.follow(&state.moves) {
            Ok(change) => change,
            Err(unplayable) if over => {
                debug!(game = %self.id, "{unplayable}");
                Change::Same
            }
            Err(unplayable) => {
                warn!(game = %self.id, "{unplayable}; opening the stream again");
                return self.link.mistrust();
            }
        };
        let before = self.turn;
        let clock = state.time(head.us);
        let changed = change != Change::Same;
        let echoed = self.duty.chosen().filter(|mv| match change {
            Change::Grew { from } => sheet.game().moves()[from] == *mv,
            _ => false,
        });
        self.turn = match changed {
            true => Turn::begins(clock, arrived),
            false => Turn {
                clock: (clock, arrived),
                ..before
            },
        };
        let ours = !over && sheet.turn() == head.us;
        let step = self.duty.board(Board {
            changed,
            ours,
            over,
            fresh,
        });
        if echoed.is_some() {
            self.let_it_land();
        }
        self.step(step);

        // Everything from here on is off the way of the move.
        let shown = echoed.and_then(|_| self.settle(before, state));
        self.tell(change, state, shown);
        self.on_offers(state, changed);
        self.set_abort(state, changed);
        if changed {
            self.alarms.claim = None;
        }
        if over {
            self.finish(state.status, state.winner);
        }
    }

    /// What the duty says is to be done replaces what was in flight.
    fn step(&mut self, step: Step) {
        match step {
            Step::Keep => {}
            Step::Drop => self.flight = Flight::None,
            Step::Think => self.think(),
            Step::Post { mv: _, refused } => self.post(refused),
            Step::Wait(wait) => self.flight = Flight::Wait(Box::pin(sleep(wait))),
            Step::Look(within) => {
                let wait = LOOKS[self.turn.looks.min(LOOKS.len() - 1)];
                self.turn.looks += 1;
                self.link.reopen(wait);
                self.flight = Flight::Wait(Box::pin(sleep(wait + within)));
            }
        }
    }

    fn think(&mut self) {
        let Some((head, sheet)) = &self.table else {
            return;
        };
        let (game, barred) = (sheet.game(), self.duty.barred());
        if let Some(choice) = choice::at_once(&self.house.books, game, barred, &mut self.rng) {
            return self.found(Some(choice));
        }
        let limits = self.limits(head, sheet);
        self.flight = Flight::Search(Search::start(&self.house, &self.id, game, barred, limits));
        if self.stage == Stage::Leaving {
            self.hurry();
        }
    }

    fn limits(&self, head: &Head, sheet: &Sheet) -> Limits {
        let settings = &self.house.settings;
        let (remaining, at) = self.turn.clock;
        Budget {
            pace: head.pace,
            remaining,
            since: at.elapsed(),
            ply: sheet.ply(),
            lag: &self.lag,
            safety: settings.engine.overhead(),
            games: self.house.games_on(),
            concurrency: settings.games.concurrency,
        }
        .limits()
    }

    /// The flight for the owed move has come to its end.
    fn land(&mut self, landed: Landed) {
        self.flight = Flight::None;
        match landed {
            Landed::Found(choice) => self.found(choice),
            Landed::Answered(answer) => self.answered(answer),
            Landed::Due => {
                let step = self.duty.due();
                self.step(step);
            }
        }
        self.greet();
    }

    fn found(&mut self, choice: Option<Choice>) {
        let Some(choice) = choice else {
            // No legal move: the game is over, and the stream is about to say so.
            return warn!(game = %self.id, "our turn, and no legal move");
        };
        let settings = &self.house.settings;
        if let Some(thought) = choice.thought.as_ref().filter(|thought| thought.depth > 0) {
            self.mood
                .feel(thought.score, &settings.draw, &settings.resign);
            let ply = self.table.as_ref().map_or(0, |(_, sheet)| sheet.ply());
            let offered = self.draw_offered;
            self.turn.manner = self
                .mood
                .manner(ply, offered, &settings.draw, &settings.resign);
        }
        let step = self.duty.chose(choice.mv);
        self.choice = Some(choice);
        self.step(step);
    }

    fn post(&mut self, refused: u32) {
        let (Some((head, _)), Some(mv)) = (&self.table, self.duty.chosen()) else {
            return;
        };
        // Castling that was refused once is tried in the other spelling.
        let castling = match (head.castling, refused % 2) {
            (CastlingNotation::Standard, 0) | (CastlingNotation::KingTakesRook, 1) => {
                CastlingNotation::Standard
            }
            _ => CastlingNotation::KingTakesRook,
        };
        let uci = mv.uci(castling).to_string();
        let (client, id) = (self.house.client.clone(), self.id.clone());
        let manner = std::mem::replace(&mut self.turn.manner, Manner::Play);
        self.turn.posted.get_or_insert_with(Instant::now);
        self.turn.posts += 1;
        debug!(game = %self.id, uci, ?manner, posts = self.turn.posts, "posting");
        self.flight = Flight::Post(match manner {
            Manner::Resign => Box::pin(async move { client.resign(&id).await }),
            manner => Box::pin(async move { client.play(&id, &uci, manner == Manner::Draw).await }),
        });
    }

    fn answered(&mut self, answer: Result<(), Error>) {
        if let (Ok(()), Some(posted)) = (&answer, self.turn.posted) {
            self.turn.round_trip.get_or_insert(posted.elapsed());
        }
        let answer = answer.map_err(|error| {
            let trouble = self.trouble(&error);
            warn!(game = %self.id, ?trouble, "the move did not get through: {error}");
            trouble
        });
        let step = self.duty.answered(answer);
        self.step(step);
    }

    /// What a failed POST of a move means.
    fn trouble(&self, error: &Error) -> Trouble {
        if error.is_unauthorized() {
            self.house.doubt_token();
            return Trouble::Again(Duration::from_secs(1));
        }
        match retry::decide(Kind::Move, error, self.duty.failed()) {
            // However long the server wants us to wait: our clock runs.
            Retry::After(wait) if error.may_have_worked() => {
                Trouble::Lost(wait.min(self.patience()))
            }
            Retry::After(wait) => Trouble::Again(wait.min(self.patience())),
            Retry::GiveUp => Trouble::Refused,
        }
    }

    /// The longest that we can afford to wait with a move in hand.
    fn patience(&self) -> Duration {
        let (remaining, at) = self.turn.clock;
        (remaining.saturating_sub(at.elapsed()) / 10)
            .clamp(Duration::from_millis(250), Duration::from_secs(60))
    }

    /// The stream shows our move before the POST is answered: the answer is awaited beside, since giving up a
    /// request would close a warm connection.
    fn let_it_land(&mut self) {
        match std::mem::replace(&mut self.flight, Flight::None) {
            Flight::Post(post) => {
                self.beside.spawn(async move { drop(post.await) });
            }
            other => self.flight = other,
        }
    }

    /// Our move stands on the board: what it cost, and what to tell about it.
    fn settle(&mut self, before: Turn, state: &GameState) -> Option<(Report, Timing)> {
        let (head, sheet) = self.table.as_ref()?;
        let choice = self.choice.take()?;
        let posted = before.posted?;
        let ply = sheet.ply();
        // One POST, on a running clock: the server's bill can be compared with our own.
        if before.posts == 1 && ply > 2 && head.clocked() {
            let (clock, at) = before.clock;
            let increment = state.increment(head.us);
            let own = posted.saturating_duration_since(at);
            self.lag.measure(clock, state.time(head.us), increment, own);
        }
        let timing = Timing {
            to_post: posted.saturating_duration_since(before.since),
            round_trip: before.round_trip.unwrap_or_else(|| posted.elapsed()),
        };
        let mut past = sheet.game().clone();
        past.truncate(ply - 1);
        Some((
            report(past.position(), choice.source, choice.thought.as_ref()),
            timing,
        ))
    }

    /// Tells of the moves that are new on the board.
    fn tell(&mut self, change: Change, state: &GameState, mut shown: Option<(Report, Timing)>) {
        let Some((head, sheet)) = &self.table else {
            return;
        };
        let from = match change {
            Change::Same => return,
            Change::Grew { from } => from,
            Change::Rewritten { common } => {
                let (game, ply) = (self.id.to_string(), common as u32);
                self.house.events.send(Event::TakenBack { game, ply });
                common
            }
        };
        let moves = sheet.game().moves();
        let mut past = sheet.game().clone();
        past.truncate(from);
        for (ply, &mv) in moves.iter().enumerate().skip(from) {
            let by = past.position().turn();
            let ours = by == head.us;
            let last = ply + 1 == moves.len();
            let clock = |time| if last { millis(head.pace, time) } else { None };
            let (thought, timing) = if ours {
                shown.take().unzip()
            } else {
                (None, None)
            };
            self.house.events.send(Event::Moved(Moved {
                game: self.id.to_string(),
                ply: ply as u32 + 1,
                san: past.position().san(mv),
                uci: mv.uci(head.castling).to_string(),
                by,
                ours,
                wtime: clock(state.wtime),
                btime: clock(state.btime),
                thought,
                timing,
            }));
            past.play(mv);
        }
    }

    /// Draws and takebacks that the opponent asks for.
    fn on_offers(&mut self, state: &GameState, changed: bool) {
        let Some((head, sheet)) = &self.table else {
            return;
        };
        let them = !head.us;
        let draw = state.offers_draw(them);
        let new_draw = draw && !self.draw_offered;
        let takeback = state.asks_takeback(them) && !self.takeback_asked;
        // A flag that stays up while our own move goes onto the board is a refused offer's shadow.
        self.draw_offered = draw && (new_draw || !changed || sheet.turn() == head.us);
        self.takeback_asked = state.asks_takeback(them);
        if new_draw {
            self.house.events.send(Event::DrawOffered {
                game: self.id.to_string(),
                by: them,
            });
        }
        let settings = &self.house.settings;
        let waiting = sheet.turn() != head.us && !state.status.is_over();
        // On our own turn the offer is answered by, or with, the move.
        if new_draw
            && waiting
            && settings.draw.accept
            && self.mood.content(sheet.ply(), &settings.draw)
        {
            let (client, id) = (self.house.client.clone(), self.id.clone());
            self.aside(
                "accept the draw",
                async move { client.draw(&id, true).await },
            );
        }
        if takeback {
            let (client, id) = (self.house.client.clone(), self.id.clone());
            self.aside("decline the takeback", async move {
                client.takeback(&id, false).await
            });
        }
    }

    /// The opponent gets a while for his first move; tournaments look after that themselves.
    fn set_abort(&mut self, state: &GameState, changed: bool) {
        let Some((head, sheet)) = &self.table else {
            return;
        };
        let waiting = sheet.ply() < 2 && sheet.turn() != head.us && !state.status.is_over();
        if !waiting || head.tournament || !head.clocked() {
            self.alarms.abort = None;
        } else if changed || self.alarms.abort.is_none() {
            let after = self.house.settings.games.abort_after();
            self.alarms.abort = after.map(|after| Instant::now() + after);
        }
    }

    fn on_gone(&mut self, gone: OpponentGone, arrived: Instant) {
        let game = self.id.to_string();
        self.house.events.send(Event::OpponentGone {
            game,
            gone: gone.gone,
        });
        let claim = gone.gone && self.house.settings.games.claim_victory;
        self.alarms.claim = gone
            .claim_win_in
            .filter(|_| claim)
            .map(|wait| arrived + wait);
    }

    fn ring(&mut self, alarm: Alarm) {
        let (client, id) = (self.house.client.clone(), self.id.clone());
        match alarm {
            Alarm::Abort => {
                info!(game = %self.id, "the opponent does not begin: aborting");
                let again = self.house.settings.games.abort_after();
                self.alarms.abort = again.map(|after| Instant::now() + after);
                self.aside("abort", async move { client.abort(&id).await });
            }
            Alarm::Claim => {
                self.alarms.claim = None;
                let Some((head, sheet)) = &self.table else {
                    return;
                };
                if sheet.turn() == head.us {
                    return;
                }
                if sheet.position().has_mating_material(head.us) {
                    info!(game = %self.id, "the opponent is gone: claiming the win");
                    self.aside(
                        "claim the win",
                        async move { client.claim_victory(&id).await },
                    );
                } else {
                    info!(game = %self.id, "the opponent is gone: claiming a draw");
                    self.aside(
                        "claim the draw",
                        async move { client.claim_draw(&id).await },
                    );
                }
            }
            Alarm::LastWords => {
                let info = self.info.as_ref().map(|info| (info.status, info.winner));
                let (status, winner) = info.unwrap_or((Status::Unknown, None));
                self.finish(status, winner);
            }
        }
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Finished(info) => {
                self.info = Some(info);
                self.alarms.last_words = Some(Instant::now() + LAST_WORDS);
            }
            Order::Look => self.link.reopen(Duration::ZERO),
        }
    }

    fn obey(&mut self, stage: Stage) {
        self.stage = stage;
        if stage == Stage::Leaving {
            self.hurry();
        }
    }

    fn hurry(&mut self) {
        if let Flight::Search(search) = &self.flight {
            search.hurry();
        }
    }

    /// A request that nothing waits for.
    fn aside<F>(&mut self, what: &'static str, request: F)
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let id = self.id.clone();
        self.beside.spawn(async move {
            if let Err(error) = request.await {
                info!(game = %id, "cannot {what}: {error}");
            }
        });
    }

    /// Greets once, as soon as no move is owed.
    fn greet(&mut self) {
        if self.greeted || self.table.is_none() || self.duty.owes() {
            return;
        }
        self.greeted = true;
        let settings = self.house.settings.clone();
        self.say(Room::Player, &settings.chat.greeting);
        self.say(Room::Spectator, &settings.chat.greeting_spectators);
    }

    fn say(&mut self, room: Room, template: &str) {
        let Some((head, _)) = &self.table else { return };
        let Some(text) = chat::line(template, self.house.me.as_str(), &head.opponent) else {
            return;
        };
        let (client, id) = (self.house.client.clone(), self.id.clone());
        self.beside.spawn(async move {
            if let Err(error) = client.chat(&id, room, &text).await {
                debug!(game = %id, "chat refused: {error}");
            }
        });
    }

    fn finish(&mut self, status: Status, winner: Option<crate::chess::Color>) {
        if self.over.is_some() {
            return;
        }
        let plies = self.table.as_ref().map_or(0, |(_, sheet)| sheet.ply());
        let result = result(status, winner);
        info!(game = %self.id, "{result} ({status}) after {plies} plies");
        self.house.events.send(Event::GameFinished(GameFinished {
            game: self.id.to_string(),
            status: status.key().into(),
            winner,
            result: result.into(),
            plies: plies as u32,
        }));
        self.over = Some(Ended::Over);
    }

    /// Whether the task may return.
    fn ended(&self) -> Option<Ended> {
        if self.over.is_some() {
            return self.over;
        }
        let clocked = self.table.as_ref().is_none_or(|(head, _)| head.clocked());
        let leave = match self.stage {
            Stage::Running => false,
            // A game that takes days is not waited for.
            Stage::Draining => !clocked && !self.duty.owes(),
            Stage::Leaving => !self.duty.owes() || self.duty.posted(),
        };
        leave.then_some(Ended::Left)
    }

    /// The last words, and those that are still on their way, with a deadline.
    async fn farewell(&mut self, ended: Ended) {
        let polite = self
            .table
            .as_ref()
            .is_some_and(|(head, _)| !head.tournament && !head.against_ai);
        if ended == Ended::Over && polite && self.stage != Stage::Leaving {
            let settings = self.house.settings.clone();
            self.say(Room::Player, &settings.chat.farewell);
            self.say(Room::Spectator, &settings.chat.farewell_spectators);
        }
        let said = async { while self.beside.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FAREWELL, said).await;
    }
}

impl Turn {
    fn begins(clock: Duration, at: Instant) -> Self {
        Self {
            since: at,
            clock: (clock, at),
            posted: None,
            posts: 0,
            round_trip: None,
            looks: 0,
            manner: Manner::Play,
        }
    }
}

/// How a game ended, as people write it.
fn result(status: Status, winner: Option<crate::chess::Color>) -> &'static str {
    use crate::chess::Color;
    match (winner, status) {
        (Some(Color::White), _) => "1-0",
        (Some(Color::Black), _) => "0-1",
        (None, Status::Aborted | Status::NoStart | Status::UnknownFinish | Status::Unknown) => "*",
        (None, _) => "1/2-1/2",
    }
}
