//! The one source of time of a site. All clocks and timers read it, so all of them run faster together.

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// A moment in the site's time: milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sim) struct SimTime(pub i64);

impl SimTime {
    /// As in `2026-08-22T18:30:00.123Z`.
    pub fn iso(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
            .to_string()
    }

    /// As in `2026-08-22T18:30:00Z`.
    pub fn iso_seconds(self) -> String {
        Self(self.0 - self.0.rem_euclid(1_000)).iso()
    }

    /// As in `Sat, 22 Aug 2026 18:30:00 GMT`.
    pub fn http_date(self) -> String {
        let at = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// What passed since an earlier moment; zero when it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

// What is too far away is the end of time.
impl Add<Duration> for SimTime {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }
}

impl Sub<Duration> for SimTime {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis))
    }
}

/// Reads the site's time and waits in it.
pub(in crate::sim) struct TimeSource {
    began: Instant,
    epoch: i64,
    speed: f64,
    skipped: AtomicI64,
    skips: watch::Sender<()>,
}

impl TimeSource {
    /// Starts at the wall's time and runs `speed` times as fast.
    pub fn new(speed: f64) -> Self {
        let epoch = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0));
        Self {
            began: Instant::now(),
            epoch,
            speed: if speed.is_finite() && speed > 0.0 {
                speed
            } else {
                1.0
            },
            skipped: AtomicI64::new(0),
            skips: watch::Sender::new(()),
        }
    }

    pub fn now(&self) -> SimTime {
        let run = self.began.elapsed().as_secs_f64() * 1000.0 * self.speed;
        SimTime(self.epoch + run as i64 + self.skipped.load(Ordering::Acquire))
    }

    /// Since the start.
    pub fn elapsed(&self) -> Duration {
        self.now().since(SimTime(self.epoch))
    }

    /// Moves time forward at once; who waits is woken.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap_or(0);
        self.skipped.fetch_add(by, Ordering::AcqRel);
        self.skips.send_replace(());
    }

    /// Waits until the site's time has come to this moment.
    pub async fn sleep_until(&self, moment: SimTime) {
        if self.now() >= moment {
            return;
        }
        let mut skips = self.skips.subscribe();
        loop {
            let now = self.now();
            if now >= moment {
                return;
            }
            // One millisecond more, since both conversions round down.
            let wall = moment.since(now).as_secs_f64() / self.speed + 0.001 / self.speed;
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs_f64(wall)) => {}
                _ = skips.changed() => {}
            }
        }
    }

    /// Waits this long in the site's time.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.now() + duration).await;
    }
}

/// `250ms`, `1.5s`, `2m`, `1h` or `3d`.
pub(in crate::sim) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time: write 250ms, 1.5s, 2m, 1h or 3d");
    let unit = text
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * factor).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_units() {
        for (text, millis) in [("250ms", 250), ("1.5s", 1_500), ("2m", 120_000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)));
        }
        for text in ["", "7", "s", "3 weeks", "-1s", "1e400s", "NaNs"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_moment_is_too_late() {
        let late = SimTime(i64::MAX - 1) + Duration::from_secs(60);
        assert_eq!(late, SimTime(i64::MAX));
        assert_eq!(late + Duration::MAX, late);
        assert_eq!(SimTime(i64::MIN) - Duration::MAX, SimTime(i64::MIN));
        assert_eq!(
            late.since(SimTime(-1)),
            Duration::from_millis(i64::MAX as u64)
        );
    }

    #[tokio::test]
    async fn runs_as_many_times_faster_as_asked() {
        let time = TimeSource::new(1_000.0);
        let start = time.now();
        let wall = Instant::now();
        time.sleep(Duration::from_secs(20)).await;
        assert!(time.now().since(start) >= Duration::from_secs(20));
        assert!(wall.elapsed() >= Duration::from_millis(19));
        assert!(wall.elapsed() < Duration::from_secs(10));
    }

    #[tokio::test]
    async fn advancing_wakes_who_waits() {
        let time = TimeSource::new(1.0);
        let waiting = time.sleep(Duration::from_secs(3600));
        let skipping = async { time.advance(Duration::from_secs(3601)) };
        tokio::join!(waiting, skipping);
    }
}
