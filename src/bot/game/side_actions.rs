//! Actions other than moves: draw offers, takebacks, claims, aborts. All of them may fail.

use std::future::Future;
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::{ExitReason, FINAL_STATE_TIMEOUT, GameTask};
use crate::bot::game::core::{Offers, SideAction};
use crate::bot::game::in_flight::{InFlight, SideResponse, Timer};
use crate::bot::game::pending_move::Action;
use crate::bot::retries::with_retries_within;
use crate::bot::shutdown::Stage;
use crate::bot::trace::{Decision, Record, TimerKind};
use crate::chess::Color;
use crate::clock;
use crate::events::{Event, Offer, Severity};
use crate::lichess::Error;
use crate::lichess::model::{GameState, OpponentGone, Status};
use crate::lichess::retry::RequestKind;

/// Time until a game is aborted whose stream is not open.
const ABORT_RETRY: Duration = Duration::from_secs(2);

/// Time until a game without a clock is suspended if no quick reply is expected.
const MIN_LINGER: Duration = Duration::from_secs(2);

/// Least time between two claims in a game, however often Lichess reports that the opponent left.
const MIN_TIME_BETWEEN_CLAIMS: Duration = Duration::from_secs(10);

impl GameTask {
    /// Reacts to draw offers and takeback requests in a state.
    pub(super) fn on_offers(&mut self, state: &GameState, changed: bool) {
        let Offers {
            new_draws,
            takeback_requested,
            actions,
            declined_by_move,
            action,
        } = self.core.offers(state, changed);
        for by in new_draws {
            let game = self.id.to_string();
            self.ctx.events.send(Event::DrawOffered { game, by });
        }
        if let Some((by, pending)) = takeback_requested {
            let game = self.id.to_string();
            self.ctx
                .events
                .send(Event::TakebackRequested { game, by, pending });
        }
        for action in actions {
            self.take_side_action(action);
        }
        if declined_by_move {
            info!(game = %self.id, "declining the takeback: our move is being posted");
        }
        self.perform(action.unwrap_or(Action::Continue));
    }

    /// Carries out a decision other than a move.
    fn take_side_action(&mut self, action: SideAction) {
        let why = self.core.reason(action);
        match action {
            SideAction::DeclineDraw | SideAction::DeclineTakeback => {
                info!(game = %self.id, "{why}");
            }
            _ => self.announce(why.as_str()),
        }
        self.trace(clock::now(), || {
            Record::Decision(Decision::SideAction(action), why)
        });
        let (client, id) = (self.ctx.client.clone(), self.id.clone());
        let (events, declined) = (self.ctx.events.clone(), self.declined_event(action));
        self.spawn_request(action.describe(), async move {
            let send = || async {
                match action {
                    SideAction::AcceptDraw => client.draw(&id, true).await,
                    SideAction::DeclineDraw => client.draw(&id, false).await,
                    SideAction::AcceptTakeback => client.takeback(&id, true).await,
                    SideAction::DeclineTakeback => client.takeback(&id, false).await,
                    SideAction::Abort => client.abort(&id).await,
                    SideAction::ClaimVictory => client.claim_victory(&id).await,
                    SideAction::ClaimDraw => client.claim_draw(&id).await,
                }
            };
            let answer = match action {
                // Refused if the opponent is back. Any other action may be wrong after their next move.
                SideAction::ClaimVictory | SideAction::ClaimDraw => {
                    with_retries_within(MIN_TIME_BETWEEN_CLAIMS, RequestKind::Claim, send).await
                }
                _ => send().await,
            };
            // Lichess sends no event when a draw is declined.
            if let (Ok(()), Some(declined)) = (&answer, declined) {
                events.send(declined);
            }
            answer
        });
    }

    /// The event for an action that declines an offer.
    fn declined_event(&self, action: SideAction) -> Option<Event> {
        let offer = match action {
            SideAction::DeclineDraw => Offer::Draw,
            SideAction::DeclineTakeback => Offer::Takeback,
            _ => return None,
        };
        let (header, _) = self.core.game()?;
        Some(Event::Declined {
            game: self.id.to_string(),
            by: header.us,
            offer,
        })
    }

    /// Sets the timer that aborts the game if the opponent makes no first move.
    pub(super) fn set_abort_timer(&mut self, changed: bool) {
        if !self.core.awaits_first_move() {
            self.timers.abort = None;
        } else if changed || self.timers.abort.is_none() {
            let after = self.core.terms().abort_after;
            self.timers.abort = after.map(|after| clock::now() + after);
        }
    }

