//! Status and metrics of the daemon: `knightwatch status`, `/metrics`, `/healthz`.
//!
//! Counters come from the [`Event`]s. The current state is written once a second by the bot's main loop as a
//! [`LiveState`]. Readers get both as one [`Status`].

mod accounts;
mod prometheus;
mod sample;
mod status;
mod status_text;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::{broadcast, watch};

use crate::events::{
    Decision, Event, GameFinished, Moved, RecordsState, RecvError, Severity, Source,
};
use crate::sync::lock;

pub use sample::{Quantiles, Sample};
pub use status::{
    ArenaStatus, Counts, EngineStatus, ExternalStatus, GameStatus, Health, IdleStatus, Latency,
    LimitStatus, LiveState, MatchStatus, OpenChallenge, RecordsStatus, RequestOutcomes, Status,
    StreamStatus,
};

/// Upper limit of games whose end is awaited; the end of a few may be missed.
const MAX_BEGUN_GAMES: usize = 4_096;

/// Time without a sign of the main loop from which the bot is unhealthy; there is one every second.
const STALE_AFTER: Duration = Duration::from_secs(15);

/// Length of an outage from which the bot is unhealthy; a deploy of Lichess takes less.
const OFFLINE_ALARM_AFTER: Duration = Duration::from_secs(120);

/// Upper bounds of the latency histograms, in seconds.
const LATENCY_BUCKETS_SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 2.5, 5.0,
];

/// Stage of an account that has stopped.
const ENDED: &str = "ended";

/// Counters and current state. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    started_at: Instant,
    live: watch::Sender<(LiveState, Instant)>,
    /// Number and time of the heartbeats of the bot's loop.
    heartbeats: Mutex<(u64, Instant)>,
    totals: Mutex<Totals>,
    post: Histogram,
    reaction: Histogram,
    /// Metrics of each account, if these combine several.
    accounts: Vec<Metrics>,
    /// State of the records, if they are enabled.
    records: OnceLock<watch::Sender<RecordsState>>,
    /// Why the page is not open.
    page_problem: Mutex<Option<String>>,
}

/// Counters and samples since the start.
#[derive(Default)]
struct Totals {
    counts: Counts,
    post: Sample,
    reaction: Sample,
    nodes_per_second: Sample,
    hashfull: u32,
    offline_since: Option<Instant>,
    missed_events: u64,
    /// Plies of the running games when they began or were resumed.
    begun_at: HashMap<String, u32>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::combined(Vec::new())
    }
}

impl Metrics {
    /// Combined metrics of several accounts.
    pub fn combined(accounts: Vec<Metrics>) -> Self {
        let now = Instant::now();
        Self(Arc::new(Inner {
            started_at: now,
            live: watch::Sender::new((LiveState::default(), now)),
            heartbeats: Mutex::new((0, now)),
            totals: Mutex::new(Totals {
                offline_since: Some(now),
                ..Totals::default()
            }),
            post: Histogram::new(LATENCY_BUCKETS_SECONDS),
            reaction: Histogram::new(LATENCY_BUCKETS_SECONDS),
            accounts,
            records: OnceLock::new(),
            page_problem: Mutex::default(),
        }))
    }

    /// Shows the state of the records from now on. It is that of the returned sender, the same for all calls.
    pub fn track_records(&self) -> watch::Sender<RecordsState> {
        self.0.records.get_or_init(watch::Sender::default).clone()
    }

    /// Shows from now on why the page is not open.
    pub fn set_page_problem(&self, problem: Option<String>) {
        *lock(&self.0.page_problem) = problem;
    }

    /// Marks this one of several accounts as stopped; `reason` is the error, if any.
    pub fn set_ended(&self, reason: Option<String>) {
        let LiveState {
            account,
            requests,
            stuck_game_recoveries,
            ..
        } = self.0.live.borrow().0.clone();
        self.set_live(LiveState {
            account,
            // Counters do not fall.
            requests,
            stuck_game_recoveries,
            stage: ENDED.to_owned(),
            stopped: reason,
            ..LiveState::default()
        });
    }

    /// Removes the stream and the games from the current state: the account has lost both.
    pub fn set_disconnected(&self) {
        self.0.live.send_modify(|(live, _)| {
            live.stream = None;
            live.games.clear();
        });
    }

