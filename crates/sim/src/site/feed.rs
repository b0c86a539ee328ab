//! Writing side of a stream: a bounded queue of lines.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use knightwatch_chess::Color;
use knightwatch_util::sync::lock;

use crate::faults::StreamFault;
use crate::site::{GameId, UserId};

/// Lines queued for a slow reader; a further line drops the oldest.
const MAX_QUEUED_LINES: usize = 32;
/// Interval of keep-alive lines on event and game streams.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(7);
/// Interval of keep-alive lines on the stream of a seek.
pub(crate) const SEEK_KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of keep-alive lines on other streams.
pub(crate) const SLOW_KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(50);

/// Writing side of a stream. Clones write to the same stream.
#[derive(Clone, Default)]
pub(crate) struct Feed(Arc<Inner>);

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
        lock(&self.0.state)
    }

    pub(crate) fn push(&self, line: Bytes) {
        let mut state = self.state();
        if state.ended {
            return;
        }
        if state.lines.len() == MAX_QUEUED_LINES {
            state.lines.pop_front();
        }
        state.lines.push_back(line);
        drop(state);
        self.0.wake.notify_one();
    }

    /// Ends the stream after the queued lines; further lines are dropped.
    pub(crate) fn end(&self) {
        self.state().ended = true;
        self.0.wake.notify_one();
    }

    /// Ends the stream and drops the queued lines.
    pub(crate) fn end_now(&self) {
        let mut state = self.state();
        state.ended = true;
        state.lines.clear();
    }

    /// Applies a fault to the stream now.
    pub(crate) fn inject_fault(&self, fault: StreamFault) {
        self.state().fault = Some(fault);
        self.0.wake.notify_one();
    }

    /// Closes the stream at once, even a silent one.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.0.wake.notify_one();
    }

    /// Returns whether the stream was closed, and takes the fault to apply now.
    pub(crate) fn take_fault(&self) -> (bool, Option<StreamFault>) {
        let mut state = self.state();
        (state.closed, state.fault.take())
    }

    /// Takes all queued lines, and returns whether the stream has ended.
    pub(crate) fn take_lines(&self) -> (VecDeque<Bytes>, bool) {
        let mut state = self.state();
        (std::mem::take(&mut state.lines), state.ended)
    }

    /// Takes the next line and whether it is the last one; no line at the end of the stream.
    pub(crate) fn take_line(&self) -> Option<(Option<Bytes>, bool)> {
        let mut state = self.state();
        match state.lines.pop_front() {
            Some(line) => Some((Some(line), state.ended && state.lines.is_empty())),
            None => state.ended.then_some((None, true)),
        }
    }

    /// Waits for a line, a fault or the end.
    pub(crate) async fn changed(&self) {
        self.0.wake.notified().await;
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Subject of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Topic {
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
    /// A seek in the lobby with a clock.
    Seek {
        id: GameId,
    },
    /// Games watched by spectators.
    Spectators,
}
