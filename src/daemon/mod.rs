//! Wiring of the daemon: assembly, signals, systemd, two-stage shutdown.

mod accounts;
mod assemble;
mod other_instance;
mod page;
mod systemd;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::runtime::{self, Runtime};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, error, info, warn};

use crate::alert::Alerts;
use crate::book;
use crate::bot::trace::{self, Traces};
use crate::bot::{self, BotParts, InjectedPanics};
use crate::chess::Variant;
use crate::clock;
use crate::config::{self, PgnFiles, Settings, Sources};
use crate::console;
use crate::control::{self, Request, Response};
use crate::events::Bus;
use crate::external::ExternalEngine;
use crate::lichess::{self, Broker, Endpoint, EndpointError, TokenError};
use crate::metrics::Metrics;
use crate::plural;
use crate::provider::{BoardEngine, Engines, Offer, Provider};
use crate::seconds::CENTURY;
use crate::signals::{OnHangup, SignalEvent, Signals};
use crate::store::{self, Recorder};
use accounts::Accounts;
pub(crate) use assemble::external_settings;
pub use assemble::{assemble, clients};
use assemble::{assemble_all, check_game_options};
use other_instance::refuse_second_instance;
use page::PageTask;
pub(crate) use page::page_keys;
use systemd::{Watchdog, notify, notify_status};

/// Worker threads of the async runtime; the engine has its own threads.
const NETWORK_THREADS: usize = 2;

/// Blocking threads are never stopped.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(CENTURY);

/// Time limit for external engines to name their options before the first game.
const ENGINES_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit for delivering the remaining alerts on shutdown.
const ALERTS_FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for writing the remaining records, and the traces, on shutdown.
const RECORDS_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Reason why the daemon stopped or did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No token is configured.
    #[error(
        "no token: put it into the environment variable LICHESS_TOKEN, or into a file that lichess.token_file names; \
         a systemd service uses its credential `token` automatically (LoadCredential=token:{})",
        config::SERVICE_TOKEN
    )]
    NoToken,
    /// The token cannot be read.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The token of one of several accounts cannot be read.
    #[error("{account}: {error}")]
    AccountToken { account: String, error: TokenError },
    /// `lichess.url` is invalid.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Fault injection is allowed only against a simulator on this machine.
    #[error(
        "--time-scale, --engine-panics, --account-panics and --request-panics are for tests against a simulator on \
         this machine, but lichess.url is {0}"
    )]
    FaultInjection(Endpoint),
    /// The client cannot be created.
    #[error("cannot set up the connection to Lichess: {0}")]
    Client(lichess::Error),
    /// A book cannot be opened.
    #[error(transparent)]
    Book(#[from] book::Error),
    /// An option of an external engine does not exist, or does not take the value.
    #[error(
        "engine {name}: {why}; correct [[engine.external]] or play.options, and see `knightwatch check`"
    )]
    EngineOptions {
        /// Its name in the configuration.
        name: String,
        why: String,
    },
    /// The directory of the records cannot be one.
    #[error(
        "records.directory is {}, but {} is a file: set it to a directory", directory.display(), obstacle.display()
    )]
    RecordsDirectory {
        directory: PathBuf,
        /// The file.
        obstacle: PathBuf,
    },
    /// An account stopped with an error.
    #[error(transparent)]
    Bot(#[from] bot::Error),
    /// A system resource is missing.
    #[error("cannot start")]
    System(#[from] io::Error),
    /// A task panicked.
    #[error("the bot failed")]
    Panic(#[from] tokio::task::JoinError),
}

impl Error {
    /// Exit code of the process: 1, 69 (another instance), 77 (token rejected) or 78 (configuration).
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Bot(bot::Error::AnotherInstance(_) | bot::Error::AlreadyRunning { .. }) => 69,
            Self::Bot(bot::Error::TokenRejected(_) | bot::Error::NotABot { .. }) => 77,
            Self::NoToken
            | Self::Bot(bot::Error::WrongAccount { .. })
            | Self::Token(_)
            | Self::AccountToken { .. }
            | Self::Endpoint(_)
            | Self::FaultInjection(_)
            | Self::Client(lichess::Error::CaFile { .. })
            | Self::Book(_)
            | Self::EngineOptions { .. }
            | Self::RecordsDirectory { .. } => 78,
            Self::Client(_) | Self::System(_) | Self::Panic(_) => 1,
        }
    }
}

/// Fault injection and time scale, for tests against a simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultInjection {
    /// The factor by which the clock runs faster than wall time.
    pub time_scale: Option<clock::TimeScale>,
    /// Every search panics after this many nodes.
    pub engine_panics: Option<u64>,
    /// Panics of the first account.
    pub account_panics: InjectedPanics,
}

