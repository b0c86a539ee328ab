//! One game, one task: from "the opponent moved" to "our reply is posted", in [`GameTask::on_state`] and what it calls.
//!
//! The stream is the truth. The task listens to it, keeps the score sheet ([`GameMoves`]), lets [`PendingMove`] say what is owed,
//! and has at most one thing in flight for it: a search, a POST, or a wait. Everything else (chat, answers to offers,
//! claims) goes beside that and may fail.

pub(in crate::bot) mod budget;
mod chat;
pub(in crate::bot) mod choice;
pub(in crate::bot) mod core;
pub(in crate::bot) mod draw_resign;
pub(in crate::bot) mod header;
mod in_flight;
pub(in crate::bot) mod lag;
pub(in crate::bot) mod moves;
pub(in crate::bot) mod pending_move;
mod ponder;
mod post_move;
mod publish;
mod side_actions;
pub(in crate::bot) mod status;

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinError;
use tracing::{debug, info, warn};

use super::AccountContext;
use super::policy::PlaySettings;
use super::trace::{Header, Record, Trace};
use crate::bot::game::core::{GameCore, StateUpdate};
use crate::bot::game::header::{GameHeader, UnsupportedGame};
use crate::bot::game::moves::{Change, MovesUpdate};
use crate::bot::game::status::{Activity, Pairing, StatusCell};
use crate::bot::reconnect::{ReconnectingStream, StreamEvent};
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::chess::Color;
use crate::clock;
use crate::events::{Event, GameStarted};
use crate::lichess::model::{GameEvent, GameFull, GameId, GameInfo, GameState, Status};
use crate::lichess::retry::ReconnectPolicy;
use crate::lichess::{Error, Raw, RawGameStream};
use crate::plural;
use in_flight::{Done, InFlight, Timer, Timers};
use ponder::Ahead;
pub(super) use publish::ended;

/// After the account's stream says that a game is over, its own stream gets this long to say how it ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A stream that owes us a line and has been silent for this long is suspect. Round trips are shorter.
const UNHEARD: Duration = Duration::from_secs(1);

/// Clocks may have more on them than the latest state said: Lichess adds some after it was away.
const GRACE: Duration = Duration::from_secs(15);

/// How long a game's stream may stay closed when so much is left on our clock.
fn away(remaining: Duration) -> Duration {
    (remaining / 32).clamp(Duration::from_millis(250), Duration::from_secs(5))
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
    /// Another game without a clock waits for the place: no lingering.
    MakeRoom,
}

/// Why a game's task has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The game is over.
    Over,
    /// Lichess does not know the game, or does not let us play it.
    Gone,
    /// It cannot be played by us.
    UnsupportedGame,
    /// We were told to leave; the game is still on.
    Left,
    /// The opponent has days; what we know of the game lies on its desk.
    Rests,
}

impl ExitReason {
    /// For the trace.
    fn words(self) -> &'static str {
        match self {
            Self::Over => "the game is over",
            Self::Gone => "Lichess does not know the game, or does not let us play it",
            Self::UnsupportedGame => "the game cannot be played",
            Self::Left => "left as it is",
            Self::Rests => "resting until it is our turn",
        }
    }
}

/// Plays a game to its end.
pub async fn play(
    house: AccountContext,
    id: GameId,
    info: Option<Box<GameInfo>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    desk: StatusCell,
    mut stop: ShutdownSignal,
) -> ExitReason {
    let mut play = GameTask::new(house, id, info, desk);
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
            Some(done) = play.beside.join_next() => play.done(done),
        }
        play.show();
        // A POST is on its way only when it is awaited.
        if !matches!(play.flight, InFlight::Post(_)) {
            play.trace.flush();
        }
        if let Some(ended) = play.ended() {
            break ended;
        }
    };
    play.farewell(ended).await;
    play.end(ended);
    ended
}

