//! The challenges of a site: announcement, acceptance, decline and expiry.

use std::collections::HashMap;
use std::time::Duration;

use knightwatch_chess::Color;

use crate::challenge::checks::check_bot_games;
use crate::challenge::{Challenge, ChallengeStatus, ColorChoice, DeclineReason};
use crate::faults::StreamFault;
use crate::site::effect::ScheduledAction;
use crate::site::{
    AccountKind, ApiError, Effect, Feed, GameId, Limits, Notice, SimTime, Speed, UserId, Users,
};
use knightwatch_util::seconds::{DAY, HOUR};

/// Time after which a real-time challenge goes offline unless its challenger is seen.
const OFFLINE_AFTER: Duration = Duration::from_secs(20);
/// Lifetime of open and of closed challenges.
const OPEN_LIFETIME: Duration = Duration::from_secs(14 * DAY);
const CLOSED_LIFETIME: Duration = Duration::from_secs(3 * HOUR);
/// Delay after which a challenge from an anonymous player is announced.
const ANONYMOUS_DELAY: Duration = Duration::from_secs(2);
/// Time in which the creator of an open challenge can cancel it or abort its game.
const CREATOR_RIGHTS_FOR: Duration = Duration::from_secs(HOUR);

const NOT_FOR_YOU: &str = "The challenge is not for you to accept.";

/// All challenges, with those that have ended for a while.
#[derive(Default)]
pub(crate) struct Challenges {
    all: HashMap<GameId, Challenge>,
    /// Challenges in the state `created` or `offline`, oldest first.
    pending: Vec<GameId>,
}

impl Challenges {
    pub(crate) fn get(&self, id: GameId) -> Option<&Challenge> {
        self.all.get(&id)
    }

