//! Wiring of the daemon: build everything, signals, systemd, two-stage stop.

mod accounts;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, interval, sleep_until};
use tracing::{debug, info, warn};

use crate::book::{self, Book};
use crate::bot::trace::{self, Traces};
use crate::bot::{self, BookSet, BotParts, Elsewhere, ReloadSettings};
use crate::clock;
use crate::config::{self, PgnFiles, Selection, Settings, Sources, TokenSource};
use crate::control::{self, Answer, Request};
use crate::demo;
use crate::engine::{Engine, EngineOptions};
use crate::events::Bus;
use crate::lichess::model::Username;
use crate::lichess::{self, Client, Endpoint, EndpointError, Token, TokenError};
use crate::plural;
use crate::sim;
use crate::store::{self, Recorder};
use crate::web::{self, Page};
use accounts::Accounts;

/// Threads that wait for the network; the engine has its own.
const WORKERS: usize = 2;

/// No daemon runs for longer than this: a hundred years.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Where another bot runs on this machine, Lichess gets this long to say who we are before anything is opened.
const LOOK_WITHIN: Duration = Duration::from_secs(5);

/// The records get this long to be written when all else is done.
const RECORDS_WITHIN: Duration = Duration::from_secs(2);

/// Why the daemon has stopped, or has not started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no token.
    #[error(
        "no token: put it into the environment variable LICHESS_TOKEN, or into a file that lichess.token_file names; \
         a systemd service finds its credential `token` by itself (LoadCredential=token:{})",
        config::SERVICE_TOKEN
    )]
    NoToken,
    /// The token cannot be read.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// That of one of several accounts cannot.
    #[error("{account}: {error}")]
    TokenOf {
        /// Whose.
        account: String,
        /// Why.
        error: TokenError,
    },
    /// The server's address cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A rehearsal is no way to play with others.
    #[error(
        "--time-scale, --engine-panics and --account-panics are for rehearsals on a simulator on this machine, and \
         lichess.url is {0}"
    )]
    Rehearsal(Endpoint),
    /// The client cannot be made.
    #[error("cannot set up the connection to Lichess: {0}")]
    Client(lichess::Error),
    /// A book cannot be used.
    #[error("book {}: {error}", path.display())]
    Book {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: book::Error,
    },
    /// The bot has given up.
    #[error(transparent)]
    Bot(#[from] bot::Error),
    /// The system does not give us what we need.
    #[error("cannot start")]
    System(#[from] io::Error),
    /// A part has failed that never should.
    #[error("the bot has failed")]
    Panic(#[from] tokio::task::JoinError),
}

impl Error {
    /// What the process says to whoever supervises it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Bot(bot::Error::AnotherInstance(_) | bot::Error::RunsAlready { .. }) => 69,
            Self::Bot(bot::Error::TokenRejected(_) | bot::Error::NotABot { .. }) => 77,
            Self::NoToken
            | Self::Bot(bot::Error::SomebodyElse { .. })
            | Self::Token(_)
            | Self::TokenOf { .. }
            | Self::Endpoint(_)
            | Self::Rehearsal(_)
            | Self::Client(lichess::Error::CaFile { .. })
            | Self::Book { .. } => 78,
            Self::Client(_) | Self::System(_) | Self::Panic(_) => 1,
        }
    }
}

/// What is otherwise than in earnest, on a simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rehearsal {
    /// The clock runs as many times faster than the wall.
    pub time_scale: Option<clock::Rate>,
    /// Every search fails after so many nodes.
    pub engine_panics: Option<u64>,
    /// The loop of the first account fails once, after so many beats.
    pub account_panics: Option<u64>,
}

impl Rehearsal {
    /// Before anything is measured.
    fn begin(&self, settings: &Settings) -> Result<(), Error> {
        let endpoint = settings.lichess.endpoint()?;
        let fails = self.engine_panics.is_some() || self.account_panics.is_some();
        let in_earnest = self.time_scale.is_none() && !fails;
        if !in_earnest && !endpoint.is_local() {
            return Err(Error::Rehearsal(endpoint));
        }
        self.time_scale.into_iter().for_each(clock::set_rate);
        Ok(())
    }
}

