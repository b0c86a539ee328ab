//! Matchmaking: challenges other bots while fewer games are running than configured; by default, while none is running.
//!
//! One challenge is open at a time. It takes no slot and is canceled when the last slot is taken by another game.
//! [`Matchmaking::next_action`] decides what to do and never waits; the account executes the actions and reports
//! their results.
//!
//! ```text
//!        list             challenge           created          no answer
//! Idle ──────► Listing  Idle ──────► Sending ──────► Pending ──────► Canceling
//!  ▲              │      ▲              │               │               │
//!  └──────────────┘      └──────────────┴───────────────┴───────────────┘
//!    the online bots          refused, declined, or a game has started
//! ```

mod offer;
mod opponent_history;
mod pace;
mod selection;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tracing::info;

use crate::bot::account::quota::{MatchmakingGame, Quota};
use crate::clock;
use crate::config::{self, Settings};
use crate::lichess::model::{Challenge, ChallengeId, GameInfo, Username};

pub(super) use offer::Offer;
pub(super) use opponent_history::{OpponentHistory, Refusal};
use selection::Plan;
pub(super) use selection::{Choice, OnlineBots, PairGame};

/// Time for which the list of online bots is used.
const LIST_MAX_AGE: Duration = Duration::from_secs(600);

/// Wait after a challenge without a game.
const BACKOFF_AFTER_REFUSAL: Duration = Duration::from_secs(30);

/// Wait after a failed request.
const BACKOFF_AFTER_FAILURE: Duration = Duration::from_secs(60);

/// Started games whose ends are awaited.
const MAX_REMEMBERED_GAMES: usize = 100;

/// A challenge whose response was lost is echoed on the event stream within this time, if it was created.
pub(super) const CHALLENGE_ECHO_TIMEOUT: Duration = Duration::from_secs(30);

/// State of the account.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs {
    /// New games are not accepted.
    pub stopping: bool,
    /// The event stream is open and the running games are known.
    pub ready: bool,
    /// As many games are running or about to start as are wanted.
    pub busy: bool,
    /// Another correspondence game is wanted.
    pub correspondence: bool,
    /// A slot is free for a game with another bot.
    pub has_slot: bool,
    /// Start of the next arena that the account has joined.
    pub arena_starts: Option<Instant>,
    /// Current time, monotonic and wall clock.
    pub now: Instant,
    pub date: SystemTime,
}

/// Next action of matchmaking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Wait,
    /// Request the online bots.
    ListOnlineBots,
    /// Challenge one of the chosen users.
    Challenge(Choice),
    /// Cancel this challenge.
    Cancel(ChallengeId),
}

/// Users whom we do not challenge now, and why.
pub(super) type Engaged = [(Username, Engagement)];

/// Why a user is not challenged now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engagement {
    /// A running game against us. It excludes games that have a clock too, or have none either.
    Game { clocked: bool },
    /// An unanswered challenge of ours, which Lichess would cancel for another one.
    Challenge,
}

impl Engagement {
    /// Returns whether a game with or without a clock cannot be offered.
    fn excludes(self, clocked: bool) -> bool {
        match self {
            Self::Game { clocked: running } => running == clocked,
            Self::Challenge => true,
        }
    }
}

/// Why no game is running, and when the next attempt is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    pub reason: String,
    pub next: SystemTime,
}

/// Reason why a challenge was not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeFailure {
    /// Lichess does not allow challenges to this user.
    Refused(Refusal),
    /// Lichess allows no challenges at all for now; the quota knows for how long.
    Limited,
    /// The request failed.
    Failed,
    /// The response was lost: the challenge may have been created.
    Lost,
}

/// A game started by our challenge.
#[derive(Debug)]
pub(super) struct StartedGame {
    pub kind: MatchmakingGame,
    /// Profile of the challenge.
    pub profile: String,
    /// The challenge, if its response has arrived.
    pub challenge: Option<Box<Challenge>>,
}