struct GameTask {
    house: AccountContext,
    id: GameId,
    info: Option<Box<GameInfo>>,
    link: ReconnectingStream<RawGameStream>,
    /// What we know of the game, and what we decide.
    mind: GameCore,
    flight: InFlight,
    /// What is thought on the opponent's time.
    ahead: Ahead,
    /// When the POST in flight began.
    sent: Instant,
    /// Requests that nothing waits for.
    beside: SpannedJoinSet<Done>,
    alarms: Timers,
    rng: fastrand::Rng,
    desk: StatusCell,
    /// How often we have waited longer for the opponent's first move.
    waits: u32,
    greeted: bool,
    /// When we last claimed the win or a draw.
    claimed: Option<Instant>,
    /// The account's stream says that the game is over, and its own is being asked.
    doubted: bool,
    trace: Trace,
    /// To be told as soon as the first move is on its way.
    begun: Option<GameStarted>,
    /// The opponent of a game without a clock may be there: we have just moved, or it has just begun.
    lingers: bool,
    stage: Stage,
    over: Option<ExitReason>,
    /// How it ended.
    ending: Option<(Status, Option<Color>)>,
}

impl GameTask {
    fn new(
        house: AccountContext,
        id: GameId,
        info: Option<Box<GameInfo>>,
        desk: StatusCell,
    ) -> Self {
        let (client, game) = (house.client.clone(), id.clone());
        let mut link = ReconnectingStream::new(ReconnectPolicy::game(), move |silence| {
            let (client, game) = (client.clone(), game.clone());
            async move { client.raw_game_stream(&game, silence).await }
        });
        let now = clock::now();
        if let Some(left) = info.as_deref().and_then(GameInfo::clock) {
            link.cap_wait(away(left), now + 2 * left + GRACE);
        }
        let trace = house.traces.of(&id, now, || {
            let rested = desk.look().notes.is_some();
            Header::new(&house.settings, &house.me, &id, info.as_deref(), rested)
        });
        Self {
            mind: GameCore::new(&house.settings, now),
            house,
            id,
            info,
            link,
            flight: InFlight::None,
            ahead: Ahead::default(),
            sent: now,
            beside: SpannedJoinSet::default(),
            alarms: Timers::default(),
            rng: fastrand::Rng::new(),
            desk,
            waits: 0,
            greeted: false,
            claimed: None,
            doubted: false,
            trace,
            begun: None,
            lingers: false,
            stage: Stage::Running,
            over: None,
            ending: None,
        }
    }

    /// Something came from the stream.
    fn hear(&mut self, heard: StreamEvent<Raw<GameEvent>>) {
        let arrived = clock::now();
        match heard {
            StreamEvent::Opened => {
                debug!(game = %self.id, "stream open");
                self.trace(arrived, || Record::Note("the stream is open".to_owned()));
            }
            StreamEvent::Item(Raw { line, event }) => {
                self.trace(arrived, || Record::Line(line));
                self.on_event(event, arrived);
            }
            StreamEvent::Lost { error, wait } => {
                let why = error.map_or("it ended".into(), |error| error.to_string());
                warn!(game = %self.id, "game stream lost, back in {wait:.1?}: {why}");
                self.trace(arrived, || {
                    Record::Note(format!("the stream is lost, back in {wait:.1?}: {why}"))
                });
            }
            StreamEvent::OpenFailed { error, wait } => {
                self.on_refused(&error, wait);
                self.trace(arrived, || {
                    Record::Note(format!("the stream is refused: {error}"))
                });
            }
        }
        self.greet();
    }

    /// A line of the stream.
    fn on_event(&mut self, event: GameEvent, arrived: Instant) {
        match event {
            GameEvent::Full(full) => self.on_full(&full, arrived),
            GameEvent::State(state) => self.on_state(&state, arrived, false),
            GameEvent::Chat(line) => self.on_chat(line, arrived),
            GameEvent::OpponentGone(gone) => self.on_gone(gone, arrived),
            GameEvent::Unknown(kind) => debug!(game = %self.id, kind, "unknown event"),
            GameEvent::Skipped(skipped) => {
                // It may have been the opponent's move.
                warn!(game = %self.id, "unreadable line, opening the stream again: {}", skipped.why);
                self.link.reset();
            }
        }
    }

    /// Notes in the trace what has happened.
    fn trace(&mut self, at: Instant, what: impl FnOnce() -> Record) {
        self.trace.note(at, what);
    }

    /// The stream was not opened. Only Lichess's own word counts, not that of a proxy in front of it.
    fn on_refused(&mut self, error: &Error, wait: Duration) {
        match error.lichess_error().map(|refusal| refusal.code) {
            Some(404) => {
                warn!(game = %self.id, "the game is gone: {error}");
                if self.mind.table.is_some() {
                    let (status, winner) = self.told_end().unwrap_or((Status::UnknownFinish, None));
                    self.finish(status, winner);
                }
                self.over = Some(ExitReason::Gone);
            }
            Some(400) if self.mind.table.is_none() => {
                warn!(game = %self.id, "Lichess does not let us play: {error}");
                self.over = Some(ExitReason::UnsupportedGame);
            }
            _ => {
                if error.is_unauthorized() {
                    self.house.request_token_check();
                }
                warn!(game = %self.id, "cannot open the game stream, again in {wait:.1?}: {error}");
            }
        }
    }

