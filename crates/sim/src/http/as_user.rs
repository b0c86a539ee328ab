//! The API as one of its users: every request is authenticated as them.

use std::future::Future;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderValue;
use axum::http::header::{AUTHORIZATION, USER_AGENT};
use axum::middleware::{self, Next};
use axum::response::Response;

use crate::http::connection::Connection;
use crate::http::server;
use crate::sim::Sim;

/// The whole API, to be mounted in another server. Credentials of the request are replaced by the user's; connection
/// faults do not apply.
pub(crate) fn router(sim: Sim, name: &str) -> Router {
    let token = format!("Bearer {}", sim.token_of(name));
    // User names consist of letters, digits, `_` and `-`, so this is a valid header value.
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
    // A browser's `User-Agent` could match another user's name.
    headers.remove(USER_AGENT);
    headers.extend(token.map(|token| (AUTHORIZATION, token)));
    let connection = ConnectInfo(Connection::in_process());
    request.extensions_mut().insert(connection);
    next.run(request)
}
