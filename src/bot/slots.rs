//! Who takes up how much of the house: games that are on, and challenges that we have said yes to.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::lichess::model::{ArenaId, GameId, Username};

/// How long an accepted challenge may take to become a game before its slot is free again.
const PROMISE: Duration = Duration::from_secs(20);

/// See the module's text. Games without a clock take no slot: they think for seconds a day and last for weeks.
#[derive(Debug)]
pub struct Slots {
    concurrency: usize,
    taken: HashMap<GameId, Slot>,
    /// Arenas from which a game may come at any moment: each has a slot, which its games take.
    kept: HashSet<ArenaId>,
}

#[derive(Debug)]
struct Slot {
    opponent: Option<Username>,
    clocked: bool,
    arena: Option<ArenaId>,
    /// Until when an accepted challenge may become a game; `None` once it has.
    promised: Option<Instant>,
}

impl Slots {
    /// An empty house for so many games at once.
    pub fn new(concurrency: usize) -> Self {
        Self {
            concurrency,
            taken: HashMap::new(),
            kept: HashSet::new(),
        }
    }

    /// We have said yes: the slot is kept for a while.
    pub fn promise(&mut self, id: GameId, opponent: Option<Username>, clocked: bool, now: Instant) {
        let promised = Some(now + PROMISE);
        self.taken.insert(
            id,
            Slot {
                opponent,
                clocked,
                arena: None,
                promised,
            },
        );
    }

    /// The game is on.
    pub fn take(
        &mut self,
        id: GameId,
        opponent: Option<Username>,
        clocked: bool,
        arena: Option<ArenaId>,
    ) {
        self.taken.insert(
            id,
            Slot {
                opponent,
                clocked,
                arena,
                promised: None,
            },
        );
    }

    /// The game is over, or the promise is off.
    pub fn free(&mut self, id: &GameId) {
        self.taken.remove(id);
    }

    /// A game of this arena may come at any moment.
    pub fn keep(&mut self, arena: ArenaId) {
        self.kept.insert(arena);
    }

    /// None will come any more.
    pub fn release(&mut self, arena: &ArenaId) {
        self.kept.remove(arena);
    }

    /// Arenas from which a game may come at any moment, without those that we are playing in.
    pub fn arenas_awaited(&self) -> usize {
        let playing = |arena: &ArenaId| {
            let mut arenas = self.taken.values().filter_map(|slot| slot.arena.as_ref());
            arenas.any(|other| other == arena)
        };
        self.kept.iter().filter(|arena| !playing(arena)).count()
    }

    /// Whether there is no room for another game with a clock. Those that are on without a slot count too.
    pub fn full(&mut self, now: Instant) -> bool {
        self.forget(now);
        let kept = self.arenas_awaited();
        let taken = self.taken.values().filter(|slot| slot.clocked).count();
        taken + kept >= self.concurrency
    }

    /// Whether an accepted challenge may still become a game.
    pub fn promised(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.taken.values().any(|slot| slot.promised.is_some())
    }

    /// Games on or promised against one opponent.
    pub fn against(&mut self, opponent: Option<&Username>, now: Instant) -> usize {
        self.forget(now);
        let Some(opponent) = opponent else { return 0 };
        self.taken
            .values()
            .filter(|slot| slot.opponent.as_ref() == Some(opponent))
            .count()
    }

    fn forget(&mut self, now: Instant) {
        self.taken
            .retain(|_, slot| slot.promised.is_none_or(|until| now < until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> GameId {
        format!("game{n:04}").parse().unwrap()
    }

    #[test]
    fn promises_count_and_lapse() {
        let (now, later) = (Instant::now(), Instant::now() + PROMISE);
        let mut slots = Slots::new(2);
        let ann = Username::new("Ann");
        slots.promise(id(1), Some(ann.clone()), true, now);
        slots.take(id(2), Some(Username::new("ANN")), true, None);
        assert!(slots.full(now) && slots.promised(now));
        assert_eq!(slots.against(Some(&ann), now), 2);
        assert!(!slots.promised(later) && !slots.full(later));
        assert_eq!(slots.against(Some(&ann), later), 1);
    }

    #[test]
    fn a_game_that_starts_keeps_its_slot_until_its_end() {
        let (now, later) = (Instant::now(), Instant::now() + 2 * PROMISE);
        let mut slots = Slots::new(1);
        slots.promise(id(1), None, true, now);
        slots.take(id(1), None, true, None);
        assert!(slots.full(later));
        slots.free(&id(1));
        slots.free(&id(1));
        assert!(!slots.full(later));
    }

    #[test]
    fn an_arena_has_one_slot_with_a_game_and_without() {
        let now = Instant::now();
        let mut slots = Slots::new(2);
        slots.keep(id(9));
        slots.keep(id(9));
        assert!(!slots.full(now));
        assert_eq!(slots.arenas_awaited(), 1);
        slots.take(id(1), None, true, Some(id(9)));
        assert_eq!(slots.arenas_awaited(), 0);
        assert!(!slots.full(now));
        slots.take(id(2), None, true, None);
        assert!(slots.full(now));
        slots.free(&id(1));
        assert!(slots.full(now));
        slots.release(&id(9));
        assert!(!slots.full(now));
    }

    #[test]
    fn games_without_a_clock_take_no_slot() {
        let mut slots = Slots::new(1);
        slots.take(id(1), None, false, None);
        assert!(!slots.full(Instant::now()));
    }
}
