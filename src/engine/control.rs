//! What the threads of one search share beside the table: the stop flag, the clock and the node count.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Limits;
use super::time::{Budget, Progress};

/// Nodes between two looks at the stop flag and the clock, at most.
pub(crate) const NODES_PER_LOOK: u64 = 1_024;

/// The reins of one search.
pub(crate) struct Control {
    started: Instant,
    budget: Option<Budget>,
    max_nodes: u64,
    infinite: bool,
    stopped: AtomicBool,
    pondering: AtomicBool,
    /// When the ponder move was played, in microseconds since the start.
    ponder_hit_at: AtomicU64,
    /// Positions visited by all threads, as far as they have told.
    nodes: AtomicU64,
    /// Threads that may take part; the thread in a seat beyond leaves.
    seats: AtomicUsize,
    lock: Mutex<()>,
    bell: Condvar,
    /// Nodes after which the first thread panics, to rehearse what happens then; else never.
    pub sabotage: u64,
}

impl Control {
    /// The clock starts now. `ply` counts from the start of the game.
    pub fn new(limits: &Limits, ply: u32) -> Control {
        Control {
            started: Instant::now(),
            budget: Budget::new(limits, ply),
            max_nodes: limits.nodes.unwrap_or(u64::MAX),
            infinite: limits.infinite,
            stopped: AtomicBool::new(false),
            pondering: AtomicBool::new(limits.ponder),
            ponder_hit_at: AtomicU64::new(0),
            nodes: AtomicU64::new(0),
            seats: AtomicUsize::new(1),
            lock: Mutex::new(()),
            bell: Condvar::new(),
            sabotage: u64::MAX,
        }
    }

    /// Ends the search.
    pub fn stop(&self) {
        let _guard = self.guard();
        self.stopped.store(true, Relaxed);
        self.bell.notify_all();
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// The expected move was played: our clock runs from now on.
    pub fn ponder_hit(&self) {
        let _guard = self.guard();
        let at = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.ponder_hit_at.store(at, Relaxed);
        self.pondering.store(false, Relaxed);
        self.bell.notify_all();
    }

    /// Waits until an answer is wanted: at once in most searches, on `stop` in an infinite one, on `stop` or
    /// `ponderhit` when pondering.
    pub fn wait_until_asked(&self) {
        let mut guard = self.guard();
        while !self.is_stopped() && (self.infinite || self.pondering.load(Relaxed)) {
            guard = self
                .bell
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn guard(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time on our own clock, less than `elapsed` after pondering; `None` when no clock runs.
    fn on_the_clock(&self) -> Option<Duration> {
        if self.infinite || self.pondering.load(Relaxed) {
            return None;
        }
        let since = Duration::from_micros(self.ponder_hit_at.load(Relaxed));
        Some(self.elapsed().saturating_sub(since))
    }

    /// Whether the hard bound is reached.
    pub fn is_out_of_time(&self) -> bool {
        match (&self.budget, self.on_the_clock()) {
            (Some(budget), Some(spent)) => spent >= budget.hard,
            _ => false,
        }
    }

    /// Whether another iteration is not worth beginning. What was thought on the opponent's time counts.
    pub fn is_time_to_answer(&self, progress: &Progress) -> bool {
        match (&self.budget, self.on_the_clock()) {
            (Some(budget), Some(_)) => self.elapsed() >= budget.stretched(progress),
            _ => false,
        }
    }

    /// How much a thread matters to this search now, beside other searches: the reciprocal of the seconds that it is
    /// going to take. One without a clock can wait.
    pub fn urgency(&self) -> f64 {
        let (least, most) = (Duration::from_millis(1), Duration::from_secs(60));
        let time = self.budget.as_ref().map_or(most, |budget| budget.soft);
        1.0 / time.clamp(least, most).as_secs_f64()
    }

    /// Whether our clock runs, so that a forced move had better be played at once.
    pub fn is_on_a_clock(&self) -> bool {
        self.budget.is_some() && self.on_the_clock().is_some()
    }

    /// A thread tells of nodes it has visited since it last told. Returns the sum of all.
    pub fn count(&self, nodes: u64) -> u64 {
        self.nodes.fetch_add(nodes, Relaxed) + nodes
    }

    /// Nodes of all threads, as far as they have told.
    pub fn nodes(&self) -> u64 {
        self.nodes.load(Relaxed)
    }

    /// Nodes that a search which has visited `nodes` so far may visit before the next look.
    pub fn next_look(&self, nodes: u64) -> u64 {
        self.max_nodes.saturating_sub(nodes).min(NODES_PER_LOOK)
    }

    /// Lets this many threads take part, the first one always.
    pub fn set_seats(&self, seats: usize) {
        self.seats.store(seats.max(1), Relaxed);
    }

    pub fn has_seat(&self, seat: usize) -> bool {
        seat < self.seats.load(Relaxed)
    }
}
