//! History tables of games between their searches, a limited number.

use std::time::{Duration, Instant};

use super::search::ThreadData;

/// Limit of the games whose main thread's data is kept. Data in use by running threads comes on top.
const MAX_GAMES: usize = 64;
/// Limit of such games in which nothing has been searched for [`MAX_IDLE_TIME`].
const MAX_IDLE_GAMES: usize = 8;
/// A game without a search for this long has probably ended.
const MAX_IDLE_TIME: Duration = Duration::from_secs(180);

/// Game id and thread id.
pub(super) type CacheKey = (u64, usize);

fn is_helper((_, thread_id): CacheKey) -> bool {
    thread_id > 0
}

/// Thread data kept between the searches of a game, about 4 MiB each.
pub(super) struct ThreadCache {
    /// Least recently stored first.
    entries: Vec<(CacheKey, ThreadData, Instant)>,
}

impl ThreadCache {
    pub(crate) const EMPTY: ThreadCache = ThreadCache {
        entries: Vec::new(),
    };

    /// Removes and returns the entry of `key`, if present. For a helper without one, the memory of the helper that has
    /// not searched for the longest time is returned, cleared, if as many are kept as the `threads` can use at once.
    pub(crate) fn remove(&mut self, key: CacheKey, threads: usize) -> Option<ThreadData> {
        if let Some(index) = self.entries.iter().position(|(other, ..)| *other == key) {
            return Some(self.entries.remove(index).1);
        }
        if !is_helper(key) || self.helpers() + 1 < threads {
            return None;
        }
        let mut data = self.remove_oldest_helper()?;
        data.clear();
        Some(data)
    }

    /// Keeps `data` for the next search of the game. Drops the oldest entry of its kind if there are too many: of
    /// helpers, one fewer than `threads` are kept.
    pub(crate) fn insert(&mut self, key: CacheKey, data: ThreadData, threads: usize) {
        // A helper that leaves late may find that another thread has stored data under the same key.
        self.entries.retain(|(other, ..)| *other != key);
        self.entries.push((key, data, Instant::now()));
        while self.helpers() >= threads.max(1) {
            self.remove_oldest_helper();
        }
        while let Some((key, _, stored)) = self.entries.iter().find(|(key, ..)| !is_helper(*key)) {
            let limit = if stored.elapsed() > MAX_IDLE_TIME {
                MAX_IDLE_GAMES
            } else {
                MAX_GAMES
            };
            if self.entries.len() - self.helpers() <= limit {
                break;
            }
            self.remove_game(key.0);
        }
    }

    /// Drops the data of a game.
    pub(crate) fn remove_game(&mut self, game_id: u64) {
        self.entries.retain(|((game, _), ..)| *game != game_id);
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    fn helpers(&self) -> usize {
        let keys = self.entries.iter().map(|(key, ..)| *key);
        keys.filter(|key| is_helper(*key)).count()
    }

    fn remove_oldest_helper(&mut self) -> Option<ThreadData> {
        let index = self.entries.iter().position(|(key, ..)| is_helper(*key))?;
        Some(self.entries.remove(index).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;

    fn insert(cache: &mut ThreadCache, key: CacheKey, threads: usize) {
        cache.insert(key, ThreadData::new(&Setting::default()), threads);
    }

    #[test]
    fn cache_when_full_drops_the_oldest_games() {
        let mut cache = ThreadCache::EMPTY;
        for game in 0..100 {
            insert(&mut cache, (game, 0), 2);
            insert(&mut cache, (game, 1), 2);
            assert!(cache.helpers() <= 1 && cache.entries.len() <= MAX_GAMES + 1);
        }
        assert!(cache.remove((99 - 64, 0), 2).is_none());
        assert!(cache.remove((99 - 63, 0), 2).is_some());
        assert!(cache.remove((99, 0), 2).is_some());
        assert!(cache.remove((99, 0), 2).is_none());
        cache.clear();
        assert!(cache.remove((98, 0), 2).is_none());
    }

    #[test]
    fn helpers_of_other_games_give_up_their_memory() {
        let mut cache = ThreadCache::EMPTY;
        for key in [(1, 0), (1, 1), (1, 2), (2, 0)] {
            insert(&mut cache, key, 4);
        }
        // There is room for a third helper.
        assert!(cache.remove((2, 1), 4).is_none());
        // There is none with three threads.
        assert!(cache.remove((2, 1), 3).is_some());
        assert_eq!(cache.helpers(), 1);
        assert!(cache.remove((1, 2), 3).is_some());
        assert!(cache.remove((2, 1), 3).is_none());
        // With one thread, nothing of helpers is kept.
        insert(&mut cache, (1, 1), 1);
        assert_eq!(cache.helpers(), 0);
        cache.remove_game(1);
        assert!(cache.remove((1, 0), 3).is_none());
        assert!(cache.remove((2, 0), 3).is_some());
    }
}
