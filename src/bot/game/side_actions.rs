//! What goes beside the moves: offers, takebacks, claims, aborts. All of it may fail.

use std::future::Future;
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::{ExitReason, GameTask, LAST_WORDS};
use crate::bot::game::core::{Act, Offers};
use crate::bot::game::in_flight::{Done, InFlight, Timer};
use crate::bot::game::pending_move::Step;
use crate::bot::shutdown::Stage;
use crate::bot::trace::{Decision, Record, TimerKind};
use crate::chess::Color;
use crate::clock;
use crate::events::{Event, Offer, Severity};
use crate::lichess::Error;
use crate::lichess::model::{GameState, OpponentGone, Status};

/// A game without a clock that is open only to be told of, or to be looked at, stays so for so long.
const GLANCE: Duration = Duration::from_secs(2);

/// The least time between two claims in a game, however often we hear that the opponent is gone.
const BETWEEN_CLAIMS: Duration = Duration::from_secs(10);

impl GameTask {
    /// Draws that are offered, and takebacks that the opponent asks for.
    pub(super) fn on_offers(&mut self, state: &GameState, changed: bool) {
        let Offers {
            new_draws,
            takeback_asked,
            acts,
            overtaken,
            step,
        } = self.mind.offers(state, changed);
        for by in new_draws {
            let game = self.id.to_string();
            self.house.events.send(Event::DrawOffered { game, by });
        }
        if let Some((by, asked)) = takeback_asked {
            let game = self.id.to_string();
            let asked = Event::TakebackRequested {
                game,
                by,
                pending: asked,
            };
            self.house.events.send(asked);
        }
        for act in acts {
            self.act(act);
        }
        if overtaken {
            info!(game = %self.id, "not giving a move back: ours is on its way already");
        }
        self.step(step.unwrap_or(Step::Keep));
    }

    /// Does what was decided beside the moves.
    fn act(&mut self, act: Act) {
        let why = self.mind.reason(act);
        match act {
            Act::DeclineDraw | Act::DeclineTakeback => info!(game = %self.id, "{why}"),
            _ => self.note(why.as_str()),
        }
        self.trace(clock::now(), || Record::Decided(Decision::Do(act), why));
        let (client, id) = (self.house.client.clone(), self.id.clone());
        let (events, declined) = (self.house.events.clone(), self.declined_by(act));
        self.aside(act.words(), async move {
            let answer = match act {
                Act::TakeDraw => client.draw(&id, true).await,
                Act::DeclineDraw => client.draw(&id, false).await,
                Act::GiveBack => client.takeback(&id, true).await,
                Act::DeclineTakeback => client.takeback(&id, false).await,
                Act::Abort => client.abort(&id).await,
                Act::ClaimWin => client.claim_victory(&id).await,
                Act::ClaimDraw => client.claim_draw(&id).await,
            };
            // Lichess pushes nothing when a draw is declined.
            if let (Ok(()), Some(declined)) = (&answer, declined) {
                events.send(declined);
            }
            answer
        });
    }

    /// The event for an act that has declined something.
    fn declined_by(&self, act: Act) -> Option<Event> {
        let offer = match act {
            Act::DeclineDraw => Offer::Draw,
            Act::DeclineTakeback => Offer::Takeback,
            _ => return None,
        };
        let (head, _) = self.mind.table.as_ref()?;
        Some(Event::Declined {
            game: self.id.to_string(),
            by: head.us,
            offer,
        })
    }

    /// The opponent gets a while for his first move.
    pub(super) fn set_abort(&mut self, changed: bool) {
        if !self.mind.awaits_first_move() {
            self.alarms.abort = None;
        } else if changed || self.alarms.abort.is_none() {
            let after = self.mind.terms.abort_after;
            self.alarms.abort = after.map(|after| clock::now() + after);
        }
    }

