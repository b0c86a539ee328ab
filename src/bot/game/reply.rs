//! From "it is our turn" to "our move is posted": takes the steps that [`Duty`](crate::bot::duty::Duty) says.

use std::time::Duration;

use tracing::{debug, warn};

use super::Play;
use super::flight::{Flight, Landed};
use crate::bot::budget::Budget;
use crate::bot::chances;
use crate::bot::choice::{self, Choice, Search};
use crate::bot::duty::{Step, Trouble};
use crate::bot::head::Head;
use crate::bot::manners::{Manner, Moment};
use crate::bot::sheet::Sheet;
use crate::bot::stop::Stage;
use crate::chess::CastlingNotation;
use crate::clock;
use crate::engine::{Limits, Score};
use crate::lichess::retry::{self, Kind, Retry};
use crate::lichess::{Error, MOVE_PATIENCE};

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

impl Play {
    /// What the duty says is to be done replaces what was in flight.
    pub(super) fn step(&mut self, step: Step) {
        match step {
            Step::Keep => {}
            Step::Drop => self.flight = Flight::None,
            Step::Think => self.think(),
            Step::Post { mv: _, refused } => self.post(refused),
            Step::Wait(wait) => self.flight = Flight::Wait(Box::pin(clock::sleep(wait))),
            Step::Look(within) => {
                let wait = LOOKS[self.turn.looks.min(LOOKS.len() - 1)];
                self.turn.looks += 1;
                self.look(wait);
                self.flight = Flight::Wait(Box::pin(clock::sleep(wait + within)));
            }
        }
    }

    pub(super) fn think(&mut self) {
        let Some((head, sheet)) = &self.table else {
            return;
        };
        let (game, barred) = (sheet.game(), self.duty.barred());
        let books = self.terms.book.then_some(&self.house.books);
        if let Some(choice) = choice::at_once(books, game, barred, &mut self.rng) {
            return self.found(Some(choice));
        }
        let limits = self.limits(head, sheet);
        let (remaining, at) = self.turn.clock;
        let running = head.clocked() && sheet.ply() >= 2;
        self.alarms.hurry = running.then(|| at + remaining.saturating_sub(self.lag.typical()));
        let search = Search::start(&self.house, &self.id, game, barred, limits);
        self.flight = Flight::Search(Box::new(search));
        if self.stage == Stage::Leaving {
            self.hurry();
        }
    }

    pub(super) fn limits(&self, head: &Head, sheet: &Sheet) -> Limits {
        let settings = &self.house.settings;
        let (remaining, at) = self.turn.clock;
        let budget = Budget {
            pace: head.pace,
            remaining,
            since: clock::since(at),
            ply: sheet.ply(),
            lag: &self.lag,
            safety: settings.engine.overhead(),
            longest: settings.correspondence.longest(),
            games: self.house.games_on(),
            concurrency: settings.games.concurrency,
        };
        self.terms.think.bound(budget.limits())
    }

    /// The flight for the owed move has come to its end.
    pub(super) fn land(&mut self, landed: Landed) {
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

    pub(super) fn found(&mut self, choice: Option<Choice>) {
        let Some(choice) = choice else {
            // No legal move: the game is over, and the stream is about to say so.
            return warn!(game = %self.id, "our turn, and no legal move");
        };
        if let Some(thought) = choice.thought.as_ref().filter(|thought| thought.depth > 0) {
            self.turn.manner = self.manner(thought.score);
        }
        let step = self.duty.chose(choice.mv);
        self.choice = Some(choice);
        self.step(step);
    }

    /// What to do beside a move that was found with this score.
    fn manner(&mut self, score: Score) -> Manner {
        let Some((head, sheet)) = &self.table else {
            return Manner::Play;
        };
        let (draw, resign) = (&self.terms.draw, &self.terms.resign);
        let moment = Moment {
            ply: sheet.ply(),
            offered: self.draw_offered,
            their_time: head.clocked().then_some(self.turn.their_clock),
        };
        let material = chances::material(sheet.position());
        self.mood.feel(score, material, draw, resign);
        let manner = self.mood.manner(moment, draw, resign);
        let plies = moment.ply;
        match manner {
            Manner::Play => {}
            Manner::Draw => self.note(format!(
                "it is time for a draw, after {plies} plies, {score}"
            )),
            Manner::Resign => self.note(format!("resigning after {plies} plies, {score}")),
        }
        manner
    }

    pub(super) fn post(&mut self, refused: u32) {
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
        self.turn.posted.get_or_insert_with(clock::now);
        self.turn.posts += 1;
        debug!(game = %self.id, uci, ?manner, posts = self.turn.posts, "posting");
        self.flight = Flight::Post(match manner {
            Manner::Resign => Box::pin(async move { client.resign(&id).await }),
            manner => {
                let (within, draw) = (self.answer_within(), manner == Manner::Draw);
                Box::pin(async move { client.play_within(within, &id, &uci, draw).await })
            }
        });
    }

    pub(super) fn answered(&mut self, answer: Result<(), Error>) {
        if let (Ok(()), Some(posted)) = (&answer, self.turn.posted) {
            self.turn.round_trip.get_or_insert(clock::since(posted));
        }
        let answer = answer.map_err(|error| {
            let trouble = self.trouble(&error);
            self.turn.rested |= matches!(trouble, Trouble::Again(_));
            warn!(game = %self.id, ?trouble, "the move did not get through: {error}");
            trouble
        });
        let step = self.duty.answered(answer);
        self.step(step);
    }

    /// What a failed POST of a move means.
    pub(super) fn trouble(&self, error: &Error) -> Trouble {
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

    /// How long a POST may take before it is sent again over another connection: less on a short clock, but always long
    /// enough for the four round trips of a new connection.
    fn answer_within(&self) -> Duration {
        let (remaining, at) = self.turn.clock;
        let quarter = remaining.saturating_sub(clock::since(at)) / 4;
        quarter
            .max(4 * self.lag.high())
            .clamp(SHORTEST_ANSWER, MOVE_PATIENCE)
    }

    /// The longest that we can afford to wait with a move in hand.
    pub(super) fn patience(&self) -> Duration {
        let (remaining, at) = self.turn.clock;
        (remaining.saturating_sub(clock::since(at)) / 10)
            .clamp(Duration::from_millis(100), Duration::from_secs(60))
    }

    /// The stream shows our move before the POST is answered: the answer is awaited beside, since giving up a
    /// request would close a warm connection.
    pub(super) fn let_it_land(&mut self) {
        match std::mem::replace(&mut self.flight, Flight::None) {
            Flight::Post(post) => {
                self.beside.spawn(async move { drop(post.await) });
            }
            other => self.flight = other,
        }
    }
}
