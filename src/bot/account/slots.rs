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
    /// So many places are never taken by others than people.
    reserved: usize,
    taken: HashMap<GameId, Slot>,
    /// Arenas from which a game may come at any moment: each has a slot, which its games take.
    kept: HashSet<ArenaId>,
    /// When those begin that we are in and from which none comes yet.
    planned: HashMap<ArenaId, Instant>,
}

#[derive(Debug)]
struct Slot {
    guest: SlotHolder,
    arena: Option<ArenaId>,
    /// Until when an accepted challenge may become a game; `None` once it has.
    promised: Option<Instant>,
}

/// Who takes a slot.
#[derive(Clone, Debug)]
pub struct SlotHolder {
    /// The opponent; nobody for somebody without an account.
    pub name: Option<Username>,
    /// Whether that is a person.
    pub human: bool,
    /// Whether the game has a clock.
    pub clocked: bool,
}

impl Slots {
    /// An empty house for so many games at once, so many of them against people only.
    pub fn new(concurrency: usize, reserved: usize) -> Self {
        Self {
            concurrency,
            reserved,
            taken: HashMap::new(),
            kept: HashSet::new(),
            planned: HashMap::new(),
        }
    }

    /// From now on there are so many. Who has a place keeps it.
    pub fn resize(&mut self, concurrency: usize, reserved: usize) {
        (self.concurrency, self.reserved) = (concurrency, reserved);
    }

    /// We have said yes: the slot is kept for a while.
    pub fn promise(&mut self, id: GameId, guest: SlotHolder, now: Instant) {
        self.expect(id, guest, now + PROMISE);
    }

    /// It may become a game until then, and has a slot for so long.
    pub fn expect(&mut self, id: GameId, guest: SlotHolder, until: Instant) {
        let slot = Slot {
            guest,
            arena: None,
            promised: Some(until),
        };
        self.taken.insert(id, slot);
    }

    /// The game is on.
    pub fn take(&mut self, id: GameId, guest: SlotHolder, arena: Option<ArenaId>) {
        let slot = Slot {
            guest,
            arena,
            promised: None,
        };
        self.taken.insert(id, slot);
    }

    /// The game is over, or the promise is off.
    pub fn free(&mut self, id: &GameId) {
        self.taken.remove(id);
    }

    /// We are in this arena, and it begins then.
    pub fn begins(&mut self, arena: ArenaId, at: Instant) {
        self.kept.remove(&arena);
        self.planned.insert(arena, at);
    }

    /// A game of this arena may come at any moment.
    pub fn keep(&mut self, arena: ArenaId) {
        self.planned.remove(&arena);
        self.kept.insert(arena);
    }

    /// None will come, or none any more.
    pub fn release(&mut self, arena: &ArenaId) {
        self.planned.remove(arena);
        self.kept.remove(arena);
    }

    /// When the next arena begins that we are in.
    pub fn next_arena(&self) -> Option<Instant> {
        self.planned.values().min().copied()
    }

    /// Arenas from which a game may come at any moment, without those that we are playing in.
    pub fn arenas_awaited(&self) -> usize {
        let playing = |arena: &ArenaId| {
            let mut arenas = self.taken.values().filter_map(|slot| slot.arena.as_ref());
            arenas.any(|other| other == arena)
        };
        self.kept.iter().filter(|arena| !playing(arena)).count()
    }

    /// Whether there is no room for another game with a clock, against a person or not. Those that are on without a slot
    /// count too.
    pub fn full(&mut self, human: bool, now: Instant) -> bool {
        self.forget(now);
        let kept = self.arenas_awaited();
        let clocked = || self.taken.values().filter(|slot| slot.guest.clocked);
        let others = clocked().filter(|slot| !slot.guest.human).count();
        let for_others = self.concurrency.saturating_sub(self.reserved);
        clocked().count() + kept >= self.concurrency || (!human && others + kept >= for_others)
    }

    /// Whether a game with a clock is on or promised.
    pub fn busy(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.taken.values().any(|slot| slot.guest.clocked)
    }

    /// Whether an accepted challenge may still become a game.
    pub fn promised(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.taken.values().any(|slot| slot.promised.is_some())
    }

