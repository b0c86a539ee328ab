//! Schedule for reopening a stream. Pure: no clock, socket or task.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use knightwatch_util::backoff::Backoff;

use super::error::Error;
use super::retry::{DEFAULT_RATE_LIMIT_WAIT, FailureClass};

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// Closed by the server.
    Eof,
    /// The connection broke.
    Broken,
    /// No byte for as long as [`ReconnectPolicy::silence`].
    Silent,
    /// The stream could not be opened; with the wait that a 429 asked for.
    OpenFailed(Option<Duration>),
}

impl Disconnect {
    /// Classifies a failure to open.
    pub fn from_open_error(error: &Error) -> Self {
        match FailureClass::of(error) {
            FailureClass::Limited(wait) => {
                Self::OpenFailed(Some(wait.unwrap_or(DEFAULT_RATE_LIMIT_WAIT)))
            }
            FailureClass::Late => Self::Silent,
            _ => Self::OpenFailed(None),
        }
    }
}

/// Decides when a stream is reopened, and how long it may be silent.
///
/// The driver calls [`on_open`](Self::on_open) right before each attempt, [`on_end`](Self::on_end) after it, and waits for
/// the returned time.
///
/// | stream | first wait | then | silence | limit |
/// |---|---|---|---|---|
/// | event | 0.25 s (none after silence) | doubled to 1 min | 8.5 s; 15 s once it was silent | 20 opens in 10 min |
/// | game | 0.1 s (none after silence) | doubled to 5 s | 8.5 s | - |
///
/// The waits grow while streams end soon after they were opened, and start over once one has lived for a while. Waits after
/// the first are 75 to 100 % of their length at random, so that streams do not reconnect in step. A wait that a 429 asked
/// for is kept, up to ten minutes, unless our clock may be running: see [`cap_wait`](Self::cap_wait).
#[derive(Debug)]
pub struct ReconnectPolicy {
    schedule: &'static Schedule,
    random: fastrand::Rng,
    /// Opens within [`OPEN_LIMIT_WINDOW`].
    opens: VecDeque<Instant>,
    /// Ends in a row without a healthy stream between.
    failures: u32,
    /// The longest wait, and until when it applies.
    wait_cap: Option<(Duration, Instant)>,
    was_silent: bool,
}

#[derive(Debug)]
struct Schedule {
    backoff: Backoff,
    /// A stream that lived this long resets the failures.
    healthy: Duration,
    /// Allowed silence, before and after the stream was silent once.
    silence: [Duration; 2],
    /// Upper limit of opens within [`OPEN_LIMIT_WINDOW`].
    max_opens: usize,
}

/// Lichess counts opens in windows of this length.
const OPEN_LIMIT_WINDOW: Duration = Duration::from_secs(600);

/// The shortest wait after a 429, and after [`MAX_FAST_REOPENS`] failures.
const MIN_LIMITED_WAIT: Duration = Duration::from_secs(1);

/// Failures in a row after which Lichess is considered down.
const MAX_FAST_REOPENS: u32 = 40;

static EVENT_STREAM: Schedule = Schedule {
    backoff: Backoff::new(Duration::from_millis(250), Duration::from_secs(60)),
    healthy: Duration::from_secs(60),
    silence: [Duration::from_millis(8500), Duration::from_secs(15)],
    max_opens: 20,
};

static GAME_STREAM: Schedule = Schedule {
    backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(5)),
    healthy: Duration::from_secs(10),
    silence: [Duration::from_millis(8500); 2],
    max_opens: usize::MAX,
};

impl ReconnectPolicy {
    /// The schedule of the account's event stream. Lichess allows 30 opens in ten minutes; we stay below 20.
    pub fn events() -> Self {
        Self::new(&EVENT_STREAM, fastrand::Rng::new())
    }

    /// The schedule of a game's stream. Without it Lichess counts us as gone, so the waits are short.
    pub fn game() -> Self {
        Self::new(&GAME_STREAM, fastrand::Rng::new())
    }

    fn new(schedule: &'static Schedule, random: fastrand::Rng) -> Self {
        Self {
            schedule,
            random,
            opens: VecDeque::new(),
            failures: 0,
            wait_cap: None,
            was_silent: false,
        }
    }

