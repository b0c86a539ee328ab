//! Warm processes of an engine that are shared by all games, and the watch over them.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use knightwatch_chess::{CastlingNotation, Game};
use knightwatch_engine::{
    Clock, Engine, Limits, Score, SearchHandle, SearchReport, Strength, Task, time_bounds,
};
use knightwatch_util::backoff::Backoff;
use tracing::{info, warn};

use super::info::Info;
use super::process::{Deadlines, EngineError, Launch, ProcessTable, StopSwitch, UciProcess};

/// Failures of an engine in one game after which the own engine plays the rest of it.
const MAX_FAILURES_PER_GAME: u32 = 3;

/// Games whose failures are remembered.
const MAX_REMEMBERED_GAMES: usize = 1_024;

/// Games that a process knows, so that switching between them is not announced as a new game.
const MAX_KNOWN_GAMES: usize = 16;

/// Delays of the restarts of a process.
const RESTART_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// A process that has worked for this long is restarted with the first delay again.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// Time for `bestmove` after `stop`.
const STOP_TIMEOUT: Duration = Duration::from_millis(30);

/// Time limit of a search without any limit on time.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(600);

/// The least time that the own engine gets in place of a failed one.
const MIN_RESCUE_TIME: Duration = Duration::from_millis(10);

/// Least time between two warnings that no process was free.
const BUSY_WARNING_INTERVAL: Duration = Duration::from_secs(600);

/// Limits of every search of an engine, such as one node for Maia.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FixedLimits {
    /// Nodes.
    pub nodes: Option<u64>,
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Time.
    pub movetime: Option<Duration>,
}

/// Settings of an external engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalOptions {
    /// Name in the configuration.
    pub name: String,
    /// How to start it.
    pub launch: Launch,
    /// Names and values of UCI options.
    pub options: Vec<(String, String)>,
    /// Processes, which share the games.
    pub processes: usize,
    /// Limits of every search.
    pub limits: FixedLimits,
    /// Our time management decides, and the engine gets a fixed time; otherwise it gets the clock.
    pub own_time_management: bool,
}

/// An engine in processes of its own. Clones share it; dropping the last one ends the processes.
#[derive(Clone)]
pub struct ExternalEngine {
    owner: Arc<Owner>,
}

/// Ends the threads.
struct Owner(Arc<Shared>);

struct Shared {
    options: ExternalOptions,
    /// Plays when this engine cannot.
    own: Engine,
    processes: ProcessTable,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    closed: bool,
    /// Processes that are ready or at work.
    ready: usize,
    /// Abilities of the engine, once a process has started.
    abilities: Abilities,
    /// Failures by game.
    failures: HashMap<u64, u32>,
    /// Moves for which no process was free, since the start.
    missed: u64,
    /// Time of the last warning about them.
    warned_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Abilities {
    chess960: bool,
    limited_strength: bool,
}

/// A search to run.
struct Job {
    task: Task,
    since: Instant,
    bounds: Bounds,
    control: Arc<Control>,
}

/// Time limits of a search, from its start.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    soft: Duration,
    hard: Duration,
}

impl Bounds {
    fn of(limits: &Limits, game: &Game) -> Self {
        let (soft, hard) = time_bounds(limits, game).unwrap_or((MAX_SEARCH_TIME, MAX_SEARCH_TIME));
        Self { soft, hard }
    }
}

/// Connects a handle to its search.
#[derive(Default)]
struct Control {
    stopped: AtomicBool,
    running: Mutex<Option<Running>>,
}

enum Running {
    Process(StopSwitch),
    Own(SearchHandle),
}

