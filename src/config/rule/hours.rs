//! Hours of the day in a time zone: `"08:00-22:00"`, `"22:00-06:30 UTC"` or `"09:00-17:00 Europe/Berlin"`.

use std::fmt;
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

/// A part of each day, which may go beyond midnight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hours {
    /// As written.
    text: String,
    from: Time,
    /// First moment that no longer belongs to it.
    until: Time,
    /// `None` for that of the machine.
    zone: Option<TimeZone>,
}

impl Hours {
    /// Returns whether this moment belongs to it.
    pub fn contains(&self, moment: SystemTime) -> bool {
        let Ok(timestamp) = Timestamp::try_from(moment) else {
            return false;
        };
        let zone = self.zone.clone().unwrap_or_else(TimeZone::system);
        let time = timestamp.to_zoned(zone).time();
        match self.from < self.until {
            true => self.from <= time && time < self.until,
            false => self.from <= time || time < self.until,
        }
    }
}

fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    match (hour.parse().ok()?, minute.parse().ok()?) {
        (24, 0) => Some(Time::midnight()),
        (hour, minute) => Time::new(hour, minute, 0, 0).ok(),
    }
}

impl TryFrom<String> for Hours {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const EXPECTED: &str = "expected two times of the day, as in \"08:00-22:00\", or with a time zone, as in \"22:00-06:30 UTC\"";
        let (hours, zone) = match text.trim().split_once(' ') {
            Some((hours, zone)) => (hours, Some(zone.trim())),
            None => (text.trim(), None),
        };
        let (from, until) = hours.split_once('-').ok_or(EXPECTED)?;
        let (Some(from), Some(until)) = (time(from), time(until)) else {
            return Err(EXPECTED);
        };
        if from == until {
            return Err("expected two different times");
        }
        let named = |zone| {
            // The database of the system may lack old names.
            TimeZone::get(zone)
                .or_else(|_| TimeZoneDatabase::bundled().get(zone))
                .map_err(
                    |_| "expected two times with a known time zone, as in UTC or Europe/Berlin",
                )
        };
        let zone = zone.map(named).transpose()?;
        Ok(Self {
            text,
            from,
            until,
            zone,
        })
    }
}

impl From<Hours> for String {
    fn from(hours: Hours) -> Self {
        hours.text
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn hours_end_before_their_end_and_wrap_at_midnight() {
        let at = |hour: u64, minute: u64| {
            SystemTime::UNIX_EPOCH
                + Duration::from_secs(86_400 * 20_000 + hour * 3_600 + minute * 60)
        };
        for (text, inside, outside) in [
            (
                "08:00-22:00 UTC",
                vec![(8, 0), (21, 59)],
                vec![(7, 59), (22, 0)],
            ),
            (
                "22:00-06:30 UTC",
                vec![(22, 0), (0, 0), (6, 29)],
                vec![(6, 30), (21, 59)],
            ),
            (
                "12:00-24:00 UTC",
                vec![(12, 0), (23, 59)],
                vec![(0, 0), (11, 59)],
            ),
        ] {
            let hours = Hours::try_from(text.to_owned()).unwrap();
            for (hour, minute) in inside {
                assert!(hours.contains(at(hour, minute)), "{text} {hour}:{minute}");
            }
            for (hour, minute) in outside {
                assert!(!hours.contains(at(hour, minute)), "{text} {hour}:{minute}");
            }
        }
        for text in [
            "",
            "8-22",
            "08:00",
            "08:00-25:00",
            "08:60-09:00",
            "08:00-08:00",
            "08:00-22:00 Mars",
        ] {
            assert!(Hours::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
