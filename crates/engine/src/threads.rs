//! Thread pool of the engine, shared by all games.
//!
//! The main thread of a search (thread 0) deepens iteratively, watches the clock and reports; helpers fill the
//! transposition table (lazy SMP), and in the end all vote on the move ([`vote`]). Whenever a search starts or ends,
//! threads are redistributed by how soon each search has to answer. A helper that is no longer wanted leaves within a
//! thousand nodes. Every search gets a main thread, an extra one if need be, so that no search waits for another to
//! end.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::control::Control;
use super::search::{Search, ThreadData};
use super::table::Table;
use super::thread_cache::{CacheKey, ThreadCache};
use super::time::game_ply;
use super::value::{DRAW, mated_in, to_score};
use super::{Limits, SearchInfo, Setting, Task, vote};
use knightwatch_chess::Game;
use knightwatch_util::sync::lock;

/// Transposition table of a search below full strength, which has its own: enough for all the nodes it may visit.
const LIMITED_TABLE_MIB: usize = 16;

/// The table ages at the latest after this many searches, whichever games they belong to.
const MAX_ROUND: usize = 64;

/// Stack of a thread: enough for the longest line in an unoptimized build.
const STACK_BYTES: usize = 16 << 20;

type OnInfo = Box<dyn FnMut(&SearchInfo) + Send>;
type OnDone = Box<dyn FnOnce(SearchInfo) + Send>;

/// A search and its callbacks.
pub(super) struct Job {
    pub control: Control,
    game_id: u64,
    game: Game,
    limits: Limits,
    table: Arc<Table>,
    /// The last result of each helper, by thread id.
    helper_results: Mutex<BTreeMap<usize, SearchInfo>>,
    /// Taken by the main thread.
    callbacks: Mutex<Option<(OnInfo, OnDone)>>,
    /// See [`Pool::end_game`].
    game_has_ended: AtomicBool,
}

impl Job {
    pub(crate) fn new(task: Task, table: Arc<Table>) -> Job {
        let Task {
            game_id,
            game,
            limits,
            on_info,
            on_done,
        } = task;
        Job {
            control: Control::new(&limits, game_ply(&game)),
            game_id,
            game,
            limits,
            table,
            helper_results: Mutex::default(),
            callbacks: Mutex::new(Some((on_info, on_done))),
            game_has_ended: AtomicBool::new(false),
        }
    }

    /// Searches as the main thread, then blocks until a result is wanted. If the search panics, the result is that of
    /// the last iteration, or any legal move.
    fn run_main(&self, data: &mut ThreadData, on_info: &mut OnInfo) -> SearchInfo {
        // Below full strength, the result depends only on the game and its seed.
        let own_table = self.limits.strength.map(|_| {
            data.clear();
            Table::new(LIMITED_TABLE_MIB)
        });
        let table = own_table.as_ref().unwrap_or(&self.table);
        let mut last = None;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut on_line = |info: &SearchInfo| {
                if info.multipv == 1 {
                    last = Some(info.clone());
                }
                on_info(info);
            };
            Search::new(&self.control, table, data, &self.game, &self.limits, 0)
                .iterate(Some(&mut on_line))
        }));
        if outcome.is_err() {
            // The panic may have left it inconsistent.
            data.clear();
        }
        self.control.wait_for_stop_or_ponderhit();
        self.control.stop();
        let result = outcome
            .ok()
            .or(last)
            .unwrap_or_else(|| self.any_legal_move());
        self.elect(result, on_info)
    }

    /// The result of the thread that the vote elects, which is reported if it has another move than the main thread.
    fn elect(&self, main: SearchInfo, on_info: &mut OnInfo) -> SearchInfo {
        let limits = &self.limits;
        let has_one_line = limits.lines() == 1 && limits.depth.is_none() && limits.mate.is_none();
        if !has_one_line || limits.strength.is_some() {
            return main;
        }
        let helpers = std::mem::take(&mut *lock(&self.helper_results));
        let played = main.mv;
        let elected = vote::elect(main, helpers.into_values().collect());
        if elected.mv != played {
            on_info(&elected);
        }
        elected
    }

    /// Runs a helper. Returns whether it has finished; otherwise it was sent away, and may come back.
    fn run_helper(&self, data: &mut ThreadData, thread_id: usize) -> bool {
        if self.limits.strength.is_some() {
            return true;
        }
        let was_aborted = catch_unwind(AssertUnwindSafe(|| {
            let mut search = Search::new(
                &self.control,
                &self.table,
                data,
                &self.game,
                &self.limits,
                thread_id,
            );
            search.iterate(Some(&mut |info: &SearchInfo| {
                lock(&self.helper_results).insert(thread_id, info.clone());
            }));
            search.is_aborted()
        }));
        match was_aborted {
            Ok(was_aborted) => !was_aborted || self.control.is_stopped() || self.control.is_spent(),
            Err(_) => {
                data.clear();
                true
            }
        }
    }

    fn any_legal_move(&self) -> SearchInfo {
        let pos = self.game.position();
        let allowed = &self.limits.search_moves;
        let legal = pos.legal_moves();
        let mv = legal
            .iter()
            .copied()
            .find(|mv| allowed.is_empty() || allowed.contains(mv));
        let value = if legal.is_empty() && pos.in_check() {
            mated_in(0)
        } else {
            DRAW
        };
        SearchInfo::without_search(mv.or_else(|| legal.first().copied()), to_score(value))
    }

    fn take_callbacks(&self) -> Option<(OnInfo, OnDone)> {
        lock(&self.callbacks).take()
    }
}

