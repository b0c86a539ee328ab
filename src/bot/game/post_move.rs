//! Choosing and posting our move: performs the actions of [`PendingMove`](crate::bot::game::pending_move::PendingMove).

use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, info, warn};

use super::GameTask;
use crate::bot::game::choice::{self, ChosenMove, Search};
use crate::bot::game::core::{PostRequest, TimeInputs};
use crate::bot::game::draw_resign::DrawResignDecision;
use crate::bot::game::in_flight::{Completion, InFlight, SideResponse};
use crate::bot::game::pending_move::{Action, PostFailure};
use crate::bot::shutdown::Stage;
use crate::bot::trace::{Bounds, Decision, FoundMove, PostResponse, Record, nanos};
use crate::clock;
use crate::engine::Score;
use crate::external::{ExternalEngine, GameSetup};
use crate::lichess::Error;
use crate::lichess::retry::{self, RequestKind, Retry};

impl GameTask {
    /// Performs an action, which replaces what is in flight.
    pub(super) fn perform(&mut self, action: Action) {
        match action {
            Action::Continue => {}
            Action::Cancel => self.in_flight = InFlight::None,
            Action::Search => self.start_search(),
            Action::Post { mv: _, rejections } => self.post(rejections),
            Action::Wait(wait) => {
                self.trace_decision(|| Decision::Wait(nanos(wait)), "");
                self.in_flight = InFlight::Wait(Box::pin(clock::sleep(wait)));
            }
            Action::Resync(within) => {
                self.trace_decision(
                    || Decision::Resync(nanos(within)),
                    "checking whether the move is on the board",
                );
                let wait = self.core.next_resync_wait();
                self.resync(wait);
                self.in_flight = InFlight::Wait(Box::pin(clock::sleep(wait + within)));
            }
        }
    }

    /// Adds a decision to the trace.
    fn trace_decision(&mut self, decision: impl FnOnce() -> Decision, why: &str) {
        self.trace.note(clock::now(), || {
            Record::Decision(decision(), why.to_owned())
        });
    }

    pub(super) fn start_search(&mut self) {
        let ponder_search = self.pondering.search.take();
        let Some((header, game_moves)) = self.core.game() else {
            return;
        };
        let (game, rejected) = (game_moves.game(), self.core.pending_move().rejected_moves());
        let is_rejected = |mv| rejected.contains(mv);
        if !rejected.is_empty() && game.position().legal_moves().iter().all(is_rejected) {
            return self.on_no_move();
        }
        let terms = self.core.terms();
        let in_book = game_moves.ply() < terms.strength.book_plies();
        let books = self.ctx.books.of(header.variant);
        let books = books.filter(|_| in_book).map(|books| (books, &terms.book));
        if let Some(choice) = choice::instant_move(books, game, rejected, &mut self.rng) {
            return self.on_move_chosen(Some(choice));
        }
        let time_inputs = self.time_inputs();
        let limits = self.core.limits(time_inputs);
        self.timers.flag_fall = self.core.flag_fall();
        let bounds = Bounds::from(&limits);
        let ponder_search = ponder_search
            .filter(|ponder_search| rejected.is_empty() && ponder_search.is_for(game))
            .and_then(|ponder_search| ponder_search.ponder_hit(limits.clone()));
        let is_hit = ponder_search.is_some();
        let search = ponder_search.unwrap_or_else(|| {
            let engine = self.external();
            Search::start(&self.ctx, engine, &self.id, game, rejected, limits)
        });
        self.in_flight = InFlight::Search(Box::new(search));
        self.trace.note(clock::now(), || Record::Turn {
            elapsed: nanos(time_inputs.elapsed),
            games: time_inputs.games,
            concurrency: time_inputs.concurrency,
            ponders: time_inputs.ponders,
        });
        let why = if is_hit { "ponder hit" } else { "" };
        self.trace_decision(|| Decision::Think(bounds), why);
        if self.stage == Stage::Leaving {
            self.move_now();
        }
    }

    /// The external engine that plays this game, and what it should know about it.
    pub(super) fn external(&self) -> Option<(&ExternalEngine, Arc<GameSetup>)> {
        let engine = self.ctx.external(self.core.terms())?;
        let mut setup = self.core.setup();
        setup.opponent_time = setup.opponent_time.map(clock::to_wall_clock);
        Some((engine, Arc::new(setup)))
    }

    /// Inputs of time management from outside the game.
    pub(super) fn time_inputs(&self) -> TimeInputs {
        let settings = &self.ctx.settings;
        let games = self.ctx.shared_load.running_games();
        let is_external = self.ctx.external(self.core.terms()).is_some();
        TimeInputs {
            elapsed: self.core.elapsed(clock::now()),
            games,
            concurrency: self.ctx.shared_load.concurrency(),
            // A move of another game ends it; an external engine does it by its own rules.
            ponders: games <= 1 && !is_external && self.may_ponder(),
            safety_margin: settings.engine.overhead(),
            max_move_time: settings.correspondence.max_move_time(),
        }
    }

    /// The operation in flight has completed.
    pub(super) fn on_completion(&mut self, completion: Completion) {
        self.in_flight = InFlight::None;
        match completion {
            Completion::MoveChosen(choice) => self.on_move_chosen(choice),
            Completion::Response(answer) => self.on_response(answer),
            Completion::Timeout => {
                self.trace.note(clock::now(), || Record::Timeout);
                let action = self.core.on_timeout();
                self.perform(action);
            }
        }
        self.greet();
    }

