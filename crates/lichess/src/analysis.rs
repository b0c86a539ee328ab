//! External engines: registration with Lichess, and the broker that hands out positions of analysis boards.

use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::endpoint::Endpoint;
use super::error::Error;
use super::retry::RequestKind;

/// Time limit of waiting for a position; the broker answers after about 10 s without one.
const POLL_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit of an analysis.
const ANALYSIS_TIMEOUT: Duration = Duration::from_secs(3600);

/// Description of an engine by its provider.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineRegistration {
    /// Name on the analysis board, 3 to 200 characters.
    pub name: String,
    /// Upper limit of threads that a board can ask for.
    pub max_threads: usize,
    /// Upper limit of the hash in MiB that a board can ask for.
    pub max_hash: usize,
    /// Variants in the names of UCI.
    pub variants: Vec<String>,
    /// Secret that the broker knows the provider by, 16 to 1024 characters.
    pub provider_secret: String,
}

/// An engine that is registered.
#[derive(Clone, Debug, Deserialize)]
pub struct RegisteredEngine {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A position to analyze.
#[derive(Clone, Debug, Deserialize)]
pub struct Analysis {
    /// Id of the analysis.
    pub id: String,
    /// The position and the limits.
    pub work: AnalysisWork,
}

/// Position and limits of an analysis; without a limit it ends when the board has gone.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnalysisWork {
    /// Number of lines, 1 to 5.
    pub multi_pv: Option<usize>,
    /// Variant in the name of UCI.
    pub variant: Option<String>,
    /// FEN of the start.
    pub initial_fen: String,
    /// Moves from there, in UCI.
    #[serde(default)]
    pub moves: Vec<String>,
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Positions.
    pub nodes: Option<u64>,
    /// Time in milliseconds.
    pub movetime: Option<u64>,
}

impl Client {
    /// The registered engines of our account. Needs the scope `engine:read`.
    pub async fn external_engines(&self) -> Result<Vec<RegisteredEngine>, Error> {
        self.query(self.get(&["api", "external-engine"])).await
    }

    /// Registers an engine, or changes the one with this id. Needs the scope `engine:write`.
    pub async fn register_engine(
        &self,
        id: Option<&str>,
        registration: &EngineRegistration,
    ) -> Result<RegisteredEngine, Error> {
        let request = match id {
            Some(id) => self.put(&["api", "external-engine", id]),
            None => self.post(&["api", "external-engine"]),
        };
        self.query(request.json(registration)).await
    }

    /// Removes an engine. Needs the scope `engine:write`.
    pub async fn remove_engine(&self, id: &str) -> Result<(), Error> {
        self.post_ok(
            RequestKind::Query,
            self.delete(&["api", "external-engine", id]),
        )
        .await
    }

    /// Creates a client of the broker, over connections of its own.
    ///
    /// # Errors
    /// When the CA file cannot be read, or TLS cannot be set up.
    pub fn broker(&self, endpoint: &Endpoint) -> Result<Broker, Error> {
        self.without_token(endpoint).map(Broker)
    }
}

/// Client of the broker between analysis boards and providers. Its requests carry no token.
#[derive(Debug)]
pub struct Broker(Client);

impl Broker {
    /// The next position for the engines with this secret, if there is one within some seconds.
    pub async fn next_analysis(&self, provider_secret: &str) -> Result<Option<Analysis>, Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Acquire<'a> {
            provider_secret: &'a str,
        }
        let request = self.0.post(&["api", "external-engine", "work"]);
        let request = request.json(&Acquire { provider_secret });
        let body = self
            .0
            .send(RequestKind::Query, POLL_TIMEOUT, request)
            .await?;
        match body.is_empty() {
            true => Ok(None),
            false => super::decode(&body).map(Some),
        }
    }

    /// Sends the engine's lines as they come. Returns when they end, or when the board has gone.
    pub async fn send_analysis(
        &self,
        id: &str,
        lines: impl Stream<Item = Bytes> + Send + 'static,
    ) -> Result<(), Error> {
        let request = self.0.post(&["api", "external-engine", "work", id]);
        let request = request.stream(lines);
        let sent = self.0.send(RequestKind::Query, ANALYSIS_TIMEOUT, request);
        sent.await.map(drop)
    }
}
