//! Challenges: from the wish to the game, or to nothing.

use std::str::FromStr;
use std::time::Duration;

use crate::chess::{Color, Position};

use super::failure::Failure;
use super::faults::StreamFault;
use super::id::{GameId, UserId};
use super::limits::{BOT_GAMES, CHALLENGES, Exceeded};
use super::options::TimeControl;
use super::round::{Setup, Source};
use super::sparring::ColorChoice;
use super::stream::Feed;
use super::time::Moment;
use super::variant::{Perf, Speed, Variant};
use super::wire::{
    self, ChallengeEvent, ChallengeJson, ChallengeList, ChallengeUser, Compat, PerfJson,
    TimeControlJson, VariantJson, color_name,
};
use super::world::{Notice, World};

/// A real-time challenge whose challenger is not seen for so long goes offline.
const UNSEEN: Duration = Duration::from_secs(20);
/// A challenge that waits is forgotten after this, one that is done with sooner.
const WAITING_KEPT: Duration = Duration::from_secs(14 * 86_400);
const DONE_KEPT: Duration = Duration::from_secs(3 * 3_600);
/// Most challenges that a new event stream is told of.
const REPLAYED: usize = 50;
/// Who plays so many games is not challenged to a real-time one.
const MAX_PLAYING: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeStatus {
    Created,
    Offline,
    Canceled,
    Declined,
    Accepted,
}

impl ChallengeStatus {
    fn key(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Offline => "offline",
            Self::Canceled => "canceled",
            Self::Declined => "declined",
            Self::Accepted => "accepted",
        }
    }

    /// It can still become a game.
    fn is_active(self) -> bool {
        matches!(self, Self::Created | Self::Offline)
    }
}

/// Why a challenge is declined: the key in a request, and the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclineReason {
    key: &'static str,
    text: &'static str,
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
    /// Case does not matter; what is not known is the generic reason.
    pub fn from_key(key: &str) -> Self {
        REASONS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key))
            .map_or(REASONS[0].1, |(_, reason)| *reason)
    }

    /// All that there are.
    pub fn all() -> impl Iterator<Item = Self> {
        REASONS.iter().map(|(_, reason)| *reason)
    }
}

/// The key of a reason, in any case; others are refused.
impl FromStr for DeclineReason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = REASONS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(_, reason)| *reason).ok_or_else(|| {
            let names = REASONS.map(|(name, _)| name).join(", ");
            format!("`{text}` is no reason to decline: {names}")
        })
    }
}

/// What a challenger wants, checked.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub variant: Variant,
    /// Where a game from a position begins, or which Chess960 position was asked for.
    pub start: Option<Position>,
    pub rated: bool,
    pub time_control: TimeControl,
    pub color: ColorChoice,
    pub rules: Vec<&'static str>,
    pub keep_alive: bool,
}

#[derive(Clone)]
pub(super) struct Challenge {
    pub id: GameId,
    pub challenger: UserId,
    pub dest: UserId,
    pub variant: Variant,
    pub start: Option<Position>,
    pub rated: bool,
    pub time_control: TimeControl,
    pub rules: Vec<&'static str>,
    /// The challenger's colour.
    pub final_color: Color,
    color: ColorChoice,
    status: ChallengeStatus,
    reason: Option<DeclineReason>,
    created_at: Moment,
    seen_at: Moment,
    changed_at: Moment,
    /// The challenger's own stream on this challenge, while it is open.
    waiting: Option<Feed>,
}

impl Challenge {
    pub fn speed(&self) -> Speed {
        Speed::of(self.time_control)
    }

    pub fn perf(&self) -> Perf {
        Perf::of(self.variant, self.speed())
    }

