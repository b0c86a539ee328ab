//! Delayed actions of the site itself.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::Sim;
use crate::site::id::{GameId, UserId};
use crate::site::state::SiteState;
use crate::site::time::SimTime;

/// Action to be run at a given time.
#[derive(Clone, Debug)]
pub(crate) enum ScheduledAction {
    /// Announces a challenge from an anonymous player to its recipient.
    Announce(GameId),
    /// This user accepts the rematch with this game id.
    AcceptRematch(UserId, GameId),
    DeclineRematch(UserId, GameId),
}

/// Actions that are not due yet.
#[derive(Default)]
pub(crate) struct Schedule {
    actions: Vec<(SimTime, ScheduledAction)>,
    wake: Arc<Notify>,
}

impl SiteState {
    pub(crate) fn schedule_action(&mut self, at: SimTime, action: ScheduledAction) {
        self.schedule.actions.push((at, action));
        self.schedule.wake.notify_one();
    }

    /// Runs due actions in the order in which they were scheduled.
    pub(crate) fn run_scheduled_actions(&mut self, now: SimTime) {
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
    /// Waits until an action is due and the site is up.
    pub(crate) async fn scheduled_action_due(&self) {
        loop {
            let (wake, next) = {
                let state = self.state();
                let next = state.schedule.actions.iter().map(|(at, _)| *at).min();
                (state.schedule.wake.clone(), next)
            };
            let timer = async {
                match next {
                    Some(at) => self.time().sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = timer => return self.wait_until_up().await,
                () = wake.notified() => {}
            }
        }
    }
}
