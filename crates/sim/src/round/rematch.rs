//! Rematches.
//!
//! The rematch button of a finished game makes an offer that is not a regular challenge: it is in no list and is lost
//! at a restart of the site. The opponent receives it as a challenge with the id of the next game. The web page of a
//! game can also create a regular challenge to a rematch.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use knightwatch_chess::Color;

use crate::Sim;
use crate::challenge::Challenge;
use crate::http::error::ApiError;
use crate::http::limits::REMATCHES;
use crate::round::{Round, Setup, Source};
use crate::site::id::{GameId, UserId};
use crate::site::schedule::ScheduledAction;
use crate::site::state::{Notice, SiteState};
use crate::site::time::SimTime;
use crate::site::users::AccountKind;
use crate::site::variant::Variant;
use crate::wire;

/// Time after a decline in which no further rematch can be offered.
const DECLINED_COOLDOWN: Duration = Duration::from_secs(60);
/// Time after which offers expire.
const OFFER_LIFETIME: Duration = Duration::from_secs(3_600);
/// Delays of the response to an offer through the API, which Lichess adds.
const ACCEPT_DELAY: Duration = Duration::from_millis(100);
const DECLINE_DELAY: Duration = Duration::from_secs(1);
/// Minimum number of plies of a rated game for a rematch; shorter games could be used to manipulate ratings.
const MIN_RATED_PLIES: usize = 10;

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
}

impl Round {
    fn allows_rematch(&self) -> bool {
        let is_too_short = self.rated && self.referee.plies() < MIN_RATED_PLIES;
        !self.referee.is_running()
            && !matches!(self.source, Source::Arena { .. })
            && !self.no_rematch
            && !is_too_short
            && self.rematch.is_none()
    }

    /// Colors are swapped, except from a custom position against a bot.
    fn swaps_colors(&self) -> bool {
        let bots = self.sides.iter().filter(|side| side.title == Some("BOT"));
        !(self.variant == Variant::FromPosition && bots.count() == 1)
    }

    /// Options of the rematch.
    fn next_setup(&self, id: GameId, keeps_position: bool) -> Setup {
        let mut users = self.sides.each_ref().map(|side| side.user.clone());
        if self.swaps_colors() {
            users.swap(0, 1);
        }
        Setup {
            id,
            users,
            source: self.source,
            variant: self.variant,
            start: keeps_position.then(|| self.referee.config().start.clone()),
            time_control: self.time_control,
            rated: self.rated,
            rules: Vec::new(),
        }
    }
}

impl SiteState {
    /// Offers a rematch, or accepts the opponent's offer. Returns the id of the next game.
    pub(crate) fn offer_rematch(
        &mut self,
        me: &UserId,
        game: GameId,
        now: SimTime,
    ) -> Result<GameId, ApiError> {
        const UNAVAILABLE: &str = "There is no rematch of this game";
        let (round, color) = self.player_of(me, Some(game))?;
        let opponent = round.side(!color);
        let (to, account_kind) = (opponent.user.clone(), opponent.account_kind);
        if !round.allows_rematch() {
            return Err(ApiError::bad_request(UNAVAILABLE));
        }
        if let Some((next, offer)) = self.rematches.offer_after(game) {
            if offer.to == *me {
                self.accept_rematch(me, next, now);
            }
            return Ok(next);
        }
        let declined = self.rematches.declined.get(&game);
        if declined.is_some_and(|at| now.since(*at) < DECLINED_COOLDOWN) {
            return Err(ApiError::bad_request("The rematch was declined"));
        }
        self.limits.charge(&REMATCHES, me.as_str(), 1, now)?;
        let next = self.new_id();
        let offer = Offer {
            previous: game,
            from: me.clone(),
            to: to.clone(),
            at: now,
        };
        self.rematches.offers.insert(next, offer);
        if matches!(account_kind, AccountKind::Ai(_)) {
            self.accept_rematch(&to, next, now);
        } else {
            self.send_rematch_event("challenge", next, now);
            self.notify(&to, Notice::Challenged(next));
        }
        Ok(next)
    }

    /// Withdraws the user's own offer. Returns whether there was one.
    pub(crate) fn withdraw_rematch(&mut self, me: &UserId, game: GameId, now: SimTime) -> bool {
        let offer = self.rematches.offer_after(game);
        let Some((next, _)) = offer.filter(|(_, offer)| offer.from == *me) else {
            return false;
        };
        self.send_rematch_event("challengeCanceled", next, now);
        self.rematches.offers.remove(&next);
        true
    }

    /// Creates a regular challenge to a rematch, as the web page of a game does.
    pub(crate) fn challenge_to_rematch(
        &mut self,
        me: &UserId,
        game: GameId,
        now: SimTime,
    ) -> Result<GameId, ApiError> {
        let (round, color) = self.player_of(me, Some(game))?;
        if !round.allows_rematch() {
            return Err(ApiError::bad_request("There is no rematch of this game"));
        }
        let to = round.side(!color).user.clone();
        self.check_bot_games(me, &to, now)?;
        let id = self.new_id();
        let challenge = self.rematch_challenge(game, (me, &to), id, now);
        let challenge = challenge.ok_or_else(ApiError::not_found)?;
        self.publish_challenge(challenge, now);
        Ok(id)
    }

