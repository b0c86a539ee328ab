//! Rematches.
//!
//! The rematch button of a finished game makes an offer that is not a regular challenge: it is in no list and is lost
//! at a restart of the site. The opponent receives it as a challenge with the id of the next game. The web page of a
//! game can also create a regular challenge to a rematch.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use knightwatch_chess::Color;

use crate::challenge::checks::check_bot_games;
use crate::challenge::{Challenge, ChallengeStatus};
use crate::round::Round;
use crate::round::rounds::Rounds;
use crate::site::effect::ScheduledAction;
use crate::site::limits::REMATCHES;
use crate::site::{
    AccountKind, ApiError, Effect, GameId, Limits, Notice, SimTime, UserId, Users, Variant,
};

/// Time after a decline in which no further rematch can be offered.
const DECLINED_COOLDOWN: Duration = Duration::from_secs(60);
/// Time after which offers expire.
const OFFER_LIFETIME: Duration = Duration::from_secs(3_600);
pub(crate) const NO_REMATCH: &str = "There is no rematch of this game";

/// Delays of the response to an offer through the API, which Lichess adds.
const ACCEPT_DELAY: Duration = Duration::from_millis(100);
const DECLINE_DELAY: Duration = Duration::from_secs(1);
#[derive(Clone, Debug)]
struct Offer {
    previous: GameId,
    from: UserId,
    to: UserId,
    at: SimTime,
}

/// Offers by the id of the next game, and recent declines.
#[derive(Debug, Default)]
pub(crate) struct Rematches {
    offers: HashMap<GameId, Offer>,
    declined: HashMap<GameId, SimTime>,
    /// Chess960 games with the same starting position as the game before.
    repeated: HashSet<GameId>,
}

impl Rematches {
    /// Removes expired offers and declines, and games that are no longer stored.
    pub(crate) fn remove_expired(&mut self, now: SimTime, is_kept: impl Fn(&GameId) -> bool) {
        self.offers
            .retain(|_, offer| now.since(offer.at) < OFFER_LIFETIME);
        self.declined
            .retain(|_, at| now.since(*at) < DECLINED_COOLDOWN);
        self.repeated.retain(is_kept);
    }

    fn offer_after(&self, previous: GameId) -> Option<(GameId, &Offer)> {
        let mut offers = self.offers.iter();
        offers
            .find(|(_, offer)| offer.previous == previous)
            .map(|(next, offer)| (*next, offer))
    }

    /// Offers a rematch of this game under a new id, or accepts the opponent's offer. Returns the id of the next game.
    pub(crate) fn offer(
        &mut self,
        me: &UserId,
        (round, color): (&Round, Color),
        new_id: impl FnOnce() -> GameId,
        limits: &mut Limits,
        now: SimTime,
    ) -> Result<(GameId, Vec<Effect>), ApiError> {
        let opponent = round.side(!color);
        if !round.allows_rematch() {
            return Err(ApiError::bad_request(NO_REMATCH));
        }
        let offer = self.offer_after(round.id);
        if let Some((next, is_mine)) = offer.map(|(next, offer)| (next, offer.to == *me)) {
            let effects = if is_mine {
                self.accept(me, next, round)
            } else {
                Vec::new()
            };
            return Ok((next, effects));
        }
        let declined = self.declined.get(&round.id);
        if declined.is_some_and(|at| now.since(*at) < DECLINED_COOLDOWN) {
            return Err(ApiError::bad_request("The rematch was declined"));
        }
        limits.charge(&REMATCHES, me.as_str(), 1, now)?;
        let next = new_id();
        let offer = Offer {
            previous: round.id,
            from: me.clone(),
            to: opponent.user.clone(),
            at: now,
        };
        self.offers.insert(next, offer);
        let to = &opponent.user;
        let effects = if matches!(opponent.account_kind, AccountKind::Ai(_)) {
            self.accept(to, next, round)
        } else {
            let mut effects = self.inform(ChallengeStatus::Created, next, round, now);
            effects.push(Effect::Notify(to.clone(), Notice::Challenged(next)));
            effects
        };
        Ok((next, effects))
    }

