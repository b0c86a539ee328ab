//! Limits on accepted challenges: `2/1m, 20/24h`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plural;
use crate::seconds::{DAY, HOUR, MINUTE};

/// Upper limit of a window, for which acceptances are remembered.
const MAX_WINDOW: Duration = Duration::from_secs(30 * DAY);

/// Units of a window, the largest first: their letter, name and seconds.
const UNITS: [(char, &str, &str, u64); 4] = [
    ('d', "day", "days", DAY),
    ('h', "hour", "hours", HOUR),
    ('m', "minute", "minutes", MINUTE),
    ('s', "second", "seconds", 1),
];

/// How many challenges are accepted; 0 and nothing set no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limit {
    /// From one user within 24 hours.
    pub per_user_day: u32,
    /// From all within 24 hours.
    pub per_day: u32,
    /// From one user within other windows.
    pub per_user: Windows,
    /// Running games.
    pub concurrency: u32,
}

impl Limit {
    /// All limits on one user.
    pub fn of_user(&self) -> impl Iterator<Item = Window> {
        let windows = self.per_user.0.iter().copied();
        Window::of_day(self.per_user_day).into_iter().chain(windows)
    }

    /// The limit on all users together.
    pub fn of_all(&self) -> Option<Window> {
        Window::of_day(self.per_day)
    }
}

/// At most this many within this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub max: u32,
    pub time: Duration,
}

impl Window {
    fn of_day(max: u32) -> Option<Self> {
        let time = Duration::from_secs(DAY);
        (max > 0).then_some(Self { max, time })
    }

    fn read(text: &str) -> Option<Self> {
        let (max, window) = text.split_once('/')?;
        let window = window.trim();
        let unit = window.chars().next_back()?;
        let (.., seconds) = UNITS.iter().find(|(letter, ..)| *letter == unit)?;
        let number: u64 = window[..window.len() - 1].trim().parse().ok()?;
        let time = Duration::from_secs(number.checked_mul(*seconds)?);
        let max = max.trim().parse().ok().filter(|max| *max > 0)?;
        (!time.is_zero() && time <= MAX_WINDOW).then_some(Self { max, time })
    }

    /// The largest unit that divides the window, and how many of them it has. A day counts as 24 hours.
    fn units(self) -> (u64, char, &'static str, &'static str) {
        let seconds = self.time.as_secs();
        let (letter, one, many, unit) = UNITS
            .into_iter()
            .find(|(.., unit)| seconds.is_multiple_of(*unit) && (seconds > DAY || *unit < DAY))
            .unwrap_or(UNITS[3]);
        (seconds / unit, letter, one, many)
    }

    /// The window in words, as in `24 hours`.
    pub fn in_words(self) -> String {
        let (number, _, one, many) = self.units();
        plural::count(number, one, many)
    }
}

/// As it is written in the configuration.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit, ..) = self.units();
        write!(f, "{}/{number}{unit}", self.max)
    }
}

/// Limits for several windows, all of which hold: `"2/1m, 20/24h"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Windows(Vec<Window>);

impl TryFrom<String> for Windows {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let windows: Option<Vec<Window>> = text.split(',').map(Window::read).collect();
        windows.map(Self).ok_or(
            "expected numbers of games and windows of up to 30d, as in \"2/1m, 20/24h\", with s, m, h or d",
        )
    }
}

impl From<Windows> for String {
    fn from(windows: Windows) -> Self {
        windows.to_string()
    }
}

impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(Window::to_string).collect();
        f.write_str(&texts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_every_form_round_trip() {
        let windows = |text: &str| Windows::try_from(text.to_owned());
        for (text, written, words) in [
            ("2/1m", "2/1m", "1 minute"),
            ("2/60s", "2/1m", "1 minute"),
            ("20/24h", "20/24h", "24 hours"),
            ("20/1d", "20/24h", "24 hours"),
            ("5/90s", "5/90s", "90 seconds"),
            (" 3 / 7 d ", "3/7d", "7 days"),
        ] {
            let read = windows(text).unwrap();
            assert_eq!(read.to_string(), written);
            assert_eq!(read.0[0].in_words(), words);
            assert_eq!(windows(written).unwrap(), read);
        }
        assert_eq!(windows("2/1m, 20/24h").unwrap().0.len(), 2);
        assert_eq!(windows("").unwrap(), Windows::default());
        for text in [
            "2",
            "2/",
            "/1m",
            "0/1m",
            "2/0m",
            "2/1w",
            "2/31d",
            "2/1m,",
            "-1/1m",
            "2/1é",
            "2/99999999999999999d",
        ] {
            assert!(windows(text).is_err(), "{text}");
        }
    }
}
