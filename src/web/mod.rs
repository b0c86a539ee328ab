//! What is served over HTTP on this machine: the page, what it shows, pictures of games, `/metrics` and `/healthz`.
//!
//! It runs on a thread of its own with a runtime of its own: nothing that plays ever waits for a page, however many are
//! open. It binds loopback addresses only, refuses requests that a foreign page has made a browser send, and lets only
//! those act who have its key, which stands in [`Page::url`] and lasts over restarts.

mod accounts;
mod actions;
mod assets;
mod auth;
mod convert;
mod history;
mod live_game;
mod pictures;
mod play_proxy;
mod records;
mod sse;
mod state;
mod wire;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State as Shared;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use tokio::sync::{broadcast, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::events::Event;
use crate::metrics::{Health, Metrics};
use crate::serve::{self, ServerLimits};
pub use actions::{ALL_ACTIONS, Actions};
pub use play_proxy::{ProxyRequest, ProxyResult, proxy};

use auth::Key;
use records::Records;
use sse::EventFeed;
use state::PageState;
use wire::PlayUser;

/// How Prometheus wants its text named.
const METRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Who may connect: some hundred windows, and nobody who says or takes nothing for long.
const CONNECTION_LIMITS: ServerLimits = ServerLimits {
    max_connections: 256,
    head_timeout: Duration::from_secs(10),
    stall_timeout: Duration::from_secs(30),
};

/// What is on its way gets this long when the page closes.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// What there is to be shown.
pub struct PageConfig {
    /// What happens, from now on.
    pub events: broadcast::Receiver<Arc<Event>>,
    /// How the bot is doing.
    pub metrics: Metrics,
    /// The file of the records, where they are kept.
    pub records: Option<PathBuf>,
    /// Where one can play against it, if anywhere.
    pub play: Option<PlaySite>,
    /// What it can be had do, if anything.
    pub actions: Option<Actions>,
    /// The file that keeps the key over a restart; without one the key is new at each start.
    pub key: Option<PathBuf>,
}

/// A site on which a person plays against the bot.
pub struct PlaySite {
    /// His name there.
    pub user: String,
    /// The site as he has it: its calls come in his name.
    pub site: Router,
}

/// The page, while it is open. Dropping it closes it.
#[derive(Debug)]
pub struct Page {
    address: SocketAddr,
    key: Key,
    closing: CancellationToken,
    closed: oneshot::Receiver<()>,
}

/// What every request may ask for.
#[derive(Clone)]
struct AppState {
    metrics: Metrics,
    feed: EventFeed,
    records: Records,
    key: Key,
}

impl Page {
    /// Opens the page on this address; port 0 takes a free one.
    ///
    /// # Errors
    /// When it is not one of this machine alone, or when somebody else has it.
    pub fn open(address: SocketAddr, parts: PageConfig) -> io::Result<Self> {
        let listener = bind(address)?;
        let address = listener.local_addr()?;
        let (key, closing) = (
            Key::load_or_create(parts.key.as_deref())?,
            CancellationToken::new(),
        );
        let (closed_sender, closed) = oneshot::channel();
        let server = serve(listener, parts, key.clone(), closing.clone());
        let run = move || {
            if let Err(error) = block_on(server) {
                warn!("the page on {address} is gone: {error}");
            }
            // Nobody may be waiting for it.
            let _ = closed_sender.send(());
        };
        thread::Builder::new().name("page".into()).spawn(run)?;
        Ok(Self {
            address,
            key,
            closing,
            closed,
        })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it is, with the key: who opens this may do everything that the page can.
    pub fn url_with_key(&self) -> String {
        format!("{}#key={}", self.url_without_key(), self.key)
    }

    /// The same without the key: who opens this watches, and does nothing.
    pub fn url_without_key(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Ends all streams and closes the page.
    pub async fn close(mut self) {
        self.closing.cancel();
        // It ends with the process otherwise.
        let _ = timeout(2 * SHUTDOWN_TIMEOUT, &mut self.closed).await;
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let answered = [
        IpAddr::from(Ipv4Addr::LOCALHOST),
        Ipv6Addr::LOCALHOST.into(),
    ];
    if !answered.contains(&address.ip()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("nobody from outside may reach {address}; use 127.0.0.1 or [::1]"),
        ));
    }
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Runs this to its end; what it has started beside ends with it.
fn block_on(server: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(server);
    // A question to the records may still be under way.
    runtime.shutdown_background();
    served
}

/// Serves until `closing`, and follows what happens meanwhile.
async fn serve(
    listener: TcpListener,
    parts: PageConfig,
    key: Key,
    closing: CancellationToken,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|connection| {
        // Every change has to leave at once.
        if let Err(error) = connection.set_nodelay(true) {
            debug!("cannot set TCP_NODELAY: {error}");
        }
    });
    let guest = parts.play.as_ref().map(|play| PlayUser {
        user: play.user.clone(),
        show_engine: false,
    });
    let records = Records::new(parts.records);
    let enabled = parts
        .actions
        .as_ref()
        .map_or(&[][..], |actions| actions.enabled);
    let state = PageState::new(guest, records.are_available(), enabled);
    let feed = EventFeed::new(state, closing.clone());
    let state = AppState {
        metrics: parts.metrics.clone(),
        feed: feed.clone(),
        records: records.clone(),
        key: key.clone(),
    };
    let app = router(state, parts.play, parts.actions, key);
    let follow = feed.follow(parts.events, parts.metrics, records);
    let server = serve::serve(
        listener,
        app,
        CONNECTION_LIMITS,
        closing.clone().cancelled_owned(),
    );
    let overdue = async {
        closing.cancelled().await;
        // Who keeps a connection open all the same is cut off.
        sleep(SHUTDOWN_TIMEOUT).await;
    };
    tokio::select! {
        () = server => Ok(()),
        () = overdue => Ok(()),
        // The bot has ended; the page shows its last state until it is closed.
        () = async { follow.await; std::future::pending().await } => Ok(()),
    }
}

fn router(state: AppState, play: Option<PlaySite>, actions: Option<Actions>, key: Key) -> Router {
    let feed = state.feed.clone();
    let with_key = middleware::from_fn_with_state(key.clone(), auth::require_key);
    let own_key = Router::new()
        .route("/api/key", get(auth::check_key))
        .with_state(key);
    let show_engine = post(play_proxy::show_engine).route_layer(with_key.clone());
    let mut app = Router::new()
        .route("/metrics", get(metrics_text))
        .route("/healthz", get(health))
        .route("/events", get(events))
        .route("/api/games", get(history::games))
        .route("/api/games.pgn", get(history::download))
        .route("/api/stats", get(history::stats))
        .route("/api/game/{id}", get(pictures::game))
        .route("/game/{id}", get(pictures::board))
        .route("/game/{id}/graph.svg", get(pictures::graph))
        .route("/game/{id}/animated.svg", get(pictures::film))
        .route("/", get(assets::index))
        .route("/assets/{name}", get(assets::file))
        .route("/control/show-engine", show_engine)
        .with_state(state)
        .merge(own_key);
    if let Some(play) = play {
        let forward = middleware::from_fn_with_state(feed, play_proxy::forward);
        let site = play.site.layer(forward).layer(with_key.clone());
        app = app.nest_service("/play", site);
    }
    if let Some(actions) = actions {
        let actions = Router::new()
            .route("/control/{order}", post(actions::run))
            .with_state(actions)
            .route_layer(with_key);
        app = app.merge(actions);
    }
    app.layer(middleware::from_fn(auth::require_local))
}

async fn metrics_text(Shared(state): Shared<AppState>) -> Response {
    ([(CONTENT_TYPE, METRICS_CONTENT_TYPE)], state.metrics.text()).into_response()
}

/// 200 when all is well, 503 and why when somebody should look.
async fn health(Shared(state): Shared<AppState>) -> Response {
    match state.metrics.status().health {
        Health::Ok => (StatusCode::OK, "ok\n").into_response(),
        Health::Unhealthy { reason } => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response()
        }
    }
}

/// Everything and then what changes, as long as the reader stays.
async fn events(Shared(state): Shared<AppState>, headers: HeaderMap) -> Response {
    match state.feed.open(state.key.matches(&headers)) {
        Some(stream) => {
            let kind = [(CONTENT_TYPE, "text/event-stream")];
            (kind, Body::from_stream(stream)).into_response()
        }
        None => {
            let why = "too many pages are open: close some\n";
            (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_others_reach_are_refused() {
        for address in ["0.0.0.0:0", "[::]:0"] {
            let address = address.parse().expect("an address");
            assert!(bind(address).is_err(), "{address}");
        }
        assert!(bind("127.0.0.1:0".parse().expect("an address")).is_ok());
    }
}
