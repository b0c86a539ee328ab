//! How the daemon is doing, in numbers, for whoever looks from outside: `knightwatch status`, `/metrics`, `/healthz`.
//!
//! Two kinds of facts meet here. What happened is counted from the [`Event`]s, which nobody waits for. How things
//! stand is written by the bot's own loop once a second, as a [`Live`]. Who asks gets both as one [`Status`].

mod sample;
mod several;
mod status;
mod text;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::broadcast;

use crate::events::{Color, Decision, Event, GameFinished, Moved, RecvError, Severity, Source};

pub use sample::{Quantiles, Sample};
pub use status::{
    ArenaStatus, Counts, EngineStatus, GameStatus, Health, IdleStatus, Latency, LimitStatus,
    OpenChallenge, Requests, Status, StreamStatus,
};

/// The bot's loop writes every second; when it has not for this long, something is wrong with it.
const STALE: Duration = Duration::from_secs(15);

/// Being offline for longer than this is worth an alarm; a deploy of Lichess takes less.
const DEAF: Duration = Duration::from_secs(120);

/// Upper bounds of the latency histograms, in seconds.
const BOUNDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 2.5, 5.0,
];

/// How things stand, as the bot's loop has it.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Who we are, once that is known.
    pub account: Option<String>,
    /// The server's address, once it is known who we are.
    pub server: Option<String>,
    /// `running`, `draining` or `leaving`.
    pub stage: &'static str,
    /// The operator wants no new games for now.
    pub paused: bool,
    /// Whom the operator has blocked while the bot ran.
    pub blocked: Vec<String>,
    /// The arenas that we take part in.
    pub arenas: Vec<ArenaStatus>,
    /// Our own challenges that wait for an answer.
    pub challenges: Vec<OpenChallenge>,
    /// Why nothing is on, while nothing is.
    pub idle: Option<IdleStatus>,
    /// What is used of what Lichess allows.
    pub limits: Vec<LimitStatus>,
    /// The account's stream, while it is open.
    pub stream: Option<StreamStatus>,
    /// Games that are on.
    pub games: Vec<GameStatus>,
    /// Requests by kind.
    pub requests: Vec<Requests>,
    /// Games that the auditor had to help.
    pub repairs: u64,
    /// The engine's size.
    pub engine: EngineStatus,
    /// Why this account of several has ended before it was told to.
    pub stopped: Option<String>,
}

/// The word for an account of several that has ended.
const ENDED: &str = "ended";

/// The numbers. Cheap to clone; clones are the same numbers.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    born: Instant,
    live: Mutex<(Live, Instant)>,
    past: Mutex<Past>,
    post: Histogram,
    reaction: Histogram,
    /// Those of each account, where these are of several.
    accounts: Vec<Metrics>,
}

