//! Termination signals that ask for one stop.

use std::time::{Duration, Instant};

/// Time after a termination signal in which another one is the same request: `timeout` sends its signal to the process and
/// to the group of the process.
const SAME_REQUEST: Duration = Duration::from_millis(100);

/// Counts termination signals as requests to stop.
#[derive(Debug, Default)]
pub struct StopRequests {
    last: Option<Instant>,
}

impl StopRequests {
    /// Whether the signal received now is a request of its own, not a part of the last one.
    pub fn is_new(&mut self) -> bool {
        let now = Instant::now();
        let is_new = self.last.is_none_or(|last| now - last >= SAME_REQUEST);
        if is_new {
            self.last = Some(now);
        }
        is_new
    }
}
