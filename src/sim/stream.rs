//! Streams of lines: a short queue on the writing side, chunks and keep-alive lines on the reading side.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::Notify;

use super::Sim;
use super::connection::Connection;
use super::faults::StreamFault;
use super::id::{GameId, UserId};
use super::time::Moment;
use crate::chess::Color;

/// Lines that wait for a slow reader; a further one pushes the oldest out.
const QUEUE: usize = 32;
/// Between the empty lines of event and game streams.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(7);
/// Between the empty lines of other streams.
pub(super) const SLOW_HEARTBEAT: Duration = Duration::from_secs(50);

/// Wall time that written lines need to leave, with much to spare.
const FLUSH: Duration = Duration::from_millis(20);

/// The writing side of a stream. Clones write to the same stream.
#[derive(Clone, Default)]
pub(super) struct Feed(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Bytes>,
    ended: bool,
    fault: Option<StreamFault>,
    closed: bool,
}

impl Feed {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, line: Bytes) {
        let mut state = self.state();
        if state.lines.len() == QUEUE {
            state.lines.pop_front();
        }
        state.lines.push_back(line);
        drop(state);
        self.0.wake.notify_one();
    }

    /// After the lines that wait, the stream ends.
    pub fn end(&self) {
        self.state().ended = true;
        self.0.wake.notify_one();
    }

    /// Breaks the stream now.
    pub fn break_off(&self, how: StreamFault) {
        self.state().fault = Some(how);
        self.0.wake.notify_one();
    }

    /// The site goes down: nothing more comes, not even out of a silent stream.
    pub fn close(&self) {
        self.state().closed = true;
        self.0.wake.notify_one();
    }

    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a stream is about.
#[derive(Clone, Debug)]
pub(super) enum Topic {
    Events {
        user: UserId,
    },
    Game {
        user: UserId,
        id: GameId,
        color: Color,
    },
    Challenge {
        id: GameId,
    },
}

/// The reading side: what the connection writes out.
pub(super) struct Lines {
    sim: Sim,
    topic: Topic,
    feed: Feed,
    connection: Connection,
    rhythm: Duration,
    next_beat: Moment,
    /// Lines until this stream breaks on purpose.
    breaks: Option<(usize, StreamFault)>,
}

enum Next {
    Line(Bytes),
    End,
    Broken(StreamFault),
}

impl Lines {
    pub fn new(
        sim: Sim,
        topic: Topic,
        feed: Feed,
        connection: Connection,
        breaks: Option<(usize, StreamFault)>,
    ) -> Self {
        let rhythm = match topic {
            Topic::Challenge { .. } => SLOW_HEARTBEAT,
            Topic::Events { .. } | Topic::Game { .. } => HEARTBEAT,
        };
        let next_beat = sim.time().now() + rhythm;
        Self {
            sim,
            topic,
            feed,
            connection,
            rhythm,
            next_beat,
            breaks,
        }
    }

    /// One chunk for each line.
    pub fn into_body(self) -> Body {
        Body::from_stream(futures::stream::unfold(self, |mut lines| async move {
            let item = lines.next().await?;
            Some((item, lines))
        }))
    }

    fn ready(&mut self) -> Option<Next> {
        let mut state = self.feed.state();
        if state.closed {
            return Some(Next::End);
        }
        if let Some(how) = state.fault {
            return Some(Next::Broken(how));
        }
        if let Some((0, how)) = self.breaks {
            return Some(Next::Broken(how));
        }
        let Some(line) = state.lines.pop_front() else {
            return state.ended.then_some(Next::End);
        };
        if let Some((left, _)) = &mut self.breaks {
            *left -= 1;
        }
        Some(Next::Line(line))
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            match self.ready() {
                Some(Next::Line(line)) => return Some(Ok(line)),
                Some(Next::End | Next::Broken(StreamFault::Eof)) => return None,
                Some(Next::Broken(StreamFault::Reset)) => {
                    // The lines before it are let out first; they leave while nothing new is ready.
                    tokio::time::sleep(FLUSH).await;
                    self.connection.reset();
                    return Some(Err(io::ErrorKind::ConnectionReset.into()));
                }
                Some(Next::Broken(StreamFault::Silence)) => {
                    self.feed.0.wake.notified().await;
                    continue;
                }
                None => {}
            }
            let sim = self.sim.clone();
            tokio::select! {
                () = self.feed.0.wake.notified() => {}
                () = sim.time().sleep_until(self.next_beat) => {
                    let now = sim.time().now();
                    while self.next_beat <= now {
                        self.next_beat = self.next_beat + self.rhythm;
                    }
                    sim.world().beat(&self.topic, now);
                    return Some(Ok(Bytes::from_static(b"\n")));
                }
            }
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let now = self.sim.time().now();
        self.sim.world().left(&self.topic, &self.feed, now);
    }
}
