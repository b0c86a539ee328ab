//! Terminal input without echo.

use std::io;
use std::process::exit;
use std::sync::{Mutex, MutexGuard, OnceLock};

use futures::future::select_all;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::sync;

/// The terminal settings to restore, while echo is disabled.
static SAVED_TERMIOS: Mutex<Option<Termios>> = Mutex::new(None);

/// Disables the echo of stdin until dropped, or until a signal ends the process.
pub(super) struct HiddenInput(());

impl HiddenInput {
    /// Disables the echo.
    ///
    /// # Errors
    /// When stdin is not a terminal, or signal handlers cannot be installed.
    pub(super) fn new() -> io::Result<Self> {
        static WATCHED: OnceLock<()> = OnceLock::new();
        if WATCHED.get().is_none() {
            watch_signals()?;
            let _ = WATCHED.set(());
        }
        let mut saved = terminal();
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ECHONL);
        // Disable Ctrl-Z, which would leave the shell without echo.
        hidden.special_codes[SpecialCodeIndex::VSUSP] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
        *saved = Some(before);
        Ok(Self(()))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        show(&mut terminal());
    }
}

fn terminal() -> MutexGuard<'static, Option<Termios>> {
    sync::lock(&SAVED_TERMIOS)
}

/// Restores the terminal, ignoring errors: the terminal may be gone.
fn show(saved: &mut Option<Termios>) {
    if let Some(before) = saved.take() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// Installs handlers that restore the terminal before a signal ends the process.
fn watch_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let inside = runtime.enter();
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ];
    let mut signals = kinds
        .into_iter()
        .map(signal)
        .collect::<io::Result<Vec<_>>>()?;
    drop(inside);
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let received = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
            let (_, number, _) = runtime.block_on(select_all(received));
            // Held until exit, so that no later question disables the echo again.
            let mut saved = terminal();
            show(&mut saved);
            // The exit status that shells report for a signal.
            exit(128 + kinds[number].as_raw_value());
        })?;
    Ok(())
}
