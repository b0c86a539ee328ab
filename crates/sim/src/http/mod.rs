//! HTTP side of the simulator: connections, routing, authentication, forms, handlers and the reading side of streams.

mod arena_form;
pub(super) mod as_user;
mod auth;
mod challenge_form;
pub(super) mod connection;
pub(super) mod error;
mod form;
mod game_filter;
mod handlers;
pub(super) mod params;
mod request;
mod route;
mod seek_form;
pub(super) mod server;
mod stream;
