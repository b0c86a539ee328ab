//! Fault injection.
//!
//! A [`FaultRule`] says when a [`Fault`] happens and to which requests. Rules about requests are evaluated once per
//! request; what such a rule does to a stream travels with the stream from its opening. Rules about the whole site, and
//! about streams that are already open, run on a timer. Every rule has its own random generator, so the same seed and the
//! same requests produce the same faults.

mod endpoint;
mod fault;
mod library;
mod raw;
mod request_log;
mod rule;
mod stream_faults;

pub use endpoint::Endpoint;
pub use fault::{Fault, Latency, Skew, StreamFault};
pub use request_log::RequestRecord;
pub use rule::FaultRule;

pub(crate) use library::LIBRARY;
pub(crate) use rule::RequestContext;
pub(crate) use stream_faults::{
    ArmedStreamFault, StreamFaults, garbage_line, oversized_line, ply_of_line,
};

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use knightwatch_util::sync::lock;
use tokio::sync::Notify;

use super::quirks::Castling;
use crate::time_control::TimeControl;

/// The fault rules of a site, and the log of its requests.
#[derive(Default)]
pub struct Faults {
    seed: u64,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    rules: Vec<ArmedRule>,
    request_counts: HashMap<Endpoint, usize>,
    log: request_log::RequestLog,
    /// Actions that undo lasting faults whose rules were removed.
    pending_undo: Vec<SiteAction>,
}

/// A rule with its counters.
struct ArmedRule {
    rule: FaultRule,
    rng: fastrand::Rng,
    /// The period in which requests are being counted.
    period: Option<u64>,
    /// Matching requests in this period.
    match_count: usize,
    /// Periods in which a scheduled rule has fired.
    fired: u64,
    /// A lasting fault is in force.
    in_force: bool,
}

/// The faults that apply to one request.
#[derive(Debug, Default)]
pub(crate) struct MatchedFaults {
    pub fault: Option<Fault>,
    stream_faults: Vec<ArmedStreamFault>,
    latencies: Vec<(Latency, fastrand::Rng)>,
}

impl MatchedFaults {
    /// Draws the latency of one direction.
    pub(crate) fn delay(&mut self) -> Duration {
        let latencies = self.latencies.iter_mut();
        latencies.map(|(latency, rng)| latency.draw(rng)).sum()
    }

    /// Time for which the request is held back before it is processed, in addition to [`Self::delay`].
    pub(crate) fn stall(&self) -> Duration {
        match self.fault {
            Some(Fault::Stall(wait) | Fault::AppliedLate(wait)) => wait,
            _ => Duration::ZERO,
        }
    }

    /// Takes the faults of the stream that the request opens.
    pub(crate) fn take_stream_faults(&mut self) -> StreamFaults {
        StreamFaults::new(
            std::mem::take(&mut self.stream_faults),
            std::mem::take(&mut self.latencies),
        )
    }
}

/// A change to the site that a scheduled rule makes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SiteAction {
    Restart {
        downtime: Duration,
        streams: StreamFault,
    },
    /// Applies a fault to open streams.
    BreakStreams {
        events: bool,
        games: bool,
        user: Option<String>,
        game: Option<String>,
        fault: StreamFault,
    },
    Skew(Option<Skew>),
    Castling(Option<Castling>),
    Pair {
        players: [String; 2],
        clock: TimeControl,
    },
}

/// Progress of a running game, for rules with a `ply`.
#[derive(Clone, Debug)]
pub(crate) struct GameProgress {
    pub game: String,
    pub users: [String; 2],
    pub plies: usize,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Adds a rule.
    pub fn add(&self, rule: FaultRule) {
        let mut state = self.state();
        // Multiples of the golden ratio, so that the generators of neighboring rules are unrelated.
        let number = state.rules.len() as u64 + 1;
        let seed = self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state.rules.push(ArmedRule {
            rule,
            rng: fastrand::Rng::with_seed(seed),
            period: None,
            match_count: 0,
            fired: 0,
            in_force: false,
        });
        drop(state);
        self.changed.notify_one();
    }

    /// Removes all rules and ends their lasting faults.
    pub fn clear(&self) {
        let mut state = self.state();
        let lasting: Vec<SiteAction> = state
            .rules
            .drain(..)
            .filter(|armed| armed.in_force)
            .filter_map(|armed| armed.undo_action())
            .collect();
        state.pending_undo.extend(lasting);
        drop(state);
        self.changed.notify_one();
    }

    /// Number of requests to this endpoint so far, by all users.
    pub fn request_count(&self, endpoint: Endpoint) -> usize {
        self.state()
            .request_counts
            .get(&endpoint)
            .copied()
            .unwrap_or(0)
    }

    /// The latest requests to this endpoint by all users, oldest first.
    pub fn requests(&self, endpoint: Endpoint) -> Vec<RequestRecord> {
        self.state().log.to_endpoint(endpoint)
    }

    /// Counts and logs a request; returns the faults that apply to it.
    pub(crate) fn on_request(&self, request: &RequestContext<'_>) -> MatchedFaults {
        let mut state = self.state();
        *state.request_counts.entry(request.endpoint).or_default() += 1;
        let mut matched = MatchedFaults::default();
        for armed in &mut state.rules {
            if armed.rule.is_scheduled() || !armed.matches(request) {
                continue;
            }
            armed.apply_to(&mut matched);
        }
        state.log.record(request, matched.fault.is_some());
        matched
    }

    /// Waits until rules are added or removed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns whether a scheduled rule waits for a game to reach a ply.
    pub(crate) fn waits_for_ply(&self) -> bool {
        self.state()
            .rules
            .iter()
            .any(|armed| armed.rule.ply.is_some() && armed.rule.is_scheduled())
    }

