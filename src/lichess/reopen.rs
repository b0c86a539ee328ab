//! When a stream that ended is opened again, without a clock, a socket or a task of its own.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::error::Error;
use super::retry::{Trouble, UNNAMED_WAIT};

/// How a stream ended, as far as opening it again is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Cleanly.
    Eof,
    /// The connection broke.
    Broke,
    /// Nothing came for as long as [`Reopen::silence`].
    Silent,
    /// It could not be opened; with the wait that a 429 named or implied.
    Refused(Option<Duration>),
}

impl Ended {
    /// What a failure to open means.
    pub fn failed(error: &Error) -> Self {
        match Trouble::of(error) {
            Trouble::Limited(wait) => Self::Refused(Some(wait.unwrap_or(UNNAMED_WAIT))),
            Trouble::Late => Self::Silent,
            _ => Self::Refused(None),
        }
    }
}

/// When a stream is opened again, and how much silence it is allowed.
///
/// The driver calls [`opening`](Self::opening) right before each attempt, [`ended`](Self::ended) after it, and waits as
/// long as that says.
///
/// | stream | first wait | then | silence | at most |
/// |---|---|---|---|---|
/// | event | 0.25 s (none after silence) | doubled to 1 min | 8.5 s; 15 s once it was silent | 20 opens in 10 min |
/// | game | 0.1 s (none after silence) | doubled to 5 s | 8.5 s | - |
///
/// The waits grow while streams end soon after they began, and start over once one has lived for a while. Waits beyond
/// the first are drawn from 75 to 100 % of their length, so that many streams do not return in step. Where a 429 says
/// how long to stay away, that is kept to, for ten minutes at most, unless a clock of ours may run meanwhile: see
/// [`hurry`](Self::hurry).
#[derive(Debug)]
pub struct Reopen {
    plan: &'static Plan,
    random: fastrand::Rng,
    /// Opens of the last ten minutes.
    opens: VecDeque<Instant>,
    /// Ends in a row without a long life between.
    failures: u32,
    /// The longest wait, and until when it is.
    hurry: Option<(Duration, Instant)>,
    was_silent: bool,
}

#[derive(Debug)]
struct Plan {
    first: Duration,
    most: Duration,
    /// Whoever lived this long was well.
    healthy: Duration,
    silence: [Duration; 2],
    opens: usize,
}

const WINDOW: Duration = Duration::from_secs(600);

/// After a 429 nobody is back sooner, and after [`MANY`] failures neither.
const LEAST: Duration = Duration::from_secs(1);

/// Failures in a row that are no hiccup any more: a deploy, or Lichess is down.
const MANY: u32 = 40;

static EVENT: Plan = Plan {
    first: Duration::from_millis(250),
    most: Duration::from_secs(60),
    healthy: Duration::from_secs(60),
    silence: [Duration::from_millis(8500), Duration::from_secs(15)],
    opens: 20,
};

static GAME: Plan = Plan {
    first: Duration::from_millis(100),
    most: Duration::from_secs(5),
    healthy: Duration::from_secs(10),
    silence: [Duration::from_millis(8500); 2],
    opens: usize::MAX,
};

impl Reopen {
    /// The schedule of the account's stream. Lichess allows 30 opens in ten minutes; we keep to 20.
    pub fn events() -> Self {
        Self::new(&EVENT, fastrand::Rng::new())
    }

    /// The schedule of a game's stream. Without it we count as gone, so it is never away for long.
    pub fn game() -> Self {
        Self::new(&GAME, fastrand::Rng::new())
    }

    fn new(plan: &'static Plan, random: fastrand::Rng) -> Self {
        Self {
            plan,
            random,
            opens: VecDeque::new(),
            failures: 0,
            hurry: None,
            was_silent: false,
        }
    }

    /// How long the stream that is opened next may be silent, its opening included.
    pub fn silence(&self) -> Duration {
        self.plan.silence[usize::from(self.was_silent)]
    }

    /// A clock of ours may run until then: so long no wait is longer than `most`, whoever asks for it, though one after
    /// a 429 always lasts a second, and so does any when there were many of them in a row.
    pub fn hurry(&mut self, most: Duration, until: Instant) {
        self.hurry = Some((most, until));
    }

    /// An attempt to open begins.
    pub fn opening(&mut self, now: Instant) {
        while self
            .opens
            .front()
            .is_some_and(|&open| now.saturating_duration_since(open) >= WINDOW)
        {
            self.opens.pop_front();
        }
        if self.plan.opens != usize::MAX {
            self.opens.push_back(now);
        }
    }

    /// The attempt ended, or the stream did after it had `lived` this long. Gives the wait until the next attempt.
    pub fn ended(&mut self, how: Ended, lived: Duration, now: Instant) -> Duration {
        if lived >= self.plan.healthy {
            self.failures = 0;
        }
        if lived >= WINDOW {
            self.was_silent = false;
        }
        let backoff = match self.failures {
            // The silence was wait enough.
            0 if how == Ended::Silent => Duration::ZERO,
            0 => self.plan.first,
            failures => {
                let doubled = self
                    .plan
                    .first
                    .saturating_mul(1 << failures.min(16))
                    .min(self.plan.most);
                doubled.mul_f64(0.75 + self.random.f64() / 4.0)
            }
        };
        self.failures = self.failures.saturating_add(1);
        self.was_silent |= how == Ended::Silent;
        let (wait, least) = match how {
            // Lichess counts opens in windows of this length.
            Ended::Refused(Some(named)) => (backoff.max(named.min(WINDOW)), LEAST),
            _ if self.failures > MANY => (backoff, LEAST),
            _ => (backoff, Duration::ZERO),
        };
        let hurry = self.hurry.filter(|&(_, until)| now < until);
        hurry
            .map_or(wait, |(most, _)| wait.min(most.max(least)))
            .max(self.until_allowed(now))
    }

