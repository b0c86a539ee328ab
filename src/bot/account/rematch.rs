//! Rematches: how many were played in a row, and the one that we offer.
//!
//! Bots cannot use Lichess's rematch button, so our offer is an ordinary challenge. It is canceled if it is not
//! answered, or if the opponent challenges us.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tracing::info;

use super::outgoing::{ChallengeSource, NOT_ANSWERED, SendResult, closing_reason, slot_holder};
use super::{Account, push_bounded};
use crate::bot::commands::{OutgoingChallenge, SHUTTING_DOWN};
use crate::bot::game::status::RematchOffer;
use crate::clock;
use crate::events::Decision;
use crate::lichess::model::{Challenge, GameId, TimeControl, Username, Variant};

/// Time for an answer to our offer. Shorter than its slot is reserved.
const OFFER_TIMEOUT: Duration = Duration::from_secs(15);

/// Time after a game in which a challenge to the same game counts as a rematch.
const REMATCH_TIME: Duration = Duration::from_secs(60);

/// Reasons reported for the end of an offer.
const BY_REMATCH: &str = "our offer of a rematch";
const OPPONENT_CHALLENGES: &str = "the opponent challenges us";

/// Numbers of rematches, and our open offer.
#[derive(Debug, Default)]
pub(super) struct Rematches {
    /// Games that are rematches, and their number in a row.
    numbers: VecDeque<(GameId, u32)>,
    /// The last game whose opponent we may offer a rematch.
    last: Option<LastGame>,
    offer: Option<Offer>,
}

#[derive(Debug)]
struct LastGame {
    id: GameId,
    opponent: Username,
    terms: (TimeControl, Variant, bool),
    ended: Instant,
}

#[derive(Debug)]
struct Offer {
    challenge: Box<Challenge>,
    to: Username,
    until: Instant,
}

impl Rematches {
    /// Number of the game in its row of rematches; 0 if it is none.
    fn number_of(&self, game: &GameId) -> u32 {
        let mut numbers = self.numbers.iter();
        numbers
            .find(|(id, _)| id == game)
            .map_or(0, |(_, number_of)| *number_of)
    }

    /// Number that a challenge would have in its row of rematches; 0 if it is none.
    pub(super) fn next_number(&self, challenge: &Challenge) -> u32 {
        let previous = challenge.rematch_of.as_ref();
        previous.map_or(0, |previous| self.number_of(previous) + 1)
    }

    /// Number of the game that a challenge will become, when we decide about a rematch after it. Bots cannot say that they
    /// want one, so a challenge to the same game soon after its end counts.
    pub(super) fn number_after(&self, challenge: &Challenge, now: Instant) -> u32 {
        let is_same = |last: &&LastGame| {
            let from = challenge.challenger.as_ref().map(|user| &user.name);
            let terms = (challenge.time_control, challenge.variant, challenge.rated);
            from == Some(&last.opponent) && terms == last.terms && now - last.ended < REMATCH_TIME
        };
        match self.last.as_ref().filter(is_same) {
            Some(last) if challenge.rematch_of.is_none() => self.number_of(&last.id) + 1,
            _ => self.next_number(challenge),
        }
    }

    /// Records the number of a game.
    pub(super) fn record(&mut self, id: GameId, number: u32) {
        if number > 0 {
            push_bounded(&mut self.numbers, (id, number));
        }
    }

    /// Our open offer.
    pub(super) fn pending(&self) -> Option<&Challenge> {
        self.offer.as_ref().map(|offer| &*offer.challenge)
    }

    /// Removes our open offer, to be canceled.
    pub(super) fn take_pending(&mut self) -> Option<Box<Challenge>> {
        self.take(|_| true)
    }

    /// Removes our open offer if it matches.
    fn take(&mut self, matches: impl Fn(&Offer) -> bool) -> Option<Box<Challenge>> {
        let offer = self.offer.take_if(|offer| matches(offer))?;
        Some(offer.challenge)
    }
}

impl Account {
    /// Offers a rematch once, if a slot is free and no challenge waits for it.
    pub(super) fn offer_rematch(&mut self, previous: &GameId, rematch: RematchOffer) {
        let (to, human) = (&rematch.to, rematch.human);
        let now = clock::now();
        let terms = &rematch.challenge;
        self.games.rematches.last = Some(LastGame {
            id: previous.clone(),
            opponent: to.clone(),
            terms: (terms.time_control, terms.variant, terms.rated),
            ended: now,
        });
        let is_playing = self.games.slots.games_against(Some(to), true, now) > 0;
        let is_engaged = is_playing || self.is_challenged(to);
        let busy = is_engaged || self.incoming.is_waiting() || self.games.slots.is_full(human, now);
        let already_rematch =
            self.games.rematches.number_of(previous) > 0 || self.games.rematches.offer.is_some();
        let settings = &self.ctx.settings;
        let is_own_account = settings.is_own_account(to.as_str());
        let blocked = self.is_never_challenged(to);
        // The match decides who plays next, and with which color.
        let in_match = self.state.matches.has_game(previous);
        if is_own_account || blocked || busy || already_rematch || in_match || !self.accepts_games()
        {
            return;
        }
        // A refused challenge would extend the limit.
        let quota = &self.state.quota;
        if let Some(until) = quota.blocked_until_for(human, clock::date()) {
            let until = clock::format_date(until);
            return info!(game = %previous, "no rematch with {to}: Lichess takes no challenges from us before {until}");
        }
        info!(name: "rematch_offered", game = %previous, "offering {to} a rematch");
        let (source, bot) = (ChallengeSource::Rematch, Some(!human));
        let offer = OutgoingChallenge {
            user: rematch.to,
            params: rematch.challenge,
        };
        self.send_challenge(source, offer, bot, |account, offer, result| match result {
            SendResult::Created(challenge) => account.track_rematch(challenge),
            SendResult::Closed(challenge) => account.report_rematch_refused(&challenge),
            SendResult::NotCreated(_, failure) => {
                info!("no rematch with {}: {failure}", offer.user);
            }
        });
    }

