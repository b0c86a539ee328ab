//! What the site does of its own accord a moment later.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::sim::Sim;
use crate::sim::site::id::{GameId, UserId};
use crate::sim::site::state::SiteState;
use crate::sim::site::time::SimTime;

/// Something that is to be done at its time.
#[derive(Clone, Debug)]
pub(in crate::sim) enum ScheduledAction {
    /// A challenge of somebody without an account reaches the one who is challenged.
    Announce(GameId),
    /// This user takes the rematch that would be this game.
    AcceptRematch(UserId, GameId),
    DeclineRematch(UserId, GameId),
}

/// What is still to be done.
#[derive(Default)]
pub(in crate::sim) struct Schedule {
    actions: Vec<(SimTime, ScheduledAction)>,
    wake: Arc<Notify>,
}

impl SiteState {
    pub fn schedule_action(&mut self, at: SimTime, action: ScheduledAction) {
        self.schedule.actions.push((at, action));
        self.schedule.wake.notify_one();
    }

    /// Does what is due, in the order in which it was asked for.
    pub fn run_scheduled_actions(&mut self, now: SimTime) {
        if self.is_down(now) {
            return;
        }
        let due: Vec<ScheduledAction> = self
            .schedule
            .actions
            .extract_if(.., |(at, _)| *at <= now)
            .map(|(_, action)| action)
            .collect();
        for action in due {
            match action {
                ScheduledAction::Announce(id) => self.announce_challenge(id, now),
                ScheduledAction::AcceptRematch(user, id) => self.accept_rematch(&user, id, now),
                ScheduledAction::DeclineRematch(user, id) => self.decline_rematch(&user, id, now),
            }
        }
    }
}

impl Sim {
    /// Waits until something is due, and the site is up to do it.
    pub(in crate::sim) async fn scheduled_action_due(&self) {
        loop {
            let (wake, next) = {
                let state = self.state();
                let next = state.schedule.actions.iter().map(|(at, _)| *at).min();
                (state.schedule.wake.clone(), next)
            };
            let alarm = async {
                match next {
                    Some(at) => self.time().sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = alarm => return self.wait_until_up().await,
                () = wake.notified() => {}
            }
        }
    }
}
