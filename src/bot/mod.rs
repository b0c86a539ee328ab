//! The bot: plays games on one Lichess account.
//!
//! [`run`] follows the event stream (`account`), evaluates challenges ([`policy`]) and runs one task for each game
//! (`game`) until the game is over.

mod account;
pub mod argument;
pub mod block_lists;
mod chat;
mod commands;
mod explain;
mod game;
mod matches;
mod matchmaking;
pub mod policy;
mod reconnect;
pub mod replay;
mod retries;
mod shared_load;
mod shutdown;
mod spanned_join_set;
mod tournament;
pub mod trace;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

pub use account::accepted_log::{AcceptedLog, file as accepted_log_file};
pub use account::overrides::{OperatorOverrides, file as overrides_file};
pub use argument::time_control;
pub use commands::{
    CommandError, CommandHandle, CommandKind, CommandReceiver, CommandResult, OutgoingChallenge,
    ReadToken, ReloadError, ReloadSettings, command_channel,
};
pub use explain::{ChallengeQuery, ExplainError, ProfileQuery, explain_command};
pub use game::choice::BookSet;
pub use matches::MAX_PAIRS;
pub use shared_load::SharedLoad;
pub use shutdown::{ShutdownHandle, ShutdownSignal, Stage, shutdown_channel};

use crate::config::Settings;
use crate::engine::Engine;
use crate::events::Bus;
use crate::external::ExternalEngine;
use crate::lichess::Client;
use crate::lichess::model::Username;
use crate::metrics::Metrics;
use crate::plural;
use trace::Traces;

/// Everything that a bot needs to run.
pub struct BotParts {
    /// Client with the token of the account.
    pub client: Client,
    /// Engine, shared by all games.
    pub engine: Engine,
    /// External engines, shared by all games.
    pub externals: Arc<[ExternalEngine]>,
    pub books: BookSet,
    pub settings: Arc<Settings>,
    /// Bus for events.
    pub events: Bus,
    pub metrics: Metrics,
    /// File of accepted challenges; `None` keeps nothing over a restart. The quota and the opponent history are kept
    /// in the same directory.
    pub accepted_log: Option<PathBuf>,
    /// File of the operator's overrides; `None` keeps nothing over a restart.
    pub overrides: Option<PathBuf>,
    /// Commands of the operator.
    pub commands: CommandReceiver,
    /// Reloads the settings; `None` if there is no source.
    pub reload: Option<ReloadSettings>,
    /// Reads the token again; `None` if it never changes.
    pub token: Option<ReadToken>,
    /// Finds another process on this machine that plays an account, if that is possible.
    pub find_other_process: Option<FindOtherProcess>,
    /// Traces of games.
    pub traces: Traces,
    /// Lists games that are unfinished in the records, if there are records.
    pub unfinished_games: Option<UnfinishedGames>,
    /// Load shared with other accounts of this process.
    pub shared_load: SharedLoad,
    /// The server has no daily limit of games between bots. Lichess has one.
    pub unlimited_bot_games: bool,
    /// Test hook: panics on purpose.
    pub injected_panics: InjectedPanics,
}

/// Test hook: panics on purpose, each once after so many heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InjectedPanics {
    /// In the account task.
    pub account: Option<u64>,
    /// In a background request.
    pub request: Option<u64>,
}

impl BotParts {
    /// Parts with defaults: nothing is kept over a restart, and there are no commands.
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
            externals: Arc::default(),
            books,
            settings: Arc::clone(settings),
            events,
            metrics: Metrics::default(),
            accepted_log: None,
            overrides: None,
            commands: CommandReceiver::default(),
            reload: None,
            token: None,
            find_other_process: None,
            traces: Traces::default(),
            unfinished_games: None,
            shared_load: SharedLoad::default(),
            unlimited_bot_games: false,
            injected_panics: InjectedPanics::default(),
        }
    }

    /// Parts of another account of this process. The engine, the books and the load are shared.
    pub fn for_account(&self, client: Client, settings: &Arc<Settings>) -> Self {
        let (engine, books) = (self.engine.clone(), self.books.clone());
        Self {
            externals: self.externals.clone(),
            traces: self.traces.clone(),
            shared_load: self.shared_load.clone(),
            unlimited_bot_games: self.unlimited_bot_games,
            ..Self::new(client, engine, books, settings, self.events.clone())
        }
    }
}

