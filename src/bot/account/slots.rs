//! Who takes up how much of the house: games that are on, and challenges that we have said yes to.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::lichess::model::{ArenaId, GameId, Username};

/// How long an accepted challenge may take to become a game before its slot is free again.
const RESERVATION_TIMEOUT: Duration = Duration::from_secs(20);

/// See the module's text. Games without a clock take no slot: they think for seconds a day and last for weeks.
#[derive(Debug)]
pub struct Slots {
    concurrency: usize,
    /// So many places are never taken by others than people.
    reserved: usize,
    taken: HashMap<GameId, Slot>,
    /// Arenas from which a game may come at any moment: each has a slot, which its games take.
    open_arenas: HashSet<ArenaId>,
    /// When those begin that we are in and from which none comes yet.
    upcoming_arenas: HashMap<ArenaId, Instant>,
}

#[derive(Debug)]
struct Slot {
    holder: SlotHolder,
    arena: Option<ArenaId>,
    /// Until when an accepted challenge may become a game; `None` once it has.
    reserved_until: Option<Instant>,
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
            open_arenas: HashSet::new(),
            upcoming_arenas: HashMap::new(),
        }
    }

    /// From now on there are so many. Who has a place keeps it.
    pub fn resize(&mut self, concurrency: usize, reserved: usize) {
        (self.concurrency, self.reserved) = (concurrency, reserved);
    }

    /// We have said yes: the slot is kept for a while.
    pub fn reserve(&mut self, id: GameId, holder: SlotHolder, now: Instant) {
        self.reserve_until(id, holder, now + RESERVATION_TIMEOUT);
    }

    /// It may become a game until then, and has a slot for so long.
    pub fn reserve_until(&mut self, id: GameId, holder: SlotHolder, until: Instant) {
        let slot = Slot {
            holder,
            arena: None,
            reserved_until: Some(until),
        };
        self.taken.insert(id, slot);
    }

    /// The game is on.
    pub fn occupy(&mut self, id: GameId, holder: SlotHolder, arena: Option<ArenaId>) {
        let slot = Slot {
            holder,
            arena,
            reserved_until: None,
        };
        self.taken.insert(id, slot);
    }

    /// The game is over, or the promise is off.
    pub fn release(&mut self, id: &GameId) {
        self.taken.remove(id);
    }

    /// We are in this arena, and it begins then.
    pub fn set_arena_start(&mut self, arena: ArenaId, at: Instant) {
        self.open_arenas.remove(&arena);
        self.upcoming_arenas.insert(arena, at);
    }

    /// A game of this arena may come at any moment.
    pub fn reserve_arena(&mut self, arena: ArenaId) {
        self.upcoming_arenas.remove(&arena);
        self.open_arenas.insert(arena);
    }

    /// None will come, or none any more.
    pub fn release_arena(&mut self, arena: &ArenaId) {
        self.upcoming_arenas.remove(arena);
        self.open_arenas.remove(arena);
    }

    /// When the next arena begins that we are in.
    pub fn next_arena(&self) -> Option<Instant> {
        self.upcoming_arenas.values().min().copied()
    }

    /// Arenas from which a game may come at any moment, without those that we are playing in.
    pub fn arenas_awaited(&self) -> usize {
        let playing = |arena: &ArenaId| {
            let mut arenas = self.taken.values().filter_map(|slot| slot.arena.as_ref());
            arenas.any(|other| other == arena)
        };
        self.open_arenas
            .iter()
            .filter(|arena| !playing(arena))
            .count()
    }

    /// Whether there is no room for another game with a clock, against a person or not. Those that are on without a slot
    /// count too.
    pub fn is_full(&mut self, human: bool, now: Instant) -> bool {
        self.drop_expired(now);
        let for_arenas = self.arenas_awaited();
        let clocked = || self.taken.values().filter(|slot| slot.holder.clocked);
        let bots = clocked().filter(|slot| !slot.holder.human).count();
        let for_bots = self.concurrency.saturating_sub(self.reserved);
        clocked().count() + for_arenas >= self.concurrency
            || (!human && bots + for_arenas >= for_bots)
    }

    /// Whether a game with a clock is on or promised.
    pub fn is_busy(&mut self, now: Instant) -> bool {
        self.drop_expired(now);
        self.taken.values().any(|slot| slot.holder.clocked)
    }

    /// Whether an accepted challenge may still become a game.
    pub fn has_reservations(&mut self, now: Instant) -> bool {
        self.drop_expired(now);
        self.taken
            .values()
            .any(|slot| slot.reserved_until.is_some())
    }

    /// Games with a clock, or games without one, that are on or promised against one opponent.
    pub fn games_against(
        &mut self,
        opponent: Option<&Username>,
        clocked: bool,
        now: Instant,
    ) -> usize {
        self.drop_expired(now);
        let Some(opponent) = opponent else { return 0 };
        let holders = self.taken.values().map(|slot| &slot.holder);
        holders
            .filter(|holder| holder.clocked == clocked && holder.name.as_ref() == Some(opponent))
            .count()
    }

    fn drop_expired(&mut self, now: Instant) {
        self.taken
            .retain(|_, slot| slot.reserved_until.is_none_or(|until| now < until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> GameId {
        format!("game{n:04}").parse().unwrap()
    }

    fn holder(name: Option<&str>) -> SlotHolder {
        SlotHolder {
            name: name.map(Username::new),
            human: true,
            clocked: true,
        }
    }

    fn bot() -> SlotHolder {
        SlotHolder {
            human: false,
            ..holder(Some("Rob"))
        }
    }

    #[test]
    fn promises_count_and_lapse() {
        let (now, later) = (Instant::now(), Instant::now() + RESERVATION_TIMEOUT);
        let mut slots = Slots::new(2, 0);
        let ann = Username::new("Ann");
        slots.reserve(id(1), holder(Some("Ann")), now);
        slots.occupy(id(2), holder(Some("ANN")), None);
        assert!(slots.is_full(true, now) && slots.has_reservations(now));
        assert_eq!(slots.games_against(Some(&ann), true, now), 2);
        assert!(!slots.has_reservations(later) && !slots.is_full(true, later));
        assert_eq!(slots.games_against(Some(&ann), true, later), 1);
    }

    #[test]
    fn a_game_that_starts_keeps_its_slot_until_its_end() {
        let (now, later) = (Instant::now(), Instant::now() + 2 * RESERVATION_TIMEOUT);
        let mut slots = Slots::new(1, 0);
        slots.reserve(id(1), holder(None), now);
        slots.occupy(id(1), holder(None), None);
        assert!(slots.is_full(true, later));
        slots.release(&id(1));
        slots.release(&id(1));
        assert!(!slots.is_full(true, later));
    }

    #[test]
    fn an_arena_has_one_slot_with_a_game_and_without() {
        let now = Instant::now();
        let mut slots = Slots::new(2, 0);
        slots.reserve_arena(id(9));
        slots.reserve_arena(id(9));
        assert!(!slots.is_full(true, now));
        assert_eq!(slots.arenas_awaited(), 1);
        slots.occupy(id(1), bot(), Some(id(9)));
        assert_eq!(slots.arenas_awaited(), 0);
        assert!(!slots.is_full(true, now));
        slots.occupy(id(2), holder(None), None);
        assert!(slots.is_full(true, now));
        slots.release(&id(1));
        assert!(slots.is_full(true, now));
        slots.release_arena(&id(9));
        assert!(!slots.is_full(true, now));
    }

    #[test]
    fn the_next_arena_is_the_first_that_has_not_begun() {
        let (soon, later) = (Instant::now(), Instant::now() + RESERVATION_TIMEOUT);
        let mut slots = Slots::new(1, 0);
        slots.set_arena_start(id(8), later);
        slots.set_arena_start(id(9), soon);
        assert_eq!(slots.next_arena(), Some(soon));
        slots.reserve_arena(id(9));
        assert_eq!(slots.next_arena(), Some(later));
        // Put off, it needs no slot any more.
        slots.set_arena_start(id(9), soon);
        assert_eq!(
            (slots.next_arena(), slots.arenas_awaited()),
            (Some(soon), 0)
        );
        slots.release_arena(&id(9));
        slots.release_arena(&id(8));
        assert_eq!(slots.next_arena(), None);
    }

    #[test]
    fn games_without_a_clock_take_no_slot() {
        let mut slots = Slots::new(1, 0);
        let patient = |name| SlotHolder {
            clocked: false,
            ..holder(name)
        };
        let now = Instant::now();
        slots.occupy(id(1), patient(None), None);
        assert!(!slots.is_full(true, now) && !slots.is_busy(now));
        slots.reserve(id(2), holder(None), now);
        assert!(slots.is_busy(now) && !slots.is_busy(now + RESERVATION_TIMEOUT));
        let ann = Username::new("Ann");
        slots.occupy(id(3), patient(Some("Ann")), None);
        assert_eq!(slots.games_against(Some(&ann), false, now), 1);
        assert_eq!(slots.games_against(Some(&ann), true, now), 0);
    }

    #[test]
    fn reserved_places_are_for_people() {
        let now = Instant::now();
        let mut slots = Slots::new(3, 1);
        slots.occupy(id(1), bot(), None);
        assert!(!slots.is_full(false, now));
        slots.occupy(id(2), bot(), None);
        assert!(slots.is_full(false, now) && !slots.is_full(true, now));
        // A person in one of the other places leaves the reserved one to the next person.
        slots.release(&id(2));
        slots.occupy(id(3), holder(Some("Ann")), None);
        assert!(!slots.is_full(false, now));
        slots.reserve_arena(id(9));
        assert!(slots.is_full(false, now) && slots.is_full(true, now));
    }
}
