//! Behaviour: what the bot does with what Lichess sends.
//!
//! [`run`] follows the account's stream ([`account`]): challenges are judged ([`policy`]), and each game gets a task of
//! its own ([`game`]) that lives until the game is over. The way of a move is in `game`; nothing here stands in it.

mod account;
pub mod argument;
mod chat;
mod commands;
mod game;
mod matchmaking;
pub mod policy;
mod reconnect;
pub mod replay;
mod shared_load;
mod shutdown;
mod spanned_join_set;
mod tournament;
pub mod trace;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{Notify, watch};

pub use account::accepted_log::{AcceptedLog, file as accepted_log_file};
pub use account::overrides::{OperatorOverrides, file as overrides_file};
pub use commands::{
    Answer, CommandHandle, CommandReceiver, OutgoingChallenge, Refused, ReloadSettings,
    command_channel, time_control,
};
pub use game::choice::BookSet;
pub use shared_load::SharedLoad;
pub use shutdown::{ShutdownHandle, ShutdownSignal, Stage, shutdown_channel};

use crate::config::Settings;
use crate::engine::Engine;
use crate::events::Bus;
use crate::lichess::Client;
use crate::lichess::model::Username;
use crate::metrics::Metrics;
use crate::plural;
use trace::Traces;

/// What a bot is made of.
pub struct BotParts {
    /// The account, by its token.
    pub client: Client,
    /// The engine, for all games.
    pub engine: Engine,
    /// Opening books.
    pub books: BookSet,
    /// How to behave.
    pub settings: Arc<Settings>,
    /// Where to tell what happens.
    pub events: Bus,
    /// How the bot is doing, for whoever supervises it.
    pub pulse: HealthHandle,
    /// How the bot is doing, in numbers.
    pub metrics: Metrics,
    /// Where to keep count of challenges over a restart; nowhere if it need not be kept.
    pub ledger: Option<PathBuf>,
    /// Where to keep what the operator says over a restart; nowhere if it need not be kept.
    pub orders: Option<PathBuf>,
    /// What the operator has us do while we run.
    pub calls: CommandReceiver,
    /// Where the settings are read anew, if anywhere.
    pub reread: Option<ReloadSettings>,
    /// Tells which other process of this machine plays an account, where that can be asked.
    pub elsewhere: Option<Elsewhere>,
    /// Where games leave their traces.
    pub traces: Traces,
    /// Tells which games the records have as still on, if there are records.
    pub left_open: Option<UnfinishedGames>,
    /// What it has in common with other accounts of the same process.
    pub hall: SharedLoad,
    /// After so many beats its loop is to fail, once, to rehearse what happens then.
    pub rehearsed_failure: Option<u64>,
}

impl BotParts {
    /// What every bot needs; it keeps nothing over a restart, and nobody steers it.
    pub fn new(
        client: Client,
        engine: Engine,
        books: BookSet,
        settings: &Arc<Settings>,
        events: Bus,
    ) -> Self {
        Self {
            client,
            engine,
            books,
            settings: Arc::clone(settings),
            events,
            pulse: HealthHandle::default(),
            metrics: Metrics::default(),
            ledger: None,
            orders: None,
            calls: CommandReceiver::default(),
            reread: None,
            elsewhere: None,
            traces: Traces::default(),
            left_open: None,
            hall: SharedLoad::default(),
            rehearsed_failure: None,
        }
    }

    /// The parts of another account of the same daemon, which shares the engine, the books and the hall.
    pub fn sister(&self, client: Client, settings: &Arc<Settings>) -> Self {
        let (engine, books) = (self.engine.clone(), self.books.clone());
        Self {
            traces: self.traces.clone(),
            hall: self.hall.clone(),
            ..Self::new(client, engine, books, settings, self.events.clone())
        }
    }
}

/// The ids of the games of an account that the records have as still on. It may take as long as a disk does.
pub type UnfinishedGames = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// The number of the other process of this machine that plays an account. It may take as long as that process needs to answer.
pub type Elsewhere = Arc<dyn Fn(&Username) -> Option<u32> + Send + Sync>;

/// Why a bot has stopped before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Exit code 77.
    #[error("Lichess rejects the token: {0}")]
    TokenRejected(String),
    /// Exit code 77.
    #[error("{account} is not a bot account; {}", way_to_a_bot(*games))]
    NotABot {
        /// Who we are.
        account: Username,
        /// How many games they have played.
        games: u64,
    },
    /// Exit code 78.
    #[error(
        "the token of the account {wanted} is one of {is}: an account is called as Lichess calls it"
    )]
    SomebodyElse {
        /// Whose it should be.
        wanted: String,
        /// Whose it is.
        is: Username,
    },
    /// Exit code 69.
    #[error(
        "another instance is using this token: Lichess has closed our event stream {} since we started; \
         stop the other instance, or give each its own account",
        plural::count(*.0, "time", "times")
    )]
    AnotherInstance(u32),
    /// Exit code 69.
    #[error(
        "knightwatch runs already and plays {account} (pid {pid}): see `knightwatch status`; stop that process first, or give \
         each its own account"
    )]
    RunsAlready {
        /// Who we are.
        account: Username,
        /// The other process.
        pid: u32,
    },
}

/// How the owner of an account that has played so many games gets a bot account.
pub fn way_to_a_bot(games: u64) -> &'static str {
    if games > 0 {
        "it has played games, so it cannot become one: make a new account, and a token for it"
    } else {
        "turn it into one with `knightwatch upgrade` (this cannot be undone)"
    }
}

/// Plays until told to stop: returns when the stop has come to its end.
pub async fn run(parts: BotParts, stop: ShutdownSignal) -> Result<(), Error> {
    account::run(parts, stop).await
}

/// How a bot is doing. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HealthHandle {
    status: Arc<watch::Sender<Status>>,
    beats: Arc<AtomicU64>,
}

/// How a bot is doing, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Who we are, once that is known.
    pub account: Option<Username>,
    /// The account's stream is open.
    pub online: bool,
    /// Games that are on.
    pub games: usize,
    /// The operator wants no new games for now.
    pub paused: bool,
}

impl Default for HealthHandle {
    fn default() -> Self {
        Self {
            status: Arc::new(watch::Sender::new(Status::default())),
            beats: Arc::default(),
        }
    }
}

impl HealthHandle {
    /// The status from now on.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Grows at least every second while the bot's loop is alive.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    fn set(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_if_modified(|status| {
            let before = status.clone();
            change(status);
            *status != before
        });
    }
}

/// What a game needs of the house it is played in.
#[derive(Clone)]
struct AccountContext {
    client: Client,
    engine: Engine,
    books: BookSet,
    settings: Arc<Settings>,
    events: Bus,
    me: Username,
    games: Arc<AtomicUsize>,
    waiting: Arc<AtomicUsize>,
    doubt: Arc<Notify>,
    traces: Traces,
    hall: SharedLoad,
}

impl AccountContext {
    /// Games of this account that are on at this moment.
    fn games_on(&self) -> usize {
        self.games.load(Ordering::Relaxed)
    }

    /// Challenges that wait for a place.
    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// A request was answered with 401: the account has to look into that.
    fn doubt_token(&self) {
        self.doubt.notify_one();
    }
}
