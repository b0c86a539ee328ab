//! What the threads of one search share beside the table: the stop flag, the clock and the node count.

use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::Limits;
use super::time::{Budget, Progress};

/// Nodes between two looks at the stop flag and the clock, at most.
pub(crate) const NODES_PER_LOOK: u64 = 1_024;

/// Nodes before the first look: half a millisecond, in which the first iteration finds the blunders among the moves.
const NODES_AT_LEAST: u64 = 512;

/// The reins of one search.
pub(crate) struct Control {
    started: Instant,
    ply: u32,
    /// As it was when the search began.
    planned: Option<Budget>,
    /// As it is since the expected move was played, if anything else was said then.
    replanned: OnceLock<Option<Budget>>,
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
    /// How the search went by its last iteration, if that ended on the opponent's time.
    ahead: Mutex<Option<Progress>>,
    bell: Condvar,
    /// Nodes after which the first thread panics, to rehearse what happens then; else never.
    pub sabotage: u64,
}

impl Control {
    /// The clock starts now. `ply` counts from the start of the game.
    pub fn new(limits: &Limits, ply: u32) -> Control {
        Control {
            started: Instant::now(),
            ply,
            planned: Budget::new(limits, ply),
            replanned: OnceLock::new(),
            max_nodes: limits.nodes.unwrap_or(u64::MAX),
            infinite: limits.infinite,
            stopped: AtomicBool::new(false),
            pondering: AtomicBool::new(limits.ponder),
            ponder_hit_at: AtomicU64::new(0),
            nodes: AtomicU64::new(0),
            seats: AtomicUsize::new(1),
            ahead: Mutex::new(None),
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

    /// Whether it is on the opponent's time.
    pub fn is_pondering(&self) -> bool {
        self.pondering.load(Acquire)
    }

    /// Ends the search if nobody waits for its answer yet.
    pub fn give_up_pondering(&self) {
        let _guard = self.guard();
        if self.is_pondering() {
            self.stopped.store(true, Relaxed);
            self.bell.notify_all();
        }
    }

    /// The expected move was played: our clock runs from now on, by these limits if there are any. False if it is too late:
    /// the search has been ended, or did not ponder.
    pub fn ponder_hit(&self, limits: Option<&Limits>) -> bool {
        let guard = self.guard();
        if self.is_stopped() || !self.is_pondering() {
            return false;
        }
        let at = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.ponder_hit_at.store(at, Relaxed);
        if let Some(limits) = limits {
            let _ = self.replanned.set(Budget::new(limits, self.ply));
        }
        // Whoever sees that our clock runs sees since when.
        self.pondering.store(false, Release);
        let ripe = guard.is_some_and(|progress| self.is_ripe(&progress));
        self.stopped.store(ripe, Relaxed);
        self.bell.notify_all();
        true
    }

    /// Waits until an answer is wanted: at once in most searches, on `stop` in an infinite one, on `stop` or
    /// `ponderhit` when pondering.
    pub fn wait_until_asked(&self) {
        let mut guard = self.guard();
        while !self.is_stopped() && (self.infinite || self.is_pondering()) {
            guard = self
                .bell
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn guard(&self) -> MutexGuard<'_, Option<Progress>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time on our own clock, less than `elapsed` after pondering; `None` when no clock runs.
    fn on_the_clock(&self) -> Option<Duration> {
        if self.infinite || self.is_pondering() {
            return None;
        }
        let since = Duration::from_micros(self.ponder_hit_at.load(Relaxed));
        Some(self.elapsed().saturating_sub(since))
    }

    /// Whether the hard bound is reached.
    pub fn is_out_of_time(&self) -> bool {
        match (self.budget(), self.on_the_clock()) {
            (Some(budget), Some(spent)) => spent >= budget.hard,
            _ => false,
        }
    }

    /// Whether another iteration is not worth beginning on our own clock.
    pub fn is_time_to_answer(&self, progress: &Progress) -> bool {
        if self.infinite || self.budget().is_none() {
            return false;
        }
        let mut ahead = self.guard();
        if self.is_pondering() {
            *ahead = Some(*progress);
            return false;
        }
        self.is_ripe(progress)
    }

    /// Whether enough was thought. What was thought on the opponent's time counts, unless the time is to be kept to.
    fn is_ripe(&self, progress: &Progress) -> bool {
        let done = |budget: Budget| match budget.exact {
            true => self.is_out_of_time(),
            false => progress.settled || self.elapsed() >= budget.stretched(progress),
        };
        !self.infinite && self.budget().is_some_and(done)
    }

    fn budget(&self) -> Option<Budget> {
        *self.replanned.get().unwrap_or(&self.planned)
    }

    /// How much a thread matters to this search now, beside other searches: the reciprocal of the seconds that it is
    /// going to take. One without a clock, or on the opponent's, can wait.
    pub fn urgency(&self) -> f64 {
        let (least, most) = (Duration::from_millis(1), Duration::from_secs(60));
        let time = match self.budget() {
            Some(budget) if !self.is_pondering() => budget.soft,
            _ => most,
        };
        1.0 / time.clamp(least, most).as_secs_f64()
    }

    /// A thread tells of nodes it has visited since it last told. Returns the sum of all.
    pub fn count(&self, nodes: u64) -> u64 {
        self.nodes.fetch_add(nodes, Relaxed) + nodes
    }

    /// Nodes of all threads, as far as they have told.
    pub fn nodes(&self) -> u64 {
        self.nodes.load(Relaxed)
    }

    /// Nodes that a search may visit before its first look.
    pub fn first_look(&self) -> u64 {
        self.max_nodes.min(NODES_AT_LEAST).min(self.sabotage)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn moves_in(at_most: Duration) -> Limits {
        Limits {
            at_most: Some(at_most),
            ..Limits::default()
        }
    }

    /// A search that ponders within these limits.
    fn pondering(limits: Limits) -> Control {
        let limits = Limits {
            ponder: true,
            ..limits
        };
        Control::new(&limits, 0)
    }

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn what_was_thought_ahead_counts_at_the_hit() {
        for (time, settled, stops) in [
            (Duration::ZERO, false, true),
            (HOUR, false, false),
            (HOUR, true, true),
        ] {
            let control = pondering(moves_in(time));
            let progress = Progress {
                settled,
                ..Progress::default()
            };
            assert!(!control.is_time_to_answer(&progress));
            assert!(!control.is_out_of_time());
            assert!(control.ponder_hit(None));
            assert_eq!(control.is_stopped(), stops, "{time:?} {settled}");
            assert_eq!(control.is_time_to_answer(&progress), stops);
        }
    }

    #[test]
    fn a_time_per_move_is_kept_to_whatever_is_known() {
        let exactly = |time| Limits {
            movetime: Some(time),
            ..Limits::default()
        };
        let certain = Progress {
            stable_for: 20,
            best_share: 1.0,
            settled: true,
            ..Progress::default()
        };
        let control = Control::new(&exactly(HOUR), 0);
        assert!(!control.is_time_to_answer(&certain));
        let control = Control::new(&exactly(Duration::ZERO), 0);
        assert!(control.is_time_to_answer(&certain));
        // It begins at the hit.
        let control = pondering(exactly(HOUR));
        assert!(!control.is_time_to_answer(&certain));
        assert!(control.ponder_hit(None));
        assert!(!control.is_stopped() && !control.is_time_to_answer(&certain));
    }

    #[test]
    fn a_hit_may_bring_another_clock() {
        for (before, after) in [(Duration::ZERO, HOUR), (HOUR, Duration::ZERO)] {
            let control = pondering(moves_in(before));
            control.is_time_to_answer(&Progress::default());
            assert!(control.ponder_hit(Some(&moves_in(after))));
            assert_eq!(control.is_stopped(), after.is_zero());
            assert_eq!(control.is_out_of_time(), after.is_zero());
        }
    }

    #[test]
    fn who_gave_up_cannot_be_hit() {
        let control = pondering(moves_in(HOUR));
        control.give_up_pondering();
        assert!(control.is_stopped() && !control.ponder_hit(None));
        // Nor can who does not ponder, and there is nothing to give up.
        let control = Control::new(&moves_in(HOUR), 0);
        control.give_up_pondering();
        assert!(!control.is_stopped() && !control.ponder_hit(None));
    }
}
