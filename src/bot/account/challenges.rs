//! Answering incoming challenges.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tracing::{debug, info};

use super::outbox::Outbox;
use super::queue::{ChallengeQueue, IncomingChallenge};
use super::{Account, push_bounded};
use crate::bot::account::quota::Limit;
use crate::bot::account::slots::SlotHolder;
use crate::bot::account::state_files::StateFile;
use crate::bot::policy::{
    self, Assessment, ChallengeAnswer, ChallengeContext, LimitUsage, Load, MatchInput, profile_text,
};
use crate::bot::retries::{with_retries, with_retries_within};
use crate::clock;
use crate::events::{self, Decision};
use crate::lichess::model::{
    Challenge, ChallengeId, Compat, DeclineReason, GameInfo, User, Username,
};
use crate::lichess::retry::RequestKind;
use crate::lichess::{Error as Failure, ErrorResponse};
use crate::seconds::DAY;

/// Accept requests in flight at once. Declines do not delay them.
const MAX_CONCURRENT_ACCEPTS: usize = 4;

/// Time for which an accept is tried. Shorter than its slot is reserved.
const ACCEPT_RETRY_TIME: Duration = Duration::from_secs(10);

/// Decline requests in flight at once.
const MAX_CONCURRENT_DECLINES: usize = 4;

/// Profile requests in flight at once: Lichess asks for one request at a time.
const MAX_CONCURRENT_PROFILE_REQUESTS: usize = 1;

/// Time for which a profile is used before it is requested again.
const PROFILE_MAX_AGE: Duration = Duration::from_secs(DAY);

/// While a challenge waits and a slot is free, the list of open challenges is read this often.
const QUEUE_CHECK_INTERVAL: Duration = Duration::from_secs(3);

/// Incoming challenges, and the requests that they cause.
#[derive(Default)]
pub(super) struct IncomingChallenges {
    seen: VecDeque<ChallengeId>,
    /// Challenges that wait for a slot or for the end of a pause, and when the list of open challenges was last requested for them.
    queue: ChallengeQueue,
    queue_checked_at: Option<Instant>,
    accepts: Outbox<IncomingChallenge, MAX_CONCURRENT_ACCEPTS>,
    declines: Outbox<(ChallengeId, DeclineReason), MAX_CONCURRENT_DECLINES>,
    profiles: Outbox<IncomingChallenge, MAX_CONCURRENT_PROFILE_REQUESTS>,
    /// Profiles of challengers, where rules have asked for them.
    known_profiles: VecDeque<KnownProfile>,
}

/// The part of a profile that rules ask for.
struct KnownProfile {
    user: Username,
    requested_at: Instant,
    created: Option<SystemTime>,
    text: String,
}

impl KnownProfile {
    fn apply_to(&self, input: &mut MatchInput) {
        input.facts.age_days = self.created.map(days_since);
        input.facts.profile = Some(self.text.clone());
    }
}

impl IncomingChallenges {
    /// Returns whether a challenge waits for a slot.
    pub(super) fn is_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Sets the profile of the challenger if it is known. Whether it is.
    fn add_profile(&mut self, input: &mut MatchInput) -> bool {
        self.known_profiles
            .retain(|known| clock::since(known.requested_at) < PROFILE_MAX_AGE);
        let mut known = self.known_profiles.iter();
        let known = known.find(|known| Some(&known.user) == input.name.as_ref());
        known.map(|known| known.apply_to(input)).is_some()
    }

    /// Our answer has failed. Unless Lichess has refused it for good, the challenge is evaluated again when a list
    /// names it.
    fn on_answer_failed(&mut self, id: &ChallengeId, failure: &Failure) {
        if !failure.is_refusal() {
            self.forget(id);
        }
    }

    /// Evaluates this challenge again when a list names it.
    fn forget(&mut self, id: &ChallengeId) {
        self.seen.retain(|seen| seen != id);
    }

    /// Returns whether somebody has sent us this challenge lately.
    pub(super) fn has_seen(&self, id: &ChallengeId) -> bool {
        self.seen.contains(id)
    }
}

impl Account {
    /// Returns whether a challenge of ours may have started this game: no arena has, and no challenge that we know was
    /// sent to us.
    pub(super) fn may_be_from_us(&self, info: &GameInfo) -> bool {
        info.tournament.is_none()
            && !self.incoming.has_seen(&info.id)
            && self.state.accepted_log.facts(&info.id).is_none()
    }

    /// Answers a challenge. Each incoming challenge is answered once.
    pub(super) fn on_challenge(&mut self, challenge: Box<Challenge>, compat: Option<Compat>) {
        self.on_listed_challenge(IncomingChallenge::new(challenge, compat, clock::now()));
    }

