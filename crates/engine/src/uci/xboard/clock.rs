//! Time controls and the engine's clock in XBoard's protocol.

use std::time::Duration;

use super::{BAD_ARGUMENT, CommandError};
use crate::{Clock, Limits};

/// Time control until the first `level` or `st`: 40 moves in five minutes, as in XBoard.
const DEFAULT_MOVES: usize = 40;
const DEFAULT_BASE: Duration = Duration::from_secs(300);

/// Longest time that is read: a year.
const MAX_SECONDS: f64 = 366.0 * 86_400.0;

/// Time per game or per move.
#[derive(Clone, Copy)]
enum Control {
    Level {
        /// Moves of a period, or 0 for all moves of the game.
        moves: usize,
        base: Duration,
        increment: Duration,
    },
    PerMove(Duration),
}

/// The time control, the depth limit, and the time left on the engine's clock.
pub(super) struct Clocks {
    control: Control,
    depth: Option<u32>,
    remaining: Duration,
}

impl Default for Clocks {
    fn default() -> Clocks {
        Clocks {
            control: Control::Level {
                moves: DEFAULT_MOVES,
                base: DEFAULT_BASE,
                increment: Duration::ZERO,
            },
            depth: None,
            remaining: DEFAULT_BASE,
        }
    }
}

impl Clocks {
    /// Resets the clock and removes the depth limit.
    pub(super) fn new_game(&mut self) {
        self.depth = None;
        if let Control::Level { base, .. } = self.control {
            self.remaining = base;
        }
    }

    /// Executes `level MOVES BASE INCREMENT`: moves, minutes or minutes and seconds as in `0:30`, seconds.
    pub(super) fn set_level(
        &mut self,
        moves: &str,
        base: &str,
        increment: &str,
    ) -> Result<(), CommandError> {
        let (minutes, seconds_past) = base.split_once(':').unwrap_or((base, "0"));
        let base = seconds(minutes, 60.0)? + seconds(seconds_past, 1.0)?;
        self.control = Control::Level {
            moves: moves.parse().map_err(|_| BAD_ARGUMENT)?,
            base,
            increment: seconds(increment, 1.0)?,
        };
        self.remaining = base;
        Ok(())
    }

    /// Executes `st SECONDS`.
    pub(super) fn set_seconds_per_move(&mut self, text: &str) -> Result<(), CommandError> {
        self.control = Control::PerMove(seconds(text, 1.0)?);
        Ok(())
    }

    /// Executes `sd DEPTH`.
    pub(super) fn set_depth(&mut self, depth: &str) -> Result<(), CommandError> {
        let depth: u32 = depth.parse().map_err(|_| BAD_ARGUMENT)?;
        self.depth = Some(depth).filter(|&depth| depth > 0);
        Ok(())
    }

    /// Executes `time CENTISECONDS`; a clock that has run out may be negative.
    pub(super) fn set_remaining(&mut self, centiseconds: &str) -> Result<(), CommandError> {
        let number: i64 = centiseconds.parse().map_err(|_| BAD_ARGUMENT)?;
        let max = Duration::from_secs_f64(MAX_SECONDS);
        let ms = number.max(0).unsigned_abs().saturating_mul(10);
        self.remaining = Duration::from_millis(ms).min(max);
        Ok(())
    }

    /// Limits of the engine's next move, after this many plies.
    pub(super) fn limits(&self, plies: usize, overhead: Duration, ponders: bool) -> Limits {
        let mut limits = Limits {
            depth: self.depth,
            ..Limits::default()
        };
        match self.control {
            Control::PerMove(time) => {
                limits.movetime = Some(time.saturating_sub(overhead).max(time / 2));
            }
            Control::Level {
                moves, increment, ..
            } => {
                let played = (plies / 2).checked_rem(moves);
                let to_go = played.map(|played| moves - played);
                limits.clock = Some(Clock {
                    remaining: self.remaining,
                    increment,
                    moves_to_go: to_go.map(|moves| u32::try_from(moves).unwrap_or(u32::MAX)),
                    overhead,
                    lag: overhead,
                    ponders,
                });
            }
        }
        limits
    }

    /// Counts the time of the engine's move, the last of this many plies, for GUIs that do not send `time`.
    pub(super) fn moved(&mut self, plies: usize, elapsed: Duration) {
        if let Control::Level {
            moves,
            base,
            increment,
        } = self.control
        {
            self.remaining = self.remaining.saturating_sub(elapsed) + increment;
            if plies.div_ceil(2).checked_rem(moves) == Some(0) {
                self.remaining += base;
            }
        }
    }
}

/// Parses a time in this unit of seconds.
fn seconds(text: &str, unit: f64) -> Result<Duration, CommandError> {
    let number: f64 = text.parse().map_err(|_| BAD_ARGUMENT)?;
    let seconds = number * unit;
    if (0.0..=MAX_SECONDS).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(BAD_ARGUMENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_gives_moves_to_go_and_increment() {
        let mut clocks = Clocks::default();
        clocks.set_level("40", "0:30", "0.5").expect("a level");
        let clock = |clocks: &Clocks, plies| clocks.limits(plies, Duration::ZERO, false).clock;
        let first = clock(&clocks, 1).expect("a clock");
        assert_eq!(first.moves_to_go, Some(40));
        assert_eq!(first.remaining, Duration::from_secs(30));
        assert_eq!(first.increment, Duration::from_millis(500));
        assert_eq!(clock(&clocks, 78).and_then(|c| c.moves_to_go), Some(1));
        // The last move of the period brings the next one.
        clocks.set_remaining("100").expect("a time");
        clocks.moved(79, Duration::from_secs(1));
        let next = clock(&clocks, 80).expect("a clock");
        assert_eq!(next.moves_to_go, Some(40));
        assert_eq!(next.remaining, Duration::from_millis(30_500));
        clocks.set_level("0", "5", "0").expect("a level");
        assert_eq!(clock(&clocks, 80).and_then(|c| c.moves_to_go), None);
    }

    #[test]
    fn seconds_per_move_and_depth_are_limits() {
        let mut clocks = Clocks::default();
        clocks.set_seconds_per_move("1.5").expect("a time");
        clocks.set_depth("7").expect("a depth");
        let limits = clocks.limits(0, Duration::from_millis(10), false);
        assert_eq!(limits.movetime, Some(Duration::from_millis(1490)));
        assert_eq!((limits.depth, limits.clock), (Some(7), None));
        clocks.new_game();
        assert_eq!(clocks.limits(0, Duration::ZERO, false).depth, None);
    }

    #[test]
    fn bad_times_are_refused() {
        let mut clocks = Clocks::default();
        for [moves, base, increment] in [
            ["x", "5", "0"],
            ["-1", "5", "0"],
            ["0", "-5", "0"],
            ["0", "nan", "0"],
            ["0", "5:x", "0"],
            ["0", "5", "1e300"],
        ] {
            assert!(clocks.set_level(moves, base, increment).is_err(), "{base}");
        }
        assert!(clocks.set_remaining("soon").is_err());
        assert!(clocks.set_remaining("9223372036854775807").is_ok());
        assert!(clocks.set_remaining("-3").is_ok());
        let clock = clocks
            .limits(0, Duration::ZERO, false)
            .clock
            .expect("a clock");
        assert_eq!(clock.remaining, Duration::ZERO);
    }
}