    /// How long the next stream may be silent, while opening too.
    pub fn silence(&self) -> Duration {
        self.schedule.silence[usize::from(self.was_silent)]
    }

    /// Limits waits to `max_wait` until `until`, because our clock may be running. A wait after a 429 still lasts a second, and
    /// so does any after many failures in a row.
    pub fn cap_wait(&mut self, max_wait: Duration, until: Instant) {
        self.wait_cap = Some((max_wait, until));
    }

    /// Records an attempt to open.
    pub fn on_open(&mut self, now: Instant) {
        while self
            .opens
            .front()
            .is_some_and(|&open| now.saturating_duration_since(open) >= OPEN_LIMIT_WINDOW)
        {
            self.opens.pop_front();
        }
        if self.schedule.max_opens != usize::MAX {
            self.opens.push_back(now);
        }
    }

    /// Records the end of a stream that `lived` this long, or of an attempt. Returns the wait until the next attempt.
    pub fn on_end(&mut self, how: Disconnect, lived: Duration, now: Instant) -> Duration {
        if lived >= self.schedule.healthy {
            self.failures = 0;
        }
        if lived >= OPEN_LIMIT_WINDOW {
            self.was_silent = false;
        }
        let delay = self.schedule.backoff.delay(self.failures);
        let backoff = match self.failures {
            // The silence itself was the wait.
            0 if how == Disconnect::Silent => Duration::ZERO,
            0 => delay,
            _ => delay.mul_f64(0.75 + self.random.f64() / 4.0),
        };
        self.failures = self.failures.saturating_add(1);
        self.was_silent |= how == Disconnect::Silent;
        let (wait, min) = match how {
            Disconnect::OpenFailed(Some(requested)) => (
                backoff.max(requested.min(OPEN_LIMIT_WINDOW)),
                MIN_LIMITED_WAIT,
            ),
            _ if self.failures > MAX_FAST_REOPENS => (backoff, MIN_LIMITED_WAIT),
            _ => (backoff, Duration::ZERO),
        };
        let cap = self.wait_cap.filter(|&(_, until)| now < until);
        cap.map_or(wait, |(max_wait, _)| wait.min(max_wait.max(min)))
            .max(self.until_open_allowed(now))
    }

