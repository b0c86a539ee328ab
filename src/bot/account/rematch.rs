//! One more game with the same opponent: how many there were in a row, and the one that we offer.
//!
//! Bots cannot press Lichess's button for it, so ours is an ordinary challenge. It is taken back when nobody answers, and when
//! the opponent asks for a game himself.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tracing::info;

use super::challenges::with_retries;
use super::outgoing::{self, ChallengeSource, SHUTTING_DOWN, closing_reason, is_for_bot};
use super::{Account, push_bounded};
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
const OFFER_TIMEOUT: Duration = Duration::from_secs(15);

/// Why it has become a game, or has not.
const BY_REMATCH: &str = "our offer of a rematch";
const OPPONENT_CHALLENGES: &str = "the opponent asks for a game himself";

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Rematches {
    /// Games that are rematches, and their number in a row.
    numbers: VecDeque<(GameId, u32)>,
    /// What we have offered.
    offer: Option<Offer>,
}

#[derive(Debug)]
struct Offer {
    challenge: Box<Challenge>,
    to: Username,
    until: Instant,
}

impl Rematches {
    /// How many rematches in a row the game was the last of.
    fn number_of(&self, game: &GameId) -> u32 {
        let mut numbers = self.numbers.iter();
        numbers
            .find(|(id, _)| id == game)
            .map_or(0, |(_, number_of)| *number_of)
    }

    /// Which number in a row a challenge would be: 0 for one that is no rematch.
    pub fn next_number(&self, challenge: &Challenge) -> u32 {
        let previous = challenge.rematch_of.as_ref();
        previous.map_or(0, |previous| self.number_of(previous) + 1)
    }

    /// It becomes a game.
    pub fn record(&mut self, id: GameId, number: u32) {
        if number > 0 {
            push_bounded(&mut self.numbers, (id, number));
        }
    }

    /// Our offer that waits for its answer.
    pub fn pending(&self) -> Option<&Challenge> {
        self.offer.as_ref().map(|offer| &*offer.challenge)
    }

    /// Our offer that waits for its answer, which is about to be taken back.
    pub fn take_pending(&mut self) -> Option<Box<Challenge>> {
        self.take(|_| true)
    }

    /// Our offer, if it is this one.
    fn take(&mut self, matches: impl Fn(&Offer) -> bool) -> Option<Box<Challenge>> {
        let offer = self.offer.take_if(|offer| matches(offer))?;
        Some(offer.challenge)
    }
}

impl Account {
    /// Offers a rematch once, if there is a place for it and nobody waits for that.
    pub(super) fn offer_rematch(&mut self, previous: &GameId, rematch: RematchOffer) {
        let RematchOffer { to, human, what } = rematch;
        let now = clock::now();
        let is_playing = self.slots.games_against(Some(&to), true, now) > 0;
        let busy = is_playing || !self.queue.is_empty() || self.slots.is_full(human, now);
        let already_rematch =
            self.rematches.number_of(previous) > 0 || self.rematches.offer.is_some();
        let settings = &self.ctx.settings;
        let is_own_account = settings.is_sister(to.as_str());
        let blocked = settings.challenge.blocks(to.as_str());
        if is_own_account || blocked || busy || already_rematch || !self.accepts_games() {
            return;
        }
        // Asking all the same would make it last longer.
        let date = clock::date();
        let full = (!human).then(|| self.quota.full_until(Limit::BotGames, date));
        if let Some(until) = self.quota.challenges_blocked_until(date).or(full.flatten()) {
            let until = clock::shown(until);
            return info!(game = %previous, "no rematch with {to}: Lichess takes no challenges from us before {until}");
        }
        info!(game = %previous, "offering {to} a rematch");
        self.outgoing.add(to.clone(), ChallengeSource::Rematch);
        let client = self.ctx.client.clone();
        self.background.spawn(async move {
            let response = client.challenge(&to, &what).await.map(Box::new);
            TaskResult::RematchSent(RematchOffer { to, human, what }, response)
        });
    }