impl FaultInjection {
    /// Sets the time scale; call it before any time is measured.
    fn apply(&self, settings: &Settings) -> Result<(), Error> {
        let endpoint = settings.lichess.endpoint()?;
        if *self != Self::default() && !endpoint.is_local() {
            return Err(Error::FaultInjection(endpoint));
        }
        self.time_scale.into_iter().for_each(clock::set_scale);
        Ok(())
    }
}

/// Plays on Lichess until SIGTERM or Ctrl-C. The first signal lets running games finish within the grace period, the second
/// exits at once. Settings are reloaded from `sources` on request. `moves` prints the moves of all games.
pub fn run(
    settings: Settings,
    sources: Sources,
    faults: FaultInjection,
    moves: bool,
) -> Result<(), Error> {
    faults.apply(&settings)?;
    for warning in &settings.warnings {
        warn!("{warning}");
    }
    let settings = Arc::new(settings);
    let events = Bus::new();
    if moves {
        console::print_moves(events.subscribe())?;
    }
    let runtime = runtime()?;
    let outcome = match prepare(&settings, &sources, faults, &events) {
        Ok(parts) => runtime.block_on(supervise(parts, &settings, events)),
        Err(error) => {
            runtime.block_on(report_failed_start(&settings, &error));
            Err(error)
        }
    };
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

/// Opens what the accounts need: tokens, books and engines.
fn prepare(
    settings: &Arc<Settings>,
    sources: &Sources,
    faults: FaultInjection,
    events: &Bus,
) -> Result<Vec<BotParts>, Error> {
    if let Some(directory) = settings.records_directory()
        && let Some(obstacle) = store::obstacle(&directory)
    {
        return Err(Error::RecordsDirectory {
            obstacle: obstacle.to_owned(),
            directory,
        });
    }
    let mut parts = assemble_all(settings, sources, events)?;
    if let Some(first) = parts.first_mut() {
        if let Some(nodes) = faults.engine_panics {
            let after = plural::count(nodes, "node", "nodes");
            warn!("fault injection: every search of the engine panics after {after}");
            first.engine.inject_panic_after(nodes);
        }
        first.injected_panics = faults.account_panics;
    }
    if let Some(first) = parts.first() {
        check_options(settings, &first.externals)?;
    }
    Ok(parts)
}

/// Alerts the operator: systemd does not try such a start again.
async fn report_failed_start(settings: &Settings, error: &Error) {
    let alerts = Alerts::start(&settings.daemon.alert, settings.lichess.address());
    let reason = error.to_string();
    alerts
        .report_failed_start(&reason, ALERTS_FLUSH_TIMEOUT)
        .await;
}

/// Refuses to start with mistakes in the options of external engines, as far as they show within [`ENGINES_TIMEOUT`].
fn check_options(settings: &Settings, externals: &[ExternalEngine]) -> Result<(), Error> {
    let deadline = Instant::now() + ENGINES_TIMEOUT;
    for external in externals {
        let left = deadline.saturating_duration_since(Instant::now());
        if let Some(why) = external.wait_for_start(left) {
            let name = external.name().to_owned();
            return Err(Error::EngineOptions { name, why });
        }
    }
    check_game_options(settings, externals)
}

/// Limit on threads for blocking operations.
const MAX_BLOCKING_THREADS: usize = 64;

/// Builds the runtime. One blocking thread is started at once and kept, so that blocking operations work even if the system
/// refuses further threads.
fn runtime() -> Result<Runtime, Error> {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(NETWORK_THREADS)
        .thread_name("network")
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .enable_all()
        .build()?;
    runtime.block_on(async { spawn_blocking(|| ()).await })?;
    Ok(runtime)
}

/// Runs the bot, forwards signals to it, and reports its status to systemd.
async fn supervise(
    mut parts: Vec<BotParts>,
    settings: &Settings,
    events: Bus,
) -> Result<(), Error> {
    let daemon = &settings.daemon;
    let grace = daemon.grace();
    let mut signals = Signals::new(OnHangup::Reload)?;
    if let Err(error) = refuse_second_instance(&parts, settings).await {
        report_failed_start(settings, &error).await;
        return Err(error);
    }
    let (ended, errors) = mpsc::unbounded_channel();
    let (mut accounts, stops) = Accounts::assemble(&mut parts, events.clone(), ended);
    let alerts = tokio::spawn(
        Alerts::start(&settings.daemon.alert, settings.lichess.address()).run(
            events.subscribe(),
            accounts.metrics.clone(),
            settings.records_directory(),
            errors,
            ALERTS_FLUSH_TIMEOUT,
        ),
    );
    let mut monitoring = monitoring(&parts, daemon, &accounts, &events).await;
    let mut reloads = JoinSet::new();
    // A signal asked for the shutdown, not only the operator for a drain.
    let mut is_stopping = false;
    let (recorder, records) = recorder(settings, &events, &accounts.metrics).unzip();
    let (traces, handle) = traces(settings).unzip();
    // Only the accounts hold handles, so that the recorder ends with the last account.
    if let Some(handle) = handle {
        for parts in &mut parts {
            parts.traces = handle.clone();
        }
    }
    for parts in &mut parts {
        parts.unfinished_games = records.clone().map(left_open);
    }
    let page = PageTask::start(&accounts, settings, &events, records);
    let outputs = Outputs {
        page,
        traces,
        recorder,
        alerts,
    };
    accounts.start(parts, stops);
    let mut watchdog = Watchdog::new();
    let mut deadline = None;
    let mut shown_status = String::new();
    // Ready without waiting for Lichess: an outage must not make the start fail.
    notify(&[
        NotifyState::Ready,
        NotifyState::Status("connecting to Lichess"),
    ]);
    loop {
        tokio::select! {
            next = accounts.next() => {
                let Some(outcome) = next else {
                    notify_status(&accounts, &mut shown_status);
                    continue;
                };
                notify(&[NotifyState::Stopping]);
                outputs.finish(accounts, &mut signals).await;
                return outcome;
            }
            event = signals.next() => match event {
                SignalEvent::Reload => {
                    info!(name: "reload", "SIGHUP: reloading the settings");
                    let dispatcher = accounts.dispatcher.clone();
                    reloads.spawn(async move { dispatcher.dispatch(None, Request::Reload).await });
                }
                SignalEvent::Stop if std::mem::replace(&mut is_stopping, true) => exit_now(&accounts),
                SignalEvent::Stop => {
                    info!(name: "stopping", "stopping: finishing running games (at most {grace:.0?}); signal again to exit now");
                    accounts.drain();
                    deadline = Some(clock::wall_deadline(grace));
                    notify(&[NotifyState::Stopping]);
                    notify_status(&accounts, &mut shown_status);
                }
            },
            // The accounts log the result themselves.
            Some(reloaded) = reloads.join_next() => {
                if let Ok(Response::Error(why)) = reloaded {
                    debug!("not reloaded: {why}");
                }
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                exit_now(&accounts);
                deadline = None;
            }
            () = watchdog.due() => watchdog.feed(accounts.heartbeats()),
            Some(closed) = monitoring.join_next() => {
                if let Err(error) = closed {
                    warn!("control socket or metrics task failed: {error}");
                }
            }
        }
    }
}

/// Outputs that outlive the accounts at shutdown, until everything is written and sent.
struct Outputs {
    page: Option<PageTask>,
    traces: Option<trace::Recorder>,
    recorder: Option<Recorder>,
    alerts: JoinHandle<()>,
}

impl Outputs {
    /// A further signal ends the wait for the alerts.
    async fn finish(self, accounts: Accounts, signals: &mut Signals) {
        if let Some(page) = self.page {
            page.close().await;
        }
        if let Some(traces) = self.traces {
            traces.finish(RECORDS_FLUSH_TIMEOUT).await;
        }
        if let Some(recorder) = self.recorder {
            recorder.finish(RECORDS_FLUSH_TIMEOUT).await;
        }
        // Without the sender of the errors, no further alert can come.
        drop(accounts);
        let stop = async { while !matches!(signals.next().await, SignalEvent::Stop) {} };
        tokio::select! {
            ended = self.alerts => if let Err(error) = ended {
                warn!("the task of the alerts failed: {error}");
            },
            () = stop => warn!("alerts were not delivered before the end"),
        }
    }
}

/// Starts the metrics tasks and the control socket. Their failure does not stop the bot.
async fn monitoring(
    parts: &[BotParts],
    daemon: &config::Daemon,
    accounts: &Accounts,
    events: &Bus,
) -> JoinSet<()> {
    let mut monitoring = JoinSet::new();
    monitoring.spawn(accounts.metrics.clone().follow(events.subscribe()));
    if let Some(first) = parts.first() {
        monitoring.spawn(provider(first).run());
    }
    // With several accounts, each has its own metrics too.
    for parts in parts.iter().filter(|parts| parts.settings.name.is_some()) {
        let metrics = parts.metrics.clone();
        monitoring.spawn(metrics.follow(parts.events.subscribe()));
    }
    let path = daemon.socket.clone().unwrap_or_else(control::default_path);
    let socket = control::Server::bind(&path).await;
    monitoring.spawn(control::keep_open(
        path,
        socket,
        accounts.dispatcher.clone(),
    ));
    monitoring
}

/// The provider for the analysis board of the first account.
fn provider(parts: &BotParts) -> Provider {
    let engine = &parts.settings.engine;
    let mut offers = Vec::new();
    if engine.provider {
        offers.extend(broker(parts).map(|broker| Offer {
            broker,
            threads: engine.thread_count(),
            hash_mib: parts.engine.hash_mib(),
            variants: Variant::ALL.to_vec(),
            engine: BoardEngine::Embedded(parts.engine.clone()),
        }));
    }
    for settings in engine.external.iter().filter(|it| it.provider) {
        let mut externals = parts.externals.iter();
        let external = externals.find(|external| external.name() == settings.name);
        offers.extend(external.zip(broker(parts)).map(|(external, broker)| Offer {
            broker,
            threads: settings.threads_of_process(),
            hash_mib: settings.hash_mib.unwrap_or(1),
            variants: settings.rules(),
            engine: BoardEngine::External(external.clone()),
        }));
    }
    Provider {
        client: parts.client.clone(),
        engines: Engines {
            embedded: parts.engine.clone(),
            externals: Arc::clone(&parts.externals),
        },
        offers,
    }
}

/// A client of the broker for one engine.
fn broker(parts: &BotParts) -> Option<Broker> {
    let endpoint = parts.settings.lichess.broker();
    let broker = endpoint
        .map_err(|error| error.to_string())
        .and_then(|endpoint| {
            let broker = parts.client.broker(&endpoint);
            broker.map_err(|error| error.to_string())
        });
    broker
        .inspect_err(|error| error!("no analysis for the board: {error}"))
        .ok()
}

/// Starts the recorder, if enabled, and shows its state in the metrics. Its failure does not stop the bot.
fn recorder(settings: &Settings, events: &Bus, metrics: &Metrics) -> Option<(Recorder, PathBuf)> {
    let (records, server) = (&settings.records, &settings.lichess.url);
    if !records.enabled {
        return None;
    }
    let state = metrics.track_records();
    let report_disabled = |reason: String| {
        warn!("records are disabled: {reason}");
        state.send_if_modified(|state| state.fail(reason));
    };
    let Some(directory) = settings.records_directory() else {
        report_disabled("there is no home directory; set records.directory".to_owned());
        return None;
    };
    let file = store::file_in(&directory, &settings.lichess.server_name());
    info!("records are stored in {}", file.display());
    let grouping = match records.pgn {
        PgnFiles::None => None,
        PgnFiles::Game => Some(store::Grouping::Game),
        PgnFiles::Opponent => Some(store::Grouping::Opponent),
        PgnFiles::Month => Some(store::Grouping::Month),
        PgnFiles::All => Some(store::Grouping::All),
    };
    let options = store::Options {
        // One directory for each server.
        files: grouping.map(|grouping| store::PgnFiles {
            directory: file.with_extension("pgn"),
            grouping,
            details: store::Details {
                clocks: records.clocks,
                evals: records.evals,
            },
        }),
        file: file.clone(),
        server: server.to_string(),
    };
    let recorder = Recorder::start(options, events.subscribe(), state.clone())
        .inspect_err(|error| report_disabled(error.to_string()));
    Some((recorder.ok()?, file))
}

/// Returns a function that lists the unfinished games in the records.
fn left_open(file: PathBuf) -> bot::UnfinishedGames {
    Arc::new(move |account| {
        let ids = store::Reader::open(&file).and_then(|reader| reader.unfinished_games(account));
        ids.unwrap_or_else(|error| {
            info!("cannot read unfinished games, their results are not looked up: {error}");
            Vec::new()
        })
    })
}

/// Starts the trace recorder, if enabled.
fn traces(settings: &Settings) -> Option<(trace::Recorder, Traces)> {
    let keep = settings.records.traces;
    if !settings.records.enabled || keep == 0 {
        return None;
    }
    let directory = trace::directory(settings)?;
    trace::Recorder::start(trace::Options { directory, keep })
        .inspect_err(|error| warn!("traces are disabled: {error}"))
        .ok()
}

fn exit_now(accounts: &Accounts) {
    let games = accounts.exit_now();
    if games > 0 {
        let (games, they) = (
            plural::count(games, "game", "games"),
            if games == 1 { "it is" } else { "they are" },
        );
        warn!("exiting with {games} running: {they} resumed at the next start");
    }
}
