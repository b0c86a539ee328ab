//! How requests and streams are sent, over which connections. The only file that knows the HTTP library; what is sent is
//! in [`super::api`].

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::{StreamExt, TryStreamExt};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, DATE, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use tokio::time::timeout_at;
use url::Url;

use super::endpoint::Endpoint;
use super::error::{Error, Refusal};
use super::model::{FromLine, Username, clip};
use super::retry::{Gate, Kind};
use super::stream::Ndjson;
use super::tally::Tally;
use super::token::Token;
use crate::{clock, input};

/// The most that is read of an answer. The longest, 500 bots online, is about 1 MB.
const LARGEST_ANSWER: usize = 16 << 20;

/// The most that is read of a refusal.
const LARGEST_REFUSAL: usize = 64 << 10;

/// Connections without a request that stay open, of those that carry one request at a time (HTTP/1.1): enough for the moves
/// of several games at once.
const MOST_IDLE: usize = 16;

/// Our line to Lichess, for one account. Clones share the connections, and so do [sisters](Self::sister).
///
/// Nothing is retried here; [`super::retry`] says what to do after a failure. Requests and streams have connections of
/// their own. Moves wait for nothing: no pause, no turn, no lock. Of questions, of challenges, of arenas and of chat there is one at
/// a time, as Lichess asks.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    user_agent: HeaderValue,
}

struct Shared {
    line: Arc<Line>,
    token: Token,
    authorization: HeaderValue,
    gate: Mutex<Gate>,
    tally: Tally,
}

/// What the accounts of one address have in common.
struct Line {
    base: Url,
    requests: Lane,
    streams: Lane,
    /// What pauses for all of them.
    gate: Mutex<Gate>,
    turns: Turns,
}

/// One at a time.
#[derive(Default)]
struct Turns {
    chat: tokio::sync::Mutex<()>,
    challenge: tokio::sync::Mutex<()>,
    arena: tokio::sync::Mutex<()>,
    query: tokio::sync::Mutex<()>,
}

impl Turns {
    fn of(&self, kind: Kind) -> Option<&tokio::sync::Mutex<()>> {
        match kind {
            Kind::Chat => Some(&self.chat),
            Kind::Challenge => Some(&self.challenge),
            Kind::Arena => Some(&self.arena),
            Kind::Query => Some(&self.query),
            Kind::Move
            | Kind::Command
            | Kind::Offer
            | Kind::Claim
            | Kind::Answer
            | Kind::Withdrawal
            | Kind::EventStream
            | Kind::GameStream => None,
        }
    }
}

/// Two sets of connections, one of which is in use. An HTTP/2 connection that is dead without saying so would take
/// every further request down with it until its pings fail; so after a timeout the other set is used.
struct Lane {
    sets: [reqwest::Client; 2],
    current: AtomicUsize,
}