    /// Responds to an offer. The response takes effect after a delay.
    pub(crate) fn respond_to_rematch(
        &mut self,
        me: &UserId,
        next: GameId,
        yes: bool,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let offer = self.rematches.offers.get(&next);
        let offer = offer.filter(|offer| offer.to == *me);
        let from = offer.ok_or_else(ApiError::not_found)?.from.clone();
        if yes {
            self.check_bot_games(me, &from, now)?;
            self.schedule_action(
                now + ACCEPT_DELAY,
                ScheduledAction::AcceptRematch(me.clone(), next),
            );
        } else {
            self.schedule_action(
                now + DECLINE_DELAY,
                ScheduledAction::DeclineRematch(me.clone(), next),
            );
        }
        Ok(())
    }

    /// Starts the rematch if it is still offered.
    pub(crate) fn accept_rematch(&mut self, me: &UserId, next: GameId, now: SimTime) {
        let offer = self.rematches.offers.get(&next);
        let Some(previous) = offer.filter(|offer| offer.to == *me).map(|o| o.previous) else {
            return;
        };
        self.rematches.offers.remove(&next);
        let keeps_position = self.keeps_position(previous);
        let Some(round) = self.rounds.get_mut(&previous) else {
            return;
        };
        round.rematch = Some(next);
        let setup = round.next_setup(next, keeps_position);
        if keeps_position && setup.variant == Variant::Chess960 {
            self.rematches.repeated.insert(next);
        }
        self.start_round(setup, now);
    }

    /// Removes the offer. No event is sent.
    pub(crate) fn decline_rematch(&mut self, me: &UserId, next: GameId, now: SimTime) {
        let offer = self.rematches.offers.get(&next);
        if let Some(offer) = offer.filter(|offer| offer.to == *me) {
            self.rematches.declined.insert(offer.previous, now);
            self.rematches.offers.remove(&next);
        }
    }

    /// Returns whether the rematch has the same starting position: always with a custom position, once with a Chess960
    /// position.
    fn keeps_position(&self, previous: GameId) -> bool {
        let variant = self.rounds.get(&previous).map(|round| round.variant);
        match variant {
            Some(Variant::FromPosition) => true,
            Some(Variant::Chess960) => !self.rematches.repeated.contains(&previous),
            Some(Variant::Standard) | None => false,
        }
    }

    fn rematch_challenge(
        &self,
        previous: GameId,
        (from, to): (&UserId, &UserId),
        id: GameId,
        now: SimTime,
    ) -> Option<Challenge> {
        let setup = self
            .rounds
            .get(&previous)?
            .next_setup(id, self.keeps_position(previous));
        let color = if setup.users[0] == *from {
            Color::White
        } else {
            Color::Black
        };
        Some(Challenge::rematch(setup, previous, (from, to), color, now))
    }

    fn send_rematch_event(&self, kind: &'static str, next: GameId, now: SimTime) {
        let Some(offer) = self.rematches.offers.get(&next) else {
            return;
        };
        let users = (&offer.from, &offer.to);
        if let Some(challenge) = self.rematch_challenge(offer.previous, users, next, now) {
            let event = self.challenge_event(kind, &challenge, Some(&offer.to), now);
            self.send_event(&offer.to, &wire::line(&event));
        }
    }
}

impl Sim {
    /// Offers a rematch as the button of a finished game does, or accepts the opponent's offer. The opponent receives a
    /// challenge with the returned id.
    ///
    /// # Errors
    /// The site's error message if no rematch can be offered now.
    pub fn offer_rematch(&self, user: &str, game: &str) -> Result<String, String> {
        self.rematch_request(user, game, SiteState::offer_rematch)
    }

    /// Withdraws the offer. Returns whether there was one.
    pub fn withdraw_rematch(&self, user: &str, game: &str) -> bool {
        let now = self.time().now();
        GameId::parse_any(game)
            .is_some_and(|game| self.state().withdraw_rematch(&UserId::of(user), game, now))
    }

    /// Creates a regular challenge to a rematch, as the web page of a finished game does. Returns its id.
    ///
    /// # Errors
    /// The site's error message if no rematch of this game is possible.
    pub fn challenge_to_rematch(&self, user: &str, game: &str) -> Result<String, String> {
        self.rematch_request(user, game, SiteState::challenge_to_rematch)
    }

    fn rematch_request(
        &self,
        user: &str,
        game: &str,
        request: impl Fn(&mut SiteState, &UserId, GameId, SimTime) -> Result<GameId, ApiError>,
    ) -> Result<String, String> {
        let now = self.time().now();
        GameId::parse_any(game)
            .ok_or_else(ApiError::not_found)
            .and_then(|game| request(&mut self.state(), &UserId::of(user), game, now))
            .map(|id| id.to_string())
            .map_err(|failure| failure.to_string())
    }
}
