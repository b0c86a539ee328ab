//! Warm processes of an engine that are shared by all games, and the watchdog over them.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use knightwatch_chess::{CastlingNotation, Move, Variant};
use knightwatch_engine::{Engine, SearchInfo, Task};
use knightwatch_util::backoff::Backoff;
use knightwatch_util::sync::lock;
use tracing::{debug, error, info, warn};

use super::channel::{EngineError, Protocol};
use super::engine::{Abilities, MULTI_PV, check_option};
use super::engine_option::EngineOption;
use super::job::{Control, ExternalHandle, GameSetup, Job, MAX_SEARCH_TIME, Purpose, Running};
use super::process::ProcessTable;
use super::settings::ExternalSettings;
use super::worker::Worker;

/// Failures of an engine in one game after which the embedded engine plays the rest of it.
const MAX_FAILURES_PER_GAME: u32 = 3;

/// Reason for a fallback when all processes have failed.
const NONE_READY: &str = "no process is ready";

/// Reason for a fallback when all processes are busy.
const NONE_FREE: &str = "no process was free";

/// Moves of a game in a row for which no process was free, after which the game does not wait for one any more.
const MAX_MISSES: u32 = 2;

/// Interval of the checks for searches past their kill deadline.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Reason for a fallback in the rest of a game with too many failures.
const FAILED_TOO_OFTEN: &str =
    "it has failed too often, and the embedded engine plays the rest of this game";

/// Games whose records are kept.
const MAX_REMEMBERED_GAMES: usize = 1_024;

/// Delays of the restarts of a process.
const RESTART_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// A process that has worked for this long is restarted with the first delay again.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// Least time of the embedded engine for a fallback.
const MIN_FALLBACK_TIME: Duration = Duration::from_millis(10);

/// Least time between two warnings that no process was free.
const BUSY_WARNING_INTERVAL: Duration = Duration::from_secs(600);

/// Counts of an engine since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Name that the engine reports, once it has started.
    pub identity: Option<String>,
    /// Processes that are ready or at work.
    pub ready: usize,
    /// Moves that it has found.
    pub moves: u64,
    /// Moves that the embedded engine has found in its place.
    pub fallbacks: u64,
    /// Failures of a process, those at the start included.
    pub failures: u64,
    /// The last failure.
    pub last_failure: Option<String>,
}

/// An engine in processes of its own. Clones share it; dropping the last one ends the processes.
#[derive(Clone)]
pub struct ExternalEngine {
    owner: Arc<Owner>,
}

/// Ends the threads.
struct Owner(Arc<Shared>);

pub(crate) struct Shared {
    settings: ExternalSettings,
    /// The embedded engine, which plays when this one cannot.
    fallback_engine: Engine,
    processes: ProcessTable,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: Vec<Job>,
    closed: bool,
    /// The last game of each process that waits for a job.
    idle: Vec<Option<u64>>,
    /// Searches that no game waits for, which end when a process is needed.
    interruptible: Vec<Arc<Control>>,
    /// Processes that search for a game that waits.
    searches: usize,
    /// Searches that run, with their processes.
    running: Vec<(u32, Arc<Control>)>,
    /// Processes that are about to be ready for the first time, or again.
    starting: usize,
    /// Mistake in the configuration. With one, the engine is not started again.
    mistake: Option<String>,
    /// Transcript with a process that did not start.
    start_transcript: Vec<String>,
    /// Abilities and options of the engine, once a process has started.
    abilities: Abilities,
    options: Vec<EngineOption>,
    games: HashMap<u64, Record>,
    /// Moves for which no process was free, since the start.
    missed: u64,
    /// Time of the last warning about them.
    warned_at: Option<Instant>,
    stats: Stats,
}

/// The record of the engine in a game.
#[derive(Default)]
struct Record {
    failures: u32,
    /// Moves in a row for which no process was free.
    misses: u32,
    /// The last reason in the log for a fallback.
    logged: Option<&'static str>,
}