    /// The game that it becomes.
    fn setup(&self) -> Setup {
        let mut users = [self.challenger.clone(), self.dest.clone()];
        if self.final_color == Color::Black {
            users.swap(0, 1);
        }
        Setup {
            id: self.id,
            users,
            source: Source::Friend,
            variant: self.variant,
            start: self.start.clone(),
            time_control: self.time_control,
            rated: self.rated,
            rules: self.rules.clone(),
        }
    }

    fn is_real_time(&self) -> bool {
        matches!(self.time_control, TimeControl::Clock { .. })
    }

    /// The stream on this challenge was closed by its reader.
    pub fn leave(&mut self, now: Moment) {
        if self.waiting.take().is_some() {
            self.seen_at = now;
        }
    }

    /// Breaks the stream on this challenge.
    pub fn break_off(&self, how: StreamFault) {
        if let Some(feed) = &self.waiting {
            feed.break_off(how);
        }
    }

    /// Ends the stream on this challenge.
    pub fn close(&self) {
        if let Some(feed) = &self.waiting {
            feed.end();
        }
    }

    fn change(&mut self, status: ChallengeStatus, now: Moment) {
        self.status = status;
        self.changed_at = now;
    }

    /// Tells the stream on this challenge what became of it.
    fn done(&mut self, how: &str) {
        if let Some(feed) = self.waiting.take() {
            feed.push(format!("{{\"done\":\"{how}\"}}\n").into());
            feed.end();
        }
    }
}

impl World {
    /// Creates a challenge, with the stream on it if one was asked for.
    pub fn challenge(
        &mut self,
        me: &UserId,
        dest: &str,
        wanted: Wanted,
        now: Moment,
    ) -> Result<(GameId, Option<Feed>), Failure> {
        let dest = self
            .user_by_name(dest)
            .map(|user| user.id.clone())
            .ok_or_else(|| Failure::bad(format!("No such user: {dest}")))?;
        self.may_challenge(me, &dest, &wanted, now)?;
        self.replace_challenge(me, &dest, now);

        let id = self.fresh_id();
        let final_color = match wanted.color {
            ColorChoice::White => Color::White,
            ColorChoice::Black => Color::Black,
            ColorChoice::Random if self.rng.bool() => Color::White,
            ColorChoice::Random => Color::Black,
        };
        let mut challenge = Challenge {
            id,
            challenger: me.clone(),
            dest: dest.clone(),
            variant: wanted.variant,
            start: wanted.start,
            rated: wanted.rated,
            time_control: wanted.time_control,
            rules: wanted.rules,
            final_color,
            color: wanted.color,
            status: ChallengeStatus::Created,
            reason: None,
            created_at: now,
            seen_at: now,
            changed_at: now,
            waiting: None,
        };
        let feed = wanted.keep_alive.then(Feed::default);
        if let Some(feed) = &feed {
            let mut shown = self.challenge_json(&challenge, now);
            shown.direction = Some("out");
            feed.push(wire::line(&shown));
            challenge.waiting = Some(feed.clone());
        }
        self.challenges.insert(id, challenge.clone());
        self.open_challenges.push(id);
        for user in [me, &dest] {
            let event = self.challenge_event("challenge", &challenge, Some(user), now);
            self.tell(user, &wire::line(&event));
        }
        self.notify(&dest, Notice::Challenged(id));
        Ok((id, feed))
    }

    fn may_challenge(
        &mut self,
        me: &UserId,
        dest: &UserId,
        wanted: &Wanted,
        now: Moment,
    ) -> Result<(), Failure> {
        if me == dest {
            return Err(Failure::bad("You cannot challenge yourself"));
        }
        let other = self.user(dest);
        if other.bot && !wanted.rules.is_empty() {
            return Err(Failure::bad("Rules not applicable for bots"));
        }
        let cost = match other {
            other if other.follows(me) => 0,
            other if other.bot => 1,
            _ => 5,
        };
        self.limits
            .charge_all(&CHALLENGES, me.as_str(), cost, now)?;
        self.may_play_bots(me, dest, now)?;
        let (mine, other) = (self.user(me), self.user(dest));
        if other.ties.blocks(me) {
            let text = format!("You cannot challenge {}.", other.name);
            return Err(Failure::bad(text));
        }
        let too_fast = Speed::of(wanted.time_control) == Speed::UltraBullet;
        if too_fast && (mine.bot || other.bot) {
            return Err(Failure::bad(
                "Bots cannot play UltraBullet. Choose a slower time control.",
            ));
        }
        let real_time = matches!(wanted.time_control, TimeControl::Clock { .. });
        if real_time
            && [mine, other]
                .iter()
                .any(|user| user.playing.len() >= MAX_PLAYING)
        {
            return Err(Failure::bad("Challenge not created"));
        }
        Ok(())
    }

