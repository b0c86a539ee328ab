//! Clock changes from outside: admin start, added time, compensation for restarts.

use std::time::Duration;

use crate::site::SimTime;
use knightwatch_chess::Color;

use super::clock::{Centis, Timing};
use super::{ActionOutcome, GameError, Referee};

/// Players with this much time left are given none.
const GIVE_TIME_CEILING: Duration = Duration::from_secs(2 * 3_600);

impl Referee {
    /// Starts the clock of the side to move, also before the second ply. Sends no state.
    pub(crate) fn start_clock(&mut self, now: SimTime) {
        if let (true, Timing::Clock(clock)) = (self.is_running(), &mut self.timing)
            && !clock.is_running()
        {
            clock.start(now);
        }
    }

    /// Gives the opponent time; in a correspondence game the full time for their move.
    ///
    /// # Errors
    /// Games that are over or unlimited.
    pub(crate) fn give_time(&mut self, color: Color, time: Centis, now: SimTime) -> ActionOutcome {
        if !self.is_running() {
            return ActionOutcome::rejected(GameError::CannotGiveTime);
        }
        let turn = self.turn();
        match &mut self.timing {
            Timing::Unlimited => return ActionOutcome::rejected(GameError::CannotGiveTime),
            Timing::Clock(clock)
                if clock.remaining(!color, now) >= Centis::from_duration(GIVE_TIME_CEILING) =>
            {
                return ActionOutcome::accepted(Vec::new());
            }
            Timing::Clock(clock) => clock.add_time(!color, time),
            Timing::Days(days) if turn != color => days.set_turn(turn, now),
            Timing::Days(_) => return ActionOutcome::accepted(Vec::new()),
        }
        ActionOutcome::accepted(vec![self.snapshot(now)])
    }

    /// Notes a restart of the site: players who could not move during the downtime do not lose on time.
    pub(crate) fn on_site_restart(&mut self, at: SimTime) {
        self.restarted_at = Some(at);
    }

    /// Adds time to a running real-time clock.
    pub(crate) fn add_time(&mut self, color: Color, time: Centis) {
        if let (true, Timing::Clock(clock)) = (self.is_running(), &mut self.timing) {
            clock.add_time(color, time);
        }
    }
}