impl Lane {
    fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// A request over this set was not answered in time. Only the first to notice changes over.
    fn distrust(&self, set: usize) {
        let _ = self
            .current
            .compare_exchange(set, 1 - set, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.shared.line.base.as_str())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client for the owner of `token`, by `name` if it is known yet. Connects when it is used.
    ///
    /// # Errors
    /// When the certificates to trust cannot be read. Plain http needs none.
    pub fn new(endpoint: &Endpoint, token: Token, name: Option<&str>) -> Result<Self, Error> {
        let roots = match endpoint.ca_file() {
            Some(file) => certificates(file)?,
            None => Vec::new(),
        };
        let lane =
            |build: fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder| -> Result<Lane, Error> {
                let set = || {
                    let common = connections(endpoint.is_plain(), &roots);
                    build(common).build().map_err(|error| {
                        Error::Setup(format!(
                            "{}. Install the package ca-certificates",
                            root(&error)
                        ))
                    })
                };
                Ok(Lane {
                    sets: [set()?, set()?],
                    current: AtomicUsize::new(0),
                })
            };
        let line = Line {
            base: endpoint.base().clone(),
            requests: lane(|common| {
                common
                    // Longer than most moves take to think about, so that the answer finds an open connection.
                    .pool_idle_timeout(seconds(300))
                    .http2_keep_alive_interval(seconds(5))
                    .http2_keep_alive_timeout(seconds(3))
                    .http2_keep_alive_while_idle(true)
            })?,
            streams: lane(|common| {
                common
                    .pool_idle_timeout(seconds(10))
                    .http2_keep_alive_interval(seconds(5))
                    .http2_keep_alive_timeout(seconds(3))
            })?,
            gate: Mutex::default(),
            turns: Turns::default(),
        };
        Ok(Self::on(Arc::new(line), token, name))
    }

    /// A client for the owner of another token, over the same connections: what Lichess asks of an address it asks of both
    /// together.
    pub fn sister(&self, token: Token) -> Self {
        Self::on(Arc::clone(&self.shared.line), token, None)
    }

    fn on(line: Arc<Line>, token: Token, name: Option<&str>) -> Self {
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", token.reveal()))
            .expect("a token is visible ASCII");
        authorization.set_sensitive(true);
        let shared = Shared {
            line,
            token,
            authorization,
            gate: Mutex::default(),
            tally: Tally::default(),
        };
        Self {
            shared: Arc::new(shared),
            user_agent: user_agent(name),
        }
    }

    /// The same client, which now says whose it is. Lichess compares the name with the owner of the token.
    pub fn named(&self, username: &Username) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            user_agent: user_agent(Some(username.as_str())),
        }
    }

    /// What became of the requests so far.
    pub fn tally(&self) -> &Tally {
        &self.shared.tally
    }

    /// Which kinds of request pause since a 429 of Lichess, and for how much longer.
    pub fn pauses(&self) -> Vec<(Kind, Duration)> {
        let now = clock::now();
        let left = |kind: Kind| {
            let line = open(&self.shared.line.gate).pause_of(kind, now);
            Some((kind, self.gate().pause_of(kind, now).max(line)?))
        };
        Kind::ALL.into_iter().filter_map(left).collect()
    }

    /// For how much longer all kinds of request pause that can, since a 429 of a proxy in front of Lichess.
    pub fn proxy_pause(&self) -> Option<Duration> {
        open(&self.shared.line.gate).proxy_pause(clock::now())
    }

    /// Holds a kind of request back for so long, as a 429 has asked for in an earlier life.
    pub fn pause(&self, kind: Kind, wait: Duration) {
        self.gate().pause(kind, wait, clock::now());
    }

    pub(super) fn token(&self) -> &Token {
        &self.shared.token
    }

    pub(super) fn get(&self, path: &[&str]) -> Request {
        self.request(Method::GET, path, true)
    }

    pub(super) fn post(&self, path: &[&str]) -> Request {
        self.request(Method::POST, path, true)
    }

    pub(super) fn get_anonymously(&self, path: &[&str]) -> Request {
        self.request(Method::GET, path, false)
    }

    pub(super) fn post_anonymously(&self, path: &[&str]) -> Request {
        self.request(Method::POST, path, false)
    }

    fn request(&self, method: Method, path: &[&str], with_token: bool) -> Request {
        let set = self.shared.line.requests.current();
        let builder = self.build(
            &self.shared.line.requests.sets[set],
            method,
            path,
            with_token,
        );
        Request {
            set,
            builder,
            past_pauses: false,
        }
    }

    fn build(
        &self,
        set: &reqwest::Client,
        method: Method,
        path: &[&str],
        with_token: bool,
    ) -> RequestBuilder {
        let mut url = self.shared.line.base.clone();
        url.path_segments_mut()
            .expect("http addresses have a path")
            .pop_if_empty()
            .extend(path);
        let builder = set
            .request(method, url)
            .header(USER_AGENT, &self.user_agent);
        if with_token {
            builder.header(AUTHORIZATION, &self.shared.authorization)
        } else {
            builder
        }
    }

    /// Sends a request and reads the answer, all within `patience`.
    pub(super) async fn send(
        &self,
        kind: Kind,
        patience: Duration,
        request: Request,
    ) -> Result<Bytes, Error> {
        let outcome = self.exchange(kind, patience, request).await;
        self.shared.tally.note(kind, &outcome);
        outcome
    }

    async fn exchange(
        &self,
        kind: Kind,
        patience: Duration,
        request: Request,
    ) -> Result<Bytes, Error> {
        let deadline = clock::wall_deadline(patience);
        let late = Error::Timeout(patience);
        let _turn = match self.shared.line.turns.of(kind) {
            Some(turn) => Some(
                timeout_at(deadline, turn.lock())
                    .await
                    .map_err(|_| late.clone())?,
            ),
            None => None,
        };
        if !request.past_pauses {
            self.pass_gate(kind)?;
        }
        let exchange = async {
            let response = request.builder.send().await.map_err(broken)?;
            if response.status().is_success() {
                read(response, LARGEST_ANSWER).await
            } else {
                Err(refusal(response).await)
            }
        };
        match timeout_at(deadline, exchange).await {
            Ok(Err(Error::Status(refusal))) => {
                self.note(kind, &refusal);
                Err(Error::Status(refusal))
            }
            Ok(answer) => answer,
            Err(_) => {
                // Others have time until the pings tell. Nor should a slow answer to a question cost the next move
                // its warm connection.
                if kind == Kind::Move {
                    self.shared.line.requests.distrust(request.set);
                }
                Err(late)
            }
        }
    }

    /// Sends a question and reads nothing of the answer but what time it was there, as the header has it.
    pub(super) async fn date(
        &self,
        patience: Duration,
        request: Request,
    ) -> Result<Option<String>, Error> {
        self.pass_gate(Kind::Query)?;
        let answer = clock::timeout(patience, request.builder.send()).await;
        let response = answer
            .map_err(|_| Error::Timeout(patience))?
            .map_err(broken)?;
        let date = response.headers().get(DATE);
        Ok(date.and_then(|date| date.to_str().ok()).map(str::to_owned))
    }

    /// Opens a stream, which may be silent for as long as `silence`; so may the opening.
    pub(super) async fn open<T: FromLine>(
        &self,
        kind: Kind,
        path: &[&str],
        silence: Duration,
    ) -> Result<Ndjson<T>, Error> {
        let outcome = self.try_open(kind, path, silence).await;
        self.shared.tally.note(kind, &outcome);
        outcome
    }

    async fn try_open<T: FromLine>(
        &self,
        kind: Kind,
        path: &[&str],
        silence: Duration,
    ) -> Result<Ndjson<T>, Error> {
        let set = self.shared.line.streams.current();
        let request = self.build(&self.shared.line.streams.sets[set], Method::GET, path, true);
        let opening = async {
            let response = request.send().await.map_err(broken)?;
            if response.status().is_success() {
                Ok(response)
            } else {
                Err(refusal(response).await)
            }
        };
        match clock::timeout(silence, opening).await {
            Ok(Ok(response)) => {
                let bytes = response
                    .bytes_stream()
                    .map_err(|error| root(&error))
                    .boxed();
                let line = Arc::clone(&self.shared.line);
                Ok(Ndjson::new(bytes, silence).on_silence(move || line.streams.distrust(set)))
            }
            Ok(Err(error)) => {
                if let Error::Status(refusal) = &error {
                    self.note(kind, refusal);
                }
                Err(error)
            }
            Err(_) => {
                self.shared.line.streams.distrust(set);
                Err(Error::Timeout(silence))
            }
        }
    }

    fn pass_gate(&self, kind: Kind) -> Result<(), Error> {
        if kind == Kind::Move {
            return Ok(());
        }
        match self.closed_for(kind, clock::now()) {
            Some(left) => Err(Error::Paused(kind, left)),
            None => Ok(()),
        }
    }

    /// How much longer a kind pauses, for this account or for its address.
    fn closed_for(&self, kind: Kind, now: Instant) -> Option<Duration> {
        let line = open(&self.shared.line.gate).closed_for(kind, now);
        self.gate().closed_for(kind, now).max(line)
    }

    fn note(&self, kind: Kind, refusal: &Refusal) {
        if refusal.code != 429 {
            return;
        }
        let now = clock::now();
        match refusal.is_of_address() {
            true => open(&self.shared.line.gate).refused(kind, refusal, now),
            false => self.gate().refused(kind, refusal, now),
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        open(&self.shared.gate)
    }
}

