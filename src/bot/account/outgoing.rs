//! Challenges of ours on their way to Lichess: what is counted of them and told about them, whoever has wanted them.
//!
//! An answer may be lost and the challenge stand all the same. The event stream shows it then, before the loss is noticed
//! or after, and whoever has wanted it looks after it as if the answer had come.

use std::time::{Duration, Instant};

use tracing::info;

use super::challenges::shown_time;
use super::{Account, TAKE_BACK_WITHIN};
use crate::bot::account::background::TaskResult;
use crate::bot::account::quota::Limit;
use crate::bot::account::seek::Sought;
use crate::bot::account::slots::SlotHolder;
use crate::bot::account::state_files::Book;
use crate::bot::matchmaking::{ChallengeFailure, Refusal};
use crate::bot::shutdown::Stage;
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::clock;
use crate::events::{self, Decision};
use crate::lichess::model::{
    Challenge, ChallengeId, ChallengeStatus, Challenger, DeclineReason, NewChallenge, Username,
};
use crate::lichess::{Client, Error as Failure};
use crate::metrics::OpenChallenge;

/// A challenge whose answer was lost shows itself on the event stream within this, if it was made.
const LOST: Duration = Duration::from_secs(30);

/// Why a challenge is taken back when we stop.
pub(super) const STOPPING: &str = "we are about to stop";

/// Why one that was to be taken back has become a game.
pub(super) const TOO_LATE: &str = "it was accepted before it could be taken back";

/// Who has wanted a challenge. Matchmaking looks after its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Operator,
    Rematch,
}

/// Those that are on their way, or may have been made.
#[derive(Debug, Default)]
pub(super) struct Outgoing(Vec<Sent>);

#[derive(Debug)]
struct Sent {
    to: Username,
    wish: Wish,
    /// As the event stream has shown it, before its own answer.
    shown: Option<Box<Challenge>>,
    /// It was declined or taken back before its own answer has come.
    over: Option<Box<Challenge>>,
    /// No answer came: until when it may show itself.
    lost: Option<Instant>,
}

impl Outgoing {
    /// One is sent.
    pub fn send(&mut self, to: Username, wish: Wish) {
        self.0.push(Sent {
            to,
            wish,
            shown: None,
            over: None,
            lost: None,
        });
    }

    /// How many have not been answered in any way.
    pub fn under_way(&self) -> usize {
        self.0.iter().filter(|sent| sent.lost.is_none()).count()
    }

    /// Its answer has come. What has become of it before that, where the event stream has said so.
    pub fn answered(&mut self, to: &Username, wish: Wish) -> Option<Box<Challenge>> {
        self.take(|sent| sent.is(to, wish))?.over
    }

    /// The event stream says that a challenge was declined or taken back, perhaps one that it has shown before.
    pub fn over(&mut self, challenge: Box<Challenge>) {
        let is_it = |sent: &&mut Sent| {
            let shown = sent.shown.as_ref();
            shown.is_some_and(|shown| shown.id == challenge.id)
        };
        if let Some(sent) = self.0.iter_mut().find(is_it) {
            sent.shown = None;
            sent.over = Some(challenge);
        }
    }

    /// Its answer will not come. What the event stream has shown meanwhile.
    pub fn lost(&mut self, to: &Username, wish: Wish, now: Instant) -> Option<Box<Challenge>> {
        let mut sent = self.take(|sent| sent.is(to, wish))?;
        if sent.shown.is_none() && sent.over.is_none() {
            sent.lost = Some(now + LOST);
            self.0.push(sent);
            return None;
        }
        sent.shown
    }

    /// The event stream shows a challenge of our account. Who has wanted it, if no answer will tell him.
    pub fn echoed(&mut self, challenge: &Challenge, now: Instant) -> Option<Wish> {
        self.0
            .retain(|sent| sent.lost.is_none_or(|until| now < until));
        let to = &challenge.dest_user.as_ref()?.name;
        if let Some(sent) = self.take(|sent| sent.to == *to && sent.lost.is_some()) {
            return Some(sent.wish);
        }
        let mut waiting = self.0.iter_mut();
        if let Some(sent) = waiting.find(|sent| sent.to == *to) {
            sent.shown = Some(Box::new(challenge.clone()));
        }
        None
    }

    /// Those of which the event stream knows more than their own answers.
    pub fn shown(&self) -> impl Iterator<Item = &Challenge> {
        self.0.iter().filter_map(|sent| sent.shown.as_deref())
    }

    fn take(&mut self, is_it: impl Fn(&Sent) -> bool) -> Option<Sent> {
        let at = self.0.iter().position(is_it)?;
        Some(self.0.remove(at))
    }
}

