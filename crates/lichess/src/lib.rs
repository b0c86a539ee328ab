//! Client of the Lichess Bot API: requests, streams and the retry policy. Knows nothing about bots.
//!
//! [`Client`] has a method for each endpoint. [`EventStream`] and [`GameStream`] are the two NDJSON streams as typed
//! events. [`retry`] says what to do after a failure; the caller does it.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod analysis;
mod api;
mod client;
mod endpoint;
mod error;
pub mod model;
mod reconnect;
mod request_counts;
mod request_kind;
pub mod retry;
mod stream;
#[cfg(test)]
mod tests;
mod token;

pub use analysis::{Analysis, AnalysisWork, Broker, EngineRegistration, RegisteredEngine};
pub use api::{MAX_CHAT_UTF16_UNITS, MOVE_TIMEOUT, Playing, decode};
pub use client::{Client, install_tls_provider, root_cause, web_client_builder};
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Error, ErrorResponse, RateLimit};
pub use reconnect::{Disconnect, ReconnectPolicy};
pub use request_counts::{Outcome, RequestCounts};
pub use stream::{
    EventStream, ExportStream, GameStream, LastActivity, Line, LineSplitter, MAX_LINE_BYTES,
    Ndjson, Raw, RawGameStream, StreamError,
};
pub use token::{Token, TokenError, TokenFault, redact_prefixed_tokens, redact_tokens};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
