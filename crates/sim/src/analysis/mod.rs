//! External engines for the analysis board: their registrations, and the broker between boards and providers.
//!
//! Lichess runs the broker on a host of its own; here it is part of the site.

pub(crate) mod broker;
mod emit;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::site::{ApiError, UserId};

/// Upper limit of registered engines of a user.
const MAX_ENGINES: usize = 64;

/// A registered engine.
#[derive(Clone, Debug)]
pub(crate) struct ExternalEngine {
    pub id: String,
    pub client_secret: String,
    pub user: UserId,
    pub registration: Registration,
}

/// Description of an engine by its provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Registration {
    name: String,
    max_threads: u32,
    max_hash: u32,
    variants: Vec<String>,
    pub provider_secret: String,
    provider_data: Option<String>,
}

impl Registration {
    /// Parses and checks the body of a request.
    pub(crate) fn read(body: &[u8]) -> Result<Self, ApiError> {
        let registration: Self = serde_json::from_slice(body)
            .map_err(|error| ApiError::bad_request(format!("Invalid Json: {error}")))?;
        let fits = (3..=200).contains(&registration.name.chars().count())
            && (1..=65_536).contains(&registration.max_threads)
            && (1..=1_048_576).contains(&registration.max_hash)
            && (16..=1_024).contains(&registration.provider_secret.len())
            && !registration.variants.is_empty();
        match fits {
            true => Ok(registration),
            false => Err(ApiError::bad_request("Invalid engine")),
        }
    }
}

impl ExternalEngine {
    pub(crate) fn json(&self) -> Value {
        let registration = &self.registration;
        json!({
            "id": self.id,
            "name": registration.name,
            "clientSecret": self.client_secret,
            "userId": self.user.as_str(),
            "maxThreads": registration.max_threads,
            "maxHash": registration.max_hash,
            "variants": registration.variants,
            "providerData": registration.provider_data,
        })
    }
}

/// The registered engines of all users.
#[derive(Debug, Default)]
pub(crate) struct ExternalEngines(Vec<ExternalEngine>);

impl ExternalEngines {
    pub(crate) fn of<'a>(&'a self, user: &'a UserId) -> impl Iterator<Item = &'a ExternalEngine> {
        self.0.iter().filter(move |engine| engine.user == *user)
    }

    /// The engine of this id, of any user.
    pub(crate) fn by_id(&self, id: &str) -> Option<&ExternalEngine> {
        self.0.iter().find(|engine| engine.id == id)
    }

    pub(crate) fn add(
        &mut self,
        user: &UserId,
        registration: Registration,
        rng: &mut fastrand::Rng,
    ) -> Result<&ExternalEngine, ApiError> {
        if self.of(user).count() >= MAX_ENGINES {
            return Err(ApiError::bad_request("Too many external engines"));
        }
        let mut random = |prefix: &str, length| -> String {
            let letters = std::iter::repeat_with(|| rng.alphanumeric()).take(length);
            prefix.chars().chain(letters).collect()
        };
        self.0.push(ExternalEngine {
            id: random("eei_", 12),
            client_secret: random("ees_", 32),
            user: user.clone(),
            registration,
        });
        self.0.last().ok_or_else(ApiError::not_found)
    }

    pub(crate) fn replace(
        &mut self,
        user: &UserId,
        id: &str,
        registration: Registration,
    ) -> Result<&ExternalEngine, ApiError> {
        let mut engines = self.0.iter_mut();
        let engine = engines
            .find(|engine| engine.id == id && engine.user == *user)
            .ok_or_else(ApiError::not_found)?;
        engine.registration = registration;
        Ok(engine)
    }

    pub(crate) fn remove(&mut self, user: &UserId, id: &str) -> Result<(), ApiError> {
        let at = self
            .0
            .iter()
            .position(|engine| engine.id == id && engine.user == *user);
        self.0.remove(at.ok_or_else(ApiError::not_found)?);
        Ok(())
    }
}
