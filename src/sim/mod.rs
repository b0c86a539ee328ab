//! A Lichess on localhost: routes, referee and clocks, sparring users, faults.
//!
//! The simulator answers what the documented contract of the Bot API says, never what our own bot would like. Its wire
//! types are its own, so that client and simulator are two independent readings of the same documents.
//!
//! The shape: one `World` behind one lock owns users, challenges, games and open streams. Everything that happens, over
//! HTTP or from a sparring user, is a method call on it. The referee and the clock inside a game are pure. All timers
//! read one source of time, which can run faster than the wall.

mod admission;
mod ai;
mod arena;
mod audience;
mod auth;
mod body;
mod call;
mod challenge;
mod challenge_view;
mod chat;
mod command;
mod connection;
mod door;
mod errands;
mod export;
mod failure;
mod faults;
mod form;
mod gathering;
mod glicko;
mod id;
mod limits;
mod lookup;
mod open;
mod options;
mod outage;
mod pairing;
mod pairs;
mod personal;
mod presence;
mod quirks;
mod referee;
mod rematch;
mod round;
mod routes;
mod script;
mod selection;
mod server;
mod settlement;
mod sparring;
mod stream;
mod team;
mod ties;
mod time;
mod users;
mod variant;
mod view;
mod wire;
mod world;

pub use arena::ArenaOptions;
pub use challenge::DeclineReason;
pub use command::{SimArgs, run_command};
pub use faults::{Endpoint, Fault, Faults, Latency, Rule, Skew, StreamFault, Visit};
pub use options::{NewUser, SimOptions, TimeControl};
pub use quirks::{
    Absent, Castling, ChatLog, ClaimWin, Flags, Limiter, PlayingStatus, Quirk, Quirks,
};
pub use script::{Script, ScriptError};
pub use sparring::{ColorChoice, GameSummary, Habits, Kind, Plan, Quit, Sparring, Talk};
pub use team::NewTeam;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::serve::{self, ServerLimits};
use connection::Doors;
use id::UserId;
use sparring::{Resident, Thinkers};
use time::TimeSource;
use world::World;

/// Who may connect: two thousand bots with two streams and a request each, with the times of the proxy in front of Lichess,
/// on the wall.
const SERVER_LIMITS: ServerLimits = ServerLimits {
    max_connections: 6_000,
    head_timeout: Duration::from_secs(60),
    stall_timeout: Duration::from_secs(60),
};

/// What open connections get to finish when the process ends: wall time, whatever time the site keeps.
const FAREWELL: Duration = Duration::from_secs(2);
/// Between two rounds of housekeeping, in the site's time.
const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// How much of everything a site has in mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    pub accounts: usize,
    /// Those that are done with are kept for three hours of the site's time.
    pub challenges: usize,
    /// Those that are on, and those that are kept.
    pub games: usize,
    pub games_on: usize,
    /// Event and game streams that are open.
    pub streams: usize,
}

/// A handle to one simulated Lichess; clones are the same site.
#[derive(Clone)]
pub struct Sim(Arc<Shared>);

