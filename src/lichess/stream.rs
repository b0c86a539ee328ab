//! From bytes as they come to typed events: lines, keep-alive, silence, end.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::Stream;
use futures::stream::BoxStream;

use super::model::{Event, FromLine, GameEvent, Skipped};

/// The longest line that is taken, in bytes. The longest true one, a `gameFull` of 600 plies, has about 4 kB.
pub const LONGEST_LINE: usize = 1 << 20;

/// What happens to the account, as it happens.
pub type EventStream = Ndjson<Event>;

/// What happens in one game, as it happens.
pub type GameStream = Ndjson<GameEvent>;

/// Why a stream broke off. One that ends without an error ended cleanly, which is as normal: the server restarts, a
/// newer stream takes its place, the game is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// Not a byte for this long, though the server sends an empty line every 7 s.
    #[error("the stream was silent for {0:?}")]
    Silent(Duration),
    /// The connection broke.
    #[error("the stream broke off: {0}")]
    Io(String),
}

/// Bytes in pieces of any size, in; lines out. What the pieces are makes no difference. Holds no more than one line of
/// the longest length beside the latest piece.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
    /// The line has grown too long; the rest of it is thrown away as it comes.
    discarding: bool,
}

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Bytes that are not UTF-8 were replaced.
    Text(String),
    TooLong,
}

impl Lines {
    /// Lines of up to `limit` bytes, not counting the line feed.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            rest: Vec::new(),
            discarding: false,
        }
    }

    /// Takes the next piece and gives every line that it completes, empty ones left out.
    pub fn push(&mut self, piece: &[u8], mut each: impl FnMut(Line)) {
        let mut parts = piece.split(|&byte| byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.grow(part);
            if parts.peek().is_some()
                && let Some(line) = self.take()
            {
                each(line);
            }
        }
    }

    /// The last line, when the stream ended without a line feed.
    pub fn finish(&mut self) -> Option<Line> {
        self.take()
    }

    fn grow(&mut self, part: &[u8]) {
        if self.discarding || self.rest.len() + part.len() > self.limit {
            self.discarding = true;
            self.rest = Vec::new();
        } else {
            self.rest.extend_from_slice(part);
        }
    }

    fn take(&mut self) -> Option<Line> {
        if std::mem::take(&mut self.discarding) {
            return Some(Line::TooLong);
        }
        let text = String::from_utf8_lossy(&self.rest);
        let line = text.trim_ascii();
        let line = (!line.is_empty()).then(|| Line::Text(line.to_owned()));
        self.rest.clear();
        line
    }
}

/// A stream of typed events over any stream of bytes.
///
/// The clock of silence starts when the stream is made, that is when the server's headers have come, and again with
/// every byte. Bytes that wait are always taken before the clock is looked at, so that a reader who was away for a
/// while does not mistake his own absence for the server's.
pub struct Ndjson<T> {
    bytes: BoxStream<'static, Result<Bytes, String>>,
    lines: Lines,
    ready: VecDeque<T>,
    silence: Duration,
    alarm: Pin<Box<tokio::time::Sleep>>,
    heard: Instant,
    end: End,
    on_silence: Option<Box<dyn FnOnce() + Send>>,
}

/// How far a stream has come.
enum End {
    NotYet,
    /// Say this once everything that is ready has been given, then nothing more.
    Soon(Option<StreamError>),
}

impl<T: FromLine> Ndjson<T> {
    /// Reads `bytes`, and calls it [`StreamError::Silent`] when none come for as long as `silence`. Must be called
    /// within a tokio runtime.
    pub fn new(bytes: BoxStream<'static, Result<Bytes, String>>, silence: Duration) -> Self {
        Self {
            bytes,
            lines: Lines::new(LONGEST_LINE),
            ready: VecDeque::new(),
            silence,
            alarm: Box::pin(tokio::time::sleep(silence)),
            heard: Instant::now(),
            end: End::NotYet,
            on_silence: None,
        }
    }

    /// Calls `tell` when the stream falls silent.
    pub(super) fn on_silence(mut self, tell: impl FnOnce() + Send + 'static) -> Self {
        self.on_silence = Some(Box::new(tell));
        self
    }

    /// When the last byte came, an empty line included.
    pub fn last_heard(&self) -> Instant {
        self.heard
    }

    fn hear(&mut self, piece: &[u8]) {
        self.heard = Instant::now();
        self.alarm
            .as_mut()
            .reset(tokio::time::Instant::now() + self.silence);
        let ready = &mut self.ready;
        self.lines.push(piece, |line| ready.push_back(event(line)));
    }
}

fn event<T: FromLine>(line: Line) -> T {
    match line {
        Line::Text(line) => T::from_line(&line),
        Line::TooLong => T::skipped(Skipped::too_long(LONGEST_LINE)),
    }
}

impl<T: FromLine + Unpin> Stream for Ndjson<T> {
    type Item = Result<T, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let End::Soon(error) = &mut this.end {
                return Poll::Ready(error.take().map(Err));
            }
            match this.bytes.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(piece))) => this.hear(&piece),
                Poll::Ready(ended) => {
                    // A whole object may stand before the end without a line feed. Before a break it is a fragment.
                    if ended.is_none()
                        && let Some(line) = this.lines.finish()
                    {
                        this.ready.push_back(event(line));
                    }
                    this.end = End::Soon(ended.and_then(Result::err).map(StreamError::Io));
                }
                Poll::Pending => match this.alarm.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => {
                        if let Some(tell) = this.on_silence.take() {
                            tell();
                        }
                        this.end = End::Soon(Some(StreamError::Silent(this.silence)));
                    }
                },
            }
        }
    }
}

impl<T> std::fmt::Debug for Ndjson<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ndjson")
            .field("silence", &self.silence)
            .field("heard", &self.heard)
            .finish_non_exhaustive()
    }
}
