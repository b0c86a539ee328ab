//! Challenges: creation, events, acceptance, decline and expiry.

pub(super) mod checks;
pub(super) mod form;
pub(super) mod open;
pub(super) mod view;

use std::str::FromStr;
use std::time::Duration;

use knightwatch_chess::{Color, Position};

use crate::challenge::open::OpenChallenge;
use crate::faults::StreamFault;
use crate::http::error::ApiError;
use crate::http::stream::Feed;
use crate::options::TimeControl;
use crate::players::ColorChoice;
use crate::round::{Setup, Source};
use crate::site::id::{GameId, UserId};
use crate::site::schedule::ScheduledAction;
use crate::site::state::{Notice, SiteState};
use crate::site::time::SimTime;
use crate::site::users::AccountKind;
use crate::site::variant::{Perf, Speed, Variant};
use crate::wire;

/// Time after which a real-time challenge goes offline unless its challenger is seen.
const OFFLINE_AFTER: Duration = Duration::from_secs(20);
/// Lifetime of open and of closed challenges.
const OPEN_LIFETIME: Duration = Duration::from_secs(14 * 86_400);
const CLOSED_LIFETIME: Duration = Duration::from_secs(3 * 3_600);
/// Delay after which a challenge from an anonymous player is announced.
const ANONYMOUS_DELAY: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChallengeStatus {
    Created,
    Offline,
    Canceled,
    Declined,
    Accepted,
}

impl ChallengeStatus {
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Offline => "offline",
            Self::Canceled => "canceled",
            Self::Declined => "declined",
            Self::Accepted => "accepted",
        }
    }

    /// Returns whether it can still be accepted.
    pub(crate) fn is_active(self) -> bool {
        matches!(self, Self::Created | Self::Offline)
    }
}

/// Reason for declining a challenge: the key in a request and the text for the challenger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclineReason {
    pub key: &'static str,
    pub text: &'static str,
}

#[rustfmt::skip]
const REASONS: [(&str, DeclineReason); 11] = [
    ("generic", DeclineReason { key: "generic", text: "I'm not accepting challenges at the moment." }),
    ("later", DeclineReason { key: "later", text: "This is not the right time for me, please ask again later." }),
    ("tooFast", DeclineReason { key: "toofast", text: "This time control is too fast for me, please challenge again with a slower game." }),
    ("tooSlow", DeclineReason { key: "tooslow", text: "This time control is too slow for me, please challenge again with a faster game." }),
    ("timeControl", DeclineReason { key: "timecontrol", text: "I'm not accepting challenges with this time control." }),
    ("rated", DeclineReason { key: "rated", text: "Please send me a rated challenge instead." }),
    ("casual", DeclineReason { key: "casual", text: "Please send me a casual challenge instead." }),
    ("standard", DeclineReason { key: "standard", text: "I'm not accepting variant challenges right now." }),
    ("variant", DeclineReason { key: "variant", text: "I'm not willing to play this variant right now." }),
    ("noBot", DeclineReason { key: "nobot", text: "I'm not accepting challenges from bots." }),
    ("onlyBot", DeclineReason { key: "onlybot", text: "I'm only accepting challenges from bots." }),
];

impl DeclineReason {
    /// Parses a key, ignoring case; an unknown key is the generic reason.
    pub fn from_key(key: &str) -> Self {
        REASONS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key))
            .map_or(REASONS[0].1, |(_, reason)| *reason)
    }

    /// All reasons.
    pub fn all() -> impl Iterator<Item = Self> {
        REASONS.iter().map(|(_, reason)| *reason)
    }
}

/// Parses a key, ignoring case; unknown keys are errors.
impl FromStr for DeclineReason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = REASONS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(_, reason)| *reason).ok_or_else(|| {
            let names = REASONS.map(|(name, _)| name).join(", ");
            format!("`{text}` is not a decline reason: expected one of {names}")
        })
    }
}

/// Validated options of a new challenge.
#[derive(Clone, Debug)]
pub(crate) struct ChallengeConfig {
    pub variant: Variant,
    /// Starting position of a game from a custom position, or the requested Chess960 position.
    pub start: Option<Position>,
    pub rated: bool,
    pub time_control: TimeControl,
    pub color: ColorChoice,
    pub rules: Vec<&'static str>,
    pub keep_alive: bool,
    /// The challenge is only created if the recipient follows the challenger.
    pub only_if_followed: bool,
}