struct Shared {
    time: TimeSource,
    world: Mutex<World>,
    faults: Faults,
    /// Something was shown in a game.
    moved: Arc<Notify>,
    finished: watch::Sender<usize>,
    thinkers: Thinkers,
    moving_in: mpsc::UnboundedSender<Resident>,
    /// Taken by whoever serves the site.
    newcomers: Mutex<Option<mpsc::UnboundedReceiver<Resident>>>,
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
        let moved = Arc::new(Notify::new());
        let faults = Faults::new(options.seed);
        for rule in &options.faults {
            faults.add(rule.clone());
        }
        let world = World::new(options, finished.clone(), moved.clone(), time.now());
        let (moving_in, newcomers) = mpsc::unbounded_channel();
        Self(Arc::new(Shared {
            time,
            world: Mutex::new(world),
            faults,
            moved,
            finished,
            thinkers: Thinkers::default(),
            moving_in,
            newcomers: Mutex::new(Some(newcomers)),
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
        let newcomers = self
            .0
            .newcomers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut newcomers =
            newcomers.ok_or_else(|| io::Error::other("this site is served only once"))?;
        self.world().base = format!("http://{address}");

        let (close, closing) = oneshot::channel::<()>();
        let app = server::router(self.clone());
        let server = serve::serve(Doors(listener), app, SERVER_LIMITS, async {
            // A sender that is gone means the same.
            let _ = closing.await;
        });
        let mut server = std::pin::pin!(server);
        let mut stop = std::pin::pin!(stop);
        let mut faults = std::pin::pin!(self.keep_fault_clock());
        let mut residents = JoinSet::new();
        let mut next_tick = self.time().now() + HOUSEKEEPING;
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = &mut server => return Ok(()),
                () = &mut faults => {}
                Some(newcomer) = newcomers.recv() => {
                    residents.spawn(newcomer.live(self.clone()));
                }
                Some(left) = residents.join_next() => {
                    if let Err(error) = left {
                        tracing::error!("a sparring user is gone: {error}");
                    }
                }
                () = self.errand_due() => self.world().run_errands(self.time().now()),
                () = self.time().sleep_until(next_tick) => {
                    let now = self.time().now();
                    next_tick = now + HOUSEKEEPING;
                    self.world().tick(now);
                }
            }
        }
        residents.shutdown().await;
        self.world().close();
        let _ = close.send(());
        // Who keeps his connection open all the same is cut off with the process.
        let _ = tokio::time::timeout(FAREWELL, server).await;
        Ok(())
    }

    /// The personal token of a user: `lip_` and the lower-cased name.
    pub fn token_of(&self, name: &str) -> String {
        token_of(name)
    }

    /// The API for a server of this process, on which every call is this user's.
    pub fn door_of(&self, name: &str) -> axum::Router {
        door::router(self.clone(), name)
    }

    /// Makes a further token for a user, with these scopes only. Without such a user nothing happens.
    pub fn add_token(&self, token: &str, name: &str, scopes: &[&str]) {
        let mut world = self.world();
        if let Some(id) = world.user_by_name(name).map(|user| user.id.clone()) {
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            world.add_token(token.to_owned(), id, scopes);
        }
    }

    /// Where tests plant their faults.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Breaks streams that are open now: those of this user, or of all; those of this game, or all and the event
    /// streams too.
    pub fn cut(&self, user: Option<&str>, game: Option<&str>, how: StreamFault) {
        self.world().cut(user, game, [game.is_none(), true], how);
    }

    /// Adds a built-in user that plays by itself while the site is served; makes the account if there is none. One that
    /// lives here already stays as he is.
    pub fn spar(&self, sparring: Sparring) {
        for each in sparring.each() {
            let resident = Resident::new(each, &mut self.world(), self.time().now());
            if let Some(resident) = resident {
                // Nobody receives any more when the site is no longer served.
                let _ = self.0.moving_in.send(resident);
            }
        }
    }

    /// Announces an arena; gives its id.
    ///
    /// # Errors
    /// A sentence that says why it makes no sense.
    pub fn arena(&self, options: &ArenaOptions) -> Result<String, String> {
        let now = self.time().now();
        let id = self.world().add_arena(options, now)?;
        Ok(id.to_string())
    }

    /// Makes a team.
    pub fn team(&self, team: NewTeam) {
        let now = self.time().now();
        self.world().add_team(team, now);
    }

    /// How much there is of everything.
    pub fn census(&self) -> Census {
        self.world().census()
    }

    /// The games that are over, as many as are kept, and then those that are on.
    pub fn games(&self) -> Vec<GameSummary> {
        self.world().summaries(self.time().now())
    }

    /// The games that are over without the first so many of them, in the order in which they ended, and how many there
    /// were in all. Of those that are no longer kept none is shown.
    pub fn finished_after(&self, first: usize) -> (Vec<GameSummary>, usize) {
        self.world().finished_after(first, self.time().now())
    }

    /// How many games are over, as it changes.
    pub fn finished(&self) -> watch::Receiver<usize> {
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

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn thinkers(&self) -> &Thinkers {
        &self.0.thinkers
    }
}
