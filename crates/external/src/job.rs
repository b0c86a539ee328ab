//! A search that waits for a process or runs on one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use knightwatch_chess::Game;
use knightwatch_engine::{Limits, SearchHandle, Task, time_bounds};
use knightwatch_util::sync::lock;
use tracing::Span;

use super::answer::Opponent;
use super::channel::{Deadlines, StopSwitch};
use super::pool::Shared;
use super::settings::ExternalSettings;

/// Least and most time for the move after `stop`; on a busy machine engines take their time.
const MIN_STOP_TIMEOUT: Duration = Duration::from_millis(30);
const MAX_STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Time after the end of all deadlines before a process is killed.
const KILL_MARGIN: Duration = Duration::from_millis(250);

/// Time after the fixed time of a move before `stop` is sent.
const FIXED_TIME_MARGIN: Duration = Duration::from_millis(20);

/// Share of the clock that the move may take after `stop`: 1 in this number.
const STOP_CLOCK_SHARE: u32 = 16;

/// Time limit of a search without any limit on time.
pub(crate) const MAX_SEARCH_TIME: Duration = Duration::from_secs(600);

/// Time limit of an analysis without any limit on time. Its owner stops it before.
const MAX_ANALYSIS_TIME: Duration = Duration::from_secs(24 * 3600);

/// Facts about a game besides its moves, for an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GameSetup {
    /// Options for this game, in addition to those of the engine.
    pub options: Vec<(String, String)>,
    /// The opponent.
    pub opponent: Option<Opponent>,
    /// The opponent's time.
    pub opponent_time: Option<Duration>,
}

/// Reason for a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A game waits for the move.
    Move,
    /// The opponent thinks.
    Ponder,
    /// A board shows its lines.
    Analysis,
}

/// A search to run.
pub(crate) struct Job {
    pub purpose: Purpose,
    pub task: Task,
    pub setup: Arc<GameSetup>,
    pub since: Instant,
    pub bounds: Bounds,
    pub control: Arc<Control>,
    /// Names the game in the log.
    pub span: Span,
}

impl Job {
    pub(crate) fn new(purpose: Purpose, task: Task, setup: Arc<GameSetup>) -> Self {
        let longest = match purpose {
            Purpose::Move | Purpose::Ponder => MAX_SEARCH_TIME,
            Purpose::Analysis => MAX_ANALYSIS_TIME,
        };
        Self {
            purpose,
            bounds: Bounds::within(longest, &task.limits, &task.game),
            since: Instant::now(),
            control: Arc::default(),
            span: Span::current(),
            setup,
            task,
        }
    }

    /// Returns whether a game waits for the result.
    pub(crate) fn is_awaited(&self) -> bool {
        self.purpose == Purpose::Move
    }

    /// Returns whether a game has waited for the result, and does so no longer.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_awaited() && self.control.is_abandoned()
    }

    /// Returns whether it is an analysis that a game has ended.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.purpose == Purpose::Analysis && self.control.lock().is_interrupted
    }

    /// Until when the job waits for a process. After that the embedded engine has just the soft limit left.
    pub(crate) fn latest_start(&self) -> Instant {
        let Bounds { soft, latest, .. } = self.bounds;
        self.since + latest.saturating_sub(soft).max(soft / 4)
    }

    /// When the search has to be over.
    pub(crate) fn deadline(&self) -> Instant {
        self.since + self.bounds.latest
    }

    /// When the process is killed if it has not moved.
    pub(crate) fn kill_deadline(&self) -> Instant {
        self.deadline() + stop_timeout(&self.task.limits) + KILL_MARGIN
    }

    /// Returns whether most of the time is gone.
    pub(crate) fn is_late(&self) -> bool {
        self.since.elapsed() >= self.bounds.soft / 2 || self.control.is_stopped()
    }

    /// Takes over the limits of a ponder hit, if there was one: the job is awaited from then on. Otherwise a search on the
    /// opponent's time is over.
    pub(crate) fn end_pondering(&mut self) {
        if self.is_awaited() {
            return;
        }
        let mut state = self.control.lock();
        let Some((since, limits)) = state.ponder_hit.take() else {
            // A later ponder hit must not wait for the result.
            self.control.stopped.store(true, Ordering::SeqCst);
            return;
        };
        self.since = since;
        self.bounds = Bounds::of(&limits, &self.task.game);
        self.task.limits = limits;
        self.purpose = Purpose::Move;
    }
}

