//! Slots: running games and accepted challenges.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::lichess::model::{ArenaId, GameId, Username};

/// Time for an accepted challenge to become a game before its slot is released.
const RESERVATION_TIMEOUT: Duration = Duration::from_secs(20);

/// Slots of one account. Games without a clock take none: they think for seconds a day and last for weeks.
#[derive(Debug)]
pub(crate) struct Slots {
    concurrency: usize,
    /// Slots that are reserved for people.
    reserved: usize,
    taken: HashMap<GameId, Slot>,
    /// Arenas from which a game may come at any moment. Each has a slot, which its games take.
    open_arenas: HashSet<ArenaId>,
    /// Starts of arenas that the account has joined and that have not begun.
    upcoming_arenas: HashMap<ArenaId, Instant>,
}

#[derive(Debug)]
struct Slot {
    holder: SlotHolder,
    arena: Option<ArenaId>,
    /// Until when an accepted challenge may become a game; `None` once it has.
    reserved_until: Option<Instant>,
}

impl Slot {
    /// Returns whether a game is running, or an accepted challenge may still become one.
    fn is_current(&self, now: Instant) -> bool {
        self.reserved_until.is_none_or(|until| now < until)
    }
}

/// Occupant of a slot.
#[derive(Clone, Debug)]
pub(crate) struct SlotHolder {
    /// The opponent; `None` if they have no account.
    pub name: Option<Username>,
    /// Whether the opponent is a person.
    pub human: bool,
    pub clocked: bool,
    /// Name of the limit under which the challenge was accepted.
    pub limit: Option<String>,
}

impl Slots {
    /// Creates this many slots, of which `reserved` are for people.
    pub(crate) fn new(concurrency: usize, reserved: usize) -> Self {
        Self {
            concurrency,
            reserved,
            taken: HashMap::new(),
            open_arenas: HashSet::new(),
            upcoming_arenas: HashMap::new(),
        }
    }

    /// Changes the number of slots. Occupied slots stay occupied.
    pub(crate) fn resize(&mut self, concurrency: usize, reserved: usize) {
        (self.concurrency, self.reserved) = (concurrency, reserved);
    }

    /// Reserves a slot for an accepted challenge.
    pub(crate) fn reserve(&mut self, id: GameId, holder: SlotHolder, now: Instant) {
        self.reserve_until(id, holder, now + RESERVATION_TIMEOUT);
    }

    /// Extends a reservation. Whether it still holds.
    pub(crate) fn renew(&mut self, id: &GameId, now: Instant) -> bool {
        let taken = self.taken.get_mut(id);
        let Some(slot) = taken.filter(|slot| slot.is_current(now)) else {
            return false;
        };
        slot.reserved_until = slot.reserved_until.map(|_| now + RESERVATION_TIMEOUT);
        true
    }

    /// Reserves a slot for a challenge that may become a game until this time.
    pub(crate) fn reserve_until(&mut self, id: GameId, holder: SlotHolder, until: Instant) {
        let slot = Slot {
            holder,
            arena: None,
            reserved_until: Some(until),
        };
        self.taken.insert(id, slot);
    }

    /// Occupies a slot with a running game.
    pub(crate) fn occupy(&mut self, id: GameId, holder: SlotHolder, arena: Option<ArenaId>) {
        let slot = Slot {
            holder,
            arena,
            reserved_until: None,
        };
        self.taken.insert(id, slot);
    }

    /// Releases the slot of a game or challenge.
    pub(crate) fn release(&mut self, id: &GameId) {
        self.taken.remove(id);
    }

    /// Removes reservations that have expired by this time. Returns the challenges, which have not become games as far
    /// as is known.
    pub(crate) fn take_expired(&mut self, at: Instant) -> Vec<GameId> {
        let expired = self.taken.extract_if(|_, slot| !slot.is_current(at));
        expired.map(|(id, _)| id).collect()
    }

    /// Sets the start of an arena that the account has joined.
    pub(crate) fn set_arena_start(&mut self, arena: ArenaId, at: Instant) {
        self.open_arenas.remove(&arena);
        self.upcoming_arenas.insert(arena, at);
    }

    /// Reserves a slot for an arena: a game may come at any moment.
    pub(crate) fn reserve_arena(&mut self, arena: ArenaId) {
        self.upcoming_arenas.remove(&arena);
        self.open_arenas.insert(arena);
    }

    /// Releases the slot of an arena.
    pub(crate) fn release_arena(&mut self, arena: &ArenaId) {
        self.upcoming_arenas.remove(arena);
        self.open_arenas.remove(arena);
    }

    /// Start of the next arena that the account has joined.
    pub(crate) fn next_arena(&self) -> Option<Instant> {
        self.upcoming_arenas.values().min().copied()
    }

    /// Returns whether a game of this arena may come at any moment.
    pub(crate) fn is_arena_open(&self, arena: &ArenaId) -> bool {
        self.open_arenas.contains(arena)
    }

    /// Arenas from which a game may come at any moment, without those in which a game is running.
    pub(crate) fn arenas_awaited(&self) -> usize {
        let playing = |arena: &ArenaId| {
            let mut arenas = self.taken.values().filter_map(|slot| slot.arena.as_ref());
            arenas.any(|other| other == arena)
        };
        self.open_arenas
            .iter()
            .filter(|arena| !playing(arena))
            .count()
    }

    /// Returns whether there is no slot for another game with a clock, against a person or not. Running games beyond
    /// the number of slots count too.
    pub(crate) fn is_full(&self, human: bool, now: Instant) -> bool {
        let for_arenas = self.arenas_awaited();
        let clocked = || self.holders(now).filter(|holder| holder.clocked);
        let bots = clocked().filter(|holder| !holder.human).count();
        let for_bots = self.concurrency.saturating_sub(self.reserved);
        clocked().count() + for_arenas >= self.concurrency
            || (!human && bots + for_arenas >= for_bots)
    }

