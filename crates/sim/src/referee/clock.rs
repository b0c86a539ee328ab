//! Game clocks, as pure values.
//!
//! Real-time clocks count hundredths of a second, as Lichess does. They do not run during the first two plies, and there
//! is no lag compensation: bots get none on Lichess.

use std::time::Duration;

use knightwatch_chess::Color;

use crate::site::SimTime;
use crate::time_control::clock_start;

/// Hundredths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Centis(pub i64);

impl Centis {
    /// Rounds to the nearest hundredth.
    pub(crate) fn from_duration(duration: Duration) -> Self {
        Self(i64::try_from((duration.as_millis() + 5) / 10).unwrap_or(i64::MAX / 100))
    }

    pub(crate) fn from_seconds(seconds: u32) -> Self {
        Self(i64::from(seconds) * 100)
    }

    pub(crate) fn millis(self) -> i64 {
        self.0 * 10
    }
}

/// Remaining time that Lichess sends in unlimited games, in milliseconds.
pub(crate) const UNLIMITED_MILLIS: i64 = 2_147_483_647;

/// Clock of a game, by kind of time control.
#[derive(Clone, Debug)]
pub(super) enum Timing {
    Clock(Clock),
    Days(CorrespondenceClock),
    Unlimited,
}

impl Timing {
    /// Remaining milliseconds of this side.
    pub(super) fn remaining_millis(&self, color: Color, now: SimTime) -> i64 {
        match self {
            Self::Clock(clock) => clock.remaining(color, now).millis(),
            Self::Days(days) => days.remaining_millis(color, now),
            Self::Unlimited => UNLIMITED_MILLIS,
        }
    }

    /// The configured increment in milliseconds.
    pub(super) fn increment_millis(&self) -> i64 {
        match self {
            Self::Clock(clock) => clock.increment.millis(),
            Self::Days(_) | Self::Unlimited => 0,
        }
    }

    pub(super) fn is_flagged(&self, now: SimTime) -> bool {
        match self {
            Self::Clock(clock) => clock.is_flagged(now),
            Self::Days(days) => days.remaining_millis(days.turn, now) == 0,
            Self::Unlimited => false,
        }
    }

    /// Stops the clock at the end of the game.
    pub(super) fn stop(&mut self, now: SimTime) {
        match self {
            Self::Clock(clock) => clock.stop(now),
            Self::Days(days) => days.stopped = days.stopped.or(Some(now)),
            Self::Unlimited => {}
        }
    }
}

/// A real-time clock.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    initial: Centis,
    remaining: [Centis; 2],
    increment: Centis,
    turn: Color,
    running_since: Option<SimTime>,
    berserk: [bool; 2],
}

impl Clock {
    /// A stopped clock; `limit` and `increment` in seconds.
    pub(super) fn new(limit: u32, increment: u32, turn: Color) -> Self {
        let start = clock_start(limit, increment);
        Self {
            initial: Centis::from_seconds(start),
            remaining: [Centis::from_seconds(start); 2],
            increment: Centis::from_seconds(increment),
            turn,
            running_since: None,
            berserk: [false; 2],
        }
    }

    pub(super) fn remaining(&self, color: Color, now: SimTime) -> Centis {
        let remaining = self.remaining[color.index()];
        match self.running_since {
            Some(since) if color == self.turn => {
                Centis((remaining.0 - Centis::from_duration(now.since(since)).0).max(0))
            }
            _ => remaining,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.running_since.is_some()
    }

    pub(super) fn is_flagged(&self, now: SimTime) -> bool {
        self.running_since.is_some() && self.remaining(self.turn, now) == Centis(0)
    }

    /// Ends the turn of the side to move. The move that ends the game earns no increment and stops the clock.
    pub(super) fn press(&mut self, now: SimTime, game_continues: bool) {
        if self.running_since.is_some() {
            let remaining = &mut self.remaining[self.turn.index()];
            remaining.0 -= self
                .running_since
                .map_or(0, |since| Centis::from_duration(now.since(since)).0);
            remaining.0 = remaining.0.max(0);
            if game_continues && !self.berserk[self.turn.index()] {
                remaining.0 += self.increment.0;
            }
            self.running_since = game_continues.then_some(now);
        }
        self.turn = !self.turn;
    }

    /// Halves the time and drops the increment of this side; `false` if it already did. With an increment above 1/40 of
    /// the initial time only the increment is dropped.
    pub(super) fn berserk(&mut self, color: Color, now: SimTime) -> bool {
        let configured = self.initial;
        if std::mem::replace(&mut self.berserk[color.index()], true) {
            return false;
        }
        if configured.0 >= 40 * self.increment.0 {
            let remaining = self.remaining(color, now);
            self.remaining[color.index()] = Centis((remaining.0 - configured.0 / 2).max(0));
        }
        true
    }

    pub(super) fn start(&mut self, now: SimTime) {
        self.running_since = Some(now);
    }

    pub(super) fn add_time(&mut self, color: Color, time: Centis) {
        self.remaining[color.index()].0 += time.0;
    }

    pub(super) fn stop(&mut self, now: SimTime) {
        self.remaining[self.turn.index()] = self.remaining(self.turn, now);
        self.running_since = None;
    }

    /// Takes back the last move, whose player keeps the time that is left and is to move from now on. The other player
    /// has the time after their last move again, if there is one.
    pub(super) fn undo_move(&mut self, after_last: Option<Centis>, now: SimTime) {
        let remaining = &mut self.remaining[self.turn.index()];
        *remaining = after_last.unwrap_or(*remaining);
        self.turn = !self.turn;
        self.running_since = Some(now);
    }
}

/// A clock with a number of days per move. The side that waits always has its full allowance.
#[derive(Clone, Debug)]
pub(super) struct CorrespondenceClock {
    allowance: Duration,
    turn: Color,
    since: SimTime,
    stopped: Option<SimTime>,
}

impl CorrespondenceClock {
    pub(super) fn new(days: u32, turn: Color, now: SimTime) -> Self {
        Self {
            allowance: Duration::from_secs(u64::from(days) * 86_400),
            turn,
            since: now,
            stopped: None,
        }
    }

