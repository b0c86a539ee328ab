//! From "it is our turn" to "our move is posted": takes the steps that [`PendingMove`](crate::bot::game::pending_move::Duty) says.

use std::time::Duration;

use tracing::{debug, info, warn};

use super::{GRACE, GameTask};
use crate::bot::game::choice::{self, Choice, Search};
use crate::bot::game::core::{Posting, TimeInputs};
use crate::bot::game::draw_resign::DrawResignDecision;
use crate::bot::game::in_flight::{Completion, Done, InFlight};
use crate::bot::game::pending_move::{Step, Trouble};
use crate::bot::shutdown::Stage;
use crate::bot::trace::{Answer, Bounds, Decision, Found, PostError, Record, nanos};
use crate::clock;
use crate::engine::Score;
use crate::lichess::retry::{self, RequestKind, Retry};
use crate::lichess::{Error, MOVE_TIMEOUT};

/// Waits before looking at the stream once more, while a position stays as it is.
const LOOKS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
];

/// No POST is given up sooner.
const SHORTEST_ANSWER: Duration = Duration::from_millis(500);

/// POSTs that failed in a row when it is no hiccup any more: then none is sent within a second of another.
const MANY: u32 = 40;

/// Nor is there ever longer to wait, as long as the game is on.
const LONGEST_REST: Duration = Duration::from_secs(60);

impl GameTask {
    /// What the duty says is to be done replaces what was in flight.
    pub(super) fn step(&mut self, step: Step) {
        match step {
            Step::Keep => {}
            Step::Drop => self.flight = InFlight::None,
            Step::Think => self.think(),
            Step::Post { mv: _, refused } => self.post(refused),
            Step::Wait(wait) => {
                self.decided(|| Decision::Wait(nanos(wait)), "");
                self.flight = InFlight::Wait(Box::pin(clock::sleep(wait)));
            }
            Step::Look(within) => {
                self.decided(|| Decision::Look(nanos(within)), "is it on the board?");
                let turn = &mut self.mind.turn;
                let wait = LOOKS[turn.looks.min(LOOKS.len() - 1)];
                turn.looks += 1;
                self.look(wait);
                self.flight = InFlight::Wait(Box::pin(clock::sleep(wait + within)));
            }
        }
    }

    /// Notes in the trace what is decided now.
    fn decided(&mut self, what: impl FnOnce() -> Decision, why: &str) {
        self.trace
            .note(clock::now(), || Record::Decided(what(), why.to_owned()));
    }

    pub(super) fn think(&mut self) {
        let ahead = self.ahead.search.take();
        let Some((_, sheet)) = &self.mind.table else {
            return;
        };
        let (game, barred) = (sheet.game(), self.mind.duty.barred());
        let terms = &self.mind.terms;
        let in_book = sheet.ply() < terms.strength.book_plies();
        let books = in_book.then_some((&self.house.books, &terms.book));
        if let Some(choice) = choice::at_once(books, game, barred, &mut self.rng) {
            return self.found(Some(choice));
        }
        let (remaining, at) = self.mind.turn.clock;
        let share = self.share();
        let limits = self.mind.limits(share);
        let running = self.clocked() && sheet.ply() >= 2;
        let lag = self.mind.lag.typical();
        self.alarms.hurry = running.then(|| at + remaining.saturating_sub(lag));
        let bounds = Bounds::from(&limits);
        let ahead = ahead
            .filter(|ahead| barred.is_empty() && ahead.is_about(game))
            .and_then(|ahead| ahead.hit(limits.clone()));
        let is_hit = ahead.is_some();
        let search =
            ahead.unwrap_or_else(|| Search::start(&self.house, &self.id, game, barred, limits));
        self.flight = InFlight::Search(Box::new(search));
        let (since, games, places) = (nanos(share.since), share.games, share.concurrency);
        self.trace.note(clock::now(), || Record::Turn {
            since,
            games,
            places,
        });
        let why = if is_hit { "it was thought ahead" } else { "" };
        self.decided(|| Decision::Think(bounds), why);
        if self.stage == Stage::Leaving {
            self.hurry();
        }
    }

    /// What has a part in how long we think.
    pub(super) fn share(&self) -> TimeInputs {
        let settings = &self.house.settings;
        TimeInputs {
            since: clock::since(self.mind.turn.clock.1),
            games: self.house.shared_load.running_games(),
            concurrency: self.house.shared_load.concurrency(),
            safety: settings.engine.overhead(),
            longest: settings.correspondence.max_move_time(),
        }
    }

    /// The flight for the owed move has come to its end.
    pub(super) fn land(&mut self, landed: Completion) {
        self.flight = InFlight::None;
        match landed {
            Completion::Found(choice) => self.found(choice),
            Completion::Answered(answer) => self.answered(answer),
            Completion::Due => {
                self.trace.note(clock::now(), || Record::Due);
                let step = self.mind.duty.due();
                self.step(step);
            }
        }
        self.greet();
    }

    pub(super) fn found(&mut self, choice: Option<Choice>) {
        let Some(choice) = choice else {
            return self.found_none();
        };
        self.trace
            .note(clock::now(), || Record::Found(Found::of(&choice)));
        let thought = choice.thought.as_ref();
        self.ahead.expected = thought.and_then(|thought| thought.ponder);
        let score = thought.map(|thought| thought.score);
        let (manner, step) = self.mind.found(choice);
        if let (Some(manner), Some(score)) = (manner, score) {
            self.tell_manner(manner, score);
        }
        if let Some(why) = self.mind.plays_on() {
            info!(game = %self.id, "{why}");
        }
        self.step(step);
    }