    /// Sets the timer that suspends a game without a clock if its opponent does not answer soon.
    pub(super) fn set_suspend_timer(&mut self, over: bool) {
        let Some((header, game_moves)) = self.core.game() else {
            return;
        };
        let waiting = !over && !header.has_clock() && game_moves.turn() != header.us;
        let linger = match self.expects_quick_reply {
            true => self.ctx.settings.correspondence.linger(),
            false => MIN_LINGER,
        };
        self.timers.suspend = waiting.then(|| clock::now() + linger);
    }

    /// Suspends the game until it is our turn.
    fn suspend(&mut self) {
        if self.core.pending_move().is_pending() || self.stage != Stage::Running {
            return;
        }
        let Some(suspended) = self.core.suspended() else {
            return;
        };
        self.status_cell.update(|snapshot| {
            snapshot.suspended = Some(Box::new(suspended));
            // A stream that is closed on purpose needs no watching.
            snapshot.stream = None;
        });
        self.exit = Some(ExitReason::Suspended);
    }

    /// The opponent left or came back.
    pub(super) fn on_opponent_gone(&mut self, gone: OpponentGone, arrived: Instant) {
        let game = self.id.to_string();
        self.ctx.events.send(Event::OpponentGone {
            game,
            gone: gone.gone,
        });
        let claim = gone.gone && self.ctx.settings.games.claim_victory;
        let earliest = self.last_claim.map(|at| at + MIN_TIME_BETWEEN_CLAIMS);
        self.timers.claim = gone
            .claim_win_in
            .filter(|_| claim)
            .map(|wait| earliest.map_or(arrived + wait, |at| at.max(arrived + wait)));
    }

    /// A timer has expired.
    pub(super) fn on_timer(&mut self, timer: Timer) {
        match timer {
            Timer::FlagFall => {
                self.timers.flag_fall = None;
                if matches!(self.in_flight, InFlight::Search(_)) {
                    warn!(game = %self.id, "no move from the engine in time; playing the best one so far");
                    self.move_now();
                }
            }
            Timer::Abort if !self.game_stream.is_open() => {
                // The opponent may have moved.
                self.timers.abort = Some(clock::now() + ABORT_RETRY);
            }
            Timer::Abort => {
                self.trace(clock::now(), || Record::Timer(TimerKind::Abort));
                let again = self.core.terms().abort_after;
                self.timers.abort = again.map(|after| clock::now() + after);
                self.take_side_action(SideAction::Abort);
            }
            Timer::Claim => {
                self.timers.claim = None;
                self.trace(clock::now(), || Record::Timer(TimerKind::Claim));
                if let Some(action) = self.core.claimable() {
                    self.last_claim = Some(clock::now());
                    self.take_side_action(action);
                }
            }
            Timer::Suspend => {
                self.timers.suspend = None;
                self.suspend();
            }
            Timer::FinalState => self.on_final_state_timeout(),
        }
    }

    /// The account stream reported the end of the game and the game stream has not. Reopens the game stream once; then trusts the
    /// account stream.
    fn on_final_state_timeout(&mut self) {
        if !std::mem::replace(&mut self.confirming_end, true) {
            self.timers.final_state = Some(clock::now() + FINAL_STATE_TIMEOUT);
            return self.resync(Duration::ZERO);
        }
        self.timers.final_state = None;
        match self.end_by_account_stream() {
            Some((status, winner)) => self.finish(status, winner),
            None => self.confirming_end = false,
        }
    }

    /// Status and winner that the account stream reported for a finished game.
    pub(super) fn end_by_account_stream(&self) -> Option<(Status, Option<Color>)> {
        let info = self.info.as_ref()?;
        info.status.is_over().then_some((info.status, info.winner))
    }

    /// The reopened game stream says that the game is running.
    pub(super) fn on_still_running(&mut self) {
        if std::mem::take(&mut self.confirming_end) {
            self.timers.final_state = None;
            warn!(game = %self.id, "account stream reported the end of the game, but the game stream says it is running; playing on");
        }
    }

    /// Explains an action in the log and on the page.
    pub(super) fn announce(&self, text: impl Into<String>) {
        let text = text.into();
        info!(game = %self.id, "{text}");
        self.ctx.events.send(Event::Note {
            severity: Severity::Info,
            game: Some(self.id.to_string()),
            text,
        });
    }

    /// Spawns a request that no move waits for.
    pub(super) fn spawn_request<F>(&mut self, name: &'static str, request: F)
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let id = self.id.clone();
        self.side_requests.spawn(SideResponse::of(name, async move {
            request
                .await
                .inspect_err(|error| info!(game = %id, "cannot {name}: {error}"))
        }));
    }
}