fn open(gate: &Mutex<Gate>) -> MutexGuard<'_, Gate> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request, and the set of connections that it goes over.
pub(super) struct Request {
    set: usize,
    builder: RequestBuilder,
    /// It is sent although its kind pauses.
    past_pauses: bool,
}

impl Request {
    pub(super) fn past_pauses(self) -> Self {
        Self {
            past_pauses: true,
            ..self
        }
    }

    pub(super) fn query(self, query: &impl Serialize) -> Self {
        let builder = self.builder.query(query);
        Self { builder, ..self }
    }

    pub(super) fn form(self, form: &impl Serialize) -> Self {
        let builder = self.builder.form(form);
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

/// For the HTTP library, which goes by the wall.
fn seconds(seconds: u64) -> Duration {
    clock::on_the_wall(Duration::from_secs(seconds))
}

fn connections(plain: bool, roots: &[reqwest::Certificate]) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        // The token goes nowhere but where it was sent.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(seconds(5))
        .pool_max_idle_per_host(MOST_IDLE)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(15));
    if plain {
        // Only this machine itself is talked to in plain http: no proxy, and no certificates, which it may not have.
        builder.no_proxy().tls_certs_only([])
    } else {
        builder.tls_certs_merge(roots.iter().cloned())
    }
}

/// The longest file of certificates, in bytes: those of a whole system are a quarter of a megabyte.
const LONGEST_CERTIFICATES: u64 = 16 << 20;

