//! Provider for Lichess's analysis board: the operator selects one of our engines there, and it analyzes here.
//!
//! Games come first. An analysis uses an engine like pondering: it runs only while no game is thinking, and goes on
//! afterwards.

mod analysis;
mod engines;
mod line_set;

use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use tracing::{debug, error, info, warn};

use crate::backoff::Backoff;
use crate::chess::Variant;
use crate::clock;
use crate::lichess::retry::{self, RequestKind, Retry};
use crate::lichess::{Broker, Client, EngineRegistration, Error};

pub use engines::{BoardEngine, Engines};

/// Name of the embedded engine on the analysis board. Those of other engines end with it.
const NAME: &str = "Knightwatch";

/// Length of the secret in bytes.
const SECRET_BYTES: usize = 32;

/// Interval of asking whether an engine has started.
const START_INTERVAL: Duration = Duration::from_millis(100);

/// Delays after failures of the broker, and of the registration.
const BROKER_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// The provider of an account.
pub struct Provider {
    /// Registers the engines.
    pub client: Client,
    /// All engines, which the games use too.
    pub engines: Engines,
    /// Those on the analysis board.
    pub offers: Vec<Offer>,
}

/// An engine on the analysis board.
pub struct Offer {
    pub engine: BoardEngine,
    /// Client of the broker, for this engine alone.
    pub broker: Broker,
    /// Threads of the engine.
    pub threads: usize,
    /// Size of its hash table, in MiB.
    pub hash_mib: usize,
    /// Rules that it is offered for, if it plays them.
    pub variants: Vec<Variant>,
}

impl Provider {
    /// Removes our engines that are no longer offered, registers the others, and analyzes what boards ask for. Returns when
    /// there is nothing to do, or Lichess refuses.
    pub async fn run(self) {
        let names: Vec<String> = self.offers.iter().map(Offer::name).collect();
        if let Err(error) = retried(|| self.remove_others(&names)).await {
            match names.is_empty() {
                // Without the scopes there never was an engine.
                true => debug!(
                    "cannot list the external engines of the account; the analysis board is not updated: \
                     {error}"
                ),
                false => refused(&error),
            }
            return;
        }
        let offers = self.offers.iter();
        futures::future::join_all(offers.map(|offer| self.serve(offer))).await;
    }

    /// Removes our engines of other names than these from the analysis board.
    async fn remove_others(&self, names: &[String]) -> Result<(), Error> {
        for engine in self.client.external_engines().await? {
            if is_ours(&engine.name) && !names.contains(&engine.name) {
                self.client.remove_engine(&engine.id).await?;
                info!("{} is no longer on the analysis board", engine.name);
            }
        }
        Ok(())
    }

    /// Registers an engine and analyzes what boards ask it for.
    async fn serve(&self, offer: &Offer) {
        let Some(secret) = secret() else {
            error!("no analysis for the board: the system has no random numbers");
            return;
        };
        let name = offer.name();
        let rules = offer.rules().await;
        if rules.is_empty() {
            return error!(
                "{name} plays none of its variants; it is not on the analysis board; correct `variants` of \
                 [[engine.external]]"
            );
        }
        if let Err(error) = retried(|| self.register(offer, &rules, &secret)).await {
            return refused(&error);
        }
        info!("an engine is on the analysis board of our account, as {name}");
        let mut failures = 0;
        loop {
            match offer.broker.next_analysis(&secret).await {
                Ok(analysis) => {
                    failures = 0;
                    if let Some(analysis) = analysis {
                        debug!(id = analysis.id, "analyzing a position for the board");
                        let (broker, engine) = (&offer.broker, &offer.engine);
                        analysis::run(&name, broker, engine, &self.engines, analysis).await;
                    }
                }
                Err(error) => {
                    let wait = BROKER_BACKOFF.delay(failures);
                    let failure = format!(
                        "cannot fetch positions from the analysis broker: {error}; retrying in {wait:.0?}"
                    );
                    match failures {
                        0 => warn!("{failure}"),
                        _ => debug!("{failure}"),
                    }
                    failures = failures.saturating_add(1);
                    clock::sleep(wait).await;
                }
            }
        }
    }

    /// Registers an engine, or gives the one of this name the new secret.
    async fn register(&self, offer: &Offer, rules: &[Variant], secret: &str) -> Result<(), Error> {
        let registration = EngineRegistration {
            name: offer.name(),
            max_threads: offer.threads.max(1),
            max_hash: offer.hash_mib.max(1),
            variants: rules.iter().map(|rules| rules.uci().to_owned()).collect(),
            provider_secret: secret.to_owned(),
        };
        let engines = self.client.external_engines().await?;
        let known = engines.iter().find(|it| it.name == registration.name);
        let id = known.map(|engine| engine.id.as_str());
        self.client.register_engine(id, &registration).await?;
        Ok(())
    }
}

impl Offer {
    /// The name on the analysis board.
    fn name(&self) -> String {
        match &self.engine {
            BoardEngine::Embedded(_) => NAME.to_owned(),
            BoardEngine::External(engine) => format!("{} ({NAME})", engine.name()),
        }
    }

    /// The rules that it is offered for and plays. Waits until the engine has started.
    async fn rules(&self) -> Vec<Variant> {
        let played = loop {
            match self.engine.rules() {
                Some(rules) => break rules,
                None => clock::sleep(START_INTERVAL).await,
            }
        };
        let (rules, missing): (Vec<Variant>, Vec<Variant>) = self
            .variants
            .iter()
            .partition(|rules| played.contains(rules));
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter().map(|rules| rules.name()).collect();
            warn!(
                "{} does not play {}; it is on the analysis board without",
                self.name(),
                names.join(", ")
            );
        }
        rules
    }
}

/// Returns whether an engine on the analysis board has a name that we give.
fn is_ours(name: &str) -> bool {
    name == NAME || name.ends_with(&format!(" ({NAME})"))
}

/// Repeats requests until they succeed or Lichess refuses: an outage may last.
async fn retried<F: Future<Output = Result<(), Error>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<(), Error> {
    let mut failures = 0;
    loop {
        let Err(error) = attempt().await else {
            return Ok(());
        };
        let is_refused = retry::decide(RequestKind::Query, &error, 0) == Retry::GiveUp
            && error.lichess_error().is_some();
        if is_refused {
            return Err(error);
        }
        let wait = BROKER_BACKOFF.delay(failures);
        debug!("the engine is not registered yet: {error}; retrying in {wait:.0?}");
        failures = failures.saturating_add(1);
        clock::sleep(wait).await;
    }
}

fn refused(error: &Error) {
    error!(
        "no analysis for the board: Lichess refused to register the engine: {error}; the token needs the scopes \
         engine:read and engine:write, or set provider = false"
    );
}

/// A new secret; the registration gets it at every start.
fn secret() -> Option<String> {
    let mut bytes = [0; SECRET_BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
