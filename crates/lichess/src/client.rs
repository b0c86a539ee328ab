//! HTTP client: connections, authorization and rate-limit pauses. The only file of this crate that uses the HTTP library;
//! the endpoints are in [`super::api`].

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, TryStreamExt};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use tokio::time::timeout_at;
use tracing::warn;

use super::endpoint::Endpoint;
use super::error::{Error, ErrorResponse};
use super::model::{FromLine, Username, clip};
use super::request_counts::RequestCounts;
use super::retry::{Gate, RequestKind};
use super::stream::Ndjson;
use super::token::Token;
use knightwatch_util::clock;
use knightwatch_util::input;
use knightwatch_util::sync::lock;

/// Upper limit of a response body, in bytes. The largest, 500 online bots, is about 1 MB.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// Upper limit of the body of an error response, in bytes.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Idle HTTP/1.1 connections that are kept open: enough for the moves of several games at once.
const MAX_IDLE_CONNECTIONS: usize = 16;

/// Client of one Lichess account. Clones share their connections, and so do the clients made by
/// [`with_token`](Self::with_token).
///
/// Nothing is retried here; [`super::retry`] says what to do after a failure. Requests and streams use separate
/// connections. Moves never wait for a pause or a lock. Lichess asks for one request at a time: queries, challenges, arena
/// requests and chat are sent one at a time each, all others at once, because a game or an answer waits for them.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    user_agent: HeaderValue,
}

struct Shared {
    transport: Arc<Transport>,
    /// Locked only for the time of a copy. Only the client of a broker has none.
    credentials: RwLock<Option<Credentials>>,
    gate: Mutex<Gate>,
    request_counts: RequestCounts,
}

/// A token and its header.
#[derive(Clone)]
struct Credentials {
    token: Token,
    authorization: HeaderValue,
}

impl From<Token> for Credentials {
    fn from(token: Token) -> Self {
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", token.reveal()))
            .expect("a token is visible ASCII");
        authorization.set_sensitive(true);
        Self {
            token,
            authorization,
        }
    }
}

/// Minimum time between two attempts to read the root certificates.
const MIN_CERTIFICATES_AGE: Duration = Duration::from_secs(60);

/// Connections, IP-wide pauses and locks, shared by all accounts of this process.
struct Transport {
    endpoint: Endpoint,
    requests: FailoverPool,
    streams: FailoverPool,
    /// When the root certificates were read.
    certificates_read_at: Mutex<Instant>,
    /// Pauses of all accounts.
    gate: Mutex<Gate>,
    locks: SerialLocks,
}

impl Transport {
    fn new(endpoint: &Endpoint) -> Result<Self, Error> {
        install_tls_provider();
        let (requests, streams) = http_clients(endpoint)?;
        Ok(Self {
            endpoint: endpoint.clone(),
            requests: FailoverPool::new(requests),
            streams: FailoverPool::new(streams),
            certificates_read_at: Mutex::new(clock::now()),
            gate: Mutex::default(),
            locks: SerialLocks::default(),
        })
    }

    /// Reads the root certificates again if the server's certificate was not accepted: a system may have got new ones since
    /// the program was started.
    fn on_network_error(&self, error: &Error) {
        if !error.is_certificate_rejection() {
            return;
        }
        let mut read_at = lock(&self.certificates_read_at);
        if clock::since(*read_at) < MIN_CERTIFICATES_AGE {
            return;
        }
        *read_at = clock::now();
        match http_clients(&self.endpoint) {
            Ok((requests, streams)) => {
                self.requests.replace(requests);
                self.streams.replace(streams);
            }
            Err(error) => warn!("cannot read the root certificates again: {error}"),
        }
    }
}

/// Clients for requests and for streams, two each.
fn http_clients(
    endpoint: &Endpoint,
) -> Result<([reqwest::Client; 2], [reqwest::Client; 2]), Error> {
    let certificates = match endpoint.ca_file() {
        Some(file) => certificates(file)?,
        None => Vec::new(),
    };
    let pair = |build: fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder| {
        let build_one = || {
            let builder = http_client_builder(endpoint.is_plain(), &certificates)
                .http2_keep_alive_interval(seconds(5))
                .http2_keep_alive_timeout(seconds(3));
            build(builder).build().map_err(|error| {
                Error::Setup(format!(
                    "{}. Install the package ca-certificates",
                    root_cause(&error)
                ))
            })
        };
        Ok::<_, Error>([build_one()?, build_one()?])
    };
    let requests = pair(|builder| {
        builder
            // Longer than most moves take, so that the next request finds an open connection.
            .pool_idle_timeout(seconds(300))
            .http2_keep_alive_while_idle(true)
    })?;
    let streams = pair(|builder| builder.pool_idle_timeout(seconds(10)))?;
    Ok((requests, streams))
}

