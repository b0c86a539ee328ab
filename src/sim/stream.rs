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
use super::faults::{self, StreamFault, StreamFaults};
use super::id::{GameId, UserId};
use super::time::Moment;
use crate::chess::Color;

/// Lines that wait for a slow reader; a further one pushes the oldest out.
const QUEUE: usize = 32;
/// Between the empty lines of event and game streams.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(7);
/// Between the empty lines of other streams.
pub(super) const SLOW_HEARTBEAT: Duration = Duration::from_secs(50);

/// Bytes of a line that trickle out together.
const PIECE: usize = 8;

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
        if state.ended {
            return;
        }
        if state.lines.len() == QUEUE {
            state.lines.pop_front();
        }
        state.lines.push_back(line);
        drop(state);
        self.0.wake.notify_one();
    }

    /// After the lines that wait, the stream ends; further ones are too late.
    pub fn end(&self) {
        self.state().ended = true;
        self.0.wake.notify_one();
    }

    /// The lines that wait are not sent any more.
    fn end_now(&self) {
        let mut state = self.state();
        state.ended = true;
        state.lines.clear();
    }

    /// Something goes wrong with the stream now.
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
    /// Games of others.
    Audience,
}

/// The reading side: what the connection writes out.
pub(super) struct Lines {
    sim: Sim,
    topic: Topic,
    feed: Feed,
    connection: Connection,
    rhythm: Duration,
    next_beat: Moment,
    /// What goes wrong on purpose.
    faults: StreamFaults,
    /// Lines that are held back, with the time until which they are.
    held: VecDeque<(Moment, Bytes)>,
    /// Parts of a line that go out one by one.
    pieces: VecDeque<Bytes>,
    drip: Option<Duration>,
    silent: bool,
    truncates: bool,
    ends_twice: bool,
}

enum Next {
    Line(Bytes),
    End,
    Reset,
}

impl Lines {
    pub fn new(
        sim: Sim,
        topic: Topic,
        feed: Feed,
        connection: Connection,
        faults: StreamFaults,
    ) -> Self {
        let rhythm = match topic {
            Topic::Challenge { .. } | Topic::Audience => SLOW_HEARTBEAT,
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
            faults,
            held: VecDeque::new(),
            pieces: VecDeque::new(),
            drip: None,
            silent: false,
            truncates: false,
            ends_twice: false,
        }
    }

    /// One chunk for each line.
    pub fn into_body(self) -> Body {
        Body::from_stream(futures::stream::unfold(self, |mut lines| async move {
            let item = lines.next().await?;
            Some((item, lines))
        }))
    }

    /// What can go out now.
    fn ready(&mut self, now: Moment) -> Option<Next> {
        let (closed, fault) = {
            let mut state = self.feed.state();
            (state.closed, state.fault.take())
        };
        if closed {
            return Some(Next::End);
        }
        let mut fault = fault.or_else(|| self.faults.next_due());
        while let Some(how) = fault {
            match how {
                StreamFault::Eof => return Some(Next::End),
                StreamFault::Reset => return Some(Next::Reset),
                StreamFault::Garbage => return Some(Next::Line(faults::garbage_line())),
                StreamFault::Oversized(bytes) => {
                    return Some(Next::Line(faults::oversized_line(bytes)));
                }
                StreamFault::Silence => self.silent = true,
                StreamFault::Truncated => self.truncates = true,
                StreamFault::DuplicateFinal => self.ends_twice = true,
                StreamFault::Drip(pause) => self.drip = Some(pause),
            }
            fault = self.faults.next_due();
        }
        if self.silent {
            return None;
        }
        let (line, last) = match self.take_line(now)? {
            (Some(line), last) => (line, last),
            (None, _) => return Some(Next::End),
        };
        self.faults.on_line_sent(&line);
        if self.truncates {
            self.feed.end_now();
            self.held.clear();
            return Some(Next::Line(line.slice(..line.len() / 2)));
        }
        if last && self.ends_twice {
            self.pieces.push_back(line.clone());
        }
        Some(Next::Line(line))
    }

    /// The next line and whether it is the last; no line at the end of the stream.
    fn take_line(&mut self, now: Moment) -> Option<(Option<Bytes>, bool)> {
        if self.faults.has_latency() {
            let (lines, ended) = {
                let mut state = self.feed.state();
                (std::mem::take(&mut state.lines), state.ended)
            };
            for line in lines {
                // No line overtakes another.
                let before = self.held.back().map_or(now, |(until, _)| *until);
                let until = before.max(now + self.faults.delay());
                if let Topic::Game { id, color, .. } = self.topic
                    && let Some(round) = self.sim.world().rounds.get_mut(&id)
                {
                    round.hold_up_line(color, &line, now, until);
                }
                self.held.push_back((until, line));
            }
            return match self.held.front() {
                Some((until, _)) if *until > now => None,
                Some(_) => {
                    let line = self.held.pop_front().map(|(_, line)| line);
                    Some((line, ended && self.held.is_empty()))
                }
                None => ended.then_some((None, true)),
            };
        }
        let mut state = self.feed.state();
        match state.lines.pop_front() {
            Some(line) => Some((Some(line), state.ended && state.lines.is_empty())),
            None => state.ended.then_some((None, true)),
        }
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                if let Some(pause) = self.drip {
                    self.sim.time().sleep(pause).await;
                }
                return Some(Ok(piece));
            }
            let now = self.sim.time().now();
            match self.ready(now) {
                Some(Next::Line(line)) if self.drip.is_some() => {
                    // The same line may be waiting for its second time.
                    let again = std::mem::take(&mut self.pieces);
                    let lines = [line].into_iter().chain(again);
                    self.pieces = lines.flat_map(|line| pieces(&line)).collect();
                    continue;
                }
                Some(Next::Line(line)) => return Some(Ok(line)),
                Some(Next::End) => return None,
                Some(Next::Reset) => {
                    // The lines before it are let out first; they leave while nothing new is ready. This is about the
                    // socket and not about the site, so it is wall time.
                    tokio::time::sleep(FLUSH).await;
                    self.connection.reset();
                    return Some(Err(io::ErrorKind::ConnectionReset.into()));
                }
                None if self.silent => {
                    self.feed.0.wake.notified().await;
                    continue;
                }
                None => {}
            }
            let held = self.held.front().map(|(until, _)| *until);
            let alarm = held.map_or(self.next_beat, |until| until.min(self.next_beat));
            let sim = self.sim.clone();
            tokio::select! {
                () = self.feed.0.wake.notified() => {}
                () = sim.time().sleep_until(alarm) => {
                    let now = sim.time().now();
                    if now < self.next_beat {
                        continue;
                    }
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

/// A few bytes at a time.
pub(super) fn pieces(text: &Bytes) -> impl Iterator<Item = Bytes> + use<> {
    let text = text.clone();
    (0..text.len())
        .step_by(PIECE)
        .map(move |start| text.slice(start..text.len().min(start + PIECE)))
}

impl Drop for Lines {
    fn drop(&mut self) {
        let now = self.sim.time().now();
        self.sim.world().left(&self.topic, &self.feed, now);
    }
}