impl Sent {
    fn is(&self, to: &Username, wish: Wish) -> bool {
        self.to == *to && self.wish == wish && self.lost.is_none()
    }
}

impl Account {
    /// The event stream shows a challenge of ours.
    pub(super) fn echoed(&mut self, challenge: &Challenge) {
        let now = clock::now();
        let wish = match self.matchmaking.echoed(challenge) {
            true => None,
            false => match self.outgoing.echoed(challenge, now) {
                Some(wish) => Some(wish),
                None => return,
            },
        };
        info!(challenge = %challenge.id, "the challenge of which no answer came was made");
        match wish {
            None => {}
            Some(Wish::Operator) => drop(self.invitation_stands(Box::new(challenge.clone()))),
            Some(Wish::Rematch) => self.rematch_stands(Box::new(challenge.clone())),
        }
    }

    /// Lichess has not taken a challenge of the operator's or an offer of ours, or its answer is lost. The challenge, if it
    /// stands all the same. `bot`: whether it was for one, where that is known.
    pub(super) fn not_sent(
        &mut self,
        (to, wish): (&Username, Wish),
        bot: Option<bool>,
        what: &NewChallenge,
        failure: &Failure,
    ) -> Option<Box<Challenge>> {
        let why = self.unmade(bot, failure);
        let shown = match why {
            ChallengeFailure::Lost => self.outgoing.lost(to, wish, clock::now()),
            _ => {
                self.outgoing.answered(to, wish);
                None
            }
        };
        if shown.is_none() {
            self.tell_unmade(to, what, why, failure);
        }
        shown
    }

    /// A challenge was made, by whomever.
    pub(super) fn challenge_counts(&mut self, bot: bool) {
        self.quota.challenged(bot, clock::date());
        self.house.hall.challenged();
        self.challenges_heard += 1;
        self.save(Book::Quota);
    }

    /// What other accounts of ours challenge counts against the limit of our address.
    pub(super) fn hear_of_challenges(&mut self) {
        let all = self.house.hall.challenges();
        let theirs = all - std::mem::replace(&mut self.challenges_heard, all);
        if theirs > 0 {
            let cost = theirs.try_into().unwrap_or(u32::MAX);
            self.quota
                .charge(Limit::ChallengesAddress, cost, clock::date());
            self.save(Book::Quota);
        }
    }

