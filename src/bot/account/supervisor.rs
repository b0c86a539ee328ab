//! Supervisor of an account task. If the task panics it is restarted as after a crash: state files are read again and
//! running games are resumed. The panic of a background request or of an arena, after which something would be missing
//! forever, restarts it too, but only when no game is running.

use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio::task::spawn_blocking;
use tracing::{error, info};

use super::{Account, LEAVE_TIMEOUT, OFFLINE_LEAVE_TIMEOUT};
use crate::backoff::Backoff;
use crate::bot::account::file_names::rename_old;
use crate::bot::account::login::{login, wait_rejecting};
use crate::bot::account::state_files::PersistedState;
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::bot::{AccountContext, BotParts, Error, InjectedPanics};
use crate::clock;
use crate::events::{Event, Severity};
use crate::lichess::model::{GameId, Username};
use crate::plural;

/// Waits before restarts; at most a minute, since games may be running.
const RESTART_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// A task that ran this long does not count as a failure in a row.
const STABLE_AFTER: Duration = Duration::from_secs(600);

/// Games named in the last log line at most.
const MAX_NAMED_GAMES: usize = 10;

/// Response to commands while the task restarts.
const RESTARTING: &str =
    "the account task has panicked and is about to restart; see the log, and try again after that";

/// Panic of a task.
pub(in crate::bot) type TaskPanic = Box<dyn Any + Send>;

/// Runs the account until shutdown is complete.
pub(in crate::bot) async fn run(
    mut parts: BotParts,
    mut shutdown: ShutdownSignal,
) -> Result<(), Error> {
    let mut commands = std::mem::take(&mut parts.commands);
    let Some(ctx) = login(&parts, &mut shutdown, &mut commands).await? else {
        info!("stopped before login; no game was resumed");
        return Ok(());
    };
    if let Some(pid) = other_process(&parts, &ctx.me).await {
        let account = ctx.me;
        return Err(Error::AlreadyRunning { account, pid });
    }
    if let Some(accepted_log) = &parts.accepted_log {
        rename_old(accepted_log);
    }
    parts.name_files(&ctx.me);
    let mut state = PersistedState::open(&parts);
    for (kind, wait) in state.0.quota.pauses(clock::date()) {
        info!("no {kind} requests for another {wait:.0?}, as Lichess demanded before the start");
        parts.client.pause(kind, wait);
    }
    let (mut failures, mut charged) = (0, 0);
    loop {
        let started_at = clock::now();
        // The counters belong to one task.
        let ctx = AccountContext {
            running_games: Arc::default(),
            queued_challenges: Arc::default(),
            ..ctx.clone()
        };
        let mut account = Account::new(ctx, &parts, state, charged, failures > 0);
        let run = AssertUnwindSafe(account.run(&mut shutdown, &mut commands));
        let ended = run.catch_unwind().await;
        // Without a valid token, or with another instance running, no game can be finished.
        let timeout = match &ended {
            Ok(Ok(())) if account.connection.is_offline() => OFFLINE_LEAVE_TIMEOUT,
            Ok(Ok(())) => LEAVE_TIMEOUT,
            _ => Duration::ZERO,
        };
        let unfinished = account.leave(timeout).await;
        account.release_load();
        let failure = match ended {
            Ok(Ok(())) => {
                log_stopped(&unfinished);
                return Ok(());
            }
            Ok(outcome) => return outcome,
            Err(panic) => panic_message(&*panic),
        };
        // The settings that were last loaded, not those of the start.
        parts.settings = account.operator.base_settings();
        parts.injected_panics = InjectedPanics::default();
        charged = account.outgoing.charged();
        drop(account);
        failures = count_failures(failures, started_at);
        let wait = restart_wait(failures);
        report_panic(&parts, &failure, wait);
        let until = (Stage::Leaving, RESTARTING);
        if wait_rejecting(&parts, &mut shutdown, &mut commands, wait, until).await {
            return Ok(());
        }
        state = PersistedState::open(&parts);
    }
}

/// Logs the end of an account that was shut down.
fn log_stopped(unfinished: &[GameId]) {
    if unfinished.is_empty() {
        return info!("stopped: no game is left");
    }
    let games = plural::count(unfinished.len(), "game", "games");
    let named: Vec<&str> = unfinished
        .iter()
        .take(MAX_NAMED_GAMES)
        .map(GameId::as_str)
        .collect();
    let more = match unfinished.len().saturating_sub(MAX_NAMED_GAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    info!(
        "stopped: {games} left on, taken up again at the next start: {}{more}",
        named.join(", ")
    );
}

/// Process id of another process on this machine that plays this account. Opening our event stream would close its
/// stream.
async fn other_process(parts: &BotParts, me: &Username) -> Option<u32> {
    let (find, me) = (parts.find_other_process.clone()?, me.clone());
    spawn_blocking(move || find(&me)).await.ok().flatten()
}

/// Failures in a row, including one of a task that started at `started_at`.
fn count_failures(failures: u32, started_at: Instant) -> u32 {
    if clock::since(started_at) < STABLE_AFTER {
        failures.saturating_add(1)
    } else {
        1
    }
}

fn restart_wait(failures: u32) -> Duration {
    RESTART_BACKOFF.delay(failures.saturating_sub(1))
}

fn report_panic(parts: &BotParts, failure: &str, wait: Duration) {
    error!("account task panicked; restarting in {wait:.0?}, games will be resumed: {failure}");
    parts.metrics.set_disconnected();
    parts.events.send(Event::Note {
        severity: Severity::Error,
        game: None,
        text: "internal error; the account task restarts".to_owned(),
    });
    parts.events.send(Event::Offline {
        reason: "internal error".to_owned(),
        retry_in: Some(wait),
    });
}

impl Account {
    /// Handles the panic of a task whose loss the account does not notice otherwise.
    pub(super) fn on_task_panicked(&mut self, what: &str, panic: TaskPanic) {
        let failure = panic_message(&*panic);
        error!("{what} panicked; the account task restarts once no game is running: {failure}");
        self.task_panic.get_or_insert(panic);
    }

    /// Ends the account task with the panic of another task, if one has panicked and no game would be interrupted.
    pub(super) fn restart_after_task_panic(&mut self) {
        if self.games.is_empty()
            && !self.games.is_resuming()
            && let Some(panic) = self.task_panic.take()
        {
            resume_unwind(panic);
        }
    }
}

/// Message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restart_wait_grows_to_maximum() {
        let seconds = |failures| restart_wait(failures).as_secs();
        assert_eq!([1, 2, 3, 7, u32::MAX].map(seconds), [1, 2, 4, 60, 60]);
    }

    #[test]
    fn panic_message_is_extracted() {
        for (panic, said) in [
            (Box::new("plain") as Box<dyn Any + Send>, "plain"),
            (Box::new("made".to_owned()), "made"),
            (Box::new(7), "no message"),
        ] {
            assert_eq!(panic_message(&*panic), said);
        }
    }
}