/// Time limits of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub soft: Duration,
    pub hard: Duration,
    /// When it has to be over, from when it was wanted: a limit for each move leaves the clock to wait for a process.
    pub latest: Duration,
}

impl Bounds {
    pub(crate) fn of(limits: &Limits, game: &Game) -> Self {
        Self::within(MAX_SEARCH_TIME, limits, game)
    }

    /// `longest` is the limit if these limits have none on time.
    fn within(longest: Duration, limits: &Limits, game: &Game) -> Self {
        let (soft, hard) = time_bounds(limits, game).unwrap_or((longest, longest));
        let by_clock = Limits {
            clock: limits.clock,
            ..Limits::default()
        };
        let latest = match time_bounds(&by_clock, game) {
            Some((_, hard_by_clock)) => hard_by_clock.max(hard),
            None => 2 * hard,
        };
        Self { soft, hard, latest }
    }

    /// The time that an engine gets for a move instead of the clock, if it does.
    pub(crate) fn fixed_time(
        &self,
        limits: &Limits,
        settings: &ExternalSettings,
    ) -> Option<Duration> {
        let movetime = settings.limits.movetime.or(limits.movetime);
        let ours = settings.own_time_management && limits.clock.is_some();
        let fixed = movetime.map(|time| time.min(self.hard));
        fixed.or(ours.then_some(self.soft))
    }

    /// When `stop` is sent. An engine that keeps to a fixed time ends by itself before.
    pub(crate) fn stop(&self, fixed_time: Option<Duration>) -> Duration {
        fixed_time.map_or(self.hard, |time| (time + FIXED_TIME_MARGIN).min(self.hard))
    }
}

/// Time for the move after `stop`.
fn stop_timeout(limits: &Limits) -> Duration {
    let by_clock = limits.clock.map(|clock| clock.remaining / STOP_CLOCK_SHARE);
    let stop_timeout = by_clock.unwrap_or(MAX_STOP_TIMEOUT);
    stop_timeout.clamp(MIN_STOP_TIMEOUT, MAX_STOP_TIMEOUT)
}

/// Deadlines of a search that is stopped at this time.
pub(crate) fn deadlines(soft: Instant, limits: &Limits) -> Deadlines {
    let stop_timeout = stop_timeout(limits);
    Deadlines {
        soft: Some(soft),
        hard: soft + stop_timeout,
        stop_timeout,
    }
}

/// Connects a handle to its search.
#[derive(Default)]
pub(crate) struct Control {
    stopped: AtomicBool,
    /// Nobody waits for the result any more.
    abandoned: AtomicBool,
    state: Mutex<ControlState>,
}

#[derive(Default)]
struct ControlState {
    running: Option<Running>,
    /// Time and limits of the ponder hit.
    ponder_hit: Option<(Instant, Limits)>,
    /// A game has needed the process.
    is_interrupted: bool,
    /// When the process is killed if the search is not over.
    kill_deadline: Option<Instant>,
    outcome: Outcome,
}

pub(crate) enum Running {
    Process(StopSwitch),
    Embedded(SearchHandle),
}

