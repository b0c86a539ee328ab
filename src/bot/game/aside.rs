//! What goes beside the moves: offers, takebacks, claims, aborts. All of it may fail.

use std::future::Future;
use std::time::Instant;

use tracing::{info, warn};

use super::flight::{Alarm, Flight};
use super::{Ended, Play};
use crate::bot::desk::Notes;
use crate::bot::stop::Stage;
use crate::clock;
use crate::events::{Event, Severity};
use crate::lichess::Error;
use crate::lichess::model::{GameState, OpponentGone, Status};

impl Play {
    /// Draws and takebacks that the opponent asks for.
    pub(super) fn on_offers(&mut self, state: &GameState, changed: bool) {
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
        let waiting = sheet.turn() != head.us && !state.status.is_over();
        // On our own turn the offer is answered by, or with, the move. A bot's comes with his own, so what we think then
        // decides; a person is told at once.
        if new_draw && waiting {
            let takes = self.mood.takes(sheet.ply(), &self.terms.draw);
            let human = self.subject.as_ref().is_some_and(|subject| !subject.bot);
            let (client, id) = (self.house.client.clone(), self.id.clone());
            if takes {
                self.note("taking the draw");
                self.aside(
                    "accept the draw",
                    async move { client.draw(&id, true).await },
                );
            } else if human {
                self.aside(
                    "decline the draw",
                    async move { client.draw(&id, false).await },
                );
            }
        }
        if takeback {
            self.answer_takeback();
        }
    }

    /// The opponent asks for a move back. On our own turn that ends the thinking, since the position is about to be gone.
    fn answer_takeback(&mut self) {
        let given = self.given_back < self.terms.takebacks;
        if given && !self.duty.can_yield() {
            // Our move is on its way, and is the answer.
            return;
        }
        let (client, id) = (self.house.client.clone(), self.id.clone());
        if given {
            self.given_back += 1;
            let (given, most) = (self.given_back, self.terms.takebacks);
            self.note(format!("giving a move back, {given} of {most}"));
            let step = self.duty.yields();
            self.step(step);
            self.aside("give a move back", async move {
                client.takeback(&id, true).await
            });
        } else {
            self.aside("decline the takeback", async move {
                client.takeback(&id, false).await
            });
        }
    }

    /// The opponent gets a while for his first move; tournaments look after that themselves.
    pub(super) fn set_abort(&mut self, state: &GameState, changed: bool) {
        let Some((head, sheet)) = &self.table else {
            return;
        };
        let waiting = sheet.ply() < 2 && sheet.turn() != head.us && !state.status.is_over();
        if !waiting || head.tournament || !head.clocked() {
            self.alarms.abort = None;
        } else if changed || self.alarms.abort.is_none() {
            let after = self.terms.abort_after;
            self.alarms.abort = after.map(|after| clock::now() + after);
        }
    }

    /// A game without a clock is left to rest when its opponent does not answer soon.
    pub(super) fn set_rest(&mut self, over: bool) {
        let Some((head, sheet)) = &self.table else {
            return;
        };
        let waiting = !over && !head.clocked() && sheet.turn() != head.us;
        let linger = self.house.settings.correspondence.linger();
        self.alarms.rest = waiting.then(|| clock::now() + linger);
    }

    /// Everything is put aside until it is our turn again.
    fn rest(&mut self) {
        if self.duty.owes() || self.stage != Stage::Running {
            return;
        }
        let Some((_, sheet)) = &self.table else {
            return;
        };
        let notes = Notes {
            sheet: sheet.clone(),
            mood: self.mood.clone(),
            given_back: self.given_back,
            told: self.told.clone(),
        };
        self.desk.show(|sight| {
            sight.notes = Some(Box::new(notes));
            // Nobody looks after a stream that is closed on purpose.
            sight.stream = None;
        });
        self.over = Some(Ended::Rests);
    }

    pub(super) fn on_gone(&mut self, gone: OpponentGone, arrived: Instant) {
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

    pub(super) fn ring(&mut self, alarm: Alarm) {
        let (client, id) = (self.house.client.clone(), self.id.clone());
        match alarm {
            Alarm::Hurry => {
                self.alarms.hurry = None;
                if let Flight::Search(search) = &self.flight {
                    warn!(game = %self.id, "no move from the engine in time: taking what it has");
                    search.hurry();
                }
            }
            Alarm::Abort => {
                self.note("the opponent does not begin: aborting");
                let again = self.terms.abort_after;
                self.alarms.abort = again.map(|after| clock::now() + after);
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
                    self.note("the opponent is gone: claiming the win");
                    self.aside(
                        "claim the win",
                        async move { client.claim_victory(&id).await },
                    );
                } else {
                    self.note("the opponent is gone: claiming a draw");
                    self.aside(
                        "claim the draw",
                        async move { client.claim_draw(&id).await },
                    );
                }
            }
            Alarm::Rest => {
                self.alarms.rest = None;
                self.rest();
            }
            Alarm::LastWords => {
                let info = self.info.as_ref().map(|info| (info.status, info.winner));
                let (status, winner) = info.unwrap_or((Status::Unknown, None));
                self.finish(status, winner);
            }
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
        self.beside.spawn(async move {
            if let Err(error) = request.await {
                info!(game = %id, "cannot {what}: {error}");
            }
        });
    }
}
