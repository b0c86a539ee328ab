//! The way from those who do something to those who watch.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::Event;

/// How many events a subscriber may be behind before it loses the oldest.
const CAPACITY: usize = 4096;

/// The one way from those who do something to those who watch. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Bus {
    here: broadcast::Sender<Arc<Event>>,
    /// Where the same is heard with that of others, and the name of the account whose this is.
    beyond: Option<(broadcast::Sender<Arc<Event>>, Arc<str>)>,
}

impl Bus {
    /// A bus without subscribers.
    pub fn new() -> Self {
        Self {
            here: broadcast::Sender::new(CAPACITY),
            beyond: None,
        }
    }

    /// A bus of one of several accounts: what is sent on it is heard on this one, too.
    pub fn within(&self, account: &str) -> Self {
        Self {
            beyond: Some((self.here.clone(), account.into())),
            ..Self::new()
        }
    }

    /// The same bus, whose events are heard on no other.
    pub fn alone(&self) -> Self {
        Self {
            here: self.here.clone(),
            beyond: None,
        }
    }

    /// Tells everyone who watches at this moment. Never waits.
    pub fn send(&self, event: Event) {
        let event = Arc::new(event);
        // An error only says that nobody watches.
        if let Some((beyond, account)) = &self.beyond {
            let _ = beyond.send(event.told_of(account).map_or(Arc::clone(&event), Arc::new));
        }
        let _ = self.here.send(event);
    }

    /// All events from now on, in the order in which they were sent.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.here.subscribe()
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
    async fn several_are_heard_on_one_bus() {
        let all = Bus::new();
        let (one, other) = (all.within("one"), all.within("other"));
        let mut heard = (one.subscribe(), all.subscribe());
        other.send(Event::note("other"));
        one.alone().send(Event::note("quiet"));
        one.send(Event::note("one"));
        for text in ["quiet", "one"] {
            assert_eq!(*heard.0.recv().await.unwrap(), Event::note(text));
        }
        for text in ["other: other", "one: one"] {
            assert_eq!(*heard.1.recv().await.unwrap(), Event::note(text));
        }
        let paused = Event::Paused { paused: true };
        one.send(paused.clone());
        assert_eq!(*heard.0.recv().await.unwrap(), paused);
        let told = Event::OfAccount {
            account: "one".to_owned(),
            event: Box::new(paused),
        };
        assert_eq!(*heard.1.recv().await.unwrap(), told);
    }

    #[test]
    fn a_bus_without_subscribers_takes_everything() {
        let bus = Bus::new();
        for _ in 0..3 * CAPACITY {
            bus.send(Event::note("nobody listens"));
        }
    }

    #[test]
    fn a_slow_subscriber_is_told_what_it_missed_and_goes_on() {
        let bus = Bus::new();
        let mut receiver = bus.subscribe();
        for n in 0..CAPACITY + 7 {
            bus.send(Event::note(n.to_string()));
        }
        assert!(matches!(
            receiver.blocking_recv(),
            Err(RecvError::Lagged(7))
        ));
        assert_eq!(*receiver.blocking_recv().unwrap(), Event::note("7"));
    }
}
