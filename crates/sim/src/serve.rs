//! Serving of a site: HTTP, built-in players, timed work and faults.

use std::future::{Future, pending};
use std::io;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use knightwatch_serve::{self as serve, ServerLimits};

use crate::faults::SiteAction;
use crate::http::connection::ConnectionListener;
use crate::http::{as_user, server};
use crate::players::BuiltinPlayer;
use crate::sim::Sim;

/// Limits of connections: enough for two thousand bots with two streams and a request each. The timeouts are those of
/// the proxy in front of Lichess, in wall time.
const CONNECTION_LIMITS: ServerLimits = ServerLimits {
    max_connections: 6_000,
    reserved_for_local: 0,
    // Every bot of a host may come from one address.
    max_connections_per_address: usize::MAX,
    head_timeout: Duration::from_secs(60),
    stall_timeout: Duration::from_secs(60),
    // An engine on the analysis board may be silent for long.
    body_timeout: None,
};

/// Time for open connections to finish at shutdown, in wall time.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of periodic work, in the site's time.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

impl Sim {
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
        let mut new_players = self
            .take_new_players()
            .ok_or_else(|| io::Error::other("this site is already being served"))?;
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
        let mut next_tick = self.now() + TICK_INTERVAL;
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = &mut server => return Ok(()),
                () = &mut faults => {}
                Some(player) = new_players.recv() => {
                    builtin_players.spawn(BuiltinPlayer::new(player, self.seed()).run(self.clone()));
                }
                Some(left) = builtin_players.join_next() => {
                    if let Err(error) = left {
                        tracing::error!("a built-in player is gone: {error}");
                    }
                }
                () = self.scheduled_action_due() => self.state().run_scheduled_actions(self.now()),
                () = self.time().sleep_until(next_tick) => {
                    let now = self.now();
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

    /// Returns the API as a router in which every request is authenticated as this user.
    pub fn router_as(&self, name: &str) -> axum::Router {
        as_user::router(self.clone(), name)
    }

    /// Applies timed faults when they are due. Never returns.
    async fn run_site_faults(&self) {
        loop {
            let time = self.time().elapsed();
            let games = if self.faults().waits_for_ply() {
                self.state().progress()
            } else {
                Vec::new()
            };
            for action in self.faults().due_actions(time, &games) {
                self.apply_site_action(action);
            }
            let next = self.faults().next_due(time);
            let timer = async {
                match next {
                    // The time may have been advanced since it was read.
                    Some(next) => self.time().sleep_until(self.time().at(next)).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = timer => {}
                () = self.faults().changed() => {}
                () = self.game_changed().notified() => {}
            }
        }
    }

    fn apply_site_action(&self, action: SiteAction) {
        tracing::debug!("scheduled fault: {action:?}");
        let now = self.now();
        let mut state = self.state();
        match action {
            SiteAction::Restart { downtime, streams } => {
                state.go_down(now + downtime, streams, now);
            }
            SiteAction::BreakStreams {
                events,
                games,
                user,
                game,
                fault,
            } => state.break_streams(user.as_deref(), game.as_deref(), [events, games], fault),
            SiteAction::Pair { players, clock } => {
                state.pair(players.each_ref().map(String::as_str), clock, &[], now);
            }
            SiteAction::Skew(skew) => state.outage.set_skew(skew, now),
            SiteAction::Castling(castling) => state.rounds.set_castling(castling),
        }
    }

    /// Waits until an action is due and the site is up.
    async fn scheduled_action_due(&self) {
        loop {
            let (next, added) = self.state().schedule.next();
            let timer = async {
                match next {
                    Some(at) => self.time().sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = timer => return self.wait_until_up().await,
                () = added.notified() => {}
            }
        }
    }
}
