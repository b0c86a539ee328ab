//! One more game with the same opponent: how many there were in a row, and the one that we offer.
//!
//! Bots cannot press Lichess's button for it, so ours is an ordinary challenge. It is taken back when nobody answers, and when
//! the opponent asks for a game himself.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tracing::info;

use super::challenges::insist;
use super::outgoing::{self, STOPPING, Wish, is_for_bot, refusal};
use super::{Account, remember};
use crate::bot::account::background::TaskResult;
use crate::bot::account::quota::Limit;
use crate::bot::account::slots::SlotHolder;
use crate::bot::game::status::RematchOffer;
use crate::clock;
use crate::events::Decision;
use crate::lichess::Error as Failure;
use crate::lichess::model::{Challenge, GameId, Username};
use crate::lichess::retry::Kind;

/// How long our offer waits for an answer: less than its place is kept.
const PATIENCE: Duration = Duration::from_secs(15);

/// Why it has become a game, or has not.
const AGAIN: &str = "our offer of a rematch";
const ASKS_HIMSELF: &str = "the opponent asks for a game himself";

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
    challenge: Box<Challenge>,
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

    /// Our offer that waits for its answer.
    pub fn offered(&self) -> Option<&Challenge> {
        self.open.as_ref().map(|offer| &*offer.challenge)
    }

    /// Our offer that waits for its answer, which is about to be taken back.
    pub fn withdraw(&mut self) -> Option<Box<Challenge>> {
        self.take(|_| true)
    }

    /// Our offer, if it is this one.
    fn take(&mut self, is_it: impl Fn(&Offer) -> bool) -> Option<Box<Challenge>> {
        let offer = self.open.take_if(|offer| is_it(offer))?;
        Some(offer.challenge)
    }
}

impl Account {
    /// Offers a rematch once, if there is a place for it and nobody waits for that.
    pub(super) fn offer_rematch(&mut self, previous: &GameId, encore: RematchOffer) {
        let RematchOffer {
            to,
            human,
            challenge,
        } = encore;
        let now = clock::now();
        let plays_on = self.slots.against(Some(&to), true, now) > 0;
        let busy = plays_on || !self.queue.is_empty() || self.slots.full(human, now);
        let again = self.rematches.row(previous) > 0 || self.rematches.open.is_some();
        let settings = &self.house.settings;
        let sister = settings.is_sister(to.as_str());
        let blocked = settings.challenge.blocks(to.as_str());
        if sister || blocked || busy || again || !self.takes_games() {
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
        self.outgoing.send(to.clone(), Wish::Rematch);
        let client = self.house.client.clone();
        self.errands.spawn(async move {
            let asked = client.challenge(&to, &challenge).await.map(Box::new);
            TaskResult::RematchAsked(
                RematchOffer {
                    to,
                    human,
                    challenge,
                },
                asked,
            )
        });
    }

    /// It is offered, or cannot be.
    pub(super) fn rematch_asked(
        &mut self,
        encore: &RematchOffer,
        asked: Result<Box<Challenge>, Failure>,
    ) {
        let RematchOffer {
            to,
            human,
            challenge,
        } = encore;
        match asked {
            Ok(challenge) => {
                let over = self.outgoing.answered(to, Wish::Rematch);
                self.challenge_counts(!human);
                match over {
                    Some(answer) => self.rematch_refused(&answer),
                    None => self.rematch_stands(challenge),
                }
            }
            Err(failure) => {
                info!("no rematch with {to}: {failure}");
                let ours = (to, Wish::Rematch);
                if let Some(challenge) = self.not_sent(ours, Some(!human), challenge, &failure) {
                    self.rematch_stands(challenge);
                }
            }
        }
    }

    /// It is offered. The game may be on by now.
    pub(super) fn rematch_stands(&mut self, challenge: Box<Challenge>) {
        let (id, now) = (challenge.id.clone(), clock::now());
        let Some(to) = challenge.dest_user.as_ref().map(|user| user.name.clone()) else {
            return;
        };
        self.rematches.note(id.clone(), 1);
        if self.knows_game(&id) {
            return self.tell_challenge(&challenge, Decision::Accepted, AGAIN.to_owned());
        }
        if self.slots.against(Some(&to), true, now) > 0 {
            return self.take_back(challenge, ASKS_HIMSELF);
        }
        if self.takes_all_back() {
            return self.take_back(challenge, STOPPING);
        }
        let guest = SlotHolder {
            name: Some(to.clone()),
            human: !is_for_bot(&challenge),
            clocked: true,
        };
        self.slots.promise(id, guest, now);
        let until = now + PATIENCE;
        self.rematches.open = Some(Offer {
            challenge,
            to,
            until,
        });
    }

    /// Takes our offer back when it has waited for long enough.
    pub(super) fn look_after_rematch(&mut self) {
        let now = clock::now();
        if let Some(challenge) = self.rematches.take(|offer| offer.until <= now) {
            self.take_back(challenge, "it was not answered");
        }
    }

    /// He challenges us himself, and one game is enough.
    pub(super) fn asks_himself(&mut self, user: &Username) {
        if let Some(challenge) = self.rematches.take(|offer| offer.to == *user) {
            self.take_back(challenge, ASKS_HIMSELF);
        }
    }

    /// The offer is a game.
    pub(super) fn rematch_is_on(&mut self, id: &GameId) {
        if let Some(challenge) = self.rematches.take(|offer| offer.challenge.id == *id) {
            self.tell_challenge(&challenge, Decision::Accepted, AGAIN.to_owned());
        }
    }

    /// The offer was declined, or is gone.
    pub(super) fn rematch_is_off(&mut self, answer: &Challenge) {
        let ours = self.rematches.take(|offer| offer.challenge.id == answer.id);
        if ours.is_some() {
            self.rematch_refused(answer);
        }
    }

    fn rematch_refused(&self, answer: &Challenge) {
        info!(challenge = %answer.id, "no rematch");
        let (decision, why) = refusal(answer);
        self.tell_challenge(answer, decision, why);
    }

    /// Takes a challenge of ours back, unless it has become a game.
    pub(super) fn take_back(&mut self, challenge: Box<Challenge>, why: &'static str) {
        if self.games.contains_key(&challenge.id) {
            return;
        }
        self.slots.free(&challenge.id);
        self.taking_back += 1;
        let client = self.house.client.clone();
        self.errands.spawn(async move {
            let id = &challenge.id;
            let taken_back = insist(Kind::Answer, || outgoing::take_back(&client, id)).await;
            TaskResult::TakenBack(challenge, why, taken_back)
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