/// One lock for each kind of request that is sent one at a time.
#[derive(Default)]
struct SerialLocks {
    chat: tokio::sync::Mutex<()>,
    challenge: tokio::sync::Mutex<()>,
    arena: tokio::sync::Mutex<()>,
    query: tokio::sync::Mutex<()>,
}

impl SerialLocks {
    fn of(&self, kind: RequestKind) -> Option<&tokio::sync::Mutex<()>> {
        match kind {
            RequestKind::Chat => Some(&self.chat),
            RequestKind::Challenge => Some(&self.challenge),
            RequestKind::Arena => Some(&self.arena),
            RequestKind::Query | RequestKind::User => Some(&self.query),
            RequestKind::Move
            | RequestKind::Command
            | RequestKind::Offer
            | RequestKind::Claim
            | RequestKind::Answer
            | RequestKind::Withdrawal
            | RequestKind::EventStream
            | RequestKind::GameStream => None,
        }
    }
}

/// Two connection pools, one of which is in use. All requests of an HTTP/2 pool share a connection. If it dies silently,
/// they would all fail until its pings do; so after a timeout the other pool is used.
struct FailoverPool {
    pools: RwLock<[reqwest::Client; 2]>,
    current: AtomicUsize,
}

impl FailoverPool {
    fn new(pools: [reqwest::Client; 2]) -> Self {
        Self {
            pools: RwLock::new(pools),
            current: AtomicUsize::new(0),
        }
    }

    /// Replaces both pools. Open streams and requests stay on the old ones.
    fn replace(&self, pools: [reqwest::Client; 2]) {
        *self.pools.write().unwrap_or_else(PoisonError::into_inner) = pools;
    }

    fn client(&self, pool: usize) -> reqwest::Client {
        self.pools.read().unwrap_or_else(PoisonError::into_inner)[pool].clone()
    }

    fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Switches to the other pool after a timeout on `pool`. Only the first of several timeouts switches.
    fn fail_over(&self, pool: usize) {
        let _ = self
            .current
            .compare_exchange(pool, 1 - pool, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.shared.transport.endpoint.base().as_str())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client for the owner of `token`; `name` goes into the `User-Agent`. Connects on first use.
    ///
    /// # Errors
    /// When the CA file cannot be read, or TLS cannot be set up.
    pub fn new(endpoint: &Endpoint, token: Token, name: Option<&str>) -> Result<Self, Error> {
        let transport = Transport::new(endpoint)?;
        Ok(Self::on(Arc::new(transport), Some(token), user_agent(name)))
    }

    /// Creates a client of another server, whose requests carry no token.
    pub(super) fn without_token(&self, endpoint: &Endpoint) -> Result<Self, Error> {
        let transport = Transport::new(endpoint)?;
        Ok(Self::on(Arc::new(transport), None, self.user_agent.clone()))
    }

    /// Creates a client for another account over the same connections, so that both share the limits per IP address.
    pub fn with_token(&self, token: Token) -> Self {
        let transport = Arc::clone(&self.shared.transport);
        Self::on(transport, Some(token), user_agent(None))
    }

    fn on(transport: Arc<Transport>, token: Option<Token>, user_agent: HeaderValue) -> Self {
        let shared = Shared {
            transport,
            credentials: RwLock::new(token.map(Credentials::from)),
            gate: Mutex::default(),
            request_counts: RequestCounts::default(),
        };
        Self {
            shared: Arc::new(shared),
            user_agent,
        }
    }

    /// The same client with this user name in its `User-Agent`. Lichess compares it with the owner of the token.
    pub fn named(&self, username: &Username) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            user_agent: user_agent(Some(username.as_str())),
        }
    }

    /// The counts of requests by kind and outcome.
    pub fn request_counts(&self) -> &RequestCounts {
        &self.shared.request_counts
    }

    /// The kinds of request that are paused by a 429 of Lichess, and the time left.
    pub fn pauses(&self) -> Vec<(RequestKind, Duration)> {
        let now = clock::now();
        let left = |kind: RequestKind| {
            let transport = lock(&self.shared.transport.gate).lichess_pause(kind, now);
            Some((kind, self.gate().lichess_pause(kind, now).max(transport)?))
        };
        RequestKind::ALL.into_iter().filter_map(left).collect()
    }

    /// The time left of a pause that a proxy in front of Lichess asked for.
    pub fn proxy_pause(&self) -> Option<Duration> {
        lock(&self.shared.transport.gate).proxy_pause(clock::now())
    }

    /// Pauses a kind of request, for example to restore a pause after a restart.
    pub fn pause(&self, kind: RequestKind, wait: Duration) {
        self.gate().pause(kind, wait, clock::now());
    }

    /// The token.
    pub fn token(&self) -> Token {
        let credentials = self.credentials();
        credentials.expect("only a broker has no token").token
    }

    /// Uses another token of the same account from now on, in all clones. Open streams stay open.
    pub fn set_token(&self, token: Token) {
        let credentials = &self.shared.credentials;
        *credentials.write().unwrap_or_else(PoisonError::into_inner) = Some(token.into());
    }

    fn credentials(&self) -> Option<Credentials> {
        let credentials = self.shared.credentials.read();
        credentials.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn get(&self, path: &[&str]) -> Request {
        self.request(Method::GET, path, true)
    }

    pub(super) fn post(&self, path: &[&str]) -> Request {
        self.request(Method::POST, path, true)
    }

    pub(super) fn put(&self, path: &[&str]) -> Request {
        self.request(Method::PUT, path, true)
    }

    pub(super) fn delete(&self, path: &[&str]) -> Request {
        self.request(Method::DELETE, path, true)
    }

    pub(super) fn get_without_token(&self, path: &[&str]) -> Request {
        self.request(Method::GET, path, false)
    }

    pub(super) fn post_without_token(&self, path: &[&str]) -> Request {
        self.request(Method::POST, path, false)
    }

    /// A request whose response is a stream, over the connections of streams.
    pub(super) fn get_stream(&self, path: &[&str]) -> Request {
        self.request_over(&self.shared.transport.streams, Method::GET, path, true)
    }

    fn request(&self, method: Method, path: &[&str], with_token: bool) -> Request {
        self.request_over(&self.shared.transport.requests, method, path, with_token)
    }

    fn request_over(
        &self,
        pools: &FailoverPool,
        method: Method,
        path: &[&str],
        with_token: bool,
    ) -> Request {
        let pool = pools.current();
        let builder = self.build(&pools.client(pool), method, path, with_token);
        Request {
            pool,
            builder,
            past_pauses: false,
            unqueued: false,
        }
    }

    fn build(
        &self,
        pool: &reqwest::Client,
        method: Method,
        path: &[&str],
        with_token: bool,
    ) -> RequestBuilder {
        let mut url = self.shared.transport.endpoint.base().clone();
        url.path_segments_mut()
            .expect("http addresses have a path")
            .pop_if_empty()
            .extend(path);
        let builder = pool
            .request(method, url)
            .header(USER_AGENT, &self.user_agent);
        match self.credentials().filter(|_| with_token) {
            Some(credentials) => builder.header(AUTHORIZATION, credentials.authorization),
            None => builder,
        }
    }

    /// Sends a request and reads the response, all within `timeout`.
    pub(super) async fn send(
        &self,
        kind: RequestKind,
        timeout: Duration,
        request: Request,
    ) -> Result<Bytes, Error> {
        let outcome = self.exchange(kind, timeout, request).await;
        self.shared.request_counts.record(kind, &outcome);
        outcome
    }

    async fn exchange(
        &self,
        kind: RequestKind,
        timeout: Duration,
        request: Request,
    ) -> Result<Bytes, Error> {
        let deadline = clock::wall_deadline(timeout);
        let lock = self.shared.transport.locks.of(kind);
        let _lock = match lock.filter(|_| !request.unqueued) {
            Some(lock) => Some(
                timeout_at(deadline, lock.lock())
                    .await
                    .map_err(|_| Error::Queued(timeout))?,
            ),
            None => None,
        };
        if !request.past_pauses {
            self.pass_gate(kind)?;
        }
        let exchange = async {
            let response = request.builder.send().await.map_err(network_error)?;
            if response.status().is_success() {
                read(response, MAX_RESPONSE_BYTES).await
            } else {
                Err(read_error_response(response).await)
            }
        };
        match timeout_at(deadline, exchange).await {
            Ok(Err(Error::Status(error))) => {
                self.record_limit(kind, &error);
                Err(Error::Status(error))
            }
            Ok(Err(error)) => {
                self.shared.transport.on_network_error(&error);
                Err(error)
            }
            Ok(result) => result,
            Err(_) => {
                // For other requests the HTTP/2 pings decide. A slow response to a query must not cost the next move
                // its warm connection.
                if kind == RequestKind::Move {
                    self.shared.transport.requests.fail_over(request.pool);
                }
                Err(Error::Timeout(timeout))
            }
        }
    }

    /// Sends a query and returns the `Date` header of the response.
    pub(super) async fn date(
        &self,
        timeout: Duration,
        request: Request,
    ) -> Result<Option<String>, Error> {
        self.pass_gate(RequestKind::Query)?;
        let answer = clock::timeout(timeout, request.builder.send()).await;
        let response = answer
            .map_err(|_| Error::Timeout(timeout))?
            .map_err(network_error)?;
        let date = response.headers().get(DATE);
        Ok(date.and_then(|date| date.to_str().ok()).map(str::to_owned))
    }

    /// Opens a stream. Neither the response nor any gap between bytes may take longer than `silence`.
    pub(super) async fn open<T: FromLine>(
        &self,
        kind: RequestKind,
        request: Request,
        silence: Duration,
    ) -> Result<Ndjson<T>, Error> {
        let outcome = self.try_open(kind, request, silence).await;
        self.shared.request_counts.record(kind, &outcome);
        outcome
    }

    async fn try_open<T: FromLine>(
        &self,
        kind: RequestKind,
        request: Request,
        silence: Duration,
    ) -> Result<Ndjson<T>, Error> {
        let pool = request.pool;
        let opening = async {
            let response = request.builder.send().await.map_err(network_error)?;
            if response.status().is_success() {
                Ok(response)
            } else {
                Err(read_error_response(response).await)
            }
        };
        match clock::timeout(silence, opening).await {
            Ok(Ok(response)) => {
                let bytes = response
                    .bytes_stream()
                    .map_err(|error| root_cause(&error))
                    .boxed();
                let transport = Arc::clone(&self.shared.transport);
                Ok(Ndjson::new(bytes, silence)
                    .on_silence(move || transport.streams.fail_over(pool)))
            }
            Ok(Err(error)) => {
                match &error {
                    Error::Status(error) => self.record_limit(kind, error),
                    error => self.shared.transport.on_network_error(error),
                }
                Err(error)
            }
            Err(_) => {
                self.shared.transport.streams.fail_over(pool);
                Err(Error::Timeout(silence))
            }
        }
    }

    fn pass_gate(&self, kind: RequestKind) -> Result<(), Error> {
        if kind == RequestKind::Move {
            return Ok(());
        }
        match self.remaining_pause(kind) {
            Some(left) => Err(Error::Paused(kind, left)),
            None => Ok(()),
        }
    }

    /// The time left of a pause of this kind, for this account or for its IP address.
    pub fn remaining_pause(&self, kind: RequestKind) -> Option<Duration> {
        let now = clock::now();
        let transport = lock(&self.shared.transport.gate).remaining_pause(kind, now);
        self.gate().remaining_pause(kind, now).max(transport)
    }

    fn record_limit(&self, kind: RequestKind, error: &ErrorResponse) {
        if error.code != 429 {
            return;
        }
        let now = clock::now();
        match error.is_per_ip() {
            true => lock(&self.shared.transport.gate).on_error_response(kind, error, now),
            false => self.gate().on_error_response(kind, error, now),
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        lock(&self.shared.gate)
    }
}

/// A request and the connection pool it is sent over.
pub(super) struct Request {
    pool: usize,
    builder: RequestBuilder,
    /// Sends the request although its kind is paused.
    past_pauses: bool,
    /// Does not wait for other requests of its kind.
    unqueued: bool,
}

impl Request {
    pub(super) fn unqueued(self) -> Self {
        Self {
            unqueued: true,
            ..self
        }
    }

    pub(super) fn past_pauses(self) -> Self {
        Self {
            past_pauses: true,
            ..self
        }
    }

    pub(super) fn accept(self, media_type: &str) -> Self {
        let builder = self.builder.header(ACCEPT, media_type);
        Self { builder, ..self }
    }

    pub(super) fn query(self, query: &impl Serialize) -> Self {
        let builder = self.builder.query(query);
        Self { builder, ..self }
    }

    pub(super) fn form(self, form: &impl Serialize) -> Self {
        let builder = self.builder.form(form);
        Self { builder, ..self }
    }

    pub(super) fn json(self, body: &impl Serialize) -> Self {
        let builder = self.builder.json(body);
        Self { builder, ..self }
    }

    pub(super) fn stream(self, body: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        let body = reqwest::Body::wrap_stream(body.map(Ok::<_, Infallible>));
        let builder = self.builder.header(CONTENT_TYPE, "text/plain").body(body);
        Self { builder, ..self }
    }

    pub(super) fn text(self, body: &str) -> Self {
        let builder = self
            .builder
            .header(CONTENT_TYPE, "text/plain")
            .body(body.to_owned());
        Self { builder, ..self }
    }
}

/// Makes ring the cryptography of all TLS connections of the process, unless a provider is installed already. Needed before
/// a client of `reqwest` is built; [`Client::new`] does it.
pub fn install_tls_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A duration for the HTTP library, which does not know the scaled clock.
fn seconds(seconds: u64) -> Duration {
    clock::to_wall_clock(Duration::from_secs(seconds))
}

fn http_client_builder(
    plain: bool,
    certificates: &[reqwest::Certificate],
) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        // The token is sent to the configured host only.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(seconds(5))
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(15));
    if plain {
        // For this machine, or with lichess.insecure for one nearby: neither a proxy nor certificates are needed.
        builder.no_proxy().tls_certs_only([])
    } else {
        builder.tls_certs_merge(certificates.iter().cloned().chain(fallback_roots()))
    }
}

