//! HTTP side of the simulator: connections, routing, authentication, rate limits, handlers and NDJSON streams.

pub(super) mod as_user;
pub(super) mod auth;
pub(super) mod connection;
pub(super) mod error;
mod handlers;
pub(super) mod limits;
pub(super) mod params;
mod route;
pub(super) mod server;
pub(super) mod stream;
