//! Scalable clock: all waits and measurements of time of the bot and of the Lichess client use it.
//!
//! Usually it is the system's clock. For tests against an accelerated simulator (`knightwatch sim --speed 10`), it can run
//! faster by the same factor (`knightwatch run --time-scale 10`): a minute in the code then takes six seconds, and the code
//! need not know. Persisted state contains dates; processes that share it are given the time at which the clocks began to run
//! faster (`--time-scale 10@1795265939000`).

use std::future::Future;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The largest scale: beyond it delays of the machine would look like delays of the network.
const MAX_SCALE: f64 = 10.0;

struct ScaledClock {
    /// When the clock began to run faster.
    start: Instant,
    /// The date it showed at that time.
    start_date: SystemTime,
    factor: f64,
}

static SCALE: OnceLock<ScaledClock> = OnceLock::new();

/// Speed of a scaled clock relative to real time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeScale {
    factor: f64,
    /// When the clock showed the real date; `None` means the start of the process.
    since: Option<SystemTime>,
}

/// `10`, or `10@1795265939000` with a time in milliseconds since 1970.
impl FromStr for TimeScale {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeScale, String> {
        let (factor, since) = match text.split_once('@') {
            Some((factor, since)) => (factor, Some(since)),
            None => (text, None),
        };
        let factor = factor.parse().ok();
        let factor = factor.filter(|factor| (1.0..=MAX_SCALE).contains(factor));
        let since = since.map(|since| since.parse().map(Duration::from_millis).ok());
        match (factor, since) {
            (Some(factor), None) => Ok(TimeScale {
                factor,
                since: None,
            }),
            (Some(factor), Some(Some(since))) if since <= since_epoch() => Ok(TimeScale {
                factor,
                since: Some(UNIX_EPOCH + since),
            }),
            _ => Err(format!(
                "expected a number from 1 to {MAX_SCALE}, optionally followed by @ and a past time in milliseconds \
                 since 1970"
            )),
        }
    }
}

/// Time since 1970.
fn since_epoch() -> Duration {
    UNIX_EPOCH.elapsed().unwrap_or_default()
}

impl TimeScale {
    /// The scaled date at this real date.
    fn date(&self, calendar: SystemTime) -> SystemTime {
        let passed = |since| calendar.duration_since(since).unwrap_or_default();
        let ahead = self.since.map_or(Duration::ZERO, passed);
        calendar + ahead.mul_f64(self.factor - 1.0)
    }
}

/// Scales the clock from now on. Only the first call has an effect; it must come before any measurement.
pub fn set_scale(scale: TimeScale) {
    if scale.factor > 1.0 {
        let _ = SCALE.set(ScaledClock {
            start: Instant::now(),
            start_date: scale.date(SystemTime::now()),
            factor: scale.factor,
        });
    }
}

/// The speed of the clock relative to real time.
pub fn scale() -> f64 {
    SCALE.get().map_or(1.0, |scale| scale.factor)
}

/// The current time. Comparable only with other times of this clock.
pub fn now() -> Instant {
    let now = Instant::now();
    match SCALE.get() {
        None => now,
        Some(ScaledClock { start, factor, .. }) => {
            *start + now.duration_since(*start).mul_f64(*factor)
        }
    }
}

/// The current date, for persisted state. Unlike [`now`] it jumps when the system's clock is set.
pub fn date() -> SystemTime {
    match SCALE.get() {
        None => SystemTime::now(),
        Some(ScaledClock {
            start, start_date, ..
        }) => *start_date + now().saturating_duration_since(*start),
    }
}

/// Seconds since 1970; 0 for earlier dates.
pub fn epoch_seconds(date: SystemTime) -> u64 {
    date.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// Milliseconds since 1970, as used by Lichess; 0 for earlier dates.
pub fn epoch_ms(date: SystemTime) -> u64 {
    let since = date.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

/// The date at a time of this clock, past or future.
pub fn date_of(moment: Instant) -> SystemTime {
    let (now, date) = (now(), date());
    match moment.checked_duration_since(now) {
        Some(ahead) => date + ahead,
        None => date - now.saturating_duration_since(moment),
    }
}

/// Time elapsed since `then`.
pub fn since(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}

/// A date for messages: `2026-11-21 14:05 UTC`.
pub fn format_date(date: SystemTime) -> String {
    match jiff::Timestamp::try_from(date) {
        Ok(date) => date.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => "an unknown time".to_owned(),
    }
}

/// Converts a duration of this clock to real time.
pub fn to_wall_clock(duration: Duration) -> Duration {
    match SCALE.get() {
        None => duration,
        Some(ScaledClock { factor, .. }) => duration.div_f64(*factor),
    }
}

/// Converts a duration of real time to this clock.
pub fn from_wall_clock(wall: Duration) -> Duration {
    match SCALE.get() {
        None => wall,
        Some(ScaledClock { factor, .. }) => wall.mul_f64(*factor),
    }
}

/// The deadline in real time of a wait that starts now.
pub fn wall_deadline(wait: Duration) -> tokio::time::Instant {
    tokio::time::Instant::now() + to_wall_clock(wait)
}

/// Waits for this duration.
pub fn sleep(wait: Duration) -> tokio::time::Sleep {
    tokio::time::sleep(to_wall_clock(wait))
}

/// Waits until this time.
pub fn sleep_until(deadline: Instant) -> tokio::time::Sleep {
    sleep(deadline.saturating_duration_since(now()))
}

/// Limits a future to this duration.
pub fn timeout<F: Future>(limit: Duration, future: F) -> tokio::time::Timeout<F> {
    tokio::time::timeout(to_wall_clock(limit), future)
}

/// Ticks at once and then with this period; a late tick delays the following ones.
pub fn interval(period: Duration) -> tokio::time::Interval {
    delay_missed_ticks(tokio::time::interval(to_wall_clock(period)))
}

/// Like [`interval`], with the first tick after one period.
pub fn delayed_interval(period: Duration) -> tokio::time::Interval {
    let period = to_wall_clock(period);
    delay_missed_ticks(tokio::time::interval_at(
        tokio::time::Instant::now() + period,
        period,
    ))
}

fn delay_missed_ticks(mut interval: tokio::time::Interval) -> tokio::time::Interval {
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    interval
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_scale_with_start_is_the_same_in_all_processes() {
        let since = SystemTime::now() - Duration::from_secs(3_600);
        let ms = since.duration_since(UNIX_EPOCH).unwrap().as_millis();
        let scale: TimeScale = format!("10@{ms}").parse().unwrap();
        let late = since + Duration::from_secs(60);
        let shown = scale.date(late).duration_since(since).unwrap();
        assert_eq!(shown.as_secs_f64().round(), 600.0);
        // Without a time it is the start of the process.
        assert_eq!("10".parse::<TimeScale>().unwrap().date(late), late);
    }

    #[test]
    fn time_scale_invalid_is_rejected() {
        for text in [
            "",
            "0.5",
            "11",
            "x",
            "NaN",
            "2@",
            "2@x",
            "2@-1",
            "2@99999999999999",
            "@1",
            "2@18446744073709551615",
        ] {
            assert!(
                text.parse::<TimeScale>().unwrap_err().contains("1 to 10"),
                "{text}"
            );
        }
    }
}
