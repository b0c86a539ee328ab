//! From bytes as they come to typed events: lines, keep-alive, silence, end.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::Stream;
use futures::stream::BoxStream;

use super::model::{Event, FromLine, GameEvent, Skipped};
use crate::clock;

/// The longest line that is taken, in bytes. The longest true one, a `gameFull` of 600 plies, has about 4 kB.
pub const LONGEST_LINE: usize = 1 << 20;

/// What happens to the account, as it happens.
pub type EventStream = Ndjson<Event>;

/// What happens in one game, as it happens.
pub type GameStream = Ndjson<GameEvent>;

/// The same, with the lines as they came.
pub type GameLines = Ndjson<Told<GameEvent>>;

/// A line and what it says.
#[derive(Clone, Debug)]
pub struct Told<T> {
    /// The line without its end; nothing of one that was too long.
    pub line: String,
    /// What it says.
    pub event: T,
}

impl<T: FromLine> FromLine for Told<T> {
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
    heard: LastHeard,
    end: End,
    on_silence: Option<Box<dyn Fn() + Send + Sync>>,
}

/// When a stream was last heard. Clones look at the same stream.
#[derive(Clone, Debug)]
pub struct LastHeard(Arc<Mutex<Heard>>);

#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Instant,
    anything: bool,
}

impl LastHeard {
    /// A stream that was last heard then.
    pub fn since(then: Instant) -> Self {
        Self(Arc::new(Mutex::new(Heard {
            at: then,
            anything: false,
        })))
    }

    /// When the last byte came, or the headers where none has come.
    pub fn at(&self) -> Instant {
        self.heard().at
    }

    /// Whether a byte has come since the stream was opened.
    pub fn anything(&self) -> bool {
        self.heard().anything
    }

    fn heard(&self) -> Heard {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Heard {
            at: clock::now(),
            anything: true,
        };
    }
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
            alarm: Box::pin(clock::sleep(silence)),
            heard: LastHeard::since(clock::now()),
            end: End::NotYet,
            on_silence: None,
        }
    }

    /// Calls `tell` when the stream falls silent, or is suspected to be dead.
    pub(super) fn on_silence(mut self, tell: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_silence = Some(Box::new(tell));
        self
    }

    /// There are signs that nothing comes through any more: what is opened next takes another connection.
    pub fn suspect(&self) {
        if let Some(tell) = &self.on_silence {
            tell();
        }
    }

    /// When the last byte came, an empty line included; for others to look at while the stream is read.
    pub fn last_heard(&self) -> LastHeard {
        self.heard.clone()
    }

    fn hear(&mut self, piece: &[u8]) {
        self.heard.now();
        self.alarm
            .as_mut()
            .reset(clock::wall_deadline(self.silence));
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
                        this.suspect();
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

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use futures::stream;
    use proptest::prelude::*;

    use super::*;
    use crate::lichess::model::GameState;

    const GAME: &[u8] = include_bytes!("../../tests/fixtures/game-stream.ndjson");

    fn split(limit: usize, pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::new(limit);
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
    fn lines_are_the_same_however_they_come() {
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
    fn a_line_that_is_too_long_is_refused_and_the_next_is_read() {
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
        fn any_pieces_of_the_same_bytes_are_the_same_lines(
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
        fn any_bytes_become_events_of_bounded_size(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            for line in split(LONGEST_LINE, &[&bytes]) {
                let (a, b): (Event, GameEvent) = match line {
                    Line::Text(line) => (Event::from_line(&line), GameEvent::from_line(&line)),
                    Line::TooLong => unreachable!("2,000 bytes are not"),
                };
                let shown = format!("{a:?}{b:?}");
                prop_assert!(shown.len() < 100_000);
            }
        }

        #[test]
        fn a_damaged_line_panics_nowhere(line in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte: u8) {
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
    async fn a_clean_end_gives_the_last_line_and_then_nothing() {
        let mut stream = game(vec![Ok(Bytes::from("\n")), Ok(Bytes::from(STATE))]);
        assert!(!stream.last_heard().anything());
        assert_eq!(moves(stream.next().await), "e2e4");
        assert!(stream.last_heard().anything());
        assert!(stream.next().await.is_none());
        assert!(stream.next().await.is_none(), "and it stays ended");
    }

    #[tokio::test]
    async fn a_break_gives_what_was_whole_and_then_the_error() {
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
    async fn a_bad_line_and_one_too_long_do_not_end_the_stream() {
        let long = "x".repeat(LONGEST_LINE + 1);
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
    async fn keep_alive_lines_hold_silence_off() {
        let beats = stream::unfold(0, |n| async move {
            tokio::time::sleep(Duration::from_millis(40)).await;
            let piece = if n < 6 {
                Bytes::from("\n")
            } else {
                Bytes::from(format!("{STATE}\n"))
            };
            (n < 7).then_some((Ok(piece), n + 1))
        });
        let mut stream = GameStream::new(beats.boxed(), Duration::from_millis(150));
        assert_eq!(moves(stream.next().await), "e2e4");
    }

    #[tokio::test]
    async fn silence_is_told_once_after_the_time_it_is_allowed() {
        let told = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let silence = Duration::from_millis(50);
        let ear = std::sync::Arc::clone(&told);
        let mut stream = GameStream::new(stream::pending().boxed(), silence)
            .on_silence(move || _ = ear.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let start = Instant::now();
        assert_eq!(
            stream.next().await.expect("an error").unwrap_err(),
            StreamError::Silent(silence)
        );
        assert!(start.elapsed() >= silence && start.elapsed() < silence * 20);
        assert!(stream.next().await.is_none());
        assert_eq!(told.load(std::sync::atomic::Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_reader_who_was_away_takes_what_waits_before_he_calls_it_silence() {
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