    /// Replaces the current state.
    pub fn set_live(&self, live: LiveState) {
        self.0.live.send_replace((live, Instant::now()));
    }

    /// Reports changes of the current state, and that it was written again.
    pub fn subscribe(&self) -> watch::Receiver<(LiveState, Instant)> {
        self.0.live.subscribe()
    }

    /// Notes that the bot's loop is alive. Called at least once a second, also while there is no connection.
    pub fn heartbeat(&self) {
        let mut heartbeats = lock(&self.0.heartbeats);
        *heartbeats = (heartbeats.0 + 1, Instant::now());
    }

    /// Count of heartbeats.
    pub fn heartbeats(&self) -> u64 {
        lock(&self.0.heartbeats).0
    }

    /// Time since the last heartbeat.
    fn silence(&self) -> Duration {
        lock(&self.0.heartbeats).1.elapsed()
    }

    /// Counts events until the last sender is dropped.
    pub async fn follow(self, mut events: broadcast::Receiver<Arc<Event>>) {
        loop {
            match events.recv().await {
                Ok(event) => self.count(&event),
                Err(RecvError::Lagged(missed)) => lock(&self.0.totals).missed_events += missed,
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn count(&self, event: &Event) {
        if let Event::Challenge(challenge) = event {
            // Answers to our own challenges are not counted.
            let by_us = |metrics: &Self| {
                let live = metrics.0.live.borrow();
                live.0.account.as_ref() == Some(&challenge.from.name)
            };
            if by_us(self) || self.0.accounts.iter().any(by_us) {
                return;
            }
        }
        let mut totals = lock(&self.0.totals);
        match event {
            Event::ForAccount { event, .. } => {
                drop(totals);
                self.count(event);
            }
            Event::Online { .. } => {
                totals.offline_since = None;
                totals.counts.event_stream_opens += 1;
            }
            Event::Offline { .. } => {
                totals.offline_since.get_or_insert_with(Instant::now);
            }
            Event::Challenge(challenge) => {
                let counter = match challenge.decision {
                    Decision::Accepted => &mut totals.counts.accepted,
                    Decision::Declined => &mut totals.counts.declined,
                    Decision::Queued | Decision::Dropped => return,
                };
                *counter += 1;
            }
            Event::GameStarted(started) => {
                totals.counts.started += 1;
                if totals.begun_at.len() >= MAX_BEGUN_GAMES {
                    totals.begun_at.clear();
                }
                totals.begun_at.insert(started.game.clone(), started.plies);
            }
            Event::Moved(moved) if moved.ours => self.moved(&mut totals, moved),
            Event::GameFinished(finished) => {
                totals.begun_at.remove(&finished.game);
                totals.counts.finished(finished);
            }
            Event::Note {
                severity: Severity::Error,
                ..
            } => {
                totals.counts.errors += 1;
            }
            _ => {}
        }
    }

    fn moved(&self, totals: &mut Totals, moved: &Moved) {
        // The moves of a resumed game from before are reported, too.
        let begun_at = totals.begun_at.get(&moved.game);
        if begun_at.is_some_and(|plies| moved.ply <= *plies) {
            return;
        }
        totals.counts.moves += 1;
        if let Some(timing) = moved.timing {
            totals.post.add(timing.round_trip);
            self.0.post.observe(timing.round_trip.as_secs_f64());
            let thinking = moved.search.as_ref().map(|search| search.elapsed);
            let reaction = timing.to_post.saturating_sub(thinking.unwrap_or_default());
            totals.reaction.add(reaction);
            self.0.reaction.observe(reaction.as_secs_f64());
        }
        let Some(search) = &moved.search else {
            return;
        };
        match search.source {
            Source::Book => totals.counts.book_moves += 1,
            Source::Fallback => totals.counts.fallback_moves += 1,
            Source::Search | Source::Only => {}
        }
        // Short searches do not measure the speed.
        if search.source == Source::Search && search.elapsed >= Duration::from_millis(20) {
            let per_second = search.nodes as f64 / search.elapsed.as_secs_f64();
            totals.nodes_per_second.add_value(per_second);
            totals.hashfull = search.hashfull;
        }
    }

    /// The current status.
    pub fn status(&self) -> Status {
        let own = self.own();
        if self.0.accounts.is_empty() {
            return own;
        }
        let accounts = self.0.accounts.iter().map(Self::status);
        own.combine(accounts.collect())
    }

    /// Returns whether the main loop of every account that has not ended is alive.
    pub fn is_alive(&self) -> bool {
        let is_alive = |metrics: &Self| {
            let is_ended = metrics.0.live.borrow().0.stage == ENDED;
            is_ended || metrics.silence() < STALE_AFTER
        };
        match self.0.accounts.is_empty() {
            true => is_alive(self),
            false => self.0.accounts.iter().all(is_alive),
        }
    }

    /// Returns whether an account is connected and takes new games.
    pub fn is_ready(&self) -> bool {
        let is_ready = |metrics: &Self| {
            let (live, _) = &*metrics.0.live.borrow();
            live.stage == "running" && live.stream.is_some() && !live.paused
        };
        is_ready(self) || self.0.accounts.iter().any(is_ready)
    }

    /// Status without the accounts.
    fn own(&self) -> Status {
        let mut live = self.0.live.borrow().0.clone();
        let totals = lock(&self.0.totals);
        live.engine.nodes_per_second = totals.nodes_per_second.quantiles(1.0).p50 as u64;
        live.engine.hashfull_permille = totals.hashfull;
        let oldest_turn = live.games.iter().filter_map(|game| game.our_turn_ms).max();
        let mut status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            live,
            health: Health::Ok,
            uptime_s: self.0.started_at.elapsed().as_secs(),
            oldest_turn_ms: oldest_turn.unwrap_or(0),
            counts: totals.counts.clone(),
            latency: Latency {
                post_ms: totals.post.quantiles(1_000.0),
                reaction_ms: totals.reaction.quantiles(1_000.0),
            },
            memory_mib: resident_mib(),
            page: None,
            records: self
                .0
                .records
                .get()
                .map(|state| RecordsStatus::of(&state.borrow())),
            warnings: Vec::new(),
            accounts: Vec::new(),
        };
        let offline = totals.offline_since.map(|since| since.elapsed());
        status.health = health(self.silence(), offline, &status);
        status.warnings = status
            .records
            .iter()
            .flat_map(RecordsStatus::warnings)
            .chain(lock(&self.0.page_problem).clone())
            .collect();
        status
    }

    /// All metrics in Prometheus text format.
    pub fn text(&self) -> String {
        prometheus::encode(self)
    }
}

impl Counts {
    fn finished(&mut self, finished: &GameFinished) {
        match (finished.winner, finished.our_color) {
            (Some(winner), Some(ours)) if winner == ours => self.won += 1,
            (Some(_), Some(_)) => {
                self.lost += 1;
                if finished.status == "outoftime" {
                    self.lost_on_time += 1;
                }
            }
            // The game ended before anything else was known of it.
            (Some(_), None) => {}
            (None, _) if finished.result == "*" => self.aborted += 1,
            (None, _) => self.drawn += 1,
        }
    }
}

/// Health from the time since the main loop last ran, the length of the outage and the games.
fn health(silence: Duration, offline: Option<Duration>, status: &Status) -> Health {
    let unhealthy = |reason: String| Health::Unhealthy { reason };
    if status.live.stage == ENDED {
        let reason = status.live.stopped.as_ref();
        return reason.map_or(Health::Ok, |reason| {
            unhealthy(format!("the account has stopped: {reason}"))
        });
    }
    if silence > STALE_AFTER {
        return unhealthy(format!(
            "the main loop of the bot has been stuck for {} s",
            silence.as_secs()
        ));
    }
    if let Some(offline) = offline.filter(|offline| *offline > OFFLINE_ALARM_AFTER) {
        return unhealthy(format!(
            "the event stream has been closed for {} s",
            offline.as_secs()
        ));
    }
    match status.live.games.iter().find(|game| game.overdue) {
        Some(game) => unhealthy(format!(
            "no move was made in game {} for {} s",
            game.id,
            game.our_turn_ms.unwrap_or(0) / 1_000
        )),
        None => Health::Ok,
    }
}

/// Resident memory of this process in MiB; 0 if unknown.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

#[cfg(test)]
mod tests;