    /// The first line of a stream.
    fn on_full(&mut self, full: &GameFull, arrived: Instant) {
        if self.mind.table.is_none() {
            match GameHeader::read(full, &self.house.me, self.info.as_deref()) {
                Ok(head) => self.take_seat(head, full, arrived),
                Err(unfit) => return self.refuse(&unfit),
            }
        }
        self.on_state(&full.state, arrived, true);
    }

    fn take_seat(&mut self, head: GameHeader, full: &GameFull, now: Instant) {
        let plies = full.state.moves().count();
        let started = head.started(full, plies);
        let (time, opponent) = (started.time_control, &head.opponent);
        if plies <= 1 {
            info!(game = %self.id, "playing {} against {opponent}, {time}", head.us);
        } else {
            let moves = plural::count(plies.div_ceil(2), "move", "moves");
            info!(game = %self.id, "taking up the game against {opponent}, {time}, after {moves}");
        }
        // Whoever comes back does not greet again.
        self.greeted = plies > 1 || head.tournament || head.against_ai;
        self.lingers = plies <= 1;
        let notes = self.desk.take_notes();
        match notes {
            // It has only rested, so nothing is told twice.
            Some(_) => self.greeted = true,
            None => self.begun = Some(started),
        }
        self.mind.sit(head, full, notes.map(|notes| *notes));
        if let Some(subject) = &mut self.mind.subject {
            if let Some(known) = self.desk.look().known {
                subject.apply_facts(known);
            }
            self.mind.terms = PlaySettings::of(&self.house.settings, subject);
        }
        if let Some(rules) = &self.mind.terms.rules {
            info!(game = %self.id, "to be played with {rules}");
        }
        if let Some(said) = &self.mind.terms.strength.description {
            info!(game = %self.id, "playing {said}");
        }
        let terms = &self.mind.terms;
        self.trace
            .note(now, || Record::Terms(Box::new(terms.clone())));
    }

    /// We cannot play this. An abort costs nobody anything; otherwise it is left to the clock and to its operator.
    fn refuse(&mut self, unfit: &UnsupportedGame) {
        warn!(game = %self.id, "cannot play this game: {unfit}");
        let (client, id) = (self.house.client.clone(), self.id.clone());
        self.beside.spawn(Done::of("abort", async move {
            client.abort(&id).await.inspect_err(|error| {
                warn!(game = %id, "cannot abort it either: {error}");
            })
        }));
        self.over = Some(ExitReason::UnsupportedGame);
    }

    /// How the game stands. `fresh`: by the first line of a new stream.
    fn on_state(&mut self, state: &GameState, arrived: Instant, fresh: bool) {
        let seen = match self.mind.board(state, arrived, fresh) {
            Ok(Some(seen)) => seen,
            Ok(None) => return,
            Err(unplayable) => {
                warn!(game = %self.id, "{unplayable}; opening the stream again");
                return self.link.reset();
            }
        };
        let StateUpdate { reading, step, .. } = seen;
        let MovesUpdate { change, ours, over } = reading;
        let changed = change != Change::Same;
        if self.clocked() {
            let both = state.time(Color::White) + state.time(Color::Black);
            let until = arrived + both + GRACE;
            self.link.cap_wait(away(self.mind.turn.clock.0), until);
        }
        if seen.echoed.is_some() {
            self.lingers = true;
            self.let_it_land();
        }
        if changed && !ours || over {
            self.ahead.search = None;
        }
        self.step(step);

        // Everything from here on is off the way of the move.
        if let Some(begun) = self.begun.take() {
            self.house.events.send(Event::GameStarted(begun));
        }
        if seen.echoed.is_some() && !ours && !over {
            self.think_ahead();
        }
        let shown = self.mind.settle(&seen, state, arrived);
        self.tell(change, state, shown);
        self.on_offers(state, changed);
        self.set_abort(changed);
        self.set_rest(over);
        if changed {
            self.alarms.claim = None;
        }
        if !ours {
            self.alarms.hurry = None;
        }
        if over {
            self.finish(state.status, state.winner);
        } else if fresh {
            self.go_on();
        }
    }

