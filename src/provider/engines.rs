//! Engines of the analysis board, which the games use too.

use std::sync::Arc;

use crate::chess::Variant;
use crate::engine::{Engine, SearchHandle, Task};
use crate::external::{ExternalEngine, ExternalHandle};

/// All engines of the program.
pub struct Engines {
    /// The embedded one.
    pub embedded: Engine,
    /// Those in processes of their own.
    pub externals: Arc<[ExternalEngine]>,
}

impl Engines {
    /// Returns whether the engines search for a move of a game.
    pub(super) fn are_searching(&self) -> bool {
        self.embedded.is_searching() || self.externals.iter().any(ExternalEngine::is_searching)
    }
}

/// An engine that analyzes for the board.
pub enum BoardEngine {
    /// The embedded one.
    Embedded(Engine),
    /// One in processes of its own.
    External(ExternalEngine),
}

/// A running analysis. Dropping it stops the search.
pub(super) enum Handle {
    Embedded(#[expect(dead_code, reason = "dropping it stops the search")] SearchHandle),
    External(ExternalHandle),
}

impl Handle {
    /// Why a search without a result has failed; `None` if a game has ended it.
    pub(super) fn failure(&self) -> Option<String> {
        match self {
            Self::Embedded(_) => None,
            Self::External(handle) => handle.outcome().failure,
        }
    }
}

impl BoardEngine {
    /// Starts an analysis; `None` while games use the engine. The error says why the engine cannot run it.
    pub(super) fn start(&self, task: Task) -> Result<Option<Handle>, &'static str> {
        Ok(match self {
            Self::Embedded(engine) => engine.start_ponder(task).map(Handle::Embedded),
            Self::External(engine) => engine.start_analysis(task)?.map(Handle::External),
        })
    }

    /// The rules that it plays; `None` until it has started.
    pub(super) fn rules(&self) -> Option<Vec<Variant>> {
        match self {
            Self::Embedded(_) => Some(Variant::ALL.to_vec()),
            Self::External(engine) => engine.rules(),
        }
    }

    /// The number of lines that it can show at once.
    pub(super) fn max_lines(&self) -> usize {
        match self {
            Self::Embedded(_) => usize::MAX,
            Self::External(engine) => engine.max_lines(),
        }
    }

    /// Returns whether a search that has ended with a result was complete. Otherwise a game has ended it.
    pub(super) fn completes_searches(&self) -> bool {
        matches!(self, Self::External(_))
    }
}