    /// Whether two bots may still play each other today: neither of them more than a hundred games. For anybody else
    /// there is no such limit.
    pub fn may_play_bots(
        &mut self,
        me: &UserId,
        other: &UserId,
        now: Moment,
    ) -> Result<(), Failure> {
        if !(self.user(me).bot && self.user(other).bot) {
            return Ok(());
        }
        let refused = |status, text: String, exceeded: Exceeded| {
            let seconds = exceeded.wait.as_millis().div_ceil(1_000);
            Failure::limited(status, &text, exceeded.limit, seconds as u64)
        };
        let games = BOT_GAMES.credits;
        self.limits
            .check(&BOT_GAMES, me.as_str(), now)
            .map_err(|exceeded| {
                let text = format!(
                    "You played {games} games against other bots today, please wait before challenging another bot."
                );
                refused(429, text, exceeded)
            })?;
        self.limits
            .check(&BOT_GAMES, other.as_str(), now)
            .map_err(|exceeded| {
                let text = format!(
                    "{} played {games} games against other bots today, please wait until {} to challenge them.",
                    self.user(other).name,
                    (now + exceeded.wait).iso(),
                );
                refused(400, text, exceeded)
            })
    }

    /// Two people have one challenge in one direction: an older one that still waits is cancelled, and nobody is told.
    fn replace_challenge(&mut self, me: &UserId, dest: &UserId, now: Moment) {
        let older = self.open_challenges.iter().copied().find(|id| {
            self.challenges.get(id).is_some_and(|old| {
                old.challenger == *me && old.dest == *dest && old.status == ChallengeStatus::Created
            })
        });
        if let Some(older) = older {
            self.settle_challenge(older, ChallengeStatus::Canceled, now);
            if let Some(old) = self.challenges.get_mut(&older) {
                old.close();
                old.waiting = None;
            }
        }
    }

    fn settle_challenge(&mut self, id: GameId, status: ChallengeStatus, now: Moment) {
        self.open_challenges.retain(|open| *open != id);
        if let Some(challenge) = self.challenges.get_mut(&id) {
            challenge.change(status, now);
        }
    }

    /// The challenged user takes it: the game begins.
    pub fn accept(&mut self, me: &UserId, id: GameId, now: Moment) -> Result<(), Failure> {
        let challenge = self.challenges.get(&id).ok_or_else(Failure::not_found)?;
        match challenge.status {
            ChallengeStatus::Canceled => {
                return Err(Failure::bad("The challenge has been canceled."));
            }
            ChallengeStatus::Declined => {
                return Err(Failure::bad("The challenge has been declined."));
            }
            ChallengeStatus::Accepted => {
                return Err(Failure::bad("The challenge has already been accepted"));
            }
            ChallengeStatus::Created | ChallengeStatus::Offline => {}
        }
        if challenge.dest != *me {
            return Err(Failure::bad("The challenge is not for you to accept."));
        }
        if self.user(me).bot && challenge.speed() == Speed::UltraBullet {
            return Err(Failure::bad("Game incompatible with a BOT account"));
        }
        let challenge = challenge.clone();
        self.may_play_bots(me, &challenge.challenger, now)?;
        self.settle_challenge(id, ChallengeStatus::Accepted, now);
        self.begin_round(challenge.setup(), now);
        if let Some(challenge) = self.challenges.get_mut(&id) {
            challenge.done("accepted");
        }
        Ok(())
    }

