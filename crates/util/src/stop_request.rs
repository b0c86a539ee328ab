//! Termination signals that ask for one stop.

use std::time::{Duration, Instant};

/// Time after a termination signal in which another one is the same request: `timeout` sends its signal to the process and
/// to the group of the process.
const SAME_REQUEST: Duration = Duration::from_millis(100);

/// Tells requests to stop from signals that repeat the last one.
#[derive(Debug, Default)]
pub struct StopRequests {
    last: Option<Instant>,
}

impl StopRequests {
    /// Takes a signal received now. Returns whether it is a new request.
    pub fn receive(&mut self) -> bool {
        let now = Instant::now();
        let is_new = self.last.is_none_or(|last| now - last >= SAME_REQUEST);
        if is_new {
            self.last = Some(now);
        }
        is_new
    }
}
