//! Ctrl-C and SIGTERM: the first ends a run when what is on is finished, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when the process is told to end.
pub(super) fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let wait = async move {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut interrupt), Ok(mut terminate)) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) else {
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(1);
            }
            eprintln!("finishing the games that are on; once more to end at once");
        }
    };
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
    {
        std::thread::spawn(move || runtime.block_on(wait));
    }
    stop
}
