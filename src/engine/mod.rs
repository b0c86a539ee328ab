//! From a position and limits to a move: search, evaluation, time; no async, no serde.
//!
//! [`Engine`] is the only door. One engine serves any number of games at once: they share one transposition
//! table and one set of threads ([`threads`]). A search is started with a [`Task`] and lives as long as the
//! [`Thinking`] that [`Engine::start`] hands back.

pub mod bench;
mod chances;
mod control;
mod eval;
mod history;
pub mod nnue;
mod ordering;
mod params;
mod search;
mod see;
mod shelf;
mod solo;
mod strength;
mod table;
#[cfg(test)]
mod tests;
mod thought;
mod threads;
mod threats;
mod time;
mod tunable;
mod value;

pub use chances::{Chances, Curves, material};
pub use eval::trace;
pub use solo::Solo;
pub use strength::{Elo, Strength, tempo};
pub use thought::{Bound, Clock, Limits, Score, Thought};
pub use tunable::{ParameterError, Parameters, Setting, Tunable};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use self::threads::{Job, Pool};
use crate::chess::{Game, Position};

/// How an engine is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Size of the transposition table in MiB, at least 1.
    pub hash_mib: usize,
    /// Search threads for all games together, at least 1.
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

/// One search to be done.
pub struct Task {
    /// Which game it is in, as the caller counts them: what was learnt in its last searches is at hand again.
    pub about: u64,
    /// The position with its past, which counts for repetitions.
    pub game: Game,
    /// When to stop.
    pub limits: Limits,
    /// Called from an engine thread after every completed iteration, once per line, and in a long one when its value turns
    /// out to be above or below what was expected.
    pub on_info: Box<dyn FnMut(&Thought) + Send>,
    /// Called from an engine thread exactly once, when the search is over.
    pub on_done: Box<dyn FnOnce(Thought) + Send>,
}

/// A handle on the engine; clones are the same engine. With the last one the engine ends: searches that are
/// still on are stopped and answer.
#[derive(Clone)]
pub struct Engine {
    owner: Arc<Owner>,
}

struct Owner {
    pool: Arc<Pool>,
    /// See [`Engine::rehearse_panics`].
    sabotage: AtomicU64,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.pool.close();
    }
}

/// A search that is on. Dropping it stops the search; the answer still comes.
#[must_use = "dropping it stops the search"]
pub struct Thinking {
    job: Arc<Job>,
    pool: Arc<Pool>,
}

impl Engine {
    /// An engine with a table and threads of its own.
    ///
    /// ```
    /// use knightwatch::chess::{Game, Position};
    /// use knightwatch::engine::{Engine, EngineOptions, Limits, Score};
    ///
    /// let engine = Engine::new(EngineOptions { hash_mib: 1, threads: 1 });
    /// let game = Game::new(Position::from_fen("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")?);
    /// let thought = engine.think(&game, Limits { depth: Some(3), ..Limits::default() });
    /// assert_eq!(thought.score, Score::Mate(1));
    /// # Ok::<(), knightwatch::chess::FenError>(())
    /// ```
    pub fn new(options: EngineOptions) -> Engine {
        Engine {
            owner: Arc::new(Owner {
                pool: Pool::new(options.hash_mib, options.threads),
                sabotage: AtomicU64::new(u64::MAX),
            }),
        }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.owner.pool
    }

    /// Resizes the table, in MiB; what is in it is lost. If there is not that much memory, it becomes smaller:
    /// see [`hash_mib`](Engine::hash_mib).
    pub fn set_hash(&self, mib: usize) {
        self.pool().set_hash(mib);
    }

    /// The size of the table in MiB.
    pub fn hash_mib(&self) -> usize {
        self.pool().table().mib()
    }

    /// Changes the number of threads, at least 1, for searches that are on as well.
    pub fn set_threads(&self, threads: usize) {
        self.pool().set_threads(threads);
    }

    /// Forgets what was learnt in earlier games. Searches that are on suffer a little, but no harm.
    pub fn new_game(&self) {
        self.pool().new_game();
    }

    /// What searches to come are made with. What was learnt so far is forgotten.
    pub fn set(&self, setting: Setting) {
        self.pool().set(setting);
    }

    /// What searches are made with.
    pub fn setting(&self) -> Setting {
        self.pool().setting()
    }

    /// Has every search to come panic after so many nodes, to rehearse what happens then.
    pub fn rehearse_panics(&self, nodes: u64) {
        self.owner.sabotage.store(nodes, Ordering::Relaxed);
    }

    /// Starts a search and returns at once, also when others are on: they give threads up for it.
    ///
    /// The answer comes exactly once, with a legal move if there is one, even when the search is stopped at
    /// once or fails. The callbacks run on an engine thread and must not wait for the engine.
    ///
    /// Searches that ponder are given up for one that does not.
    pub fn start(&self, task: Task) -> Thinking {
        let thinking = self.prepare(task);
        self.pool().start(thinking.job.clone());
        thinking
    }

    /// Starts a search on the opponent's time, see [`Limits::ponder`], unless there is one whose answer somebody waits for:
    /// then nothing is called and there is nothing to hold. It is given up, and answers, as soon as there is one.
    pub fn start_if_idle(&self, mut task: Task) -> Option<Thinking> {
        task.limits.ponder = true;
        let thinking = self.prepare(task);
        let started = self.pool().start_if_idle(thinking.job.clone());
        started.then_some(thinking)
    }

    fn prepare(&self, task: Task) -> Thinking {
        let mut job = Job::new(task, self.pool().table());
        job.control.sabotage = self.owner.sabotage.load(Ordering::Relaxed);
        Thinking {
            job: Arc::new(job),
            pool: self.pool().clone(),
        }
    }

    /// Searches and waits for the answer, which without any limit never comes.
    pub fn think(&self, game: &Game, limits: Limits) -> Thought {
        let (sender, receiver) = mpsc::channel();
        let _thinking = self.start(Task {
            about: 0,
            game: game.clone(),
            limits,
            on_info: Box::new(|_| {}),
            on_done: Box::new(move |thought| drop(sender.send(thought))),
        });
        receiver.recv().expect("an answer always comes")
    }

    /// The static evaluation in centipawns, from the side to move's view; for the curious.
    pub fn evaluate(&self, pos: &Position) -> i32 {
        let mut evaluator = eval::Evaluator::new(self.setting().network);
        evaluator.begin(pos);
        evaluator.evaluate(pos)
    }
}

impl Thinking {
    /// Ends the search: the answer comes at once.
    pub fn stop(&self) {
        self.job.control.stop();
    }

    /// The expected move was played: our clock runs from now on, as it was told at the start. False if the search does not
    /// ponder, or no more.
    pub fn ponderhit(&self) -> bool {
        self.pool.ponder_hit(&self.job, None)
    }

    /// The same, by the clock and the time in these limits.
    pub fn ponderhit_within(&self, limits: &Limits) -> bool {
        self.pool.ponder_hit(&self.job, Some(limits))
    }
}

impl Drop for Thinking {
    fn drop(&mut self) {
        self.stop();
    }
}
