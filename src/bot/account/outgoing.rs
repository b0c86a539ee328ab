//! Challenges sent by us: counting, reporting and lost responses.
//!
//! A response may be lost although the challenge was created. The event stream echoes such a challenge, before or
//! after the loss is noticed; it is then tracked as if the response had arrived.

use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::{Account, CANCEL_TIMEOUT};
use crate::bot::account::background::Background;
use crate::bot::account::quota::Limit;
use crate::bot::account::slots::SlotHolder;
use crate::bot::account::state_files::StateFile;
use crate::bot::commands::{OutgoingChallenge, SHUTTING_DOWN};
use crate::bot::matchmaking::{CHALLENGE_ECHO_TIMEOUT, ChallengeFailure, Refusal};
use crate::bot::retries::with_retries;
use crate::clock;
use crate::events::{self, Decision};
use crate::lichess::model::{
    Challenge, ChallengeId, ChallengeStatus, ChallengeUser, NewChallenge, Username,
};
use crate::lichess::retry::RequestKind;
use crate::lichess::{Client, Error as Failure, ErrorResponse};
use crate::seconds::HOUR;

/// Reason reported when a challenge became a game before it could be canceled.
const ALREADY_ACCEPTED: &str = "it was accepted before it could be canceled";

/// Reason reported when a challenge is canceled because its time is over.
pub(super) const NOT_ANSWERED: &str = "it was not answered";

/// Time for which Lichess keeps a challenge with a clock whose sender is offline; after it nothing is left to cancel.
const CHALLENGE_LIFETIME: Duration = Duration::from_secs(3 * HOUR);

/// Challenges kept for another attempt to cancel them at most.
const MAX_UNCANCELED: usize = 100;

/// Origin of a challenge. Matchmaking tracks its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeSource {
    Operator,
    Rematch,
    Match,
}

/// Result of sending a challenge.
pub(super) enum SendResult {
    Created(Box<Challenge>),
    /// It was declined or canceled before the response.
    Closed(Box<Challenge>),
    NotCreated(ChallengeFailure, Failure),
}

/// Challenges sent by us.
#[derive(Debug, Default)]
pub(super) struct OutgoingChallenges {
    /// Challenges in flight, or with a lost response.
    sent: Vec<Sent>,
    /// Challenges that are being canceled.
    canceling: usize,
    /// Challenges that could not be canceled: that is tried again.
    uncanceled: Vec<Uncanceled>,
    /// Until when shutdown waits for challenges that may still become games.
    cancel_deadline: Option<Instant>,
    /// Challenges of all accounts of this process that were charged to our quota so far.
    charged: u64,
}

/// Challenge that is canceled, or could not be.
#[derive(Debug)]
pub(super) struct Uncanceled {
    challenge: Box<Challenge>,
    why: &'static str,
    /// Until when a failure is followed by another attempt.
    until: Instant,
}

impl Uncanceled {
    pub(super) fn new(challenge: Box<Challenge>, why: &'static str) -> Self {
        Self {
            challenge,
            why,
            until: clock::now() + CHALLENGE_LIFETIME,
        }
    }
}

#[derive(Debug)]
struct Sent {
    to: Username,
    source: ChallengeSource,
    /// Echo on the event stream, before the response.
    echo: Option<Box<Challenge>>,
    /// The challenge was declined or canceled before the response.
    closed: Option<Box<Challenge>>,
    /// The response was lost: until when an echo may come.
    lost_until: Option<Instant>,
}

impl OutgoingChallenges {
    /// `charged`: challenges of all accounts that were charged to our quota before.
    pub(super) fn new(charged: u64) -> Self {
        Self {
            charged,
            ..Self::default()
        }
    }

    /// Challenges of all accounts that were charged to our quota so far.
    pub(super) fn charged(&self) -> u64 {
        self.charged
    }

    /// Adds a challenge that is being sent.
    pub(super) fn add(&mut self, to: Username, source: ChallengeSource) {
        self.sent.push(Sent {
            to,
            source,
            echo: None,
            closed: None,
            lost_until: None,
        });
    }

