//! Time limit of each side's first move.

use std::time::Duration;

use super::Referee;
use super::outcome::{ActionOutcome, Expiration, Status};
use crate::site::{SimTime, Speed, Variant};

/// Delay between the first-move timeout and its detection.
const FIRST_MOVE_CHECK_DELAY: Duration = Duration::from_secs(1);

/// Time limit of each side's first move; the site ends a game that exceeds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstMoveLimit {
    pub timeout: Duration,
    /// Whether `expiration` is sent to players.
    pub is_shown: bool,
}

/// Time for the first move, as in `RoundGame#timeForFirstMove` of lila.
pub(crate) fn first_move_timeout(in_arena: bool, variant: Variant, speed: Speed) -> Duration {
    let (arena, other) = match speed {
        Speed::UltraBullet => (11, 15),
        Speed::Bullet => (16, 20),
        Speed::Blitz => (21, 25),
        Speed::Rapid => (25, 30),
        Speed::Classical | Speed::Correspondence => (30, 35),
    };
    let base = Duration::from_secs(if in_arena { arena } else { other });
    match variant {
        Variant::Chess960 => base * 5 / 4,
        Variant::Standard | Variant::FromPosition | Variant::Other(_) => base,
    }
}

impl Referee {
    /// The first-move limit; `None` in games that never expire and once both have moved.
    pub(super) fn expiration(&self, now: SimTime) -> Option<Expiration> {
        let limit = self.config.first_move_limit?;
        (limit.is_shown && self.is_running() && self.plies() < 2).then(|| Expiration {
            idle: now.since(self.last_move_at),
            allowed: limit.timeout,
        })
    }

    /// Ends the game if the first move is overdue: it is aborted, or lost where it may not be aborted.
    pub(crate) fn check_first_move(&mut self, now: SimTime) -> ActionOutcome {
        let mut snapshots = Vec::new();
        let is_overdue = self.config.first_move_limit.is_some_and(|limit| {
            now.since(self.last_move_at) >= limit.timeout + FIRST_MOVE_CHECK_DELAY
        });
        if is_overdue && self.is_running() && self.plies() < 2 {
            let (status, winner) = if self.is_abortable() {
                (Status::Aborted, None)
            } else {
                (Status::NoStart, Some(!self.turn()))
            };
            self.finish(status, winner, now, &mut snapshots);
        }
        ActionOutcome::accepted(snapshots)
    }
}
