//! Event streams of users, and mailboxes of built-in players.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::faults::StreamFault;
use crate::site::{Feed, Notice, UserId};

struct EventStream {
    token: String,
    user: UserId,
    feed: Feed,
}

/// Receivers of events.
#[derive(Default)]
pub(crate) struct EventStreams {
    streams: Vec<EventStream>,
    mailboxes: HashMap<UserId, mpsc::UnboundedSender<Notice>>,
}

impl EventStreams {
    /// Adds the stream of a token, and ends its previous one.
    pub(crate) fn open(&mut self, token: &str, user: &UserId, feed: Feed) {
        self.streams.retain(|old| {
            if old.token == token {
                old.feed.end();
            }
            old.token != token
        });
        self.streams.push(EventStream {
            token: token.to_owned(),
            user: user.clone(),
            feed,
        });
    }

    /// Removes a stream that was closed by its reader.
    pub(crate) fn remove(&mut self, feed: &Feed) {
        self.streams.retain(|stream| !stream.feed.is(feed));
    }

    /// Sends a line to every event stream of this user.
    pub(crate) fn send(&self, user: &UserId, line: &Bytes) {
        let streams = self.streams.iter().filter(|stream| stream.user == *user);
        streams.for_each(|stream| stream.feed.push(line.clone()));
    }

    /// Applies a fault to the streams of these users.
    pub(crate) fn inject_fault(&self, matches: impl Fn(&UserId) -> bool, fault: StreamFault) {
        let streams = self.streams.iter().filter(|stream| matches(&stream.user));
        streams.for_each(|stream| stream.feed.inject_fault(fault));
    }

    /// Closes all streams.
    pub(crate) fn close(&self) {
        self.streams.iter().for_each(|stream| stream.feed.close());
    }

    pub(crate) fn len(&self) -> usize {
        self.streams.len()
    }

    /// Adds a built-in player. Returns `None` if there is one with this name.
    pub(crate) fn add_builtin(&mut self, user: &UserId) -> Option<mpsc::UnboundedReceiver<Notice>> {
        if self.mailboxes.contains_key(user) {
            return None;
        }
        let (sender, notices) = mpsc::unbounded_channel();
        self.mailboxes.insert(user.clone(), sender);
        Some(notices)
    }

    pub(crate) fn notify(&self, user: &UserId, notice: Notice) {
        if let Some(player) = self.mailboxes.get(user) {
            // The player may have stopped.
            let _ = player.send(notice);
        }
    }

    /// Notifies all built-in players.
    pub(crate) fn notify_all(&self, notice: Notice) {
        for player in self.mailboxes.values() {
            let _ = player.send(notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_stream_ends_previous_one_of_token() {
        let user = UserId::of("Anna");
        let mut streams = EventStreams::default();
        let (first, second, other) = (Feed::default(), Feed::default(), Feed::default());
        streams.open("a", &user, first.clone());
        streams.open("b", &user, other.clone());
        streams.open("a", &user, second.clone());
        assert_eq!(streams.len(), 2);
        streams.send(&user, &Bytes::from_static(b"{}\n"));
        streams.send(&UserId::of("Bob"), &Bytes::from_static(b"no\n"));
        assert!(first.take_lines().1);
        for feed in [&second, &other] {
            assert_eq!(
                feed.take_lines(),
                ([Bytes::from_static(b"{}\n")].into(), false)
            );
        }
    }

    #[test]
    fn notices_reach_their_player_only() {
        let mut streams = EventStreams::default();
        let mut anna = streams.add_builtin(&UserId::of("Anna")).unwrap();
        let mut bob = streams.add_builtin(&UserId::of("Bob")).unwrap();
        assert!(streams.add_builtin(&UserId::of("anna")).is_none());
        let game = crate::site::id::GameId::parse("abcdefgh").unwrap();
        streams.notify(&UserId::of("Anna"), Notice::Game(game));
        assert!(matches!(anna.try_recv(), Ok(Notice::Game(id)) if id == game));
        assert!(bob.try_recv().is_err());
    }
}