    /// Games with a clock, or games without one, that are on or promised against one opponent.
    pub fn against(&mut self, opponent: Option<&Username>, clocked: bool, now: Instant) -> usize {
        self.forget(now);
        let Some(opponent) = opponent else { return 0 };
        let guests = self.taken.values().map(|slot| &slot.guest);
        guests
            .filter(|guest| guest.clocked == clocked && guest.name.as_ref() == Some(opponent))
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

    fn guest(name: Option<&str>) -> SlotHolder {
        SlotHolder {
            name: name.map(Username::new),
            human: true,
            clocked: true,
        }
    }

    fn bot() -> SlotHolder {
        SlotHolder {
            human: false,
            ..guest(Some("Rob"))
        }
    }

    #[test]
    fn promises_count_and_lapse() {
        let (now, later) = (Instant::now(), Instant::now() + PROMISE);
        let mut slots = Slots::new(2, 0);
        let ann = Username::new("Ann");
        slots.promise(id(1), guest(Some("Ann")), now);
        slots.take(id(2), guest(Some("ANN")), None);
        assert!(slots.full(true, now) && slots.promised(now));
        assert_eq!(slots.against(Some(&ann), true, now), 2);
        assert!(!slots.promised(later) && !slots.full(true, later));
        assert_eq!(slots.against(Some(&ann), true, later), 1);
    }

    #[test]
    fn a_game_that_starts_keeps_its_slot_until_its_end() {
        let (now, later) = (Instant::now(), Instant::now() + 2 * PROMISE);
        let mut slots = Slots::new(1, 0);
        slots.promise(id(1), guest(None), now);
        slots.take(id(1), guest(None), None);
        assert!(slots.full(true, later));
        slots.free(&id(1));
        slots.free(&id(1));
        assert!(!slots.full(true, later));
    }

    #[test]
    fn an_arena_has_one_slot_with_a_game_and_without() {
        let now = Instant::now();
        let mut slots = Slots::new(2, 0);
        slots.keep(id(9));
        slots.keep(id(9));
        assert!(!slots.full(true, now));
        assert_eq!(slots.arenas_awaited(), 1);
        slots.take(id(1), bot(), Some(id(9)));
        assert_eq!(slots.arenas_awaited(), 0);
        assert!(!slots.full(true, now));
        slots.take(id(2), guest(None), None);
        assert!(slots.full(true, now));
        slots.free(&id(1));
        assert!(slots.full(true, now));
        slots.release(&id(9));
        assert!(!slots.full(true, now));
    }

    #[test]
    fn the_next_arena_is_the_first_that_has_not_begun() {
        let (soon, later) = (Instant::now(), Instant::now() + PROMISE);
        let mut slots = Slots::new(1, 0);
        slots.begins(id(8), later);
        slots.begins(id(9), soon);
        assert_eq!(slots.next_arena(), Some(soon));
        slots.keep(id(9));
        assert_eq!(slots.next_arena(), Some(later));
        // Put off, it needs no slot any more.
        slots.begins(id(9), soon);
        assert_eq!(
            (slots.next_arena(), slots.arenas_awaited()),
            (Some(soon), 0)
        );
        slots.release(&id(9));
        slots.release(&id(8));
        assert_eq!(slots.next_arena(), None);
    }

    #[test]
    fn games_without_a_clock_take_no_slot() {
        let mut slots = Slots::new(1, 0);
        let patient = |name| SlotHolder {
            clocked: false,
            ..guest(name)
        };
        let now = Instant::now();
        slots.take(id(1), patient(None), None);
        assert!(!slots.full(true, now) && !slots.busy(now));
        slots.promise(id(2), guest(None), now);
        assert!(slots.busy(now) && !slots.busy(now + PROMISE));
        let ann = Username::new("Ann");
        slots.take(id(3), patient(Some("Ann")), None);
        assert_eq!(slots.against(Some(&ann), false, now), 1);
        assert_eq!(slots.against(Some(&ann), true, now), 0);
    }

    #[test]
    fn reserved_places_are_for_people() {
        let now = Instant::now();
        let mut slots = Slots::new(3, 1);
        slots.take(id(1), bot(), None);
        assert!(!slots.full(false, now));
        slots.take(id(2), bot(), None);
        assert!(slots.full(false, now) && !slots.full(true, now));
        // A person in one of the other places leaves the reserved one to the next person.
        slots.free(&id(2));
        slots.take(id(3), guest(Some("Ann")), None);
        assert!(!slots.full(false, now));
        slots.keep(id(9));
        assert!(slots.full(false, now) && slots.full(true, now));
    }
}
