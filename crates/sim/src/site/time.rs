//! Time of the simulated site, which may run faster than wall time. All clocks and timers of the site use it.

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Point in the site's time, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SimTime(pub i64);

impl SimTime {
    /// Formats as `2026-08-22T18:30:00.123Z`.
    pub(crate) fn iso(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
            .to_string()
    }

    /// Formats as `2026-08-22T18:30:00Z`.
    pub(crate) fn iso_seconds(self) -> String {
        Self(self.0 - self.0.rem_euclid(1_000)).iso()
    }

    /// Formats as `Sat, 22 Aug 2026 18:30:00 GMT`.
    pub(crate) fn http_date(self) -> String {
        let at = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// Duration since an earlier point; zero if it is not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

// Additions and subtractions saturate.
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

/// Clock of the site.
pub(crate) struct TimeSource {
    began: Instant,
    epoch: i64,
    speed: f64,
    skipped: AtomicI64,
    skips: watch::Sender<()>,
}

impl TimeSource {
    /// Starts at the current wall time and runs `speed` times as fast.
    pub(crate) fn new(speed: f64) -> Self {
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

    pub(crate) fn now(&self) -> SimTime {
        let run = self.began.elapsed().as_secs_f64() * 1000.0 * self.speed;
        SimTime(self.epoch + run as i64 + self.skipped.load(Ordering::Acquire))
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.now().since(SimTime(self.epoch))
    }

    /// The time at which this much has passed since the start.
    pub(crate) fn at(&self, elapsed: Duration) -> SimTime {
        SimTime(self.epoch) + elapsed
    }

    /// Advances the time at once and wakes sleepers.
    pub(crate) fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap_or(0);
        self.skipped.fetch_add(by, Ordering::AcqRel);
        self.skips.send_replace(());
    }

    /// Sleeps until this time of the site.
    pub(crate) async fn sleep_until(&self, moment: SimTime) {
        if self.now() >= moment {
            return;
        }
        let mut skips = self.skips.subscribe();
        loop {
            let now = self.now();
            if now >= moment {
                return;
            }
            // One millisecond more because both conversions round down.
            let wall = moment.since(now).as_secs_f64() / self.speed + 0.001 / self.speed;
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs_f64(wall)) => {}
                _ = skips.changed() => {}
            }
        }
    }

    /// Sleeps for this duration of the site's time.
    pub(crate) async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.now() + duration).await;
    }
}

/// Parses `250ms`, `1.5s`, `2m`, `1h` or `3d`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let error = || format!("`{text}` is not a duration: write 250ms, 1.5s, 2m, 1h or 3d");
    let unit = text
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(error)?;
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err(error()),
    };
    let number: f64 = number.trim().parse().map_err(|_| error())?;
    Duration::try_from_secs_f64(number * factor).map_err(|_| error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse_with_units() {
        for (text, millis) in [("250ms", 250), ("1.5s", 1_500), ("2m", 120_000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)));
        }
        for text in ["", "7", "s", "3 weeks", "-1s", "1e400s", "NaNs"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sim_time_arithmetic_saturates() {
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
    async fn time_source_runs_at_speed() {
        let time = TimeSource::new(1_000.0);
        let start = time.now();
        let wall = Instant::now();
        time.sleep(Duration::from_secs(20)).await;
        assert!(time.now().since(start) >= Duration::from_secs(20));
        assert!(wall.elapsed() >= Duration::from_millis(19));
        assert!(wall.elapsed() < Duration::from_secs(10));
    }

    #[tokio::test]
    async fn time_source_advance_wakes_sleepers() {
        let time = TimeSource::new(1.0);
        let waiting = time.sleep(Duration::from_secs(3600));
        let skipping = async { time.advance(Duration::from_secs(3601)) };
        tokio::join!(waiting, skipping);
    }
}
