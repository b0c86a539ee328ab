//! What goes beside the moves: offers, claims, aborts, words. All of it may fail.

use std::future::Future;
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use super::flight::{Alarm, Flight};
use super::{Ended, Play};
use crate::bot::chat;
use crate::bot::stop::Stage;
use crate::clock;
use crate::events::Event;
use crate::lichess::Error;
use crate::lichess::model::{GameState, OpponentGone, Room, Status};

/// What is said at the end gets this long.
const FAREWELL: Duration = Duration::from_secs(3);

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
        // On our own turn the offer is answered by, or with, the move.
        if new_draw && waiting && self.mood.takes(sheet.ply(), &self.terms.draw) {
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
    pub(super) fn set_abort(&mut self, state: &GameState, changed: bool) {
        let Some((head, sheet)) = &self.table else {
            return;
        };
        let waiting = sheet.ply() < 2 && sheet.turn() != head.us && !state.status.is_over();
        if !waiting || head.tournament || !head.clocked() {
            self.alarms.abort = None;
        } else if changed || self.alarms.abort.is_none() {
            let after = self.house.settings.games.abort_after();
            self.alarms.abort = after.map(|after| clock::now() + after);
        }
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
                info!(game = %self.id, "the opponent does not begin: aborting");
                let again = self.house.settings.games.abort_after();
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

    /// Greets once, as soon as no move is owed.
    pub(super) fn greet(&mut self) {
        if self.greeted || self.over.is_some() || self.table.is_none() || self.duty.owes() {
            return;
        }
        self.greeted = true;
        let settings = self.house.settings.clone();
        self.say(Room::Player, &settings.chat.greeting);
        self.say(Room::Spectator, &settings.chat.greeting_spectators);
    }

    pub(super) fn say(&mut self, room: Room, template: &str) {
        let Some((head, _)) = self.table.as_ref().filter(|_| self.terms.chat) else {
            return;
        };
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

    /// The last words, and those that are still on their way, with a deadline.
    pub(super) async fn farewell(&mut self, ended: Ended) {
        let polite = self
            .table
            .as_ref()
            .is_some_and(|(head, sheet)| !head.tournament && !head.against_ai && sheet.ply() >= 2);
        if ended == Ended::Over && polite && self.stage != Stage::Leaving {
            let settings = self.house.settings.clone();
            self.say(Room::Player, &settings.chat.farewell);
            self.say(Room::Spectator, &settings.chat.farewell_spectators);
        }
        let said = async { while self.beside.join_next().await.is_some() {} };
        let _ = clock::timeout(FAREWELL, said).await;
    }
}