    /// The actions that are due now.
    pub(crate) fn due_actions(&self, time: Duration, games: &[GameProgress]) -> Vec<SiteAction> {
        let mut state = self.state();
        let mut actions = std::mem::take(&mut state.pending_undo);
        for armed in &mut state.rules {
            if armed.rule.is_scheduled() {
                actions.extend(armed.due_action(time, games));
            }
        }
        actions
    }

    /// The next time at which an action can become due.
    pub(crate) fn next_due(&self, time: Duration) -> Option<Duration> {
        let state = self.state();
        let rules = state.rules.iter().map(|armed| &armed.rule);
        rules
            .filter(|rule| rule.is_scheduled())
            .flat_map(|rule| {
                let next = rule.period(time).map_or(0, |period| period + 1);
                let next_period = rule.every.map(|_| rule.period_start(next));
                [Some(rule.from), rule.until, rule.at, next_period]
            })
            .flatten()
            .filter(|edge| *edge > time)
            .min()
    }
}

impl ArmedRule {
    /// Counts the request if it matches; returns whether the fault applies to it.
    fn matches(&mut self, request: &RequestContext<'_>) -> bool {
        let rule = &self.rule;
        if !rule.is_for(request) || !rule.is_in_window(request.time) {
            return false;
        }
        let Some(period) = rule.period(request.time) else {
            return false;
        };
        if self.period != Some(period) {
            self.period = Some(period);
            self.match_count = 0;
        }
        self.match_count += 1;
        if self.match_count < rule.nth || self.match_count - rule.nth >= rule.times {
            return false;
        }
        match (rule.probability, &rule.fault) {
            (None, _) | (_, Fault::Stream { .. }) => true,
            (Some(probability), _) => self.rng.f64() < probability,
        }
    }

    fn apply_to(&mut self, matched: &mut MatchedFaults) {
        let arm = |fault, after_lines, armed: &mut Self| ArmedStreamFault {
            fault,
            after_lines,
            ply: armed.rule.ply,
            probability: armed.rule.probability,
            rng: armed.rng.fork(),
        };
        match self.rule.fault {
            Fault::Stream { after_lines, fault } => {
                matched.stream_faults.push(arm(fault, after_lines, self));
            }
            Fault::Latency(latency) => matched.latencies.push((latency, self.rng.fork())),
            _ if matched.fault.is_some() => {}
            Fault::Drip(pause) => {
                // A stream trickles from its first line on.
                let drip = ArmedStreamFault {
                    ply: None,
                    probability: None,
                    ..arm(StreamFault::Drip(pause), 0, self)
                };
                matched.stream_faults.push(drip);
                matched.fault = Some(self.rule.fault.clone());
            }
            _ => matched.fault = Some(self.rule.fault.clone()),
        }
    }

    /// Returns whether a game that the rule is about has reached its ply.
    fn ply_reached(&self, games: &[GameProgress]) -> bool {
        let FaultRule {
            user, game, ply, ..
        } = &self.rule;
        let plays = |progress: &GameProgress, name: &String| {
            let mut users = progress.users.iter();
            users.any(|user| user.eq_ignore_ascii_case(name))
        };
        ply.is_none_or(|ply| {
            games.iter().any(|progress| {
                progress.plies >= ply
                    && game.as_ref().is_none_or(|game| progress.game == *game)
                    && user.as_ref().is_none_or(|name| plays(progress, name))
            })
        })
    }

    /// The action of a scheduled rule that is due at this time.
    fn due_action(&mut self, time: Duration, games: &[GameProgress]) -> Option<SiteAction> {
        let period = self.rule.period(time);
        let open = self.rule.is_in_window(time) && period.is_some();
        if let Some(undo) = self.undo_action() {
            // A lasting fault begins once and ends once.
            let begins = open && self.fired == 0 && self.ply_reached(games);
            let ends = !open && self.in_force;
            if begins {
                (self.fired, self.in_force) = (1, true);
                return self.action();
            }
            self.in_force &= open;
            return ends.then_some(undo);
        }
        // A rule with a ply fires for the first game that reaches it.
        let number = match self.rule.ply {
            Some(_) => u64::from(open && self.ply_reached(games)),
            None => period.filter(|_| open).map_or(0, |last| last + 1),
        };
        if number <= self.fired {
            return None;
        }
        self.fired = number;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let in_range = number >= self.rule.nth && number - self.rule.nth < self.rule.times;
        let drawn = |probability| self.rng.f64() < probability;
        (in_range && self.rule.probability.is_none_or(drawn))
            .then(|| self.action())
            .flatten()
    }

    fn action(&self) -> Option<SiteAction> {
        let FaultRule {
            endpoint,
            user,
            game,
            ..
        } = &self.rule;
        Some(match self.rule.fault {
            Fault::Restart { downtime, streams } => SiteAction::Restart { downtime, streams },
            Fault::Skew(skew) => SiteAction::Skew(Some(skew)),
            Fault::Castling(castling) => SiteAction::Castling(Some(castling)),
            Fault::Pair { ref players, clock } => SiteAction::Pair {
                players: players.clone(),
                clock,
            },
            Fault::Stream { fault, .. } => SiteAction::BreakStreams {
                events: *endpoint != Some(Endpoint::GameStream) && game.is_none(),
                games: *endpoint != Some(Endpoint::EventStream),
                user: user.clone(),
                game: game.clone(),
                fault,
            },
            _ => return None,
        })
    }

    /// The action that ends a lasting fault; `None` for other faults.
    fn undo_action(&self) -> Option<SiteAction> {
        match self.rule.fault {
            Fault::Skew(_) => Some(SiteAction::Skew(None)),
            Fault::Castling(_) => Some(SiteAction::Castling(None)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
