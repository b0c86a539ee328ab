//! Answers to challenges.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use tracing::{debug, info};

use super::outbox::Outbox;
use super::queue::Asked;
use super::{Account, remember};
use crate::bot::account::background::TaskResult;
use crate::bot::account::quota::Limit;
use crate::bot::account::slots::SlotHolder;
use crate::bot::account::state_files::Book;
use crate::bot::policy::{self, Case, Load, MatchInput, Rank, Ruling, Verdict};
use crate::bot::shutdown::Stage;
use crate::clock;
use crate::events::{self, Decision};
use crate::lichess::Error as Failure;
use crate::lichess::model::{
    Challenge, ChallengeId, ChallengeUser, Compat, DeclineReason, TimeControl, Username,
};
use crate::lichess::retry::{self, RequestKind, Retry};

/// Accepts that are under way at once. No decline delays them.
const ACCEPTS_AT_ONCE: usize = 4;

/// Declines that are under way at once.
const DECLINES_AT_ONCE: usize = 4;

/// Questions after the age of an account that are under way at once: Lichess wants one question at a time.
const AGES_AT_ONCE: usize = 1;

/// What challenges have us send.
#[derive(Debug)]
pub(super) struct Outboxes {
    accepts: Outbox<Box<Challenge>>,
    declines: Outbox<(ChallengeId, DeclineReason)>,
    ages: Outbox<Asked>,
}

impl Default for Outboxes {
    fn default() -> Self {
        Self {
            accepts: Outbox::new(ACCEPTS_AT_ONCE),
            declines: Outbox::new(DECLINES_AT_ONCE),
            ages: Outbox::new(AGES_AT_ONCE),
        }
    }
}

/// While somebody waits and a place is free, Lichess is asked this often who is still there.
const QUEUE_ASKED_EVERY: Duration = Duration::from_secs(3);

impl Account {
    /// Answers a challenge that came to us, once.
    pub(super) fn judge(&mut self, challenge: Box<Challenge>, compat: Option<Compat>) {
        let from = challenge
            .challenger
            .as_ref()
            .map(|challenger| &challenger.name);
        let to = challenge.dest_user.as_ref().map(|user| &user.name);
        let outgoing = from == Some(&self.house.me) || to.is_some_and(|to| *to != self.house.me);
        if outgoing {
            return self.echoed(&challenge);
        }
        if self.judged.contains(&challenge.id) || self.games.contains_key(&challenge.id) {
            return;
        }
        if let Some(from) = from {
            self.asks_himself(from);
        }
        remember(&mut self.judged, challenge.id.clone());
        let name = from
            .filter(|_| policy::asks_age(&self.house.settings))
            .cloned();
        let asked = Asked {
            challenge,
            compat,
            age_days: name.as_ref().and_then(|name| self.age_of(name)),
            since: clock::now(),
        };
        if name.is_none() || asked.age_days.is_some() {
            return self.answer(asked, false);
        }
        // One that has waited behind a thousand others is judged without.
        if let Some(oldest) = self.outboxes.ages.push(asked) {
            self.answer(oldest, false);
        }
        self.ask_ages();
    }

    /// The age of an account, if it is known already.
    fn age_of(&self, name: &Username) -> Option<u32> {
        let mut births = self.births.iter();
        let (_, created) = births.find(|(user, _)| user == name)?;
        Some(days_since(*created))
    }

    /// Asks for the ages of accounts, as far as that may be done now.
    fn ask_ages(&mut self) {
        while let Some((asked, permit)) = self.outboxes.ages.next() {
            let from = asked.challenge.challenger.as_ref();
            let name = from.map(|from| from.name.clone());
            let age_days = name.as_ref().and_then(|name| self.age_of(name));
            let Some(name) = name.filter(|_| age_days.is_none()) else {
                drop(permit);
                self.answer(Asked { age_days, ..asked }, false);
                continue;
            };
            let client = self.house.client.clone();
            self.errands.spawn(async move {
                let _permit = permit;
                let user = client.user(&name).await;
                TaskResult::Born(asked, user.map(|user| user.created()))
            });
        }
    }