/// Builds clients for servers other than Lichess: with a time limit for a request, our name, and certificates also where
/// the system has none.
pub fn web_client_builder() -> reqwest::ClientBuilder {
    install_tls_provider();
    reqwest::Client::builder()
        .timeout(WEB_REQUEST_TIMEOUT)
        .tls_certs_merge(fallback_roots())
        .user_agent(concat!("knightwatch/", env!("CARGO_PKG_VERSION")))
}

/// Time limit of a request to a server other than Lichess.
const WEB_REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The root certificates of Mozilla, if the system has none: an image from scratch has no files but the program.
fn fallback_roots() -> Vec<reqwest::Certificate> {
    let is_configured = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if is_configured || !rustls_native_certs::load_native_certs().certs.is_empty() {
        return Vec::new();
    }
    webpki_root_certs::TLS_SERVER_ROOT_CERTS
        .iter()
        .filter_map(|root| reqwest::Certificate::from_der(root).ok())
        .collect()
}

/// Upper limit of a CA file, in bytes. The bundle of a whole system has a quarter of a megabyte.
const MAX_CA_FILE_BYTES: u64 = 16 << 20;

fn certificates(file: &Path) -> Result<Vec<reqwest::Certificate>, Error> {
    let invalid = |why: String| Error::CaFile {
        file: file.to_owned(),
        why,
    };
    let pem = input::read(file, MAX_CA_FILE_BYTES).map_err(|error| invalid(error.to_string()))?;
    let certificates =
        reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| invalid(root_cause(&error)))?;
    if certificates.is_empty() {
        return Err(invalid("there is no certificate in it".to_owned()));
    }
    // Bad certificates are reported only when they are used.
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only(certificates.iter().cloned())
        .build()
        .map_err(|error| invalid(root_cause(&error)))?;
    Ok(certificates)
}

