//! One more game of the same two.
//!
//! The button in a game makes an offer that exists only here: it is in no list, and is gone when the site is. It reaches
//! the opponent as a challenge with the id of the game that it would become. The web page of a game can also make an
//! ordinary challenge of it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::chess::Color;

use super::Sim;
use super::challenge::Challenge;
use super::errands::Errand;
use super::failure::Failure;
use super::id::{GameId, UserId};
use super::limits::REMATCHES;
use super::round::{Round, Setup, Source};
use super::time::Moment;
use super::users::Face;
use super::variant::Variant;
use super::wire;
use super::world::{Notice, World};

/// Who declines has peace for so long.
const PEACE: Duration = Duration::from_secs(60);
/// Offers are forgotten after this.
const KEPT: Duration = Duration::from_secs(3_600);
/// An answer through the API takes effect after this, so that it feels like a person's.
const YES_AFTER: Duration = Duration::from_millis(100);
const NO_AFTER: Duration = Duration::from_secs(1);
/// Rated games shorter than this look like cheating with the rating.
const LEAST_RATED_PLIES: usize = 10;

#[derive(Clone, Debug)]
struct Offer {
    previous: GameId,
    from: UserId,
    to: UserId,
    at: Moment,
}

/// What is offered, by the id of the next game, and what was declined.
#[derive(Debug, Default)]
pub(super) struct Rematches {
    offers: HashMap<GameId, Offer>,
    declined: HashMap<GameId, Moment>,
    /// Chess960 games that repeat the position of the one before.
    repeated: HashSet<GameId>,
}

impl Rematches {
    /// Forgets what is over.
    pub fn tidy(&mut self, now: Moment, is_kept: impl Fn(&GameId) -> bool) {
        self.offers.retain(|_, offer| now.since(offer.at) < KEPT);
        self.declined.retain(|_, at| now.since(*at) < PEACE);
        self.repeated.retain(is_kept);
    }

    fn of_game(&self, previous: GameId) -> Option<(GameId, &Offer)> {
        let mut offers = self.offers.iter();
        offers
            .find(|(_, offer)| offer.previous == previous)
            .map(|(next, offer)| (*next, offer))
    }
}

impl Round {
    fn may_be_repeated(&self) -> bool {
        let boosted = self.rated && self.referee.plies() < LEAST_RATED_PLIES;
        !self.referee.is_running()
            && !matches!(self.source, Source::Arena { .. })
            && !self.no_rematch
            && !boosted
            && self.rematch.is_none()
    }

    /// Colours change, except from a position against a bot, who is trained in it.
    fn changes_colors(&self) -> bool {
        let bots = self.sides.iter().filter(|side| side.title == Some("BOT"));
        !(self.variant == Variant::FromPosition && bots.count() == 1)
    }

