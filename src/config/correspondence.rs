//! `[correspondence]`: settings of games without a clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::seconds;

section! {
    /// `[correspondence]`: games with days for each move, and unlimited ones.
    pub struct Correspondence {
        /// How many games are open at once; the others are suspended.
        pub concurrency: usize = 2,
        /// Longest thinking time in seconds; in unlimited games at most 5, because a person may be waiting.
        pub move_time_s: u64 = 20,
        /// Seconds that a game stays open after our move, in case the opponent answers.
        pub linger_s: u64 = 60,
    }
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