impl ExternalEngine {
    /// Starts the processes in the background. `fallback_engine`, the embedded engine, plays whenever they cannot.
    pub fn new(settings: ExternalSettings, fallback_engine: Engine) -> Self {
        let processes = settings.processes.max(1);
        let shared = Arc::new(Shared {
            settings,
            fallback_engine,
            processes: ProcessTable::default(),
            state: Mutex::new(State {
                starting: processes,
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        for _ in 0..processes {
            let of_process = Arc::clone(&shared);
            if !spawn("external engine", move || of_process.run_process()) {
                shared.lock().starting -= 1;
            }
        }
        let watched = Arc::clone(&shared);
        spawn("engine watchdog", move || watched.watch());
        Self {
            owner: Arc::new(Owner(shared)),
        }
    }

    /// The name in the configuration.
    pub fn name(&self) -> &str {
        &self.owner.0.settings.name
    }

    /// The settings with which it was started.
    pub fn settings(&self) -> &ExternalSettings {
        &self.owner.0.settings
    }

    /// The number of processes.
    pub fn processes(&self) -> usize {
        self.owner.0.settings.processes.max(1)
    }

    /// Returns whether a process is ready.
    pub fn is_ready(&self) -> bool {
        self.owner.0.lock().stats.ready > 0
    }

    /// Waits until a process is ready or has failed to start. Returns what is wrong with the configuration of the engine, if that
    /// is known by then.
    pub fn wait_for_start(&self, timeout: Duration) -> Option<String> {
        let shared = &self.owner.0;
        let is_undecided = |state: &mut State| state.stats.ready == 0 && state.stats.failures == 0;
        let state = shared.lock();
        let waited = shared
            .changed
            .wait_timeout_while(state, timeout, is_undecided);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.mistake.clone()
    }

    /// Problem of these options for the engine; `None` if it has not started yet.
    pub fn option_problem(&self, options: &[(String, String)]) -> Option<String> {
        let state = self.owner.0.lock();
        let identity = state.stats.identity.as_deref()?;
        if self.owner.0.settings.launch.protocol == Protocol::Lines {
            return None;
        }
        let mut options = options.iter();
        options.find_map(|(name, value)| {
            let checked = check_option(identity, &state.options, name, value);
            checked.err().map(|error| error.to_string())
        })
    }

    /// Counts since the start.
    pub fn stats(&self) -> Stats {
        self.owner.0.lock().stats.clone()
    }

    /// Starts a search. The result comes in time and is legal, whatever the engine does.
    pub fn start(&self, task: Task, setup: Arc<GameSetup>) -> ExternalHandle {
        let shared = &self.owner.0;
        let job = Job::new(Purpose::Move, task, setup);
        let handle = ExternalHandle::of(&job, shared);
        let mut state = shared.lock();
        let interruptible = state.interruptible.iter();
        let stoppable = interruptible.filter(|control| !control.was_ponder_hit());
        let is_free = state.idle.len() + stoppable.count() > state.queue.len();
        let misses = state.record(job.task.game_id).misses;
        if let Some(why) = state.unable(&job.task) {
            shared.refuse(state, job, why);
        } else if misses >= MAX_MISSES && !is_free {
            state.missed += 1;
            drop(state);
            shared.play_fallback(job, NONE_FREE.to_owned());
        } else {
            state.queue.push(job);
            let is_needed = state.idle.len() < state.queue.len();
            let mut interruptible = state.interruptible.iter();
            if is_needed && let Some(at) = interruptible.rposition(|control| control.interrupt()) {
                state.interruptible.remove(at);
            }
            drop(state);
            shared.changed.notify_all();
        }
        handle
    }

    /// Starts a search on the opponent's time, with `ponder` in its limits. `None` if the engine cannot ponder or no process is
    /// free. It ends without a result when a process is needed.
    pub fn start_ponder(&self, task: Task, setup: Arc<GameSetup>) -> Option<ExternalHandle> {
        let shared = &self.owner.0;
        let mut state = shared.lock();
        if !shared.settings.ponder || !state.abilities.ponder {
            return None;
        }
        self.start_interruptible(&mut state, Job::new(Purpose::Ponder, task, setup))
    }

    /// Starts an analysis, which reports `multi_pv` lines until it is stopped or a limit is reached. `None` if no process is
    /// free. It ends without a result when a game needs the process, and when it [fails](ExternalHandle::outcome).
    ///
    /// # Errors
    /// The reason why the engine cannot run it.
    pub fn start_analysis(&self, mut task: Task) -> Result<Option<ExternalHandle>, &'static str> {
        let mut state = self.owner.0.lock();
        if let Some(why) = state.unable(&task) {
            return Err(why);
        }
        let lines = task.limits.multi_pv.clamp(1, state.abilities.lines.max(1));
        task.limits.infinite = true;
        let options = match state.abilities.lines {
            0 | 1 => Vec::new(),
            _ => vec![(MULTI_PV.to_owned(), lines.to_string())],
        };
        let setup = Arc::new(GameSetup {
            options,
            ..GameSetup::default()
        });
        let job = Job::new(Purpose::Analysis, task, setup);
        Ok(self.start_interruptible(&mut state, job))
    }

    /// The rules that the engine plays; `None` until a process has started.
    pub fn rules(&self) -> Option<Vec<Variant>> {
        let state = self.owner.0.lock();
        let has_started = state.stats.identity.is_some();
        let rules = [Variant::Standard].into_iter();
        has_started.then(|| rules.chain(state.abilities.variants.clone()).collect())
    }

    /// The number of lines that an analysis can show at once.
    pub fn max_lines(&self) -> usize {
        self.owner.0.lock().abilities.lines.max(1)
    }

    /// Returns whether a game waits for a move.
    pub fn is_searching(&self) -> bool {
        let state = self.owner.0.lock();
        let mut interruptible = state.interruptible.iter();
        state.searches > 0
            || state.queue.iter().any(Job::is_awaited)
            || interruptible.any(|control| control.was_ponder_hit())
    }

    /// Starts a search that no game waits for, if the engine is able to and a process is free.
    fn start_interruptible(&self, state: &mut State, job: Job) -> Option<ExternalHandle> {
        let is_free = state.idle.len() > state.queue.len();
        if !is_free || state.unable(&job.task).is_some() {
            return None;
        }
        let handle = ExternalHandle::of(&job, &self.owner.0);
        state.interruptible.push(Arc::clone(&job.control));
        state.queue.push(job);
        self.owner.0.changed.notify_all();
        Some(handle)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
        // The threads may not get to it before the program ends.
        self.0.processes.kill_all();
    }
}

impl State {
    /// Why the engine cannot run a task.
    fn unable(&self, task: &Task) -> Option<&'static str> {
        let record = self.games.get(&task.game_id);
        let failures = record.map_or(0, |record| record.failures);
        if failures >= MAX_FAILURES_PER_GAME {
            return Some(FAILED_TOO_OFTEN);
        }
        if self.stats.ready == 0 && self.starting == 0 {
            return Some(NONE_READY);
        }
        // Before the first start nobody knows.
        self.stats.identity.as_ref()?;
        let initial = task.game.initial();
        let is_960 = initial.castling_notation() == CastlingNotation::KingTakesRook;
        let variant = initial.variant();
        let limits = &task.limits;
        let is_special = limits.nodes.is_some() || !limits.search_moves.is_empty();
        let elo = limits
            .strength
            .map(|strength| i64::from(strength.elo.get()));
        let is_out_of_range =
            |range: &RangeInclusive<i64>| elo.is_some_and(|elo| !range.contains(&elo));
        let abilities = &self.abilities;
        if is_960 && !abilities.chess960 {
            Some("it does not play Chess960")
        } else if variant != Variant::Standard && !abilities.variants.contains(&variant) {
            Some("it does not play this variant")
        } else if !abilities.any_start && *initial != variant.start() {
            Some("it plays from the initial position only")
        } else if is_special && !abilities.special_limits {
            Some("its protocol has no limit of nodes or moves")
        } else if elo.is_some() && abilities.strength.is_none() {
            Some("it cannot limit its strength")
        } else if abilities.strength.as_ref().is_some_and(is_out_of_range) {
            Some("its UCI_Elo does not take this strength")
        } else {
            None
        }
    }

    /// Takes the job that can wait least, for a process that has played `last_game`. Leaves a job to another process that is
    /// idle and has played its game, because that one has its hash table.
    fn take_job(&mut self, last_game: Option<u64>) -> Option<Job> {
        self.queue.retain(|job| !job.is_abandoned());
        let mine = |job: &Job| {
            let game = job.task.game_id;
            last_game == Some(game) || !self.idle.contains(&Some(game))
        };
        let jobs = self.queue.iter().enumerate().filter(|(_, job)| mine(job));
        let urgency = |job: &Job| (!job.is_awaited(), job.latest_start());
        let (index, _) = jobs.min_by_key(|(_, job)| urgency(job))?;
        Some(self.queue.swap_remove(index))
    }

    fn count_failure(&mut self, error: &EngineError) {
        self.stats.failures += 1;
        self.stats.last_failure = Some(error.to_string());
    }

    fn count_failure_in(&mut self, game: u64) -> u32 {
        let record = self.record(game);
        record.failures += 1;
        // The log of the failure says that the embedded engine plays the rest.
        record.logged = Some(FAILED_TOO_OFTEN);
        record.failures
    }

    fn record(&mut self, game: u64) -> &mut Record {
        if self.games.len() >= MAX_REMEMBERED_GAMES && !self.games.contains_key(&game) {
            self.games.clear();
        }
        self.games.entry(game).or_default()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn settings(&self) -> &ExternalSettings {
        &self.settings
    }

    /// A search was stopped or abandoned, perhaps one that waits for a process.
    pub(crate) fn on_stopped(&self) {
        let _state = self.lock();
        self.changed.notify_all();
    }

    /// Keeps one process running, and gives it jobs.
    fn run_process(&self) {
        let name = &self.settings.name;
        let mut failures = 0_u32;
        while !self.lock().closed {
            let started = Instant::now();
            let mut transcript = Vec::new();
            let result = Worker::start(&self.settings, &self.processes, &mut transcript);
            let is_slow = matches!(result, Err(EngineError::Silent { .. }));
            let mut state = self.lock();
            state.starting -= 1;
            let error = match result {
                Err(error) => {
                    for line in &transcript {
                        debug!("engine {name}: {line}");
                    }
                    state.count_failure(&error);
                    state.start_transcript = transcript;
                    error
                }
                Ok(mut worker) => {
                    state.stats.ready += 1;
                    state.stats.identity = Some(worker.process.name().to_owned());
                    state.abilities = worker.process.abilities();
                    state.options = worker.process.options().to_vec();
                    drop(state);
                    self.changed.notify_all();
                    info!("engine {name} is ready: {}", worker.process.name());
                    let ended = self.serve(&mut worker);
                    self.lock().stats.ready -= 1;
                    // Without the lock, since the end of a process may take long.
                    drop(worker);
                    state = self.lock();
                    match ended {
                        Ok(()) => return,
                        Err(error) => error,
                    }
                }
            };
            if state.closed {
                return;
            }
            let correction = match error.key() {
                Some(key) => format!("; correct `{key}` of [[engine.external]]"),
                None if is_slow => {
                    "; if it needs longer, raise `start_timeout_s` of [[engine.external]]"
                        .to_owned()
                }
                None => String::new(),
            };
            if error.is_mistake() {
                let is_new = state.mistake.replace(error.to_string()).is_none();
                drop(state);
                self.changed.notify_all();
                if is_new {
                    error!(
                        "engine {name}: {error}{correction}; the embedded engine plays instead until this is \
                         corrected and the program is started again"
                    );
                }
                return;
            }
            drop(state);
            self.changed.notify_all();
            if started.elapsed() >= STABLE_AFTER {
                failures = 0;
            }
            let delay = RESTART_BACKOFF.delay(failures);
            warn!(
                "engine {name} has failed: {error}{correction}; it is restarted in {} s",
                delay.as_secs()
            );
            self.wait_for_close(delay);
            failures = failures.saturating_add(1);
            self.lock().starting += 1;
        }
    }

    fn wait_for_close(&self, delay: Duration) {
        let until = Instant::now() + delay;
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.closed || left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Runs jobs on a process until the engine is closed, or a failure after which the process cannot be used again. The
    /// embedded engine has taken over the job that has failed.
    fn serve(&self, worker: &mut Worker) -> Result<(), EngineError> {
        while let Some((state, mut job)) = self.wait_for_job(worker.last_game()) {
            // It was not known before the first start.
            if job.is_awaited()
                && let Some(why) = state.unable(&job.task)
            {
                self.refuse(state, job, why);
                continue;
            }
            let mut last = None;
            match self.run_job(state, worker, &mut job, &mut last) {
                // Without a result, its owner knows that a game has ended it.
                Ok(_) if job.is_interrupted() => {}
                Ok(result) => self.finish(job, result),
                // An engine that is slow to stop has not failed.
                Err(error @ EngineError::TooLate(_)) if job.is_abandoned() => {
                    if !worker.recover_abandoned(job.deadline()) {
                        self.lock().count_failure(&error);
                        return Err(error);
                    }
                }
                Err(error) => {
                    let is_awaited = job.is_awaited();
                    self.handle_failure(job, last, &error);
                    if !worker.recover(&error, is_awaited) {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits for a job for a process that has played `last_game`; `None` once the engine is closed.
    fn wait_for_job(&self, last_game: Option<u64>) -> Option<(MutexGuard<'_, State>, Job)> {
        let mut state = self.lock();
        let job = loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.take_job(last_game) {
                break job;
            }
            state.idle.push(last_game);
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
            let at = state.idle.iter().position(|game| *game == last_game);
            at.map(|at| state.idle.swap_remove(at));
        };
        if !state.queue.is_empty() {
            // A job may have been left to this process.
            self.changed.notify_all();
        }
        Some((state, job))
    }

    /// Runs a job on a process. Afterwards the job is awaited if a game waits for its result, also by a ponder hit. `last` is
    /// the last search information.
    fn run_job(
        &self,
        mut state: MutexGuard<'_, State>,
        worker: &mut Worker,
        job: &mut Job,
        last: &mut Option<SearchInfo>,
    ) -> Result<SearchInfo, EngineError> {
        // Jobs in the queue get their turn within the time of this move.
        let ready = state.stats.ready as f64;
        let share = ready / (ready + state.queue.len() as f64);
        let is_awaited = job.is_awaited();
        if is_awaited {
            state.searches += 1;
        }
        let control = Arc::clone(&job.control);
        control.set_kill_deadline(is_awaited.then(|| job.kill_deadline()));
        let process = worker.process.id();
        state.running.push((process, Arc::clone(&control)));
        drop(state);
        self.changed.notify_all();
        let found = worker.search(job, &self.settings, share, last);
        // A handle that is dropped later must not stop what the process does then.
        control.set_running(None);
        job.end_pondering();
        let is_other = |other: &Arc<Control>| !Arc::ptr_eq(other, &control);
        let mut state = self.lock();
        state.interruptible.retain(is_other);
        state.running.retain(|(_, other)| is_other(other));
        state.searches -= usize::from(is_awaited);
        if job.is_awaited() {
            state.record(job.task.game_id).misses = 0;
        }
        found
    }

    /// Ends a job with a result of the engine.
    fn finish(&self, job: Job, result: SearchInfo) {
        self.lock().stats.moves += u64::from(job.is_awaited());
        job.control.set_running(None);
        (job.task.on_done)(result);
    }

    /// Counts a failure, and falls back if a game waits for the result.
    fn handle_failure(&self, job: Job, last: Option<SearchInfo>, error: &EngineError) {
        let why = error.to_string();
        self.lock().count_failure(error);
        if !job.is_awaited() {
            job.control
                .update_outcome(|outcome| outcome.failure = Some(why));
            return;
        }
        let count = self.lock().count_failure_in(job.task.game_id);
        let rest = match count >= MAX_FAILURES_PER_GAME {
            true => "the rest of this game",
            false => "this move",
        };
        let _game = job.span.clone().entered();
        warn!(
            "engine {}: {error}; the embedded engine plays {rest}",
            self.settings.name
        );
        self.fall_back(job, last, why);
    }

    /// Leaves a job to the embedded engine, and logs the first time why.
    fn refuse(&self, mut state: MutexGuard<'_, State>, job: Job, why: &'static str) {
        let is_new = state.record(job.task.game_id).logged.replace(why) != Some(why);
        let failure = state.stats.last_failure.clone();
        let transcript = match why {
            NONE_READY => state.start_transcript.clone(),
            _ => Vec::new(),
        };
        drop(state);
        let why = match failure.filter(|_| why == NONE_READY) {
            Some(failure) => format!("{why}: {failure}"),
            None => why.to_owned(),
        };
        if is_new {
            let _game = job.span.clone().entered();
            warn!(
                "engine {}: {why}; the embedded engine plays instead",
                self.settings.name
            );
        }
        job.control
            .update_outcome(|outcome| outcome.transcript = transcript);
        self.play_fallback(job, why);
    }

    /// Ends the search of a failed process: with the best line that it has sent, if most of the time is gone, or else with
    /// the embedded engine.
    fn fall_back(&self, job: Job, last: Option<SearchInfo>, why: String) {
        let allowed = &job.task.limits.search_moves;
        let is_allowed = |mv: &Move| allowed.is_empty() || allowed.contains(mv);
        match last.filter(|info| info.mv.as_ref().is_some_and(is_allowed)) {
            Some(info) if job.is_late() => self.finish(job, info),
            _ => self.play_fallback(job, why),
        }
    }

    /// Runs the search on the embedded engine in the time that is left.
    fn play_fallback(&self, mut job: Job, why: String) {
        self.lock().stats.fallbacks += 1;
        job.control
            .update_outcome(|outcome| outcome.fallback = Some(why));
        let elapsed = job.since.elapsed();
        if elapsed >= Duration::from_millis(1) {
            let limits = &mut job.task.limits;
            if let Some(clock) = &mut limits.clock {
                clock.remaining = clock.remaining.saturating_sub(elapsed);
            }
            let left = job.bounds.latest.saturating_sub(elapsed);
            let left = left.min(job.bounds.hard).max(MIN_FALLBACK_TIME);
            limits.max_time = Some(limits.max_time.map_or(left, |max| max.min(left)));
            limits.movetime = limits.movetime.map(|time| time.min(left));
        }
        let control = Arc::clone(&job.control);
        let handle = self.fallback_engine.start(job.task);
        control.set_running(Some(Running::Embedded(handle)));
    }

    /// Kills processes past their deadline, and gives jobs that have waited too long to the embedded engine.
    fn watch(&self) {
        let mut state = self.lock();
        while !state.closed {
            let now = Instant::now();
            // The thread of a process does not see the deadline while it writes to one that does not read.
            for (process, control) in &state.running {
                if control.is_overdue(now) {
                    self.processes.kill(*process);
                }
            }
            state.queue.retain(|job| !job.is_abandoned());
            let is_busy = state.idle.is_empty();
            let is_stopped = |job: &Job| job.is_awaited() && job.control.is_stopped() && is_busy;
            if let Some(index) = state.queue.iter().position(is_stopped) {
                let job = state.queue.swap_remove(index);
                drop(state);
                self.play_fallback(job, NONE_FREE.to_owned());
                state = self.lock();
                continue;
            }
            let none_ready = state.stats.ready == 0 && state.starting == 0;
            let overdue = state
                .queue
                .iter()
                .position(|job| job.is_awaited() && (none_ready || job.latest_start() <= now));
            if let Some(job) = overdue.map(|index| state.queue.swap_remove(index)) {
                if none_ready {
                    self.refuse(state, job, NONE_READY);
                    state = self.lock();
                    continue;
                }
                state.record(job.task.game_id).misses += 1;
                state.missed += 1;
                let is_due = state
                    .warned_at
                    .is_none_or(|at| now - at >= BUSY_WARNING_INTERVAL);
                if is_due {
                    warn!(
                        "engine {}: no process was free for {} of the moves, which the embedded engine plays; raise \
                         `processes` of [[engine.external]]",
                        self.settings.name, state.missed
                    );
                    state.warned_at = Some(now);
                }
                drop(state);
                self.play_fallback(job, NONE_FREE.to_owned());
                state = self.lock();
                continue;
            }
            let awaited = state.queue.iter().filter(|job| job.is_awaited());
            let next = awaited.map(Job::latest_start).min();
            let max = match state.running.is_empty() {
                true => MAX_SEARCH_TIME,
                false => WATCH_INTERVAL,
            };
            let wait = next.map_or(max, |next| max.min(next.saturating_duration_since(now)));
            let waited = self.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        for job in queue.into_iter().filter(Job::is_awaited) {
            self.play_fallback(job, "the engine is shut down".to_owned());
        }
    }
}

/// Starts a thread. Returns whether it runs.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> bool {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(run);
    if let Err(error) = &spawned {
        warn!("cannot start a thread for an engine: {error}; the embedded engine plays instead");
    }
    spawned.is_ok()
}
