//! What the daemon serves over HTTP on its own machine: `/metrics` and `/healthz`.
//!
//! It binds loopback addresses only, and it refuses requests that a foreign page has made a browser send: those whose
//! `Host` or `Origin` is not this machine.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::metrics::{Health, Metrics};

/// How Prometheus wants its text named.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Opens the address.
///
/// # Errors
/// When it is not one of this machine alone, or when somebody else has it.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    if !address.ip().is_loopback() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{address} can be reached from outside; use 127.0.0.1 or [::1]"),
        ));
    }
    TcpListener::bind(address).await
}

/// Serves until dropped.
///
/// # Errors
/// When the listener fails for good.
pub async fn serve(listener: TcpListener, metrics: Metrics) -> io::Result<()> {
    let app = Router::new()
        .route("/metrics", get(numbers))
        .route("/healthz", get(health))
        .layer(middleware::from_fn(only_from_here))
        .with_state(metrics);
    axum::serve(listener, app).await
}

async fn numbers(State(metrics): State<Metrics>) -> Response {
    ([(CONTENT_TYPE, OPEN_METRICS)], metrics.text()).into_response()
}

/// 200 when all is well, 503 and why when somebody should look.
async fn health(State(metrics): State<Metrics>) -> Response {
    match metrics.status().health {
        Health::Ok => (StatusCode::OK, "ok\n").into_response(),
        Health::Ill { why } => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response()
        }
    }
}

async fn only_from_here(request: Request, next: Next) -> Response {
    if !is_local(request.headers()) {
        let why = "this server answers only to localhost, 127.0.0.1 and [::1]\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let mut response = next.run(request).await;
    for (name, value) in [
        ("content-security-policy", "default-src 'self'"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
    ] {
        response.headers_mut().insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}

/// Whether the request names this machine as its host, and comes from a page of it if it comes from one.
fn is_local(headers: &HeaderMap) -> bool {
    let text = |name| {
        headers
            .get(name)
            .map(|value: &HeaderValue| value.to_str().unwrap_or("?"))
    };
    let host = text(HOST).is_some_and(is_loopback_name);
    let origin = text(ORIGIN)
        .is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_loopback_name));
    host && origin
}

/// `localhost`, `127.0.0.1` or `[::1]`, with or without a port.
fn is_loopback_name(authority: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| {
        authority
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(pairs: &[(HeaderName, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(name, HeaderValue::from_static(value));
        }
        is_local(&headers)
    }

    #[test]
    fn only_this_machine_is_served() {
        for host in ["localhost", "localhost:9664", "127.0.0.1:80", "[::1]:9664"] {
            assert!(local(&[(HOST, host)]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "localhost:80@evil.example",
            "192.168.0.2",
            "",
        ] {
            assert!(!local(&[(HOST, host)]), "{host}");
        }
        assert!(!local(&[]));
        assert!(local(&[
            (HOST, "localhost:1"),
            (ORIGIN, "http://localhost:1")
        ]));
        for origin in ["http://evil.example", "https://localhost:1", "null"] {
            assert!(
                !local(&[(HOST, "localhost:1"), (ORIGIN, origin)]),
                "{origin}"
            );
        }
    }

    #[tokio::test]
    async fn addresses_that_others_reach_are_refused() {
        for address in ["0.0.0.0:0", "[::]:0"] {
            assert!(bind(address.parse().unwrap()).await.is_err(), "{address}");
        }
        assert!(bind("127.0.0.1:0".parse().unwrap()).await.is_ok());
    }
}
