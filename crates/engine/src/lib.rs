//! The chess engine: search, evaluation and time management; no async, no serde.
//!
//! [`Engine`] is the entry point. One engine serves any number of games at the same time; they share one
//! transposition table and one thread pool (`threads`). A [`Task`] describes a search; it runs until it is done or
//! the [`SearchHandle`] that [`Engine::start`] returned is dropped.

#![warn(missing_docs)]

pub mod bench;
mod board_move;
mod control;
mod eval;
mod history;
mod movepick;
pub mod nnue;
mod pages;
mod params;
mod search;
mod searcher;
mod see;
mod strength;
mod table;
#[cfg(test)]
mod tests;
mod thread_cache;
mod threads;
mod threats;
mod time;
mod tunable;
mod types;
pub mod uci;
mod value;
mod vote;
mod wdl;

pub use eval::VariantEvaluation;
pub use searcher::Searcher;
pub use strength::{Elo, Strength, think_time};
pub use time::time_bounds;
pub use tunable::{ParameterError, Parameters, Setting, Tunable};
pub use types::{Bound, Clock, Limits, Score, SearchInfo};
pub use wdl::{MATERIALS, Wdl, WdlModel, material};

/// Upper limit of the search threads of an engine.
pub const MAX_THREADS: usize = 512;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use self::threads::{Job, Pool};
use knightwatch_chess::{Game, Position};

/// Options of an [`Engine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Size of the transposition table in MiB, at least 1.
    pub hash_mib: usize,
    /// Search threads shared by all games, at least 1.
    pub threads: usize,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            hash_mib: 16,
            threads: 1,
        }
    }
}

/// A search to run.
pub struct Task {
    /// Identifies the game. Searches of the same game reuse its history tables.
    pub game_id: u64,
    /// The position and the moves before it, which matter for repetitions.
    pub game: Game,
    /// When to stop searching.
    pub limits: Limits,
    /// Called from an engine thread after every completed iteration, once per line, and during a long one when its
    /// value fails high or low.
    pub on_info: Box<dyn FnMut(&SearchInfo) + Send>,
    /// Called from an engine thread exactly once, at the end of the search.
    pub on_done: Box<dyn FnOnce(SearchInfo) + Send>,
}

/// Handle of an engine; clones refer to the same engine. Dropping the last one shuts the engine down: running
/// searches are stopped and report their results.
#[derive(Clone)]
pub struct Engine {
    owner: Arc<Owner>,
}

struct Owner {
    pool: Arc<Pool>,
    /// See [`Engine::inject_panic_after`].
    panic_after_nodes: AtomicU64,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.pool.close();
    }
}

/// A running search. Dropping it stops the search; its result is still reported.
#[must_use = "dropping it stops the search"]
pub struct SearchHandle {
    job: Arc<Job>,
    pool: Arc<Pool>,
}

impl Engine {
    /// Creates an engine with its own transposition table and threads.
    ///
    /// ```
    /// use knightwatch_chess::{Game, Position};
    /// use knightwatch_engine::{Engine, EngineOptions, Limits, Score};
    ///
    /// let engine = Engine::new(EngineOptions { hash_mib: 1, threads: 1 });
    /// let game = Game::new(Position::from_fen("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")?);
    /// let result = engine.search(&game, Limits { depth: Some(3), ..Limits::default() });
    /// assert_eq!(result.score, Score::Mate(1));
    /// # Ok::<(), knightwatch_chess::FenError>(())
    /// ```
    pub fn new(options: EngineOptions) -> Engine {
        Engine {
            owner: Arc::new(Owner {
                pool: Pool::new(options.hash_mib, options.threads),
                panic_after_nodes: AtomicU64::new(u64::MAX),
            }),
        }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.owner.pool
    }

    /// Resizes the transposition table to `mib` MiB and clears it. If memory is short, the table becomes smaller: see
    /// [`hash_mib`](Engine::hash_mib).
    pub fn set_hash(&self, mib: usize) {
        self.pool().set_hash(mib);
    }