/// What was counted.
#[derive(Default)]
struct Past {
    counts: Counts,
    /// Our colour in each game that is on.
    ours: BTreeMap<String, (Color, Instant)>,
    post: Sample,
    reaction: Sample,
    speed: Sample,
    hashfull: u32,
    offline_since: Option<Instant>,
    missed: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl Metrics {
    /// The numbers of several accounts together.
    pub fn of(accounts: Vec<Metrics>) -> Self {
        let now = Instant::now();
        Self(Arc::new(Inner {
            born: now,
            live: Mutex::new((Live::default(), now)),
            past: Mutex::new(Past {
                offline_since: Some(now),
                ..Past::default()
            }),
            post: Histogram::new(BOUNDS),
            reaction: Histogram::new(BOUNDS),
            accounts,
        }))
    }

    /// This account of several has ended, and why if it was not told to.
    pub fn ended(&self, why: Option<String>) {
        let account = lock(&self.0.live).0.account.clone();
        self.live(Live {
            account,
            stage: ENDED,
            stopped: why,
            ..Live::default()
        });
    }

    /// The bot's loop tells how things stand.
    pub fn live(&self, live: Live) {
        self.forget_but(&live.games);
        *lock(&self.0.live) = (live, Instant::now());
    }

    /// Games that were left or lost from sight have no end to be counted.
    fn forget_but(&self, games: &[GameStatus]) {
        let on = |game: &String| games.iter().any(|other| other.id == *game);
        lock(&self.0.past)
            .ours
            .retain(|game, (_, since)| on(game) || since.elapsed() < STALE);
    }

    /// Counts what happens, until the last sender of events is gone.
    pub async fn follow(self, mut events: broadcast::Receiver<Arc<Event>>) {
        loop {
            match events.recv().await {
                Ok(event) => self.count(&event),
                Err(RecvError::Lagged(missed)) => lock(&self.0.past).missed += missed,
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn count(&self, event: &Event) {
        if let Event::Challenge(challenge) = event {
            // What becomes of our own is up to others.
            let by_us = |metrics: &Self| {
                let live = lock(&metrics.0.live);
                live.0.account.as_ref() == Some(&challenge.from.name)
            };
            if by_us(self) || self.0.accounts.iter().any(by_us) {
                return;
            }
        }
        let mut past = lock(&self.0.past);
        match event {
            Event::OfAccount { event, .. } => {
                drop(past);
                self.count(event);
            }
            Event::Online { .. } => {
                past.offline_since = None;
                past.counts.connects += 1;
            }
            Event::Offline { .. } => {
                past.offline_since.get_or_insert_with(Instant::now);
            }
            Event::Challenge(challenge) => {
                let counter = match challenge.decision {
                    Decision::Accepted => &mut past.counts.accepted,
                    Decision::Declined => &mut past.counts.declined,
                    Decision::Queued | Decision::Dropped => return,
                };
                *counter += 1;
            }
            Event::GameStarted(started) => {
                past.counts.started += 1;
                let ours = (started.our_color, Instant::now());
                past.ours.insert(started.game.clone(), ours);
            }
            Event::Moved(moved) if moved.ours => self.moved(&mut past, moved),
            Event::GameFinished(finished) => past.finished(finished),
            Event::Note {
                severity: Severity::Error,
                ..
            } => {
                past.counts.errors += 1;
            }
            _ => {}
        }
    }

    fn moved(&self, past: &mut Past, moved: &Moved) {
        past.counts.moves += 1;
        if let Some(timing) = moved.timing {
            past.post.add(timing.round_trip);
            self.0.post.observe(timing.round_trip.as_secs_f64());
            let thinking = moved.thought.as_ref().map(|thought| thought.elapsed);
            let reaction = timing.to_post.saturating_sub(thinking.unwrap_or_default());
            past.reaction.add(reaction);
            self.0.reaction.observe(reaction.as_secs_f64());
        }
        let Some(thought) = &moved.thought else {
            return;
        };
        if thought.source == Source::Book {
            past.counts.book_moves += 1;
        }
        // Short searches say nothing about the speed.
        if thought.source == Source::Search && thought.elapsed >= Duration::from_millis(20) {
            let per_second = thought.nodes as f64 / thought.elapsed.as_secs_f64();
            past.speed.add_value(per_second);
            past.hashfull = thought.hashfull;
        }
    }

    /// Everything, as of now.
    pub fn status(&self) -> Status {
        let own = self.own();
        if self.0.accounts.is_empty() {
            return own;
        }
        let accounts = self.0.accounts.iter().map(Self::status);
        let together = own.of_all(accounts.collect());
        self.forget_but(&together.games);
        together
    }

    /// What is counted and told here.
    fn own(&self) -> Status {
        let (live, told) = lock(&self.0.live).clone();
        let past = lock(&self.0.past);
        let owed = live.games.iter().filter_map(|game| game.owed_ms).max();
        let mut status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            account: live.account,
            server: live.server,
            stage: live.stage.to_owned(),
            paused: live.paused,
            blocked: live.blocked,
            arenas: live.arenas,
            challenges: live.challenges,
            idle: live.idle,
            limits: live.limits,
            health: Health::Ok,
            up_s: self.0.born.elapsed().as_secs(),
            stream: live.stream,
            games: live.games,
            owed_ms: owed.unwrap_or(0),
            counts: past.counts.clone(),
            requests: live.requests,
            repairs: live.repairs,
            latency: Latency {
                post_ms: past.post.quantiles(1_000.0),
                reaction_ms: past.reaction.quantiles(1_000.0),
            },
            engine: EngineStatus {
                nodes_per_second: past.speed.quantiles(1.0).p50 as u64,
                hashfull_permille: past.hashfull,
                ..live.engine
            },
            memory_mib: resident_mib(),
            page: None,
            stopped: live.stopped,
            accounts: Vec::new(),
        };
        let offline = past.offline_since.map(|since| since.elapsed());
        status.health = health(told.elapsed(), offline, &status);
        status
    }

    /// Everything as Prometheus reads it.
    pub fn text(&self) -> String {
        text::encode(self)
    }
}

impl Past {
    fn finished(&mut self, finished: &GameFinished) {
        let ours = self.ours.remove(&finished.game).map(|(ours, _)| ours);
        let counts = &mut self.counts;
        match (finished.winner, ours) {
            (Some(winner), Some(ours)) if winner == ours => counts.won += 1,
            (Some(_), Some(_)) => {
                counts.lost += 1;
                if finished.status == "outoftime" {
                    counts.flagged += 1;
                }
            }
            // Its beginning was missed, so that nobody knows whose win it is.
            (Some(_), None) => {}
            (None, _) if finished.result == "*" => counts.aborted += 1,
            (None, _) => counts.drawn += 1,
        }
    }
}

/// Whether somebody should look.
fn health(silent: Duration, offline: Option<Duration>, status: &Status) -> Health {
    let because = |why: String| Health::Ill { why };
    if status.stage == ENDED {
        let why = status.stopped.as_ref();
        return why.map_or(Health::Ok, |why| because(format!("it has stopped: {why}")));
    }
    if silent > STALE {
        return because(format!(
            "the bot's loop has not moved for {} s",
            silent.as_secs()
        ));
    }
    if let Some(offline) = offline.filter(|offline| *offline > DEAF) {
        return because(format!(
            "not connected to Lichess for {} s",
            offline.as_secs()
        ));
    }
    match status.games.iter().find(|game| game.late) {
        Some(game) => because(format!(
            "a move is owed in game {} for {} s",
            game.id,
            game.owed_ms.unwrap_or(0) / 1_000
        )),
        None => Health::Ok,
    }
}

/// Resident memory of this process in MiB; 0 where the system does not tell.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
