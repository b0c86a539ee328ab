//! Delayed actions of the site itself.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::site::SimTime;
use crate::site::effect::ScheduledAction;

/// Actions that are not due yet.
#[derive(Default)]
pub(crate) struct Schedule {
    actions: Vec<(SimTime, ScheduledAction)>,
    wake: Arc<Notify>,
}

impl Schedule {
    pub(crate) fn add(&mut self, at: SimTime, action: ScheduledAction) {
        self.actions.push((at, action));
        self.wake.notify_one();
    }

    /// Removes and returns the due actions in the order in which they were scheduled.
    pub(crate) fn take_due(&mut self, now: SimTime) -> Vec<ScheduledAction> {
        let due = self.actions.extract_if(.., |(at, _)| *at <= now);
        due.map(|(_, action)| action).collect()
    }

    /// Time of the next action, and the signal that one was added.
    pub(crate) fn next(&self) -> (Option<SimTime>, Arc<Notify>) {
        let next = self.actions.iter().map(|(at, _)| *at).min();
        (next, self.wake.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::id::GameId;

    #[test]
    fn due_actions_run_once_and_in_order() {
        let ids = ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map(|id| GameId::parse(id).unwrap());
        let mut schedule = Schedule::default();
        for (at, id) in [(20, ids[0]), (10, ids[1]), (30, ids[2])] {
            schedule.add(SimTime(at), ScheduledAction::Announce(id));
        }
        assert_eq!(schedule.next().0, Some(SimTime(10)));
        let due: Vec<String> = schedule
            .take_due(SimTime(20))
            .iter()
            .map(|action| format!("{action:?}"))
            .collect();
        let announce = |id| format!("{:?}", ScheduledAction::Announce(id));
        assert_eq!(due, [announce(ids[0]), announce(ids[1])]);
        assert_eq!(schedule.next().0, Some(SimTime(30)));
        assert!(schedule.take_due(SimTime(29)).is_empty());
    }
}