fn certificates(file: &Path) -> Result<Vec<reqwest::Certificate>, Error> {
    let fault = |why: String| Error::CaFile {
        file: file.to_owned(),
        why,
    };
    let pem = input::read(file, LONGEST_CERTIFICATES).map_err(|error| fault(error.to_string()))?;
    let roots = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| fault(root(&error)))?;
    if roots.is_empty() {
        return Err(fault("there is no certificate in it".to_owned()));
    }
    // What is inside of them is looked at only when they are used.
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only(roots.iter().cloned())
        .build()
        .map_err(|error| fault(root(&error)))?;
    Ok(roots)
}

/// `knightwatch/0.1.0 user:Name`. A name that cannot be one on Lichess is left out.
fn user_agent(name: Option<&str>) -> HeaderValue {
    const PROGRAM: &str = concat!("knightwatch/", env!("CARGO_PKG_VERSION"));
    let fits = |name: &&str| {
        (3..=31).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    name.filter(fits)
        .and_then(|name| HeaderValue::try_from(format!("{PROGRAM} user:{name}")).ok())
        .unwrap_or(HeaderValue::from_static(PROGRAM))
}

/// Reads a body up to `most` bytes.
async fn read(mut response: Response, most: usize) -> Result<Bytes, Error> {
    let mut body = BytesMut::new();
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        if body.len() + piece.len() > most {
            return Err(Error::Decode(format!("more than {most} bytes")));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body.freeze())
}

/// What the server said no with. As much of its body as comes; the status alone is enough.
async fn refusal(mut response: Response) -> Error {
    let code = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let mut body = BytesMut::new();
    let reading = async {
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > LARGEST_REFUSAL {
                break;
            }
        }
    };
    // A body that never ends must not keep back the news that the request was refused.
    let _ = clock::timeout(Duration::from_millis(500), reading).await;
    Error::Status(Refusal::read(code, retry_after.as_deref(), &body))
}

/// A failure below HTTP.
fn broken(error: reqwest::Error) -> Error {
    Error::Network {
        connecting: error.is_connect(),
        detail: root(&error.without_url()),
    }
}

/// What an error comes down to: its first cause. What lies between only says in which layer it was met.
fn root(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    clip(&root.to_string(), 300)
}
