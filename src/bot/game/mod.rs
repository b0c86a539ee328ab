//! One game, one task: from "the opponent moved" to "our reply is posted", in [`Play::on_state`] and what it calls.
//!
//! The stream is the truth. The task listens to it, keeps the score sheet ([`Sheet`]), lets [`Duty`] say what is owed,
//! and has at most one thing in flight for it: a search, a POST, or a wait. Everything else (chat, answers to offers,
//! claims) goes beside that and may fail.

mod aside;
mod flight;
mod reply;
mod talk;
mod tell;

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use super::House;
use super::chat::Throttle;
use super::choice::Choice;
use super::desk::{Desk, Doing};
use super::duty::{Board, Duty};
use super::head::{Head, Unfit};
use super::lag::Lag;
use super::link::{Heard, Link};
use super::manners::{Manner, Mood};
use super::policy::{Subject, Terms};
use super::sheet::{Change, Reading, Sheet};
use super::stop::{Stage, Stop};
use crate::chess::Color;
use crate::clock;
use crate::events::{Event, GameStarted, Report, Timing};
use crate::lichess::model::{GameEvent, GameFull, GameId, GameInfo, GameState, Status};
use crate::lichess::retry::Reopen;
use crate::lichess::{Error, GameStream};
use flight::{Alarms, Flight};

/// After the account's stream says that a game is over, its own stream gets this long to say how it ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A stream that owes us a line and has been silent for this long is suspect. Round trips are shorter.
const UNHEARD: Duration = Duration::from_secs(1);

/// How long a game's stream may stay closed when so much is left on our clock.
fn away(remaining: Duration) -> Duration {
    (remaining / 32).clamp(Duration::from_millis(100), Duration::from_secs(5))
}

/// A word from outside to a game that is on.
#[derive(Debug)]
pub enum Order {
    /// The account's stream says that it is over.
    Finished(Box<GameInfo>),
    /// Something is odd: look at the stream again.
    Look,
    /// A move is owed and nothing is in flight for it.
    Mend,
    /// The best move found so far is to be played.
    Hurry,
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
    /// The opponent has days; what we know of the game lies on its desk.
    Rests,
}

/// Plays a game to its end.
pub async fn play(
    house: House,
    id: GameId,
    info: Option<Box<GameInfo>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    desk: Desk,
    mut stop: Stop,
) -> Ended {
    let mut play = Play::new(house, id, info, desk);
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
        play.show();
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
    /// The same as rules see it, and how it is played.
    subject: Option<Subject>,
    terms: Terms,
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
    desk: Desk,
    /// Offers of the opponent, as the last state has them.
    draw_offered: bool,
    takeback_asked: bool,
    /// Moves that he got back, and how often we have waited longer for his first.
    given_back: u32,
    waits: u32,
    greeted: bool,
    /// What we thought about our last move, for those who ask.
    told: Option<(Report, Timing)>,
    throttle: Throttle,
    /// To be told as soon as the first move is on its way.
    begun: Option<GameStarted>,
    stage: Stage,
    over: Option<Ended>,
    /// How it ended.
    ending: Option<(Status, Option<Color>)>,
}

/// Our turn, from the line that began it.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// When that line came.
    since: Instant,
    /// Our clock in the latest state, and when that came.
    clock: (Duration, Instant),
    /// The opponent's in the same.
    their_clock: Duration,
    /// When the first POST of our move began, how many there were, and how long the answer took.
    posted: Option<Instant>,
    posts: u32,
    /// The server had us wait before it was sent again.
    rested: bool,
    round_trip: Option<Duration>,
    /// How often we had to look at the stream.
    looks: usize,
    manner: Manner,
}

impl Play {
    fn new(house: House, id: GameId, info: Option<Box<GameInfo>>, desk: Desk) -> Self {
        let (client, game) = (house.client.clone(), id.clone());
        let link = Link::new(Reopen::game(), move |silence| {
            let (client, game) = (client.clone(), game.clone());
            async move { client.game(&game, silence).await }
        });
        let now = clock::now();
        Self {
            subject: None,
            terms: Terms::plain(&house.settings),
            house,
            id,
            info,
            link,
            table: None,
            duty: Duty::default(),
            flight: Flight::None,
            beside: JoinSet::new(),
            alarms: Alarms::default(),
            turn: Turn::begins(Duration::ZERO, Duration::ZERO, now),
            choice: None,
            lag: Lag::default(),
            mood: Mood::default(),
            rng: fastrand::Rng::new(),
            desk,
            draw_offered: false,
            takeback_asked: false,
            given_back: 0,
            waits: 0,
            greeted: false,
            told: None,
            throttle: Throttle::default(),
            begun: None,
            stage: Stage::Running,
            over: None,
            ending: None,
        }
    }

