//! NDJSON streams: lines, keep-alive, silence and end.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::Stream;
use futures::stream::BoxStream;
use knightwatch_util::clock;
use knightwatch_util::sync::lock;

use super::model::{Event, FromLine, GameEvent, Skipped};

/// Upper limit of a line, in bytes. The longest real one, a `gameFull` of 600 plies, has about 4 kB.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// The account's event stream.
pub type EventStream = Ndjson<Event>;

/// The stream of a game.
pub type GameStream = Ndjson<GameEvent>;

/// The stream of a game, with the raw lines.
pub type RawGameStream = Ndjson<Raw<GameEvent>>;

/// An export of games, one JSON object per line. A line that is too long is an empty one.
pub type ExportStream = Ndjson<String>;

impl FromLine for String {
    fn from_line(line: &str) -> Self {
        line.to_owned()
    }

    fn skipped(_: Skipped) -> Self {
        Self::new()
    }
}

/// A parsed line with its text.
#[derive(Clone, Debug)]
pub struct Raw<T> {
    /// The line without its line feed; empty if it was too long.
    pub line: String,
    /// The event.
    pub event: T,
}

impl<T: FromLine> FromLine for Raw<T> {
    fn from_line(line: &str) -> Self {
        Self {
            line: line.to_owned(),
            event: T::from_line(line),
        }
    }

    fn skipped(skipped: Skipped) -> Self {
        Self {
            line: String::new(),
            event: T::skipped(skipped),
        }
    }
}

/// Why a stream failed. A stream that ends without an error was closed by the server, which is just as normal: the server
/// restarts, a newer stream replaces it, the game is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// No byte for this long, although the server sends an empty line every 7 s.
    #[error("the stream was silent for {0:?}")]
    Silent(Duration),
    /// The connection broke.
    #[error("the stream broke off: {0}")]
    Io(String),
}

/// Splits bytes into lines, however the bytes are chunked. Holds at most one line of the longest length besides the current
/// chunk.
#[derive(Debug)]
pub struct LineSplitter {
    limit: usize,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    /// The current line is too long; the rest of it is dropped.
    discarding: bool,
}

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Bytes that are not UTF-8 were replaced.
    Text(String),
    /// A line is longer than the limit.
    TooLong,
}