    /// Lichess has not taken a challenge of ours: what that says about the user, and what is counted all the same. Who may
    /// be a person counts as one.
    pub(super) fn unmade(&mut self, bot: Option<bool>, failure: &Failure) -> ChallengeFailure {
        self.too_many_challenges(failure);
        let refusal = failure.refusal();
        let day_limit = refusal.is_some_and(|refusal| refusal.is_bot_day_limit());
        // What a proxy refuses says nothing about the user.
        let said = failure.word().map(|refusal| refusal.code);
        let why = match said {
            _ if failure.is_rate_limited() => ChallengeFailure::Limited,
            Some(400) if day_limit => {
                let named = refusal.and_then(|refusal| refusal.named_wait());
                let wait = named.unwrap_or(Duration::from_secs(3_600));
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
        // Lichess looks at the games of the day when the challenge is counted already.
        if day_limit || matches!(why, ChallengeFailure::Refused(_) | ChallengeFailure::Lost) {
            self.challenge_counts(day_limit || bot == Some(true));
        }
        why
    }

    /// Lichess may have said that it takes no more challenges from us for now.
    fn too_many_challenges(&mut self, failure: &Failure) {
        let Some(refusal) = failure.refusal().filter(|refusal| refusal.code == 429) else {
            return;
        };
        // All requests pause for a proxy, and that is not counted as Lichess's no to challenges.
        if !refusal.by_lichess {
            return self.keep_pauses();
        }
        if !self.too_many_games(failure) {
            self.quota
                .challenge_refused(refusal.named_wait(), clock::date());
            self.save(Book::Quota);
        }
    }

    /// Lichess may have said, to whatever we have asked for, that we have played the day's games against bots. Whether it
    /// has.
    pub(super) fn too_many_games(&mut self, failure: &Failure) -> bool {
        let refusal = failure.refusal().filter(|refusal| refusal.code == 429);
        let Some(refusal) = refusal.filter(|refusal| refusal.is_bot_day_limit()) else {
            return false;
        };
        let wait = refusal.named_wait().unwrap_or(Limit::BotGames.window());
        self.quota.exhausted(Limit::BotGames, wait, clock::date());
        self.save(Book::Quota);
        true
    }

    /// A challenge that Lichess has refused, or that may be lost, is a decision like others. It has no id.
    pub(super) fn tell_unmade(
        &self,
        to: &Username,
        what: &NewChallenge,
        why: ChallengeFailure,
        failure: &Failure,
    ) {
        if why != ChallengeFailure::Lost && failure.code().is_none() {
            return;
        }
        self.house
            .events
            .send(events::Event::Challenge(events::Challenge {
                id: String::new(),
                from: events::Player {
                    name: self.house.me.to_string(),
                    title: Some("BOT".to_owned()),
                    ..events::Player::default()
                },
                to: Some(to.to_string()),
                time_control: shown_time(what.time_control),
                variant: what.variant.key().into(),
                rated: what.rated,
                decision: Decision::Dropped,
                reason: failure.to_string(),
            }));
    }

    /// Challenges of ours that wait for their answers, those aside that may wait for days, and how many more are on their
    /// way or being taken back.
    pub(super) fn standing(&self) -> (Vec<ChallengeId>, usize) {
        let clocked = |it: &&Challenge| it.time_control.is_clock();
        let standing = self
            .unanswered_ones()
            .filter(clocked)
            .map(|it| it.id.clone());
        let asking = usize::from(self.matchmaking.is_asking());
        let under_way = self.outgoing.under_way() + asking + self.taking_back;
        (standing.collect(), under_way)
    }

    /// Challenges of ours that wait for their answers.
    fn unanswered_ones(&self) -> impl Iterator<Item = &Challenge> {
        let one_each = self.matchmaking.pending().into_iter();
        one_each
            .chain(self.rematches.offered())
            .chain(self.office.awaited())
            .chain(self.outgoing.shown())
    }

    /// The same for the operator.
    pub(super) fn open_challenges(&self) -> Vec<OpenChallenge> {
        let status = |challenge: &Challenge| OpenChallenge {
            id: challenge.id.to_string(),
            to: challenge
                .dest_user
                .as_ref()
                .map_or_else(|| "somebody".to_owned(), |user| user.name.to_string()),
            terms: format!(
                "{}, {}",
                challenge.time_control,
                if challenge.rated { "rated" } else { "casual" }
            ),
        };
        self.unanswered_ones().map(status).collect()
    }

    /// Takes back what waits for its answer, since we are about to stop. Matchmaking does so with its own in its next step,
    /// and what is on its way is taken back when its answer comes.
    pub(super) fn take_challenges_back(&mut self) {
        self.taken_back_by = Some(clock::now() + TAKE_BACK_WITHIN);
        let offer = self.rematches.withdraw();
        let open: Vec<_> = self.office.withdraw().chain(offer).collect();
        for challenge in open {
            self.take_back(challenge, STOPPING);
        }
    }

    /// Whether a challenge of ours may still become a game. Asked when we stop, and true for a short time only.
    pub(super) fn waits_for_challenges(&self) -> bool {
        let waits = self.taken_back_by.is_some_and(|until| clock::now() < until);
        let (standing, under_way) = self.standing();
        waits && (!standing.is_empty() || under_way > 0)
    }

    /// A challenge of ours was accepted before it could be taken back: its game begins now.
    pub(super) fn accepted_meanwhile(&mut self, challenge: &Challenge) {
        let id = &challenge.id;
        info!(challenge = %id, "not taken back: it was accepted, and its game is played");
        if !self.knows_game(id) {
            let user = challenge.dest_user.as_ref();
            let guest = SlotHolder {
                name: user.map(|user| user.name.clone()),
                human: !is_for_bot(challenge),
                clocked: challenge.time_control.is_clock(),
            };
            self.slots.promise(id.clone(), guest, clock::now());
            // The event stream may be closed.
            self.ask_playing();
        }
    }

    /// Whether we take what stands back at once.
    pub(super) fn takes_all_back(&self) -> bool {
        self.stop.stage() != Stage::Running
    }
}

/// Takes a challenge of ours back, and says whether that was so: what was accepted just now is a game, and to cancel that
/// would abort it.
pub(super) async fn take_back(client: &Client, id: &ChallengeId) -> Result<bool, Failure> {
    let is_accepted = async || {
        let shown = client.show_challenge(id).await;
        shown.is_ok_and(|shown| shown.status == ChallengeStatus::Accepted)
    };
    if is_accepted().await {
        return Ok(false);
    }
    match client.cancel(id).await {
        Ok(()) => Ok(true),
        // It may have been accepted between the two.
        Err(failure) if failure.word().is_some() && is_accepted().await => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Takes back what stands, and what is on its way as soon as that is known: nobody would be there for the game.
pub(super) async fn take_all_back(
    client: &Client,
    (standing, mut under_way): (Vec<ChallengeId>, usize),
    errands: &mut SpannedJoinSet<TaskResult>,
) {
    let cancel = |id: ChallengeId| async move {
        let _ = client.cancel(&id).await;
    };
    let on_its_way = async {
        while under_way > 0
            && let Some(errand) = errands.join_next().await
        {
            let made = match errand {
                Ok(TaskResult::Sought(Sought::Tried(tried))) => tried.made(),
                Ok(TaskResult::RematchAsked(_, asked)) => asked.ok(),
                Ok(TaskResult::TakenBack(..)) => None,
                Ok(TaskResult::Invited(_, answer, reply)) => {
                    reply.refuse(STOPPING);
                    answer.ok().filter(|made| made.time_control.is_clock())
                }
                _ => continue,
            };
            under_way -= 1;
            if let Some(made) = made {
                cancel(made.id).await;
            }
        }
    };
    let standing = futures::future::join_all(standing.into_iter().map(cancel));
    tokio::join!(standing, on_its_way);
}

/// What has become of a challenge of ours that was answered by a word, and why.
pub(super) fn refusal(answer: &Challenge) -> (Decision, String) {
    let user = answer.dest_user.as_ref().map(|user| user.name.as_str());
    match (answer.status, answer.decline_reason_key) {
        (ChallengeStatus::Declined, reason) => {
            let (user, reason) = (
                user.unwrap_or("nobody"),
                reason.unwrap_or(DeclineReason::Generic),
            );
            (
                Decision::Declined,
                format!("{user} has declined ({reason})"),
            )
        }
        _ => (Decision::Dropped, "it was taken back".to_owned()),
    }
}

/// Whether a challenge of ours is for a bot.
pub(super) fn is_for_bot(challenge: &Challenge) -> bool {
    challenge.dest_user.as_ref().is_some_and(Challenger::is_bot)
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
    fn a_challenge_without_an_answer_is_found_before_and_after() {
        let now = Instant::now();
        let ann = Username::new("Ann");
        // Shown before the answer is given up.
        let mut outgoing = Outgoing::default();
        outgoing.send(ann.clone(), Wish::Operator);
        assert_eq!(outgoing.echoed(&challenge("Ben"), now), None);
        assert_eq!(outgoing.echoed(&challenge("Ann"), now), None);
        assert_eq!(outgoing.shown().count(), 1);
        let shown = outgoing.lost(&ann, Wish::Operator, now).unwrap();
        assert_eq!(shown.id.as_str(), "thisgame");
        assert_eq!(outgoing.under_way(), 0);
        // And after that.
        outgoing.send(ann.clone(), Wish::Rematch);
        assert_eq!(outgoing.under_way(), 1);
        assert!(outgoing.lost(&ann, Wish::Rematch, now).is_none());
        assert_eq!(outgoing.under_way(), 0);
        assert_eq!(outgoing.echoed(&challenge("Ann"), now), Some(Wish::Rematch));
        assert_eq!(outgoing.echoed(&challenge("Ann"), now), None);
    }

    #[test]
    fn one_that_is_over_before_its_answer_is_not_awaited() {
        let (now, ann) = (Instant::now(), Username::new("Ann"));
        let mut outgoing = Outgoing::default();
        outgoing.over(Box::new(challenge("Ann")));
        outgoing.send(ann.clone(), Wish::Operator);
        // One of before.
        outgoing.over(Box::new(challenge("Ann")));
        outgoing.echoed(&challenge("Ann"), now);
        assert_eq!(outgoing.shown().count(), 1);
        outgoing.over(Box::new(challenge("Ann")));
        assert_eq!(outgoing.shown().count(), 0);
        let over = outgoing.answered(&ann, Wish::Operator).unwrap();
        assert_eq!(over.id.as_str(), "thisgame");
        assert!(outgoing.answered(&ann, Wish::Operator).is_none());
    }

    #[test]
    fn what_does_not_show_itself_was_not_made() {
        let now = Instant::now();
        let ann = Username::new("Ann");
        let mut outgoing = Outgoing::default();
        outgoing.send(ann.clone(), Wish::Operator);
        assert!(outgoing.lost(&ann, Wish::Operator, now).is_none());
        assert_eq!(outgoing.echoed(&challenge("Ann"), now + LOST), None);
        // Nor one that was answered.
        outgoing.send(ann.clone(), Wish::Operator);
        outgoing.answered(&ann, Wish::Operator);
        assert_eq!(outgoing.echoed(&challenge("Ann"), now), None);
    }
}
