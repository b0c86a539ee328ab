//! One method per endpoint. The only file that knows the HTTP library.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::{StreamExt, TryStreamExt};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use url::{Host, Url};

use super::error::{Error, Refusal};
use super::model::{
    Challenge, ChallengeId, Challenges, ChatLine, DeclineReason, FromLine, GameId, GameInfo,
    NewChallenge, Room, TokenInfo, User, UserStatus, Username, clip,
};
use super::retry::{Gate, Kind};
use super::stream::{EventStream, GameStream, Ndjson};
use super::token::Token;

/// How long an ordinary request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a move may take before it is asked again whether it was played.
const MOVE_PATIENCE: Duration = Duration::from_secs(2);

/// The most that is read of an answer. The longest, 500 bots online, is about 1 MB.
const LARGEST_ANSWER: usize = 16 << 20;

/// The most that is read of a refusal.
const LARGEST_REFUSAL: usize = 64 << 10;

/// The longest line of chat, in the units in which the server counts.
const LONGEST_CHAT: usize = 140;

/// Where Lichess is: `https://lichess.org`, or any other address with any path before `/api`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    base: Url,
    ca_file: Option<PathBuf>,
}

/// Why an address cannot be that of a Lichess.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("`{0}` is not an address such as https://lichess.org ({1})")]
    NotAnUrl(String, url::ParseError),
    #[error(
        "`{0}` would send the token unencrypted; only https is possible, and http to this machine itself"
    )]
    Unencrypted(String),
    #[error("the address must not contain a user name or password")]
    Credentials,
    #[error("`{0}` must end after the path, without ? or #")]
    Trailing(String),
}

impl Endpoint {
    /// Checks an address. Without encryption only this machine itself can be talked to.
    ///
    /// # Errors
    /// When it is no http or https address, not encrypted though elsewhere, or has parts that make no sense here.
    pub fn parse(address: &str) -> Result<Self, EndpointError> {
        let base = Url::parse(address.trim())
            .map_err(|error| EndpointError::NotAnUrl(clip(address, 80), error))?;
        Self::new(base)
    }

    /// The same, of an address that is already parsed.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn new(base: Url) -> Result<Self, EndpointError> {
        if !base.username().is_empty() || base.password().is_some() {
            return Err(EndpointError::Credentials);
        }
        let shown = || clip(base.as_str(), 80);
        match base.scheme() {
            "https" => {}
            "http" if is_loopback(&base) => {}
            "http" => return Err(EndpointError::Unencrypted(shown())),
            _ => {
                return Err(EndpointError::NotAnUrl(
                    shown(),
                    url::ParseError::RelativeUrlWithoutBase,
                ));
            }
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(EndpointError::Trailing(shown()));
        }
        Ok(Self {
            base,
            ca_file: None,
        })
    }

    /// Trusts the certificates of a PEM file beside those of the machine.
    pub fn with_ca_file(mut self, file: Option<PathBuf>) -> Self {
        self.ca_file = file;
        self
    }

    pub fn base(&self) -> &Url {
        &self.base
    }

    fn is_plain(&self) -> bool {
        self.base.scheme() == "http"
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.as_str().trim_end_matches('/'))
    }
}

/// Our line to Lichess, for one account. Clones share the connections.
///
/// Nothing is retried here; [`super::retry`] says what to do after a failure. Requests and streams have connections of
/// their own. Moves wait for nothing: no pause, no turn, no lock. Of questions, of challenges and of chat there is one at
/// a time, as Lichess asks.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    user_agent: HeaderValue,
}

struct Shared {
    base: Url,
    token: Token,
    authorization: HeaderValue,
    requests: Lane,
    streams: Lane,
    gate: Mutex<Gate>,
    turns: Turns,
}

/// One at a time.
#[derive(Default)]
struct Turns {
    chat: tokio::sync::Mutex<()>,
    challenge: tokio::sync::Mutex<()>,
    query: tokio::sync::Mutex<()>,
}

