//! Signals that stop a program: SIGINT, SIGTERM, and SIGHUP as [`OnHangup`] says.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Time after a request to stop in which another one is the same request: `timeout` sends its signal to the process and
/// to the group of the process.
const SAME_REQUEST: Duration = Duration::from_millis(100);

/// Meaning of SIGHUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnHangup {
    /// It stops the program, unless it was ignored at the start, as under nohup.
    Stop,
    /// It stops the program when its terminal was closed, and otherwise asks for a reload.
    Reload,
    /// It stops the program when its terminal was closed, and otherwise has no effect.
    Ignore,
}

/// The meaning of a received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalEvent {
    /// The program is to stop; the second time, at once.
    Stop,
    /// The program is to read its settings again.
    Reload,
}

/// Handlers of SIGINT, SIGTERM and SIGHUP. They stay installed after this value is dropped.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if it is ignored.
    hangup: Option<Signal>,
    on_hangup: OnHangup,
    /// The process was started in a terminal, which sends SIGHUP when it is closed.
    has_terminal: bool,
    requests: StopRequests,
}

impl Signals {
    /// Installs the handlers.
    ///
    /// # Errors
    /// If the system refuses.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O.
    pub fn new(on_hangup: OnHangup) -> io::Result<Self> {
        let is_hangup_ignored = on_hangup == OnHangup::Stop && is_hangup_ignored();
        let hangup = (!is_hangup_ignored).then(|| signal(SignalKind::hangup()));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup.transpose()?,
            on_hangup,
            has_terminal: io::stdin().is_terminal(),
            requests: StopRequests::default(),
        })
    }

    /// Waits for the next signal with a meaning. Repeated requests to stop within 0.1 s are one. Cancel safe.
    pub async fn next(&mut self) -> SignalEvent {
        loop {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let is_hangup = tokio::select! {
                _ = self.interrupt.recv() => false,
                _ = self.terminate.recv() => false,
                _ = hangup => true,
            };
            let is_closed = || self.has_terminal && !io::stdin().is_terminal();
            let event = match self.on_hangup {
                OnHangup::Reload if is_hangup && !is_closed() => SignalEvent::Reload,
                OnHangup::Ignore if is_hangup && !is_closed() => continue,
                _ => SignalEvent::Stop,
            };
            if event == SignalEvent::Reload || self.requests.receive(Instant::now()) {
                return event;
            }
        }
    }
}

/// Tells requests to stop from signals that repeat the last one.
#[derive(Debug, Default)]
struct StopRequests {
    last: Option<Instant>,
}

impl StopRequests {
    /// Takes a signal received at this time. Returns whether it is a new request.
    fn receive(&mut self, now: Instant) -> bool {
        let is_new = self.last.is_none_or(|last| now - last >= SAME_REQUEST);
        if is_new {
            self.last = Some(now);
        }
        is_new
    }
}

/// Returns whether SIGHUP is ignored by this process, as under nohup; `false` if the system does not say.
pub fn is_hangup_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let signals = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, SIGHUP.
    signals.is_some_and(|mask| mask & 1 > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_requests_within_a_tenth_of_a_second_are_one() {
        let start = Instant::now();
        let mut requests = StopRequests::default();
        let found =
            [0, 1, 99, 100, 150, 200].map(|ms| requests.receive(start + Duration::from_millis(ms)));
        assert_eq!(found, [true, false, false, true, false, true]);
    }
}