#[derive(Clone)]
pub(crate) struct Challenge {
    pub id: GameId,
    /// `None` in an open challenge that nobody has joined.
    pub challenger: Option<UserId>,
    pub dest: Option<UserId>,
    pub open: Option<OpenChallenge>,
    /// Id of the game that it is a rematch of.
    pub rematch_of: Option<GameId>,
    pub variant: Variant,
    pub start: Option<Position>,
    pub rated: bool,
    pub time_control: TimeControl,
    pub rules: Vec<&'static str>,
    /// Color of the challenger.
    pub final_color: Color,
    pub color: ColorChoice,
    pub status: ChallengeStatus,
    pub reason: Option<DeclineReason>,
    pub created_at: SimTime,
    seen_at: SimTime,
    changed_at: SimTime,
    /// The challenger's keep-alive stream, while it is open.
    stream: Option<Feed>,
}

impl Challenge {
    /// Creates a challenge without challenger and recipient.
    pub(crate) fn new(
        id: GameId,
        config: ChallengeConfig,
        final_color: Color,
        now: SimTime,
    ) -> Self {
        Self {
            id,
            challenger: None,
            dest: None,
            open: None,
            rematch_of: None,
            variant: config.variant,
            start: config.start,
            rated: config.rated,
            time_control: config.time_control,
            rules: config.rules,
            final_color,
            color: config.color,
            status: ChallengeStatus::Created,
            reason: None,
            created_at: now,
            seen_at: now,
            changed_at: now,
            stream: None,
        }
    }

    /// Creates a challenge to a rematch; `color` is the challenger's.
    pub(crate) fn rematch(
        setup: Setup,
        previous: GameId,
        (from, to): (&UserId, &UserId),
        color: Color,
        now: SimTime,
    ) -> Self {
        let config = ChallengeConfig {
            variant: setup.variant,
            start: setup.start,
            rated: setup.rated,
            time_control: setup.time_control,
            color: match color {
                Color::White => ColorChoice::White,
                Color::Black => ColorChoice::Black,
            },
            rules: Vec::new(),
            keep_alive: false,
            only_if_followed: false,
        };
        Self {
            challenger: Some(from.clone()),
            dest: Some(to.clone()),
            rematch_of: Some(previous),
            ..Self::new(setup.id, config, color, now)
        }
    }

    pub(crate) fn is_from(&self, user: &UserId) -> bool {
        self.challenger.as_ref() == Some(user)
    }

    pub(crate) fn is_for(&self, user: &UserId) -> bool {
        self.dest.as_ref() == Some(user)
    }

    /// Joins an open challenge as the first of its two players.
    pub(crate) fn join_first(&mut self, user: UserId, color: Option<Color>) {
        self.challenger = Some(user);
        if let Some(color) = color {
            self.final_color = color;
            self.color = match color {
                Color::White => ColorChoice::White,
                Color::Black => ColorChoice::Black,
            };
        }
    }

    pub(crate) fn speed(&self) -> Speed {
        Speed::of(self.time_control)
    }

    pub(crate) fn perf(&self) -> Perf {
        Perf::of(self.variant, self.speed())
    }

    /// Options of the game that it becomes.
    fn setup(&self) -> Option<Setup> {
        let mut users = [self.challenger.clone()?, self.dest.clone()?];
        if self.final_color == Color::Black {
            users.swap(0, 1);
        }
        Some(Setup {
            id: self.id,
            users,
            source: Source::Friend,
            variant: self.variant,
            start: self.start.clone(),
            time_control: self.time_control,
            rated: self.rated,
            rules: self.rules.clone(),
        })
    }

    pub(crate) fn is_real_time(&self) -> bool {
        matches!(self.time_control, TimeControl::Clock { .. })
    }

    /// Handles the keep-alive stream being closed by its reader.
    pub(crate) fn on_stream_closed(&mut self, now: SimTime) {
        if self.stream.take().is_some() {
            self.seen_at = now;
        }
    }

    /// Applies a fault to the keep-alive stream.
    pub(crate) fn inject_fault(&self, fault: StreamFault) {
        if let Some(feed) = &self.stream {
            feed.inject_fault(fault);
        }
    }

    /// Ends the keep-alive stream.
    pub(crate) fn close(&self) {
        if let Some(feed) = &self.stream {
            feed.end();
        }
    }

    fn set_status(&mut self, status: ChallengeStatus, now: SimTime) {
        self.status = status;
        self.changed_at = now;
    }

    /// Ends the keep-alive stream with the outcome.
    fn finish_stream(&mut self, outcome: &str) {
        if let Some(feed) = self.stream.take() {
            feed.push(format!("{{\"done\":\"{outcome}\"}}\n").into());
            feed.end();
        }
    }
}

