//! Ctrl-C, SIGTERM and the end of a terminal: the first ends a run when what is on is finished, the second at once.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::select_all;
use tokio::signal::unix::{SignalKind, signal};

/// Set when the process is told to end. Told so again, it ends.
pub(super) fn stop_on_signal() -> Arc<AtomicBool> {
    on_signals(|| std::process::exit(1))
}

/// The same for who has something to save: the second flag is set when the process is told again.
pub(super) fn stop_and_save_on_signal() -> [Arc<AtomicBool>; 2] {
    let at_once = Arc::new(AtomicBool::new(false));
    let flag = at_once.clone();
    [
        on_signals(move || flag.store(true, Ordering::Relaxed)),
        at_once,
    ]
}

/// From when this returns on, signals set the flag; `again` is called for all but the first.
fn on_signals(mut again: impl FnMut() + Send + 'static) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
    else {
        return stop;
    };
    let inside = runtime.enter();
    let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
    // Under nohup the end of the terminal is to mean nothing.
    if !is_hangup_ignored() {
        kinds.push(SignalKind::hangup());
    }
    let signals: Result<Vec<_>, _> = kinds.into_iter().map(signal).collect();
    let Ok(mut signals) = signals else {
        return stop;
    };
    drop(inside);
    let flag = stop.clone();
    let wait = async move {
        loop {
            select_all(signals.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
            if flag.swap(true, Ordering::Relaxed) {
                again();
                continue;
            }
            let told = "finishing the games that are on; once more to end at once";
            // The terminal may be what is gone.
            let _ = writeln!(std::io::stderr(), "{told}");
        }
    };
    std::thread::spawn(move || runtime.block_on(wait));
    stop
}

/// Whether this process was started so that SIGHUP is ignored, as by nohup; where the system does not tell, it is not.
pub fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let signals = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, SIGHUP.
    signals.is_some_and(|mask| mask & 1 > 0)
}
