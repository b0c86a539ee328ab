//! Outages of the site, and skewed clocks.

use crate::faults::Skew;
use crate::referee::{StateSnapshot, UNLIMITED_MILLIS};
use crate::site::SimTime;

/// State of the site at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    Up,
    Down,
    /// The outage ended at this time, and nobody has noticed it before.
    Back(SimTime),
}

/// Outage and clock skew of the site.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// End of the current outage.
    back_at: Option<SimTime>,
    skew: Option<(Skew, SimTime)>,
}

impl Outage {
    /// Begins an outage.
    pub(crate) fn begin(&mut self, back_at: SimTime) {
        self.back_at = Some(back_at);
    }

    /// End of the current outage.
    pub(crate) fn back_at(&self) -> Option<SimTime> {
        self.back_at
    }

    /// Ends the outage if it is over.
    pub(crate) fn check(&mut self, now: SimTime) -> Availability {
        match self.back_at {
            None => Availability::Up,
            Some(back_at) if now < back_at => Availability::Down,
            Some(back_at) => {
                self.back_at = None;
                Availability::Back(back_at)
            }
        }
    }

    pub(crate) fn set_skew(&mut self, skew: Option<Skew>, now: SimTime) {
        self.skew = skew.map(|skew| (skew, now));
    }

    fn skew(&self, now: SimTime) -> (i64, i64) {
        self.skew
            .map_or((0, 0), |(skew, since)| skew.after(now.since(since)))
    }

    /// Time that the site reports.
    pub(crate) fn date(&self, now: SimTime) -> SimTime {
        SimTime(now.0 + self.skew(now).0)
    }

    /// Applies the skew to the clocks of a game.
    pub(crate) fn skewed_view(&self, view: StateSnapshot, now: SimTime) -> StateSnapshot {
        let (_, clocks) = self.skew(now);
        if clocks == 0 {
            return view;
        }
        let shift = |millis| match millis {
            UNLIMITED_MILLIS => millis,
            millis => (millis + clocks).max(0) / 10 * 10,
        };
        StateSnapshot {
            millis: view.millis.map(shift),
            ..view
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outage_ends_once() {
        let mut outage = Outage::default();
        assert_eq!(outage.check(SimTime(0)), Availability::Up);
        outage.begin(SimTime(10));
        assert_eq!(outage.check(SimTime(9)), Availability::Down);
        assert_eq!(outage.check(SimTime(12)), Availability::Back(SimTime(10)));
        assert_eq!(outage.check(SimTime(12)), Availability::Up);
    }
}