impl SiteState {
    /// Creates a challenge, with a keep-alive stream if requested.
    pub(crate) fn challenge(
        &mut self,
        me: &UserId,
        dest: &str,
        config: ChallengeConfig,
        now: SimTime,
    ) -> Result<(GameId, Option<Feed>), ApiError> {
        let dest = self
            .user_by_name(dest)
            .map(|user| user.id.clone())
            .ok_or_else(|| ApiError::bad_request(format!("No such user: {dest}")))?;
        self.check_challenge(me, &dest, &config, now)?;
        self.replace_challenge(me, &dest, now);

        let id = self.new_id();
        let final_color = self.resolve_color(config.color);
        let keep_alive = config.keep_alive;
        let mut challenge = Challenge {
            challenger: Some(me.clone()),
            dest: Some(dest),
            ..Challenge::new(id, config, final_color, now)
        };
        // Anonymous players have no rating.
        challenge.rated &= self.user(me).account_kind == AccountKind::User;
        let feed = keep_alive.then(Feed::default);
        if let Some(feed) = &feed {
            let mut shown = self.challenge_json(&challenge, now);
            shown.direction = Some("out");
            feed.push(wire::line(&shown));
            challenge.stream = Some(feed.clone());
        }
        self.publish_challenge(challenge, now);
        Ok((id, feed))
    }

    /// Stores a challenge and sends the events to its two users. The recipient of a challenge from an anonymous player
    /// is informed later.
    pub(crate) fn publish_challenge(&mut self, challenge: Challenge, now: SimTime) {
        let id = challenge.id;
        let challenger = challenge.challenger.clone();
        self.challenges.insert(id, challenge);
        self.open_challenges.push(id);
        let is_known = challenger.is_some_and(|challenger| {
            self.send_challenge_event(&challenger, id, now);
            self.user(&challenger).account_kind == AccountKind::User
        });
        if is_known {
            self.announce_challenge(id, now);
        } else {
            self.schedule_action(now + ANONYMOUS_DELAY, ScheduledAction::Announce(id));
        }
    }

    /// Informs the recipient, if the challenge is still active.
    pub(crate) fn announce_challenge(&mut self, id: GameId, now: SimTime) {
        let challenge = self.challenges.get(&id);
        let challenge = challenge.filter(|challenge| challenge.status.is_active());
        if let Some(dest) = challenge.and_then(|challenge| challenge.dest.clone()) {
            self.send_challenge_event(&dest, id, now);
            self.notify(&dest, Notice::Challenged(id));
        }
    }

    fn send_challenge_event(&self, user: &UserId, id: GameId, now: SimTime) {
        if let Some(challenge) = self.challenges.get(&id) {
            let event = self.challenge_event("challenge", challenge, Some(user), now);
            self.send_event(user, &wire::line(&event));
        }
    }

    /// Returns the requested color, or a random one.
    pub(crate) fn resolve_color(&mut self, color: ColorChoice) -> Color {
        match color {
            ColorChoice::White => Color::White,
            ColorChoice::Black => Color::Black,
            ColorChoice::Random if self.rng.bool() => Color::White,
            ColorChoice::Random => Color::Black,
        }
    }

    /// Cancels the challenger's older challenge to the same user, without an event. Only one can be pending.
    fn replace_challenge(&mut self, me: &UserId, dest: &UserId, now: SimTime) {
        let older = self.open_challenges.iter().copied().find(|id| {
            self.challenges.get(id).is_some_and(|old| {
                old.is_from(me) && old.is_for(dest) && old.status == ChallengeStatus::Created
            })
        });
        if let Some(older) = older {
            self.set_challenge_status(older, ChallengeStatus::Canceled, now);
            if let Some(old) = self.challenges.get_mut(&older) {
                old.close();
                old.stream = None;
            }
        }
    }

    fn set_challenge_status(&mut self, id: GameId, status: ChallengeStatus, now: SimTime) {
        self.open_challenges.retain(|open| *open != id);
        if let Some(challenge) = self.challenges.get_mut(&id) {
            challenge.set_status(status, now);
        }
    }

    /// Accepts a challenge and starts the game.
    pub(crate) fn accept(&mut self, me: &UserId, id: GameId, now: SimTime) -> Result<(), ApiError> {
        self.accept_as(me, id, None, now)
    }

