//! Reading side of a stream: the body of the response, with chunks, keep-alive lines and faults.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;

use crate::faults::{self, StreamFault, StreamFaults};
use crate::http::connection::Connection;
use crate::sim::Sim;
use crate::site::feed::{KEEP_ALIVE_INTERVAL, SEEK_KEEP_ALIVE_INTERVAL, SLOW_KEEP_ALIVE_INTERVAL};
use crate::site::{Feed, SimTime, Topic};

/// Chunk size of dripped lines.
const DRIP_CHUNK_BYTES: usize = 8;

/// Wall time for written lines to leave the socket, with a wide margin.
const FLUSH_TIME: Duration = Duration::from_millis(20);

/// Reading side of a stream: the body of the response.
pub(crate) struct StreamBody {
    sim: Sim,
    topic: Topic,
    feed: Feed,
    connection: Connection,
    keep_alive_interval: Duration,
    next_keep_alive: SimTime,
    /// Faults to inject.
    faults: StreamFaults,
    /// Delayed lines with the time at which they are sent.
    delayed: VecDeque<(SimTime, Bytes)>,
    /// Parts of lines to be sent one by one.
    pieces: VecDeque<Bytes>,
    drip: Option<Duration>,
    is_silent: bool,
    truncates_next: bool,
    duplicates_last: bool,
}

enum Output {
    Line(Bytes),
    End,
    Reset,
}

impl StreamBody {
    pub(crate) fn new(
        sim: Sim,
        topic: Topic,
        feed: Feed,
        connection: Connection,
        faults: StreamFaults,
    ) -> Self {
        let keep_alive_interval = match topic {
            Topic::Seek { .. } => SEEK_KEEP_ALIVE_INTERVAL,
            Topic::Challenge { .. } | Topic::Spectators => SLOW_KEEP_ALIVE_INTERVAL,
            Topic::Events { .. } | Topic::Game { .. } => KEEP_ALIVE_INTERVAL,
        };
        let next_keep_alive = sim.time().now() + keep_alive_interval;
        Self {
            sim,
            topic,
            feed,
            connection,
            keep_alive_interval,
            next_keep_alive,
            faults,
            delayed: VecDeque::new(),
            pieces: VecDeque::new(),
            drip: None,
            is_silent: false,
            truncates_next: false,
            duplicates_last: false,
        }
    }

    /// Response body with one chunk per line.
    pub(crate) fn into_body(self) -> Body {
        Body::from_stream(futures::stream::unfold(self, |mut lines| async move {
            let item = lines.next().await?;
            Some((item, lines))
        }))
    }

    /// Takes what can be sent now.
    fn take_output(&mut self, now: SimTime) -> Option<Output> {
        let (closed, fault) = self.feed.take_fault();
        if closed {
            return Some(Output::End);
        }
        let mut fault = fault.or_else(|| self.faults.next_due());
        while let Some(kind) = fault {
            match kind {
                StreamFault::Eof => return Some(Output::End),
                StreamFault::Reset => return Some(Output::Reset),
                StreamFault::Garbage => return Some(Output::Line(faults::garbage_line())),
                StreamFault::Oversized(bytes) => {
                    return Some(Output::Line(faults::oversized_line(bytes)));
                }
                StreamFault::Silence => self.is_silent = true,
                StreamFault::Truncated => self.truncates_next = true,
                StreamFault::DuplicateFinal => self.duplicates_last = true,
                StreamFault::Drip(pause) => self.drip = Some(pause),
            }
            fault = self.faults.next_due();
        }
        if self.is_silent {
            return None;
        }
        let (Some(line), last) = self.take_line(now)? else {
            return Some(Output::End);
        };
        self.faults.on_line_sent(&line);
        if self.truncates_next {
            self.feed.end_now();
            self.delayed.clear();
            return Some(Output::Line(line.slice(..line.len() / 2)));
        }
        if last && self.duplicates_last {
            self.pieces.push_back(line.clone());
        }
        Some(Output::Line(line))
    }

    /// Takes the next line and whether it is the last one; no line at the end of the stream.
    fn take_line(&mut self, now: SimTime) -> Option<(Option<Bytes>, bool)> {
        if self.faults.has_latency() {
            let (lines, ended) = self.feed.take_lines();
            for line in lines {
                // Lines keep their order.
                let before = self.delayed.back().map_or(now, |(until, _)| *until);
                let until = before.max(now + self.faults.delay());
                if let Topic::Game { id, color, .. } = self.topic {
                    let rounds = &mut self.sim.state().rounds;
                    let plies = rounds.get(id).map(|round| round.referee.plies());
                    // The line shows that the reader is to move.
                    if plies.is_some() && faults::ply_of_line(&line) == plies {
                        rounds.add_fault_delay(id, color, now, until);
                    }
                }
                self.delayed.push_back((until, line));
            }
            return match self.delayed.front() {
                Some((until, _)) if *until > now => None,
                Some(_) => {
                    let line = self.delayed.pop_front().map(|(_, line)| line);
                    Some((line, ended && self.delayed.is_empty()))
                }
                None => ended.then_some((None, true)),
            };
        }
        self.feed.take_line()
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
            match self.take_output(now) {
                Some(Output::Line(line)) if self.drip.is_some() => {
                    // The line may be queued a second time (`duplicate-final`).
                    let again = std::mem::take(&mut self.pieces);
                    let lines = [line].into_iter().chain(again);
                    self.pieces = lines.flat_map(|line| pieces(&line)).collect();
                    continue;
                }
                Some(Output::Line(line)) => return Some(Ok(line)),
                Some(Output::End) => return None,
                Some(Output::Reset) => {
                    // Send the lines before the reset first. This waits for the socket and not for the site, so it is
                    // wall time.
                    tokio::time::sleep(FLUSH_TIME).await;
                    self.connection.reset();
                    return Some(Err(io::ErrorKind::ConnectionReset.into()));
                }
                None if self.is_silent => {
                    self.feed.changed().await;
                    continue;
                }
                None => {}
            }
            let delayed = self.delayed.front().map(|(until, _)| *until);
            let wake_at = delayed.map_or(self.next_keep_alive, |until| {
                until.min(self.next_keep_alive)
            });
            let sim = self.sim.clone();
            tokio::select! {
                () = self.feed.changed() => {}
                () = sim.time().sleep_until(wake_at) => {
                    let now = sim.time().now();
                    if now < self.next_keep_alive {
                        continue;
                    }
                    while self.next_keep_alive <= now {
                        self.next_keep_alive = self.next_keep_alive + self.keep_alive_interval;
                    }
                    sim.state().on_keep_alive(&self.topic, now);
                    return Some(Ok(Bytes::from_static(b"\n")));
                }
            }
        }
    }
}

/// Splits a text into chunks of a few bytes.
pub(crate) fn pieces(text: &Bytes) -> impl Iterator<Item = Bytes> + use<> {
    let text = text.clone();
    (0..text.len())
        .step_by(DRIP_CHUNK_BYTES)
        .map(move |start| text.slice(start..text.len().min(start + DRIP_CHUNK_BYTES)))
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        let now = self.sim.time().now();
        self.sim
            .state()
            .on_stream_closed(&self.topic, &self.feed, now);
    }
}
