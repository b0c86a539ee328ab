//! Looks for games with other bots when there is nothing to play.
//!
//! One challenge at a time, and it stands in nobody's way: it takes no place, and is taken back when somebody else takes
//! the last one. What is tried when is decided by [`Matchmaking::step`], which waits for nothing; the account takes
//! the steps and tells what came of them.
//!
//! ```text
//!           scout             challenge            it stands          nobody answers
//!     Free ──────► Scouting     Free ──────► Asking ──────► Standing ────────────────► TakingBack
//!      ▲               │         ▲             │                │                          │
//!      └───────────────┘         └─────────────┴────────────────┴──────────────────────────┘
//!         the bots online               refused, declined, or a game has begun
//! ```

mod memory;
mod pace;
mod selection;

use std::time::{Duration, Instant, SystemTime};

use tracing::info;

use crate::bot::account::quota::{Quota, Sought};
use crate::clock;
use crate::config::{self, Settings};
use crate::lichess::model::{
    Challenge, ChallengeId, ChallengeStatus, DeclineReason, GameInfo, Status, Username,
};

pub use memory::{Memory, Offer, Refusal};
use selection::Plan;
pub use selection::{Choice, OnlineBots, PairGame};

/// The list of bots online is good for this long.
const FRESH: Duration = Duration::from_secs(600);

/// After a challenge that came to nothing.
const BETWEEN: Duration = Duration::from_secs(30);

/// After a request that came to nothing.
const FAILED: Duration = Duration::from_secs(60);

/// A challenge whose answer was lost shows itself on the event stream within this, if it was made.
const LOST: Duration = Duration::from_secs(30);

/// How things stand in the house.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    /// We are about to stop.
    pub stopping: bool,
    /// We are online, and know what is on.
    pub ready: bool,
    /// A game is on, or somebody else is about to have one.
    pub busy: bool,
    /// There is a place for a game with another bot.
    pub room: bool,
    /// When an arena begins that we are in.
    pub arena: Option<Instant>,
    /// The time, by both clocks.
    pub now: Instant,
    pub date: SystemTime,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing now.
    Wait,
    /// Ask who is online.
    Discovery,
    /// Challenge one of these.
    Challenge(Choice),
    /// Take this challenge back.
    TakeBack(ChallengeId),
}

/// Why nothing is on, and when something is tried next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    pub why: String,
    pub next: SystemTime,
}

/// How a challenge was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeFailure {
    /// Lichess does not want this user challenged.
    Refused(Refusal),
    /// Nor anybody, and the quota knows for how long.
    Limited,
    /// Nothing came through.
    Failed,
    /// No answer came through: it may have been made.
    Lost,
}

/// A game that our challenge has become.
#[derive(Debug)]
pub struct Begun {
    /// Which of a pair.
    pub sought: Sought,
    /// The profile that has asked for it.
    pub profile: String,
    /// The challenge, if its own answer has come yet.
    pub challenge: Option<Box<Challenge>>,
}

/// See the module's text.
#[derive(Debug)]
pub struct Matchmaking {
    settings: config::Matchmaking,
    plan: Plan,
    memory: Memory,
    rng: fastrand::Rng,
    roster: Option<(OnlineBots, Instant)>,
    stage: Stage,
    /// Since when nothing is on.
    quiet: Option<Instant>,
    /// Nothing is tried before that, and why.
    rest: Option<(Instant, String)>,
    idle: Option<Idle>,
    /// The game that has come of it: with whom, and of what kind.
    game: Option<(ChallengeId, Username, Offer)>,
}

#[derive(Debug)]
enum Stage {
    Free,
    Scouting,
    /// A challenge is on its way. The event stream may show it before its own answer comes.
    Asking {
        choice: Choice,
        shown: Option<Box<Challenge>>,
        /// It was declined before its own answer has come, or has become a game.
        over: bool,
    },
    /// The answer was lost.
    Lost {
        choice: Choice,
        until: Instant,
    },
    Standing {
        standing: Standing,
        until: Instant,
    },
    TakingBack {
        standing: Standing,
        /// He had his time, and has let it pass.
        unanswered: bool,
    },
}

/// A challenge that waits for its answer.
#[derive(Clone, Debug)]
struct Standing {
    challenge: Box<Challenge>,
    user: Username,
    choice: Choice,
}