    /// Accepts a challenge with a preferred color, which is only used for open challenges.
    pub(crate) fn accept_as(
        &mut self,
        me: &UserId,
        id: GameId,
        color: Option<Color>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let Some(challenge) = self.challenges.get(&id) else {
            return self.respond_to_rematch(me, id, true, now);
        };
        match challenge.status {
            ChallengeStatus::Canceled => {
                return Err(ApiError::bad_request("The challenge has been canceled."));
            }
            ChallengeStatus::Declined => {
                return Err(ApiError::bad_request("The challenge has been declined."));
            }
            ChallengeStatus::Accepted => {
                return Err(ApiError::bad_request(
                    "The challenge has already been accepted",
                ));
            }
            ChallengeStatus::Created | ChallengeStatus::Offline => {}
        }
        if challenge.open.is_some() {
            return self.join_open(me, id, color, now);
        }
        if !challenge.is_for(me) {
            return Err(ApiError::bad_request(
                "The challenge is not for you to accept.",
            ));
        }
        if self.user(me).bot && challenge.speed() == Speed::UltraBullet {
            return Err(ApiError::bad_request(
                "Game incompatible with a BOT account",
            ));
        }
        if let Some(challenger) = challenge.challenger.clone() {
            self.check_bot_games(me, &challenger, now)?;
        }
        self.start_challenged_game(id, now);
        Ok(())
    }

    /// Starts the game of an accepted challenge.
    pub(crate) fn start_challenged_game(&mut self, id: GameId, now: SimTime) {
        let Some(setup) = self.challenges.get(&id).and_then(Challenge::setup) else {
            return;
        };
        self.set_challenge_status(id, ChallengeStatus::Accepted, now);
        self.start_round(setup, now);
        if let Some(challenge) = self.challenges.get_mut(&id) {
            challenge.finish_stream("accepted");
        }
    }

    /// Declines a challenge.
    pub(crate) fn decline(
        &mut self,
        me: &UserId,
        id: GameId,
        reason: DeclineReason,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let Some(challenge) = self.challenges.get(&id) else {
            return self.respond_to_rematch(me, id, false, now);
        };
        if !(challenge.is_for(me) && challenge.status.is_active()) {
            return Err(ApiError::not_found());
        }
        if let Some(challenge) = self.challenges.get_mut(&id) {
            challenge.reason = Some(reason);
        }
        self.end_challenge(id, ChallengeStatus::Declined, "challengeDeclined", now);
        Ok(())
    }

    /// Cancels a challenge: a challenger cancels, a recipient declines, a game that was created from it is aborted.
    /// `opponent` is the owner of the `opponentToken` in the request, if there was one.
    pub(crate) fn cancel(
        &mut self,
        me: &UserId,
        id: GameId,
        opponent: Option<Option<UserId>>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let active = self
            .challenges
            .get(&id)
            .filter(|challenge| challenge.status.is_active());
        match active {
            Some(challenge) if challenge.is_from(me) => {
                self.end_challenge(id, ChallengeStatus::Canceled, "challengeCanceled", now);
                Ok(())
            }
            Some(challenge) if challenge.is_for(me) => {
                self.decline(me, id, DeclineReason::from_key("generic"), now)
            }
            _ => {
                let plays = self.player_of(me, Some(id)).is_ok();
                let made = (!plays).then(|| self.cancel_open(me, id, now)).flatten();
                made.unwrap_or_else(|| self.cancel_round(me, id, opponent, now))
            }
        }
    }

    pub(crate) fn end_challenge(
        &mut self,
        id: GameId,
        status: ChallengeStatus,
        event: &'static str,
        now: SimTime,
    ) {
        self.set_challenge_status(id, status, now);
        let Some(challenge) = self.challenges.get_mut(&id) else {
            return;
        };
        challenge.finish_stream(status.key());
        let challenge = challenge.clone();
        let line = wire::line(&self.challenge_event(event, &challenge, None, now));
        for user in [&challenge.challenger, &challenge.dest]
            .into_iter()
            .flatten()
        {
            self.send_event(user, &line);
        }
        if let Some(challenger) = &challenge.challenger {
            self.notify(challenger, Notice::ChallengeEnded(id));
        }
    }

    /// Sets real-time challenges of absent challengers offline and removes expired ones.
    pub(crate) fn tick_challenges(&mut self, now: SimTime) {
        for id in &self.open_challenges {
            let Some(challenge) = self.challenges.get_mut(id) else {
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
        self.challenges
            .retain(|_, challenge| match challenge.status {
                ChallengeStatus::Created => match &challenge.open {
                    Some(open) => now < open.expires_at,
                    None => now.since(challenge.created_at) < OPEN_LIFETIME,
                },
                _ => now.since(challenge.changed_at) < CLOSED_LIFETIME,
            });
        self.open_challenges
            .retain(|id| self.challenges.contains_key(id));
    }
}
