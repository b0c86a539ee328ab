//! Broadcast channel of events.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::Event;

/// Events buffered for a slow subscriber before it loses the oldest.
const MAX_BUFFERED_EVENTS: usize = 4096;

/// Broadcast channel of [`Event`]s. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Bus {
    sender: broadcast::Sender<Arc<Event>>,
    /// Bus of all accounts, which gets the events too, and the name of this account.
    parent: Option<(broadcast::Sender<Arc<Event>>, Arc<str>)>,
}

impl Bus {
    /// A bus without subscribers.
    pub fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(MAX_BUFFERED_EVENTS),
            parent: None,
        }
    }

    /// The bus of one of several accounts; its events are also sent on this one.
    pub fn for_account(&self, account: &str) -> Self {
        Self {
            parent: Some((self.sender.clone(), account.into())),
            ..Self::new()
        }
    }

    /// The same bus without its parent.
    pub fn without_parent(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            parent: None,
        }
    }

    /// Sends an event to all current subscribers. Never waits.
    pub fn send(&self, event: Event) {
        let event = Arc::new(event);
        // Sending fails only without subscribers.
        if let Some((parent, account)) = &self.parent {
            let _ = parent.send(event.tagged(account).map_or(Arc::clone(&event), Arc::new));
        }
        let _ = self.sender.send(event);
    }

    /// Receives all events from now on, in the order of sending.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.sender.subscribe()
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::error::RecvError;

    use super::*;

    #[tokio::test]
    async fn bus_of_account_forwards_to_parent() {
        let all = Bus::new();
        let (one, other) = (all.for_account("one"), all.for_account("other"));
        let mut receivers = (one.subscribe(), all.subscribe());
        other.send(Event::note("other"));
        one.without_parent().send(Event::note("quiet"));
        one.send(Event::note("one"));
        for text in ["quiet", "one"] {
            assert_eq!(*receivers.0.recv().await.unwrap(), Event::note(text));
        }
        for text in ["other: other", "one: one"] {
            assert_eq!(*receivers.1.recv().await.unwrap(), Event::note(text));
        }
        let paused = Event::Paused { paused: true };
        one.send(paused.clone());
        assert_eq!(*receivers.0.recv().await.unwrap(), paused);
        let tagged = Event::ForAccount {
            account: "one".to_owned(),
            event: Box::new(paused),
        };
        assert_eq!(*receivers.1.recv().await.unwrap(), tagged);
    }

    #[test]
    fn bus_without_subscribers_drops_events() {
        let bus = Bus::new();
        for _ in 0..3 * MAX_BUFFERED_EVENTS {
            bus.send(Event::note("nobody listens"));
        }
    }

    #[test]
    fn slow_subscriber_lags_and_continues() {
        let bus = Bus::new();
        let mut receiver = bus.subscribe();
        for n in 0..MAX_BUFFERED_EVENTS + 7 {
            bus.send(Event::note(n.to_string()));
        }
        assert!(matches!(
            receiver.blocking_recv(),
            Err(RecvError::Lagged(7))
        ));
        assert_eq!(*receiver.blocking_recv().unwrap(), Event::note("7"));
    }
}