    /// Whether there is a chess clock, as far as we know.
    fn clocked(&self) -> bool {
        let table = self.mind.table.as_ref();
        table.is_some_and(|(head, _)| head.clocked())
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Finished(info) => {
                self.info = Some(info);
                self.doubted = false;
                self.alarms.last_words = Some(clock::now() + LAST_WORDS);
            }
            Order::Look => self.look(Duration::ZERO),
            Order::Mend => {
                self.trace(clock::now(), || Record::Mend);
                let step = self.mind.duty.mend();
                self.step(step);
            }
            Order::Hurry => {
                info!(game = %self.id, "the operator wants the move now");
                self.hurry();
            }
            Order::MakeRoom if self.alarms.rest.is_some() => self.ring(Timer::Rest),
            Order::MakeRoom => {}
        }
    }

    /// Opens the stream anew after a wait, unless it is being opened anyway. One that owes us a line for a while may have
    /// died without a word, and the connection under it too.
    fn look(&mut self, wait: Duration) {
        let Some((stream, _)) = self.link.stream() else {
            return;
        };
        let heard = stream.last_activity().at();
        let owing_since = self
            .mind
            .turn
            .posted
            .map_or(heard, |posted| posted.max(heard));
        if clock::since(owing_since) > UNHEARD {
            stream.fail_over();
        }
        self.link.reopen(wait);
    }

    /// Puts on the desk how the game is.
    fn show(&self) {
        let doing = match &self.flight {
            InFlight::None => Activity::Listening,
            InFlight::Search(_) => Activity::Searching,
            InFlight::Post(_) => Activity::Posting,
            InFlight::Wait(_) => Activity::Waiting,
        };
        self.desk.show(|sight| {
            if let Some((head, sheet)) = &self.mind.table {
                if sight.opponent.is_empty() {
                    sight.opponent = head.opponent.to_string();
                    sight.clocked = head.clocked();
                    sight.pairing = self.mind.subject.as_ref().map(|subject| Pairing {
                        color: head.us,
                        rating: subject.rating,
                        time: subject.time.to_string(),
                    });
                }
                sight.ply = sheet.ply();
            }
            sight.clocks = self.mind.clocks();
            let told = self.mind.told.as_ref();
            sight.score = told.and_then(|(report, _)| report.score);
            sight.no_move = self.mind.duty.has_no_move();
            sight.owed_since = self.mind.duty.owes().then_some(self.mind.turn.since);
            sight.doing = doing;
            sight.remaining = self.mind.turn.clock.0;
            sight.stream = self
                .link
                .stream()
                .map(|(stream, since)| (since, stream.last_activity()));
        });
    }

    fn obey(&mut self, stage: Stage) {
        self.stage = stage;
        if stage == Stage::Leaving {
            self.hurry();
        }
    }

    fn hurry(&mut self) {
        if let InFlight::Search(search) = &mut self.flight {
            search.hurry();
            self.trace(clock::now(), || {
                Record::Note("the move is wanted now".to_owned())
            });
        }
    }

    /// A request that nothing waits for was answered, or its task has failed.
    fn done(&mut self, done: Result<Done, JoinError>) {
        if let Ok(done) = done {
            self.trace(clock::now(), || Record::Note(done.to_string()));
        }
    }

    /// The task ends.
    fn end(&mut self, ended: ExitReason) {
        let words = match self.ending {
            Some((status, winner)) => {
                let end = publish::ended(&self.id, status, winner, String::new());
                let board = self.mind.table.as_ref().map(|(_, sheet)| sheet.game());
                format!("{}: {}, {}", ended.words(), end.reason(board), end.result)
            }
            None => ended.words().to_owned(),
        };
        self.trace(clock::now(), || Record::End(words));
    }

    /// Whether the task may return.
    fn ended(&self) -> Option<ExitReason> {
        if self.over.is_some() {
            return self.over;
        }
        let clocked = self
            .mind
            .table
            .as_ref()
            .is_none_or(|(head, _)| head.clocked());
        let leave = match self.stage {
            Stage::Running => false,
            // A game that takes days is not waited for.
            Stage::Draining => !clocked && !self.mind.duty.owes(),
            Stage::Leaving => !self.mind.duty.owes() || self.mind.duty.posted(),
        };
        leave.then_some(ExitReason::Left)
    }
}
