//! What can go wrong.

use std::time::Duration;

use crate::sim::http::error::proxy_page;
use crate::sim::options::TimeControl;
use crate::sim::quirks::Castling;

/// What happens to a call, to a stream or to the whole site beside the ordinary. All times are the site's.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// This answer, and nothing is done.
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// The connection is reset before anything is done.
    Reset,
    /// The call waits, and then is done and answered as usual; it is not done when the caller has gone by then.
    Stall(Duration),
    /// The call waits, and then is done whether or not the caller is still there.
    AppliedLate(Duration),
    /// The call is done, and then the connection is reset instead of an answer.
    AnswerLost,
    /// The call is done at once, the answer comes this much later.
    AnswerLate(Duration),
    /// The body of the answer trickles: a few bytes, this pause, a few bytes more.
    Drip(Duration),
    /// Everything takes longer: a call until it is done, its answer, and every line of the stream that it opens.
    Latency(Latency),
    /// The stream that this call opens goes wrong after this many lines (keep-alive lines not counted).
    Stream { after: usize, how: StreamFault },
    /// The site is restarted: all streams break, everything is answered 502 for a while, clocks get a little extra.
    Restart { down: Duration, how: StreamFault },
    /// The site's clocks are not right.
    Skew(Skew),
    /// A game begins between these two, White first, whom nobody asked; as when an organiser pairs them.
    Pair {
        players: [String; 2],
        clock: TimeControl,
    },
    /// Castling is spelt in another way, in games that are on too.
    Castling(Castling),
}

impl Fault {
    /// An error answer with a JSON body.
    pub fn json(code: u16, body: &str) -> Self {
        Self::Status {
            code,
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: body.to_owned(),
        }
    }

    /// An error answer as the reverse proxy in front of the site gives it.
    pub fn html(code: u16) -> Self {
        Self::Status {
            code,
            headers: vec![("Content-Type".to_owned(), "text/html".to_owned())],
            body: proxy_page(code),
        }
    }

    /// It strikes the site as a whole, not a call.
    pub(super) fn is_of_the_site(&self) -> bool {
        matches!(
            self,
            Self::Restart { .. } | Self::Skew(_) | Self::Castling(_) | Self::Pair { .. }
        )
    }
}

/// How a stream goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// It ends as if all were well.
    Eof,
    /// The connection is reset.
    Reset,
    /// It stays open and says nothing any more, not even keep-alive lines.
    Silence,
    /// A line that means nothing; then it goes on.
    Garbage,
    /// The next line breaks off in the middle, and the stream ends there.
    Truncated,
    /// A line of this many bytes; then it goes on.
    Oversized(usize),
    /// The last line comes twice.
    DuplicateFinal,
    /// From now on lines trickle: a few bytes, this pause, a few bytes more.
    Drip(Duration),
}

/// A delay that differs from time to time: at least this much, and up to so much more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    pub least: Duration,
    pub jitter: Duration,
}

impl Latency {
    pub(crate) fn draw(&self, rng: &mut fastrand::Rng) -> Duration {
        let jitter = u64::try_from(self.jitter.as_micros()).unwrap_or(u64::MAX - 1);
        self.least + Duration::from_micros(rng.u64(0..=jitter))
    }
}

/// How far the site's clocks are off, in milliseconds: positive is ahead, or more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skew {
    /// In the `Date` header of every answer.
    pub date: i64,
    /// In the players' clocks as they are shown. What decides about a flag is not touched.
    pub clocks: i64,
    /// How much both grow with every second, as a part of it.
    pub drift: f64,
}

impl Skew {
    /// What it has become after a while: of the date, and of the clocks.
    pub(crate) fn after(&self, passed: Duration) -> (i64, i64) {
        let grown = (passed.as_millis() as f64 * self.drift).round() as i64;
        (self.date + grown, self.clocks + grown)
    }
}