/// Returns the ids of an account's games that are unfinished in the records. Blocks on the disk.
pub type UnfinishedGames = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// Returns the id of another process on this machine that plays an account. Blocks until that process answers.
pub type FindOtherProcess = Arc<dyn Fn(&Username) -> Option<u32> + Send + Sync>;

/// Reason why a bot has stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Lichess does not accept the token. Exit code 77.
    #[error("Lichess rejects the token: {0}")]
    TokenRejected(String),
    /// The account is not a bot account. Exit code 77.
    #[error("{account} is not a bot account; {}", upgrade_hint(*games))]
    NotABot {
        /// Name of the account.
        account: Username,
        /// Games played by the account.
        games: u64,
    },
    /// The token belongs to another account than configured. Exit code 78.
    #[error(
        "the token for account `{wanted}` belongs to `{actual}`; set `name` to the Lichess user name"
    )]
    WrongAccount {
        /// Configured name.
        wanted: String,
        /// Name that Lichess reports.
        actual: Username,
    },
    /// Another instance opens the event stream again and again. Exit code 69.
    #[error(
        "another instance is using this token: Lichess has closed our event stream {} since we started; \
         stop the other instance, or give each its own account",
        plural::count(*.0, "time", "times")
    )]
    AnotherInstance(u32),
    /// Another process on this machine plays the account. Exit code 69.
    #[error(
        "knightwatch is already running and plays {account} (pid {pid}): see `knightwatch status`; stop that process first, or give \
         each its own account"
    )]
    AlreadyRunning {
        /// Name of the account.
        account: Username,
        /// Id of the other process.
        pid: u32,
    },
}

/// How to get a bot account, for an account that has played this many games.
pub fn upgrade_hint(games: u64) -> &'static str {
    if games > 0 {
        "it has played games, so it cannot become one: make a new account, and a token for it"
    } else {
        "turn it into one with `knightwatch upgrade` (this cannot be undone)"
    }
}

/// Runs the bot until shutdown is complete.
pub async fn run(parts: BotParts, shutdown: ShutdownSignal) -> Result<(), Error> {
    account::run(parts, shutdown).await
}

/// Context of an account, given to its games and arenas.
#[derive(Clone)]
struct AccountContext {
    client: Client,
    engine: Engine,
    externals: Arc<[ExternalEngine]>,
    books: BookSet,
    settings: Arc<Settings>,
    events: Bus,
    me: Username,
    running_games: Arc<AtomicUsize>,
    queued_challenges: Arc<AtomicUsize>,
    token_check: Arc<Notify>,
    traces: Traces,
    shared_load: SharedLoad,
    unlimited_bot_games: bool,
    shutdown: ShutdownSignal,
}

impl AccountContext {
    /// The external engine that plays with these settings; `None` for the embedded one.
    fn external(&self, play: &policy::PlaySettings) -> Option<&ExternalEngine> {
        let name = play.engine.as_deref()?;
        self.externals.iter().find(|engine| engine.name() == name)
    }

    /// Running games of this account.
    fn running_games(&self) -> usize {
        self.running_games.load(Ordering::Relaxed)
    }

    /// Challenges that wait for a slot.
    fn queued_challenges(&self) -> usize {
        self.queued_challenges.load(Ordering::Relaxed)
    }

    /// Returns whether shutdown has begun.
    fn is_stopping(&self) -> bool {
        self.shutdown.stage() != Stage::Running
    }

    /// Requests a check of the token, after a 401.
    fn request_token_check(&self) {
        self.token_check.notify_one();
    }
}