    pub(super) fn remaining_millis(&self, color: Color, now: SimTime) -> i64 {
        let spent = if color == self.turn {
            self.stopped.unwrap_or(now).since(self.since)
        } else {
            Duration::ZERO
        };
        i64::try_from(self.allowance.saturating_sub(spent).as_millis()).unwrap_or(i64::MAX)
    }

    /// Starts the turn of this side now.
    pub(super) fn set_turn(&mut self, turn: Color, now: SimTime) {
        self.turn = turn;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> SimTime {
        SimTime(1_000_000 + millis)
    }

    /// A clock after the two free plies, with White to move since `at(0)`.
    fn running(limit: u32, increment: u32) -> Clock {
        let mut clock = Clock::new(limit, increment, Color::White);
        clock.press(at(-2000), true);
        clock.press(at(0), true);
        clock.start(at(0));
        clock
    }

    #[test]
    fn clock_without_limit_starts_with_increment() {
        for (limit, increment, millis) in [
            (180, 2, 180_000),
            (15, 0, 15_000),
            (0, 1, 3_000),
            (0, 3, 3_000),
            (0, 20, 20_000),
        ] {
            let clock = Clock::new(limit, increment, Color::White);
            assert_eq!(
                clock.remaining(Color::Black, at(0)).millis(),
                millis,
                "{limit}+{increment}"
            );
        }
    }

    #[test]
    fn clock_first_two_plies_are_free() {
        let mut clock = Clock::new(60, 5, Color::White);
        assert!(!clock.is_flagged(at(3_600_000)));
        clock.press(at(50_000), true);
        clock.press(at(100_000), true);
        for color in [Color::White, Color::Black] {
            assert_eq!(clock.remaining(color, at(200_000)).millis(), 60_000);
        }
    }

    #[test]
    fn clock_press_deducts_time_and_adds_increment() {
        // (limit, increment, milliseconds thought, game continues, remaining milliseconds)
        for (limit, increment, thought, continues, left) in [
            (180, 2, 2_690, true, 179_310),
            (180, 0, 0, true, 180_000),
            (180, 2, 2_694, true, 179_310),
            (180, 2, 2_695, true, 179_300),
            (180, 2, 2_690, false, 177_310),
            (1, 0, 999, true, 0),
        ] {
            let mut clock = running(limit, increment);
            clock.press(at(thought), continues);
            assert_eq!(
                clock.remaining(Color::White, at(thought + 5_000)).millis(),
                left
            );
            let black = if continues { 5_000 } else { 0 };
            assert_eq!(
                clock.remaining(Color::Black, at(thought + 5_000)).millis(),
                i64::from(limit) * 1_000 - black.min(i64::from(limit) * 1_000)
            );
        }
    }

    #[test]
    fn clock_flags_at_zero() {
        let clock = running(10, 0);
        assert!(!clock.is_flagged(at(9_990)));
        assert!(clock.is_flagged(at(10_000)));
        assert_eq!(clock.remaining(Color::White, at(60_000)).millis(), 0);
    }

    #[test]
    fn clock_stop_keeps_remaining_time() {
        let mut timing = Timing::Clock(running(10, 0));
        timing.stop(at(4_000));
        assert_eq!(timing.remaining_millis(Color::White, at(99_000)), 6_000);
        assert!(!timing.is_flagged(at(99_000)));
    }

    #[test]
    fn correspondence_clock_runs_for_side_to_move() {
        let mut days = CorrespondenceClock::new(3, Color::White, at(0));
        let day = 86_400_000;
        let now = at(day);
        assert_eq!(days.remaining_millis(Color::White, now), 2 * day);
        assert_eq!(days.remaining_millis(Color::Black, now), 3 * day);
        days.set_turn(Color::Black, now);
        assert_eq!(days.remaining_millis(Color::White, at(2 * day)), 3 * day);
        assert_eq!(days.remaining_millis(Color::Black, at(2 * day)), 2 * day);
        assert!(Timing::Days(days).is_flagged(at(5 * day)));
    }
}