impl Turns {
    fn of(&self, kind: Kind) -> Option<&tokio::sync::Mutex<()>> {
        match kind {
            Kind::Chat => Some(&self.chat),
            Kind::Challenge => Some(&self.challenge),
            Kind::Query => Some(&self.query),
            Kind::Move | Kind::Command | Kind::Answer | Kind::EventStream | Kind::GameStream => {
                None
            }
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
            .field("base", &self.shared.base.as_str())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client for the owner of `token`, by `name` if it is known yet. Connects when it is used.
    ///
    /// # Errors
    /// When the certificates to trust cannot be read. Plain http needs none.
    pub fn new(endpoint: &Endpoint, token: Token, name: Option<&str>) -> Result<Self, Error> {
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", token.reveal()))
            .expect("a token is visible ASCII");
        authorization.set_sensitive(true);
        let roots = match &endpoint.ca_file {
            Some(file) => certificates(file)?,
            None => Vec::new(),
        };
        let lane =
            |build: fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder| -> Result<Lane, Error> {
                let set = || {
                    let common = connections(endpoint.is_plain(), &roots);
                    build(common)
                        .build()
                        .map_err(|error| Error::Setup(chain(&error)))
                };
                Ok(Lane {
                    sets: [set()?, set()?],
                    current: AtomicUsize::new(0),
                })
            };
        let shared = Shared {
            base: endpoint.base.clone(),
            token,
            authorization,
            requests: lane(|common| {
                common
                    // Longer than most moves take to think about, so that the answer finds an open connection.
                    .pool_idle_timeout(Duration::from_secs(300))
                    .http2_keep_alive_interval(Duration::from_secs(10))
                    .http2_keep_alive_timeout(Duration::from_secs(4))
                    .http2_keep_alive_while_idle(true)
            })?,
            streams: lane(|common| {
                common
                    .pool_idle_timeout(Duration::from_secs(10))
                    .http2_keep_alive_interval(Duration::from_secs(5))
                    .http2_keep_alive_timeout(Duration::from_secs(3))
            })?,
            gate: Mutex::default(),
            turns: Turns::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            user_agent: user_agent(name),
        })
    }

    /// The same client, which now says whose it is. Lichess compares the name with the owner of the token.
    pub fn named(&self, username: &Username) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            user_agent: user_agent(Some(username.as_str())),
        }
    }

    // ---- the account

    /// Who we are.
    pub async fn account(&self) -> Result<User, Error> {
        self.question(self.get(&["api", "account"])).await
    }

    /// What our token may do; nothing when Lichess does not know it.
    pub async fn token_test(&self) -> Result<Option<TokenInfo>, Error> {
        let token = self.shared.token.reveal();
        let request = self
            .anonymous(Method::POST, &["api", "token", "test"])
            .header(CONTENT_TYPE, "text/plain")
            .body(token.to_owned());
        let body = self.send(Kind::Query, PATIENCE, request).await?;
        let mut answer: HashMap<String, Option<TokenInfo>> = serde_json::from_slice(&body)
            .map_err(|_| Error::Decode("the answer to a token test".to_owned()))?;
        Ok(answer.remove(token).flatten())
    }

    /// Our games that are on, at most `nb` (1 to 50), the most urgent first.
    pub async fn playing(&self, nb: u32) -> Result<Vec<GameInfo>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Playing {
            now_playing: Vec<GameInfo>,
        }
        let request = self
            .get(&["api", "account", "playing"])
            .query(&[("nb", nb.clamp(1, 50))]);
        Ok(self.question::<Playing>(request).await?.now_playing)
    }

    /// Makes the account a bot account. Cannot be undone.
    pub async fn upgrade(&self) -> Result<(), Error> {
        self.command(
            Kind::Command,
            self.post(&["api", "bot", "account", "upgrade"]),
        )
        .await
    }

    // ---- streams

    /// Opens the account's stream, which closes the one before it. It may be silent for as long as `silence`, see
    /// [`super::retry::Reopen::silence`]; so may the opening.
    pub async fn events(&self, silence: Duration) -> Result<EventStream, Error> {
        self.open(Kind::EventStream, &["api", "stream", "event"], silence)
            .await
    }

    /// Opens a game's stream; as [`events`](Self::events).
    pub async fn game(&self, id: &GameId, silence: Duration) -> Result<GameStream, Error> {
        self.open(
            Kind::GameStream,
            &["api", "bot", "game", "stream", id.as_str()],
            silence,
        )
        .await
    }

    // ---- a game

    /// Plays a move, in UCI. The answer comes once the move was applied, or the flag had fallen; what counts is the
    /// game's stream. With `offering_draw` the offer is shown before the move is, and accepts the opponent's.
    pub async fn play(&self, id: &GameId, uci: &str, offering_draw: bool) -> Result<(), Error> {
        self.play_within(MOVE_PATIENCE, id, uci, offering_draw)
            .await
    }

    /// [`play`](Self::play) with another limit than two seconds.
    pub async fn play_within(
        &self,
        patience: Duration,
        id: &GameId,
        uci: &str,
        offering_draw: bool,
    ) -> Result<(), Error> {
        let mut request = self.in_game(id, &["move", uci]);
        if offering_draw {
            request = request.query(&[("offeringDraw", true)]);
        }
        self.send(Kind::Move, patience, request).await.map(drop)
    }

    /// Says something, cut to the 140 characters that are allowed.
    pub async fn chat(&self, id: &GameId, room: Room, text: &str) -> Result<(), Error> {
        let form = [("room", room.key()), ("text", cut(text))];
        self.command(Kind::Chat, self.in_game(id, &["chat"]).form(&form))
            .await
    }

    /// What was said between the players so far.
    pub async fn chat_log(&self, id: &GameId) -> Result<Vec<ChatLine>, Error> {
        let request = self.get(&["api", "bot", "game", id.as_str(), "chat"]);
        let body = self.send(Kind::Query, PATIENCE, request).await?;
        // An array from the server, a line for each in its documentation.
        if body.trim_ascii_start().starts_with(b"[") {
            decode(&body)
        } else {
            Ok(lines(&body))
        }
    }

    /// Ends a game that has not begun: fewer than two moves.
    pub async fn abort(&self, id: &GameId) -> Result<(), Error> {
        self.command(Kind::Command, self.in_game(id, &["abort"]))
            .await
    }

    /// Resigns, or aborts when that is still possible.
    pub async fn resign(&self, id: &GameId) -> Result<(), Error> {
        self.command(Kind::Command, self.in_game(id, &["resign"]))
            .await
    }

    /// Offers a draw, accepts one or claims one by threefold repetition; or declines. Succeeds even if nothing came of it.
    pub async fn draw(&self, id: &GameId, yes: bool) -> Result<(), Error> {
        self.command(Kind::Command, self.in_game(id, &["draw", yes_or_no(yes)]))
            .await
    }

    /// Proposes or accepts a takeback; or declines it. Succeeds even if nothing came of it.
    pub async fn takeback(&self, id: &GameId, yes: bool) -> Result<(), Error> {
        self.command(
            Kind::Command,
            self.in_game(id, &["takeback", yes_or_no(yes)]),
        )
        .await
    }

    /// Claims the win against an opponent who left. Only on the opponent's turn; the stream says whether it worked.
    pub async fn claim_victory(&self, id: &GameId) -> Result<(), Error> {
        self.command(Kind::Command, self.in_game(id, &["claim-victory"]))
            .await
    }

    /// Claims a draw against an opponent who left. Only on the opponent's turn.
    pub async fn claim_draw(&self, id: &GameId) -> Result<(), Error> {
        self.command(Kind::Command, self.in_game(id, &["claim-draw"]))
            .await
    }

    // ---- challenges

    /// The challenges that wait for an answer, ours and other people's.
    pub async fn challenges(&self) -> Result<Challenges, Error> {
        self.question(self.get(&["api", "challenge"])).await
    }

    /// One challenge.
    pub async fn show_challenge(&self, id: &ChallengeId) -> Result<Challenge, Error> {
        self.question::<Wrapped>(self.get(&["api", "challenge", id.as_str(), "show"]))
            .await
            .map(Wrapped::open)
    }

    /// Challenges somebody. A second one to the same user takes the first one's place, and nothing tells so. What comes
    /// back may differ from what was asked: `rated` above all.
    pub async fn challenge(
        &self,
        user: &Username,
        what: &NewChallenge,
    ) -> Result<Challenge, Error> {
        let request = self
            .post(&["api", "challenge", user.as_str()])
            .form(&what.form());
        let body = self.send(Kind::Challenge, PATIENCE, request).await?;
        decode(&body).map(Wrapped::open)
    }

    pub async fn accept(&self, id: &ChallengeId) -> Result<(), Error> {
        self.command(
            Kind::Answer,
            self.post(&["api", "challenge", id.as_str(), "accept"]),
        )
        .await
    }

    pub async fn decline(&self, id: &ChallengeId, reason: DeclineReason) -> Result<(), Error> {
        let request = self
            .post(&["api", "challenge", id.as_str(), "decline"])
            .form(&[("reason", reason.key())]);
        self.command(Kind::Answer, request).await
    }

    /// Takes a challenge back. One that is merely left alone can still be accepted for hours.
    pub async fn cancel(&self, id: &ChallengeId) -> Result<(), Error> {
        self.command(
            Kind::Answer,
            self.post(&["api", "challenge", id.as_str(), "cancel"]),
        )
        .await
    }

    // ---- others

    /// The bots that are online and have a bio, at most `nb` (1 to 512).
    pub async fn online_bots(&self, nb: u32) -> Result<Vec<User>, Error> {
        let request = self
            .get(&["api", "bot", "online"])
            .query(&[("nb", nb.clamp(1, 512))]);
        Ok(lines(&self.send(Kind::Query, PATIENCE, request).await?))
    }

    /// Who of these is there. Users that do not exist are left out.
    pub async fn users_status(&self, users: &[Username]) -> Result<Vec<UserStatus>, Error> {
        let mut all = Vec::with_capacity(users.len());
        for some in users.chunks(100) {
            let ids: Vec<String> = some.iter().map(Username::id).collect();
            let request = self
                .get(&["api", "users", "status"])
                .query(&[("ids", ids.join(","))]);
            all.extend(self.question::<Vec<UserStatus>>(request).await?);
        }
        Ok(all)
    }

    /// A user.
    pub async fn user(&self, name: &Username) -> Result<User, Error> {
        self.question(self.get(&["api", "user", name.as_str()]))
            .await
    }

    /// How long a small request takes, there and back. Any answer counts, a refusal too.
    pub async fn ping(&self) -> Result<Duration, Error> {
        let start = Instant::now();
        match self
            .send(
                Kind::Query,
                PATIENCE,
                self.anonymous(Method::GET, &["__ping"]),
            )
            .await
        {
            Ok(_) => Ok(start.elapsed()),
            Err(Error::Status(refusal)) if refusal.code < 500 => Ok(start.elapsed()),
            Err(error) => Err(error),
        }
    }

    // ---- how a request is made

    fn get(&self, path: &[&str]) -> Request {
        self.request(Method::GET, path, true)
    }

    fn post(&self, path: &[&str]) -> Request {
        self.request(Method::POST, path, true)
    }

    fn anonymous(&self, method: Method, path: &[&str]) -> Request {
        self.request(method, path, false)
    }

    fn in_game(&self, id: &GameId, rest: &[&str]) -> Request {
        let path: Vec<&str> = ["api", "bot", "game", id.as_str()]
            .iter()
            .chain(rest)
            .copied()
            .collect();
        self.post(&path)
    }

    fn request(&self, method: Method, path: &[&str], with_token: bool) -> Request {
        let set = self.shared.requests.current();
        Request {
            set,
            builder: self.build(&self.shared.requests.sets[set], method, path, with_token),
        }
    }

    fn build(
        &self,
        set: &reqwest::Client,
        method: Method,
        path: &[&str],
        with_token: bool,
    ) -> RequestBuilder {
        let mut url = self.shared.base.clone();
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

    async fn question<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        decode(&self.send(Kind::Query, PATIENCE, request).await?)
    }

    /// Sends what is answered by `{"ok":true}`. Any success will do, whatever its body.
    async fn command(&self, kind: Kind, request: Request) -> Result<(), Error> {
        self.send(kind, PATIENCE, request).await.map(drop)
    }

    /// Sends a request and reads the answer, all within `patience`.
    async fn send(&self, kind: Kind, patience: Duration, request: Request) -> Result<Bytes, Error> {
        let deadline = tokio::time::Instant::now() + patience;
        let _turn = match self.shared.turns.of(kind) {
            Some(turn) => Some(
                tokio::time::timeout_at(deadline, turn.lock())
                    .await
                    .map_err(|_| Error::Timeout(patience))?,
            ),
            None => None,
        };
        self.pass_gate(kind)?;
        let exchange = async {
            let response = request.builder.send().await.map_err(broken)?;
            if response.status().is_success() {
                read(response, LARGEST_ANSWER).await
            } else {
                Err(refusal(response).await)
            }
        };
        match tokio::time::timeout_at(deadline, exchange).await {
            Ok(Err(Error::Status(refusal))) => {
                self.note(kind, &refusal);
                Err(Error::Status(refusal))
            }
            Ok(answer) => answer,
            Err(_) => {
                self.shared.requests.distrust(request.set);
                Err(Error::Timeout(patience))
            }
        }
    }

    async fn open<T: FromLine>(
        &self,
        kind: Kind,
        path: &[&str],
        silence: Duration,
    ) -> Result<Ndjson<T>, Error> {
        let set = self.shared.streams.current();
        let request = self.build(&self.shared.streams.sets[set], Method::GET, path, true);
        let opening = async {
            let response = request.send().await.map_err(broken)?;
            if response.status().is_success() {
                Ok(response)
            } else {
                Err(refusal(response).await)
            }
        };
        match timeout(silence, opening).await {
            Ok(Ok(response)) => {
                let bytes = response
                    .bytes_stream()
                    .map_err(|error| chain(&error))
                    .boxed();
                let shared = Arc::clone(&self.shared);
                Ok(Ndjson::new(bytes, silence).on_silence(move || shared.streams.distrust(set)))
            }
            Ok(Err(error)) => {
                if let Error::Status(refusal) = &error {
                    self.note(kind, refusal);
                }
                Err(error)
            }
            Err(_) => {
                self.shared.streams.distrust(set);
                Err(Error::Timeout(silence))
            }
        }
    }

    fn pass_gate(&self, kind: Kind) -> Result<(), Error> {
        if kind == Kind::Move {
            return Ok(());
        }
        match self.gate().closed_for(kind, Instant::now()) {
            Some(left) => Err(Error::Paused(kind, left)),
            None => Ok(()),
        }
    }

    fn note(&self, kind: Kind, refusal: &Refusal) {
        if refusal.code == 429 {
            self.gate().refused(kind, refusal, Instant::now());
        }
    }

    fn gate(&self) -> std::sync::MutexGuard<'_, Gate> {
        self.shared
            .gate
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request, and the set of connections that it goes over.
struct Request {
    set: usize,
    builder: RequestBuilder,
}

