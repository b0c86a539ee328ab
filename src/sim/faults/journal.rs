//! Who called what, and when.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Circumstances, Endpoint};

/// Visits that are kept, the latest ones.
const KEPT: usize = 10_000;

/// A call that came to the site, whatever became of it. What the proxy in front of the site refuses does not come to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Since the start of the site, in its own time.
    pub at: Duration,
    pub endpoint: Endpoint,
    /// The id of who called, if that is known.
    pub user: Option<String>,
    /// The game or challenge that it was about.
    pub game: Option<String>,
    /// Something was planted in its way; what goes wrong with a stream later on is not.
    pub struck: bool,
}

#[derive(Default)]
pub(super) struct Journal(VecDeque<Visit>);

impl Journal {
    pub fn note(&mut self, call: &Circumstances<'_>, struck: bool) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Visit {
            at: call.time,
            endpoint: call.endpoint,
            user: call.user.map(str::to_owned),
            game: call.game.map(str::to_owned),
            struck,
        });
    }

    pub fn of(&self, endpoint: Endpoint) -> Vec<Visit> {
        let visits = self.0.iter().filter(|visit| visit.endpoint == endpoint);
        visits.cloned().collect()
    }
}
