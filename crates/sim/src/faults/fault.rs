//! Kinds of faults.

use std::time::Duration;

use serde::Deserialize;

use super::raw;
use crate::http::error::proxy_page;
use crate::quirks::Castling;
use crate::time_control::TimeControl;

/// A deviation from normal behavior of a request, a stream or the whole site. All times are simulated time.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Sends this response without processing the request.
    Status {
        /// HTTP status.
        code: u16,
        /// Further headers.
        headers: Vec<(String, String)>,
        /// Body of the response.
        body: String,
    },
    /// Resets the connection without processing the request.
    Reset,
    /// Delays the request; it is dropped if the client disconnects meanwhile.
    Stall(Duration),
    /// Delays the request; it is processed even if the client disconnects meanwhile.
    AppliedLate(Duration),
    /// Processes the request, then resets the connection instead of responding.
    ResponseLost,
    /// Processes the request immediately and delays the response.
    ResponseLate(Duration),
    /// Sends the response body a few bytes at a time, with this pause between them.
    Drip(Duration),
    /// Delays the request, its response, and every line of the stream that it opens.
    Latency(Latency),
    /// Breaks the stream that the request opens, after this many lines (keep-alive lines do not count).
    Stream {
        /// Lines before the fault.
        after_lines: usize,
        /// Fault of the stream.
        fault: StreamFault,
    },
    /// Restarts the site: all streams break, all requests get 502 during the downtime, and clocks get compensation.
    Restart {
        /// Time until the site is up again.
        downtime: Duration,
        /// Way in which the streams end.
        streams: StreamFault,
    },
    /// Shifts the site's clocks.
    Skew(Skew),
    /// Starts a game between these two users, White first, without a challenge, as bulk pairing does.
    Pair {
        /// White and Black.
        players: [String; 2],
        /// Time control of the game.
        clock: TimeControl,
    },
    /// Changes the notation of castling moves, also in running games.
    Castling(Castling),
}

impl Fault {
    /// An error response with a JSON body.
    pub fn json(code: u16, body: &str) -> Self {
        Self::Status {
            code,
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: body.to_owned(),
        }
    }

    /// An error response with the HTML page of the reverse proxy in front of the site.
    pub fn html(code: u16) -> Self {
        Self::Status {
            code,
            headers: vec![("Content-Type".to_owned(), "text/html".to_owned())],
            body: proxy_page(code),
        }
    }

    /// Returns whether the fault concerns the whole site, not one request.
    pub(super) fn affects_site(&self) -> bool {
        matches!(
            self,
            Self::Restart { .. } | Self::Skew(_) | Self::Castling(_) | Self::Pair { .. }
        )
    }
}

/// A fault of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// A clean end.
    Eof,
    /// A connection reset.
    Reset,
    /// The stream stays open but sends nothing more, not even keep-alive lines.
    Silence,
    /// An unparsable line; the stream continues.
    Garbage,
    /// The next line is cut in the middle, and the stream ends.
    Truncated,
    /// A line of this many bytes; the stream continues.
    Oversized(usize),
    /// Sends the last line twice.
    DuplicateFinal,
    /// Sends the following lines a few bytes at a time, with this pause between them.
    Drip(Duration),
}

/// A random delay, uniform between `min` and `min + jitter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Least delay.
    #[serde(deserialize_with = "raw::duration")]
    pub min: Duration,
    /// Upper bound of the random part.
    #[serde(default, deserialize_with = "raw::duration")]
    pub jitter: Duration,
}

impl Latency {
    pub(crate) fn draw(&self, rng: &mut fastrand::Rng) -> Duration {
        let jitter = u64::try_from(self.jitter.as_micros()).unwrap_or(u64::MAX - 1);
        self.min + Duration::from_micros(rng.u64(0..=jitter))
    }
}

/// Error of the site's clocks, in milliseconds; positive means ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Skew {
    /// In the `Date` header of every response.
    #[serde(deserialize_with = "raw::millis")]
    pub date: i64,
    /// In the players' clocks as sent to clients. Flags are still decided by the correct time.
    #[serde(deserialize_with = "raw::millis")]
    pub clocks: i64,
    /// Growth of both, in seconds per second.
    pub drift: f64,
}

impl Skew {
    /// The errors of date and clocks after this time.
    pub(crate) fn after(&self, passed: Duration) -> (i64, i64) {
        let grown = (passed.as_millis() as f64 * self.drift).round() as i64;
        (self.date + grown, self.clocks + grown)
    }
}