    /// Something came from the stream.
    fn hear(&mut self, heard: Heard<GameEvent>) {
        let arrived = clock::now();
        match heard {
            Heard::Opened => debug!(game = %self.id, "stream open"),
            Heard::Item(GameEvent::Full(full)) => self.on_full(&full, arrived),
            Heard::Item(GameEvent::State(state)) => self.on_state(&state, arrived, false),
            Heard::Item(GameEvent::Chat(line)) => self.on_chat(line, arrived),
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

    /// The stream was not opened. Only Lichess's own word counts, not that of a proxy in front of it.
    fn on_refused(&mut self, error: &Error, wait: Duration) {
        let word = error.refusal().filter(|refusal| refusal.json);
        match word.map(|refusal| refusal.code) {
            Some(404) => {
                warn!(game = %self.id, "the game is gone: {error}");
                if self.table.is_some() {
                    self.finish(Status::UnknownFinish, None);
                }
                self.over = Some(Ended::Gone);
            }
            Some(400) if self.table.is_none() => {
                warn!(game = %self.id, "Lichess does not let us play: {error}");
                self.over = Some(Ended::Unfit);
            }
            _ => {
                if error.is_unauthorized() {
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
        if plies <= 1 {
            info!(game = %self.id, "playing {} against {opponent}, {time}", head.us);
        } else {
            info!(game = %self.id, "taking up the game against {opponent}, {time}, after {plies} plies");
        }
        let subject = Subject::of_game(full, &head);
        self.terms = Terms::of(&self.house.settings, &subject);
        self.subject = Some(subject);
        if let Some(by) = &self.terms.by {
            info!(game = %self.id, "to be played with {by}");
        }
        // Whoever comes back does not greet again.
        self.greeted = plies > 1 || head.tournament || head.against_ai;
        let mut sheet = Sheet::new(head.initial.clone());
        match self.desk.take_notes() {
            // It has only rested, so nothing is told twice.
            Some(notes) => {
                self.greeted = true;
                self.mood = notes.mood;
                self.given_back = notes.given_back;
                self.told = notes.told;
                sheet = notes.sheet;
            }
            None => self.begun = Some(started),
        }
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
        let reading = match sheet.read(state, head.us) {
            Ok(reading) => reading,
            Err(unplayable) => {
                warn!(game = %self.id, "{unplayable}; opening the stream again");
                return self.link.mistrust();
            }
        };
        let Reading { change, ours, over } = reading;
        let before = self.turn;
        let (clock, their_clock) = (state.time(head.us), state.time(!head.us));
        let changed = change != Change::Same;
        let echoed = match (change, self.duty.chosen()) {
            (Change::Grew { from }, Some(mv)) => (sheet.game().moves()[from] == mv).then_some(from),
            _ => None,
        };
        self.turn = match changed {
            true => Turn::begins(clock, their_clock, arrived),
            false => Turn {
                clock: (clock, arrived),
                their_clock,
                ..before
            },
        };
        if head.clocked() {
            self.link.set_patience(away(clock));
        }
        let step = self.duty.board(Board::of(reading, fresh));
        if echoed.is_some() {
            self.let_it_land();
        }
        self.step(step);

        // Everything from here on is off the way of the move.
        if let Some(begun) = self.begun.take() {
            self.house.events.send(Event::GameStarted(begun));
        }
        let shown = echoed.and_then(|at| self.settle(at, before, state));
        if shown.is_some() {
            self.told.clone_from(&shown);
        }
        if matches!(change, Change::Rewritten { .. }) {
            self.told = None;
            self.mood.forget();
        }
        self.tell(change, state, shown);
        self.on_offers(state, changed);
        self.set_abort(state, changed);
        self.set_rest(over);
        if changed {
            self.alarms.claim = None;
        }
        if !ours {
            self.alarms.hurry = None;
        }
        if over {
            self.finish(state.status, state.winner);
        }
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Finished(info) => {
                self.info = Some(info);
                self.alarms.last_words = Some(clock::now() + LAST_WORDS);
            }
            Order::Look => self.look(Duration::ZERO),
            Order::Mend => {
                let step = self.duty.mend();
                self.step(step);
            }
            Order::Hurry => {
                info!(game = %self.id, "the operator wants the move now");
                self.hurry();
            }
        }
    }

    /// Opens the stream anew after a wait, unless it is being opened anyway. One that owes us a line for a while may have
    /// died without a word, and the connection under it too.
    fn look(&mut self, wait: Duration) {
        let Some((stream, _)) = self.link.stream() else {
            return;
        };
        let heard = stream.last_heard().at();
        let owing_since = self.turn.posted.map_or(heard, |posted| posted.max(heard));
        if clock::since(owing_since) > UNHEARD {
            stream.suspect();
        }
        self.link.reopen(wait);
    }

    /// Puts on the desk how the game is.
    fn show(&self) {
        let doing = match &self.flight {
            Flight::None => Doing::Listening,
            Flight::Search(_) => Doing::Searching,
            Flight::Post(_) => Doing::Posting,
            Flight::Wait(_) => Doing::Waiting,
        };
        self.desk.show(|sight| {
            if let Some((head, sheet)) = &self.table {
                if sight.opponent.is_empty() {
                    sight.opponent = head.opponent.to_string();
                    sight.clocked = head.clocked();
                }
                sight.ply = sheet.ply();
            }
            sight.owed_since = self.duty.owes().then_some(self.turn.since);
            sight.doing = doing;
            sight.remaining = self.turn.clock.0;
            sight.stream = self
                .link
                .stream()
                .map(|(stream, since)| (since, stream.last_heard()));
        });
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
}

impl Turn {
    fn begins(clock: Duration, their_clock: Duration, at: Instant) -> Self {
        Self {
            since: at,
            clock: (clock, at),
            their_clock,
            posted: None,
            posts: 0,
            rested: false,
            round_trip: None,
            looks: 0,
            manner: Manner::Play,
        }
    }
}