    /// A game without a clock is left to rest when its opponent does not answer soon.
    pub(super) fn set_rest(&mut self, over: bool) {
        let Some((head, sheet)) = &self.mind.table else {
            return;
        };
        let waiting = !over && !head.clocked() && sheet.turn() != head.us;
        let linger = match self.lingers {
            true => self.house.settings.correspondence.linger(),
            false => GLANCE,
        };
        self.alarms.rest = waiting.then(|| clock::now() + linger);
    }

    /// Everything is put aside until it is our turn again.
    fn rest(&mut self) {
        if self.mind.duty.owes() || self.stage != Stage::Running {
            return;
        }
        let Some(notes) = self.mind.notes() else {
            return;
        };
        self.desk.show(|sight| {
            sight.notes = Some(Box::new(notes));
            // Nobody looks after a stream that is closed on purpose.
            sight.stream = None;
        });
        self.over = Some(ExitReason::Rests);
    }

    pub(super) fn on_gone(&mut self, gone: OpponentGone, arrived: Instant) {
        let game = self.id.to_string();
        self.house.events.send(Event::OpponentGone {
            game,
            gone: gone.gone,
        });
        let claim = gone.gone && self.house.settings.games.claim_victory;
        let earliest = self.claimed.map(|at| at + BETWEEN_CLAIMS);
        self.alarms.claim = gone
            .claim_win_in
            .filter(|_| claim)
            .map(|wait| earliest.map_or(arrived + wait, |at| at.max(arrived + wait)));
    }

    pub(super) fn ring(&mut self, alarm: Timer) {
        match alarm {
            Timer::Hurry => {
                self.alarms.hurry = None;
                if matches!(self.flight, InFlight::Search(_)) {
                    warn!(game = %self.id, "no move from the engine in time: taking what it has");
                    self.hurry();
                }
            }
            Timer::Abort => {
                self.trace(clock::now(), || Record::Rings(TimerKind::Abort));
                let again = self.mind.terms.abort_after;
                self.alarms.abort = again.map(|after| clock::now() + after);
                self.act(Act::Abort);
            }
            Timer::Claim => {
                self.alarms.claim = None;
                self.claimed = Some(clock::now());
                self.trace(clock::now(), || Record::Rings(TimerKind::Claim));
                if let Some(act) = self.mind.claim() {
                    self.act(act);
                }
            }
            Timer::Rest => {
                self.alarms.rest = None;
                self.rest();
            }
            Timer::LastWords => self.miss_last_words(),
        }
    }

    /// The account's stream says that the game is over, and its own has not said so. Opened again, it says which is true.
    fn miss_last_words(&mut self) {
        if !std::mem::replace(&mut self.doubted, true) {
            self.alarms.last_words = Some(clock::now() + LAST_WORDS);
            return self.look(Duration::ZERO);
        }
        self.alarms.last_words = None;
        match self.told_end() {
            Some((status, winner)) => self.finish(status, winner),
            None => self.doubted = false,
        }
    }

    /// How the game has ended, as the account's stream has said.
    pub(super) fn told_end(&self) -> Option<(Status, Option<Color>)> {
        let info = self.info.as_ref()?;
        info.status.is_over().then_some((info.status, info.winner))
    }

    /// Its own stream says that the game is on.
    pub(super) fn go_on(&mut self) {
        if std::mem::take(&mut self.doubted) {
            self.alarms.last_words = None;
            warn!(game = %self.id, "Lichess has said that the game is over, and its stream that it is on: playing on");
        }
    }

    /// Says in the log and to whoever watches why something happens in the game.
    pub(super) fn note(&self, text: impl Into<String>) {
        let text = text.into();
        info!(game = %self.id, "{text}");
        self.house.events.send(Event::Note {
            severity: Severity::Info,
            game: Some(self.id.to_string()),
            text,
        });
    }

    /// A request that nothing waits for.
    pub(super) fn aside<F>(&mut self, what: &'static str, request: F)
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let id = self.id.clone();
        self.beside.spawn(Done::of(what, async move {
            request
                .await
                .inspect_err(|error| info!(game = %id, "cannot {what}: {error}"))
        }));
    }
}
