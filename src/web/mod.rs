//! HTTP server of the web page: its files and API, pictures of games, `/metrics` and `/healthz`.
//!
//! It has its own thread and runtime, so that no game ever waits for a page. Requests from this machine may watch; requests
//! that change something, and all from other machines, need a key. Cross-origin requests are rejected.

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
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Extension, Router};
use tokio::sync::{broadcast, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use url::form_urlencoded;

use crate::events::Event;
use crate::metrics::{Health, Metrics};
use crate::serve::{self, ServerLimits};
pub use actions::{Actions, PageAction};
pub use play_proxy::{ProxyRequest, ProxyResult, proxy};

use auth::{Access, Keys, Rights};
pub use auth::{KeyError, KeySource, KeySources, RemoteAccess};
use records::Records;
use sse::EventFeed;
use state::PageState;
use wire::PlayUser;

/// Content type of the metrics.
const METRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Limits of the server.
const CONNECTION_LIMITS: ServerLimits = ServerLimits {
    max_connections: 256,
    reserved_for_local: 64,
    max_connections_per_address: 96,
    head_timeout: Duration::from_secs(10),
    stall_timeout: Duration::from_secs(30),
    body_timeout: Some(Duration::from_secs(30)),
};

/// Time for open requests to finish when the page closes.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Data sources and features of the page.
pub struct PageConfig {
    /// Events of the bot.
    pub events: broadcast::Receiver<Arc<Event>>,
    /// Metrics of the bot.
    pub metrics: Metrics,
    /// File of the records, if they are kept.
    pub records: Option<PathBuf>,
    /// Site on which a user can play against the bot, if any.
    pub play: Option<PlaySite>,
    /// Actions that the page offers, if any.
    pub actions: Option<Actions>,
    /// Rules for requests from other machines.
    pub remote_access: RemoteAccess,
}

/// Reasons why the page cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Other machines can reach the address, and no key is chosen.
    #[error("other machines can reach the address, so it needs a key: set web.key_file")]
    KeyNeeded,
    /// The address cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Keys {
    /// Checks whether the page may be opened on this address.
    fn check_address(&self, address: SocketAddr) -> Result<(), OpenError> {
        match address.ip().is_loopback() || self.answers_remote {
            true => Ok(()),
            false => Err(OpenError::KeyNeeded),
        }
    }
}

/// A site on which a user plays against the bot.
#[derive(Clone)]
pub struct PlaySite {
    /// Name of the user.
    pub user: String,
    /// API of the site on behalf of the user.
    pub site: Router,
}

/// The open page. Dropping it closes it.
#[derive(Debug)]
pub struct Page {
    address: SocketAddr,
    keys: Keys,
    closing: CancellationToken,
    closed: oneshot::Receiver<()>,
}

/// State shared by all handlers.
#[derive(Clone)]
struct AppState {
    metrics: Metrics,
    feed: EventFeed,
    records: Records,
}

impl Page {
    /// Checks whether the page can be opened on this address with the keys that are chosen.
    ///
    /// # Errors
    /// If a key cannot be used, or if other machines can reach the address and no key is chosen.
    pub fn check(address: SocketAddr, keys: &KeySources) -> Result<(), OpenError> {
        keys.load_chosen()?.check_address(address)
    }

    /// Opens the page on this address; port 0 selects a free port.
    ///
    /// # Errors
    /// If a key cannot be used, if the address is in use, or if other machines can reach it and no key is chosen.
    pub fn open(
        address: SocketAddr,
        keys: &KeySources,
        parts: PageConfig,
    ) -> Result<Self, OpenError> {
        let listener = Self::bind(address, keys)?;
        Ok(listener.serve(ClosedPage::start(parts)?)?)
    }