    /// The challenged user does not want it.
    pub fn decline(
        &mut self,
        me: &UserId,
        id: GameId,
        reason: DeclineReason,
        now: Moment,
    ) -> Result<(), Failure> {
        self.challenges
            .get(&id)
            .filter(|challenge| challenge.dest == *me && challenge.status.is_active())
            .ok_or_else(Failure::not_found)?;
        if let Some(challenge) = self.challenges.get_mut(&id) {
            challenge.reason = Some(reason);
        }
        self.end_challenge(id, ChallengeStatus::Declined, "challengeDeclined", now);
        Ok(())
    }

    /// The challenger takes it back, the challenged user declines it in this way, a game that grew from it is aborted.
    /// `opponent` is who owns the token that came with the request, if there was one.
    pub fn cancel(
        &mut self,
        me: &UserId,
        id: GameId,
        opponent: Option<Option<UserId>>,
        now: Moment,
    ) -> Result<(), Failure> {
        let active = self
            .challenges
            .get(&id)
            .filter(|challenge| challenge.status.is_active());
        match active {
            Some(challenge) if challenge.challenger == *me => {
                self.end_challenge(id, ChallengeStatus::Canceled, "challengeCanceled", now);
                Ok(())
            }
            Some(challenge) if challenge.dest == *me => {
                self.decline(me, id, DeclineReason::from_key("generic"), now)
            }
            _ => self.cancel_round(me, id, opponent, now),
        }
    }

    fn end_challenge(
        &mut self,
        id: GameId,
        status: ChallengeStatus,
        event: &'static str,
        now: Moment,
    ) {
        self.settle_challenge(id, status, now);
        let Some(challenge) = self.challenges.get_mut(&id) else {
            return;
        };
        challenge.done(status.key());
        let challenge = challenge.clone();
        let line = wire::line(&self.challenge_event(event, &challenge, None, now));
        for user in [&challenge.challenger, &challenge.dest] {
            self.tell(user, &line);
        }
        self.notify(&challenge.challenger, Notice::Refused(id));
    }

    /// The challenge as one of its two users sees it.
    pub fn show_challenge(
        &self,
        me: &UserId,
        id: GameId,
        now: Moment,
    ) -> Result<ChallengeJson, Failure> {
        let challenge = self.challenges.get(&id).ok_or_else(Failure::not_found)?;
        Ok(self.directed(challenge, me, now))
    }

    /// What waits for an answer, in both directions; what is offline is not listed.
    pub fn list_challenges(&self, me: &UserId, now: Moment) -> ChallengeList {
        let created = || {
            self.open_challenges
                .iter()
                .filter_map(|id| self.challenges.get(id))
                .filter(|challenge| challenge.status == ChallengeStatus::Created)
        };
        ChallengeList {
            incoming: created()
                .filter(|challenge| challenge.dest == *me)
                .map(|challenge| self.directed(challenge, me, now))
                .collect(),
            outgoing: created()
                .filter(|challenge| challenge.challenger == *me)
                .map(|challenge| self.directed(challenge, me, now))
                .collect(),
        }
    }

    fn directed(&self, challenge: &Challenge, me: &UserId, now: Moment) -> ChallengeJson {
        let mut shown = self.challenge_json(challenge, now);
        if challenge.challenger == *me {
            shown.direction = Some("out");
        } else if challenge.dest == *me {
            shown.direction = Some("in");
        }
        shown
    }