    fn on_listed_challenge(&mut self, mut incoming: IncomingChallenge) {
        let challenge = &incoming.challenge;
        let from = incoming.input.name.clone();
        let to = challenge.to();
        let me = &self.ctx.me;
        if from.as_ref() == Some(me) || to.is_some_and(|to| to != me) {
            return self.on_own_challenge(challenge);
        }
        if self.incoming.seen.contains(&challenge.id) || self.games.is_known(&challenge.id) {
            return;
        }
        // It is still open, so an accept of it has failed, and must not count against it.
        self.release_challenge(&challenge.id);
        if let Some(from) = &from {
            self.on_opponent_challenge(from);
        }
        if !incoming.listed
            && challenge.rematch_of.is_none()
            && let Some(from) = &from
        {
            self.drop_replaced(from);
        }
        push_bounded(&mut self.incoming.seen, incoming.challenge.id.clone());
        incoming.input.facts.listed = from.as_ref().and_then(|from| self.listed(from));
        let needed = from.is_some() && policy::needs_profile(&self.ctx.settings);
        if !needed || self.incoming.add_profile(&mut incoming.input) {
            return self.answer_challenge(incoming, false);
        }
        // A challenge behind a full outbox is evaluated without the profile.
        if let Some(oldest) = self.incoming.profiles.push(incoming) {
            self.answer_challenge(oldest, false);
        }
        self.request_profiles();
    }

    /// Requests profiles, as far as the outbox permits.
    fn request_profiles(&mut self) {
        while let Some((mut incoming, permit)) = self.incoming.profiles.next() {
            let known = self.incoming.add_profile(&mut incoming.input);
            let Some(name) = incoming.input.name.clone().filter(|_| !known) else {
                drop(permit);
                self.answer_challenge(incoming, false);
                continue;
            };
            let client = self.ctx.client.clone();
            let request = async move {
                let _permit = permit;
                client.user(&name).await
            };
            self.background.spawn(request, |account, user| {
                account.on_profile(incoming, user);
            });
        }
    }

    /// Sends queued answers and profile requests, as far as the outboxes permit.
    pub(super) fn send_outboxes(&mut self) {
        self.send_answers();
        self.request_profiles();
    }

    fn send_answers(&mut self) {
        while let Some((incoming, permit)) = self.incoming.accepts.next() {
            let id = incoming.challenge.id.clone();
            if !self.games.slots.renew(&id, clock::now()) {
                drop(permit);
                self.release_challenge(&incoming.challenge.id);
                self.answer_challenge(incoming, false);
                continue;
            }
            let client = self.ctx.client.clone();
            let request = async move {
                let _permit = permit;
                // A repetition is refused if the attempt before it has worked.
                let may_have_worked = AtomicBool::new(false);
                let send = async || {
                    client.accept(&id).await.inspect_err(|failure| {
                        may_have_worked.fetch_or(failure.may_have_worked(), Ordering::Relaxed);
                    })
                };
                let answer =
                    with_retries_within(ACCEPT_RETRY_TIME, RequestKind::Answer, send).await;
                (answer, incoming, may_have_worked.into_inner())
            };
            self.background
                .spawn(
                    request,
                    |account, (answer, incoming, may_have_worked)| match answer {
                        Ok(()) => debug!(challenge = %incoming.challenge.id, "accepted"),
                        Err(failure) => {
                            account.on_accept_failed(incoming, failure, may_have_worked);
                        }
                    },
                );
        }
        while let Some(((id, reason), permit)) = self.incoming.declines.next() {
            let client = self.ctx.client.clone();
            let request = async move {
                let _permit = permit;
                let answer = with_retries(RequestKind::Answer, || client.decline(&id, reason));
                (answer.await, id)
            };
            self.background.spawn(request, |account, (answer, id)| {
                if let Err(failure) = answer {
                    info!(challenge = %id, "cannot decline: {failure}");
                    account.incoming.on_answer_failed(&id, &failure);
                }
            });
        }
    }

    /// Handles the profile of a challenger, or the failure to read it.
    fn on_profile(&mut self, mut incoming: IncomingChallenge, user: Result<User, Failure>) {
        match user {
            Ok(user) => {
                let known = KnownProfile {
                    created: user.created(),
                    text: profile_text(&user),
                    requested_at: clock::now(),
                    user: user.username,
                };
                known.apply_to(&mut incoming.input);
                push_bounded(&mut self.incoming.known_profiles, known);
            }
            Err(failure) => {
                let id = &incoming.challenge.id;
                info!(challenge = %id, "cannot read the profile; answering without it: {failure}");
            }
        }
        self.answer_challenge(incoming, false);
    }