    /// How many ends there were in a row without a long life between.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// How long until the limit of opens lets the next one through.
    fn until_allowed(&self, now: Instant) -> Duration {
        match self.opens.len().checked_sub(self.plan.opens) {
            Some(over) => (self.opens[over] + WINDOW).saturating_duration_since(now),
            None => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::Refusal;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn status(code: u16, body: &str) -> Error {
        Error::Status(Refusal::read(code, None, body.as_bytes()))
    }

    #[test]
    fn the_event_stream_is_back_at_once_and_allows_more_silence_the_second_time() {
        let mut reopen = Reopen::events();
        let mut now = Instant::now();
        assert_eq!(reopen.silence(), ms(8500));
        reopen.opening(now);
        now += ms(8500);
        assert_eq!(reopen.ended(Ended::Silent, ms(8500), now), Duration::ZERO);
        assert_eq!(reopen.silence(), Duration::from_secs(15));
        reopen.opening(now);
        let day = Duration::from_secs(3600);
        now += day;
        let wait = reopen.ended(Ended::Eof, day, now);
        assert!(wait <= ms(2000), "{wait:?}");
        assert_eq!(
            reopen.silence(),
            ms(8500),
            "an hour without trouble is a fresh start"
        );
    }

    #[test]
    fn a_game_stream_is_back_within_half_a_second() {
        for how in [Ended::Eof, Ended::Broke, Ended::Silent] {
            let mut reopen = Reopen::game();
            let now = Instant::now();
            reopen.opening(now);
            assert!(
                reopen.ended(how, Duration::from_secs(60), now) <= ms(400),
                "{how:?}"
            );
            assert_eq!(reopen.silence(), ms(8500));
        }
    }

    #[test]
    fn there_are_never_more_than_twenty_event_streams_in_ten_minutes() {
        let ways = [
            Ended::Eof,
            Ended::Broke,
            Ended::Silent,
            Ended::Refused(None),
        ];
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut reopen = Reopen::new(&EVENT, fastrand::Rng::with_seed(seed));
            let mut now = Instant::now();
            let mut opens = Vec::new();
            for _ in 0..300 {
                reopen.opening(now);
                opens.push(now);
                // Sometimes long enough to look well, which is how a backoff alone could be fooled.
                let most = if random.u8(0..4) == 0 { 70_000 } else { 2_000 };
                let lived = ms(random.u64(0..most));
                now += lived;
                now += reopen.ended(ways[random.usize(0..ways.len())], lived, now);
            }
            for (first, later) in opens.iter().zip(&opens[20..]) {
                assert!(later.duration_since(*first) >= WINDOW, "seed {seed}");
            }
        }
    }

    #[test]
    fn waits_grow_to_their_limit_and_start_over() {
        let mut reopen = Reopen::game();
        let now = Instant::now();
        let waits: Vec<Duration> = (0..20)
            .map(|_| reopen.ended(Ended::Broke, ms(1), now))
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
            reopen.ended(Ended::Broke, Duration::from_secs(11), now),
            ms(100)
        );
    }

    #[test]
    fn a_running_clock_waits_for_nobody_and_hammers_nobody() {
        let now = Instant::now();
        let flag = now + Duration::from_secs(20);
        let limited = Ended::Refused(Some(UNNAMED_WAIT));
        let mut reopen = Reopen::game();
        reopen.hurry(ms(2000), flag);
        assert_eq!(reopen.ended(limited, Duration::ZERO, now), ms(2000));
        // A short clock, and then none any more.
        reopen.hurry(ms(250), flag);
        assert_eq!(reopen.ended(limited, Duration::ZERO, now), LEAST);
        for _ in reopen.failures()..MANY {
            let wait = reopen.ended(Ended::Broke, Duration::ZERO, now);
            assert!(wait <= ms(250), "{wait:?}");
        }
        assert_eq!(reopen.ended(Ended::Broke, Duration::ZERO, now), LEAST);
        let wait = reopen.ended(Ended::Broke, Duration::ZERO, flag);
        assert!(wait >= ms(3750), "{wait:?}");
        assert_eq!(reopen.ended(limited, Duration::ZERO, flag), UNNAMED_WAIT);
    }

    #[test]
    fn a_refused_stream_waits_as_long_as_it_is_told() {
        let mut reopen = Reopen::events();
        let now = Instant::now();
        let wait = reopen.ended(
            Ended::failed(&status(
                429,
                r#"{"error":"no","ratelimit":{"key":"x","seconds":90}}"#,
            )),
            Duration::ZERO,
            now,
        );
        assert_eq!(wait, Duration::from_secs(90));
        let forever = Ended::Refused(Some(Duration::from_secs(1_000_000)));
        assert_eq!(reopen.ended(forever, Duration::ZERO, now), WINDOW);
        assert_eq!(
            Ended::failed(&status(429, "<html>")),
            Ended::Refused(Some(UNNAMED_WAIT))
        );
        assert_eq!(Ended::failed(&status(502, "")), Ended::Refused(None));
        assert_eq!(Ended::failed(&Error::Timeout(ms(1))), Ended::Silent);
    }
}
