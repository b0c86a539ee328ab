//! A terminal that does not show what is typed.

use std::io;
use std::process::exit;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use futures::future::select_all;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

/// How the terminal was, while it hides what is typed.
static SHOWN: Mutex<Option<Termios>> = Mutex::new(None);

/// The terminal of stdin hides what is typed until this is dropped, or until a signal ends the process.
pub struct Hidden(());

impl Hidden {
    /// # Errors
    /// When stdin is no terminal, or signals cannot be received.
    pub fn new() -> io::Result<Self> {
        static WATCHED: OnceLock<()> = OnceLock::new();
        if WATCHED.get().is_none() {
            watch_signals()?;
            let _ = WATCHED.set(());
        }
        let mut shown = terminal();
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ECHONL);
        // Ctrl-Z would leave the shell with a terminal that hides: 0 disables it.
        hidden.special_codes[SpecialCodeIndex::VSUSP] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
        *shown = Some(before);
        Ok(Self(()))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        show(&mut terminal());
    }
}

fn terminal() -> MutexGuard<'static, Option<Termios>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nobody can be told if it fails: the terminal is gone then.
fn show(shown: &mut Option<Termios>) {
    if let Some(before) = shown.take() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// From when this returns on, a signal that ends the process restores the terminal first.
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
            // Held to the end, so that no further question hides the terminal again.
            let mut shown = terminal();
            show(&mut shown);
            // As a shell has it of a process that a signal has ended.
            exit(128 + kinds[number].as_raw_value());
        })?;
    Ok(())
}
