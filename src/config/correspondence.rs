//! What can be set about games without a clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::seconds;

/// `[correspondence]`: games with days for each move, and unlimited ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Correspondence {
    /// How many of them are open at once; the others rest.
    pub concurrency: usize,
    /// The most seconds for a move with days for it; without a limit a person waits, so it is 5 at most.
    pub move_time_s: u64,
    /// How many seconds a game stays open after our move, in case that the opponent answers.
    pub linger_s: u64,
}

impl Correspondence {
    /// The longest that a move may take.
    pub fn longest(&self) -> Duration {
        seconds(self.move_time_s)
    }

    /// How long a game stays open after our move.
    pub fn linger(&self) -> Duration {
        seconds(self.linger_s)
    }
}

impl Default for Correspondence {
    fn default() -> Self {
        Self {
            concurrency: 2,
            move_time_s: 20,
            linger_s: 60,
        }
    }
}
