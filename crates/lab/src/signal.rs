//! Stopping training runs: the first termination signal finishes the running games, the second one exits at once.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use knightwatch_util::signals::{OnHangup, Signals};

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
    let Ok(mut signals) = Signals::new(OnHangup::Stop) else {
        return stop;
    };
    drop(guard);
    let flag = stop.clone();
    let wait = async move {
        loop {
            signals.next().await;
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