    /// Running or accepted games, with a clock or without one, and arenas from which one may come.
    pub(crate) fn count(&self, clocked: bool, now: Instant) -> usize {
        let arenas = if clocked { self.arenas_awaited() } else { 0 };
        arenas
            + self
                .opponents(now)
                .filter(|(_, clock)| *clock == clocked)
                .count()
    }

    /// Opponents of running or accepted games, and whether those have a clock.
    pub(crate) fn opponents(
        &self,
        now: Instant,
    ) -> impl Iterator<Item = (Option<&Username>, bool)> {
        self.holders(now)
            .map(|holder| (holder.name.as_ref(), holder.clocked))
    }

    /// Returns whether an accepted challenge may still become a game.
    pub(crate) fn has_reservations(&self, now: Instant) -> bool {
        let mut reserved = self.taken.values().filter_map(|slot| slot.reserved_until);
        reserved.any(|until| now < until)
    }

    /// Running or accepted games against one opponent, with a clock or without one.
    pub(crate) fn games_against(
        &self,
        opponent: Option<&Username>,
        clocked: bool,
        now: Instant,
    ) -> usize {
        let Some(opponent) = opponent else { return 0 };
        self.holders(now)
            .filter(|holder| holder.clocked == clocked && holder.name.as_ref() == Some(opponent))
            .count()
    }

    /// Running or accepted games under the limit of this name.
    pub(crate) fn games_under(&self, limit: &str, now: Instant) -> usize {
        self.holders(now)
            .filter(|holder| holder.limit.as_deref() == Some(limit))
            .count()
    }

    /// Occupants of all slots, without expired reservations.
    fn holders(&self, now: Instant) -> impl Iterator<Item = &SlotHolder> {
        let current = self.taken.values().filter(move |slot| slot.is_current(now));
        current.map(|slot| &slot.holder)
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
            limit: None,
        }
    }

    fn bot() -> SlotHolder {
        SlotHolder {
            human: false,
            ..holder(Some("Rob"))
        }
    }

    #[test]
    fn slot_reservation_counts_and_expires() {
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
    fn slot_reservation_is_renewed_until_it_expires() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut slots = Slots::new(1, 0);
        slots.reserve(id(1), holder(None), now);
        assert!(slots.renew(&id(1), now + 19 * second));
        assert!(slots.is_full(true, now + 38 * second));
        assert!(!slots.renew(&id(1), now + 39 * second));
        assert!(!slots.is_full(true, now + 39 * second));
    }

    #[test]
    fn slot_reservations_that_expire_are_reported_once() {
        let (now, later) = (Instant::now(), Instant::now() + RESERVATION_TIMEOUT);
        let mut slots = Slots::new(3, 0);
        for n in 1..=3 {
            slots.reserve(id(n), holder(None), now);
        }
        slots.occupy(id(2), holder(None), None);
        slots.reserve(id(3), holder(None), later);
        assert!(slots.take_expired(now).is_empty());
        // Queries leave it to be reported.
        assert!(!slots.is_full(true, later));
        assert_eq!(slots.take_expired(later), [id(1)]);
        assert!(slots.take_expired(later).is_empty());
        assert_eq!(slots.count(true, later), 2);
    }

    #[test]
    fn slot_of_running_game_is_kept_until_end() {
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
    fn slot_of_arena_is_taken_by_its_game() {
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
    fn slots_next_arena_is_first_not_started() {
        let (soon, later) = (Instant::now(), Instant::now() + RESERVATION_TIMEOUT);
        let mut slots = Slots::new(1, 0);
        slots.set_arena_start(id(8), later);
        slots.set_arena_start(id(9), soon);
        assert_eq!(slots.next_arena(), Some(soon));
        slots.reserve_arena(id(9));
        assert_eq!(slots.next_arena(), Some(later));
        // A postponed arena needs no slot any more.
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
    fn slot_not_taken_by_game_without_clock() {
        let mut slots = Slots::new(1, 0);
        let patient = |name| SlotHolder {
            clocked: false,
            ..holder(name)
        };
        let now = Instant::now();
        slots.occupy(id(1), patient(None), None);
        assert!(!slots.is_full(true, now) && slots.count(true, now) == 0);
        assert_eq!(slots.count(false, now), 1);
        slots.reserve(id(2), holder(None), now);
        assert_eq!(slots.count(true, now), 1);
        assert_eq!(slots.count(true, now + RESERVATION_TIMEOUT), 0);
        let ann = Username::new("Ann");
        slots.occupy(id(3), patient(Some("Ann")), None);
        assert_eq!(slots.games_against(Some(&ann), false, now), 1);
        assert_eq!(slots.games_against(Some(&ann), true, now), 0);
    }

    #[test]
    fn slot_reserved_for_humans_refuses_bots() {
        let now = Instant::now();
        let mut slots = Slots::new(3, 1);
        slots.occupy(id(1), bot(), None);
        assert!(!slots.is_full(false, now));
        slots.occupy(id(2), bot(), None);
        assert!(slots.is_full(false, now) && !slots.is_full(true, now));
        // A person in another slot leaves the reserved one to the next person.
        slots.release(&id(2));
        slots.occupy(id(3), holder(Some("Ann")), None);
        assert!(!slots.is_full(false, now));
        slots.reserve_arena(id(9));
        assert!(slots.is_full(false, now) && slots.is_full(true, now));
    }
}
