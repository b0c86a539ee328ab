//! Who may look, and who may act.

use std::fmt;
use std::io;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{Request, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The header that has the key. No page of another origin can set it without being let.
const KEY: &str = "x-knightwatch-key";

/// What the same header says of a key that does not open, so that a page with that of an earlier start gives it up.
const WRONG: &str = "wrong";

/// What every answer says to who is let in.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
];

/// What those know who may act: 128 random bits, new at each start.
#[derive(Clone)]
pub(super) struct Key(Arc<str>);

impl Key {
    /// One that nobody knows yet.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; 16];
        aws_lc_rs::rand::fill(&mut bytes)
            .map_err(|_| io::Error::other("the system has no random numbers"))?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(text.into()))
    }

    fn opens(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(KEY).map_or(&b""[..], HeaderValue::as_bytes);
        verify_slices_are_equal(shown, self.0.as_bytes()).is_ok()
    }
}

/// As it stands in an address.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Never in a log by accident.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(...)")
    }
}

/// Lets in who has the key.
pub(super) async fn only_with_key(
    State(key): State<Key>,
    request: Request,
    next: Next,
) -> Response {
    if !key.opens(request.headers()) {
        let why =
            "{\"error\":\"this needs the key of this start: open the address that was printed\"}\n";
        let headers = [("content-type", "application/json"), (KEY, WRONG)];
        return (StatusCode::FORBIDDEN, headers, why).into_response();
    }
    next.run(request).await
}

/// Lets in who is on this machine, and no page of others.
pub(super) async fn only_from_here(request: Request, next: Next) -> Response {
    if !is_local(request.headers()) {
        let why = "this server answers only to localhost, 127.0.0.1 and [::1]\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.remove(ACCESS_CONTROL_ALLOW_ORIGIN);
    for (name, value) in HEADERS {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}

/// Whether the request names this machine as its host, and comes from a page of ours if it comes from one: what is on
/// another port of this machine is somebody else's.
fn is_local(headers: &HeaderMap) -> bool {
    let text = |name| {
        headers
            .get(name)
            .map(|value: &HeaderValue| value.to_str().unwrap_or("?"))
    };
    let Some(host) = text(HOST).filter(|host| is_loopback_name(host)) else {
        return false;
    };
    let ours = |page: &str| page.eq_ignore_ascii_case(host);
    text(ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(ours))
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
        for origin in [
            "http://evil.example",
            "https://localhost:1",
            "http://localhost:2",
            "http://127.0.0.1:1",
            "null",
        ] {
            assert!(
                !local(&[(HOST, "localhost:1"), (ORIGIN, origin)]),
                "{origin}"
            );
        }
    }

    #[test]
    fn the_key_is_new_at_each_start_and_opens_alone() {
        let (key, other) = (Key::new().expect("a key"), Key::new().expect("a key"));
        assert_ne!(key.to_string(), other.to_string());
        assert_eq!(key.to_string().len(), 32);
        assert!(!format!("{key:?}").contains(&key.to_string()));
        let with = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(KEY, HeaderValue::from_str(text).expect("a header"));
            headers
        };
        assert!(key.opens(&with(&key.to_string())));
        assert!(!key.opens(&with(&other.to_string())));
        assert!(!key.opens(&with("")) && !key.opens(&HeaderMap::new()));
    }
}