impl Control {
    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        match &*lock(&self.running) {
            Some(Running::Process(switch)) => switch.stop(),
            Some(Running::Own(handle)) => handle.stop(),
            None => {}
        }
    }

    /// Notes what runs now; `None` for the end of the search.
    fn set(&self, running: Option<Running>) {
        *lock(&self.running) = running;
        if self.is_stopped() {
            self.stop();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

/// A search on an external engine. Dropping it stops the search.
pub struct ExternalHandle {
    control: Arc<Control>,
}

impl ExternalHandle {
    /// Stops the search; its best move so far becomes the result.
    pub fn stop(&self) {
        self.control.stop();
    }
}

impl Drop for ExternalHandle {
    fn drop(&mut self) {
        self.control.stop();
        // An own search ends when its handle is dropped.
        lock(&self.control.running).take_if(|running| matches!(running, Running::Own(_)));
    }
}

impl ExternalEngine {
    /// Starts the processes in the background. `own` plays whenever they cannot.
    pub fn new(options: ExternalOptions, own: Engine) -> Self {
        let shared = Arc::new(Shared {
            options,
            own,
            processes: ProcessTable::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        for _ in 0..shared.options.processes.max(1) {
            let shared = Arc::clone(&shared);
            spawn("external engine", move || shared.run_process());
        }
        let rescuer = Arc::clone(&shared);
        spawn("engine rescuer", move || rescuer.rescue_waiting());
        Self {
            owner: Arc::new(Owner(shared)),
        }
    }

    /// The name in the configuration.
    pub fn name(&self) -> &str {
        &self.owner.0.options.name
    }

    /// Whether a process is ready.
    pub fn is_ready(&self) -> bool {
        self.owner.0.lock().ready > 0
    }

    /// Starts a search. The result comes in time and is legal, whatever the engine does.
    pub fn start(&self, task: Task) -> ExternalHandle {
        let shared = &self.owner.0;
        let control = Arc::new(Control::default());
        let job = Job {
            bounds: Bounds::of(&task.limits, &task.game),
            since: Instant::now(),
            control: Arc::clone(&control),
            task,
        };
        let mut state = shared.lock();
        if let Some(why) = state.unable(&job.task) {
            drop(state);
            tracing::debug!("{}: {why}; the own engine plays this move", self.name());
            shared.play_own(job);
        } else {
            state.queue.push_back(job);
            drop(state);
            shared.changed.notify_all();
        }
        ExternalHandle { control }
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
        let failures = self.failures.get(&task.game_id).copied().unwrap_or(0);
        let is_960 = task.game.initial().castling_notation() == CastlingNotation::KingTakesRook;
        match () {
            () if self.ready == 0 => Some("no process is ready"),
            () if failures >= MAX_FAILURES_PER_GAME => Some("it has failed too often in this game"),
            () if is_960 && !self.abilities.chess960 => Some("it does not play Chess960"),
            () if task.limits.strength.is_some() && !self.abilities.limited_strength => {
                Some("it cannot limit its strength")
            }
            () => None,
        }
    }

    fn count_failure(&mut self, game: u64) -> u32 {
        if self.failures.len() >= MAX_REMEMBERED_GAMES {
            self.failures.clear();
        }
        let count = self.failures.entry(game).or_default();
        *count += 1;
        *count
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Keeps one process running, and gives it jobs.
    fn run_process(&self) {
        let name = &self.options.name;
        let mut failures = 0_u32;
        while !self.lock().closed {
            let started = Instant::now();
            let error = match Worker::start(&self.options, &self.processes) {
                Err(error) => error,
                Ok(mut worker) => {
                    let mut state = self.lock();
                    state.ready += 1;
                    state.abilities = worker.abilities();
                    drop(state);
                    info!("engine {name} is ready: {}", worker.process.name());
                    let ended = self.serve(&mut worker);
                    self.lock().ready -= 1;
                    match ended {
                        Ok(()) => return,
                        Err(error) => error,
                    }
                }
            };
            if self.lock().closed {
                return;
            }
            if started.elapsed() >= STABLE_AFTER {
                failures = 0;
            }
            let delay = RESTART_BACKOFF.delay(failures);
            warn!(
                "engine {name} has failed: {error}; it is restarted in {} s",
                delay.as_secs()
            );
            self.wait_for_close(delay);
            failures = failures.saturating_add(1);
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

    /// Runs jobs until the end, or the first failure, whose job the own engine has taken over.
    fn serve(&self, worker: &mut Worker) -> Result<(), EngineError> {
        loop {
            let mut state = self.lock();
            let mut job = loop {
                if state.closed {
                    return Ok(());
                }
                // The process keeps its hash table best with the game that it played last.
                let mut games = state.queue.iter().map(|job| job.task.game_id);
                let known = games.position(|game| worker.games.back() == Some(&game));
                if let Some(job) = state.queue.remove(known.unwrap_or(0)) {
                    break job;
                }
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            let mut last = None;
            match worker.search(&mut job, &self.options, &mut last) {
                Ok(report) => {
                    job.control.set(None);
                    (job.task.on_done)(report);
                }
                Err(error) => {
                    let count = self.lock().count_failure(job.task.game_id);
                    let rest = match count >= MAX_FAILURES_PER_GAME {
                        true => "the rest of this game",
                        false => "this move",
                    };
                    warn!(
                        "engine {}: {error}; the own engine plays {rest}",
                        self.options.name
                    );
                    self.rescue(job, last);
                    return Err(error);
                }
            }
        }
    }

    /// Ends the search of a failed process: with the best line that it has sent, if most of the time is gone, or else with
    /// the own engine.
    fn rescue(&self, job: Job, last: Option<SearchReport>) {
        let late = job.since.elapsed() >= job.bounds.soft / 2 || job.control.is_stopped();
        match last {
            Some(report) if late => {
                job.control.set(None);
                (job.task.on_done)(report);
            }
            _ => self.play_own(job),
        }
    }

    /// Runs the search on the own engine in the time that is left.
    fn play_own(&self, mut job: Job) {
        let elapsed = job.since.elapsed();
        if elapsed >= Duration::from_millis(1) {
            let limits = &mut job.task.limits;
            if let Some(clock) = &mut limits.clock {
                clock.remaining = clock.remaining.saturating_sub(elapsed);
            }
            let left = job.bounds.hard.saturating_sub(elapsed).max(MIN_RESCUE_TIME);
            limits.max_time = Some(limits.max_time.map_or(left, |most| most.min(left)));
            limits.movetime = limits.movetime.map(|time| time.min(left));
        }
        let control = Arc::clone(&job.control);
        let handle = self.own.start(job.task);
        control.set(Some(Running::Own(handle)));
    }

    /// Gives jobs to the own engine that have waited too long for a process.
    fn rescue_waiting(&self) {
        let mut state = self.lock();
        while !state.closed {
            let now = Instant::now();
            let due = |job: &Job| job.since + job.bounds.soft / 4;
            let none_ready = state.ready == 0;
            let overdue = state
                .queue
                .iter()
                .position(|job| none_ready || due(job) <= now);
            if let Some(job) = overdue.and_then(|index| state.queue.remove(index)) {
                state.missed += 1;
                let is_due = state
                    .warned_at
                    .is_none_or(|at| now - at >= BUSY_WARNING_INTERVAL);
                if is_due {
                    warn!(
                        "engine {}: no process was free for {} of the moves, which the own engine plays; raise processes",
                        self.options.name, state.missed
                    );
                    state.warned_at = Some(now);
                }
                drop(state);
                self.play_own(job);
                state = self.lock();
                continue;
            }
            let next = state.queue.iter().map(due).min();
            let wait = next.map_or(MAX_SEARCH_TIME, |next| next.saturating_duration_since(now));
            let waited = self.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        for job in std::mem::take(&mut state.queue) {
            self.play_own(job);
        }
    }
}

/// A process and what it knows.
struct Worker {
    process: UciProcess,
    /// Games that it has played, the latest last.
    games: VecDeque<u64>,
    strength: Option<Strength>,
}

impl Worker {
    fn start(options: &ExternalOptions, table: &ProcessTable) -> Result<Self, EngineError> {
        let mut process = UciProcess::start_in(&options.launch, table)?;
        for (name, value) in &options.options {
            process.set_option(name, value)?;
        }
        Ok(Self {
            process,
            games: VecDeque::new(),
            strength: None,
        })
    }

    fn abilities(&self) -> Abilities {
        let has = |name| self.process.option(name).is_some();
        Abilities {
            chess960: has("UCI_Chess960"),
            limited_strength: has("UCI_LimitStrength") && has("UCI_Elo"),
        }
    }

    /// Runs a search. `last` is the last report.
    fn search(
        &mut self,
        job: &mut Job,
        options: &ExternalOptions,
        last: &mut Option<SearchReport>,
    ) -> Result<SearchReport, EngineError> {
        job.control
            .set(Some(Running::Process(self.process.stop_switch())));
        let deadline = job.since + job.bounds.hard;
        self.set_strength(job.task.limits.strength)?;
        self.enter_game(&job.task, deadline)?;
        let now = Instant::now();
        let go = go_arguments(&job.task, options, job.bounds, now - job.since);
        let soft = match options.limits.movetime {
            Some(time) => (now + time).min(deadline),
            None => deadline,
        };
        let deadlines = Deadlines {
            soft: Some(if job.control.is_stopped() { now } else { soft }),
            hard: soft + STOP_TIMEOUT,
            stop_timeout: STOP_TIMEOUT,
        };
        let since = job.since;
        let on_info = &mut job.task.on_info;
        let answer = self.process.think(&job.task.game, &go, deadlines, |info| {
            let report = report(info, since);
            on_info(&report);
            *last = Some(report);
        })?;
        Ok(SearchReport {
            mv: Some(answer.mv),
            ponder: answer.ponder,
            ..report(&answer.info, since)
        })
    }

    /// Announces a game that the process does not know.
    fn enter_game(&mut self, task: &Task, deadline: Instant) -> Result<(), EngineError> {
        let known = self.games.iter().position(|game| *game == task.game_id);
        if let Some(at) = known {
            self.games.remove(at);
        } else {
            self.process.new_game(task.game.initial(), deadline)?;
        }
        self.games.push_back(task.game_id);
        if self.games.len() > MAX_KNOWN_GAMES {
            self.games.pop_front();
        }
        Ok(())
    }

    fn set_strength(&mut self, strength: Option<Strength>) -> Result<(), EngineError> {
        if self.strength.map(|strength| strength.elo) == strength.map(|strength| strength.elo) {
            return Ok(());
        }
        if let Some(strength) = strength {
            let elo = i64::from(strength.elo.get());
            self.process.set_clamped("UCI_Elo", elo)?;
        }
        let limited = if strength.is_some() { "true" } else { "false" };
        self.process.send_option("UCI_LimitStrength", limited)?;
        self.strength = strength;
        Ok(())
    }
}

/// The arguments of `go`, `elapsed` after the start of the search.
fn go_arguments(
    task: &Task,
    options: &ExternalOptions,
    bounds: Bounds,
    elapsed: Duration,
) -> String {
    let (limits, fixed) = (&task.limits, &options.limits);
    let mut words = Vec::new();
    let mut word = |name: &str, value: u64| words.push(format!("{name} {value}"));
    let ms = |time: Duration| (time.as_millis() as u64).max(1);
    let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
    if let Some(nodes) = least(limits.nodes, fixed.nodes) {
        word("nodes", nodes);
    }
    if let Some(depth) = least(limits.depth.map(u64::from), fixed.depth.map(u64::from)) {
        word("depth", depth);
    }
    match (fixed.movetime.or(limits.movetime), limits.clock) {
        (Some(time), _) => word(
            "movetime",
            ms(time.min(bounds.hard.saturating_sub(elapsed))),
        ),
        (None, Some(_)) if options.own_time_management => {
            word("movetime", ms(bounds.soft.saturating_sub(elapsed)));
        }
        (None, Some(clock)) => {
            let Clock {
                remaining,
                increment,
                moves_to_go,
                overhead,
                lag,
            } = clock;
            let time = ms(remaining.saturating_sub(overhead + elapsed));
            word("wtime", time);
            word("btime", time);
            let increment = increment.saturating_sub(lag).as_millis() as u64;
            word("winc", increment);
            word("binc", increment);
            if let Some(moves) = moves_to_go {
                word("movestogo", moves.into());
            }
        }
        (None, None) => {
            if let Some(time) = limits.max_time {
                word("movetime", ms(time.saturating_sub(elapsed)));
            }
        }
    }
    if words.is_empty() {
        words.push("infinite".to_owned());
    }
    if !limits.search_moves.is_empty() {
        words.push("searchmoves".to_owned());
        let notation = task.game.initial().castling_notation();
        let moves = limits.search_moves.iter();
        words.extend(moves.map(|mv| mv.uci(notation).to_string()));
    }
    words.join(" ")
}

fn report(info: &Info, since: Instant) -> SearchReport {
    SearchReport {
        mv: info.pv.first().copied(),
        ponder: info.pv.get(1).copied(),
        score: info.score.unwrap_or(Score::Centipawns(0)),
        depth: info.depth,
        seldepth: info.seldepth.max(info.depth),
        nodes: info.nodes,
        elapsed: since.elapsed(),
        hashfull: info.hashfull.min(1_000),
        ordering: None,
        pv: info.pv.clone(),
        multipv: 1,
        bound: info.bound,
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(run);
    if let Err(error) = spawned {
        warn!("cannot start a thread for an engine: {error}; the own engine plays");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
