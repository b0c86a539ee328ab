//! Termination signals of training runs: the first one finishes the running games, the second one exits at once.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::select_all;
use knightwatch_util::stop_request::StopRequests;
use tokio::signal::unix::{SignalKind, signal};

/// A flag set by the first termination signal. The second one exits the process.
pub(super) fn stop_on_signal() -> Arc<AtomicBool> {
    on_signals(|| std::process::exit(1))
}

/// Like [`stop_on_signal`], for runs with data to save: the second flag is set by the second signal.
pub(super) fn stop_and_save_on_signal() -> [Arc<AtomicBool>; 2] {
    let abort = Arc::new(AtomicBool::new(false));
    let flag = abort.clone();
    [
        on_signals(move || flag.store(true, Ordering::Relaxed)),
        abort,
    ]
}

/// Starts watching for signals: the first sets the flag, each further one calls `again`.
fn on_signals(mut again: impl FnMut() + Send + 'static) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
    else {
        return stop;
    };
    let guard = runtime.enter();
    let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
    // Under nohup the hangup is ignored.
    if !is_hangup_ignored() {
        kinds.push(SignalKind::hangup());
    }
    let signals: Result<Vec<_>, _> = kinds.into_iter().map(signal).collect();
    let Ok(mut signals) = signals else {
        return stop;
    };
    drop(guard);
    let flag = stop.clone();
    let mut requests = StopRequests::default();
    let wait = async move {
        loop {
            select_all(signals.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
            if !requests.receive() {
                continue;
            }
            if flag.swap(true, Ordering::Relaxed) {
                again();
                continue;
            }
            let message = "finishing the running games; signal again to exit now";
            // The terminal may be closed.
            let _ = writeln!(std::io::stderr(), "{message}");
        }
    };
    std::thread::spawn(move || runtime.block_on(wait));
    stop
}

/// Whether SIGHUP is ignored by this process, as under nohup; `false` if the system does not say.
pub fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let signals = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, SIGHUP.
    signals.is_some_and(|mask| mask & 1 > 0)
}
