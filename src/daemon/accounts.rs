//! The accounts of a daemon while they play: one, or several beside each other. One that has to stop stops alone; with
//! the last one the daemon ends.

use std::collections::HashMap;

use futures::future::select_all;
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tracing::{Instrument, error, error_span, info};

use super::Error;
use crate::bot::{self, BotParts, CommandHandle, HealthHandle, ShutdownHandle, Stage, Status};
use crate::control::Dispatcher;
use crate::events::{Bus, Event, Severity};
use crate::metrics::{LiveState, Metrics};
use crate::plural;

/// See the module's text.
pub(super) struct Accounts {
    tasks: JoinSet<Result<(), bot::Error>>,
    /// Which of them each task is.
    numbers: HashMap<Id, usize>,
    accounts: Vec<Account>,
    /// Where all of them are heard.
    events: Bus,
    /// The numbers of all of them.
    pub metrics: Metrics,
    pub dispatcher: Dispatcher,
}

struct Account {
    /// Where it is one of several.
    name: Option<String>,
    pulse: HealthHandle,
    status: watch::Receiver<Status>,
    stopper: ShutdownHandle,
    metrics: Metrics,
    ended: bool,
}

impl Accounts {
    /// Those that these are the parts of, whose events are heard on this bus too. They are still to be started.
    pub fn assemble(parts: &mut [BotParts], events: Bus) -> (Self, Vec<bot::ShutdownSignal>) {
        let (mut accounts, mut stops, mut helms) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let (stopper, stop) = bot::shutdown_channel();
            let (helm, calls) = bot::command_channel(stopper.clone());
            part.calls = calls;
            stops.push(stop);
            helms.push(helm);
            let name = part.settings.name.clone();
            if name.is_some() {
                part.metrics.set_live(LiveState {
                    account: name.clone(),
                    ..LiveState::default()
                });
            }
            accounts.push(Account {
                name,
                pulse: part.pulse.clone(),
                status: part.pulse.status(),
                stopper,
                metrics: part.metrics.clone(),
                ended: false,
            });
        }
        let (metrics, dispatcher) = together(&accounts, helms);
        let accounts = Self {
            tasks: JoinSet::new(),
            numbers: HashMap::new(),
            accounts,
            events,
            metrics,
                        dispatcher,
        };
        (accounts, stops)
    }

    /// Lets them play.
    pub fn start(&mut self, parts: Vec<BotParts>, stops: Vec<bot::ShutdownSignal>) {
        for (number, (parts, stop)) in parts.into_iter().zip(stops).enumerate() {
            let name = parts.settings.name.clone();
            let bot = bot::run(parts, stop);
            let task = match name {
                // Whatever is logged has it, warnings included.
                Some(name) => self
                    .tasks
                    .spawn(bot.instrument(error_span!("account", %name))),
                None => self.tasks.spawn(bot),
            };
            self.numbers.insert(task.id(), number);
        }
    }

    /// Waits until one of them does otherwise than before. When the last one has ended it says how.
    pub async fn next(&mut self) -> Option<Result<(), Error>> {
        let accounts = self.accounts.iter_mut();
        let changes = accounts.map(|account| Box::pin(account.status.changed()));
        let ended = tokio::select! {
            // The pulses are kept, so that no sender is ever gone.
            _ = select_all(changes) => return None,
            ended = self.tasks.join_next_with_id() => ended?,
        };
        let (id, outcome) = match ended {
            Ok((id, outcome)) => (id, outcome.map_err(Error::from)),
            Err(failure) => (failure.id(), Err(failure.into())),
        };
        if let Some(number) = self.numbers.get(&id) {
            self.accounts[*number].end(&outcome, &self.events);
        }
        self.tasks.is_empty().then_some(outcome)
    }

    /// No new games; those that are on are finished.
    pub fn drain(&self) {
        self.accounts
            .iter()
            .for_each(|account| account.stopper.drain());
    }

    /// They leave now, with so many games on.
    pub fn leave(&self) -> usize {
        let games = self.playing();
        self.accounts
            .iter()
            .for_each(|account| account.stopper.leave());
        games
    }

    fn playing(&self) -> usize {
        let games = self.left().map(|account| account.status.borrow().games);
        games.sum()
    }

    /// Those that have not ended.
    fn left(&self) -> impl Iterator<Item = &Account> {
        self.accounts.iter().filter(|account| !account.ended)
    }

    /// How many times the loop of each that plays has said that it is alive.
    pub fn beats(&self) -> Vec<u64> {
        self.left().map(|account| account.pulse.beats()).collect()
    }

    /// How all of them are doing, in a line.
    pub fn line(&self) -> String {
        let runs = |account: &Account| account.stopper.stage() == Stage::Running;
        if !self.left().any(runs) {
            return format!(
                "stopping: {} left to finish",
                plural::count(self.playing(), "game", "games")
            );
        }
        let lines: Vec<String> = self.left().map(Account::line).collect();
        lines.join("; ")
    }
}

/// The numbers of all accounts, and where they are steered.
fn together(accounts: &[Account], helms: Vec<CommandHandle>) -> (Metrics, Dispatcher) {
    let each = accounts.iter().zip(helms);
    let several = each.clone().filter_map(|(account, helm)| {
        let name = account.name.clone()?;
        Some((name, account.metrics.clone(), helm))
    });
    let several: Vec<_> = several.collect();
    match each.into_iter().next() {
        Some((account, helm)) if several.is_empty() => {
            let metrics = account.metrics.clone();
            (metrics.clone(), (metrics, helm).into())
        }
        _ => {
            let metrics = accounts.iter().map(|account| account.metrics.clone());
            let metrics = Metrics::combined(metrics.collect());
            (metrics.clone(), Dispatcher::with_accounts(metrics, several))
        }
    }
}

impl Account {
    /// It has ended; one of several says so and leaves the others to play.
    fn end(&mut self, outcome: &Result<(), Error>, events: &Bus) {
        self.ended = true;
        let Some(name) = &self.name else { return };
        let why = outcome.as_ref().err().map(ToString::to_string);
        events.send(Event::ForAccount {
            account: name.clone(),
            event: Box::new(Event::Offline {
                reason: why.clone().unwrap_or_else(|| "it has ended".to_owned()),
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
            None => info!("{name} has ended"),
        }
        self.metrics.set_ended(why);
    }

    fn line(&self) -> String {
        let status = self.status.borrow();
        let games = plural::count(status.games, "game", "games");
        let me = status.account.as_ref().map(ToString::to_string);
        match (self.stopper.stage(), me.or_else(|| self.name.clone())) {
            (Stage::Running, _) if status.account.is_none() => "connecting to Lichess".into(),
            (Stage::Running, Some(me)) if status.paused => format!("{me}: paused, {games} on"),
            (Stage::Running, Some(me)) if status.online => format!("{me}: {games} on"),
            (Stage::Running, Some(me)) => format!("{me}: offline, {games} on"),
            _ if status.games == 0 => {
                "stopping: a challenge or a tournament is still to be settled".into()
            }
            _ => format!("stopping: {games} left to finish"),
        }
    }
}
