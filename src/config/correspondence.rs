//! `[correspondence]`: settings of games without a clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::seconds;

/// `[correspondence]`: games with days for each move, and unlimited ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Correspondence {
    /// How many games are open at once; the others are suspended.
    pub concurrency: usize,
    /// Longest thinking time in seconds; in unlimited games at most 5, because a person may be waiting.
    pub move_time_s: u64,
    /// Seconds that a game stays open after our move, in case the opponent answers.
    pub linger_s: u64,
}

impl Correspondence {
    /// Longest thinking time for a move.
    pub fn max_move_time(&self) -> Duration {
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