    /// Sends what challenges have us send, as far as that may be done now.
    pub(super) fn empty_outboxes(&mut self) {
        self.send_answers();
        self.ask_ages();
    }

    fn send_answers(&mut self) {
        while let Some((challenge, permit)) = self.outboxes.accepts.next() {
            let client = self.house.client.clone();
            self.errands.spawn(async move {
                let _permit = permit;
                let answer = insist(RequestKind::Answer, || client.accept(&challenge.id)).await;
                TaskResult::Accepted(challenge, answer)
            });
        }
        while let Some(((id, reason), permit)) = self.outboxes.declines.next() {
            let client = self.house.client.clone();
            self.errands.spawn(async move {
                let _permit = permit;
                let answer = insist(RequestKind::Answer, || client.decline(&id, reason)).await;
                TaskResult::Declined(id, answer)
            });
        }
    }

    /// It is known since when there has been a challenger's account, or that this cannot be known.
    pub(super) fn aged(&mut self, asked: Asked, born: Result<Option<SystemTime>, Failure>) {
        let born = born.unwrap_or_else(|failure| {
            info!(challenge = %asked.challenge.id, "cannot ask how old the account is: {failure}");
            None
        });
        if let (Some(born), Some(from)) = (born, &asked.challenge.challenger) {
            remember(&mut self.births, (from.name.clone(), born));
        }
        let age_days = born.map(days_since);
        self.answer(Asked { age_days, ..asked }, false);
    }

    /// Answers, or lets wait whoever may; he is told of once.
    pub(super) fn answer(&mut self, asked: Asked, waits_already: bool) {
        let ruling = self.ruling(&asked);
        let challenge = &asked.challenge;
        match ruling.verdict {
            Verdict::Accept => self.accept(asked, &ruling),
            Verdict::Decline(reason) => self.decline(challenge, reason, ruling.why),
            Verdict::Wait => {
                if !waits_already {
                    info!(challenge = %challenge.id, "{} is to wait: {}", describe(challenge), ruling.why);
                    self.tell_challenge(challenge, Decision::Queued, ruling.why);
                }
                let rank = self.rank(&asked);
                self.queue.push(asked, rank);
            }
        }
    }

    fn rank(&self, asked: &Asked) -> Rank {
        let subject = MatchInput::of_challenge(&asked.challenge, asked.age_days);
        policy::rank(&self.house.settings, &subject)
    }

    fn ruling(&mut self, asked: &Asked) -> Ruling {
        let now = clock::now();
        let challenge = &asked.challenge;
        let from = challenge.challenger.as_ref();
        // Games without a clock need no place. Of the others, who waits and may have the free place as well is not overtaken.
        let rank = self.rank(asked);
        let mut ahead = self.queue.ahead_of(rank);
        let overtakes = ahead.any(|other| !self.slots.full(other.is_human(), now));
        let clocked = challenge.time_control.is_clock();
        let full = clocked && (overtakes || self.slots.full(asked.is_human(), now));
        let settings = &self.house.settings;
        let load = Load {
            draining: self.stop.stage() != Stage::Running,
            paused: self.office.orders.paused,
            full,
            crowded: self.queue.len() >= settings.challenge.queue_size,
            against: self
                .slots
                .against(from.map(|from| &from.name), clocked, now),
            rematch: self.rematches.number(challenge),
            no_bots_until: self.quota.full_until(Limit::BotGames, clock::date()),
        };
        let case = Case {
            challenge,
            compat: asked.compat,
            age_days: asked.age_days,
        };
        policy::judge(case, settings, &self.ledger, SystemTime::now(), load)
    }

