//! Things that go wrong on purpose.
//!
//! A rule says when and what. Rules about calls are looked up once for each call; what such a rule does to a stream goes
//! with the stream from its opening on. Rules about the site, and about streams that are open, are carried out when their
//! time comes. Every rule throws its own dice, so that the same seed and the same calls bring the same faults.

mod endpoint;
mod fault;
mod journal;
mod library;
mod rule;
mod table;
mod trouble;

pub use endpoint::Endpoint;
pub use fault::{Fault, Latency, Skew, StreamFault};
pub use journal::Visit;
pub use rule::Rule;

pub(crate) use library::LIBRARY;
pub(crate) use rule::Circumstances;
pub(crate) use trouble::{Trouble, Troubles, garbage, oversized, shown_ply};

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::options::TimeControl;
use super::quirks::Castling;

/// The faults that are planted in a site, and how often it was called.
#[derive(Default)]
pub struct Faults {
    seed: u64,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    rules: Vec<Planted>,
    calls: HashMap<Endpoint, usize>,
    journal: journal::Journal,
    /// What is to be undone since its rule was taken away.
    undone: Vec<Deed>,
}

struct Planted {
    rule: Rule,
    rng: fastrand::Rng,
    /// The occasion in which calls are counted.
    occasion: Option<u64>,
    /// Calls that matched on this occasion.
    seen: usize,
    /// Occasions on which it acted by itself.
    acted: u64,
    /// What it does lasts, and goes on now.
    lasts: bool,
}

/// What a call meets.
#[derive(Debug, Default)]
pub(crate) struct Struck {
    pub fault: Option<Fault>,
    troubles: Vec<Trouble>,
    latencies: Vec<(Latency, fastrand::Rng)>,
}

impl Struck {
    /// How long it takes this time.
    pub fn delay(&mut self) -> Duration {
        let latencies = self.latencies.iter_mut();
        latencies.map(|(latency, rng)| latency.draw(rng)).sum()
    }

    /// How long it is held back before it is done, beside that.
    pub fn stall(&self) -> Duration {
        match self.fault {
            Some(Fault::Stall(wait) | Fault::AppliedLate(wait)) => wait,
            _ => Duration::ZERO,
        }
    }

    /// What the stream carries that the call opens.
    pub fn troubles(&mut self) -> Troubles {
        Troubles::new(
            std::mem::take(&mut self.troubles),
            std::mem::take(&mut self.latencies),
        )
    }
}

/// What is done to the site when the time has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deed {
    Restart {
        down: Duration,
        how: StreamFault,
    },
    /// Something happens to streams that are open.
    Cut {
        events: bool,
        games: bool,
        user: Option<String>,
        game: Option<String>,
        how: StreamFault,
    },
    Skew(Option<Skew>),
    Castling(Option<Castling>),
    Pair {
        players: [String; 2],
        clock: TimeControl,
    },
}

/// A game that is on, as rules look at it.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plants a fault.
    pub fn add(&self, rule: Rule) {
        let mut state = self.state();
        // The numbers follow each other at the golden ratio, so that neighbouring rules have nothing in common.
        let number = state.rules.len() as u64 + 1;
        let seed = self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state.rules.push(Planted {
            rule,
            rng: fastrand::Rng::with_seed(seed),
            occasion: None,
            seen: 0,
            acted: 0,
            lasts: false,
        });
        drop(state);
        self.changed.notify_one();
    }

    /// Takes all planted faults away.
    pub fn clear(&self) {
        let mut state = self.state();
        let lasting: Vec<Deed> = state
            .rules
            .drain(..)
            .filter(|planted| planted.lasts)
            .filter_map(|planted| planted.undoing())
            .collect();
        state.undone.extend(lasting);
        drop(state);
        self.changed.notify_one();
    }

    /// How many calls of this kind were made so far, by whomever.
    pub fn calls(&self, endpoint: Endpoint) -> usize {
        self.state().calls.get(&endpoint).copied().unwrap_or(0)
    }

    /// The latest calls of this kind, in their order, by whomever.
    pub fn visits(&self, endpoint: Endpoint) -> Vec<Visit> {
        self.state().journal.of(endpoint)
    }

    /// Counts a call, and says what is wrong with it.
    pub(crate) fn strike(&self, call: &Circumstances<'_>) -> Struck {
        let mut state = self.state();
        *state.calls.entry(call.endpoint).or_default() += 1;
        let mut struck = Struck::default();
        for planted in &mut state.rules {
            if planted.rule.acts_by_itself() || !planted.hits(call) {
                continue;
            }
            planted.add_to(&mut struck);
        }
        state.journal.note(call, struck.fault.is_some());
        struck
    }

    /// Waits until rules are added or taken away.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether a rule that acts by itself waits for games to come to a ply.
    pub(crate) fn watches_plies(&self) -> bool {
        self.state()
            .rules
            .iter()
            .any(|planted| planted.rule.ply.is_some() && planted.rule.acts_by_itself())
    }

    /// What has to be done now.
    pub(crate) fn due(&self, time: Duration, games: &[Progress]) -> Vec<Deed> {
        let mut state = self.state();
        let mut deeds = std::mem::take(&mut state.undone);
        for planted in &mut state.rules {
            if planted.rule.acts_by_itself() {
                deeds.extend(planted.act(time, games));
            }
        }
        deeds
    }

    /// When to look again.
    pub(crate) fn next(&self, time: Duration) -> Option<Duration> {
        let state = self.state();
        let rules = state.rules.iter().map(|planted| &planted.rule);
        rules
            .filter(|rule| rule.acts_by_itself())
            .flat_map(|rule| {
                let next = rule.occasion(time).map_or(0, |occasion| occasion + 1);
                let again = rule.every.map(|_| rule.begins(next));
                [Some(rule.from), rule.until, rule.at, again]
            })
            .flatten()
            .filter(|edge| *edge > time)
            .min()
    }
}