    pub(super) fn on_move_chosen(&mut self, choice: Option<ChosenMove>) {
        let Some(choice) = choice else {
            return self.on_no_move();
        };
        for line in &choice.transcript {
            self.trace.note(clock::now(), || Record::Note(line.clone()));
        }
        self.trace
            .note(clock::now(), || Record::FoundMove(FoundMove::of(&choice)));
        let search = choice.search.as_ref();
        self.pondering.expected_move = search.and_then(|search| search.ponder);
        let score = search.map(|search| search.score);
        let (decision, action) = self.core.on_move_chosen(choice);
        if let Some(decision) = decision {
            self.announce_decision(decision, score);
        }
        if let Some(why) = self.core.draw_refusal_on_move() {
            info!(game = %self.id, "{why}");
        }
        self.perform(action);
    }

    /// There is no move to choose from.
    fn on_no_move(&mut self) {
        if self.core.pending_move().rejected_moves().is_empty() {
            warn!(game = %self.id, "our turn, but there is no legal move; waiting for Lichess to end the game");
        } else {
            warn!(game = %self.id, "Lichess rejected every legal move; trying them again later");
        }
        self.trace.note(clock::now(), || Record::NoMove);
        let action = self.core.on_no_move();
        self.perform(action);
    }

    /// Announces a draw offer or resignation that goes with our move.
    fn announce_decision(&mut self, decision: DrawResignDecision, score: Option<Score>) {
        let score = score.map_or(String::new(), |score| format!(" ({score})"));
        let game = self.core.game();
        let number = game.map_or(1, |(_, game_moves)| game_moves.position().fullmove_number());
        match decision {
            DrawResignDecision::Play => {}
            DrawResignDecision::Draw if self.core.is_draw_offered() => self.announce(format!(
                "accepting the draw at move {number}: we are not likely to win{score}"
            )),
            DrawResignDecision::Draw => self.announce(format!(
                "offering a draw at move {number}: neither side is likely to win{score}"
            )),
            DrawResignDecision::Resign => self.announce(format!(
                "resigning at move {number}: the game is lost{score}"
            )),
        }
    }

    pub(super) fn post(&mut self, rejections: u32) {
        let now = clock::now();
        let Some(request) = self.core.post_request(rejections, now) else {
            return;
        };
        let (client, id) = (self.ctx.client.clone(), self.id.clone());
        let (posts, _) = self.core.posts();
        let again = if posts > 1 { " again" } else { "" };
        debug!(game = %self.id, "posting{again}: {request}");
        self.post_began = now;
        self.in_flight = InFlight::Post(match request.clone() {
            PostRequest::Resign => Box::pin(async move { client.resign(&id).await }),
            PostRequest::Move { uci, draw } => {
                let within = self.core.post_timeout(now);
                Box::pin(async move { client.play_within(within, &id, &uci, draw).await })
            }
        });
        self.trace.note(now, || {
            let why = if posts > 1 { "retry" } else { "" };
            Record::Decision(Decision::Post(request), why.to_owned())
        });
    }

    pub(super) fn on_response(&mut self, answer: Result<(), Error>) {
        let now = clock::now();
        let text = answer.as_ref().err().map(ToString::to_string);
        let answer = answer.map_err(|error| {
            let failure = self.classify(&error);
            let next = match failure {
                PostFailure::Retry(wait) => format!("retrying in {wait:?}"),
                PostFailure::Uncertain(wait) => {
                    format!("retrying in {wait:?} unless it was played")
                }
                PostFailure::Rejected => "checking the board".to_owned(),
            };
            warn!(name: "move_failed", game = %self.id, "posting the move failed; {next}: {error}");
            failure
        });
        let took = nanos(now.saturating_duration_since(self.post_began));
        self.trace.note(now, || {
            Record::PostResponse(PostResponse {
                took,
                error: answer.err(),
                text: text.unwrap_or_else(|| "accepted".to_owned()),
            })
        });
        let action = self.core.on_response(answer, now);
        self.perform(action);
    }

    /// Classifies a failed POST of a move.
    pub(super) fn classify(&self, error: &Error) -> PostFailure {
        if error.is_unauthorized() {
            self.ctx.request_token_check();
            return PostFailure::Retry(Duration::from_secs(1));
        }
        let max = self.core.max_backoff(clock::now());
        match retry::decide(
            RequestKind::Move,
            error,
            self.core.pending_move().failures(),
        ) {
            // Never wait longer than we can afford, whatever the server asks for: our clock runs.
            Retry::After(wait) if error.may_have_worked() => PostFailure::Uncertain(wait.min(max)),
            Retry::After(wait) => PostFailure::Retry(wait.min(max)),
            Retry::GiveUp => PostFailure::Rejected,
        }
    }

    /// The stream shows our move before the response to the POST: awaits the response as a side request, since dropping a
    /// request would close a warm connection.
    pub(super) fn detach_post(&mut self) {
        match std::mem::replace(&mut self.in_flight, InFlight::None) {
            InFlight::Post(post) => {
                self.side_requests
                    .spawn(SideResponse::since(self.post_began, "the move", post));
            }
            other => self.in_flight = other,
        }
    }
}
