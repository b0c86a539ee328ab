//! What the site does of its own accord a moment later.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::sim::Sim;
use crate::sim::site::id::{GameId, UserId};
use crate::sim::site::state::World;
use crate::sim::site::time::Moment;

/// Something that is to be done at its time.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Errand {
    /// A challenge of somebody without an account reaches the one who is challenged.
    Announce(GameId),
    /// This user takes the rematch that would be this game.
    AcceptRematch(UserId, GameId),
    DeclineRematch(UserId, GameId),
}

/// What is still to be done.
#[derive(Default)]
pub(in crate::sim) struct Errands {
    due: Vec<(Moment, Errand)>,
    wake: Arc<Notify>,
}

impl World {
    pub fn later(&mut self, at: Moment, errand: Errand) {
        self.errands.due.push((at, errand));
        self.errands.wake.notify_one();
    }

    /// Does what is due, in the order in which it was asked for.
    pub fn run_errands(&mut self, now: Moment) {
        if self.is_down(now) {
            return;
        }
        let due: Vec<Errand> = self
            .errands
            .due
            .extract_if(.., |(at, _)| *at <= now)
            .map(|(_, errand)| errand)
            .collect();
        for errand in due {
            match errand {
                Errand::Announce(id) => self.announce_challenge(id, now),
                Errand::AcceptRematch(user, id) => self.take_rematch(&user, id, now),
                Errand::DeclineRematch(user, id) => self.refuse_rematch(&user, id, now),
            }
        }
    }
}

impl Sim {
    /// Waits until something is due, and the site is up to do it.
    pub(in crate::sim) async fn errand_due(&self) {
        loop {
            let (wake, next) = {
                let world = self.world();
                let next = world.errands.due.iter().map(|(at, _)| *at).min();
                (world.errands.wake.clone(), next)
            };
            let alarm = async {
                match next {
                    Some(at) => self.time().sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = alarm => return self.up().await,
                () = wake.notified() => {}
            }
        }
    }
}
