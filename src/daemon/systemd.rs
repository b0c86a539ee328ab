//! Notifications of systemd: status and watchdog.

use std::sync::atomic::{AtomicBool, Ordering};

use sd_notify::NotifyState;
use tokio::time::interval;
use tracing::warn;

use super::accounts::Accounts;

/// Updates the status line of `systemctl status`.
pub(super) fn notify_status(accounts: &Accounts, shown: &mut String) {
    let line = accounts.status_line();
    if line != *shown {
        notify(&[NotifyState::Status(&line)]);
        *shown = line;
    }
}

/// Notifies systemd; does nothing without it. A failure is logged once.
pub(super) fn notify(state: &[NotifyState]) {
    static BROKEN: AtomicBool = AtomicBool::new(false);
    let outcome = sd_notify::notify(state);
    let before = BROKEN.swap(outcome.is_err(), Ordering::Relaxed);
    if let (Err(error), false) = (outcome, before) {
        warn!("cannot notify systemd, which may kill this process: {error}; see NOTIFY_SOCKET");
    }
}

/// The systemd watchdog: notified only while the loops of all accounts make progress.
pub(super) struct Watchdog {
    tick: Option<tokio::time::Interval>,
    last: Vec<u64>,
}

impl Watchdog {
    pub(super) fn new() -> Self {
        let tick = sd_notify::watchdog_enabled().map(|timeout| interval(timeout / 3));
        let last = Vec::new();
        Self { tick, last }
    }

    pub(super) async fn due(&mut self) {
        match &mut self.tick {
            Some(tick) => {
                tick.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    pub(super) fn feed(&mut self, beats: Vec<u64>) {
        // An account that stopped is missing, which is a change too.
        let same = |(now, before): (&u64, &u64)| now == before;
        let silent = beats.len() == self.last.len() && beats.iter().zip(&self.last).any(same);
        if !silent {
            notify(&[NotifyState::Watchdog]);
        }
        self.last = beats;
    }
}