    /// Keeps a challenge that could not be canceled for another attempt, unless Lichess has refused it for good.
    pub(super) fn keep_uncanceled(&mut self, uncanceled: Uncanceled, failure: &Failure) {
        let id = &uncanceled.challenge.id;
        if failure.is_refusal()
            || uncanceled.until < clock::now()
            || self.uncanceled.len() == MAX_UNCANCELED
        {
            info!(challenge = %id, "cannot cancel it: {failure}");
        } else {
            info!(challenge = %id, "cannot cancel it, trying again within a minute: {failure}");
            self.uncanceled.push(uncanceled);
        }
    }

    /// Challenges without a response.
    pub(super) fn in_flight(&self) -> usize {
        self.sent
            .iter()
            .filter(|sent| sent.lost_until.is_none())
            .count()
    }

    /// The response has arrived. Returns the challenge if it was closed before.
    pub(super) fn on_response(
        &mut self,
        to: &Username,
        source: ChallengeSource,
    ) -> Option<Box<Challenge>> {
        self.take(|sent| sent.matches(to, source))?.closed
    }

    /// A challenge was declined or canceled, perhaps one that was echoed.
    pub(super) fn on_closed(&mut self, challenge: Box<Challenge>) {
        let matches = |sent: &&mut Sent| {
            let echo = sent.echo.as_ref();
            echo.is_some_and(|echo| echo.id == challenge.id)
        };
        if let Some(sent) = self.sent.iter_mut().find(matches) {
            sent.echo = None;
            sent.closed = Some(challenge);
        }
    }

    /// The response is lost. Returns the echo, if there was one.
    pub(super) fn on_response_lost(
        &mut self,
        to: &Username,
        source: ChallengeSource,
        now: Instant,
    ) -> Option<Box<Challenge>> {
        let mut sent = self.take(|sent| sent.matches(to, source))?;
        if sent.echo.is_none() && sent.closed.is_none() {
            sent.lost_until = Some(now + CHALLENGE_ECHO_TIMEOUT);
            self.sent.push(sent);
            return None;
        }
        sent.echo
    }

    /// A challenge was created. Returns its origin if its response was lost.
    fn take_lost(&mut self, challenge: &Challenge, now: Instant) -> Option<ChallengeSource> {
        self.sent
            .retain(|sent| sent.lost_until.is_none_or(|until| now < until));
        let to = challenge.to()?;
        let lost = self.take(|sent| sent.to == *to && sent.lost_until.is_some())?;
        Some(lost.source)
    }

    /// Handles an echo that may have come before the response.
    fn on_echo(&mut self, challenge: &Challenge) {
        let to = challenge.to();
        let mut waiting = self.sent.iter_mut();
        if let Some(sent) = waiting.find(|sent| Some(&sent.to) == to) {
            sent.echo = Some(Box::new(challenge.clone()));
        }
    }

    /// Challenges echoed before their responses.
    pub(super) fn echoes(&self) -> impl Iterator<Item = &Challenge> {
        self.sent.iter().filter_map(|sent| sent.echo.as_deref())
    }

    fn take(&mut self, matches: impl Fn(&Sent) -> bool) -> Option<Sent> {
        let at = self.sent.iter().position(matches)?;
        Some(self.sent.remove(at))
    }
}

impl Sent {
    fn matches(&self, to: &Username, source: ChallengeSource) -> bool {
        self.to == *to && self.source == source && self.lost_until.is_none()
    }
}

impl Account {
    /// Handles an echo of a challenge of ours.
    pub(super) fn on_own_challenge(&mut self, challenge: &Challenge) {
        self.matchmaking.on_echo(challenge);
        if !self.track_if_lost(challenge) {
            self.outgoing.on_echo(challenge);
        }
    }

    /// Handles the list of our open challenges: the echo of one whose response was lost may be lost as well.
    pub(super) fn find_lost_challenges(&mut self, open: &[Challenge]) {
        for challenge in open {
            let is_known = self
                .unanswered_challenges()
                .any(|known| known.id == challenge.id);
            if !is_known {
                self.track_if_lost(challenge);
            }
        }
    }

    /// Tracks a challenge of ours if it may be one whose response was lost. Whether it may.
    fn track_if_lost(&mut self, challenge: &Challenge) -> bool {
        let source = match self.matchmaking.on_lost_found(challenge) {
            true => None,
            false => match self.outgoing.take_lost(challenge, clock::now()) {
                Some(source) => Some(source),
                None => return false,
            },
        };
        info!(challenge = %challenge.id, "challenge was created although its response was lost");
        match source {
            None => {}
            Some(ChallengeSource::Operator) => {
                drop(self.track_challenge(Box::new(challenge.clone())));
            }
            Some(ChallengeSource::Rematch) => self.track_rematch(Box::new(challenge.clone())),
            Some(ChallengeSource::Match) => self.track_match_challenge(Box::new(challenge.clone())),
        }
        true
    }

