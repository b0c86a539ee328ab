//! Hands on the clock from outside: somebody starts it, or gives the opponent time.

use std::time::Duration;

use crate::chess::Color;
use crate::sim::site::time::SimTime;

use super::clock::{Centis, Timing};
use super::{ActionOutcome, GameError, Referee};

/// Who has so much left is given nothing.
const GIVE_TIME_CEILING: Duration = Duration::from_secs(2 * 3_600);

impl Referee {
    /// The clock of the side to move runs from now on, also before the second ply. Nobody is shown anything.
    pub fn start_clock(&mut self, now: SimTime) {
        if let (true, Timing::Clock(clock)) = (self.is_running(), &mut self.timing)
            && !clock.is_running()
        {
            clock.start(now);
        }
    }

    /// A player gives his opponent time; in a correspondence game all the time for his move again.
    pub fn give_time(&mut self, color: Color, gift: Centis, now: SimTime) -> ActionOutcome {
        if !self.is_running() {
            return ActionOutcome::rejected(GameError::CannotGiveTime);
        }
        let turn = self.turn();
        match &mut self.timing {
            Timing::Unlimited => return ActionOutcome::rejected(GameError::CannotGiveTime),
            Timing::Clock(clock)
                if clock.remaining(!color, now) >= Centis::of(GIVE_TIME_CEILING) =>
            {
                return ActionOutcome::accepted(Vec::new());
            }
            Timing::Clock(clock) => clock.add_time(!color, gift),
            Timing::Days(days) if turn != color => days.set_turn(turn, now),
            Timing::Days(_) => return ActionOutcome::accepted(Vec::new()),
        }
        ActionOutcome::accepted(vec![self.view(now)])
    }

    /// The site was down and is back: who could not move because of that does not lose.
    pub fn on_site_restart(&mut self, at: SimTime) {
        self.restarted_at = Some(at);
    }

    /// A side gets time, in games with a clock.
    pub fn add_time(&mut self, color: Color, gift: Centis) {
        if let (true, Timing::Clock(clock)) = (self.is_running(), &mut self.timing) {
            clock.add_time(color, gift);
        }
    }
}
