//! What threads have learnt, by game: from a fixed number of memories, so that many games do not cost more and more.

use super::search::Memory;

/// Memories that wait for their game's next move, or as many as there are threads if these are more. Those at work come
/// on top, one for each seat that is taken.
const KEPT: usize = 8;

/// A game, as whoever starts its searches calls it, and the seat in them.
pub(super) type Place = (u64, usize);

/// See the module's text.
pub(super) struct Shelf {
    /// The one that has waited longest first.
    waiting: Vec<(Place, Memory)>,
}

impl Shelf {
    pub const EMPTY: Shelf = Shelf {
        waiting: Vec::new(),
    };

    /// What was learnt in this place, if it is still there.
    pub fn take(&mut self, place: Place) -> Option<Memory> {
        let at = self.waiting.iter().position(|(other, _)| *other == place)?;
        Some(self.waiting.remove(at).1)
    }

    /// Keeps it for the next search; if there are too many, the oldest goes.
    pub fn put(&mut self, place: Place, memory: Memory, threads: usize) {
        // A helper that leaves late may find that another has sat in its place meanwhile.
        self.waiting.retain(|(other, _)| *other != place);
        self.waiting.push((place, memory));
        if self.waiting.len() > KEPT.max(threads) {
            self.waiting.remove(0);
        }
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Setting;

    #[test]
    fn a_game_finds_its_own_and_no_more_are_kept_than_said() {
        let mut shelf = Shelf::EMPTY;
        for game in 0..100 {
            shelf.put((game, 0), Memory::new(&Setting::default()), 2);
            shelf.put((game, 1), Memory::new(&Setting::default()), 2);
            assert!(shelf.waiting.len() <= KEPT);
        }
        assert!(shelf.take((0, 0)).is_none());
        assert!(shelf.take((99, 1)).is_some());
        assert!(shelf.take((99, 1)).is_none());
        assert!(shelf.take((99, 0)).is_some());
        shelf.clear();
        assert!(shelf.take((98, 0)).is_none());
    }
}