    /// What a new event stream is told: incoming challenges, oldest first, real-time ones before the others when there are
    /// more than five; without `compat`.
    pub fn challenges_for_replay(&self, me: &UserId, now: Moment) -> Vec<ChallengeEvent> {
        let mut waiting: Vec<&Challenge> = self
            .open_challenges
            .iter()
            .filter_map(|id| self.challenges.get(id))
            .filter(|challenge| {
                challenge.dest == *me && challenge.status == ChallengeStatus::Created
            })
            .collect();
        if waiting.len() > 5 {
            waiting.sort_by_key(|challenge| !challenge.is_real_time());
        }
        waiting
            .into_iter()
            .take(REPLAYED)
            .map(|challenge| self.challenge_event("challenge", challenge, None, now))
            .collect()
    }

    fn challenge_event(
        &self,
        kind: &'static str,
        challenge: &Challenge,
        compat_for: Option<&UserId>,
        now: Moment,
    ) -> ChallengeEvent {
        let speed = challenge.speed();
        ChallengeEvent {
            kind,
            challenge: self.challenge_json(challenge, now),
            compat: compat_for.map(|user| Compat {
                bot: self.user(user).bot && speed >= Speed::Bullet,
                board: speed >= Speed::Blitz,
            }),
        }
    }

    fn challenge_json(&self, challenge: &Challenge, now: Moment) -> ChallengeJson {
        let user = |id| {
            let user = self.user(id);
            let rating = user.rating(challenge.perf().key);
            let online = user.is_online(now);
            ChallengeUser {
                id: user.id.to_string(),
                name: user.name.clone(),
                rating: rating.value(),
                title: wire::title(user.title(), &self.quirks),
                provisional: rating.is_provisional(),
                online,
                lag: online.then_some(4),
            }
        };
        ChallengeJson {
            id: challenge.id.to_string(),
            url: format!("{}/{}", self.base, challenge.id),
            status: challenge.status.key(),
            challenger: user(&challenge.challenger),
            dest_user: user(&challenge.dest),
            variant: VariantJson::full(challenge.variant),
            rated: challenge.rated,
            speed: challenge.speed().key(),
            time_control: time_control_json(challenge.time_control),
            color: match challenge.color {
                ColorChoice::White => "white",
                ColorChoice::Black => "black",
                ColorChoice::Random => "random",
            },
            final_color: color_name(challenge.final_color),
            perf: PerfJson::with_icon(challenge.perf()),
            direction: None,
            initial_fen: challenge.start.as_ref().map(Position::fen),
            decline_reason: challenge.reason.map(|reason| reason.text),
            decline_reason_key: challenge.reason.map(|reason| reason.key),
            rules: challenge.rules.clone(),
        }
    }

    /// Lets real-time challenges of absent challengers go offline, and forgets what is old.
    pub fn tick_challenges(&mut self, now: Moment) {
        for id in &self.open_challenges {
            let Some(challenge) = self.challenges.get_mut(id) else {
                continue;
            };
            if challenge.waiting.is_some() {
                challenge.seen_at = now;
                challenge.status = ChallengeStatus::Created;
            } else if challenge.status == ChallengeStatus::Created
                && challenge.is_real_time()
                && now.since(challenge.seen_at) >= UNSEEN
            {
                challenge.change(ChallengeStatus::Offline, now);
            }
        }
        self.challenges
            .retain(|_, challenge| match challenge.status {
                ChallengeStatus::Created => now.since(challenge.created_at) < WAITING_KEPT,
                _ => now.since(challenge.changed_at) < DONE_KEPT,
            });
        self.open_challenges
            .retain(|id| self.challenges.contains_key(id));
    }
}

fn time_control_json(time_control: TimeControl) -> TimeControlJson {
    match time_control {
        TimeControl::Clock { limit, increment } => TimeControlJson::Clock {
            limit,
            increment,
            show: time_control.show().unwrap_or_default(),
        },
        TimeControl::Days(days_per_turn) => TimeControlJson::Correspondence { days_per_turn },
        TimeControl::Unlimited => TimeControlJson::Unlimited,
    }
}
