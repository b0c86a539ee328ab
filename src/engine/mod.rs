//! From a position and limits to a move: search, evaluation, time; no async, no serde.
//!
//! [`Engine`] is the only door. One engine serves any number of games at once: they share one transposition
//! table and one set of threads ([`threads`]). A search is started with a [`Task`] and lives as long as the
//! [`Thinking`] that [`Engine::start`] hands back.

pub mod nnue;

mod thought;

pub use thought::{Bound, Clock, Limits, Score, Thought};

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use crate::chess::Game;

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
    /// The position with its past, which counts for repetitions.
    pub game: Game,
    /// When to stop.
    pub limits: Limits,
    /// Called from an engine thread after every completed iteration, once per line.
    pub on_info: Box<dyn FnMut(&Thought) + Send>,
    /// Called from an engine thread exactly once, when the search is over.
    pub on_done: Box<dyn FnOnce(Thought) + Send>,
}

/// A handle on the engine; clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    options: Arc<Mutex<EngineOptions>>,
}

/// A search that is on. Dropping it stops the search; the answer still comes.
#[must_use = "dropping it stops the search"]
pub struct Thinking {
    stopped: Arc<AtomicBool>,
}

impl Engine {
    /// An engine with a table and threads of its own.
    pub fn new(options: EngineOptions) -> Engine {
        Engine {
            options: Arc::new(Mutex::new(options)),
        }
    }

    /// Resizes the table, in MiB; what is in it is lost.
    pub fn set_hash(&self, mib: usize) {
        self.lock().hash_mib = mib;
    }

    /// Changes the number of threads.
    pub fn set_threads(&self, threads: usize) {
        self.lock().threads = threads;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, EngineOptions> {
        self.options
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Forgets what was learnt in earlier games.
    pub fn new_game(&self) {}

    /// Starts a search and returns at once.
    pub fn start(&self, task: Task) -> Thinking {
        let stopped = Arc::new(AtomicBool::new(false));
        let first = task.game.position().legal_moves().iter().copied().next();
        std::thread::spawn(move || {
            (task.on_done)(Thought::unconsidered(first, Score::Centipawns(0)))
        });
        Thinking { stopped }
    }

    /// Searches and waits for the answer.
    pub fn think(&self, game: &Game, limits: Limits) -> Thought {
        let (sender, receiver) = std::sync::mpsc::channel();
        let _thinking = self.start(Task {
            game: game.clone(),
            limits,
            on_info: Box::new(|_| {}),
            on_done: Box::new(move |thought| drop(sender.send(thought))),
        });
        receiver.recv().expect("the answer always comes")
    }
}

impl Thinking {
    /// Ends the search: the answer comes at once.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// The expected move was played: the clock runs from now on.
    pub fn ponderhit(&self) {}
}

impl Drop for Thinking {
    fn drop(&mut self) {
        self.stop();
    }
}
