//! The site as one of its users has it in a browser on this machine: every call comes in his name.

use std::future::Future;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderValue;
use axum::http::header::{AUTHORIZATION, USER_AGENT};
use axum::middleware::{self, Next};
use axum::response::Response;

use crate::sim::Sim;
use crate::sim::http::connection::Connection;
use crate::sim::http::server;

/// The whole API, for a server to be mounted in. Whatever name a call gives itself, it is that user's; what breaks
/// connections on purpose does not reach it.
pub(in crate::sim) fn router(sim: Sim, name: &str) -> Router {
    let token = format!("Bearer {}", sim.token_of(name));
    // A name is made of letters, digits, `_` and `-`, so this is always a header.
    let token = HeaderValue::try_from(token).ok();
    server::router(sim).layer(middleware::from_fn(move |request: Request, next: Next| {
        authenticate_as(token.clone(), request, next)
    }))
}

fn authenticate_as(
    token: Option<HeaderValue>,
    mut request: Request,
    next: Next,
) -> impl Future<Output = Response> {
    let headers = request.headers_mut();
    headers.remove(AUTHORIZATION);
    // A browser's could name somebody else by chance.
    headers.remove(USER_AGENT);
    headers.extend(token.map(|token| (AUTHORIZATION, token)));
    let inside = ConnectInfo(Connection::in_process());
    request.extensions_mut().insert(inside);
    next.run(request)
}