/// `knightwatch/0.1.0 user:Name`. A name that is not a valid user name is left out.
fn user_agent(name: Option<&str>) -> HeaderValue {
    const PROGRAM: &str = concat!("knightwatch/", env!("CARGO_PKG_VERSION"));
    name.filter(|name| Username::is_valid(name))
        .and_then(|name| HeaderValue::try_from(format!("{PROGRAM} user:{name}")).ok())
        .unwrap_or(HeaderValue::from_static(PROGRAM))
}

/// Reads a body of up to `max_bytes` bytes.
async fn read(mut response: Response, max_bytes: usize) -> Result<Bytes, Error> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(network_error)? {
        if body.len() + chunk.len() > max_bytes {
            return Err(Error::Decode(format!("more than {max_bytes} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Reads an error response. Its body may be incomplete; the status is what counts.
async fn read_error_response(mut response: Response) -> Error {
    let code = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let mut body = BytesMut::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ERROR_BYTES {
                break;
            }
        }
    };
    // A body that never ends must not delay the error.
    let _ = clock::timeout(Duration::from_millis(500), reading).await;
    Error::Status(ErrorResponse::read(code, retry_after.as_deref(), &body))
}

/// An error below HTTP.
fn network_error(error: reqwest::Error) -> Error {
    Error::Network {
        connecting: error.is_connect(),
        detail: root_cause(&error.without_url()),
    }
}

/// The root cause of an error, in 300 characters at most. The causes above it only name the layers it passed.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    clip(&root.to_string(), 300)
}
