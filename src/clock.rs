//! The one clock of the bot: every wait and every measurement of time in [`bot`](crate::bot) and
//! [`lichess`](crate::lichess) goes through it.
//!
//! Ordinarily it is the system's clock. For rehearsals against a simulator that runs faster than the wall (`knightwatch
//! sim --speed 10`), it can be made to run as many times faster (`knightwatch run --time-scale 10`): then a minute in
//! this program's text takes six seconds everywhere, and nothing in it need know. What is kept over restarts has dates;
//! processes that are to agree on them are told since when the clock runs faster (`--time-scale 10@1795265939000`).

use std::future::Future;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The largest scale: beyond it the machine's own delays would be mistaken for the network's.
const MAX_SCALE: f64 = 10.0;

struct Scale {
    /// When it began to run faster.
    base: Instant,
    /// The date that it showed then.
    date: SystemTime,
    factor: f64,
}

static SCALE: OnceLock<Scale> = OnceLock::new();

/// How many times as fast as the wall's a clock is to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    factor: f64,
    /// When it was right by the calendar; else it is when the process starts.
    since: Option<SystemTime>,
}

/// `10`, or `10@1795265939000` with the milliseconds of the Unix epoch since when.
impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let (factor, since) = match text.split_once('@') {
            Some((factor, since)) => (factor, Some(since)),
            None => (text, None),
        };
        let factor = factor.parse().ok();
        let factor = factor.filter(|factor| (1.0..=MAX_SCALE).contains(factor));
        let since = since.map(|since| since.parse().map(Duration::from_millis).ok());
        match (factor, since) {
            (Some(factor), None) => Ok(Rate {
                factor,
                since: None,
            }),
            (Some(factor), Some(Some(since))) if since <= today() => Ok(Rate {
                factor,
                since: Some(UNIX_EPOCH + since),
            }),
            _ => Err(format!(
                "expected a number from 1 to {MAX_SCALE}, and perhaps @ and a time that has passed, in milliseconds \
                 since 1970"
            )),
        }
    }
}

/// What has passed since 1970.
fn today() -> Duration {
    UNIX_EPOCH.elapsed().unwrap_or_default()
}

impl Rate {
    /// The date that the clock shows when the calendar shows this one.
    fn date(&self, calendar: SystemTime) -> SystemTime {
        let passed = |since| calendar.duration_since(since).unwrap_or_default();
        let ahead = self.since.map_or(Duration::ZERO, passed);
        calendar + ahead.mul_f64(self.factor - 1.0)
    }
}

/// Makes the clock run faster from now on. Only the first call counts, and it has to come before anything is measured.
pub fn set_rate(rate: Rate) {
    if rate.factor > 1.0 {
        let _ = SCALE.set(Scale {
            base: Instant::now(),
            date: rate.date(SystemTime::now()),
            factor: rate.factor,
        });
    }
}

/// How many times as fast as the wall's the clock runs.
pub fn scale() -> f64 {
    SCALE.get().map_or(1.0, |scale| scale.factor)
}

/// The time. Compare it with nothing but other times of this clock.
pub fn now() -> Instant {
    let now = Instant::now();
    match SCALE.get() {
        None => now,
        Some(Scale { base, factor, .. }) => *base + now.duration_since(*base).mul_f64(*factor),
    }
}

/// The date and the time of day, for what is kept over a restart. Unlike [`now`] it leaps when somebody sets the
/// machine's clock.
pub fn date() -> SystemTime {
    match SCALE.get() {
        None => SystemTime::now(),
        Some(Scale { base, date, .. }) => *date + now().saturating_duration_since(*base),
    }
}

/// The seconds of a date since 1970; none before.
pub fn epoch_seconds(date: SystemTime) -> u64 {
    date.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// The milliseconds of a date since 1970, as Lichess counts; none before.
pub fn epoch_ms(date: SystemTime) -> u64 {
    let since = date.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

/// The date at a moment of this clock, past or to come.
pub fn date_of(moment: Instant) -> SystemTime {
    let (now, date) = (now(), date());
    match moment.checked_duration_since(now) {
        Some(ahead) => date + ahead,
        None => date - now.saturating_duration_since(moment),
    }
}

/// What has passed since then.
pub fn since(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}

/// A date as people are told of it: `2026-11-21 14:05 UTC`.
pub fn shown(date: SystemTime) -> String {
    match jiff::Timestamp::try_from(date) {
        Ok(date) => date.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => "an unknown time".to_owned(),
    }
}

/// How long something of this length takes on the wall.
pub fn on_the_wall(duration: Duration) -> Duration {
    match SCALE.get() {
        None => duration,
        Some(Scale { factor, .. }) => duration.div_f64(*factor),
    }
}

/// What something that took this long on the wall took by this clock.
pub fn by_this_clock(wall: Duration) -> Duration {
    match SCALE.get() {
        None => wall,
        Some(Scale { factor, .. }) => wall.mul_f64(*factor),
    }
}

/// The moment on the wall at which a wait of this length, begun now, is over.
pub fn wall_deadline(wait: Duration) -> tokio::time::Instant {
    tokio::time::Instant::now() + on_the_wall(wait)
}

/// Waits this long.
pub fn sleep(wait: Duration) -> tokio::time::Sleep {
    tokio::time::sleep(on_the_wall(wait))
}

/// Waits until the clock shows this.
pub fn sleep_until(deadline: Instant) -> tokio::time::Sleep {
    sleep(deadline.saturating_duration_since(now()))
}

/// Gives up a future after this long.
pub fn timeout<F: Future>(patience: Duration, future: F) -> tokio::time::Timeout<F> {
    tokio::time::timeout(on_the_wall(patience), future)
}

/// Ticks at once and then with this period; a tick that comes too late shifts those after it.
pub fn interval(period: Duration) -> tokio::time::Interval {
    ticking(tokio::time::interval(on_the_wall(period)))
}

/// Like [`interval`], with the first tick after one period.
pub fn interval_later(period: Duration) -> tokio::time::Interval {
    let period = on_the_wall(period);
    ticking(tokio::time::interval_at(
        tokio::time::Instant::now() + period,
        period,
    ))
}

fn ticking(mut interval: tokio::time::Interval) -> tokio::time::Interval {
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    interval
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_agree_on_the_date() {
        let since = SystemTime::now() - Duration::from_secs(3_600);
        let ms = since.duration_since(UNIX_EPOCH).unwrap().as_millis();
        let rate: Rate = format!("10@{ms}").parse().unwrap();
        let late = since + Duration::from_secs(60);
        let shown = rate.date(late).duration_since(since).unwrap();
        assert_eq!(shown.as_secs_f64().round(), 600.0);
        // Without a beginning it is the start of the process.
        assert_eq!("10".parse::<Rate>().unwrap().date(late), late);
    }

    #[test]
    fn a_rate_that_is_none_is_refused() {
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
                text.parse::<Rate>().unwrap_err().contains("1 to 10"),
                "{text}"
            );
        }
    }
}