    /// Finds the challenge named in a request.
    pub(crate) fn find(&self, id: GameId) -> Result<&Challenge, ApiError> {
        self.get(id).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn contains(&self, id: GameId) -> bool {
        self.all.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Challenges in the state `created`, oldest first.
    pub(crate) fn created(&self) -> impl Iterator<Item = &Challenge> {
        let pending = self.pending.iter().filter_map(|id| self.all.get(id));
        pending.filter(|challenge| challenge.status == ChallengeStatus::Created)
    }

    /// Stores a challenge without informing anybody.
    pub(crate) fn add(&mut self, challenge: Challenge) {
        self.pending.push(challenge.id);
        self.all.insert(challenge.id, challenge);
    }

    /// Stores a challenge between two users and informs them. The recipient of a challenge from an anonymous player is
    /// informed later.
    pub(crate) fn publish(
        &mut self,
        challenge: Challenge,
        users: &Users,
        now: SimTime,
    ) -> Vec<Effect> {
        let id = challenge.id;
        let mut effects = Vec::new();
        let mut is_known = false;
        if let Some(challenger) = &challenge.challenger {
            effects.push(inform(&challenge, challenger, true));
            is_known = users.get(challenger).account_kind == AccountKind::User;
        }
        self.add(challenge);
        if is_known {
            effects.extend(self.announce(id));
        } else {
            let action = ScheduledAction::Announce(id);
            effects.push(Effect::Schedule(now + ANONYMOUS_DELAY, action));
        }
        effects
    }

    /// Informs the recipient, if the challenge is still pending.
    pub(crate) fn announce(&self, id: GameId) -> Vec<Effect> {
        let challenge = self.all.get(&id).filter(|c| c.status.is_active());
        let recipient = challenge.and_then(|challenge| Some((challenge, challenge.dest.as_ref()?)));
        recipient.map_or_else(Vec::new, |(challenge, dest)| {
            let notice = Effect::Notify(dest.clone(), Notice::Challenged(id));
            vec![inform(challenge, dest, true), notice]
        })
    }

    /// Cancels the challenger's older challenge to the same user, without an event. Only one can be pending. The
    /// keep-alive stream of the older one stays open and is not informed.
    pub(crate) fn replace(&mut self, me: &UserId, dest: &UserId, now: SimTime) {
        let older = self
            .created()
            .find(|old| old.is_from(me) && old.is_for(dest))
            .map(|old| old.id);
        if let Some(id) = older {
            self.close(id, ChallengeStatus::Canceled, now);
        }
    }

    /// Ends a challenge, but not its keep-alive stream.
    fn close(&mut self, id: GameId, status: ChallengeStatus, now: SimTime) {
        self.pending.retain(|other| *other != id);
        if let Some(challenge) = self.all.get_mut(&id) {
            challenge.set_status(status, now);
        }
    }

    /// Ends a challenge. Returns its keep-alive stream, which is to be ended as well.
    fn close_with_stream(
        &mut self,
        id: GameId,
        status: ChallengeStatus,
        now: SimTime,
    ) -> Option<Feed> {
        self.close(id, status, now);
        self.all.get_mut(&id)?.stream.take()
    }

    /// Cancels or declines a challenge.
    fn end(&mut self, id: GameId, status: ChallengeStatus, now: SimTime) -> Vec<Effect> {
        let feed = self.close_with_stream(id, status, now);
        let Some(challenge) = self.all.get(&id) else {
            return Vec::new();
        };
        let mut effects: Vec<Effect> = feed
            .map(|feed| Effect::EndKeepAlive(feed, status))
            .into_iter()
            .collect();
        let users = [&challenge.challenger, &challenge.dest];
        let users = users.into_iter().flatten();
        effects.extend(users.map(|user| inform(challenge, user, false)));
        if let Some(challenger) = &challenge.challenger {
            let notice = Notice::ChallengeEnded(id);
            effects.push(Effect::Notify(challenger.clone(), notice));
        }
        effects
    }

    /// Accepts a challenge. The preferred color is only used for open challenges.
    pub(crate) fn accept(
        &mut self,
        me: &UserId,
        id: GameId,
        color: Option<Color>,
        (users, limits): (&Users, &mut Limits),
        now: SimTime,
    ) -> Result<Vec<Effect>, ApiError> {
        let challenge = self.all.get_mut(&id).ok_or_else(ApiError::not_found)?;
        let over = match challenge.status {
            ChallengeStatus::Canceled => Some("The challenge has been canceled."),
            ChallengeStatus::Declined => Some("The challenge has been declined."),
            ChallengeStatus::Accepted => Some("The challenge has already been accepted"),
            ChallengeStatus::Created | ChallengeStatus::Offline => None,
        };
        if let Some(text) = over {
            return Err(ApiError::bad_request(text));
        }
        if challenge.open.is_none() && !challenge.is_for(me) {
            return Err(ApiError::bad_request(NOT_FOR_YOU));
        }
        if users.get(me).bot && challenge.speed() == Speed::UltraBullet {
            return Err(ApiError::bad_request(
                "Game incompatible with a BOT account",
            ));
        }
        if challenge.open.is_some() {
            if !challenge.join(me, color, (users, limits), now)? {
                return Ok(Vec::new());
            }
        } else if let Some(challenger) = &challenge.challenger {
            check_bot_games(users, limits, me, challenger, now)?;
        }
        let Some(setup) = challenge.setup() else {
            return Ok(Vec::new());
        };
        let mut effects = vec![Effect::Start(Box::new(setup))];
        let status = ChallengeStatus::Accepted;
        let feed = self.close_with_stream(id, status, now);
        effects.extend(feed.map(|feed| Effect::EndKeepAlive(feed, status)));
        Ok(effects)
    }

    /// Declines a challenge.
    pub(crate) fn decline(
        &mut self,
        me: &UserId,
        id: GameId,
        reason: DeclineReason,
        now: SimTime,
    ) -> Result<Vec<Effect>, ApiError> {
        let challenge = self.all.get_mut(&id);
        let challenge = challenge.filter(|c| c.is_for(me) && c.status.is_active());
        challenge.ok_or_else(ApiError::not_found)?.reason = Some(reason);
        Ok(self.end(id, ChallengeStatus::Declined, now))
    }

    /// Cancels a pending challenge: the challenger cancels it, the recipient declines it. Returns `None` if it is neither
    /// from nor for this user, or no longer pending.
    pub(crate) fn cancel(&mut self, me: &UserId, id: GameId, now: SimTime) -> Option<Vec<Effect>> {
        let challenge = self.all.get(&id).filter(|c| c.status.is_active())?;
        if challenge.is_from(me) {
            return Some(self.end(id, ChallengeStatus::Canceled, now));
        }
        self.decline(me, id, DeclineReason::from_key("generic"), now)
            .ok()
    }

    /// Returns whether this user created the open challenge at most an hour ago, and so may cancel it or abort its game.
    pub(crate) fn is_creator(&self, me: &UserId, id: GameId, now: SimTime) -> bool {
        self.all.get(&id).is_some_and(|challenge| {
            let open = challenge.open.as_ref();
            open.is_some_and(|open| open.creator.as_ref() == Some(me))
                && now.since(challenge.created_at) <= CREATOR_RIGHTS_FOR
        })
    }

    /// Cancels an open challenge for its creator, if it is pending.
    pub(crate) fn cancel_open(&mut self, id: GameId, now: SimTime) -> Option<Vec<Effect>> {
        self.all.get(&id).filter(|c| c.status.is_active())?;
        Some(self.end(id, ChallengeStatus::Canceled, now))
    }

    /// Handles a keep-alive stream that was closed by its reader.
    pub(crate) fn on_stream_closed(&mut self, id: GameId, now: SimTime) {
        if let Some(challenge) = self.all.get_mut(&id)
            && challenge.stream.take().is_some()
        {
            challenge.seen_at = now;
        }
    }

    /// Applies a fault to all keep-alive streams.
    pub(crate) fn inject_fault(&self, fault: StreamFault) {
        self.feeds().for_each(|feed| feed.inject_fault(fault));
    }

    /// Ends all keep-alive streams.
    pub(crate) fn close_streams(&self) {
        self.feeds().for_each(Feed::end);
    }

    fn feeds(&self) -> impl Iterator<Item = &Feed> {
        self.all.values().filter_map(|c| c.stream.as_ref())
    }

    /// Sets real-time challenges of absent challengers offline and removes expired ones.
    pub(crate) fn tick(&mut self, now: SimTime) {
        for id in &self.pending {
            let Some(challenge) = self.all.get_mut(id) else {
                continue;
            };
            if challenge.stream.is_some() {
                challenge.seen_at = now;
                challenge.status = ChallengeStatus::Created;
            } else if challenge.status == ChallengeStatus::Created
                && challenge.is_real_time()
                && challenge.open.is_none()
                && now.since(challenge.seen_at) >= OFFLINE_AFTER
            {
                challenge.set_status(ChallengeStatus::Offline, now);
            }
        }
        self.all.retain(|_, challenge| match challenge.status {
            ChallengeStatus::Created => match &challenge.open {
                Some(open) => now < open.expires_at,
                None => now.since(challenge.created_at) < OPEN_LIFETIME,
            },
            _ => challenge.stream.is_some() || now.since(challenge.changed_at) < CLOSED_LIFETIME,
        });
        self.pending.retain(|id| self.all.contains_key(id));
    }
}

fn inform(challenge: &Challenge, to: &UserId, compat: bool) -> Effect {
    Effect::Challenge {
        status: challenge.status,
        challenge: Box::new(challenge.clone()),
        to: to.clone(),
        compat,
    }
}

impl Challenge {
    /// Joins an open challenge. Returns whether it has both players now.
    fn join(
        &mut self,
        me: &UserId,
        requested: Option<Color>,
        (users, limits): (&Users, &mut Limits),
        now: SimTime,
    ) -> Result<bool, ApiError> {
        let players = self.open.as_ref().and_then(|open| open.players.as_ref());
        let seat = players.map(|players| players.iter().position(|player| player == me));
        let is_unrated_user = self.rated && users.get(me).account_kind != AccountKind::User;
        if seat == Some(None) || is_unrated_user || self.is_from(me) {
            return Err(ApiError::bad_request(NOT_FOR_YOU));
        }
        let color = match seat.flatten() {
            Some(0) => Some(Color::White),
            Some(_) => Some(Color::Black),
            None => requested,
        };
        let Some(first) = &self.challenger else {
            self.challenger = Some(me.clone());
            if let Some(color) = color {
                self.final_color = color;
                self.color = color.into();
            }
            return Ok(false);
        };
        let final_color = match color {
            Some(color) if self.color == ColorChoice::Random => !color,
            Some(color) if color == self.final_color => {
                return Err(ApiError::bad_request("This color has already been chosen"));
            }
            _ => self.final_color,
        };
        check_bot_games(users, limits, me, first, now)?;
        self.dest = Some(me.clone());
        self.final_color = final_color;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::challenge::{ChallengeConfig, OpenChallenge};
    use crate::options::NewUser;
    use crate::quirks::Limiter;
    use crate::site::variant::Variant;
    use crate::time_control::TimeControl;

    struct Site {
        challenges: Challenges,
        users: Users,
        limits: Limits,
    }

    fn at(seconds: u64) -> SimTime {
        SimTime(0) + Duration::from_secs(seconds)
    }

    fn id(text: &str) -> GameId {
        GameId::parse(text).unwrap()
    }

    fn site() -> Site {
        let mut users = Users::default();
        for name in ["Anna", "Bob", "Carl"] {
            users.add(NewUser::bot(name), at(0));
        }
        Site {
            challenges: Challenges::default(),
            users,
            limits: Limits::new(true, Limiter::Fixed, None),
        }
    }

    fn challenge(name: &str, from_to: Option<(&str, &str)>) -> Challenge {
        let config = ChallengeConfig {
            variant: Variant::Standard,
            start: None,
            rated: false,
            time_control: TimeControl::clock(60, 0),
            color: ColorChoice::Random,
            rules: Vec::new(),
            keep_alive: false,
            only_if_followed: false,
        };
        Challenge {
            challenger: from_to.map(|(from, _)| UserId::of(from)),
            dest: from_to.map(|(_, to)| UserId::of(to)),
            ..Challenge::new(id(name), config, Color::White, at(0))
        }
    }

    #[test]
    fn accepted_challenge_starts_game_once() {
        let mut site = site();
        let effects = site.challenges.publish(
            challenge("aaaaaaaa", Some(("Anna", "Bob"))),
            &site.users,
            at(0),
        );
        assert!(matches!(
            &effects[..],
            [Effect::Challenge { .. }, Effect::Challenge { .. }, Effect::Notify(to, _)] if *to == UserId::of("Bob")
        ));
        let mut accept = |name: &str| {
            let services = (&site.users, &mut site.limits);
            site.challenges
                .accept(&UserId::of(name), id("aaaaaaaa"), None, services, at(1))
        };
        assert!(accept("Carl").is_err());
        let started = accept("Bob").unwrap();
        let [Effect::Start(setup)] = &started[..] else {
            panic!("a game starts");
        };
        assert_eq!(setup.users, ["Anna", "Bob"].map(UserId::of));
        assert!(accept("Bob").is_err(), "it was accepted before");
        assert_eq!(site.challenges.created().count(), 0);
    }

    #[test]
    fn open_challenge_starts_with_second_player() {
        let mut site = site();
        let mut open = challenge("aaaaaaaa", None);
        open.open = Some(OpenChallenge {
            creator: None,
            players: None,
            expires_at: at(60),
        });
        site.challenges.add(open);
        let mut accept = |name: &str, color| {
            let services = (&site.users, &mut site.limits);
            site.challenges
                .accept(&UserId::of(name), id("aaaaaaaa"), color, services, at(1))
        };
        assert!(accept("Anna", Some(Color::Black)).unwrap().is_empty());
        assert!(accept("Anna", None).is_err());
        assert!(accept("Bob", Some(Color::Black)).is_err(), "taken");
        let started = accept("Bob", None).unwrap();
        let [Effect::Start(setup)] = &started[..] else {
            panic!("a game starts");
        };
        assert_eq!(setup.users, ["Bob", "Anna"].map(UserId::of));
    }

    #[test]
    fn second_challenge_to_same_user_replaces_first() {
        let mut site = site();
        let (anna, bob) = (UserId::of("Anna"), UserId::of("Bob"));
        let mut first = challenge("aaaaaaaa", Some(("Anna", "Bob")));
        let feed = Feed::default();
        first.stream = Some(feed.clone());
        site.challenges.add(first);
        site.challenges.replace(&anna, &bob, at(1));
        site.challenges
            .add(challenge("bbbbbbbb", Some(("Anna", "Bob"))));
        let (lines, has_ended) = feed.take_lines();
        assert!(lines.is_empty() && !has_ended, "as on Lichess");
        site.challenges.close_streams();
        assert!(feed.take_lines().1);
        let created: Vec<GameId> = site.challenges.created().map(|c| c.id).collect();
        assert_eq!(created, [id("bbbbbbbb")]);
        let declined = site.challenges.cancel(&bob, id("bbbbbbbb"), at(2)).unwrap();
        assert!(
            matches!(declined.last(), Some(Effect::Notify(to, Notice::ChallengeEnded(_))) if *to == anna)
        );
        assert!(
            site.challenges
                .cancel(&anna, id("bbbbbbbb"), at(2))
                .is_none()
        );
    }

    #[test]
    fn challenge_goes_offline_and_expires() {
        let mut site = site();
        site.challenges
            .add(challenge("aaaaaaaa", Some(("Anna", "Bob"))));
        site.challenges.tick(at(19));
        assert_eq!(site.challenges.created().count(), 1);
        site.challenges.tick(at(20));
        assert_eq!(site.challenges.created().count(), 0);
        site.challenges.tick(at(20 + 3 * 3_600 - 1));
        assert_eq!(site.challenges.len(), 1);
        site.challenges.tick(at(20 + 3 * 3_600));
        assert_eq!(site.challenges.len(), 0);
    }
}