    /// Ends in a row without a healthy stream between.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Time until the limit of opens allows the next one.
    fn until_open_allowed(&self, now: Instant) -> Duration {
        match self.opens.len().checked_sub(self.schedule.max_opens) {
            Some(over) => (self.opens[over] + OPEN_LIMIT_WINDOW).saturating_duration_since(now),
            None => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorResponse;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn status(code: u16, body: &str) -> Error {
        Error::Status(ErrorResponse::read(code, None, body.as_bytes()))
    }

    #[test]
    fn event_stream_silent_reopens_at_once_with_longer_silence() {
        let mut policy = ReconnectPolicy::events();
        let mut now = Instant::now();
        assert_eq!(policy.silence(), ms(8500));
        policy.on_open(now);
        now += ms(8500);
        assert_eq!(
            policy.on_end(Disconnect::Silent, ms(8500), now),
            Duration::ZERO
        );
        assert_eq!(policy.silence(), Duration::from_secs(15));
        policy.on_open(now);
        let day = Duration::from_secs(3600);
        now += day;
        let wait = policy.on_end(Disconnect::Eof, day, now);
        assert!(wait <= ms(2000), "{wait:?}");
        assert_eq!(
            policy.silence(),
            ms(8500),
            "an hour without failures resets the policy"
        );
    }

    #[test]
    fn game_stream_reopens_within_half_a_second() {
        for how in [Disconnect::Eof, Disconnect::Broken, Disconnect::Silent] {
            let mut policy = ReconnectPolicy::game();
            let now = Instant::now();
            policy.on_open(now);
            assert!(
                policy.on_end(how, Duration::from_secs(60), now) <= ms(400),
                "{how:?}"
            );
            assert_eq!(policy.silence(), ms(8500));
        }
    }

    #[test]
    fn event_stream_opens_are_limited() {
        let ways = [
            Disconnect::Eof,
            Disconnect::Broken,
            Disconnect::Silent,
            Disconnect::OpenFailed(None),
        ];
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut policy = ReconnectPolicy::new(&EVENT_STREAM, fastrand::Rng::with_seed(seed));
            let mut now = Instant::now();
            let mut opens = Vec::new();
            for _ in 0..300 {
                policy.on_open(now);
                opens.push(now);
                // Sometimes long enough to count as healthy, which could fool a backoff alone.
                let max = if random.u8(0..4) == 0 { 70_000 } else { 2_000 };
                let lived = ms(random.u64(0..max));
                now += lived;
                now += policy.on_end(ways[random.usize(0..ways.len())], lived, now);
            }
            for (first, later) in opens.iter().zip(&opens[20..]) {
                assert!(
                    later.duration_since(*first) >= OPEN_LIMIT_WINDOW,
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn waits_grow_to_limit_and_reset() {
        let mut policy = ReconnectPolicy::game();
        let now = Instant::now();
        let waits: Vec<Duration> = (0..20)
            .map(|_| policy.on_end(Disconnect::Broken, ms(1), now))
            .collect();
        assert!(
            waits[0] == ms(100) && waits[1] <= ms(200) && waits[1] >= ms(150),
            "{waits:?}"
        );
        assert!(
            waits[19] <= Duration::from_secs(5) && waits[19] >= ms(3750),
            "{waits:?}"
        );
        assert_eq!(
            policy.on_end(Disconnect::Broken, Duration::from_secs(11), now),
            ms(100)
        );
    }

    #[test]
    fn wait_cap_applies_while_clock_runs() {
        let now = Instant::now();
        let flag = now + Duration::from_secs(20);
        let limited = Disconnect::OpenFailed(Some(DEFAULT_RATE_LIMIT_WAIT));
        let mut policy = ReconnectPolicy::game();
        policy.cap_wait(ms(2000), flag);
        assert_eq!(policy.on_end(limited, Duration::ZERO, now), ms(2000));
        // A short clock, and then one that has run out.
        policy.cap_wait(ms(250), flag);
        assert_eq!(
            policy.on_end(limited, Duration::ZERO, now),
            MIN_LIMITED_WAIT
        );
        for _ in policy.failures()..MAX_FAST_REOPENS {
            let wait = policy.on_end(Disconnect::Broken, Duration::ZERO, now);
            assert!(wait <= ms(250), "{wait:?}");
        }
        assert_eq!(
            policy.on_end(Disconnect::Broken, Duration::ZERO, now),
            MIN_LIMITED_WAIT
        );
        let wait = policy.on_end(Disconnect::Broken, Duration::ZERO, flag);
        assert!(wait >= ms(3750), "{wait:?}");
        assert_eq!(
            policy.on_end(limited, Duration::ZERO, flag),
            DEFAULT_RATE_LIMIT_WAIT
        );
    }

    #[test]
    fn open_failure_keeps_requested_wait() {
        let mut policy = ReconnectPolicy::events();
        let now = Instant::now();
        let wait = policy.on_end(
            Disconnect::from_open_error(&status(
                429,
                r#"{"error":"no","ratelimit":{"key":"x","seconds":90}}"#,
            )),
            Duration::ZERO,
            now,
        );
        assert_eq!(wait, Duration::from_secs(90));
        let forever = Disconnect::OpenFailed(Some(Duration::from_secs(1_000_000)));
        assert_eq!(
            policy.on_end(forever, Duration::ZERO, now),
            OPEN_LIMIT_WINDOW
        );
        assert_eq!(
            Disconnect::from_open_error(&status(429, "<html>")),
            Disconnect::OpenFailed(Some(DEFAULT_RATE_LIMIT_WAIT))
        );
        assert_eq!(
            Disconnect::from_open_error(&status(502, "")),
            Disconnect::OpenFailed(None)
        );
        assert_eq!(
            Disconnect::from_open_error(&Error::Timeout(ms(1))),
            Disconnect::Silent
        );
    }
}