    fn accept(&mut self, asked: Asked, ruling: &Ruling) {
        let subject = MatchInput::of_challenge(&asked.challenge, asked.age_days);
        let challenge = asked.challenge;
        let from = challenge.challenger.as_ref();
        let guest = SlotHolder {
            name: from.map(|from| from.name.clone()),
            human: !from.is_some_and(ChallengeUser::is_bot),
            clocked: challenge.time_control.is_clock(),
        };
        info!(challenge = %challenge.id, "accepting {}: {}", describe(&challenge), ruling.why);
        // Without rules nobody asks for what is known of it.
        let known = (!self.house.settings.rule.is_empty()).then(|| subject.known());
        if ruling.limit.is_some() || known.is_some() {
            let (id, user) = (&challenge.id, guest.name.as_ref());
            let limit = ruling.limit.as_deref().unwrap_or_default();
            self.ledger.add(id, user, limit, SystemTime::now());
            if let Some(known) = known {
                self.ledger.keep(known);
            }
            self.save(Book::Accepted);
        }
        let number = self.rematches.number(&challenge);
        self.rematches.note(challenge.id.clone(), number);
        self.slots
            .promise(challenge.id.clone(), guest, clock::now());
        self.tell_challenge(&challenge, Decision::Accepted, ruling.why.clone());
        if let Some(oldest) = self.outboxes.accepts.push(challenge) {
            info!(challenge = %oldest.id, "not accepting it: too many wait to be accepted");
            self.forget(&oldest);
            self.tell_challenge(&oldest, Decision::Dropped, "too many at once".to_owned());
        }
        self.send_answers();
    }

    /// Lichess has not taken our yes.
    pub(super) fn not_accepted(&mut self, challenge: &Challenge, failure: Failure) {
        info!(challenge = %challenge.id, "cannot accept: {failure}");
        if failure.is_rate_limited() {
            self.too_many_games(&failure);
            // Nobody is left waiting for what cannot come.
            self.forget(challenge);
            return self.decline(challenge, DeclineReason::Later, failure.to_string());
        }
        // It may have been accepted all the same, and then the game takes its slot. If it has not, it is judged anew
        // when a list names it again.
        if !failure.may_have_worked() && !self.games.contains_key(&challenge.id) {
            self.forget(challenge);
        }
        if failure.lichess_error().is_none() {
            self.judged.retain(|id| *id != challenge.id);
        }
        self.tell_challenge(challenge, Decision::Dropped, failure.to_string());
    }

    /// It does not become a game.
    fn forget(&mut self, challenge: &Challenge) {
        self.slots.free(&challenge.id);
        if self.ledger.remove(&challenge.id) {
            self.save(Book::Accepted);
        }
    }

    fn decline(&mut self, challenge: &Challenge, reason: DeclineReason, why: String) {
        info!(challenge = %challenge.id, "declining {} ({reason}): {why}", describe(challenge));
        self.tell_challenge(challenge, Decision::Declined, why);
        let declined = (challenge.id.clone(), reason);
        if let Some((oldest, _)) = self.outboxes.declines.push(declined) {
            debug!(challenge = %oldest, "not declining it: too many wait to be declined");
        }
        self.send_answers();
    }

    /// Somebody has taken his challenge back, or Lichess has forgotten it.
    pub(super) fn withdrawn(&mut self, id: &ChallengeId) {
        self.outboxes.declines.take(|(other, _)| other == id);
        self.outboxes.ages.take(|asked| asked.challenge.id == *id);
        if let Some(challenge) = self.outboxes.accepts.take(|other| other.id == *id) {
            self.forget(&challenge);
            self.gone(&challenge);
        }
        if let Some(asked) = self.queue.take(id) {
            self.gone(&asked.challenge);
        }
        if !self.games.contains_key(id) {
            self.slots.free(id);
        }
    }

    fn gone(&self, challenge: &Challenge) {
        info!(challenge = %challenge.id, "{} is no longer there", describe(challenge));
        let why = "it was taken back, or its challenger has left".to_owned();
        self.tell_challenge(challenge, Decision::Dropped, why);
    }

    /// Looks after those that wait for a place. Before one gets it, Lichess is asked who is still there: nobody is told
    /// when a challenger leaves.
    pub(super) fn look_after_queue(&mut self) {
        let waiting = &self.house.waiting;
        waiting.store(self.queue.len(), Ordering::Relaxed);
        if self.queue.is_empty() {
            return;
        }
        let now = clock::now();
        if !self.takes_games() {
            for asked in self.queue.clear() {
                self.answer(asked, true);
            }
            return;
        }
        let patience = self.house.settings.challenge.queue_timeout();
        for asked in self.queue.tired(patience, now) {
            let why = format!("no place within {} s", patience.as_secs());
            self.decline(&asked.challenge, DeclineReason::Later, why);
        }
        let lately = self
            .queue_asked
            .is_some_and(|at| now.saturating_duration_since(at) < QUEUE_ASKED_EVERY);
        if lately || self.offline || !self.a_place_is_free(now) {
            return;
        }
        self.queue_asked = Some(now);
        self.ask_challenges();
    }