/// Plays on Lichess until told to stop by SIGTERM or Ctrl-C: the first finishes the games within the grace, the
/// second leaves at once. The settings are read again from the sources when that is asked for. With `moves` those of all
/// games are printed.
pub fn run(
    settings: Settings,
    sources: Sources,
    rehearsal: Rehearsal,
    moves: bool,
) -> Result<(), Error> {
    rehearsal.begin(&settings)?;
    for warning in &settings.warnings {
        warn!("{warning}");
    }
    let settings = Arc::new(settings);
    let events = Bus::new();
    if moves {
        demo::print_moves(events.subscribe())?;
    }
    let mut parts = assemble_all(&settings, &sources, &events)?;
    if let Some(first) = parts.first_mut() {
        if let Some(nodes) = rehearsal.engine_panics {
            let after = plural::count(nodes, "node", "nodes");
            warn!("a rehearsal: every search of the engine fails after {after}");
            first.engine.rehearse_panics(nodes);
        }
        first.rehearsed_failure = rehearsal.account_panics;
    }
    let runtime = runtime()?;
    let outcome = runtime.block_on(supervise(parts, &settings, events));
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

/// The most threads for what waits for disks and name servers; they stay once they are there.
const BLOCKING_THREADS: usize = 64;

/// What the daemon runs on. A thread for what waits for disks and name servers is there from the start, and stays: where the
/// system gives us no more of them, that one does it all.
fn runtime() -> Result<Runtime, Error> {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("network")
        .thread_keep_alive(FOR_EVER)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()?;
    runtime.block_on(async { spawn_blocking(|| ()).await })?;
    Ok(runtime)
}

/// Reads the token of an account.
fn token(settings: &Settings) -> Result<Token, Error> {
    let source = settings.token.as_ref().ok_or(Error::NoToken)?;
    let token = source.read().map_err(|error| match &settings.name {
        Some(account) => Error::TokenOf {
            account: account.clone(),
            error,
        },
        None => error.into(),
    })?;
    if let TokenSource::File(path) = source
        && let Some(mode) = lichess::readable_by_others(path)
    {
        let path = path.display();
        warn!("others can read the token in {path} (mode {mode:04o}): chmod 600 {path}");
    }
    Ok(token)
}

/// Builds the parts of all accounts: one engine, one set of books and one line to Lichess for all of them.
fn assemble_all(
    settings: &Arc<Settings>,
    sources: &Sources,
    events: &Bus,
) -> Result<Vec<BotParts>, Error> {
    let mut all: Vec<BotParts> = Vec::new();
    for account in settings.accounts() {
        let token = token(&account)?;
        let account = Arc::new(account);
        let mut parts = match all.first() {
            None => assemble(settings, token, events.clone())?,
            Some(first) => first.sister(first.client.sister(token), &account),
        };
        parts.ledger = bot::accepted_log_file(&account);
        parts.orders = bot::overrides_file(&account);
        let mut sources = sources.clone();
        // That file and no other: without it the defaults would come into force.
        sources.file = settings.file.clone();
        parts.reread = Some(rereader(sources, account.name.clone()));
        parts.elsewhere = Some(elsewhere(settings));
        if let Some(name) = &account.name {
            parts.events = events.for_account(name);
        }
        parts.settings = account;
        all.push(parts);
    }
    Ok(all)
}

/// Builds a bot's parts as the settings say.
pub fn assemble(settings: &Arc<Settings>, token: Token, events: Bus) -> Result<BotParts, Error> {
    let endpoint = settings.lichess.endpoint()?;
    let client = Client::new(&endpoint, token, None).map_err(Error::Client)?;
    let engine = Engine::new(EngineOptions {
        hash_mib: settings.engine.hash_mib,
        threads: settings.engine.thread_count(),
    });
    let books = shelf(settings)?;
    Ok(BotParts::new(client, engine, books, settings, events))
}

/// Reads the settings of an account from the file that is in force, and lets systemd know of it. Where there was none, one
/// is looked for, and is the one in force from then on.
fn rereader(sources: Sources, account: Option<String>) -> ReloadSettings {
    let sources = Mutex::new(sources);
    Arc::new(move || {
        let mut sources = sources.lock().unwrap_or_else(PoisonError::into_inner);
        let mut begin = vec![NotifyState::Reloading];
        // systemd from 253 on wants to know when.
        begin.extend(NotifyState::monotonic_usec_now().ok());
        notify(&begin);
        let read = Settings::load(&sources);
        notify(&[NotifyState::Ready]);
        let read = read?;
        sources.file.clone_from(&read.file);
        Ok(read.anew_for(account.as_deref()))
    })
}

/// Asks the other processes of this machine that have a control socket which of them plays an account.
fn elsewhere(settings: &Settings) -> Elsewhere {
    let socket = settings.daemon.socket.clone();
    let server = settings.lichess.url.to_string();
    Arc::new(move |account| {
        let others = control::running_statuses(socket.as_deref()).into_iter();
        let mut others = others.filter(|status| status.pid != std::process::id());
        let same = others.find(|status| status.has_account(account.as_str(), &server));
        same.map(|status| status.pid)
    })
}

fn shelf(settings: &Settings) -> Result<BookSet, Error> {
    let wanted = &settings.book;
    if !settings.has_books() {
        return Ok(BookSet::empty());
    }
    let open = |path: &PathBuf| {
        Book::open(path).map_err(|error| Error::Book {
            path: path.clone(),
            error,
        })
    };
    let mut books = wanted
        .files
        .iter()
        .map(open)
        .collect::<Result<Vec<_>, _>>()?;
    if wanted.default {
        books.push(Book::embedded());
    }
    let choice = book::Choice {
        selection: match wanted.selection {
            Selection::Best => book::Selection::Best,
            Selection::Weighted => book::Selection::Weighted,
            Selection::Uniform => book::Selection::Uniform,
        },
        min_weight: wanted.min_weight,
    };
    Ok(BookSet::new(books, choice, wanted.max_ply as usize))
}

/// Runs the bot, hands signals on to it, and tells systemd how it is doing.
async fn supervise(
    mut parts: Vec<BotParts>,
    settings: &Settings,
    events: Bus,
) -> Result<(), Error> {
    let daemon = &settings.daemon;
    let grace = daemon.grace();
    let mut signals = Signals::new()?;
    refuse_second(&parts, settings).await?;
    let (mut accounts, stops) = Accounts::assemble(&mut parts, events.clone());
    let mut windows = windows(&parts, daemon, &accounts, &events).await;
    let mut reloads = JoinSet::new();
    // Told by a signal that it is to stop, and not only by the operator to drain.
    let mut told = false;
    let (recorder, records) = recorder(settings, &events).unzip();
    let (traces, handle) = traces(settings).unzip();
    // No handle but theirs: with the last one of them the traces end.
    if let Some(handle) = handle {
        for parts in &mut parts {
            parts.traces = handle.clone();
        }
    }
    for parts in &mut parts {
        parts.left_open = records.clone().map(left_open);
    }
    let page = page(&accounts, settings, &events, records);
    accounts.start(parts, stops);
    let mut watchdog = Watchdog::new();
    let mut deadline = None;
    // Ready without waiting for Lichess: an outage there is no reason to fail our start.
    notify(&[
        NotifyState::Ready,
        NotifyState::Status("connecting to Lichess"),
    ]);
    loop {
        tokio::select! {
            next = accounts.next() => {
                let Some(outcome) = next else {
                    tell(&accounts);
                    continue;
                };
                notify(&[NotifyState::Stopping]);
                if let Some(page) = page {
                    page.close().await;
                }
                if let Some(traces) = traces {
                    traces.finish(RECORDS_WITHIN).await;
                }
                if let Some(recorder) = recorder {
                    recorder.finish(RECORDS_WITHIN).await;
                }
                return outcome;
            }
            word = signals.next() => match word {
                Word::Reload => {
                    info!("SIGHUP: reading the settings anew");
                    let ends = accounts.dispatcher.clone();
                    reloads.spawn(async move { ends.answer(None, Request::Reload).await });
                }
                Word::Stop if std::mem::replace(&mut told, true) => leave(&accounts),
                Word::Stop => {
                    info!("stopping: running games get {grace:.0?} to finish; once more to leave at once");
                    accounts.drain();
                    deadline = Some(clock::wall_deadline(grace));
                    notify(&[NotifyState::Stopping]);
                    tell(&accounts);
                }
            },
            // The bot has logged what came of it, if it was there to hear it.
            Some(reloaded) = reloads.join_next() => {
                if let Ok(Answer::Error(why)) = reloaded {
                    debug!("not reloaded: {why}");
                }
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                leave(&accounts);
                deadline = None;
            }
            () = watchdog.due() => watchdog.feed(accounts.beats()),
            Some(closed) = windows.join_next() => {
                if let Err(error) = closed {
                    warn!("one of the ways to look at this daemon is gone: {error}");
                }
            }
        }
    }
}

/// Fails where another process of this machine plays all of the accounts already, before it is said that the page and the
/// socket are taken. Where Lichess does not say now whose a token is, each account looks again when it knows that.
async fn refuse_second(parts: &[BotParts], settings: &Settings) -> Result<(), Error> {
    let server = settings.lichess.url.to_string();
    let socket = settings.daemon.socket.clone();
    let mut others = spawn_blocking(move || control::running_statuses(socket.as_deref())).await?;
    others.retain(|status| status.pid != std::process::id());
    if others.is_empty() {
        return Ok(());
    }
    let mut second = None;
    for part in parts {
        let account = match &part.settings.name {
            Some(name) => Username::new(name),
            None => match clock::timeout(LOOK_WITHIN, part.client.account()).await {
                Ok(Ok(user)) => user.username,
                _ => return Ok(()),
            },
        };
        let mut playing = others.iter();
        let Some(other) = playing.find(|status| status.has_account(account.as_str(), &server)) else {
            return Ok(());
        };
        let pid = other.pid;
        second.get_or_insert(bot::Error::RunsAlready { account, pid });
    }
    second.map_or(Ok(()), |second| Err(second.into()))
}

/// Opens what lets others see how the bot is doing. None of it is worth not playing for.
async fn windows(
    parts: &[BotParts],
    daemon: &config::Daemon,
    accounts: &Accounts,
    events: &Bus,
) -> JoinSet<()> {
    let mut windows = JoinSet::new();
    windows.spawn(accounts.metrics.clone().follow(events.subscribe()));
    // An account of several is counted by itself, too.
    for parts in parts.iter().filter(|parts| parts.settings.name.is_some()) {
        let metrics = parts.metrics.clone();
        windows.spawn(metrics.follow(parts.events.subscribe()));
    }
    let path = daemon.socket.clone().unwrap_or_else(control::default_path);
    let socket = control::Server::bind(&path).await;
    windows.spawn(control::keep_open(path, socket, accounts.dispatcher.clone()));
    windows
}

/// Opens the page. It is not worth not playing for either.
fn page(
    accounts: &Accounts,
    settings: &Settings,
    events: &Bus,
    records: Option<PathBuf>,
) -> Option<Page> {
    let address = settings.daemon.address().ok().flatten()?;
    let config = web::PageConfig {
        events: events.subscribe(),
        metrics: accounts.metrics.clone(),
        records,
        play: guest(settings),
        actions: Some(web::Actions {
            dispatcher: accounts.dispatcher.clone(),
            enabled: web::ALL_ACTIONS,
        }),
        key: page_key(settings),
    };
    let page = Page::open(address, config).inspect_err(|error| {
        warn!("no page, /metrics and /healthz on {address}: {error}; see daemon.listen");
    });
    let page = page.ok()?;
    info!("/metrics and /healthz are on http://{}", page.address());
    // The key lasts over restarts, and the log goes where others may read it.
    info!(
        "the page: {}; knightwatch page prints the address with its key",
        page.url_without_key()
    );
    accounts.dispatcher.set_page_url(control::PageUrl {
        without_key: page.url_without_key(),
        with_key: page.url_with_key(),
    });
    Some(page)
}

/// Where the key of the page is kept: beside the records, one for each server. `None` where nothing can be kept.
fn page_key(settings: &Settings) -> Option<PathBuf> {
    let chosen = settings.records.directory.clone();
    let directory = chosen.or_else(|| settings.data_directory())?;
    let name = format!("{}.page-key", settings.lichess.server_name());
    Some(directory.join(name))
}

/// Who plays on the page, where that is a user of a simulator.
fn guest(settings: &Settings) -> Option<web::PlaySite> {
    let name = &settings.daemon.guest;
    if name.is_empty() {
        return None;
    }
    let token: Token = sim::token_of(name).parse().ok()?;
    let client = Client::new(&settings.lichess.endpoint().ok()?, token, None)
        .inspect_err(|error| warn!("nobody can play on the page: {error}"))
        .ok()?;
    let forward = move |request: web::ProxyRequest| {
        let client = client.clone();
        async move {
            let answer = client.pass_on(&request.path, &request.form).await;
            answer.map_err(|error| match error.refusal() {
                Some(no) => (no.code, no.message.clone()),
                None => (502, error.to_string()),
            })
        }
    };
    Some(web::PlaySite {
        user: name.clone(),
        site: web::proxy(forward),
    })
}

/// Begins to keep records, where they are wanted, and says where. They are not worth not playing for either.
fn recorder(settings: &Settings, events: &Bus) -> Option<(Recorder, PathBuf)> {
    let (records, server) = (&settings.records, &settings.lichess.url);
    if !records.enabled {
        return None;
    }
    let usual = || settings.data_directory();
    let directory = records.directory.clone().or_else(usual);
    let Some(directory) = directory else {
        warn!("no records are kept: there is no home directory; name one in records.directory");
        return None;
    };
    let file = store::file_in(&directory, &settings.lichess.server_name());
    info!("records are kept in {}", file.display());
    let grouping = match records.pgn {
        PgnFiles::None => None,
        PgnFiles::Game => Some(store::Grouping::Game),
        PgnFiles::Opponent => Some(store::Grouping::Opponent),
        PgnFiles::Month => Some(store::Grouping::Month),
        PgnFiles::All => Some(store::Grouping::All),
    };
    let options = store::Options {
        // With those of other servers the PGN would be mixed up.
        files: grouping.map(|grouping| store::Files {
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
    let recorder = Recorder::start(options, events.subscribe())
        .inspect_err(|error| warn!("no records are kept: {error}"));
    Some((recorder.ok()?, file))
}

/// Tells which games a file of records has as still on.
fn left_open(file: PathBuf) -> bot::UnfinishedGames {
    Arc::new(move |account| {
        let ids = store::Reader::open(&file).and_then(|reader| reader.left_open(account));
        ids.unwrap_or_else(|error| {
            info!("how games ended meanwhile is not asked: {error}");
            Vec::new()
        })
    })
}

/// Begins to keep traces, where they are wanted.
fn traces(settings: &Settings) -> Option<(trace::Recorder, Traces)> {
    let keep = settings.records.traces;
    if !settings.records.enabled || keep == 0 {
        return None;
    }
    let directory = trace::directory(settings)?;
    trace::Recorder::start(trace::Options { directory, keep })
        .inspect_err(|error| warn!("no traces are kept: {error}"))
        .ok()
}

fn leave(accounts: &Accounts) {
    let games = accounts.leave();
    if games > 0 {
        let (games, they) = (
            plural::count(games, "game", "games"),
            if games == 1 { "it is" } else { "they are" },
        );
        warn!("leaving with {games} on: {they} taken up again at the next start");
    }
}

/// The signals that we listen to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// We were started in a terminal, whose end says SIGHUP too.
    terminal: bool,
}

/// What a signal says.
enum Word {
    Stop,
    Reload,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            terminal: io::stdin().is_terminal(),
        })
    }

    async fn next(&mut self) -> Word {
        tokio::select! {
            _ = self.terminate.recv() => Word::Stop,
            _ = self.interrupt.recv() => Word::Stop,
            _ = self.hangup.recv() => match self.terminal && !io::stdin().is_terminal() {
                true => Word::Stop,
                false => Word::Reload,
            },
        }
    }
}