    /// Withdraws the user's own offer. Returns `None` if there was none.
    pub(crate) fn withdraw(
        &mut self,
        me: &UserId,
        game: GameId,
        rounds: &Rounds,
        now: SimTime,
    ) -> Option<Vec<Effect>> {
        let offer = self.offer_after(game);
        let (next, _) = offer.filter(|(_, offer)| offer.from == *me)?;
        let round = rounds.get(game);
        let effects = round.map(|round| self.inform(ChallengeStatus::Canceled, next, round, now));
        self.offers.remove(&next);
        Some(effects.unwrap_or_default())
    }

    /// Responds to an offer. The response takes effect after a delay.
    pub(crate) fn respond(
        &self,
        me: &UserId,
        next: GameId,
        yes: bool,
        (users, limits): (&Users, &mut Limits),
        now: SimTime,
    ) -> Result<Vec<Effect>, ApiError> {
        let offer = self.offers.get(&next).filter(|offer| offer.to == *me);
        let offer = offer.ok_or_else(ApiError::not_found)?;
        let (at, action) = if yes {
            check_bot_games(users, limits, me, &offer.from, now)?;
            let action = ScheduledAction::AcceptRematch(me.clone(), next);
            (now + ACCEPT_DELAY, action)
        } else {
            let action = ScheduledAction::DeclineRematch(me.clone(), next);
            (now + DECLINE_DELAY, action)
        };
        Ok(vec![Effect::Schedule(at, action)])
    }

    /// Game whose rematch this user is offered under this id.
    pub(crate) fn offered_after(&self, me: &UserId, next: GameId) -> Option<GameId> {
        let offer = self.offers.get(&next).filter(|offer| offer.to == *me)?;
        Some(offer.previous)
    }

    /// Starts the rematch of this game if it is still offered.
    pub(crate) fn accept(&mut self, me: &UserId, next: GameId, previous: &Round) -> Vec<Effect> {
        if self.offered_after(me, next) != Some(previous.id) {
            return Vec::new();
        }
        self.offers.remove(&next);
        let keeps_position = self.keeps_position(previous);
        let setup = previous.next_setup(next, keeps_position);
        if keeps_position && setup.variant == Variant::Chess960 {
            self.repeated.insert(next);
        }
        vec![
            Effect::Rematch(previous.id, next),
            Effect::Start(Box::new(setup)),
        ]
    }

    /// Removes the offer. No event is sent.
    pub(crate) fn decline(&mut self, me: &UserId, next: GameId, now: SimTime) {
        if let Some(previous) = self.offered_after(me, next) {
            self.declined.insert(previous, now);
            self.offers.remove(&next);
        }
    }

    /// Returns whether the rematch has the same starting position: always with a custom position, once with a Chess960
    /// position.
    fn keeps_position(&self, previous: &Round) -> bool {
        match previous.variant {
            Variant::FromPosition => true,
            Variant::Chess960 => !self.repeated.contains(&previous.id),
            Variant::Standard | Variant::Other(_) => false,
        }
    }

    /// Regular challenge to a rematch, as the web page of a game makes it.
    pub(crate) fn challenge(
        &self,
        previous: &Round,
        (from, to): (&UserId, &UserId),
        id: GameId,
        now: SimTime,
    ) -> Challenge {
        let setup = previous.next_setup(id, self.keeps_position(previous));
        let color = if setup.users[0] == *from {
            Color::White
        } else {
            Color::Black
        };
        Challenge::rematch(setup, previous.id, (from, to), color, now)
    }

    /// Informs the recipient of an offer, who sees it as a challenge.
    fn inform(
        &self,
        status: ChallengeStatus,
        next: GameId,
        previous: &Round,
        now: SimTime,
    ) -> Vec<Effect> {
        let offer = self.offers.get(&next);
        let effect = offer.map(|offer| Effect::Challenge {
            challenge: Box::new(self.challenge(previous, (&offer.from, &offer.to), next, now)),
            status,
            to: offer.to.clone(),
            compat: true,
        });
        effect.into_iter().collect()
    }
}