/// A running search and its threads.
struct Assignment {
    job: Arc<Job>,
    /// By thread id, whether a thread runs; 0 is the main thread.
    busy: Vec<bool>,
    /// How many threads the search may use now.
    threads: usize,
}

impl Assignment {
    fn free_thread_id(&self) -> Option<usize> {
        (0..self.threads).find(|&thread_id| !self.busy.get(thread_id).copied().unwrap_or(false))
    }

    fn take(&mut self, thread_id: usize) {
        if self.busy.len() <= thread_id {
            self.busy.resize(thread_id + 1, false);
        }
        self.busy[thread_id] = true;
    }
}

struct State {
    /// Running searches, the oldest first.
    assignments: VecDeque<Assignment>,
    /// Threads configured.
    configured_threads: usize,
    live_threads: usize,
    handles: Vec<JoinHandle<()>>,
    cache: ThreadCache,
    /// Games that have searched since the table last aged.
    searched: Vec<u64>,
    /// Incremented whenever all learned data is cleared.
    generation: u64,
    closing: bool,
    table: Arc<Table>,
    setting: Setting,
}

/// Thread pool of an engine.
pub(super) struct Pool {
    state: Mutex<State>,
    work_available: Condvar,
}

impl Pool {
    pub(crate) fn new(hash_mib: usize, threads: usize) -> Arc<Pool> {
        Arc::new(Pool {
            state: Mutex::new(State {
                assignments: VecDeque::new(),
                configured_threads: threads.max(1),
                live_threads: 0,
                handles: Vec::new(),
                cache: ThreadCache::EMPTY,
                searched: Vec::new(),
                generation: 0,
                closing: false,
                table: Arc::new(Table::new(hash_mib).with_huge_pages()),
                setting: Setting::default(),
            }),
            work_available: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn table(&self) -> Arc<Table> {
        self.lock().table.clone()
    }

    /// Running searches keep the old table until they end.
    pub(crate) fn set_hash(&self, mib: usize) {
        // Drop the old table first to make room for the new one.
        self.lock().table = Arc::new(Table::new(0));
        let table = Arc::new(Table::new(mib).with_huge_pages());
        self.lock().table = table;
    }

    pub(crate) fn set_threads(self: &Arc<Pool>, threads: usize) {
        let mut state = self.lock();
        state.configured_threads = threads.max(1);
        state.redistribute_threads();
        self.spawn_workers(&mut state);
        self.work_available.notify_all();
    }

    /// Changes network and parameters of future searches; clears everything, since old scores may not be comparable.
    pub(crate) fn set(&self, setting: Setting) {
        let mut state = self.lock();
        state.setting = setting;
        state.clear();
    }

    pub(crate) fn setting(&self) -> Setting {
        self.lock().setting.clone()
    }

    pub(crate) fn new_game(&self) {
        self.lock().clear();
    }

    /// Drops what was learned in a game, also what its running searches learn.
    pub(crate) fn end_game(&self, game_id: u64) {
        let mut state = self.lock();
        state.cache.remove_game(game_id);
        let running = state.assignments.iter();
        for assignment in running.filter(|assignment| assignment.job.game_id == game_id) {
            let job = &assignment.job;
            job.game_has_ended.store(true, Ordering::Relaxed);
        }
    }

    /// Starts a pondering search, unless one that does not ponder is running: then returns false. Does not block.
    pub(crate) fn start_ponder(self: &Arc<Pool>, job: Arc<Job>) -> bool {
        let state = self.lock();
        let is_idle = !state.is_searching();
        if is_idle {
            self.submit(state, job);
        }
        is_idle
    }

    /// Returns whether a search runs that does not ponder.
    pub(crate) fn is_searching(&self) -> bool {
        self.lock().is_searching()
    }

    /// Starts a search. Does not block.
    pub(crate) fn start(self: &Arc<Pool>, job: Arc<Job>) {
        self.submit(self.lock(), job);
    }

    /// The expected move was played. Returns false if the search does not ponder any more.
    pub(crate) fn ponder_hit(&self, job: &Arc<Job>, limits: Option<&Limits>) -> bool {
        let mut state = self.lock();
        let hit = job.control.ponder_hit(limits);
        if hit {
            state.stop_if_pondering();
            state.redistribute_threads();
            self.work_available.notify_all();
        }
        hit
    }

    fn submit(self: &Arc<Pool>, mut state: MutexGuard<'_, State>, job: Arc<Job>) {
        if state.is_next_round(job.game_id) {
            job.table.new_search();
        }
        if !job.control.is_pondering() {
            state.stop_if_pondering();
        }
        state.assignments.push_back(Assignment {
            job: job.clone(),
            busy: Vec::new(),
            threads: 1,
        });
        state.redistribute_threads();
        self.spawn_workers(&mut state);
        if state.live_threads == 0 {
            // The system provides no threads at all: report any legal move.
            state.assignments.pop_back();
            drop(state);
            if let Some((_, on_done)) = job.take_callbacks() {
                on_done(job.any_legal_move());
            }
            return;
        }
        drop(state);
        self.work_available.notify_all();
    }

    /// Spawns the missing threads.
    fn spawn_workers(self: &Arc<Pool>, state: &mut State) {
        if state.assignments.is_empty() {
            return;
        }
        while state.live_threads < state.required_threads() {
            let pool = self.clone();
            let thread = Builder::new()
                .name("search".to_owned())
                .stack_size(STACK_BYTES);
            match thread.spawn(move || pool.run_worker()) {
                Ok(handle) => {
                    state.handles.retain(|handle| !handle.is_finished());
                    state.handles.push(handle);
                    state.live_threads += 1;
                }
                // Continue with the threads that exist.
                Err(_) => return,
            }
        }
    }

    /// Main loop of a thread.
    fn run_worker(&self) {
        let mut state = self.lock();
        loop {
            if state.live_threads > state.required_threads()
                || state.closing && state.assignments.is_empty()
            {
                state.live_threads -= 1;
                return;
            }
            let Some((job, thread_id)) = state.next_assignment() else {
                state = self
                    .work_available
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let threads = state.configured_threads;
            let kept = state.cache.remove((job.game_id, thread_id), threads);
            let (setting, generation) = (state.setting.clone(), state.generation);
            drop(state);
            let mut data = kept.unwrap_or_else(|| ThreadData::new(&setting));
            let (answer, finished) = if thread_id == 0 {
                (self.run_main(&job, &mut data), true)
            } else {
                (None, job.run_helper(&mut data, thread_id))
            };
            state = self.lock();
            state.release(&job, thread_id, finished);
            if generation == state.generation && !job.game_has_ended.load(Ordering::Relaxed) {
                state.keep_thread_data((job.game_id, thread_id), data);
            }
            if let Some(answer) = answer {
                // Release the threads before the callback runs.
                drop(state);
                self.work_available.notify_all();
                answer();
                state = self.lock();
            }
        }
    }

    /// Runs the main thread of a search. Returns the final callback, unless another thread has run it already.
    fn run_main(&self, job: &Arc<Job>, data: &mut ThreadData) -> Option<impl FnOnce() + use<>> {
        let (mut on_info, on_done) = job.take_callbacks()?;
        let answer = job.run_main(data, &mut on_info);
        // A panic in the callback must not kill the thread.
        Some(move || drop(catch_unwind(AssertUnwindSafe(|| on_done(answer)))))
    }

    /// Stops all searches, lets them report, and joins the threads.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        for assignment in &state.assignments {
            assignment.job.control.stop();
        }
        let handles = std::mem::take(&mut state.handles);
        drop(state);
        self.work_available.notify_all();
        for handle in handles {
            // A callback may drop the last handle of the engine on one of these threads.
            if handle.thread().id() != std::thread::current().id() {
                let _ = handle.join();
            }
        }
    }
}

/// Threads for each search: at least one, the others in proportion to urgency. A blitz game thus borrows threads from
/// a correspondence game for a moment.
fn thread_shares(threads: usize, urgencies: &[f64]) -> Vec<usize> {
    let mut shares = vec![1; urgencies.len()];
    let mut order: Vec<usize> = (0..urgencies.len()).collect();
    order.sort_by(|&a, &b| urgencies[b].total_cmp(&urgencies[a]));
    let mut spare = threads.saturating_sub(urgencies.len());
    let mut waiting: f64 = urgencies.iter().sum();
    for search in order {
        let part = (spare as f64 * urgencies[search] / waiting).round();
        let part = (part as usize).min(spare);
        shares[search] += part;
        spare -= part;
        waiting -= urgencies[search];
    }
    shares
}

impl State {
    fn is_searching(&self) -> bool {
        let mut running = self.assignments.iter();
        running.any(|assignment| !assignment.job.control.is_pondering())
    }

    /// Keeps the data of a thread for the next search of the game.
    fn keep_thread_data(&mut self, key: CacheKey, data: ThreadData) {
        self.cache.insert(key, data, self.configured_threads);
    }

    /// Returns whether the table ages with this search: once for each move of a game, not for the moves of other games.
    fn is_next_round(&mut self, game_id: u64) -> bool {
        let is_next = self.searched.contains(&game_id) || self.searched.len() >= MAX_ROUND;
        if is_next {
            self.searched.clear();
        }
        self.searched.push(game_id);
        is_next
    }

    /// Clears everything learned so far.
    fn clear(&mut self) {
        self.generation += 1;
        self.cache.clear();
        self.table.clear();
    }

    /// Threads required: every search needs a main thread.
    fn required_threads(&self) -> usize {
        self.configured_threads.max(self.assignments.len())
    }

    /// Redistributes the threads.
    fn redistribute_threads(&mut self) {
        let urgencies = self.assignments.iter();
        let urgencies: Vec<f64> = urgencies
            .map(|assignment| assignment.job.control.urgency())
            .collect();
        let shares = thread_shares(self.configured_threads, &urgencies);
        for (assignment, threads) in self.assignments.iter_mut().zip(shares) {
            assignment.threads = threads;
            assignment.job.control.set_max_threads(threads);
        }
    }

    /// Stops all pondering searches.
    fn stop_if_pondering(&self) {
        for assignment in &self.assignments {
            assignment.job.control.stop_if_pondering();
        }
    }

    /// Returns whether an earlier search of the same game is stopping: its history tables will be available within a
    /// thousand nodes.
    fn waits_for_stopping_search(&self, at: usize) -> bool {
        let game_id = self.assignments[at].job.game_id;
        let mut before = self.assignments.range(..at);
        before.any(|other| other.job.game_id == game_id && other.job.control.is_stopped())
    }

    /// Assigns a thread to a search; searches without a main thread come first.
    fn next_assignment(&mut self) -> Option<(Arc<Job>, usize)> {
        let without_main = (0..self.assignments.len()).find(|&at| {
            self.assignments[at].free_thread_id() == Some(0) && !self.waits_for_stopping_search(at)
        });
        let assignment = match without_main {
            Some(at) => &mut self.assignments[at],
            None => self.assignments.iter_mut().find(|assignment| {
                let wants_helper = assignment.free_thread_id().is_some_and(|id| id > 0);
                wants_helper && !assignment.job.control.is_stopped()
            })?,
        };
        let thread_id = assignment.free_thread_id()?;
        assignment.take(thread_id);
        Some((assignment.job.clone(), thread_id))
    }

    /// Removes a thread from its search. The search ends with its main thread. A helper that was sent away leaves its
    /// id free; the id of one that has finished stays taken.
    fn release(&mut self, job: &Arc<Job>, thread_id: usize, finished: bool) {
        if thread_id == 0 {
            self.assignments
                .retain(|assignment| !Arc::ptr_eq(&assignment.job, job));
            return self.redistribute_threads();
        }
        let assignment = self
            .assignments
            .iter_mut()
            .find(|assignment| Arc::ptr_eq(&assignment.job, job));
        if let Some(assignment) = assignment
            && !finished
        {
            assignment.busy[thread_id] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_chess::Position;

    #[test]
    fn search_waits_for_stopping_search_of_its_game() {
        let pool = Pool::new(1, 2);
        let mut state = lock(&pool.state);
        let add = |state: &mut State, game_id| {
            let task = Task {
                game_id,
                game: Game::new(Position::startpos()),
                limits: Limits::default(),
                on_info: Box::new(|_| {}),
                on_done: Box::new(|_| {}),
            };
            let job = Arc::new(Job::new(task, state.table.clone()));
            state.assignments.push_back(Assignment {
                job: job.clone(),
                busy: Vec::new(),
                threads: 1,
            });
            job
        };
        let first = add(&mut state, 1);
        assert!(matches!(state.next_assignment(), Some((job, 0)) if Arc::ptr_eq(&job, &first)));
        first.control.stop();
        let second = add(&mut state, 1);
        // The histories of the game are still in use.
        assert!(state.next_assignment().is_none());
        let other = add(&mut state, 2);
        assert!(matches!(state.next_assignment(), Some((job, 0)) if Arc::ptr_eq(&job, &other)));
        state.release(&first, 0, true);
        assert!(matches!(state.next_assignment(), Some((job, 0)) if Arc::ptr_eq(&job, &second)));
        // A helper that was sent away may be wanted again before it has left.
        state.assignments[0].threads = 2;
        for finished in [false, true] {
            assert!(matches!(state.next_assignment(), Some((_, 1))));
            state.release(&second, 1, finished);
        }
        assert!(state.next_assignment().is_none());
    }

    #[test]
    fn shares_follow_urgency() {
        // (threads, urgencies, shares)
        let table: [(usize, &[f64], &[usize]); 8] = [
            (4, &[], &[]),
            (4, &[0.1], &[4]),
            (4, &[1.0, 1.0], &[2, 2]),
            (5, &[1.0, 1.0], &[3, 2]),
            (8, &[0.02, 2.0], &[1, 7]),
            (8, &[1.0, 3.0], &[2, 6]),
            (2, &[1.0; 5], &[1; 5]),
            (0, &[1.0], &[1]),
        ];
        for (threads, urgencies, expected) in table {
            let shares = thread_shares(threads, urgencies);
            assert_eq!(shares, expected, "{threads} for {urgencies:?}");
        }
    }
}