    /// Listens on this address; port 0 selects a free port.
    ///
    /// # Errors
    /// As those of [`open`](Self::open).
    pub fn bind(address: SocketAddr, keys: &KeySources) -> Result<PageListener, OpenError> {
        let keys = Keys::load(keys)?;
        keys.check_address(address)?;
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(PageListener { listener, keys })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL with the key, for watching and acting.
    pub fn url_with_key(&self) -> String {
        let key = self.keys.operate.to_string();
        // Browsers change some characters of a fragment.
        let key: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
        format!("{}#key={key}", self.url_without_key())
    }

    /// URL without the key, for watching only.
    pub fn url_without_key(&self) -> String {
        let mut address = self.address;
        match address {
            SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
                address.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
                address.set_ip(Ipv6Addr::LOCALHOST.into());
            }
            _ => {}
        }
        format!("http://{address}/")
    }

    /// Ends all streams and closes the page.
    pub async fn close(mut self) {
        self.closing.cancel();
        // After the timeout it ends with the process.
        let _ = timeout(2 * SHUTDOWN_TIMEOUT, &mut self.closed).await;
    }
}

/// The address of a page, which does not answer yet.
pub struct PageListener {
    listener: TcpListener,
    keys: Keys,
}

/// A page that is not open yet. It follows the events of the bot, so that it shows the present state when it opens.
pub struct ClosedPage {
    remote_access: RemoteAccess,
    opening: oneshot::Sender<Opening>,
    closing: CancellationToken,
    closed: oneshot::Receiver<()>,
}

/// All that is known only when a page opens.
struct Opening {
    listener: TcpListener,
    access: Access,
}

impl PageListener {
    /// Opens the page.
    ///
    /// # Errors
    /// If the address is not known, or the page has failed.
    pub fn serve(self, page: ClosedPage) -> io::Result<Page> {
        let Self { listener, keys } = self;
        let address = listener.local_addr()?;
        let opening = Opening {
            listener,
            access: Access::new(keys.clone(), page.remote_access),
        };
        let sent = page.opening.send(opening);
        sent.map_err(|_| io::Error::other("its thread has ended"))?;
        Ok(Page {
            address,
            keys,
            closing: page.closing,
            closed: page.closed,
        })
    }
}

impl ClosedPage {
    /// Starts to follow the events. Dropping it ends that.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(parts: PageConfig) -> io::Result<Self> {
        let closing = CancellationToken::new();
        let (opening, opened) = oneshot::channel();
        let (closed_sender, closed) = oneshot::channel();
        let remote_access = parts.remote_access.clone();
        let server = serve(opened, parts, closing.clone());
        let run = move || {
            if let Err(error) = block_on(server) {
                warn!("the page has closed: {error}");
            }
            // The receiver may have been dropped.
            let _ = closed_sender.send(());
        };
        thread::Builder::new().name("page".into()).spawn(run)?;
        Ok(Self {
            remote_access,
            opening,
            closing,
            closed,
        })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// Runs the server to its end on a runtime of its own; tasks that it has spawned are aborted.
fn block_on(server: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(server);
    // A query to the records may still be running.
    runtime.shutdown_background();
    served
}

/// Follows the events, and serves as soon as the page is opened, until `closing`.
async fn serve(
    opened: oneshot::Receiver<Opening>,
    parts: PageConfig,
    closing: CancellationToken,
) -> io::Result<()> {
    let play_user = parts.play.as_ref().map(|play| PlayUser {
        user: play.user.clone(),
        show_engine: false,
    });
    let records = Records::new(parts.records);
    let enabled = parts
        .actions
        .as_ref()
        .map_or(&[][..], |actions| actions.enabled);
    let state = PageState::new(play_user, records.are_available(), enabled);
    let feed = EventFeed::new(state, closing.clone());
    let state = AppState {
        metrics: parts.metrics.clone(),
        feed: feed.clone(),
        records: records.clone(),
    };
    let follow = feed.follow(parts.events, parts.metrics, records);
    let server = async {
        // Without a sender the page is never opened.
        let Ok(Opening { listener, access }) = opened.await else {
            return Ok(());
        };
        let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|connection| {
            // Events must be sent without delay.
            if let Err(error) = connection.set_nodelay(true) {
                debug!("cannot set TCP_NODELAY: {error}");
            }
        });
        let app = router(state, parts.play, parts.actions, access);
        let until = closing.clone().cancelled_owned();
        serve::serve(listener, app, CONNECTION_LIMITS, until).await;
        Ok(())
    };
    let overdue = async {
        closing.cancelled().await;
        // Connections that are still open are dropped.
        sleep(SHUTDOWN_TIMEOUT).await;
    };
    tokio::select! {
        served = server => served,
        () = overdue => Ok(()),
        // The bot has ended; the page shows its last state until it is closed.
        () = async { follow.await; std::future::pending().await } => Ok(()),
    }
}