impl Planted {
    /// Whether it strikes this call, which is counted.
    fn hits(&mut self, call: &Circumstances<'_>) -> bool {
        let rule = &self.rule;
        if !rule.is_for(call) || !rule.is_open(call.time) {
            return false;
        }
        let Some(occasion) = rule.occasion(call.time) else {
            return false;
        };
        if self.occasion != Some(occasion) {
            self.occasion = Some(occasion);
            self.seen = 0;
        }
        self.seen += 1;
        if self.seen < rule.nth || self.seen - rule.nth >= rule.times {
            return false;
        }
        match (rule.probability, &rule.fault) {
            (None, _) | (_, Fault::Stream { .. }) => true,
            (Some(probability), _) => self.rng.f64() < probability,
        }
    }

    fn add_to(&mut self, struck: &mut Struck) {
        let trouble = |how, after, planted: &mut Self| Trouble {
            how,
            after,
            ply: planted.rule.ply,
            probability: planted.rule.probability,
            rng: planted.rng.fork(),
        };
        match self.rule.fault {
            Fault::Stream { after, how } => struck.troubles.push(trouble(how, after, self)),
            Fault::Latency(latency) => struck.latencies.push((latency, self.rng.fork())),
            _ if struck.fault.is_some() => {}
            Fault::Drip(pause) => {
                // A stream trickles from its first line on.
                let drip = Trouble {
                    ply: None,
                    probability: None,
                    ..trouble(StreamFault::Drip(pause), 0, self)
                };
                struck.troubles.push(drip);
                struck.fault = Some(self.rule.fault.clone());
            }
            _ => struck.fault = Some(self.rule.fault.clone()),
        }
    }

    /// Whether a game that it is about has come far enough.
    fn is_reached(&self, games: &[Progress]) -> bool {
        let Rule {
            user, game, ply, ..
        } = &self.rule;
        let plays = |progress: &Progress, name: &String| {
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

    /// What it does by itself at this time.
    fn act(&mut self, time: Duration, games: &[Progress]) -> Option<Deed> {
        let occasion = self.rule.occasion(time);
        let open = self.rule.is_open(time) && occasion.is_some();
        if let Some(undoing) = self.undoing() {
            // What lasts begins once and ends once.
            let begins = open && self.acted == 0 && self.is_reached(games);
            let ends = !open && self.lasts;
            if begins {
                (self.acted, self.lasts) = (1, true);
                return self.deed();
            }
            self.lasts &= open;
            return ends.then_some(undoing);
        }
        // Who waits for a ply waits for the first game that comes to it.
        let number = match self.rule.ply {
            Some(_) => u64::from(open && self.is_reached(games)),
            None => occasion.filter(|_| open).map_or(0, |last| last + 1),
        };
        if number <= self.acted {
            return None;
        }
        self.acted = number;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let meant = number >= self.rule.nth && number - self.rule.nth < self.rule.times;
        let lucky = |probability| self.rng.f64() < probability;
        (meant && self.rule.probability.is_none_or(lucky))
            .then(|| self.deed())
            .flatten()
    }

    fn deed(&self) -> Option<Deed> {
        let Rule {
            endpoint,
            user,
            game,
            ..
        } = &self.rule;
        Some(match self.rule.fault {
            Fault::Restart { down, how } => Deed::Restart { down, how },
            Fault::Skew(skew) => Deed::Skew(Some(skew)),
            Fault::Castling(castling) => Deed::Castling(Some(castling)),
            Fault::Pair { ref players, clock } => Deed::Pair {
                players: players.clone(),
                clock,
            },
            Fault::Stream { how, .. } => Deed::Cut {
                events: *endpoint != Some(Endpoint::GameStream) && game.is_none(),
                games: *endpoint != Some(Endpoint::EventStream),
                user: user.clone(),
                game: game.clone(),
                how,
            },
            _ => return None,
        })
    }

    /// How that is undone which it does, if it lasts.
    fn undoing(&self) -> Option<Deed> {
        match self.rule.fault {
            Fault::Skew(_) => Some(Deed::Skew(None)),
            Fault::Castling(_) => Some(Deed::Castling(None)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
