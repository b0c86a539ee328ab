//! One more game with the same opponent: how many there were in a row, and the one that we offer.
//!
//! Bots cannot press Lichess's button for it, so ours is an ordinary challenge. It is taken back when nobody answers, and when
//! the opponent asks for a game himself.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tracing::info;

use super::errands::Errand;
use super::{Account, remember};
use crate::bot::desk::Encore;
use crate::bot::quota::Limit;
use crate::bot::slots::Guest;
use crate::clock;
use crate::lichess::Error as Failure;
use crate::lichess::model::{Challenge, ChallengeId, ChallengeStatus, GameId, Username};

/// How long our offer waits for an answer: less than its place is kept.
const PATIENCE: Duration = Duration::from_secs(15);

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Rematches {
    /// Games that are rematches, and their number in a row.
    rows: VecDeque<(GameId, u32)>,
    /// What we have offered.
    open: Option<Offer>,
}

#[derive(Debug)]
struct Offer {
    id: ChallengeId,
    to: Username,
    until: Instant,
}

impl Rematches {
    /// How many rematches in a row the game was the last of.
    fn row(&self, game: &GameId) -> u32 {
        let mut rows = self.rows.iter();
        rows.find(|(id, _)| id == game).map_or(0, |(_, row)| *row)
    }

    /// Which number in a row a challenge would be: 0 for one that is no rematch.
    pub fn number(&self, challenge: &Challenge) -> u32 {
        let previous = challenge.rematch_of.as_ref();
        previous.map_or(0, |previous| self.row(previous) + 1)
    }

    /// It becomes a game.
    pub fn note(&mut self, id: GameId, number: u32) {
        if number > 0 {
            remember(&mut self.rows, (id, number));
        }
    }

    /// Our offer, if it is this user's.
    fn take(&mut self, is_it: impl Fn(&Offer) -> bool) -> Option<ChallengeId> {
        let offer = self.open.take_if(|offer| is_it(offer))?;
        Some(offer.id)
    }
}

impl Account {
    /// Offers a rematch once, if there is a place for it and nobody waits for that.
    pub(super) fn offer_rematch(&mut self, previous: &GameId, encore: Encore) {
        let Encore { to, human, what } = encore;
        let now = clock::now();
        let plays_on = self.slots.against(Some(&to), now) > 0;
        let busy = plays_on || !self.queue.is_empty() || self.slots.full(human, now);
        let again = self.rematches.row(previous) > 0 || self.rematches.open.is_some();
        let sister = self.house.settings.is_sister(to.as_str());
        if sister || busy || again || !self.takes_games() {
            return;
        }
        // Asking all the same would make it last longer.
        let date = clock::date();
        let full = (!human).then(|| self.quota.full_until(Limit::BotGames, date));
        if let Some(until) = self.quota.no_challenge_until(date).or(full.flatten()) {
            let until = clock::shown(until);
            return info!(game = %previous, "no rematch with {to}: Lichess takes no challenges from us before {until}");
        }
        info!(game = %previous, "offering {to} a rematch");
        let client = self.house.client.clone();
        self.errands.spawn(async move {
            let asked = client.challenge(&to, &what).await;
            Errand::RematchAsked(to, human, asked)
        });
    }

    /// It is offered, or cannot be.
    pub(super) fn rematch_asked(
        &mut self,
        to: Username,
        human: bool,
        asked: Result<Challenge, Failure>,
    ) {
        let id = match asked {
            Ok(challenge) => challenge.id,
            Err(failure) => {
                self.too_many_challenges(&failure);
                return info!("no rematch with {to}: {failure}");
            }
        };
        self.challenge_counts(!human);
        self.rematches.note(id.clone(), 1);
        if self.games.contains_key(&id) {
            return;
        }
        if self.slots.against(Some(&to), clock::now()) > 0 {
            // He has asked himself meanwhile.
            return self.take_back(id);
        }
        let guest = Guest {
            name: Some(to.clone()),
            human,
            clocked: true,
        };
        let now = clock::now();
        self.slots.promise(id.clone(), guest, now);
        let until = now + PATIENCE;
        self.rematches.open = Some(Offer { id, to, until });
    }

    /// Takes our offer back when it has waited for long enough.
    pub(super) fn look_after_rematch(&mut self) {
        let now = clock::now();
        let games = &self.games;
        self.rematches.take(|offer| games.contains_key(&offer.id));
        if let Some(id) = self.rematches.take(|offer| offer.until <= now) {
            self.take_back(id);
        }
    }

    /// He challenges us himself, and one game is enough.
    pub(super) fn asks_himself(&mut self, user: &Username) {
        if let Some(id) = self.rematches.take(|offer| offer.to == *user) {
            self.take_back(id);
        }
    }

    /// The offer was declined, or is gone.
    pub(super) fn rematch_is_off(&mut self, id: &ChallengeId) {
        if self.rematches.take(|offer| offer.id == *id).is_some() {
            info!(challenge = %id, "no rematch");
        }
    }

    fn take_back(&mut self, id: ChallengeId) {
        if self.games.contains_key(&id) {
            return;
        }
        self.slots.free(&id);
        let client = self.house.client.clone();
        self.errands.spawn(async move {
            // What was accepted just now is a game, and to cancel that would abort it.
            let shown = client.show_challenge(&id).await;
            let accepted =
                shown.is_ok_and(|challenge| challenge.status == ChallengeStatus::Accepted);
            let taken_back = match accepted {
                true => Ok(()),
                false => client.cancel(&id).await,
            };
            Errand::TakenBack(id, taken_back)
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn challenge(rematch_of: Option<&str>) -> Challenge {
        let challenge = json!({
            "id": "thisgame", "variant": {"key": "standard"}, "speed": "blitz", "rematchOf": rematch_of,
            "timeControl": {"type": "clock", "limit": 180, "increment": 2},
        });
        serde_json::from_value(challenge).unwrap()
    }

    #[test]
    fn rematches_are_counted_in_a_row() {
        let mut rematches = Rematches::default();
        let id = |text: &str| text.parse::<GameId>().unwrap();
        assert_eq!(rematches.number(&challenge(None)), 0);
        assert_eq!(rematches.number(&challenge(Some("lastgame"))), 1);
        rematches.note(id("nextgame"), 1);
        rematches.note(id("thirdone"), 2);
        rematches.note(id("stranger"), 0);
        for (previous, number) in [("nextgame", 2), ("thirdone", 3), ("stranger", 1)] {
            assert_eq!(rematches.number(&challenge(Some(previous))), number);
        }
    }
}