fn router(
    state: AppState,
    play: Option<PlaySite>,
    actions: Option<Actions>,
    access: Access,
) -> Router {
    let feed = state.feed.clone();
    let with_key = middleware::from_fn(auth::require_key);
    let show_engine = post(play_proxy::show_engine).route_layer(with_key.clone());
    let mut app = Router::new()
        .route("/metrics", get(metrics_text))
        .route("/healthz", get(health))
        .route("/livez", get(liveness))
        .route("/readyz", get(readiness))
        .route("/api/key", get(auth::check_key))
        .route("/events", get(events))
        .route("/api/games", get(history::games))
        .route("/api/games.pgn", get(history::download))
        .route("/api/stats", get(history::stats))
        .route("/api/game/{id}", get(pictures::game))
        .route("/game/{id}", get(pictures::board))
        .route("/game/{id}/game.pgn", get(pictures::pgn))
        .route("/game/{id}/graph.svg", get(pictures::graph))
        .route("/game/{id}/animated.svg", get(pictures::animation))
        .route("/", get(assets::index))
        .route("/assets/{name}", get(assets::file))
        .route("/control/show-engine", show_engine)
        .with_state(state);
    if let Some(play) = play {
        let forward = middleware::from_fn_with_state(feed, play_proxy::forward);
        let site = play.site.layer(forward).layer(with_key.clone());
        app = app.nest_service("/play", site);
    }
    if let Some(actions) = actions {
        let actions = Router::new()
            .route("/control/{action}", post(actions::run))
            .with_state(actions)
            .route_layer(with_key);
        app = app.merge(actions);
    }
    app.layer(middleware::from_fn_with_state(
        Arc::new(access),
        auth::authorize,
    ))
}

async fn metrics_text(State(state): State<AppState>) -> Response {
    ([(CONTENT_TYPE, METRICS_CONTENT_TYPE)], state.metrics.text()).into_response()
}

/// `/healthz`: 200 and the warnings if healthy, else 503 and the reason.
async fn health(State(state): State<AppState>) -> Response {
    let status = state.metrics.status();
    match status.health {
        Health::Ok => {
            let warnings = status.warnings.iter();
            let warnings: String = warnings.map(|text| format!("warning: {text}\n")).collect();
            (StatusCode::OK, format!("ok\n{warnings}")).into_response()
        }
        Health::Unhealthy { reason } => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response()
        }
    }
}

/// `/livez`: 200 while the bot's main loop runs, else 503: a restart helps.
async fn liveness(State(state): State<AppState>) -> Response {
    probe(state.metrics.is_alive(), "the main loop does not run")
}

/// `/readyz`: 200 while the event stream of an account is open and new games are accepted, else 503.
async fn readiness(State(state): State<AppState>) -> Response {
    probe(
        state.metrics.is_ready(),
        "the bot is not connected, or takes no new games",
    )
}

fn probe(passed: bool, reason: &str) -> Response {
    match passed {
        true => (StatusCode::OK, "ok\n").into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

/// `/events`: a snapshot followed by changes, until the client disconnects.
async fn events(State(state): State<AppState>, Extension(rights): Extension<Rights>) -> Response {
    match state.feed.open(rights == Rights::Operate) {
        Some(stream) => {
            let kind = [(CONTENT_TYPE, "text/event-stream")];
            (kind, Body::from_stream(stream)).into_response()
        }
        None => {
            let error = "too many pages are open: close some\n";
            (StatusCode::SERVICE_UNAVAILABLE, error).into_response()
        }
    }
}