impl Matchmaking {
    /// As the operator wants it.
    pub fn new(settings: &Settings, memory: Memory) -> Self {
        Self {
            plan: Plan::of(settings),
            settings: settings.matchmaking.clone(),
            memory,
            rng: fastrand::Rng::new(),
            roster: None,
            stage: Stage::Free,
            quiet: None,
            rest: None,
            idle: None,
            game: None,
        }
    }

    /// From now on the operator wants it so.
    pub fn adopt(&mut self, settings: &Settings) {
        self.plan = Plan::of(settings);
        self.settings = settings.matchmaking.clone();
        self.rest = None;
        self.idle = None;
    }

    /// What is to be kept.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Our challenge that waits for its answer.
    pub fn pending(&self) -> Option<&Challenge> {
        match &self.stage {
            Stage::Asking { shown, over, .. } => shown.as_deref().filter(|_| !over),
            Stage::Standing { standing, .. } | Stage::TakingBack { standing, .. } => {
                Some(&standing.challenge)
            }
            Stage::Free | Stage::Scouting | Stage::Lost { .. } => None,
        }
    }

    /// Whether a challenge is on its way to Lichess.
    pub fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking { over: false, .. })
    }

    /// Why nothing is on, and when something is tried next, where that is for us to say.
    pub fn idle(&self) -> Option<&Idle> {
        self.idle.as_ref()
    }

    /// What is to be done now. Whatever it is counts as begun.
    pub fn step(&mut self, scene: Inputs, quota: &Quota) -> Step {
        let now = scene.now;
        if scene.busy || scene.stopping || !scene.ready {
            self.quiet = None;
            self.idle = None;
        } else {
            self.quiet.get_or_insert(now);
        }
        match &self.stage {
            Stage::Free => self.try_next(scene, quota),
            Stage::Standing { standing, until } => {
                let unanswered = now >= *until;
                if !unanswered && scene.room && !scene.stopping {
                    return Step::Wait;
                }
                let standing = standing.clone();
                let id = standing.challenge.id.clone();
                self.stage = Stage::TakingBack {
                    standing,
                    unanswered,
                };
                Step::TakeBack(id)
            }
            Stage::Lost { until, .. } if now >= *until => {
                self.stage = Stage::Free;
                Step::Wait
            }
            Stage::Lost { .. }
            | Stage::Scouting
            | Stage::Asking { .. }
            | Stage::TakingBack { .. } => Step::Wait,
        }
    }

    fn try_next(&mut self, scene: Inputs, quota: &Quota) -> Step {
        let Inputs { now, date, .. } = scene;
        let wanted = self.settings.enabled && scene.room;
        let Some(quiet) = self.quiet.filter(|_| wanted) else {
            return Step::Wait;
        };
        if let Some((until, why)) = self.resting(quiet, now) {
            return self.wait(why, date + (until - now));
        }
        let arena = scene.arena.map(|at| at.saturating_duration_since(now));
        let shorter = arena.map(|left| self.plan.within(left));
        let plan = shorter.as_ref().unwrap_or(&self.plan);
        if let Some(left) = arena.filter(|_| plan.profiles.is_empty()) {
            let why = "an arena begins before any game would be over";
            return self.wait(why.to_owned(), date + left);
        }
        let roster = self.roster.as_ref();
        let second =
            roster.and_then(|(roster, _)| selection::second(plan, roster, &self.memory, date));
        if let Some(hold) = pace::hold(quota, self.settings.reserved_games, second.is_some(), date)
        {
            return self.wait(hold.why, hold.until);
        }
        let Some((roster, since)) = self
            .roster
            .as_ref()
            .filter(|(_, since)| now < *since + FRESH)
        else {
            self.stage = Stage::Scouting;
            return Step::Discovery;
        };
        let chosen = match second {
            Some(second) => Ok(second),
            None => selection::choose(plan, roster, &self.memory, date, &mut self.rng),
        };
        match chosen {
            Ok(choice) => {
                self.stage = Stage::Asking {
                    choice: choice.clone(),
                    shown: None,
                    over: false,
                };
                Step::Challenge(choice)
            }
            Err(nobody) => {
                let stale = *since + FRESH;
                let left = |until: SystemTime| until.duration_since(date).unwrap_or_default();
                let again = nobody.until.map_or(stale, |until| now + left(until));
                self.rest = Some((again.min(stale), nobody.why));
                Step::Wait
            }
        }
    }

    /// Until when nothing is tried, and why, if that is to come.
    fn resting(&self, quiet: Instant, now: Instant) -> Option<(Instant, String)> {
        let first = quiet + self.settings.idle();
        let first = (first, "others may come first".to_owned());
        let both = [Some(first), self.rest.clone()];
        both.into_iter()
            .flatten()
            .filter(|(until, _)| now < *until)
            .max()
    }

    fn wait(&mut self, why: String, next: SystemTime) -> Step {
        self.idle = Some(Idle { why, next });
        Step::Wait
    }

    fn rest(&mut self, pause: Duration, why: &str) {
        self.rest = Some((clock::now() + pause, why.to_owned()));
    }

    fn leave_alone(&mut self, user: &Username, offer: Offer, refusal: Refusal) {
        let until = self.memory.refused(user, offer, refusal, clock::date());
        let until = clock::format_date(until);
        info!("{user} {refusal}: nothing like {offer} for him until {until}");
        self.rest(BETWEEN, "the last challenge has come to nothing");
    }

    /// Lichess has told who is online, or has not.
    pub fn scouted(&mut self, roster: Option<OnlineBots>) {
        self.stage = Stage::Free;
        match roster {
            Some(roster) => self.roster = Some((roster, clock::now())),
            None => self.rest(FAILED, "Lichess does not tell who is online"),
        }
    }

    /// Of those who were to be challenged these cannot be.
    pub fn unfit(&mut self, users: &[(Username, Refusal)]) {
        if let Stage::Asking { choice, .. } = &self.stage {
            let offer = choice.offer;
            for (user, refusal) in users {
                self.leave_alone(user, offer, *refusal);
            }
        }
    }

    /// None of them could be challenged.
    pub fn nobody(&mut self) {
        self.stage = Stage::Free;
    }

    /// Our challenge stands, unless it is over already.
    pub fn stands(&mut self, challenge: Box<Challenge>, user: Username) {
        match std::mem::replace(&mut self.stage, Stage::Free) {
            Stage::Asking {
                choice,
                over: false,
                ..
            }
            | Stage::Lost { choice, .. } => {
                let until = clock::now() + self.settings.challenge_timeout();
                let why = format!("{user} is challenged to {}", choice.offer);
                self.wait(why, clock::date_of(until));
                let standing = Standing {
                    challenge,
                    user,
                    choice,
                };
                self.stage = Stage::Standing { standing, until };
            }
            Stage::Asking { .. } => {}
            other => self.stage = other,
        }
    }

    /// Our challenge was not made, as far as we know.
    pub fn not_made(&mut self, user: &Username, why: ChallengeFailure) {
        let Stage::Asking {
            choice,
            shown,
            over: false,
        } = std::mem::replace(&mut self.stage, Stage::Free)
        else {
            return;
        };
        match why {
            ChallengeFailure::Refused(refusal) => self.leave_alone(user, choice.offer, refusal),
            ChallengeFailure::Limited => {}
            ChallengeFailure::Failed => self.rest(FAILED, "the last challenge could not be made"),
            ChallengeFailure::Lost => {
                self.rest(FAILED, "no answer to the last challenge came through");
                let until = clock::now() + LOST;
                self.stage = Stage::Lost { choice, until };
                // The event stream may have said already what the answer would have, and says it once.
                if let Some(challenge) = shown {
                    self.echoed(&challenge);
                }
            }
        }
    }

    /// The event stream shows a challenge of our account. Whether it is one of which we knew nothing but that it might be.
    pub fn echoed(&mut self, challenge: &Challenge) -> bool {
        let Some(to) = challenge.dest_user.as_ref().map(|user| user.name.clone()) else {
            return false;
        };
        match &mut self.stage {
            Stage::Asking { choice, shown, .. } if choice.users.contains(&to) => {
                *shown = Some(Box::new(challenge.clone()));
                false
            }
            Stage::Lost { choice, .. } if choice.users.contains(&to) => {
                self.stands(Box::new(challenge.clone()), to);
                true
            }
            _ => false,
        }
    }

    /// A challenge of our account was declined or taken back. What the operator is told if it was ours, and declined.
    pub fn over(&mut self, challenge: &Challenge) -> Option<String> {
        if self.pending().map(|pending| &pending.id) != Some(&challenge.id) {
            return None;
        }
        let declined = challenge.status == ChallengeStatus::Declined;
        let reason = challenge
            .decline_reason_key
            .or(declined.then_some(DeclineReason::Generic));
        let (choice, user) = match &mut self.stage {
            Stage::Asking { choice, over, .. } => {
                // Its own answer is still to come.
                *over = true;
                let user = challenge.dest_user.as_ref()?.name.clone();
                (choice.clone(), user)
            }
            Stage::TakingBack {
                standing,
                unanswered,
            } => {
                // So is the answer to our taking it back, of which this may be the echo.
                *unanswered &= reason.is_none();
                (standing.choice.clone(), standing.user.clone())
            }
            Stage::Standing { standing, .. } => {
                let of = (standing.choice.clone(), standing.user.clone());
                self.stage = Stage::Free;
                self.rest(BETWEEN, "the last challenge was taken back");
                of
            }
            Stage::Free | Stage::Scouting | Stage::Lost { .. } => return None,
        };
        let refusal = Refusal::Declined(reason?);
        self.leave_alone(&user, choice.offer, refusal);
        Some(format!("{user} {refusal}"))
    }

    /// Our challenge could not be taken back, since it is a game by now, of which we are about to hear.
    pub fn became_a_game(&mut self) {
        if let Stage::TakingBack { standing, .. } = &self.stage {
            let choice = standing.choice.clone();
            let until = clock::now() + LOST;
            self.stage = Stage::Lost { choice, until };
        }
    }

    /// Our challenge was taken back, or could not be: then it has been answered meanwhile. Gives one that was not.
    pub fn taken_back(&mut self, done: bool) -> Option<Box<Challenge>> {
        let (standing, unanswered) = match std::mem::replace(&mut self.stage, Stage::Free) {
            Stage::TakingBack {
                standing,
                unanswered,
            } => (standing, unanswered),
            other => {
                self.stage = other;
                return None;
            }
        };
        self.rest(BETWEEN, "the last challenge was taken back");
        if !(unanswered && done) {
            return None;
        }
        self.leave_alone(&standing.user, standing.choice.offer, Refusal::Unanswered);
        Some(standing.challenge)
    }

    /// A game has begun; tells if our challenge has become it.
    pub fn began(&mut self, info: &GameInfo) -> Option<Begun> {
        let opponent = &info.opponent.name;
        let (choice, challenge) = match &mut self.stage {
            Stage::Asking {
                choice,
                shown,
                over,
            } if shown.as_ref().is_none_or(|shown| shown.id == info.id)
                && choice.users.contains(opponent) =>
            {
                *over = true;
                (choice.clone(), None)
            }
            Stage::Lost { choice, .. } if choice.users.contains(opponent) => {
                let choice = choice.clone();
                self.stage = Stage::Free;
                (choice, None)
            }
            Stage::Standing { standing, .. } if standing.challenge.id == info.id => {
                let standing = standing.clone();
                self.stage = Stage::Free;
                (standing.choice, Some(standing.challenge))
            }
            Stage::TakingBack {
                standing,
                unanswered,
            } if standing.challenge.id == info.id => {
                *unanswered = false;
                (standing.choice.clone(), Some(standing.challenge.clone()))
            }
            _ => return None,
        };
        let (offer, pair) = (choice.offer, choice.pair.is_some());
        info!(game = %info.id, "{opponent} plays {offer} with us, by {}", choice.profile);
        self.memory
            .met(opponent, offer, pair, info.color, clock::date());
        self.game = Some((info.id.clone(), opponent.clone(), offer));
        self.rest = None;
        Some(Begun {
            sought: match choice.pair {
                Some(PairGame::Second) => Sought::Second,
                Some(PairGame::First) | None => Sought::First,
            },
            profile: choice.profile,
            challenge,
        })
    }

    /// A game is over. Whether that has taught us something.
    pub fn finished(&mut self, info: &GameInfo) -> bool {
        let Some((_, user, offer)) = self.game.take_if(|(id, ..)| *id == info.id) else {
            return false;
        };
        let unplayed = matches!(info.status, Status::Aborted | Status::NoStart);
        if unplayed {
            self.leave_alone(&user, offer, Refusal::Unplayed);
        }
        unplayed
    }
}

#[cfg(test)]
mod tests;
