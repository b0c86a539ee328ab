//! State shared by the threads of one search, besides the transposition table: stop flag, clock, node count.

use std::num::NonZeroU64;
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use knightwatch_util::sync::lock;

use super::Limits;
use super::time::{Progress, TimeBudget};

/// The most nodes between two polls of the stop flag and the clock.
pub(crate) const MAX_NODES_PER_POLL: u64 = 1_024;

/// Nodes before the first poll: half a millisecond, enough for the first iteration to sort out the blunders.
const FIRST_POLL_NODES: u64 = 512;

/// Stop flag, clock and counters of one search.
pub(crate) struct Control {
    started: Instant,
    ply: u32,
    /// The time budget that the search started with.
    budget_at_start: Option<TimeBudget>,
    /// The time budget since `ponderhit`, if that brought new limits.
    budget_at_ponderhit: OnceLock<Option<TimeBudget>>,
    max_nodes: u64,
    nodes_per_ms: Option<NonZeroU64>,
    infinite: bool,
    stopped: AtomicBool,
    pondering: AtomicBool,
    /// When the ponder move was played, in microseconds since the start.
    ponder_hit_at: AtomicU64,
    /// Positions visited by all threads, as last reported.
    nodes: AtomicU64,
    /// Whether the node limit applies: not before the main thread has completed an iteration.
    is_node_limited: AtomicBool,
    /// How many threads may take part; threads with a higher id leave.
    max_threads: AtomicUsize,
    /// The state of the last iteration, if it ended while pondering.
    ponder_progress: Mutex<Option<Progress>>,
    changed: Condvar,
    /// Test hook: the main thread panics after this many nodes.
    pub panic_after_nodes: u64,
}

impl Control {
    /// Starts the clock. `ply` counts from the start of the game.
    pub(crate) fn new(limits: &Limits, ply: u32) -> Control {
        Control {
            started: Instant::now(),
            ply,
            budget_at_start: TimeBudget::new(limits, ply),
            budget_at_ponderhit: OnceLock::new(),
            max_nodes: limits.nodes.unwrap_or(u64::MAX),
            nodes_per_ms: limits.nodes_per_ms,
            infinite: limits.infinite,
            stopped: AtomicBool::new(false),
            pondering: AtomicBool::new(limits.ponder),
            ponder_hit_at: AtomicU64::new(0),
            nodes: AtomicU64::new(0),
            is_node_limited: AtomicBool::new(false),
            max_threads: AtomicUsize::new(1),
            ponder_progress: Mutex::new(None),
            changed: Condvar::new(),
            panic_after_nodes: u64::MAX,
        }
    }

