//! Time controls.

use std::fmt;
use std::str::FromStr;

/// Time control of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeControl {
    /// A real-time clock.
    Clock {
        /// Initial time, in seconds.
        limit: u32,
        /// Increment per move, in seconds.
        increment: u32,
    },
    /// Days for each move.
    Days(u32),
    /// No clock.
    Unlimited,
}

/// Returns the clock at the start of a game, in seconds: `0+N` starts at N, at least at 3.
pub(crate) fn clock_start(limit: u32, increment: u32) -> u32 {
    if limit == 0 { increment.max(3) } else { limit }
}

/// Returns the estimated duration for each player, in seconds.
pub(crate) fn clock_estimate(limit: u32, increment: u32) -> u32 {
    limit + 40 * increment
}

/// Formats as [`FromStr`] parses.
impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock { limit, increment } => write!(f, "{limit}+{increment}"),
            Self::Days(days) => write!(f, "{days}d"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl TimeControl {
    /// Creates a real-time clock from initial time and increment, in seconds.
    pub fn clock(limit: u32, increment: u32) -> Self {
        Self::Clock { limit, increment }
    }

    /// Formats the clock as Lichess does: `3+2`, `½+0`, `1.5+1`.
    pub(crate) fn show(self) -> Option<String> {
        let Self::Clock { limit, increment } = self else {
            return None;
        };
        let limit = match limit {
            15 => "¼".to_owned(),
            30 => "½".to_owned(),
            45 => "¾".to_owned(),
            90 => "1.5".to_owned(),
            _ => (limit / 60).to_string(),
        };
        Some(format!("{limit}+{increment}"))
    }

    /// Returns whether Lichess offers this time control.
    pub(crate) fn is_offered(self) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Days(days) => DAYS_PER_TURN.contains(&days),
            Self::Clock { limit, increment } => {
                is_initial_time(limit)
                    && increment <= MAX_INCREMENT_SECONDS
                    && limit + increment > 0
            }
        }
    }
}

/// Numbers of days per move that Lichess offers.
pub(crate) const DAYS_PER_TURN: [u32; 7] = [1, 2, 3, 5, 7, 10, 14];
/// Maximum increment, in seconds.
pub(crate) const MAX_INCREMENT_SECONDS: u32 = 60;

/// Returns whether Lichess offers this initial time, in seconds.
pub(crate) fn is_initial_time(seconds: u32) -> bool {
    matches!(seconds, 0 | 15 | 30 | 45 | 90) || (seconds.is_multiple_of(60) && seconds <= 10_800)
}

/// Parses `60+0` (initial time and increment in seconds), `3d` (days per move) or `unlimited`.
impl FromStr for TimeControl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
        let clock = text
            .split_once('+')
            .and_then(|(limit, increment)| Some((limit.parse().ok()?, increment.parse().ok()?)));
        let read = match (days, clock) {
            (Some(days), _) => Self::Days(days),
            (None, Some((limit, increment))) => Self::clock(limit, increment),
            _ => {
                return Err(format!(
                    "`{text}` is not a time control: expected SECONDS+SECONDS as in 60+1, DAYS as in 3d, or unlimited"
                ));
            }
        };
        if read.is_offered() {
            Ok(read)
        } else {
            Err(format!(
                "Lichess does not offer `{text}` (in seconds): the initial time is 0, 15, 30, 45, 60, 90 or whole minutes up to 10800, \
                 the increment 0 to 60, and 0+0 is invalid; days are 1, 2, 3, 5, 7, 10 or 14"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_control_formats_as_on_lichess() {
        let show = |limit, increment| TimeControl::clock(limit, increment).show().unwrap();
        assert_eq!(show(15, 0), "¼+0");
        assert_eq!(show(30, 1), "½+1");
        assert_eq!(show(45, 0), "¾+0");
        assert_eq!(show(90, 2), "1.5+2");
        assert_eq!(show(600, 0), "10+0");
        assert_eq!(show(0, 1), "0+1");
    }
}