impl LineSplitter {
    /// Creates a splitter for lines of up to `limit` bytes, not counting the line feed.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            rest: Vec::new(),
            discarding: false,
        }
    }

    /// Takes the next chunk and calls `each` with every line it completes, except empty ones.
    pub fn push(&mut self, piece: &[u8], mut each: impl FnMut(Line)) {
        let mut parts = piece.split(|&byte| byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.append(part);
            if parts.peek().is_some()
                && let Some(line) = self.take()
            {
                each(line);
            }
        }
    }

    /// The last line, if the stream ended without a line feed.
    pub fn finish(&mut self) -> Option<Line> {
        self.take()
    }

    fn append(&mut self, part: &[u8]) {
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

/// A stream of typed events over a stream of bytes.
///
/// The silence timer starts when the stream is created, after the server's headers, and restarts with every byte. Pending
/// bytes are always read before the timer is checked, so that a slow reader does not mistake its own absence for the
/// server's.
pub struct Ndjson<T> {
    bytes: BoxStream<'static, Result<Bytes, String>>,
    lines: LineSplitter,
    ready: VecDeque<T>,
    silence: Duration,
    silence_timer: Pin<Box<tokio::time::Sleep>>,
    activity: LastActivity,
    end: End,
    on_silence: Option<Box<dyn Fn() + Send + Sync>>,
}

/// When a stream last received a byte. Clones share the value.
#[derive(Clone, Debug)]
pub struct LastActivity(Arc<Mutex<Activity>>);

#[derive(Clone, Copy, Debug)]
struct Activity {
    at: Instant,
    received_byte: bool,
}

impl LastActivity {
    /// An activity at this time, without any byte.
    pub fn since(then: Instant) -> Self {
        Self(Arc::new(Mutex::new(Activity {
            at: then,
            received_byte: false,
        })))
    }

    /// When the last byte came, or the headers if none has.
    pub fn at(&self) -> Instant {
        self.get().at
    }

    /// Returns whether a byte has come since the stream was opened.
    pub fn received_byte(&self) -> bool {
        self.get().received_byte
    }

    fn get(&self) -> Activity {
        *lock(&self.0)
    }

    fn touch(&self) {
        *lock(&self.0) = Activity {
            at: clock::now(),
            received_byte: true,
        };
    }
}

/// Whether a stream has ended.
enum End {
    NotYet,
    /// Return this once all ready events are returned, then nothing more.
    Pending(Option<StreamError>),
}

impl<T: FromLine> Ndjson<T> {
    /// Reads `bytes`; fails with [`StreamError::Silent`] when none come for as long as `silence`. Must be called within a
    /// tokio runtime.
    pub fn new(bytes: BoxStream<'static, Result<Bytes, String>>, silence: Duration) -> Self {
        Self {
            bytes,
            lines: LineSplitter::new(MAX_LINE_BYTES),
            ready: VecDeque::new(),
            silence,
            silence_timer: Box::pin(clock::sleep(silence)),
            activity: LastActivity::since(clock::now()),
            end: End::NotYet,
            on_silence: None,
        }
    }

    /// Calls `callback` when the stream is silent or suspected to be dead.
    pub(super) fn on_silence(mut self, callback: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_silence = Some(Box::new(callback));
        self
    }

    /// Treats the connection as dead: the next stream is opened over another one.
    pub fn fail_over(&self) {
        if let Some(callback) = &self.on_silence {
            callback();
        }
    }

    /// The time of the last byte, empty lines included; can be watched while the stream is read.
    pub fn last_activity(&self) -> LastActivity {
        self.activity.clone()
    }

    fn on_bytes(&mut self, piece: &[u8]) {
        self.activity.touch();
        self.silence_timer
            .as_mut()
            .reset(clock::wall_deadline(self.silence));
        let ready = &mut self.ready;
        self.lines.push(piece, |line| ready.push_back(parse(line)));
    }
}

fn parse<T: FromLine>(line: Line) -> T {
    match line {
        Line::Text(line) => T::from_line(&line),
        Line::TooLong => T::skipped(Skipped::too_long(MAX_LINE_BYTES)),
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
            if let End::Pending(error) = &mut this.end {
                return Poll::Ready(error.take().map(Err));
            }
            match this.bytes.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(piece))) => this.on_bytes(&piece),
                Poll::Ready(ended) => {
                    // A complete object may come without a line feed at the end. Before an error it is a fragment.
                    if ended.is_none()
                        && let Some(line) = this.lines.finish()
                    {
                        this.ready.push_back(parse(line));
                    }
                    this.end = End::Pending(ended.and_then(Result::err).map(StreamError::Io));
                }
                Poll::Pending => match this.silence_timer.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => {
                        this.fail_over();
                        this.end = End::Pending(Some(StreamError::Silent(this.silence)));
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
            .field("activity", &self.activity)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use futures::stream;
    use proptest::prelude::*;

    use super::*;
    use crate::model::GameState;

    const GAME: &[u8] = include_bytes!("../tests/fixtures/game-stream.ndjson");

    fn split(limit: usize, pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = LineSplitter::new(limit);
        let mut all = Vec::new();
        for piece in pieces {
            lines.push(piece, |line| all.push(line));
            assert!(lines.rest.len() <= limit);
        }
        all.extend(lines.finish());
        assert!(lines.rest.is_empty());
        all
    }

    fn text(line: &str) -> Line {
        Line::Text(line.to_owned())
    }

    #[test]
    fn lines_do_not_depend_on_chunks() {
        let table: &[(&[&[u8]], &[&str])] = &[
            (&[b"{}\n"], &["{}"]),
            (&[b"{", b"}", b"\n"], &["{}"]),
            (&[b"{}\n[]\n\n1\n"], &["{}", "[]", "1"]),
            (&[b"\n", b"\n", b"\r\n", b"  \n"], &[]),
            (&[b"{}\r\n{}\r", b"\n"], &["{}", "{}"]),
            (&[b"{}\n{}"], &["{}", "{}"]),
            (&[b"\xe2\x99", b"\x9e\n"], &["♞"]),
            (&[b"\xff\n"], &["\u{fffd}"]),
            (&[], &[]),
        ];
        for (pieces, lines) in table {
            let expected: Vec<Line> = lines.iter().map(|line| text(line)).collect();
            assert_eq!(split(100, pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn line_too_long_is_skipped() {
        let expected = [text("abcde"), Line::TooLong, text("fg")];
        assert_eq!(split(5, &[b"abcde\nabcdef\nfg\n"]), expected);
        assert_eq!(
            split(5, &[b"abc", b"de\nabc", b"def", b"ghi\nfg"]),
            expected
        );
        assert_eq!(split(5, &[b"abcdefgh"]), [Line::TooLong]);
    }

    proptest! {
        #[test]
        fn chunks_of_same_bytes_yield_same_lines(
            bytes in prop::collection::vec(prop_oneof![3 => Just(b'\n'), 9 => any::<u8>(), 1 => Just(b'\r')], 0..300),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
            limit in 1usize..40,
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            prop_assert_eq!(split(limit, &pieces), split(limit, &[&bytes]));
        }

        #[test]
        fn arbitrary_bytes_become_bounded_events(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            for line in split(MAX_LINE_BYTES, &[&bytes]) {
                let (a, b): (Event, GameEvent) = match line {
                    Line::Text(line) => (Event::from_line(&line), GameEvent::from_line(&line)),
                    Line::TooLong => unreachable!("2,000 bytes are not"),
                };
                let shown = format!("{a:?}{b:?}");
                prop_assert!(shown.len() < 100_000);
            }
        }

        #[test]
        fn line_damaged_does_not_panic(line in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte: u8) {
            let lines: Vec<&[u8]> = GAME.split(|&b| b == b'\n').filter(|line| !line.is_empty()).collect();
            let mut damaged = lines[line.index(lines.len())].to_vec();
            let at = at.index(damaged.len());
            damaged[at] = byte;
            let _ = GameEvent::from_line(&String::from_utf8_lossy(&damaged));
            let _ = Event::from_line(&String::from_utf8_lossy(&damaged));
        }
    }

    const STATE: &str =
        r#"{"type":"gameState","moves":"e2e4","wtime":1000,"btime":1000,"status":"started"}"#;

    fn game(pieces: Vec<Result<Bytes, String>>) -> GameStream {
        Ndjson::new(stream::iter(pieces).boxed(), Duration::from_secs(60))
    }

    fn moves(event: Option<Result<GameEvent, StreamError>>) -> String {
        match event {
            Some(Ok(GameEvent::State(GameState { moves, .. }))) => moves,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn stream_closed_yields_last_line() {
        let mut stream = game(vec![Ok(Bytes::from("\n")), Ok(Bytes::from(STATE))]);
        assert!(!stream.last_activity().received_byte());
        assert_eq!(moves(stream.next().await), "e2e4");
        assert!(stream.last_activity().received_byte());
        assert!(stream.next().await.is_none());
        assert!(stream.next().await.is_none(), "and it stays ended");
    }

    #[tokio::test]
    async fn stream_broken_yields_lines_then_error() {
        let mut stream = game(vec![
            Ok(Bytes::from(format!("{STATE}\n{{\"type\""))),
            Err("reset".to_owned()),
        ]);
        assert_eq!(moves(stream.next().await), "e2e4");
        assert_eq!(
            stream.next().await.expect("an error").unwrap_err(),
            StreamError::Io("reset".to_owned())
        );
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn stream_continues_after_bad_lines() {
        let long = "x".repeat(MAX_LINE_BYTES + 1);
        let mut stream = game(vec![Ok(Bytes::from(format!("{{oops\n{long}\n{STATE}\n")))]);
        assert!(matches!(
            stream.next().await,
            Some(Ok(GameEvent::Skipped(_)))
        ));
        assert!(matches!(
            stream.next().await,
            Some(Ok(GameEvent::Skipped(_)))
        ));
        assert_eq!(moves(stream.next().await), "e2e4");
    }

    #[tokio::test]
    async fn keep_alive_lines_prevent_silence() {
        let keep_alive = stream::unfold(0, |n| async move {
            tokio::time::sleep(Duration::from_millis(40)).await;
            let piece = if n < 6 {
                Bytes::from("\n")
            } else {
                Bytes::from(format!("{STATE}\n"))
            };
            (n < 7).then_some((Ok(piece), n + 1))
        });
        let mut stream = GameStream::new(keep_alive.boxed(), Duration::from_millis(150));
        assert_eq!(moves(stream.next().await), "e2e4");
    }

    #[tokio::test]
    async fn silence_is_reported_once() {
        let calls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let silence = Duration::from_millis(250);
        let counter = std::sync::Arc::clone(&calls);
        let mut stream = GameStream::new(stream::pending().boxed(), silence)
            .on_silence(move || _ = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let start = Instant::now();
        assert_eq!(
            stream.next().await.expect("an error").unwrap_err(),
            StreamError::Silent(silence)
        );
        assert!(start.elapsed() >= silence && start.elapsed() < silence * 20);
        assert!(stream.next().await.is_none());
        assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn pending_bytes_are_read_before_silence() {
        let (tx, rx) = futures::channel::mpsc::unbounded();
        let mut stream = GameStream::new(rx.boxed(), Duration::from_millis(30));
        tx.unbounded_send(Ok(Bytes::from(format!("{STATE}\n"))))
            .expect("the stream listens");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(moves(stream.next().await), "e2e4");
        drop(tx);
        assert!(stream.next().await.is_none());
    }
}