impl Request {
    fn query(self, query: &(impl serde::Serialize + ?Sized)) -> Self {
        Self {
            builder: self.builder.query(query),
            ..self
        }
    }

    fn form(self, form: &(impl serde::Serialize + ?Sized)) -> Self {
        Self {
            builder: self.builder.form(form),
            ..self
        }
    }

    fn header(self, name: reqwest::header::HeaderName, value: &'static str) -> Self {
        Self {
            builder: self.builder.header(name, value),
            ..self
        }
    }

    fn body(self, body: String) -> Self {
        Self {
            builder: self.builder.body(body),
            ..self
        }
    }
}

/// A challenge, alone or inside an object as older servers send it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wrapped {
    Inside { challenge: Box<Challenge> },
    Flat(Box<Challenge>),
}

impl Wrapped {
    fn open(self) -> Challenge {
        match self {
            Self::Inside { challenge } | Self::Flat(challenge) => *challenge,
        }
    }
}

fn connections(plain: bool, roots: &[reqwest::Certificate]) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        // The token goes nowhere but where it was sent.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(15));
    if plain {
        // Only this machine itself is talked to in plain http: no proxy, and no certificates, which it may not have.
        builder.no_proxy().tls_certs_only([])
    } else {
        builder.tls_certs_merge(roots.iter().cloned())
    }
}