    /// Sends a challenge of the operator, of a rematch or of a match. `bot`: whether it is for a bot, if known. During
    /// shutdown one with a clock is canceled, and `then` dropped.
    pub(super) fn send_challenge(
        &mut self,
        source: ChallengeSource,
        challenge: OutgoingChallenge,
        bot: Option<bool>,
        then: impl FnOnce(&mut Self, OutgoingChallenge, SendResult) + Send + 'static,
    ) {
        self.outgoing.add(challenge.user.clone(), source);
        let client = self.ctx.client.clone();
        let request = async move {
            let answer = client.challenge(&challenge.user, &challenge.params).await;
            (challenge, answer.map(Box::new))
        };
        self.background.spawn_challenge(
            request,
            |(_, answer)| {
                let created = answer.ok().filter(|it| it.time_control.is_clock());
                created.map(|challenge| challenge.id)
            },
            move |account, (challenge, answer)| {
                let result = account.on_sent(source, &challenge, bot, answer);
                then(account, challenge, result);
            },
        );
    }

    /// Counts a challenge that was created, and finds out about one that may have been created all the same.
    fn on_sent(
        &mut self,
        source: ChallengeSource,
        OutgoingChallenge { user: to, params }: &OutgoingChallenge,
        bot: Option<bool>,
        answer: Result<Box<Challenge>, Failure>,
    ) -> SendResult {
        let failure = match answer {
            Ok(challenge) => {
                let closed = self.outgoing.on_response(to, source);
                self.count_challenge(bot.unwrap_or_else(|| is_for_bot(&challenge)));
                return closed.map_or(SendResult::Created(challenge), SendResult::Closed);
            }
            Err(failure) => failure,
        };
        let why = self.classify_failure(bot, &failure);
        let shown = match why {
            ChallengeFailure::Lost => self.outgoing.on_response_lost(to, source, clock::now()),
            _ => {
                self.outgoing.on_response(to, source);
                None
            }
        };
        match shown {
            Some(challenge) => SendResult::Created(challenge),
            None => {
                self.publish_failed_challenge(to, params, why, &failure);
                SendResult::NotCreated(why, failure)
            }
        }
    }

    /// Counts a challenge that was created.
    pub(super) fn count_challenge(&mut self, bot: bool) {
        self.ctx.shared_load.record_challenge();
        self.outgoing.charged += 1;
        self.update_quota(|quota, date| quota.charge_challenge(bot, date));
    }

    /// Charges challenges of other accounts of this process to the limit of our address.
    pub(super) fn charge_shared_challenges(&mut self) {
        let all = self.ctx.shared_load.challenges_created();
        let theirs = all - std::mem::replace(&mut self.outgoing.charged, all);
        if theirs > 0 {
            let cost = theirs.try_into().unwrap_or(u32::MAX);
            self.update_quota(|quota, date| quota.charge(Limit::ChallengesAddress, cost, date));
        }
    }

    /// Classifies a failed challenge, and counts it if Lichess has. A user who may be a person counts as one.
    pub(super) fn classify_failure(
        &mut self,
        bot: Option<bool>,
        failure: &Failure,
    ) -> ChallengeFailure {
        self.note_rate_limit(failure);
        let refusal = failure.error_response();
        let day_limit = refusal.is_some_and(ErrorResponse::is_bot_day_limit);
        // A proxy's response says nothing about the user.
        let why = match failure.lichess_code() {
            _ if failure.is_rate_limited() => ChallengeFailure::Limited,
            Some(400) if day_limit => {
                let named = refusal.and_then(ErrorResponse::requested_wait);
                let wait = named.unwrap_or(Duration::from_secs(HOUR));
                ChallengeFailure::Refused(Refusal::Limited(wait))
            }
            Some(400 | 404) => ChallengeFailure::Refused(Refusal::Denied),
            Some(401) => {
                self.check_token();
                ChallengeFailure::Failed
            }
            _ if failure.may_have_worked() => ChallengeFailure::Lost,
            _ => ChallengeFailure::Failed,
        };
        // Lichess checks the daily games after counting the challenge.
        if day_limit || matches!(why, ChallengeFailure::Refused(_) | ChallengeFailure::Lost) {
            self.count_challenge(day_limit || bot == Some(true));
        }
        why
    }

