//! Simulated Lichess on localhost: HTTP API, referee and clocks, built-in players, faults.
//!
//! The simulator follows the documented contract of the Bot API, independently of the bot. Its wire types are its own,
//! so client and simulator are two independent readings of the same documents.
//!
//! One `SiteState` behind one lock owns users, challenges, games and open streams. Every HTTP request and every
//! action of a built-in player is a method call on it. The referee and the game clock are pure. All timers use one
//! source of time, which can run faster than wall time.

#![forbid(unsafe_code)]

mod arena;
mod challenge;
mod command;
mod faults;
mod http;
mod options;
mod players;
mod quirks;
mod referee;
mod round;
mod script;
mod site;
mod wire;

pub use arena::ArenaOptions;
pub use challenge::DeclineReason;
pub use command::{SimArgs, run_command};
pub use faults::{Endpoint, Fault, FaultRule, Faults, Latency, RequestRecord, Skew, StreamFault};
pub use options::{NewUser, SimOptions, TimeControl};
pub use players::{
    Behavior, ChallengePlan, ChatStyle, ColorChoice, Disconnect, GameSummary, PlayerKind,
    PlayerOptions,
};
pub use quirks::{
    Absent, Castling, ChatLog, ClaimWin, Flags, Limiter, PlayingStatus, Quirk, Quirks,
};
pub use script::{Script, ScriptError};
pub use site::team::NewTeam;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use http::connection::ConnectionListener;
use http::{as_user, server};
use knightwatch_serve::{self as serve, ServerLimits};
use players::{BuiltinPlayer, SearchPool};
use site::id::UserId;
use site::state::SiteState;
use site::time::TimeSource;

/// Limits of connections: enough for two thousand bots with two streams and a request each. The timeouts are those of
/// the proxy in front of Lichess, in wall time.
const CONNECTION_LIMITS: ServerLimits = ServerLimits {
    max_connections: 6_000,
    head_timeout: Duration::from_secs(60),
    stall_timeout: Duration::from_secs(60),
};

/// Time for open connections to finish at shutdown, in wall time.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of periodic work, in the site's time.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// Numbers of objects on a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimStats {
    pub accounts: usize,
    /// Challenges, including closed ones, which are kept for three hours of the site's time.
    pub challenges: usize,
    /// Ongoing and archived games.
    pub games: usize,
    pub ongoing_games: usize,
    /// Open event and game streams.
    pub streams: usize,
}

/// Handle to a simulated site; clones share the site.
#[derive(Clone)]
pub struct Sim(Arc<Shared>);

struct Shared {
    time: TimeSource,
    state: Mutex<SiteState>,
    faults: Faults,
    /// Notified at every change of a game.
    game_changed: Arc<Notify>,
    finished: watch::Sender<usize>,
    search_pool: SearchPool,
    new_players: mpsc::UnboundedSender<BuiltinPlayer>,
    /// Taken by [`Sim::serve`].
    new_players_rx: Mutex<Option<mpsc::UnboundedReceiver<BuiltinPlayer>>>,
}

/// Logs a warning if other machines can reach the site, because its tokens can be guessed.
pub fn warn_if_reachable(address: SocketAddr) {
    if !address.ip().to_canonical().is_loopback() {
        tracing::warn!(
            "everybody who reaches this machine can act as any user of the site on {address}, because tokens are made from \
             names; listen on 127.0.0.1 to serve this machine only"
        );
    }
}

/// Returns the personal token of a user in every simulator: `lip_` and the name in lower case.
pub fn token_of(name: &str) -> String {
    format!("lip_{}", UserId::of(name))
}

impl Sim {
    /// Creates a site. It is not reachable before [`Sim::serve`].
    pub fn new(options: SimOptions) -> Self {
        let time = TimeSource::new(options.speed);
        let finished = watch::Sender::new(0);
        let game_changed = Arc::new(Notify::new());
        let faults = Faults::new(options.seed);
        for rule in &options.faults {
            faults.add(rule.clone());
        }
        let state = SiteState::new(options, finished.clone(), game_changed.clone(), time.now());
        let (new_players, new_players_rx) = mpsc::unbounded_channel();
        Self(Arc::new(Shared {
            time,
            state: Mutex::new(state),
            faults,
            game_changed,
            finished,
            search_pool: SearchPool::default(),
            new_players,
            new_players_rx: Mutex::new(Some(new_players_rx)),
        }))
    }

