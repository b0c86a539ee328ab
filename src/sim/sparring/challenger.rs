//! The challenges that a sparring user sends.

use std::collections::HashMap;
use std::time::Duration;

use crate::chess::Position;
use crate::sim::Sim;
use crate::sim::challenge::ChallengeConfig;
use crate::sim::site::id::{GameId, UserId};
use crate::sim::site::state::SiteState;
use crate::sim::site::time::SimTime;
use crate::sim::site::variant::Variant;

use super::Plan;

/// An own challenge that nobody answers is taken back after this.
const PATIENCE: Duration = Duration::from_secs(25);
/// One that is sent to be taken back is taken back after at most this.
const WHIM: Duration = Duration::from_secs(1);
/// Before the next challenge, when one came to nothing.
const PAUSE: Duration = Duration::from_secs(5);
/// How often it is looked whether the opponent is there.
const GLANCE: Duration = Duration::from_millis(100);

/// Who follows a plan.
pub(super) struct Challenger {
    me: UserId,
    plan: Plan,
    rng: fastrand::Rng,
    /// Challenges and games of the plan that are open, with the time of taking it back while it is a challenge.
    open: HashMap<GameId, Option<SimTime>>,
    /// Games that were begun, and challenges that may become some.
    sent: usize,
    /// All challenges.
    asked: usize,
    not_before: SimTime,
}

impl Challenger {
    pub fn new(me: UserId, plan: Plan, rng: fastrand::Rng, now: SimTime) -> Self {
        Self {
            me,
            plan,
            rng,
            open: HashMap::new(),
            sent: 0,
            asked: 0,
            not_before: now,
        }
    }

    /// When there is something to do next, if nothing happens before.
    pub fn wakes_at(&self) -> Option<SimTime> {
        let impatient = self.open.values().flatten().min().copied();
        impatient.or_else(|| self.has_room().then_some(self.not_before))
    }

    fn has_room(&self) -> bool {
        self.open.len() < self.plan.at_once && self.plan.count.is_none_or(|most| self.sent < most)
    }

    /// The challenge has become a game.
    pub fn begins(&mut self, id: GameId) {
        if let Some(until) = self.open.get_mut(&id) {
            *until = None;
        }
    }

    pub fn is_over(&mut self, id: GameId) {
        self.open.remove(&id);
    }

    /// The challenge came to nothing.
    pub fn is_refused(&mut self, id: GameId, now: SimTime) {
        if self.open.remove(&id).is_some() {
            self.sent -= 1;
            self.not_before = now + PAUSE;
        }
    }

    /// Takes back what nobody answers, and sends the next challenge when there is room for it.
    pub fn work(&mut self, sim: &Sim) {
        let now = sim.time().now();
        let late = |until: &Option<SimTime>| until.is_some_and(|until| until <= now);
        let stale: Vec<GameId> = self
            .open
            .iter()
            .filter(|(_, until)| late(until))
            .map(|(id, _)| *id)
            .collect();
        for id in stale {
            let mut state = sim.state();
            // If it was accepted just now, we hear of it.
            if !state.rounds.contains_key(&id) && state.cancel(&self.me, id, None, now).is_err() {
                self.is_refused(id, now);
            }
        }
        // A second challenge to the same user would replace the first.
        let waits = self.open.values().any(Option::is_some);
        if waits || !self.has_room() || now < self.not_before {
            return;
        }
        self.not_before = now + GLANCE;
        for _ in 0..self.plan.burst.max(1) {
            self.send(&mut sim.state(), now);
        }
    }

    /// Sends a challenge, though another one may wait.
    fn send(&mut self, state: &mut SiteState, now: SimTime) {
        for (id, until) in &mut self.open {
            if state.rounds.contains_key(id) {
                *until = None;
            }
        }
        let waiting = self.open.values().flatten().count();
        let most = self.plan.count.unwrap_or(usize::MAX);
        if self.open.len() - waiting >= self.plan.at_once || self.sent - waiting >= most {
            return;
        }
        let opponent = &self.plan.opponent;
        let is_here = state
            .user_by_name(opponent)
            .is_some_and(|user| user.is_online(now));
        if !is_here {
            return;
        }
        let sent = next_challenge(&self.plan, self.sent)
            .ok_or_else(|| "it makes no sense".to_owned())
            .and_then(|wanted| {
                state
                    .challenge(&self.me, opponent, wanted, now)
                    .map_err(|failure| failure.to_string())
            });
        match sent {
            Ok((id, _)) => {
                // What it replaces is gone without a word.
                self.open.retain(|_, until| until.is_none());
                self.sent = self.sent - waiting + 1;
                self.asked += 1;
                let doomed = self
                    .plan
                    .cancels
                    .is_some_and(|nth| self.asked.is_multiple_of(nth));
                let patience = if doomed { self.whim() } else { PATIENCE };
                self.open.insert(id, Some(now + patience));
            }
            Err(why) => {
                tracing::warn!("{}: no challenge to {opponent}: {why}", self.me);
                self.not_before = now + PAUSE;
            }
        }
    }

    fn whim(&mut self) -> Duration {
        Duration::from_millis(self.rng.u64(0..=WHIM.as_millis() as u64))
    }
}

/// The challenge of this number, counted from 0.
fn next_challenge(plan: &Plan, number: usize) -> Option<ChallengeConfig> {
    let mut variant = Variant::from_key(&plan.variant).ok()?;
    let start = match &plan.fen {
        Some(fen) => Some(Position::from_fen(fen).ok()?),
        None => None,
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
