//! History tables of games between searches: those of running games, and a limited number in all.

use std::time::{Duration, Instant};

use super::search::ThreadData;

/// Entries kept, or as many as there are threads if that is more. Those in use by running threads come on top.
const MAX_ENTRIES: usize = 64;
/// Entries kept although nothing has used them for some time, or as many as there are threads.
const MAX_IDLE_ENTRIES: usize = 8;
/// A game without a search for this long has probably ended.
const MAX_IDLE_TIME: Duration = Duration::from_secs(180);

/// Game id and thread id.
pub(super) type CacheKey = (u64, usize);

/// Thread data kept between the searches of a game.
pub(super) struct ThreadCache {
    /// Least recently stored first.
    entries: Vec<(CacheKey, ThreadData, Instant)>,
}

impl ThreadCache {
    pub(crate) const EMPTY: ThreadCache = ThreadCache {
        entries: Vec::new(),
    };

    /// Removes and returns the entry of `key`, if present.
    pub(crate) fn remove(&mut self, key: CacheKey) -> Option<ThreadData> {
        let index = self.entries.iter().position(|(other, ..)| *other == key)?;
        Some(self.entries.remove(index).1)
    }

    /// Keeps `data` for the next search of the game; evicts the oldest entry if the cache is full.
    pub(crate) fn insert(&mut self, key: CacheKey, data: ThreadData, threads: usize) {
        // A helper that leaves late may find that another thread has stored data under the same key.
        self.entries.retain(|(other, ..)| *other != key);
        self.entries.push((key, data, Instant::now()));
        while let Some((_, _, stored)) = self.entries.first() {
            let max = if stored.elapsed() > MAX_IDLE_TIME {
                MAX_IDLE_ENTRIES
            } else {
                MAX_ENTRIES
            };
            if self.entries.len() <= max.max(threads) {
                break;
            }
            self.entries.remove(0);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;

    #[test]
    fn cache_when_full_drops_the_oldest_games() {
        let mut cache = ThreadCache::EMPTY;
        for game in 0..100 {
            cache.insert((game, 0), ThreadData::new(&Setting::default()), 2);
            cache.insert((game, 1), ThreadData::new(&Setting::default()), 2);
            assert!(cache.entries.len() <= MAX_ENTRIES);
        }
        assert!(cache.remove((0, 0)).is_none());
        assert!(cache.remove((99, 1)).is_some());
        assert!(cache.remove((99, 1)).is_none());
        assert!(cache.remove((99, 0)).is_some());
        // As many running games as any bot has at once keep theirs.
        assert!(cache.remove((99 - 31, 0)).is_some());
        cache.clear();
        assert!(cache.remove((98, 0)).is_none());
    }
}