    /// Returns whether this user is never challenged, by a setting or a list.
    fn is_never_challenged(&self, user: &Username) -> bool {
        let (settings, name) = (&self.ctx.settings, user.as_str());
        let mut blocked = settings.matchmaking.block.iter();
        let is_listed = self.state.block_lists.all_names().contains(&user.id());
        settings.challenge.blocks(name)
            || blocked.any(|pattern| pattern.matches(name))
            || is_listed && !settings.accepts_by_name(name)
    }

    /// Tracks our offer. The game may be running by now.
    pub(super) fn track_rematch(&mut self, challenge: Box<Challenge>) {
        let (id, now) = (challenge.id.clone(), clock::now());
        let Some(to) = challenge.to().cloned() else {
            return;
        };
        self.games.rematches.record(id.clone(), 1);
        if self.games.is_known(&id) {
            return self.publish_challenge(&challenge, Decision::Accepted, BY_REMATCH.to_owned());
        }
        if self.games.slots.games_against(Some(&to), true, now) > 0 {
            return self.cancel_challenge(challenge, OPPONENT_CHALLENGES);
        }
        if self.ctx.is_stopping() {
            return self.cancel_challenge(challenge, SHUTTING_DOWN);
        }
        self.games.slots.reserve(id, slot_holder(&challenge), now);
        let until = now + OFFER_TIMEOUT;
        self.games.rematches.offer = Some(Offer {
            challenge,
            to,
            until,
        });
    }

    /// Cancels our offer if it was not answered in time.
    pub(super) fn expire_rematch(&mut self) {
        let now = clock::now();
        if let Some(challenge) = self.games.rematches.take(|offer| offer.until <= now) {
            self.cancel_challenge(challenge, NOT_ANSWERED);
        }
    }

    /// Cancels our offer to a user who challenges us: one game is enough.
    pub(super) fn on_opponent_challenge(&mut self, user: &Username) {
        if let Some(challenge) = self.games.rematches.take(|offer| offer.to == *user) {
            self.cancel_challenge(challenge, OPPONENT_CHALLENGES);
        }
    }

    /// Our offer has become a game.
    pub(super) fn on_rematch_started(&mut self, id: &GameId) {
        if let Some(challenge) = self.games.rematches.take(|offer| offer.challenge.id == *id) {
            self.publish_challenge(&challenge, Decision::Accepted, BY_REMATCH.to_owned());
        }
    }

    /// Our offer was declined or canceled.
    pub(super) fn on_rematch_closed(&mut self, answer: &Challenge) {
        let rematches = &mut self.games.rematches;
        let ours = rematches.take(|offer| offer.challenge.id == answer.id);
        if ours.is_some() {
            self.report_rematch_refused(answer);
        }
    }

    fn report_rematch_refused(&self, answer: &Challenge) {
        info!(challenge = %answer.id, "no rematch");
        let (decision, why) = closing_reason(answer);
        self.publish_challenge(answer, decision, why);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn challenge(rematch_of: Option<&str>) -> Challenge {
        let challenge = json!({
            "id": "thisgame", "variant": {"key": "standard"}, "speed": "blitz", "rematchOf": rematch_of,
            "challenger": {"id": "ann", "name": "Ann"},
            "timeControl": {"type": "clock", "limit": 180, "increment": 2},
        });
        serde_json::from_value(challenge).unwrap()
    }

    #[test]
    fn challenge_to_the_same_game_is_a_rematch_for_a_while() {
        let (mut rematches, now) = (Rematches::default(), Instant::now());
        let again = challenge(None);
        assert_eq!(rematches.number_after(&again, now), 0);
        let mut last = |opponent: &str, rated| {
            rematches.last = Some(LastGame {
                id: "lastgame".parse().unwrap(),
                opponent: opponent.into(),
                terms: (again.time_control, again.variant, rated),
                ended: now,
            });
            rematches.number_after(&again, now)
        };
        assert_eq!((last("Bob", false), last("Ann", true)), (0, 0));
        assert_eq!(last("ann", false), 1);
        rematches.record("lastgame".parse().unwrap(), 1);
        assert_eq!(rematches.number_after(&again, now), 2);
        assert_eq!(rematches.number_after(&again, now + REMATCH_TIME), 0);
        // Policy asks for what Lichess calls a rematch.
        assert_eq!(rematches.next_number(&again), 0);
    }

    #[test]
    fn rematch_numbers_count_in_a_row() {
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