    /// Ends the search.
    pub(crate) fn stop(&self) {
        let _guard = self.lock_progress();
        self.stopped.store(true, Relaxed);
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    pub(crate) fn is_pondering(&self) -> bool {
        self.pondering.load(Acquire)
    }

    /// Stops the search if it ponders.
    pub(crate) fn stop_if_pondering(&self) {
        let _guard = self.lock_progress();
        if self.is_pondering() {
            self.stopped.store(true, Relaxed);
            self.changed.notify_all();
        }
    }

    /// The expected move was played: the clock runs from now on, by `limits` if given. Returns false if the search
    /// was stopped already or does not ponder.
    pub(crate) fn ponder_hit(&self, limits: Option<&Limits>) -> bool {
        let progress = self.lock_progress();
        if self.is_stopped() || !self.is_pondering() {
            return false;
        }
        let at = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.ponder_hit_at.store(at, Relaxed);
        if let Some(limits) = limits {
            let _ = self
                .budget_at_ponderhit
                .set(TimeBudget::new(limits, self.ply));
        }
        // The release store makes `ponder_hit_at` visible to threads that see the flag cleared.
        self.pondering.store(false, Release);
        let stop = progress.is_some_and(|progress| self.is_soft_limit_reached(&progress));
        self.stopped.store(stop, Relaxed);
        self.changed.notify_all();
        true
    }

    /// Blocks until a result is wanted: not at all in most searches, until `stop` in an infinite one, until `stop` or
    /// `ponderhit` when pondering.
    pub(crate) fn wait_for_stop_or_ponderhit(&self) {
        let mut progress = self.lock_progress();
        while !self.is_stopped() && (self.infinite || self.is_pondering()) {
            progress = self
                .changed
                .wait(progress)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock_progress(&self) -> MutexGuard<'_, Option<Progress>> {
        lock(&self.ponder_progress)
    }

    /// Time since the start, or what the visited positions count as.
    pub(crate) fn elapsed(&self) -> Duration {
        match self.nodes_per_ms {
            Some(nodes_per_ms) => Duration::from_millis(self.nodes() / nodes_per_ms),
            None => self.started.elapsed(),
        }
    }

    /// Time used on our own clock, which starts at `ponderhit`; `None` while no clock runs.
    fn time_used(&self) -> Option<Duration> {
        if self.infinite || self.is_pondering() {
            return None;
        }
        let since = Duration::from_micros(self.ponder_hit_at.load(Relaxed));
        Some(self.elapsed().saturating_sub(since))
    }

    /// Returns whether the hard bound is reached.
    pub(crate) fn is_out_of_time(&self) -> bool {
        match (self.budget(), self.time_used()) {
            (Some(budget), Some(spent)) => spent >= budget.hard,
            _ => false,
        }
    }

    /// Returns whether to stop instead of starting another iteration.
    pub(crate) fn should_stop_after(&self, progress: &Progress) -> bool {
        if self.infinite || self.budget().is_none() {
            return false;
        }
        let mut ponder_progress = self.lock_progress();
        if self.is_pondering() {
            *ponder_progress = Some(*progress);
            return false;
        }
        self.is_soft_limit_reached(progress)
    }

    /// The best move has turned out to be worse than the last iteration had it: a ponder hit does not stop the search
    /// before this iteration ends, unless nothing else can be played.
    pub(crate) fn on_best_move_failed_low(&self) {
        self.lock_progress().take_if(|progress| !progress.decided);
    }

    /// Returns whether the soft limit is reached. Time spent pondering counts, unless the budget is exact.
    fn is_soft_limit_reached(&self, progress: &Progress) -> bool {
        let done = |budget: TimeBudget| match budget.exact {
            true => self.is_out_of_time(),
            false => progress.decided || self.elapsed() >= budget.adjusted_soft(progress),
        };
        !self.infinite && self.budget().is_some_and(done)
    }

    fn budget(&self) -> Option<TimeBudget> {
        *self
            .budget_at_ponderhit
            .get()
            .unwrap_or(&self.budget_at_start)
    }

    /// The weight of this search when threads are distributed: the reciprocal of the seconds it is going to take. A
    /// search without a clock, or one that ponders, gets the least.
    pub(crate) fn urgency(&self) -> f64 {
        let (min, max) = (Duration::from_millis(1), Duration::from_secs(60));
        let time = match self.budget() {
            Some(budget) if !self.is_pondering() => budget.soft,
            _ => max,
        };
        1.0 / time.clamp(min, max).as_secs_f64()
    }

    /// Adds nodes visited by a thread. Returns the sum over all threads.
    pub(crate) fn add_nodes(&self, nodes: u64) -> u64 {
        self.nodes.fetch_add(nodes, Relaxed) + nodes
    }

    /// Nodes of all threads, as last reported.
    pub(crate) fn nodes(&self) -> u64 {
        self.nodes.load(Relaxed)
    }

    /// Nodes to visit before the first poll.
    pub(crate) fn nodes_to_first_poll(&self) -> u64 {
        FIRST_POLL_NODES.min(self.panic_after_nodes)
    }

    /// Nodes to visit before the next poll, if all threads have visited `nodes` so far; 0 if the limit is reached.
    pub(crate) fn nodes_to_next_poll(&self, nodes: u64) -> u64 {
        let max_nodes = match self.is_node_limited.load(Relaxed) {
            true => self.max_nodes,
            false => u64::MAX,
        };
        max_nodes.saturating_sub(nodes).min(MAX_NODES_PER_POLL)
    }

    /// The main thread has completed the first iteration.
    pub(crate) fn apply_node_limit(&self) {
        self.is_node_limited.store(true, Relaxed);
    }

    /// Returns whether all nodes are searched.
    pub(crate) fn is_spent(&self) -> bool {
        self.nodes_to_next_poll(self.nodes()) == 0
    }

    /// Sets how many threads may take part; the main thread always may.
    pub(crate) fn set_max_threads(&self, max_threads: usize) {
        self.max_threads.store(max_threads.max(1), Relaxed);
    }

    pub(crate) fn is_wanted(&self, thread_id: usize) -> bool {
        thread_id < self.max_threads.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves_in(max_time: Duration) -> Limits {
        Limits {
            max_time: Some(max_time),
            ..Limits::default()
        }
    }

    /// A pondering search with these limits.
    fn pondering(limits: Limits) -> Control {
        let limits = Limits {
            ponder: true,
            ..limits
        };
        Control::new(&limits, 0)
    }

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn ponderhit_after_enough_time_stops() {
        for (time, decided, stops) in [
            (Duration::ZERO, false, true),
            (HOUR, false, false),
            (HOUR, true, true),
        ] {
            let control = pondering(moves_in(time));
            let progress = Progress {
                decided,
                ..Progress::default()
            };
            assert!(!control.should_stop_after(&progress));
            assert!(!control.is_out_of_time());
            assert!(control.ponder_hit(None));
            assert_eq!(control.is_stopped(), stops, "{time:?} {decided}");
            assert_eq!(control.should_stop_after(&progress), stops);
        }
    }

    #[test]
    fn movetime_is_used_up_even_if_decided() {
        let exactly = |time| Limits {
            movetime: Some(time),
            ..Limits::default()
        };
        let certain = Progress {
            stable_iterations: 20,
            best_move_share: 1.0,
            decided: true,
            ..Progress::default()
        };
        let control = Control::new(&exactly(HOUR), 0);
        assert!(!control.should_stop_after(&certain));
        let control = Control::new(&exactly(Duration::ZERO), 0);
        assert!(control.should_stop_after(&certain));
        // The time starts at the hit.
        let control = pondering(exactly(HOUR));
        assert!(!control.should_stop_after(&certain));
        assert!(control.ponder_hit(None));
        assert!(!control.is_stopped() && !control.should_stop_after(&certain));
    }

    #[test]
    fn ponderhit_with_new_limits_replaces_the_budget() {
        for (before, after) in [(Duration::ZERO, HOUR), (HOUR, Duration::ZERO)] {
            let control = pondering(moves_in(before));
            control.should_stop_after(&Progress::default());
            assert!(control.ponder_hit(Some(&moves_in(after))));
            assert_eq!(control.is_stopped(), after.is_zero());
            assert_eq!(control.is_out_of_time(), after.is_zero());
        }
    }

    #[test]
    fn ponderhit_does_not_stop_while_the_best_move_fails_low() {
        for decided in [false, true] {
            let control = pondering(moves_in(Duration::ZERO));
            let progress = Progress {
                decided,
                ..Progress::default()
            };
            control.should_stop_after(&progress);
            control.on_best_move_failed_low();
            assert!(control.ponder_hit(None));
            assert_eq!(control.is_stopped(), decided);
            assert!(control.should_stop_after(&progress));
        }
    }

    #[test]
    fn ponderhit_after_stop_is_refused() {
        let control = pondering(moves_in(HOUR));
        control.stop_if_pondering();
        assert!(control.is_stopped() && !control.ponder_hit(None));
        // Neither does a search that does not ponder accept a hit, and it is not stopped.
        let control = Control::new(&moves_in(HOUR), 0);
        control.stop_if_pondering();
        assert!(!control.is_stopped() && !control.ponder_hit(None));
    }
}