/// State machine of matchmaking.
#[derive(Debug)]
pub(super) struct Matchmaking {
    settings: config::Matchmaking,
    plan: Plan,
    history: OpponentHistory,
    rng: fastrand::Rng,
    online_bots: Option<(OnlineBots, Instant)>,
    state: State,
    /// Since when another game is wanted.
    idle_since: Option<Instant>,
    /// Until when nothing is tried, and why.
    backoff: Option<(Instant, String)>,
    idle: Option<Idle>,
    /// The started games: opponent and kind.
    games: Vec<(ChallengeId, Username, Offer)>,
}

#[derive(Debug)]
enum State {
    Idle,
    Listing,
    /// A challenge is being sent. The event stream may echo it before the response.
    Sending {
        choice: Choice,
        shown: Option<Box<Challenge>>,
        /// It was declined, or has become a game, before the response.
        over: bool,
    },
    /// The response was lost.
    AwaitingEcho {
        choice: Choice,
        until: Instant,
    },
    Pending {
        pending: PendingChallenge,
        until: Instant,
    },
    Canceling {
        pending: PendingChallenge,
        /// The user did not answer in time.
        unanswered: bool,
    },
}

/// A challenge that waits for an answer.
#[derive(Clone, Debug)]
struct PendingChallenge {
    challenge: Box<Challenge>,
    user: Username,
    choice: Choice,
}

impl Matchmaking {
    pub(super) fn new(settings: &Settings, history: OpponentHistory) -> Self {
        Self {
            plan: Plan::of(settings),
            settings: settings.matchmaking.clone(),
            history,
            rng: fastrand::Rng::new(),
            online_bots: None,
            state: State::Idle,
            idle_since: None,
            backoff: None,
            idle: None,
            games: Vec::new(),
        }
    }

    pub(super) fn set_settings(&mut self, settings: &Settings) {
        self.plan = Plan {
            listed: Arc::clone(&self.plan.listed),
            ..Plan::of(settings)
        };
        self.settings = settings.matchmaking.clone();
        self.backoff = None;
        self.idle = None;
    }

    /// Sets the ids of the users on block lists.
    pub(super) fn set_listed(&mut self, listed: Arc<BTreeSet<String>>) {
        self.plan.listed = listed;
    }

    /// History to be saved.
    pub(super) fn history(&self) -> &OpponentHistory {
        &self.history
    }

    /// Our challenge that waits for an answer.
    pub(super) fn pending(&self) -> Option<&Challenge> {
        match &self.state {
            State::Sending { shown, over, .. } => shown.as_deref().filter(|_| !over),
            State::Pending { pending, .. } | State::Canceling { pending, .. } => {
                Some(&pending.challenge)
            }
            State::Idle | State::Listing | State::AwaitingEcho { .. } => None,
        }
    }

    /// Returns whether a challenge is being sent or canceled.
    pub(super) fn is_requesting(&self) -> bool {
        matches!(
            self.state,
            State::Sending { over: false, .. } | State::Canceling { .. }
        )
    }

    /// Why no game is running and when the next attempt is made, if matchmaking decides that.
    pub(super) fn idle(&self) -> Option<&Idle> {
        self.idle.as_ref()
    }

    /// Returns what to do now. The action counts as started.
    pub(super) fn next_action(
        &mut self,
        inputs: Inputs,
        engaged: &Engaged,
        quota: &Quota,
    ) -> Action {
        let now = inputs.now;
        if inputs.busy || inputs.stopping || !inputs.ready {
            self.idle_since = None;
            self.idle = None;
        } else {
            self.idle_since.get_or_insert(now);
        }
        match &self.state {
            State::Idle => self.try_next(inputs, engaged, quota),
            State::Pending { pending, until } => {
                let unanswered = now >= *until;
                let is_wanted = self.settings.enabled && inputs.has_slot && !inputs.stopping;
                if !unanswered && is_wanted {
                    return Action::Wait;
                }
                let pending = pending.clone();
                let id = pending.challenge.id.clone();
                self.state = State::Canceling {
                    pending,
                    unanswered,
                };
                Action::Cancel(id)
            }
            State::AwaitingEcho { until, .. } if now >= *until => {
                self.state = State::Idle;
                Action::Wait
            }
            State::AwaitingEcho { .. }
            | State::Listing
            | State::Sending { .. }
            | State::Canceling { .. } => Action::Wait,
        }
    }