    /// Accepts, declines or queues a challenge. Queueing is reported once.
    fn answer_challenge(&mut self, incoming: IncomingChallenge, is_queued: bool) {
        let assessment = self.evaluate(&incoming);
        let challenge = &incoming.challenge;
        match assessment.answer {
            ChallengeAnswer::Accept => self.accept(incoming, &assessment),
            ChallengeAnswer::Decline(reason) => self.decline(challenge, reason, assessment.reason),
            ChallengeAnswer::Wait => {
                if !is_queued {
                    // A list says whether this rematch is a challenge whose sender may leave without an event.
                    if challenge.rematch_of.is_some() {
                        self.request_challenges();
                    }
                    info!(name: "challenge_queued", challenge = %challenge.id, "{} is queued: {}", describe(challenge), assessment.reason);
                    self.publish_challenge(challenge, Decision::Queued, assessment.reason);
                }
                let rank = policy::rank(&self.ctx.settings, &incoming.input);
                self.incoming.queue.push(incoming, rank);
                let size = self.ctx.settings.challenge.queue_size;
                if let Some(last) = self.incoming.queue.take_excess(size) {
                    let why = "the queue is full of challenges that come before it".to_owned();
                    self.decline(&last.challenge, DeclineReason::Later, why);
                }
            }
        }
    }

    fn evaluate(&mut self, incoming: &IncomingChallenge) -> Assessment {
        let now = clock::now();
        let (challenge, from) = (&incoming.challenge, incoming.input.name.as_ref());
        // Games without a clock need no slot. For the others: a queued challenge that could use the free slot is not
        // overtaken.
        let rank = policy::rank(&self.ctx.settings, &incoming.input);
        let mut ahead = self.incoming.queue.ahead_of(rank);
        let overtakes = ahead.any(|other| !self.games.slots.is_full(other.is_human(), now));
        let clocked = challenge.time_control.is_clock();
        let full = clocked && (overtakes || self.games.slots.is_full(incoming.is_human(), now));
        let settings = &self.ctx.settings;
        let load = Load {
            draining: self.ctx.is_stopping(),
            paused: self.operator.overrides.paused,
            full,
            limited: self.is_answering_paused(),
            queue_full: self.incoming.queue.ahead_of(rank).count() >= settings.challenge.queue_size,
            games_vs_opponent: self.games.slots.games_against(from, clocked, now),
            rematch_number: self.games.rematches.next_number(challenge),
            no_bots_until: self.state.quota.full_until(Limit::BotGames, clock::date()),
        };
        let case = ChallengeContext {
            challenge,
            compat: incoming.compat,
            input: &incoming.input,
        };
        let (log, date) = (&self.state.accepted_log, clock::date());
        let usage = LimitUsage {
            accepted: &|limit, user, window| log.usage(limit, user, window, date),
            running: &|limit| Some(self.games.slots.games_under(limit, now)),
        };
        policy::evaluate(case, settings, &usage, load)
    }

    fn accept(&mut self, incoming: IncomingChallenge, assessment: &Assessment) {
        let IncomingChallenge {
            challenge, input, ..
        } = &incoming;
        info!(name: "challenge_accepted", challenge = %challenge.id, "accepting {}: {}", describe(challenge), assessment.reason);
        // Only rules ask for these facts.
        let facts = (!self.ctx.settings.rule.is_empty()).then(|| input.facts.clone());
        let holder = SlotHolder {
            name: input.name.clone(),
            human: !input.bot,
            clocked: challenge.time_control.is_clock(),
            limit: assessment.limit.clone(),
        };
        if assessment.limit.is_some() || facts.is_some() {
            let limit = assessment.limit.as_deref().unwrap_or_default();
            let (id, user) = (&challenge.id, holder.name.as_ref());
            let now = clock::date();
            self.state.accepted_log.add(id, user, limit, facts, now);
            self.save(StateFile::Accepted);
        }
        let number = self.games.rematches.number_after(challenge, clock::now());
        self.games.rematches.record(challenge.id.clone(), number);
        self.games
            .slots
            .reserve(challenge.id.clone(), holder, clock::now());
        self.publish_challenge(challenge, Decision::Accepted, assessment.reason.clone());
        let oldest = self.incoming.accepts.push(incoming);
        if let Some(IncomingChallenge {
            challenge: oldest, ..
        }) = oldest
        {
            info!(challenge = %oldest.id, "not accepting the challenge: too many are being accepted");
            self.release_challenge(&oldest.id);
            self.incoming.forget(&oldest.id);
            self.publish_challenge(&oldest, Decision::Dropped, "too many at once".to_owned());
        }
        self.send_answers();
    }