    /// Handles a 429.
    fn note_rate_limit(&mut self, failure: &Failure) {
        let Some(refusal) = rate_limit(failure) else {
            return;
        };
        // A proxy's 429 pauses all requests and is not counted as a refused challenge.
        if !refusal.by_lichess {
            return self.save_pauses();
        }
        if !self.note_bot_game_limit(failure) {
            let wait = refusal.requested_wait();
            self.update_quota(|quota, date| quota.on_challenge_refused(wait, date));
        }
    }

    /// Handles the limit of daily games against bots, reported on any request. Whether it was that.
    pub(super) fn note_bot_game_limit(&mut self, failure: &Failure) -> bool {
        let Some(refusal) = rate_limit(failure).filter(|it| it.is_bot_day_limit()) else {
            return false;
        };
        let wait = refusal.requested_wait().unwrap_or(Limit::BotGames.window());
        let date = clock::date();
        let learned = self.state.quota.mark_exhausted(Limit::BotGames, wait, date);
        self.save(StateFile::Quota);
        if let Some(games) = learned {
            warn!(
                "Lichess refuses further games against bots after {games} in 24 hours; this is the limit for a week, \
                 then a little more is tried each day"
            );
        }
        true
    }

    /// Publishes a challenge that was refused or may be lost. It has no id.
    pub(super) fn publish_failed_challenge(
        &self,
        to: &Username,
        what: &NewChallenge,
        why: ChallengeFailure,
        failure: &Failure,
    ) {
        if why != ChallengeFailure::Lost && failure.code().is_none() {
            return;
        }
        self.ctx
            .events
            .send(events::Event::Challenge(events::Challenge {
                id: String::new(),
                from: events::Player {
                    name: self.ctx.me.to_string(),
                    title: Some("BOT".to_owned()),
                    ..events::Player::default()
                },
                to: Some(to.to_string()),
                time_control: what.time_control,
                variant: what.variant.key().into(),
                rated: what.rated,
                decision: Decision::Dropped,
                reason: failure.to_string(),
            }));
    }

    /// Challenges of ours that wait for an answer and do not outlive the process, and the number of those being sent or
    /// canceled. A challenge without a clock that an operator has sent stays open.
    pub(super) fn pending_challenges(&self) -> (Vec<ChallengeId>, usize) {
        let of_matchmaking = self.matchmaking.pending().map(|it| &it.id);
        let ends = |it: &&Challenge| it.time_control.is_clock() || of_matchmaking == Some(&it.id);
        let unanswered = self.unanswered_challenges().filter(ends);
        let requesting = usize::from(self.matchmaking.is_requesting());
        let in_flight = self.outgoing.in_flight() + requesting + self.outgoing.canceling;
        let uncanceled = self.outgoing.uncanceled.iter();
        let uncanceled = uncanceled.map(|it| it.challenge.id.clone());
        // It may have been accepted meanwhile.
        let uncanceled = uncanceled.filter(|id| !self.games.is_known(id));
        let unanswered = unanswered.map(|it| it.id.clone());
        (unanswered.chain(uncanceled).collect(), in_flight)
    }

    /// Challenges of ours that wait for an answer.
    pub(super) fn unanswered_challenges(&self) -> impl Iterator<Item = &Challenge> {
        let one_each = self.matchmaking.pending().into_iter();
        one_each
            .chain(self.games.rematches.pending())
            .chain(self.operator.pending_challenges())
            .chain(self.state.matches.pending())
            .chain(self.outgoing.echoes())
    }

    /// Cancels open challenges at shutdown. Matchmaking cancels its own with its next action, and challenges in
    /// flight are canceled when their responses arrive.
    pub(super) fn cancel_challenges(&mut self) {
        self.outgoing.cancel_deadline = Some(clock::now() + CANCEL_TIMEOUT);
        let offer = self.games.rematches.take_pending();
        let open: Vec<_> = self.operator.take_clocked().chain(offer).collect();
        for challenge in open {
            self.cancel_challenge(challenge, SHUTTING_DOWN);
        }
    }