    /// There is no move to choose from.
    fn found_none(&mut self) {
        if self.mind.duty.barred().is_empty() {
            warn!(game = %self.id, "our turn, but there is no legal move: waiting for Lichess to end the game");
        } else {
            warn!(game = %self.id, "Lichess has refused every legal move: trying them again in a while");
        }
        self.trace.note(clock::now(), || Record::FoundNone);
        let step = self.mind.duty.found_none();
        self.step(step);
    }

    /// Says what is done beside a move that was found with this score.
    fn tell_manner(&mut self, manner: DrawResignDecision, score: Score) {
        let table = self.mind.table.as_ref();
        let number = table.map_or(1, |(_, sheet)| sheet.position().fullmove_number());
        let score = choice::told(score);
        match manner {
            DrawResignDecision::Play => {}
            DrawResignDecision::Draw if self.mind.is_offered_a_draw() => self.note(format!(
                "taking the draw at move {number}, as we are not likely to win ({score})"
            )),
            DrawResignDecision::Draw => self.note(format!(
                "offering a draw at move {number}, as neither side is likely to win ({score})"
            )),
            DrawResignDecision::Resign => self.note(format!(
                "resigning at move {number}, as the game is lost ({score})"
            )),
        }
    }

    pub(super) fn post(&mut self, refused: u32) {
        let now = clock::now();
        let Some(posting) = self.mind.posting(refused, now) else {
            return;
        };
        let (client, id) = (self.house.client.clone(), self.id.clone());
        let posts = self.mind.turn.posts;
        let again = if posts > 1 { " once more" } else { "" };
        debug!(game = %self.id, "posting{again}: {posting}");
        self.sent = now;
        self.flight = InFlight::Post(match posting.clone() {
            Posting::Resign => Box::pin(async move { client.resign(&id).await }),
            Posting::Move { uci, draw } => {
                let within = self.answer_within();
                Box::pin(async move { client.play_within(within, &id, &uci, draw).await })
            }
        });
        self.trace.note(now, || {
            let why = if posts > 1 { "once more" } else { "" };
            Record::Decided(Decision::Post(posting), why.to_owned())
        });
    }

    pub(super) fn answered(&mut self, answer: Result<(), Error>) {
        let now = clock::now();
        let said = answer.as_ref().err().map(ToString::to_string);
        let answer = answer.map_err(|error| {
            let trouble = self.trouble(&error);
            let next = match trouble {
                Trouble::Again(wait) => format!("sending it again in {wait:?}"),
                Trouble::Lost(wait) => format!("sending it again in {wait:?} unless it was played"),
                Trouble::Refused => "looking at the board".to_owned(),
            };
            warn!(game = %self.id, "the move did not get through, {next}: {error}");
            trouble
        });
        let took = nanos(now.saturating_duration_since(self.sent));
        self.trace.note(now, || {
            Record::Answer(Answer {
                took,
                trouble: answer.err().map(PostError::from),
                said: said.unwrap_or_else(|| "taken".to_owned()),
            })
        });
        let step = self.mind.answered(answer, now);
        self.step(step);
    }

    /// What a failed POST of a move means.
    pub(super) fn trouble(&self, error: &Error) -> Trouble {
        if error.is_unauthorized() {
            self.house.request_token_check();
            return Trouble::Again(Duration::from_secs(1));
        }
        match retry::decide(RequestKind::Move, error, self.mind.duty.failed()) {
            // However long the server wants us to wait: our clock runs.
            Retry::After(wait) if error.may_have_worked() => {
                Trouble::Lost(wait.min(self.patience()))
            }
            Retry::After(wait) => Trouble::Again(wait.min(self.patience())),
            Retry::GiveUp => Trouble::Refused,
        }
    }

    /// How long a POST may take before it is sent again over another connection: less on a short clock, but always long
    /// enough for the four round trips of a new connection.
    fn answer_within(&self) -> Duration {
        let (remaining, at) = self.mind.turn.clock;
        let quarter = remaining.saturating_sub(clock::since(at)) / 4;
        quarter
            .max(4 * self.mind.lag.high())
            .clamp(SHORTEST_ANSWER, MOVE_TIMEOUT)
    }

    /// The longest that we can afford to wait with a move in hand. A clock that must have run out may have been given more.
    pub(super) fn patience(&self) -> Duration {
        let (remaining, at) = self.mind.turn.clock;
        let gone = clock::since(at);
        if gone > remaining + GRACE {
            return LONGEST_REST;
        }
        let least = match self.mind.duty.failed() {
            0..MANY => Duration::from_millis(100),
            _ => Duration::from_secs(1),
        };
        (remaining.saturating_sub(gone) / 10).clamp(least, LONGEST_REST)
    }

    /// The stream shows our move before the POST is answered: the answer is awaited beside, since giving up a
    /// request would close a warm connection.
    pub(super) fn let_it_land(&mut self) {
        match std::mem::replace(&mut self.flight, InFlight::None) {
            InFlight::Post(post) => {
                self.beside.spawn(Done::since(self.sent, "the move", post));
            }
            other => self.flight = other,
        }
    }
}