/// How a search ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Why the embedded engine has played, if it has.
    pub fallback: Option<String>,
    /// Why a search that no game waits for has failed, if it has.
    pub failure: Option<String>,
    /// Lines of the transcript, with `>` before ours and `<` before the engine's.
    pub transcript: Vec<String>,
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, ControlState> {
        lock(&self.state)
    }

    /// Sets when the process is killed; `None` for a search that nobody waits for.
    pub(crate) fn set_kill_deadline(&self, deadline: Option<Instant>) {
        self.lock().kill_deadline = deadline;
    }

    /// Returns whether the process is to be killed.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        let mut state = self.lock();
        if state.kill_deadline.is_none() && self.is_stopped() {
            state.kill_deadline = Some(now + MAX_STOP_TIMEOUT + KILL_MARGIN);
        }
        state.kill_deadline.is_some_and(|deadline| deadline <= now)
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        match &self.lock().running {
            Some(Running::Process(switch)) => switch.stop(),
            Some(Running::Embedded(handle)) => handle.stop(),
            None => {}
        }
    }

    /// Returns whether the opponent has made the move that the search ponders on.
    pub(crate) fn was_ponder_hit(&self) -> bool {
        self.lock().ponder_hit.is_some()
    }

    /// Stops a search that no game waits for, unless the opponent has made the move.
    pub(crate) fn interrupt(&self) -> bool {
        let mut state = self.lock();
        if state.ponder_hit.is_some() {
            return false;
        }
        state.is_interrupted = true;
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(Running::Process(switch)) = &state.running {
            switch.stop();
        }
        true
    }

    /// Sets what runs now; `None` for the end of the search.
    pub(crate) fn set_running(&self, running: Option<Running>) {
        self.lock().running = running;
        if self.is_stopped() {
            self.stop();
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::SeqCst)
    }

    /// Changes what is known about the end of the search.
    pub(crate) fn update_outcome(&self, change: impl FnOnce(&mut Outcome)) {
        change(&mut self.lock().outcome);
    }
}

/// A search on an external engine. Dropping it stops the search.
pub struct ExternalHandle {
    pub(crate) control: Arc<Control>,
    /// The game that is searched.
    pub(crate) game: Box<Game>,
    pool: Weak<Shared>,
}

impl ExternalHandle {
    pub(crate) fn of(job: &Job, pool: &Arc<Shared>) -> Self {
        Self {
            control: Arc::clone(&job.control),
            game: Box::new(job.task.game.clone()),
            pool: Arc::downgrade(pool),
        }
    }

    /// Stops the search; its best move so far becomes the result.
    pub fn stop(&self) {
        self.control.stop();
        if let Some(pool) = self.pool.upgrade() {
            pool.on_stopped();
        }
    }

    /// The opponent has made the move that was pondered on: continues under these limits, which start now. Returns whether the
    /// search still runs.
    pub fn ponderhit_with(&self, limits: &Limits) -> bool {
        let Some(pool) = self.pool.upgrade() else {
            return false;
        };
        let mut state = self.control.lock();
        if self.control.is_stopped() {
            return false;
        }
        let Some(Running::Process(switch)) = &state.running else {
            return false;
        };
        let now = Instant::now();
        let bounds = Bounds::of(limits, &self.game);
        let stop = bounds.stop(bounds.fixed_time(limits, pool.settings()));
        switch.ponderhit(deadlines(now + stop, limits));
        state.kill_deadline = Some(now + bounds.latest + stop_timeout(limits) + KILL_MARGIN);
        state.ponder_hit = Some((now, limits.clone()));
        true
    }

    /// The reason for a fallback, also of a search that still runs.
    pub fn fallback_reason(&self) -> FallbackReason {
        FallbackReason(Arc::clone(&self.control))
    }

    /// How the search ended, once its result is there.
    pub fn outcome(&self) -> Outcome {
        self.control.lock().outcome.clone()
    }
}

/// Reason for which the embedded engine plays in place of this one.
#[derive(Clone)]
pub struct FallbackReason(Arc<Control>);

impl FallbackReason {
    /// The reason; `None` if the embedded engine does not play.
    pub fn get(&self) -> Option<String> {
        self.0.lock().outcome.fallback.clone()
    }
}

impl Drop for ExternalHandle {
    fn drop(&mut self) {
        self.control.abandoned.store(true, Ordering::SeqCst);
        self.stop();
        // A search of the embedded engine ends when its handle is dropped.
        let mut state = self.control.lock();
        let running = state
            .running
            .take_if(|running| matches!(running, Running::Embedded(_)));
        drop((state, running));
    }
}