    /// Handles a failed accept request. `may_have_worked`: an attempt may have been accepted all the same.
    fn on_accept_failed(
        &mut self,
        incoming: IncomingChallenge,
        failure: Failure,
        may_have_worked: bool,
    ) {
        let challenge = &incoming.challenge;
        info!(challenge = %challenge.id, "cannot accept: {failure}");
        let is_paused = failure.is_limited();
        let response = failure.error_response();
        let is_bot_day_limit = response.is_some_and(ErrorResponse::is_bot_day_limit);
        if (is_paused || is_bot_day_limit) && !may_have_worked {
            self.release_challenge(&challenge.id);
            self.note_bot_game_limit(&failure);
            // When the pause is over, its slot may be taken.
            if !is_bot_day_limit && self.is_answering_paused() {
                return self.answer_challenge(incoming, false);
            }
            // Decline, so that nobody waits for a game that cannot start.
            return self.decline(challenge, DeclineReason::Later, failure.to_string());
        }
        // If it has worked, the game takes its slot. Otherwise the challenge is evaluated again when a list names it.
        if !may_have_worked && !self.games.is_known(&challenge.id) {
            self.release_challenge(&challenge.id);
        }
        self.incoming.on_answer_failed(&challenge.id, &failure);
        self.publish_challenge(challenge, Decision::Dropped, failure.to_string());
    }

    /// Returns whether Lichess or a proxy in front of it has paused answers to challenges.
    fn is_answering_paused(&self) -> bool {
        let left = self.ctx.client.remaining_pause(RequestKind::Answer);
        left.is_some()
    }

    /// Releases the slot and the log entry of a challenge that does not become a game.
    fn release_challenge(&mut self, id: &ChallengeId) {
        self.games.slots.release(id);
        if self.state.accepted_log.remove(id) {
            self.save(StateFile::Accepted);
        }
    }

    /// Releases accepted challenges that have become no game in time, after a list of games that was requested then and
    /// has been compared with ours.
    pub(super) fn release_expired(&mut self, requested_at: Instant) {
        for id in self.games.slots.take_expired(requested_at) {
            if !self.games.is_known(&id) {
                self.release_challenge(&id);
            }
        }
    }

    fn decline(&mut self, challenge: &Challenge, reason: DeclineReason, why: String) {
        info!(name: "challenge_declined", challenge = %challenge.id, "declining {} ({reason}): {why}", describe(challenge));
        self.publish_challenge(challenge, Decision::Declined, why);
        let declined = (challenge.id.clone(), reason);
        if let Some((oldest, _)) = self.incoming.declines.push(declined) {
            debug!(challenge = %oldest, "not declining the challenge: too many are being declined");
            self.incoming.forget(&oldest);
        }
        self.send_answers();
    }

    /// Handles a challenge that was withdrawn by the challenger or dropped by Lichess.
    pub(super) fn on_withdrawn(&mut self, id: &ChallengeId) {
        self.incoming
            .declines
            .remove_first(|(other, _)| other == id);
        self.incoming
            .profiles
            .remove_first(|incoming| incoming.challenge.id == *id);
        let accepts = &mut self.incoming.accepts;
        if let Some(incoming) = accepts.remove_first(|other| other.challenge.id == *id) {
            self.release_challenge(&incoming.challenge.id);
            self.report_withdrawn(&incoming.challenge);
        }
        if let Some(incoming) = self.incoming.queue.remove(id) {
            self.report_withdrawn(&incoming.challenge);
        }
        if !self.games.is_known(id) {
            self.release_challenge(id);
        }
    }

    fn report_withdrawn(&self, challenge: &Challenge) {
        self.report_gone(challenge, "it was canceled, or the challenger went offline");
    }

    fn report_gone(&self, challenge: &Challenge, why: &str) {
        info!(challenge = %challenge.id, "{} is no longer there: {why}", describe(challenge));
        self.publish_challenge(challenge, Decision::Dropped, why.to_owned());
    }