    /// Returns whether a challenge of ours may still become a game. Used while draining; true for a limited time only.
    pub(super) fn has_pending_challenges(&self) -> bool {
        let deadline = self.outgoing.cancel_deadline;
        let waits = deadline.is_some_and(|until| clock::now() < until);
        let (unanswered, in_flight) = self.pending_challenges();
        waits && (!unanswered.is_empty() || in_flight > 0)
    }

    /// Cancels a challenge of ours unless it has become a game.
    pub(super) fn cancel_challenge(&mut self, challenge: Box<Challenge>, why: &'static str) {
        self.cancel(Uncanceled::new(challenge, why));
    }

    fn cancel(&mut self, uncanceled: Uncanceled) {
        let id = uncanceled.challenge.id.clone();
        if self.games.is_known(&id) {
            return;
        }
        self.games.slots.release(&id);
        self.outgoing.canceling += 1;
        let client = self.ctx.client.clone();
        let request = async move { cancel_unless_accepted(&client, &id).await };
        self.background.spawn_challenge(
            request,
            |_| None,
            move |account, canceled| {
                let challenge = &uncanceled.challenge;
                account.outgoing.canceling = account.outgoing.canceling.saturating_sub(1);
                match canceled {
                    Ok(true) => {
                        info!(challenge = %challenge.id, "canceled");
                        let why = uncanceled.why.to_owned();
                        account.publish_challenge(challenge, Decision::Dropped, why);
                    }
                    Ok(false) => account.on_late_acceptance(challenge),
                    Err(failure) => account.outgoing.keep_uncanceled(uncanceled, &failure),
                }
            },
        );
    }

    /// Cancels the challenges that could not be canceled before.
    pub(super) fn repeat_cancellations(&mut self) {
        for uncanceled in std::mem::take(&mut self.outgoing.uncanceled) {
            self.cancel(uncanceled);
        }
    }

    /// A challenge of ours was accepted before it could be canceled: its game starts now.
    pub(super) fn on_late_acceptance(&mut self, challenge: &Challenge) {
        let id = &challenge.id;
        info!(challenge = %id, "not canceled: it was accepted, and its game is being played");
        if !self.games.is_known(id) {
            let holder = slot_holder(challenge);
            self.games.slots.reserve(id.clone(), holder, clock::now());
            // The event stream may be closed.
            self.request_games();
        }
        self.publish_challenge(challenge, Decision::Accepted, ALREADY_ACCEPTED.to_owned());
    }
}

