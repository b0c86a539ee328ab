//! Queue of the lines of an engine, and signals of other threads to the one that waits for it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use knightwatch_util::sync::lock;

use super::channel::Deadlines;

/// Upper limit of a line, in bytes; the rest of a longer one is dropped.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Lines that wait to be read. With more the engine waits.
const MAX_WAITING_LINES: usize = 256;

/// Output of one second that counts as a flood. Stockfish with 50 lines of a short endgame writes less.
const FLOOD_LINES: u64 = 20_000;
const FLOOD_BYTES: u64 = 4 * 1024 * 1024;

/// Time in which the output is counted.
const FLOOD_PERIOD: Duration = Duration::from_secs(1);

/// Why no more lines come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Exited,
    Flood,
}

/// Change that the reader of the inbox waits for.
#[derive(Debug)]
pub(crate) enum Event {
    Line(String),
    Ended(End),
    Stop,
    PonderHit(Deadlines),
    Timeout,
}

/// Lines of an engine, and signals to the search. Signals do not wait behind lines.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    end: Option<End>,
    is_stopped: bool,
    ponder_hit: Option<Deadlines>,
    /// Nobody reads any more.
    is_closed: bool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Asks for the end of the search.
    pub(crate) fn stop(&self) {
        self.change(|state| state.is_stopped = true);
    }

    /// Ends pondering.
    pub(crate) fn ponder_hit(&self, deadlines: Deadlines) {
        self.change(|state| state.ponder_hit = Some(deadlines));
    }

    /// Lets the reader end.
    pub(crate) fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    /// Drops signals that were meant for an earlier search.
    pub(crate) fn clear_signals(&self) {
        self.change(|state| {
            state.is_stopped = false;
            state.ponder_hit = None;
        });
    }

    /// Drops the lines so far, unless they are the last ones. Returns why no more come.
    pub(crate) fn drop_lines(&self) -> Option<End> {
        let mut state = self.lock();
        if state.end.is_none() {
            state.lines.clear();
            self.changed.notify_all();
        }
        state.end
    }

    /// Waits for the next event: signals come before the deadline, and that before lines.
    pub(crate) fn next(&self, deadline: Instant) -> Event {
        self.wait(deadline, |state| {
            if let Some(deadlines) = state.ponder_hit.take() {
                return Some(Event::PonderHit(deadlines));
            }
            std::mem::take(&mut state.is_stopped).then_some(Event::Stop)
        })
    }

    /// Waits for the next line; signals stay.
    pub(crate) fn next_line(&self, deadline: Instant) -> Event {
        self.wait(deadline, |_| None)
    }

    /// Takes the lines that have already come.
    pub(crate) fn take_lines(&self) -> VecDeque<String> {
        let lines = std::mem::take(&mut self.lock().lines);
        self.changed.notify_all();
        lines
    }

    fn wait(&self, deadline: Instant, signal: impl Fn(&mut State) -> Option<Event>) -> Event {
        let mut state = self.lock();
        loop {
            if let Some(event) = signal(&mut state) {
                return event;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Event::Timeout;
            }
            if let Some(End::Flood) = state.end {
                return Event::Ended(End::Flood);
            }
            if let Some(line) = state.lines.pop_front() {
                if state.lines.len() + 1 == MAX_WAITING_LINES {
                    self.changed.notify_all();
                }
                return Event::Line(line);
            }
            if let Some(end) = state.end {
                return Event::Ended(end);
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes a line of the engine, when there is room for it. Returns whether more are wanted.
    fn push(&self, line: String) -> bool {
        let mut state = self.lock();
        while state.lines.len() >= MAX_WAITING_LINES && !state.is_closed {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.lines.push_back(line);
        self.changed.notify_all();
        !state.is_closed
    }

    /// Takes the engine's output until it ends, is a flood, or nobody reads any more.
    pub(crate) fn read_lines(&self, output: impl Read) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        let mut meter = Meter::new();
        loop {
            let chunk = match output.fill_buf() {
                Ok(chunk) if !chunk.is_empty() => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => break,
            };
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = MAX_LINE_BYTES - line.len();
            line.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            output.consume(used);
            if meter.counts_a_flood(used, end.is_some()) {
                return self.change(|state| state.end = Some(End::Flood));
            }
            if end.is_some() {
                // Some engines write their author's name in other encodings than UTF-8.
                if !self.push(String::from_utf8_lossy(&line).into_owned()) {
                    return;
                }
                line.clear();
            }
        }
        if !line.is_empty() {
            self.push(String::from_utf8_lossy(&line).into_owned());
        }
        self.change(|state| state.end = Some(End::Exited));
    }
}

/// Counts the output of each second.
struct Meter {
    since: Instant,
    lines: u64,
    bytes: u64,
}

impl Meter {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            lines: 0,
            bytes: 0,
        }
    }

    /// Counts output. Returns whether it is too much.
    fn counts_a_flood(&mut self, bytes: usize, is_line: bool) -> bool {
        if self.since.elapsed() >= FLOOD_PERIOD {
            *self = Self::new();
        }
        self.bytes += bytes as u64;
        self.lines += u64::from(is_line);
        self.bytes > FLOOD_BYTES || self.lines > FLOOD_LINES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Deadlines {
        Deadlines {
            soft: None,
            hard: Instant::now(),
            stop_timeout: Duration::ZERO,
        }
    }

    #[test]
    fn signals_do_not_wait_behind_lines() {
        let inbox = Inbox::default();
        inbox.read_lines(&b"one\ntwo"[..]);
        inbox.stop();
        inbox.ponder_hit(now());
        let soon = Instant::now() + Duration::from_secs(60);
        assert!(matches!(inbox.next_line(soon), Event::Line(line) if line == "one"));
        assert!(matches!(inbox.next(soon), Event::PonderHit(_)));
        assert!(matches!(inbox.next(soon), Event::Stop));
        // The deadline comes before lines, too.
        assert!(matches!(inbox.next(Instant::now()), Event::Timeout));
        assert!(matches!(inbox.next(soon), Event::Line(line) if line == "two"));
        assert!(matches!(inbox.next(soon), Event::Ended(End::Exited)));
    }

    #[test]
    fn flood_is_noticed_by_lines_and_by_bytes() {
        for part in ["x\n", "no end of this line "] {
            let inbox = Inbox::default();
            // Without a reader it would wait for room.
            inbox.close();
            let many = part.repeat(5_000_000 / part.len());
            if part.ends_with('\n') {
                let mut meter = Meter::new();
                let lines = (0..=FLOOD_LINES).map(|_| meter.counts_a_flood(2, true));
                assert_eq!(lines.filter(|is_flood| *is_flood).count(), 1);
            } else {
                inbox.read_lines(many.as_bytes());
                assert_eq!(inbox.drop_lines(), Some(End::Flood));
            }
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let inbox = Inbox::default();
        let text = format!("{}\nshort\n", "x".repeat(3 * MAX_LINE_BYTES));
        inbox.read_lines(text.as_bytes());
        let soon = Instant::now() + Duration::from_secs(60);
        assert!(matches!(inbox.next(soon), Event::Line(line) if line.len() == MAX_LINE_BYTES));
        assert!(matches!(inbox.next(soon), Event::Line(line) if line == "short"));
    }
}