    /// It is offered, or cannot be.
    pub(super) fn on_rematch_sent(
        &mut self,
        rematch: &RematchOffer,
        response: Result<Box<Challenge>, Failure>,
    ) {
        let RematchOffer { to, human, what } = rematch;
        match response {
            Ok(challenge) => {
                let over = self.outgoing.on_response(to, ChallengeSource::Rematch);
                self.count_challenge(!human);
                match over {
                    Some(answer) => self.report_rematch_refused(&answer),
                    None => self.track_rematch(challenge),
                }
            }
            Err(failure) => {
                info!("no rematch with {to}: {failure}");
                let ours = (to, ChallengeSource::Rematch);
                if let Some(challenge) =
                    self.on_challenge_failed(ours, Some(!human), what, &failure)
                {
                    self.track_rematch(challenge);
                }
            }
        }
    }

    /// It is offered. The game may be on by now.
    pub(super) fn track_rematch(&mut self, challenge: Box<Challenge>) {
        let (id, now) = (challenge.id.clone(), clock::now());
        let Some(to) = challenge.dest_user.as_ref().map(|user| user.name.clone()) else {
            return;
        };
        self.rematches.record(id.clone(), 1);
        if self.knows_game(&id) {
            return self.publish_challenge(&challenge, Decision::Accepted, BY_REMATCH.to_owned());
        }
        if self.slots.games_against(Some(&to), true, now) > 0 {
            return self.cancel_challenge(challenge, OPPONENT_CHALLENGES);
        }
        if self.is_stopping() {
            return self.cancel_challenge(challenge, SHUTTING_DOWN);
        }
        let holder = SlotHolder {
            name: Some(to.clone()),
            human: !is_for_bot(&challenge),
            clocked: true,
        };
        self.slots.reserve(id, holder, now);
        let until = now + OFFER_TIMEOUT;
        self.rematches.offer = Some(Offer {
            challenge,
            to,
            until,
        });
    }

    /// Takes our offer back when it has waited for long enough.
    pub(super) fn expire_rematch(&mut self) {
        let now = clock::now();
        if let Some(challenge) = self.rematches.take(|offer| offer.until <= now) {
            self.cancel_challenge(challenge, "it was not answered");
        }
    }

    /// He challenges us himself, and one game is enough.
    pub(super) fn on_opponent_challenge(&mut self, user: &Username) {
        if let Some(challenge) = self.rematches.take(|offer| offer.to == *user) {
            self.cancel_challenge(challenge, OPPONENT_CHALLENGES);
        }
    }

    /// The offer is a game.
    pub(super) fn on_rematch_started(&mut self, id: &GameId) {
        if let Some(challenge) = self.rematches.take(|offer| offer.challenge.id == *id) {
            self.publish_challenge(&challenge, Decision::Accepted, BY_REMATCH.to_owned());
        }
    }

    /// The offer was declined, or is gone.
    pub(super) fn on_rematch_closed(&mut self, answer: &Challenge) {
        let ours = self.rematches.take(|offer| offer.challenge.id == answer.id);
        if ours.is_some() {
            self.report_rematch_refused(answer);
        }
    }

    fn report_rematch_refused(&self, answer: &Challenge) {
        info!(challenge = %answer.id, "no rematch");
        let (decision, why) = closing_reason(answer);
        self.publish_challenge(answer, decision, why);
    }

    /// Takes a challenge of ours back, unless it has become a game.
    pub(super) fn cancel_challenge(&mut self, challenge: Box<Challenge>, why: &'static str) {
        if self.games.contains_key(&challenge.id) {
            return;
        }
        self.slots.release(&challenge.id);
        self.cancelling += 1;
        let client = self.ctx.client.clone();
        self.background.spawn(async move {
            let id = &challenge.id;
            let taken_back = with_retries(Kind::Answer, || {
                outgoing::cancel_unless_accepted(&client, id)
            })
            .await;
            TaskResult::ChallengeCancelled(challenge, why, taken_back)
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
        assert_eq!(rematches.next_number(&challenge(None)), 0);
        assert_eq!(rematches.next_number(&challenge(Some("lastgame"))), 1);
        rematches.record(id("nextgame"), 1);
        rematches.record(id("thirdone"), 2);
        rematches.record(id("stranger"), 0);
        for (previous, number) in [("nextgame", 2), ("thirdone", 3), ("stranger", 1)] {
            assert_eq!(rematches.next_number(&challenge(Some(previous))), number);
        }
    }
}
