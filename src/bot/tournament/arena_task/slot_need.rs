//! Game slots that an arena needs.

use std::time::{Duration, Instant};

use crate::clock;
use crate::lichess::model::Arena;

/// A slot is reserved from this time before the start.
const SLOT_LEAD_TIME: Duration = Duration::from_secs(60);

/// Game slots that the account reserves for an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotNeed {
    None,
    /// Matchmaking games must be over by this start.
    Start(Instant),
    /// A slot: the next game may come at any moment.
    Slot,
}

/// Need of an arena that the account has joined or is about to join.
pub(super) fn initial_slot_need(arena: &Arena) -> SlotNeed {
    match arena.starts_in {
        Some(left) if left > SLOT_LEAD_TIME => SlotNeed::Start(clock::now() + left),
        _ => SlotNeed::Slot,
    }
}

/// Need of an arena in its current state.
pub(super) fn current_slot_need(arena: &Arena) -> SlotNeed {
    match arena.me {
        Some(me) if !me.withdrawn && !arena.finished => initial_slot_need(arena),
        _ => SlotNeed::None,
    }
}

/// Need of an arena whose state cannot be read. Once it has started, or if nothing is known of it, a game may come at
/// any moment.
pub(super) fn unreachable_slot_need(before: SlotNeed, known: bool) -> SlotNeed {
    match before {
        _ if !known => SlotNeed::Slot,
        SlotNeed::Start(at) if at <= clock::now() + SLOT_LEAD_TIME => SlotNeed::Slot,
        before => before,
    }
}
