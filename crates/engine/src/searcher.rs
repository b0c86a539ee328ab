//! Single-threaded search on the caller's thread, for self-play and tools.

use super::control::Control;
use super::search::{Search, ThreadData};
use super::table::Table;
use super::time::game_ply;
use super::{Limits, SearchInfo, Setting};
use knightwatch_chess::Game;

/// An engine without threads. It is deterministic unless a limit is a time.
pub struct Searcher {
    table: Table,
    thread_data: ThreadData,
}

impl Searcher {
    /// Creates a searcher with a transposition table of `hash_mib` MiB.
    #[must_use]
    pub fn new(hash_mib: usize, setting: &Setting) -> Searcher {
        Searcher {
            table: Table::new(hash_mib).with_huge_pages(),
            thread_data: ThreadData::new(setting),
        }
    }

    /// Changes the network and parameters, and clears everything learned so far.
    pub fn set(&mut self, setting: &Setting) {
        self.table.clear();
        self.thread_data = ThreadData::new(setting);
    }

    /// Clears the transposition table and the histories.
    pub fn new_game(&mut self) {
        self.table.clear();
        self.thread_data.clear();
    }

    /// Searches until a limit is reached, at the latest the maximum depth.
    pub fn search(&mut self, game: &Game, limits: &Limits) -> SearchInfo {
        if limits.strength.is_some() {
            // Below full strength, a search must not depend on earlier ones.
            self.new_game();
        }
        self.table.new_search();
        self.thread_data.install_parameters();
        let control = Control::new(limits, game_ply(game));
        Search::new(
            &control,
            &self.table,
            &mut self.thread_data,
            game,
            limits,
            0,
        )
        .iterate(None)
    }
}