    /// The size of the transposition table in MiB.
    pub fn hash_mib(&self) -> usize {
        self.pool().table().mib()
    }

    /// Changes the number of threads, at least 1; running searches are affected too.
    pub fn set_threads(&self, threads: usize) {
        self.pool().set_threads(threads);
    }

    /// Clears the transposition table and all histories. Running searches continue.
    pub fn new_game(&self) {
        self.pool().new_game();
    }

    /// Frees the histories of a game that has ended, about 4 MiB for each of its threads. Games without a search for a
    /// long time, and all but the latest 64, lose theirs anyway.
    pub fn end_game(&self, game_id: u64) {
        self.pool().end_game(game_id);
    }

    /// Sets the network and parameters of future searches, and clears everything learned so far.
    pub fn set(&self, setting: Setting) {
        self.pool().set(setting);
    }

    /// The network and parameters of future searches.
    pub fn setting(&self) -> Setting {
        self.pool().setting()
    }

    /// Test hook: makes every later search panic after this many nodes.
    pub fn inject_panic_after(&self, nodes: u64) {
        self.owner.panic_after_nodes.store(nodes, Ordering::Relaxed);
    }

    /// Starts a search and returns at once. Searches that are already running give up threads for it; those that
    /// ponder are stopped unless this one ponders too.
    ///
    /// `on_done` is called exactly once, with a legal move if there is one, even if the search is stopped at once or
    /// panics. The callbacks run on an engine thread and must not block on the engine.
    pub fn start(&self, task: Task) -> SearchHandle {
        let search = self.prepare(task);
        self.pool().start(search.job.clone());
        search
    }

    /// Starts a search that ponders (see [`Limits::ponder`]), unless a search that does not ponder is running: then
    /// returns `None` and calls nothing. It is stopped, and reports, as soon as such a search starts.
    pub fn start_ponder(&self, mut task: Task) -> Option<SearchHandle> {
        task.limits.ponder = true;
        let search = self.prepare(task);
        let started = self.pool().start_ponder(search.job.clone());
        started.then_some(search)
    }

    /// Returns whether a search runs that does not ponder.
    pub fn is_searching(&self) -> bool {
        self.pool().is_searching()
    }

    fn prepare(&self, task: Task) -> SearchHandle {
        let mut job = Job::new(task, self.pool().table());
        job.control.panic_after_nodes = self.owner.panic_after_nodes.load(Ordering::Relaxed);
        SearchHandle {
            job: Arc::new(job),
            pool: self.pool().clone(),
        }
    }

    /// Searches and blocks until the result is there; without a limit that is never.
    pub fn search(&self, game: &Game, limits: Limits) -> SearchInfo {
        let (sender, receiver) = mpsc::channel();
        let _search = self.start(Task {
            game_id: 0,
            game: game.clone(),
            limits,
            on_info: Box::new(|_| {}),
            on_done: Box::new(move |result| drop(sender.send(result))),
        });
        receiver.recv().expect("an answer always comes")
    }

    /// The static evaluation in centipawns, from the side to move's point of view.
    pub fn evaluate(&self, pos: &Position) -> i32 {
        let mut evaluator = eval::Evaluator::new(self.setting().network);
        evaluator.reset(pos);
        evaluator.evaluate(pos)
    }
}

impl SearchHandle {
    /// Stops the search; the result is reported at once.
    pub fn stop(&self) {
        self.job.control.stop();
    }

    /// The expected move was played: the clock given at the start runs from now on. Returns false if the search does
    /// not ponder (any more).
    pub fn ponderhit(&self) -> bool {
        self.pool.ponder_hit(&self.job, None)
    }

    /// Like [`ponderhit`](Self::ponderhit), with the clock and times of these limits.
    pub fn ponderhit_with(&self, limits: &Limits) -> bool {
        self.pool.ponder_hit(&self.job, Some(limits))
    }
}

impl Drop for SearchHandle {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