    fn a_place_is_free(&mut self, now: Instant) -> bool {
        let mut waiting = self.queue.iter();
        waiting.any(|asked| !self.slots.full(asked.is_human(), now))
    }

    /// Lichess has told which challenges wait for our answer.
    pub(super) fn listed(&mut self, list: Vec<Challenge>, asked: Instant) {
        for gone in self.queue.gone(&list, asked) {
            self.gone(&gone.challenge);
        }
        // Those that wait already, in their order, before those that we have not seen yet.
        for waiting in self.queue.clear() {
            self.answer(waiting, true);
        }
        let settings = Arc::clone(&self.house.settings);
        let mut list = list;
        list.sort_by_key(|challenge| {
            policy::rank(&settings, &MatchInput::of_challenge(challenge, None))
        });
        for challenge in list {
            self.judge(Box::new(challenge), None);
        }
    }

    pub(super) fn tell_challenge(&self, challenge: &Challenge, decision: Decision, reason: String) {
        let from = challenge.challenger.as_ref();
        self.house
            .events
            .send(events::Event::Challenge(events::Challenge {
                id: challenge.id.to_string(),
                from: events::Player {
                    name: name(challenge).into(),
                    title: from.and_then(|from| from.title.clone()),
                    rating: from
                        .and_then(|from| from.rating)
                        .and_then(|rating| rating.try_into().ok()),
                    provisional: from.is_some_and(|from| from.provisional),
                },
                to: challenge
                    .dest_user
                    .as_ref()
                    .map(|user| user.name.to_string()),
                time_control: shown_time(challenge.time_control),
                variant: challenge.variant.key().into(),
                rated: challenge.rated,
                decision,
                reason,
            }));
    }
}

/// As whoever watches reads of it.
pub(super) fn shown_time(time: TimeControl) -> events::TimeControl {
    match time {
        TimeControl::Clock { limit, increment } => events::TimeControl::Clock {
            base: Duration::from_secs(limit.into()),
            increment: Duration::from_secs(increment.into()),
        },
        TimeControl::Correspondence { days } => events::TimeControl::Days(days),
        TimeControl::Unlimited | TimeControl::Unknown => events::TimeControl::Unlimited,
    }
}

/// Sends a request again as long as its kind is worth it.
pub(super) async fn insist<F, R, T>(kind: RequestKind, mut request: F) -> Result<T, Failure>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, Failure>>,
{
    let mut attempt = 0;
    loop {
        let failure = match request().await {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        match retry::decide(kind, &failure, attempt) {
            Retry::After(wait) => clock::sleep(wait).await,
            Retry::GiveUp => return Err(failure),
        }
        attempt += 1;
    }
}

/// Whole days.
fn days_since(moment: SystemTime) -> u32 {
    let since = SystemTime::now().duration_since(moment);
    (since.unwrap_or_default().as_secs() / 86_400)
        .try_into()
        .unwrap_or(u32::MAX)
}

fn name(challenge: &Challenge) -> &str {
    challenge
        .challenger
        .as_ref()
        .map_or("Anonymous", |from| from.name.as_str())
}

fn describe(challenge: &Challenge) -> String {
    let rated = if challenge.rated { "rated" } else { "casual" };
    let (name, time, variant) = (name(challenge), challenge.time_control, challenge.variant);
    format!("{name}'s challenge to {time} {rated} {variant}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_are_sent_again_while_it_is_worth_it() {
        let mut calls = 0;
        let answer = insist(RequestKind::Answer, || {
            calls += 1;
            let failed = calls < 3;
            async move {
                if failed {
                    Err(Failure::Timeout(Duration::from_secs(1)))
                } else {
                    Ok(())
                }
            }
        });
        assert_eq!(answer.await, Ok(()));
        assert_eq!(calls, 3);
    }
}