    /// The game after this one.
    fn again(&self, id: GameId, keeps_position: bool) -> Setup {
        let mut users = self.sides.each_ref().map(|side| side.user.clone());
        if self.changes_colors() {
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

impl World {
    /// Offers a rematch, or takes the one that the opponent has offered. Tells the id of the next game.
    pub fn offer_rematch(
        &mut self,
        me: &UserId,
        game: GameId,
        now: Moment,
    ) -> Result<GameId, Failure> {
        const NO: &str = "There is no rematch of this game";
        let (round, color) = self.player_of(me, Some(game))?;
        let opponent = round.side(!color);
        let (to, face) = (opponent.user.clone(), opponent.face);
        if !round.may_be_repeated() {
            return Err(Failure::bad(NO));
        }
        if let Some((next, offer)) = self.rematches.of_game(game) {
            if offer.to == *me {
                self.take_rematch(me, next, now);
            }
            return Ok(next);
        }
        let declined = self.rematches.declined.get(&game);
        if declined.is_some_and(|at| now.since(*at) < PEACE) {
            return Err(Failure::bad("The rematch was declined"));
        }
        self.limits.charge(&REMATCHES, me.as_str(), 1, now)?;
        let next = self.fresh_id();
        let offer = Offer {
            previous: game,
            from: me.clone(),
            to: to.clone(),
            at: now,
        };
        self.rematches.offers.insert(next, offer);
        if matches!(face, Face::Ai(_)) {
            self.take_rematch(&to, next, now);
        } else {
            self.tell_of_rematch("challenge", next, now);
            self.notify(&to, Notice::Challenged(next));
        }
        Ok(next)
    }

    /// Takes an own offer back. Tells whether there was one.
    pub fn withdraw_rematch(&mut self, me: &UserId, game: GameId, now: Moment) -> bool {
        let offer = self.rematches.of_game(game);
        let Some((next, _)) = offer.filter(|(_, offer)| offer.from == *me) else {
            return false;
        };
        self.tell_of_rematch("challengeCanceled", next, now);
        self.rematches.offers.remove(&next);
        true
    }

    /// An ordinary challenge to a rematch, as the web page of a game makes it.
    pub fn challenge_to_rematch(
        &mut self,
        me: &UserId,
        game: GameId,
        now: Moment,
    ) -> Result<GameId, Failure> {
        let (round, color) = self.player_of(me, Some(game))?;
        if !round.may_be_repeated() {
            return Err(Failure::bad("There is no rematch of this game"));
        }
        let to = round.side(!color).user.clone();
        self.may_play_bots(me, &to, now)?;
        let id = self.fresh_id();
        let challenge = self.rematch_challenge(game, (me, &to), id, now);
        let challenge = challenge.ok_or_else(Failure::not_found)?;
        self.publish_challenge(challenge, now);
        Ok(id)
    }

    /// The challenged user answers an offer by its id. The answer takes effect a moment later.
    pub fn answer_rematch(
        &mut self,
        me: &UserId,
        next: GameId,
        yes: bool,
        now: Moment,
    ) -> Result<(), Failure> {
        let offer = self.rematches.offers.get(&next);
        let offer = offer.filter(|offer| offer.to == *me);
        let from = offer.ok_or_else(Failure::not_found)?.from.clone();
        if yes {
            self.may_play_bots(me, &from, now)?;
            self.later(now + YES_AFTER, Errand::AcceptRematch(me.clone(), next));
        } else {
            self.later(now + NO_AFTER, Errand::DeclineRematch(me.clone(), next));
        }
        Ok(())
    }

    /// The rematch begins, if it is offered still.
    pub fn take_rematch(&mut self, me: &UserId, next: GameId, now: Moment) {
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
        let setup = round.again(next, keeps_position);
        if keeps_position && setup.variant == Variant::Chess960 {
            self.rematches.repeated.insert(next);
        }
        self.begin_round(setup, now);
    }

    /// The offer is gone, and nobody is told.
    pub fn refuse_rematch(&mut self, me: &UserId, next: GameId, now: Moment) {
        let offer = self.rematches.offers.get(&next);
        if let Some(offer) = offer.filter(|offer| offer.to == *me) {
            self.rematches.declined.insert(offer.previous, now);
            self.rematches.offers.remove(&next);
        }
    }

    /// A position given is kept for ever, one drawn for a second game.
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
        now: Moment,
    ) -> Option<Challenge> {
        let setup = self
            .rounds
            .get(&previous)?
            .again(id, self.keeps_position(previous));
        let color = if setup.users[0] == *from {
            Color::White
        } else {
            Color::Black
        };
        Some(Challenge::rematch(setup, previous, (from, to), color, now))
    }

    fn tell_of_rematch(&self, kind: &'static str, next: GameId, now: Moment) {
        let Some(offer) = self.rematches.offers.get(&next) else {
            return;
        };
        let users = (&offer.from, &offer.to);
        if let Some(challenge) = self.rematch_challenge(offer.previous, users, next, now) {
            let event = self.challenge_event(kind, &challenge, Some(&offer.to), now);
            self.tell(&offer.to, &wire::line(&event));
        }
    }
}

impl Sim {
    /// Offers a rematch as the button in a finished game does, or takes the one that the opponent has offered. The
    /// opponent gets it as a challenge with the id that is returned; so does a built-in user.
    ///
    /// # Errors
    /// The site's answer, when there is no rematch of this game now.
    pub fn offer_rematch(&self, user: &str, game: &str) -> Result<String, String> {
        self.rematch_call(user, game, World::offer_rematch)
    }

    /// Takes the offer back. Tells whether there was one.
    pub fn withdraw_rematch(&self, user: &str, game: &str) -> bool {
        let now = self.time().now();
        GameId::parse_any(game)
            .is_some_and(|game| self.world().withdraw_rematch(&UserId::of(user), game, now))
    }

    /// Makes an ordinary challenge to a rematch, as the web page of a finished game does; returns its id.
    ///
    /// # Errors
    /// The site's answer, when there is no rematch of this game.
    pub fn challenge_to_rematch(&self, user: &str, game: &str) -> Result<String, String> {
        self.rematch_call(user, game, World::challenge_to_rematch)
    }

    fn rematch_call(
        &self,
        user: &str,
        game: &str,
        call: impl Fn(&mut World, &UserId, GameId, Moment) -> Result<GameId, Failure>,
    ) -> Result<String, String> {
        let now = self.time().now();
        GameId::parse_any(game)
            .ok_or_else(Failure::not_found)
            .and_then(|game| call(&mut self.world(), &UserId::of(user), game, now))
            .map(|id| id.to_string())
            .map_err(|failure| failure.text())
    }
}