/// Cancels a challenge of ours, with retries; `false` if it was accepted just now: canceling would abort the game. While
/// Lichess does not answer whether it was, it is not canceled; without permission to ask it is.
pub(super) async fn cancel_unless_accepted(
    client: &Client,
    id: &ChallengeId,
) -> Result<bool, Failure> {
    let is_accepted = async || match client.challenge_by_id(id).await {
        Ok(shown) => Ok(shown.status == ChallengeStatus::Accepted),
        // Lichess no longer shows it, or not to this token.
        Err(failure) if failure.is_not_found() || failure.is_forbidden() => Ok(false),
        Err(failure) => Err(failure),
    };
    with_retries(RequestKind::Answer, async || {
        if is_accepted().await? {
            return Ok(false);
        }
        match client.cancel(id).await {
            Ok(()) => Ok(true),
            // It may have been accepted in between.
            Err(failure)
                if failure.lichess_error().is_some() && is_accepted().await.unwrap_or(false) =>
            {
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    })
    .await
}

/// Cancels open challenges, and those in flight as soon as they are created: nobody would play the games.
pub(super) async fn cancel_all(
    client: &Client,
    (unanswered, mut in_flight): (Vec<ChallengeId>, usize),
    background: &mut Background,
) {
    let cancel = |id: ChallengeId| async move {
        let _ = client.cancel(&id).await;
    };
    let cancel_in_flight = async {
        while in_flight > 0
            && let Some(created) = background.next_challenge().await
        {
            in_flight -= 1;
            if let Some(id) = created {
                cancel(id).await;
            }
        }
    };
    let cancel_unanswered = futures::future::join_all(unanswered.into_iter().map(cancel));
    tokio::join!(cancel_unanswered, cancel_in_flight);
}

/// Decision and reason to report for a challenge that was closed.
pub(super) fn closing_reason(answer: &Challenge) -> (Decision, String) {
    match (answer.status, answer.refusal()) {
        (ChallengeStatus::Declined, Some(reason)) => {
            let user = answer.to().map_or("nobody", Username::as_str);
            let why = format!("{user} has declined ({reason})");
            (Decision::Declined, why)
        }
        _ => (Decision::Dropped, "it was canceled".to_owned()),
    }
}

/// A 429.
fn rate_limit(failure: &Failure) -> Option<&ErrorResponse> {
    failure.error_response().filter(|it| it.code == 429)
}

/// Occupant of the slot of a challenge of ours.
pub(super) fn slot_holder(challenge: &Challenge) -> SlotHolder {
    SlotHolder {
        name: challenge.to().cloned(),
        human: !is_for_bot(challenge),
        clocked: challenge.time_control.is_clock(),
        limit: None,
    }
}

/// Returns whether a challenge of ours is for a bot.
pub(super) fn is_for_bot(challenge: &Challenge) -> bool {
    let user = challenge.dest_user.as_ref();
    user.is_some_and(ChallengeUser::is_bot)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn challenge(to: &str) -> Challenge {
        let challenge = json!({
            "id": "thisgame", "variant": {"key": "standard"}, "speed": "blitz", "destUser": {"name": to},
            "timeControl": {"type": "clock", "limit": 180, "increment": 2},
        });
        serde_json::from_value(challenge).unwrap()
    }

    #[test]
    fn outgoing_lost_response_is_found_by_echo() {
        let now = Instant::now();
        let ann = Username::new("Ann");
        // Echo before the response is given up.
        let mut outgoing = OutgoingChallenges::default();
        outgoing.add(ann.clone(), ChallengeSource::Operator);
        for name in ["Ben", "Ann"] {
            assert_eq!(outgoing.take_lost(&challenge(name), now), None);
            outgoing.on_echo(&challenge(name));
        }
        assert_eq!(outgoing.echoes().count(), 1);
        let shown = outgoing
            .on_response_lost(&ann, ChallengeSource::Operator, now)
            .unwrap();
        assert_eq!(shown.id.as_str(), "thisgame");
        assert_eq!(outgoing.in_flight(), 0);
        // Echo after that.
        outgoing.add(ann.clone(), ChallengeSource::Rematch);
        assert_eq!(outgoing.in_flight(), 1);
        assert!(
            outgoing
                .on_response_lost(&ann, ChallengeSource::Rematch, now)
                .is_none()
        );
        assert_eq!(outgoing.in_flight(), 0);
        assert_eq!(
            outgoing.take_lost(&challenge("Ann"), now),
            Some(ChallengeSource::Rematch)
        );
        assert_eq!(outgoing.take_lost(&challenge("Ann"), now), None);
    }

    #[test]
    fn outgoing_closed_before_response_is_reported() {
        let ann = Username::new("Ann");
        let mut outgoing = OutgoingChallenges::default();
        outgoing.on_closed(Box::new(challenge("Ann")));
        outgoing.add(ann.clone(), ChallengeSource::Operator);
        // An earlier challenge.
        outgoing.on_closed(Box::new(challenge("Ann")));
        outgoing.on_echo(&challenge("Ann"));
        assert_eq!(outgoing.echoes().count(), 1);
        outgoing.on_closed(Box::new(challenge("Ann")));
        assert_eq!(outgoing.echoes().count(), 0);
        let over = outgoing
            .on_response(&ann, ChallengeSource::Operator)
            .unwrap();
        assert_eq!(over.id.as_str(), "thisgame");
        assert!(
            outgoing
                .on_response(&ann, ChallengeSource::Operator)
                .is_none()
        );
    }

    #[test]
    fn outgoing_without_echo_was_not_created() {
        let now = Instant::now();
        let ann = Username::new("Ann");
        let mut outgoing = OutgoingChallenges::default();
        outgoing.add(ann.clone(), ChallengeSource::Operator);
        assert!(
            outgoing
                .on_response_lost(&ann, ChallengeSource::Operator, now)
                .is_none()
        );
        assert_eq!(
            outgoing.take_lost(&challenge("Ann"), now + CHALLENGE_ECHO_TIMEOUT),
            None
        );
        // Nor one whose response has arrived.
        outgoing.add(ann.clone(), ChallengeSource::Operator);
        outgoing.on_response(&ann, ChallengeSource::Operator);
        assert_eq!(outgoing.take_lost(&challenge("Ann"), now), None);
    }
}
