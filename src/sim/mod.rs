//! A Lichess on localhost: routes, referee and clocks, built-in players, faults.
//!
//! The simulator answers what the documented contract of the Bot API says, never what our own bot would like. Its wire
//! types are its own, so that client and simulator are two independent readings of the same documents.
//!
//! The shape: one `SiteState` behind one lock owns users, challenges, games and open streams. Everything that happens, over
//! HTTP or from a built-in player, is a method call on it. The referee and the clock inside a game are pure. All timers
//! read one source of time, which can run faster than the wall.

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

use crate::serve::{self, Bounds};
use http::connection::ConnectionListener;
use http::{as_user, server};
use players::{BuiltinPlayer, SearchPool};
use site::id::UserId;
use site::state::SiteState;
use site::time::TimeSource;

/// Who may connect: two thousand bots with two streams and a request each, with the times of the proxy in front of Lichess,
/// on the wall.
const CONNECTION_LIMITS: Bounds = Bounds {
    connections: 6_000,
    head: Duration::from_secs(60),
    stall: Duration::from_secs(60),
};

/// What open connections get to finish when the process ends: wall time, whatever time the site keeps.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Between two rounds of housekeeping, in the site's time.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// How much of everything a site has in mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimStats {
    pub accounts: usize,
    /// Those that are done with are kept for three hours of the site's time.
    pub challenges: usize,
    /// Those that are on, and those that are kept.
    pub games: usize,
    pub ongoing_games: usize,
    /// Event and game streams that are open.
    pub streams: usize,
}

/// A handle to one simulated Lichess; clones are the same site.
#[derive(Clone)]
pub struct Sim(Arc<Shared>);

struct Shared {
    time: TimeSource,
    state: Mutex<SiteState>,
    faults: Faults,
    /// Something was shown in a game.
    game_changed: Arc<Notify>,
    finished: watch::Sender<usize>,
    search_pool: SearchPool,
    new_players: mpsc::UnboundedSender<BuiltinPlayer>,
    /// Taken by whoever serves the site.
    new_players_rx: Mutex<Option<mpsc::UnboundedReceiver<BuiltinPlayer>>>,
}

/// Says so in the log where others than this machine reach the site: everybody knows its tokens.
pub fn warn_if_reachable(address: SocketAddr) {
    if !address.ip().to_canonical().is_loopback() {
        tracing::warn!(
            "everybody who reaches this machine can use the site on {address}, and act as any of its users: tokens are \
             made from names; 127.0.0.1 is for this machine alone"
        );
    }
}

/// The personal token that every simulator gives the user of this name: `lip_` and the lower-cased name.
pub fn token_of(name: &str) -> String {
    format!("lip_{}", UserId::of(name))
}

impl Sim {
    /// A site with these users, not yet reachable: see [`Sim::serve`].
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

    /// Serves HTTP/1.1 until `stop` is done, then ends every stream and returns.
    ///
    /// # Errors
    /// When the listener has no local address, or when the site is or was already served.
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
            new_players_rx.ok_or_else(|| io::Error::other("this site is served only once"))?;
        self.state().base_url = format!("http://{address}");

        let (close, closing) = oneshot::channel::<()>();
        let app = server::router(self.clone());
        let server = serve::serve(
            ConnectionListener(listener),
            app,
            CONNECTION_LIMITS,
            async {
                // A sender that is gone means the same.
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
        // Who keeps his connection open all the same is cut off with the process.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, server).await;
        Ok(())
    }

    /// The personal token of a user: `lip_` and the lower-cased name.
    pub fn token_of(&self, name: &str) -> String {
        token_of(name)
    }

    /// The API for a server of this process, on which every call is this user's.
    pub fn router_as(&self, name: &str) -> axum::Router {
        as_user::router(self.clone(), name)
    }

    /// Makes a further token for a user, with these scopes only. Without such a user nothing happens.
    pub fn add_token(&self, token: &str, name: &str, scopes: &[&str]) {
        let mut state = self.state();
        if let Some(id) = state.user_by_name(name).map(|user| user.id.clone()) {
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            state.add_token(token.to_owned(), id, scopes);
        }
    }

    /// Where tests plant their faults.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Breaks streams that are open now: those of this user, or of all; those of this game, or all and the event
    /// streams too.
    pub fn break_streams(&self, user: Option<&str>, game: Option<&str>, how: StreamFault) {
        self.state()
            .break_streams(user, game, [game.is_none(), true], how);
    }

    /// Adds a built-in user that plays by itself while the site is served; makes the account if there is none. One that
    /// lives here already stays as he is.
    pub fn add_player(&self, sparring: PlayerOptions) {
        for options in sparring.expand_copies() {
            let resident = BuiltinPlayer::new(options, &mut self.state(), self.time().now());
            if let Some(resident) = resident {
                // Nobody receives any more when the site is no longer served.
                let _ = self.0.new_players.send(resident);
            }
        }
    }

    /// Announces an arena; gives its id.
    ///
    /// # Errors
    /// A sentence that says why it makes no sense.
    pub fn add_arena(&self, options: &ArenaOptions) -> Result<String, String> {
        let now = self.time().now();
        let id = self.state().add_arena(options, now)?;
        Ok(id.to_string())
    }

    /// Makes a team.
    pub fn add_team(&self, team: NewTeam) {
        let now = self.time().now();
        self.state().add_team(team, now);
    }

    /// How much there is of everything.
    pub fn stats(&self) -> SimStats {
        self.state().stats()
    }

    /// The games that are over, as many as are kept, and then those that are on.
    pub fn games(&self) -> Vec<GameSummary> {
        self.state().summaries(self.time().now())
    }

    /// The games that are over without the first so many of them, in the order in which they ended, and how many there
    /// were in all. Of those that are no longer kept none is shown.
    pub fn finished_after(&self, first: usize) -> (Vec<GameSummary>, usize) {
        self.state().finished_after(first, self.time().now())
    }

    /// How many games are over, as it changes.
    pub fn finished_count(&self) -> watch::Receiver<usize> {
        self.0.finished.subscribe()
    }

    /// Moves the site's time forward at once: every clock and timer sees it.
    pub fn advance(&self, by: Duration) {
        self.0.time.advance(by);
    }

    /// Since the start of the site, in its own time.
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