fn certificates(file: &Path) -> Result<Vec<reqwest::Certificate>, Error> {
    let fault =
        |why: String| Error::Setup(format!("the certificate file {}: {why}", file.display()));
    let pem = std::fs::read(file).map_err(|error| fault(error.to_string()))?;
    let roots =
        reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| fault(chain(&error)))?;
    if roots.is_empty() {
        Err(fault("no certificate in it".to_owned()))
    } else {
        Ok(roots)
    }
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

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// The beginning of a text that is short enough to be said.
fn cut(text: &str) -> &str {
    let mut units = 0;
    let too_far = |c: char| {
        units += c.len_utf16();
        units > LONGEST_CHAT
    };
    let end = text.find(too_far).unwrap_or(text.len());
    &text[..end]
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| {
        Error::Decode(format!(
            "{error}: {}",
            clip(&String::from_utf8_lossy(body), 120)
        ))
    })
}

/// Every line that can be read.
fn lines<T: DeserializeOwned>(body: &[u8]) -> Vec<T> {
    body.split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
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
    let _ = timeout(Duration::from_millis(500), reading).await;
    Error::Status(Refusal::read(code, retry_after.as_deref(), &body))
}

/// A failure below HTTP.
fn broken(error: reqwest::Error) -> Error {
    Error::Network {
        connecting: error.is_connect(),
        detail: chain(&error.without_url()),
    }
}

/// An error with everything that caused it, without what one cause repeats of the next.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    clip(&text, 300)
}