    fn try_next(&mut self, inputs: Inputs, engaged: &Engaged, quota: &Quota) -> Action {
        let Inputs { now, date, .. } = inputs;
        let wanted = self.settings.enabled && inputs.has_slot;
        let Some(idle_since) = self.idle_since.filter(|_| wanted) else {
            return Action::Wait;
        };
        if let Some((until, reason)) = self.backoff(idle_since, now) {
            return self.wait(reason, date + (until - now));
        }
        let arena = inputs
            .arena_starts
            .map(|at| at.saturating_duration_since(now));
        let plan = self.plan.restricted(arena, inputs.correspondence);
        if plan.profiles.is_empty() {
            let (reason, wait) = match arena {
                Some(left) => ("an arena begins before any game would be over", left),
                None => (
                    "as many correspondence games as configured are running",
                    LIST_MAX_AGE,
                ),
            };
            return self.wait(reason.to_owned(), date + wait);
        }
        let online_bots = self.online_bots.as_ref();
        let second = online_bots.and_then(|(online_bots, _)| {
            selection::return_game(&plan, online_bots, engaged, &self.history, date)
        });
        if let Some(delay) =
            pace::delay(quota, self.settings.reserved_games, second.is_some(), date)
        {
            return self.wait(delay.reason, delay.until);
        }
        let Some((online_bots, since)) = self
            .online_bots
            .as_ref()
            .filter(|(_, since)| now < *since + LIST_MAX_AGE)
        else {
            self.state = State::Listing;
            return Action::ListOnlineBots;
        };
        let chosen = match second {
            Some(second) => Ok(second),
            None => {
                let rng = &mut self.rng;
                selection::choose(&plan, online_bots, engaged, &self.history, date, rng)
            }
        };
        match chosen {
            Ok(choice) => {
                self.state = State::Sending {
                    choice: choice.clone(),
                    shown: None,
                    over: false,
                };
                Action::Challenge(choice)
            }
            Err(no_opponent) => {
                let stale = *since + LIST_MAX_AGE;
                let left = |until: SystemTime| until.duration_since(date).unwrap_or_default();
                let again = no_opponent.until.map_or(stale, |until| now + left(until));
                self.backoff = Some((again.min(stale), no_opponent.reason));
                Action::Wait
            }
        }
    }

    /// Until when nothing is tried, and why, if that is to come.
    fn backoff(&self, idle_since: Instant, now: Instant) -> Option<(Instant, String)> {
        let first = idle_since + self.settings.idle();
        let first = (first, "others may come first".to_owned());
        let both = [Some(first), self.backoff.clone()];
        both.into_iter()
            .flatten()
            .filter(|(until, _)| now < *until)
            .max()
    }

    fn wait(&mut self, reason: String, next: SystemTime) -> Action {
        self.idle = Some(Idle { reason, next });
        Action::Wait
    }

    fn back_off(&mut self, pause: Duration, reason: &str) {
        self.backoff = Some((clock::now() + pause, reason.to_owned()));
    }

    fn record_refusal(&mut self, user: &Username, offer: Offer, refusal: Refusal) {
        let history = &mut self.history;
        let until = history.record_refusal(user, offer, refusal, clock::date());
        let until = clock::format_date(until);
        info!("{user} {refusal}; nothing like {offer} is offered to them until {until}");
        self.back_off(BACKOFF_AFTER_REFUSAL, "the last challenge was refused");
    }

    pub(super) fn on_online_bots(&mut self, online_bots: OnlineBots) {
        self.state = State::Idle;
        self.online_bots = Some((online_bots, clock::now()));
    }

