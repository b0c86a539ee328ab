//! Provider for Lichess's analysis board: the operator selects our engine there, and it analyses here.
//!
//! Games come first. An analysis uses the engine like pondering: it runs only while no game is thinking, and goes on
//! afterwards.

mod analysis;

use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use tracing::{debug, error, info, warn};

use crate::backoff::Backoff;
use crate::clock;
use crate::engine::Engine;
use crate::lichess::retry::{self, RequestKind, Retry};
use crate::lichess::{Client, EngineRegistration, Error};

/// Name on the analysis board.
const NAME: &str = "Knightwatch";

/// Length of the secret in bytes.
const SECRET_BYTES: usize = 32;

/// Delays after failures of the broker.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// The provider of an account.
pub struct Provider {
    /// Registers the engine.
    pub client: Client,
    /// Client of the broker.
    pub broker: Client,
    /// The engine, which the games use too.
    pub engine: Engine,
    /// Threads of the engine.
    pub threads: usize,
}

impl Provider {
    /// Registers the engine and analyses what boards ask for. Returns when Lichess refuses the registration.
    pub async fn run(self) {
        let Some(secret) = secret() else {
            error!("no analysis for the board: the system has no random numbers");
            return;
        };
        if let Err(error) = self.register(&secret).await {
            error!(
                "no analysis for the board: Lichess refused to register the engine: {error}; the token needs the scopes \
                 engine:read and engine:write, or set engine.provider = false"
            );
            return;
        }
        info!("the engine is on the analysis board of our account, as {NAME}");
        let mut failures = 0;
        loop {
            match self.broker.next_analysis(&secret).await {
                Ok(analysis) => {
                    failures = 0;
                    if let Some(analysis) = analysis {
                        debug!(id = analysis.id, "analysis");
                        analysis::run(&self.broker, &self.engine, analysis).await;
                    }
                }
                Err(error) => {
                    let wait = BACKOFF.delay(failures);
                    match failures {
                        0 => warn!(
                            "no positions of the analysis board: {error}; trying again in {wait:.0?}"
                        ),
                        _ => debug!(
                            "no positions of the analysis board: {error}; trying again in {wait:.0?}"
                        ),
                    }
                    failures = failures.saturating_add(1);
                    clock::sleep(wait).await;
                }
            }
        }
    }

    /// Registers the engine, or gives the one of this name the new secret.
    async fn register(&self, secret: &str) -> Result<(), Error> {
        let registration = EngineRegistration {
            name: NAME.to_owned(),
            max_threads: self.threads.max(1),
            max_hash: self.engine.hash_mib().max(1),
            variants: vec!["chess".to_owned()],
            provider_secret: secret.to_owned(),
        };
        let mut failures = 0;
        loop {
            let attempt = async {
                let engines = self.client.external_engines().await?;
                let known = engines.iter().find(|engine| engine.name == NAME);
                let id = known.map(|engine| engine.id.as_str());
                self.client.register_engine(id, &registration).await
            };
            let Err(error) = attempt.await else {
                return Ok(());
            };
            // An outage may last; only a refusal is final.
            let is_refused = retry::decide(RequestKind::Query, &error, 0) == Retry::GiveUp
                && error.lichess_error().is_some();
            if is_refused {
                return Err(error);
            }
            let wait = BACKOFF.delay(failures);
            debug!("the engine is not registered yet: {error}; trying again in {wait:.0?}");
            failures = failures.saturating_add(1);
            clock::sleep(wait).await;
        }
    }
}

/// A new secret; the registration gets it at every start.
fn secret() -> Option<String> {
    let mut bytes = [0; SECRET_BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
