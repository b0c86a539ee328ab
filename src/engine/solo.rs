//! One search after another on the caller's own thread, with a table of its own: for self-play by the thousands.

use super::control::Control;
use super::search::{Memory, Search};
use super::table::Table;
use super::{Limits, Setting, Thought};
use crate::chess::Game;

/// An engine without threads. The same calls on a fresh one give the same answers, unless a limit is a time.
pub struct Solo {
    table: Table,
    memory: Memory,
}

impl Solo {
    /// With a table of `hash_mib` MiB.
    #[must_use]
    pub fn new(hash_mib: usize, setting: &Setting) -> Solo {
        Solo {
            table: Table::new(hash_mib).on_huge_pages(),
            memory: Memory::new(setting),
        }
    }

    /// Searches in this setting from now on, and forgets what it has learnt.
    pub fn set(&mut self, setting: &Setting) {
        self.table.clear();
        self.memory = Memory::new(setting);
    }

    /// Forgets everything.
    pub fn new_game(&mut self) {
        self.table.clear();
        self.memory.forget();
    }

    /// Searches until a limit is met; without any that is at the greatest depth.
    pub fn think(&mut self, game: &Game, limits: &Limits) -> Thought {
        if limits.strength.is_some() {
            // Such a search owes nothing to others.
            self.new_game();
        }
        self.table.grow_older();
        let ply = u32::try_from(game.moves().len()).unwrap_or(u32::MAX);
        let control = Control::new(limits, ply);
        Search::new(&control, &self.table, &mut self.memory, game, limits, 0).iterate(&mut |_| {})
    }
}