    /// Drops the unanswered challenge of a user who has sent another one: Lichess has canceled it without an event. If it
    /// has not, because the user was offline, a list names it again.
    fn drop_replaced(&mut self, user: &Username) {
        let is_theirs = |incoming: &IncomingChallenge| incoming.is_replaceable_by(user);
        let mut gone = self.incoming.queue.take_replaced_by(user);
        gone.extend(self.incoming.profiles.remove_first(is_theirs));
        gone.extend(self.incoming.accepts.remove_first(is_theirs));
        for IncomingChallenge { challenge, .. } in gone {
            self.release_challenge(&challenge.id);
            self.incoming.forget(&challenge.id);
            self.report_gone(&challenge, "the challenger has sent another one");
        }
    }

    /// Evaluates the waiting challenges again.
    pub(super) fn reassess_queue(&mut self) {
        for incoming in self.incoming.queue.clear() {
            self.answer_challenge(incoming, true);
        }
    }

    /// Serves the queue, unless answers are paused. Before a queued challenge gets a slot, the list of open challenges is read: Lichess does not
    /// report that a challenger has left.
    pub(super) fn serve_queue(&mut self) {
        let waiting = &self.ctx.queued_challenges;
        waiting.store(self.incoming.queue.len(), Ordering::Relaxed);
        if self.incoming.queue.is_empty() {
            return;
        }
        let now = clock::now();
        if !self.accepts_games() {
            return self.reassess_queue();
        }
        let timeout = self.ctx.settings.challenge.queue_timeout();
        for incoming in self.incoming.queue.take_expired(timeout, now) {
            let why = format!("no place within {} s", timeout.as_secs());
            self.decline(&incoming.challenge, DeclineReason::Later, why);
        }
        let checked_at = self.incoming.queue_checked_at;
        let is_recent = checked_at.is_some_and(|at| now < at + QUEUE_CHECK_INTERVAL);
        if is_recent
            || self.connection.is_offline()
            || self.is_answering_paused()
            || !self.has_free_slot(now)
        {
            return;
        }
        self.incoming.queue_checked_at = Some(now);
        self.request_challenges();
    }

    fn has_free_slot(&mut self, now: Instant) -> bool {
        let mut waiting = self.incoming.queue.iter();
        waiting.any(|incoming| {
            !incoming.challenge.time_control.is_clock()
                || !self.games.slots.is_full(incoming.is_human(), now)
        })
    }

    /// Handles the list of challenges that wait for our answer.
    pub(super) fn on_challenges_listed(&mut self, list: Vec<Challenge>, requested_at: Instant) {
        for gone in self.incoming.queue.take_unlisted(&list, requested_at) {
            self.report_withdrawn(&gone.challenge);
            // It is listed again if the challenger was only offline for a while.
            self.incoming.forget(&gone.challenge.id);
        }
        // Queued challenges first, in their order, then new ones.
        self.reassess_queue();
        let now = clock::now();
        let list = list.into_iter().map(Box::new);
        let mut list: Vec<_> = list
            .map(|challenge| IncomingChallenge {
                listed: true,
                ..IncomingChallenge::new(challenge, None, now)
            })
            .collect();
        list.sort_by_key(|incoming| policy::rank(&self.ctx.settings, &incoming.input));
        for incoming in list {
            self.on_listed_challenge(incoming);
        }
    }

    pub(super) fn publish_challenge(
        &self,
        challenge: &Challenge,
        decision: Decision,
        reason: String,
    ) {
        let from = challenge.challenger.as_ref();
        self.ctx
            .events
            .send(events::Event::Challenge(events::Challenge {
                id: challenge.id.to_string(),
                from: events::Player {
                    name: challenger_name(challenge).into(),
                    title: from.and_then(|from| from.title.clone()),
                    rating: from
                        .and_then(|from| from.rating)
                        .and_then(|rating| rating.try_into().ok()),
                    provisional: from.is_some_and(|from| from.provisional),
                },
                to: challenge.to().map(ToString::to_string),
                time_control: challenge.time_control,
                variant: challenge.variant.key().into(),
                rated: challenge.rated,
                decision,
                reason,
            }));
    }
}

/// Whole days since then.
fn days_since(moment: SystemTime) -> u32 {
    let since = SystemTime::now().duration_since(moment);
    (since.unwrap_or_default().as_secs() / DAY)
        .try_into()
        .unwrap_or(u32::MAX)
}

fn challenger_name(challenge: &Challenge) -> &str {
    let from = challenge.challenger.as_ref();
    from.map_or("Anonymous", |from| from.name.as_str())
}

fn describe(challenge: &Challenge) -> String {
    let rated = if challenge.rated { "rated" } else { "casual" };
    let (name, time, variant) = (
        challenger_name(challenge),
        challenge.time_control,
        challenge.variant,
    );
    format!("{name}'s challenge to {time} {rated} {variant}")
}
