//! Sender of a built-in player's challenges.

use std::collections::HashMap;
use std::time::Duration;

use crate::challenge::ChallengeConfig;
use crate::sim::Sim;
use crate::site::{GameId, SimTime, SiteState, UserId, Variant};
use knightwatch_chess::Position;

use super::ChallengePlan;
use crate::site::ApiError;
use knightwatch_util::backoff::Backoff;

/// Unanswered challenges are canceled after this.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(25);
/// Upper bound of the random delay before a deliberate cancel.
const MAX_CANCEL_DELAY: Duration = Duration::from_secs(1);
/// Waits after challenges in a row that did not become a game.
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_secs(5), Duration::from_secs(60));
/// Interval of checking whether the opponent is online.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Challenger {
    me: UserId,
    plan: ChallengePlan,
    rng: fastrand::Rng,
    /// Pending challenges, each with the time of its cancellation, and running games, with `None`.
    open: HashMap<GameId, Option<SimTime>>,
    /// Started games and pending challenges.
    started: usize,
    /// All challenges sent.
    sent: usize,
    not_before: SimTime,
    /// Challenges in a row that did not become a game.
    failures: u32,
    /// The site refuses such challenges for good.
    given_up: bool,
}

impl Challenger {
    pub(super) fn new(me: UserId, plan: ChallengePlan, rng: fastrand::Rng, now: SimTime) -> Self {
        Self {
            me,
            plan,
            rng,
            open: HashMap::new(),
            started: 0,
            sent: 0,
            not_before: now,
            failures: 0,
            given_up: false,
        }
    }

    /// Waits longer after each failure.
    fn retry_later(&mut self, now: SimTime) -> Duration {
        let wait = RETRY_BACKOFF.delay(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + wait;
        wait
    }

    /// The time of the next [`run`](Self::run) without an event before it.
    pub(super) fn next_wakeup(&self) -> Option<SimTime> {
        let next_cancel = self.open.values().flatten().min().copied();
        next_cancel.or_else(|| self.has_room().then_some(self.not_before))
    }

    fn has_room(&self) -> bool {
        !self.given_up
            && self.open.len() < self.plan.concurrency
            && self.plan.count.is_none_or(|max| self.started < max)
    }

    pub(super) fn on_game_start(&mut self, id: GameId) {
        if let Some(cancel_at) = self.open.get_mut(&id) {
            *cancel_at = None;
            self.failures = 0;
        }
    }

    pub(super) fn on_game_over(&mut self, id: GameId) {
        self.open.remove(&id);
    }

    /// The challenge was declined, was canceled or has expired.
    pub(super) fn on_challenge_ended(&mut self, id: GameId, now: SimTime) {
        if self.open.remove(&id).is_some() {
            self.started -= 1;
            self.retry_later(now);
        }
    }

    /// Cancels unanswered challenges, and sends the next one if there is room for it.
    pub(super) fn run(&mut self, sim: &Sim) {
        let now = sim.time().now();
        let is_due =
            |cancel_at: &Option<SimTime>| cancel_at.is_some_and(|cancel_at| cancel_at <= now);
        let overdue: Vec<GameId> = self
            .open
            .iter()
            .filter(|(_, cancel_at)| is_due(cancel_at))
            .map(|(id, _)| *id)
            .collect();
        for id in overdue {
            let mut state = sim.state();
            // If it was accepted just now, a notice follows.
            if !state.rounds.contains(id) && state.cancel(&self.me, id, None, now).is_err() {
                self.on_challenge_ended(id, now);
            }
        }
        // A second challenge to the same user would replace the first.
        let is_pending = self.open.values().any(Option::is_some);
        if is_pending || !self.has_room() || now < self.not_before {
            return;
        }
        self.not_before = now + POLL_INTERVAL;
        for _ in 0..self.plan.burst.max(1) {
            self.send(&mut sim.state(), now);
        }
    }

    /// Sends a challenge, even if another one is pending.
    fn send(&mut self, state: &mut SiteState, now: SimTime) {
        for (id, cancel_at) in &mut self.open {
            if state.rounds.contains(*id) {
                *cancel_at = None;
            }
        }
        let pending = self.open.values().flatten().count();
        let max = self.plan.count.unwrap_or(usize::MAX);
        if self.open.len() - pending >= self.plan.concurrency || self.started - pending >= max {
            return;
        }
        let opponent = &self.plan.opponent;
        let is_online = state
            .users
            .by_name(opponent)
            .is_some_and(|user| user.is_online(now));
        if !is_online {
            return;
        }
        let invalid = || ApiError::bad_request("invalid challenge plan");
        let result = next_challenge(&self.plan, self.started)
            .ok_or_else(invalid)
            .and_then(|config| state.challenge(&self.me, opponent, config, now));
        match result {
            Ok((id, _)) => {
                // The challenge that it replaces gets no notice.
                self.open.retain(|_, cancel_at| cancel_at.is_none());
                self.started = self.started - pending + 1;
                self.sent += 1;
                let will_cancel = self
                    .plan
                    .cancel_every
                    .is_some_and(|nth| self.sent.is_multiple_of(nth));
                let timeout = if will_cancel {
                    self.cancel_delay()
                } else {
                    CHALLENGE_TIMEOUT
                };
                self.open.insert(id, Some(now + timeout));
            }
            Err(error) if error.is_final() => {
                self.given_up = true;
                let (me, opponent) = (&self.me, &self.plan.opponent);
                tracing::warn!("{me}: challenge to {opponent} refused: {error}; no more are sent");
            }
            Err(error) => {
                let wait = self.retry_later(now);
                let (me, opponent) = (&self.me, &self.plan.opponent);
                tracing::warn!(
                    "{me}: challenge to {opponent} failed: {error}; retrying in {wait:?}"
                );
            }
        }
    }

    fn cancel_delay(&mut self) -> Duration {
        Duration::from_millis(self.rng.u64(0..=MAX_CANCEL_DELAY.as_millis() as u64))
    }
}

/// The challenge with this number, counted from 0. `None` if the plan is invalid.
fn next_challenge(plan: &ChallengePlan, number: usize) -> Option<ChallengeConfig> {
    let variant = plan.variants.get(number % plan.variants.len().max(1))?;
    let mut variant = Variant::from_key(variant).ok()?;
    let start = match &plan.fen {
        Some(fen) => Some(Position::from_fen(fen).ok()?),
        None => variant.special_start(),
    };
    if variant == Variant::Standard && start.is_some() {
        variant = Variant::FromPosition;
    }
    if variant == Variant::FromPosition && start.is_none() {
        return None;
    }
    Some(ChallengeConfig {
        variant,
        start,
        rated: plan.rated && variant != Variant::FromPosition,
        time_control: *plan
            .time_controls
            .get(number % plan.time_controls.len().max(1))?,
        color: *plan.colors.get(number % plan.colors.len().max(1))?,
        rules: Vec::new(),
        keep_alive: false,
        only_if_followed: false,
    })
}