    /// Serves HTTP/1.1 until `stop` completes, then ends all streams and returns.
    ///
    /// # Errors
    /// If the listener has no local address, or the site was already served.
    pub async fn serve(
        &self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let address = listener.local_addr()?;
        let new_players_rx = self
            .0
            .new_players_rx
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut new_players_rx =
            new_players_rx.ok_or_else(|| io::Error::other("this site is already being served"))?;
        self.state().base_url = format!("http://{address}");

        let (close, closing) = oneshot::channel::<()>();
        let app = server::router(self.clone());
        let server = serve::serve(
            ConnectionListener(listener),
            app,
            CONNECTION_LIMITS,
            async {
                // A dropped sender means the same.
                let _ = closing.await;
            },
        );
        let mut server = std::pin::pin!(server);
        let mut stop = std::pin::pin!(stop);
        let mut faults = std::pin::pin!(self.run_site_faults());
        let mut builtin_players = JoinSet::new();
        let mut next_tick = self.time().now() + TICK_INTERVAL;
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = &mut server => return Ok(()),
                () = &mut faults => {}
                Some(player) = new_players_rx.recv() => {
                    builtin_players.spawn(player.run(self.clone()));
                }
                Some(left) = builtin_players.join_next() => {
                    if let Err(error) = left {
                        tracing::error!("a built-in player is gone: {error}");
                    }
                }
                () = self.scheduled_action_due() => self.state().run_scheduled_actions(self.time().now()),
                () = self.time().sleep_until(next_tick) => {
                    let now = self.time().now();
                    next_tick = now + TICK_INTERVAL;
                    self.state().tick(now);
                }
            }
        }
        builtin_players.shutdown().await;
        self.state().close();
        let _ = close.send(());
        // Connections that are still open afterwards are cut off when the process ends.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, server).await;
        Ok(())
    }

    /// Returns the personal token of a user: `lip_` and the name in lower case.
    pub fn token_of(&self, name: &str) -> String {
        token_of(name)
    }

    /// Returns the API as a router in which every request is authenticated as this user.
    pub fn router_as(&self, name: &str) -> axum::Router {
        as_user::router(self.clone(), name)
    }

    /// Adds a token with these scopes to a user. Does nothing if there is no such user.
    pub fn add_token(&self, token: &str, name: &str, scopes: &[&str]) {
        let mut state = self.state();
        if let Some(id) = state.user_by_name(name).map(|user| user.id.clone()) {
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            state.add_token(token.to_owned(), id, scopes);
        }
    }

    /// Faults of the site, to which tests add rules.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Applies a fault to open streams of this user, or of all users: the streams of this game, or all game and event
    /// streams.
    pub fn break_streams(&self, user: Option<&str>, game: Option<&str>, fault: StreamFault) {
        self.state()
            .break_streams(user, game, [game.is_none(), true], fault);
    }

    /// Adds a built-in player, which plays while the site is served. The account is created if needed. Does nothing if
    /// the player exists.
    pub fn add_player(&self, player: PlayerOptions) {
        for options in player.expand_copies() {
            let player = BuiltinPlayer::new(options, &mut self.state(), self.time().now());
            if let Some(player) = player {
                // The receiver is gone once the site is no longer served.
                let _ = self.0.new_players.send(player);
            }
        }
    }

    /// Creates an arena and returns its id.
    ///
    /// # Errors
    /// The reason why the options are invalid.
    pub fn add_arena(&self, options: &ArenaOptions) -> Result<String, String> {
        let now = self.time().now();
        let id = self.state().add_arena(options, now)?;
        Ok(id.to_string())
    }

    /// Creates a team.
    pub fn add_team(&self, team: NewTeam) {
        let now = self.time().now();
        self.state().add_team(team, now);
    }

    /// Returns the numbers of objects on the site.
    pub fn stats(&self) -> SimStats {
        self.state().stats()
    }

    /// Returns the archived games, then the ongoing ones.
    pub fn games(&self) -> Vec<GameSummary> {
        self.state().summaries(self.time().now())
    }

    /// Returns the archived games after the first `first` ones in order of their ends, and how many games have finished
    /// in total. Games that are no longer archived are omitted.
    pub fn finished_after(&self, first: usize) -> (Vec<GameSummary>, usize) {
        self.state().finished_after(first, self.time().now())
    }

    /// Returns the number of finished games as a watch channel.
    pub fn finished_count(&self) -> watch::Receiver<usize> {
        self.0.finished.subscribe()
    }

    /// Advances the site's time at once, with all clocks and timers.
    pub fn advance(&self, by: Duration) {
        self.0.time.advance(by);
    }

    /// Time since the start of the site, in its own time.
    pub fn elapsed(&self) -> Duration {
        self.time().elapsed()
    }

    fn time(&self) -> &TimeSource {
        &self.0.time
    }

    fn state(&self) -> MutexGuard<'_, SiteState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn search_pool(&self) -> &SearchPool {
        &self.0.search_pool
    }
}

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
