//! Running accounts of the daemon.
//!
//! An account that fails does not stop the others; the daemon ends with the last one.

use std::collections::HashMap;
use std::time::Instant;

use futures::future::select_all;
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinSet};
use tracing::{Instrument, error, error_span, info};

use super::Error;
use crate::alert::Ended;
use crate::bot::{self, BotParts, CommandHandle, ShutdownHandle, Stage};
use crate::config::AlertKind;
use crate::control::Dispatcher;
use crate::events::{Bus, Event, Severity};
use crate::metrics::{LiveState, Metrics};
use crate::{logging, plural};

/// The tasks and handles of all accounts.
pub(super) struct Accounts {
    tasks: JoinSet<Result<(), bot::Error>>,
    /// The index of the account of each task.
    numbers: HashMap<Id, usize>,
    accounts: Vec<Account>,
    /// Receives the events of all accounts.
    events: Bus,
    /// Receives the end of each account.
    ended: mpsc::UnboundedSender<Ended>,
    /// Metrics of all accounts.
    pub metrics: Metrics,
    pub dispatcher: Dispatcher,
}

struct Account {
    /// Its name, if there are several accounts.
    name: Option<String>,
    changes: watch::Receiver<(LiveState, Instant)>,
    shutdown: ShutdownHandle,
    metrics: Metrics,
    ended: bool,
}

impl Accounts {
    /// Prepares the accounts of these parts. [`start`](Self::start) runs them.
    pub(super) fn assemble(
        parts: &mut [BotParts],
        events: Bus,
        ended: mpsc::UnboundedSender<Ended>,
    ) -> (Self, Vec<bot::ShutdownSignal>) {
        let (mut accounts, mut stops, mut handles) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let (shutdown, stop) = bot::shutdown_channel();
            let (handle, calls) = bot::command_channel(shutdown.clone());
            part.commands = calls;
            stops.push(stop);
            handles.push(handle);
            let name = part.settings.name.clone();
            if name.is_some() {
                part.metrics.set_live(LiveState {
                    account: name.clone(),
                    ..LiveState::default()
                });
            }
            accounts.push(Account {
                name,
                changes: part.metrics.subscribe(),
                shutdown,
                metrics: part.metrics.clone(),
                ended: false,
            });
        }
        let (metrics, dispatcher) = combine(&accounts, handles);
        let accounts = Self {
            tasks: JoinSet::new(),
            numbers: HashMap::new(),
            accounts,
            events,
            ended,
            metrics,
            dispatcher,
        };
        (accounts, stops)
    }

    /// Spawns the tasks of the accounts.
    pub(super) fn start(&mut self, parts: Vec<BotParts>, stops: Vec<bot::ShutdownSignal>) {
        for (number, (parts, stop)) in parts.into_iter().zip(stops).enumerate() {
            let name = parts.settings.name.clone();
            let bot = bot::run(parts, stop);
            let task = match name {
                // An error span, so that log lines of all levels carry the name.
                Some(name) => self
                    .tasks
                    .spawn(bot.instrument(error_span!("account", %name))),
                None => self.tasks.spawn(bot),
            };
            self.numbers.insert(task.id(), number);
        }
    }

    /// Waits for a change of status. Returns the outcome of the last account when it has ended.
    pub(super) async fn next(&mut self) -> Option<Result<(), Error>> {
        let accounts = self.accounts.iter_mut();
        let changes = accounts.map(|account| Box::pin(account.changes.changed()));
        let ended = tokio::select! {
            // The metrics are kept, so the senders stay alive.
            _ = select_all(changes) => None,
            ended = self.tasks.join_next_with_id() => Some(ended?),
        };
        let Some(ended) = ended else {
            self.name_log_lines();
            return None;
        };
        let (id, outcome) = match ended {
            Ok((id, outcome)) => (id, outcome.map_err(Error::from)),
            Err(failure) => (failure.id(), Err(failure.into())),
        };
        if let Some(number) = self.numbers.get(&id) {
            let account = &mut self.accounts[*number];
            let error = outcome.as_ref().err();
            // Nothing receives it without alerts.
            let _ = self.ended.send(Ended {
                account: account.name.clone(),
                error: error.map(|error| (alert_kind(error), error.to_string())),
            });
            account.end(&outcome, &self.events);
        }
        self.tasks.is_empty().then_some(outcome)
    }

    /// Names the account in log lines of JSON, if it is the only one. Lichess says which one it is.
    fn name_log_lines(&self) {
        if let [account] = &self.accounts[..]
            && let Some(name) = &account.changes.borrow().0.account
        {
            logging::set_account(name);
        }
    }

    /// Stops taking new games; running games are finished.
    pub(super) fn drain(&self) {
        self.accounts
            .iter()
            .for_each(|account| account.shutdown.drain());
    }

    /// Stops all accounts now; returns the number of running games.
    pub(super) fn exit_now(&self) -> usize {
        let games = self.playing();
        self.accounts
            .iter()
            .for_each(|account| account.shutdown.leave());
        games
    }

    fn playing(&self) -> usize {
        let games = self
            .active()
            .map(|account| account.changes.borrow().0.games.len());
        games.sum()
    }

    /// The accounts that are still running.
    fn active(&self) -> impl Iterator<Item = &Account> {
        self.accounts.iter().filter(|account| !account.ended)
    }

    /// The number of heartbeats of each active account.
    pub(super) fn heartbeats(&self) -> Vec<u64> {
        self.active()
            .map(|account| account.metrics.heartbeats())
            .collect()
    }

    /// Status of all accounts in one line.
    pub(super) fn status_line(&self) -> String {
        let runs = |account: &Account| account.shutdown.stage() == Stage::Running;
        if !self.active().any(runs) {
            return format!(
                "stopping: {} left to finish",
                plural::count(self.playing(), "game", "games")
            );
        }
        let lines: Vec<String> = self.active().map(Account::status_line).collect();
        lines.join("; ")
    }
}