    /// Waits because something that the choice of an opponent needs cannot be read, as `why` says.
    pub(super) fn on_unreadable(&mut self, why: &'static str) {
        self.state = State::Idle;
        self.back_off(BACKOFF_AFTER_FAILURE, why);
    }

    /// These users cannot be challenged.
    pub(super) fn on_unavailable(&mut self, users: &[(Username, Refusal)]) {
        if let State::Sending { choice, .. } = &self.state {
            let offer = choice.offer;
            for (user, refusal) in users {
                self.record_refusal(user, offer, *refusal);
            }
        }
    }

    /// None of the chosen users could be challenged.
    pub(super) fn on_nobody_available(&mut self) {
        self.state = State::Idle;
    }

    /// Our challenge was created. It may be closed already.
    pub(super) fn on_created(&mut self, challenge: Box<Challenge>, user: Username) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Sending {
                choice,
                over: false,
                ..
            }
            | State::AwaitingEcho { choice, .. } => {
                let until = clock::now() + self.settings.challenge_timeout();
                let reason = format!("{user} is challenged to {}", choice.offer);
                self.wait(reason, clock::date_of(until));
                let pending = PendingChallenge {
                    challenge,
                    user,
                    choice,
                };
                self.state = State::Pending { pending, until };
            }
            State::Sending { .. } => {}
            other => self.state = other,
        }
    }

    /// Our challenge was not created, as far as is known.
    pub(super) fn on_not_created(&mut self, user: &Username, reason: ChallengeFailure) {
        let State::Sending {
            choice,
            shown,
            over: false,
        } = std::mem::replace(&mut self.state, State::Idle)
        else {
            return;
        };
        match reason {
            ChallengeFailure::Refused(refusal) => self.record_refusal(user, choice.offer, refusal),
            ChallengeFailure::Limited => {}
            ChallengeFailure::Failed => self.back_off(
                BACKOFF_AFTER_FAILURE,
                "the last challenge could not be made",
            ),
            ChallengeFailure::Lost => {
                self.back_off(
                    BACKOFF_AFTER_FAILURE,
                    "no answer to the last challenge came through",
                );
                let until = clock::now() + CHALLENGE_ECHO_TIMEOUT;
                self.state = State::AwaitingEcho { choice, until };
                // The event stream echoes a challenge once, and may have done so before.
                if let Some(challenge) = shown {
                    self.on_lost_found(&challenge);
                }
            }
        }
    }

    /// Handles an echo that comes before the response.
    pub(super) fn on_echo(&mut self, challenge: &Challenge) {
        let to = challenge.to();
        if let State::Sending { choice, shown, .. } = &mut self.state
            && to.is_some_and(|to| choice.users.contains(to))
        {
            *shown = Some(Box::new(challenge.clone()));
        }
    }

    /// A challenge was created. Whether it is the one whose response was lost.
    pub(super) fn on_lost_found(&mut self, challenge: &Challenge) -> bool {
        let to = challenge.to().cloned();
        match (&self.state, to) {
            (State::AwaitingEcho { choice, .. }, Some(to)) if choice.users.contains(&to) => {
                self.on_created(Box::new(challenge.clone()), to);
                true
            }
            _ => false,
        }
    }

    /// A challenge was declined or canceled. Returns the reason for the operator if it was ours and was declined.
    pub(super) fn on_closed(&mut self, challenge: &Challenge) -> Option<String> {
        if self.pending().map(|pending| &pending.id) != Some(&challenge.id) {
            return None;
        }
        let reason = challenge.refusal();
        let (choice, user) = match &mut self.state {
            State::Sending { choice, over, .. } => {
                // Its response is still to come.
                *over = true;
                let user = challenge.to()?.clone();
                (choice.clone(), user)
            }
            State::Canceling {
                pending,
                unanswered,
            } => {
                // The response to the cancel request is still to come; this may be its echo.
                *unanswered &= reason.is_none();
                (pending.choice.clone(), pending.user.clone())
            }
            State::Pending { pending, .. } => {
                let of = (pending.choice.clone(), pending.user.clone());
                self.state = State::Idle;
                self.back_off(BACKOFF_AFTER_REFUSAL, "the last challenge was canceled");
                of
            }
            State::Idle | State::Listing | State::AwaitingEcho { .. } => return None,
        };
        let refusal = Refusal::Declined(reason?);
        self.record_refusal(&user, choice.offer, refusal);
        Some(format!("{user} {refusal}"))
    }

    /// Our challenge could not be canceled because it was accepted. Its game is about to start.
    pub(super) fn on_late_acceptance(&mut self) {
        if let State::Canceling { pending, .. } = &self.state {
            let choice = pending.choice.clone();
            let until = clock::now() + CHALLENGE_ECHO_TIMEOUT;
            self.state = State::AwaitingEcho { choice, until };
        }
    }

    /// Our challenge was canceled, or was answered before. Returns it if it was not answered.
    pub(super) fn on_canceled(&mut self, done: bool) -> Option<Box<Challenge>> {
        let (pending, unanswered) = match std::mem::replace(&mut self.state, State::Idle) {
            State::Canceling {
                pending,
                unanswered,
            } => (pending, unanswered),
            other => {
                self.state = other;
                return None;
            }
        };
        self.back_off(BACKOFF_AFTER_REFUSAL, "the last challenge was canceled");
        if !(unanswered && done) {
            return None;
        }
        self.record_refusal(&pending.user, pending.choice.offer, Refusal::Unanswered);
        Some(pending.challenge)
    }

    /// A game has started. Returns details if our challenge has become it. `may_be_ours`: nothing else is known to have
    /// started it.
    pub(super) fn on_game_started(
        &mut self,
        info: &GameInfo,
        may_be_ours: bool,
    ) -> Option<StartedGame> {
        self.idle_since = None;
        let opponent = &info.opponent.name;
        let (choice, challenge) = match &mut self.state {
            State::Sending {
                choice,
                shown,
                over,
            } if shown
                .as_ref()
                .map_or(may_be_ours, |shown| shown.id == info.id)
                && choice.users.contains(opponent) =>
            {
                *over = true;
                (choice.clone(), None)
            }
            State::AwaitingEcho { choice, .. }
                if may_be_ours && choice.users.contains(opponent) =>
            {
                let choice = choice.clone();
                self.state = State::Idle;
                (choice, None)
            }
            State::Pending { pending, .. } if pending.challenge.id == info.id => {
                let pending = pending.clone();
                self.state = State::Idle;
                (pending.choice, Some(pending.challenge))
            }
            State::Canceling {
                pending,
                unanswered,
            } if pending.challenge.id == info.id => {
                *unanswered = false;
                (pending.choice.clone(), Some(pending.challenge.clone()))
            }
            _ => return None,
        };
        let (offer, pair) = (choice.offer, choice.pair.is_some());
        info!(game = %info.id, "{opponent} plays {offer} with us, by {}", choice.profile);
        self.history
            .record_game(opponent, offer, pair, info.color, clock::date());
        // The end of a game may be missed.
        if self.games.len() == MAX_REMEMBERED_GAMES {
            self.games.remove(0);
        }
        self.games.push((info.id.clone(), opponent.clone(), offer));
        self.backoff = None;
        Some(StartedGame {
            kind: match choice.pair {
                Some(PairGame::Second) => MatchmakingGame::Second,
                Some(PairGame::First) | None => MatchmakingGame::First,
            },
            profile: choice.profile,
            challenge,
        })
    }

    /// A game has finished. Whether the history has changed.
    pub(super) fn on_game_finished(&mut self, info: &GameInfo) -> bool {
        let Some(at) = self.games.iter().position(|(id, ..)| *id == info.id) else {
            return false;
        };
        let (_, user, offer) = self.games.remove(at);
        let unplayed = !info.status.was_played();
        if unplayed {
            self.record_refusal(&user, offer, Refusal::Unplayed);
        }
        unplayed
    }
}

#[cfg(test)]
mod tests;
