//! The wire to Lichess: endpoints, streams, retries; knows nothing about bots.
//!
//! [`Client`] has a method for each endpoint. [`EventStream`] and [`GameStream`] are the two NDJSON streams as typed
//! events. [`retry`] decides what to do after a failure, and never does it itself.

mod api;
mod client;
mod endpoint;
mod error;
pub mod model;
mod reopen;
pub mod retry;
mod stream;
mod tally;
#[cfg(test)]
mod tests;
mod token;

pub use api::{MOVE_PATIENCE, Playing, decode};
pub use client::Client;
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Error, RateLimit, Refusal};
pub use stream::{
    EventStream, GameLines, GameStream, LONGEST_LINE, LastHeard, Line, Lines, Ndjson, StreamError,
    Told,
};
pub use tally::{Fate, Tally};
pub use token::{
    CREDENTIALS_VARIABLE, Token, TokenError, TokenFault, is_credential, readable_by_others,
    without_prefixed, without_tokens,
};