/// The kind of alert about an error that has ended an account.
fn alert_kind(error: &Error) -> AlertKind {
    match error {
        Error::Bot(
            bot::Error::TokenRejected(_)
            | bot::Error::NotABot { .. }
            | bot::Error::WrongAccount { .. },
        ) => AlertKind::TokenRejected,
        _ => AlertKind::Stopped,
    }
}

/// The metrics and the control dispatcher of all accounts.
fn combine(accounts: &[Account], handles: Vec<CommandHandle>) -> (Metrics, Dispatcher) {
    let each = accounts.iter().zip(handles);
    let several = each.clone().filter_map(|(account, handle)| {
        let name = account.name.clone()?;
        Some((name, account.metrics.clone(), handle))
    });
    let several: Vec<_> = several.collect();
    match each.into_iter().next() {
        Some((account, handle)) if several.is_empty() => {
            let metrics = account.metrics.clone();
            (metrics.clone(), (metrics, handle).into())
        }
        _ => {
            let metrics = accounts.iter().map(|account| account.metrics.clone());
            let metrics = Metrics::combined(metrics.collect());
            (metrics.clone(), Dispatcher::with_accounts(metrics, several))
        }
    }
}

impl Account {
    /// Marks the account as stopped; one of several also sends events and a log line.
    fn end(&mut self, outcome: &Result<(), Error>, events: &Bus) {
        self.ended = true;
        let Some(name) = &self.name else { return };
        let why = outcome.as_ref().err().map(ToString::to_string);
        events.send(Event::ForAccount {
            account: name.clone(),
            event: Box::new(Event::Offline {
                reason: why.clone().unwrap_or_else(|| "it has stopped".to_owned()),
                retry_in: None,
            }),
        });
        match &why {
            Some(why) => {
                error!("{name} has stopped: {why}");
                events.send(Event::Note {
                    severity: Severity::Error,
                    game: None,
                    text: format!("{name} has stopped: {why}"),
                });
            }
            None => info!("{name} has stopped"),
        }
        self.metrics.set_ended(why);
    }

    fn status_line(&self) -> String {
        let (live, _) = &*self.changes.borrow();
        let count = live.games.len();
        let games = plural::count(count, "game", "games");
        match (self.shutdown.stage(), &live.account) {
            // The server is known from the login on.
            (Stage::Running, _) if live.server.is_none() => "connecting to Lichess".into(),
            (Stage::Running, Some(me)) if live.paused => format!("{me}: paused, {games} running"),
            (Stage::Running, Some(me)) if live.stream.is_some() => {
                format!("{me}: {games} running")
            }
            (Stage::Running, Some(me)) => format!("{me}: offline, {games} running"),
            _ if count == 0 => "stopping: waiting for a challenge or a tournament".into(),
            _ => format!("stopping: {games} left to finish"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn alert_reports_account_that_panicked() {
        let (ended, mut alerts) = mpsc::unbounded_channel();
        let (mut accounts, _stops) = Accounts::assemble(&mut [], Bus::new(), ended);
        let metrics = Metrics::default();
        accounts.accounts.push(Account {
            name: Some("Anna".to_owned()),
            changes: metrics.subscribe(),
            shutdown: bot::shutdown_channel().0,
            metrics,
            ended: false,
        });
        let task = accounts.tasks.spawn(async { panic!("as the test wants") });
        accounts.numbers.insert(task.id(), 0);
        while accounts.next().await.is_none() {}
        let Ended { account, error } = alerts.try_recv().unwrap();
        assert_eq!(account.as_deref(), Some("Anna"));
        assert_eq!(error.unwrap().0, AlertKind::Stopped);
    }
}