/// One line for `systemctl status`.
fn tell(accounts: &Accounts) {
    notify(&[NotifyState::Status(&accounts.line())]);
}

/// Without systemd this does nothing. A socket that does not work is logged once.
fn notify(state: &[NotifyState]) {
    static BROKEN: AtomicBool = AtomicBool::new(false);
    let outcome = sd_notify::notify(state);
    let before = BROKEN.swap(outcome.is_err(), Ordering::Relaxed);
    if let (Err(error), false) = (outcome, before) {
        warn!(
            "cannot tell systemd how we are, which it may end us for: {error}; see NOTIFY_SOCKET"
        );
    }
}

/// Tells systemd that the loops of all accounts are alive, not merely that the process is.
struct Watchdog {
    tick: Option<tokio::time::Interval>,
    last: Vec<u64>,
}

impl Watchdog {
    fn new() -> Self {
        let tick = sd_notify::watchdog_enabled().map(|patience| interval(patience / 3));
        let last = Vec::new();
        Self { tick, last }
    }

    async fn due(&mut self) {
        match &mut self.tick {
            Some(tick) => {
                tick.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    fn feed(&mut self, beats: Vec<u64>) {
        // One that has ended is missing, which is a change too.
        let same = |(now, before): (&u64, &u64)| now == before;
        let silent = beats.len() == self.last.len() && beats.iter().zip(&self.last).any(same);
        if !silent {
            notify(&[NotifyState::Watchdog]);
        }
        self.last = beats;
    }
}
