//! Answers to challenges.

use std::future::Future;
use std::time::Duration;

use tracing::info;

use super::errands::Errand;
use super::{Account, remember};
use crate::bot::policy::{self, Load, Verdict};
use crate::bot::stop::Stage;
use crate::clock;
use crate::events::{self, Decision};
use crate::lichess::Error as Failure;
use crate::lichess::model::{Challenge, Compat, DeclineReason, TimeControl};
use crate::lichess::retry::{self, Kind, Retry};

impl Account {
    /// Answers a challenge that came to us, once.
    pub(super) fn judge(&mut self, challenge: Box<Challenge>, compat: Option<Compat>) {
        let from = challenge
            .challenger
            .as_ref()
            .map(|challenger| &challenger.name);
        let to = challenge.dest_user.as_ref().map(|user| &user.name);
        let outgoing = from == Some(&self.house.me) || to.is_some_and(|to| *to != self.house.me);
        if outgoing || self.judged.contains(&challenge.id) || self.games.contains_key(&challenge.id)
        {
            return;
        }
        remember(&mut self.judged, challenge.id.clone());
        let now = clock::now();
        let load = Load {
            draining: self.stop.stage() != Stage::Running,
            full: self.slots.full(now),
            against: self.slots.against(from, now),
        };
        let settings = &self.house.settings;
        match policy::judge(
            &challenge,
            compat,
            &settings.challenge,
            &settings.games,
            load,
        ) {
            Verdict::Accept => self.accept(challenge),
            Verdict::Decline { reason, why } => self.decline(&challenge, reason, why),
        }
    }

    fn accept(&mut self, challenge: Box<Challenge>) {
        let clocked = matches!(challenge.time_control, TimeControl::Clock { .. });
        let from = challenge
            .challenger
            .as_ref()
            .map(|challenger| challenger.name.clone());
        info!(challenge = %challenge.id, "accepting {}", describe(&challenge));
        self.slots
            .promise(challenge.id.clone(), from, clocked, clock::now());
        self.tell_challenge(&challenge, Decision::Accepted, "it is what we play".into());
        let client = self.house.client.clone();
        self.errands.spawn(async move {
            let answer = insist(Kind::Answer, || client.accept(&challenge.id)).await;
            Errand::Accepted(challenge, answer)
        });
    }

    /// Lichess has not taken our yes.
    pub(super) fn not_accepted(&mut self, challenge: &Challenge, failure: Failure) {
        info!(challenge = %challenge.id, "cannot accept: {failure}");
        if failure.is_rate_limited() {
            // Nobody is left waiting for what cannot come.
            self.slots.free(&challenge.id);
            return self.decline(challenge, DeclineReason::Later, failure.to_string());
        }
        // It may have been accepted all the same, and then the game takes its slot. If it has not, it is judged anew
        // when a list names it again.
        if !failure.may_have_worked() && !self.games.contains_key(&challenge.id) {
            self.slots.free(&challenge.id);
        }
        if failure.code().is_none() {
            self.judged.retain(|id| *id != challenge.id);
        }
        self.tell_challenge(challenge, Decision::Dropped, failure.to_string());
    }

    fn decline(&mut self, challenge: &Challenge, reason: DeclineReason, why: String) {
        info!(challenge = %challenge.id, "declining {} ({reason}): {why}", describe(challenge));
        self.tell_challenge(challenge, Decision::Declined, why);
        let (client, id) = (self.house.client.clone(), challenge.id.clone());
        self.errands.spawn(async move {
            let answer = insist(Kind::Answer, || client.decline(&id, reason)).await;
            Errand::Declined(id, answer)
        });
    }

    fn tell_challenge(&self, challenge: &Challenge, decision: Decision, reason: String) {
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
                time_control: match challenge.time_control {
                    TimeControl::Clock { limit, increment } => events::TimeControl::Clock {
                        base: Duration::from_secs(limit.into()),
                        increment: Duration::from_secs(increment.into()),
                    },
                    TimeControl::Correspondence { days } => events::TimeControl::Days(days),
                    TimeControl::Unlimited | TimeControl::Unknown => events::TimeControl::Unlimited,
                },
                variant: challenge.variant.key().into(),
                rated: challenge.rated,
                decision,
                reason,
            }));
    }
}

/// Sends a request again as long as its kind is worth it.
async fn insist<F, R>(kind: Kind, mut request: F) -> Result<(), Failure>
where
    F: FnMut() -> R,
    R: Future<Output = Result<(), Failure>>,
{
    let mut attempt = 0;
    loop {
        let failure = match request().await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        match retry::decide(kind, &failure, attempt) {
            Retry::After(wait) => clock::sleep(wait).await,
            Retry::GiveUp => return Err(failure),
        }
        attempt += 1;
    }
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
        let answer = insist(Kind::Answer, || {
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
