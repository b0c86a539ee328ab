//! Access control: key, Host and Origin checks, security headers.

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ring::rand::{SecureRandom, SystemRandom};
use subtle::ConstantTimeEq;
use tracing::warn;

use crate::input;

/// Header with the key. Pages of other origins cannot set it without CORS permission.
const KEY_HEADER: &str = "x-knightwatch-key";

/// Value of the same header in a response to a wrong key, so that the page drops the key.
const WRONG_KEY: &str = "wrong";

/// Length of a key in hexadecimal digits.
const KEY_DIGITS: usize = 32;

/// Headers of every response to a local request.
const SECURITY_HEADERS: [(&str, &str); 6] = [
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

/// Key that permits actions: 128 random bits.
#[derive(Clone)]
pub(super) struct Key(Arc<str>);

impl Key {
    /// A random key.
    ///
    /// # Errors
    /// If the system has no randomness.
    fn new() -> io::Result<Self> {
        let mut bytes = [0; KEY_DIGITS / 2];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| io::Error::other("the system has no random numbers"))?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(text.into()))
    }

    /// Reads the key from this file, or creates the file with a new key. The key is also new without a file, or if the
    /// file cannot be used.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(super) fn load_or_create(file: Option<&Path>) -> io::Result<Self> {
        let Some(file) = file else { return Self::new() };
        if let Some(key) = Self::read(file) {
            return Ok(key);
        }
        let key = Self::new()?;
        if let Err(error) = key.write(file) {
            let file = file.display();
            warn!(
                "the page gets a new key at each start: the key cannot be stored in {file}: {error}"
            );
        }
        Ok(key)
    }

    /// Reads the key from this file, unless other users can read the file.
    fn read(path: &Path) -> Option<Self> {
        let file = input::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        if metadata.permissions().mode() & 0o077 != 0 {
            let path = path.display();
            warn!("other users could read the page's key in {path}: the page gets a new key");
            return None;
        }
        let mut text = String::new();
        let max_bytes = KEY_DIGITS as u64 + 2;
        file.take(max_bytes).read_to_string(&mut text).ok()?;
        let text = text.trim_end();
        let is_key = text.len() == KEY_DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit());
        is_key.then(|| Self(text.into()))
    }

    /// Writes the key to a new file with mode 0600.
    fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(path)?;
        file.write_all(format!("{self}\n").as_bytes())?;
        file.sync_all()
    }

    /// Whether these headers contain the key.
    pub(super) fn matches(&self, headers: &HeaderMap) -> bool {
        let presented = headers
            .get(KEY_HEADER)
            .map_or(&b""[..], HeaderValue::as_bytes);
        presented.ct_eq(self.0.as_bytes()).into()
    }
}

/// As in URLs.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Does not show the key, so that it cannot get into a log.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(...)")
    }
}

/// Middleware that rejects requests without the key with 403.
pub(super) async fn require_key(State(key): State<Key>, request: Request, next: Next) -> Response {
    if !key.matches(request.headers()) {
        let body = "{\"error\":\"this needs the page's key: open the address that `knightwatch page` prints\"}\n";
        let headers = [
            ("content-type", "application/json"),
            (KEY_HEADER, WRONG_KEY),
        ];
        return (StatusCode::FORBIDDEN, headers, body).into_response();
    }
    next.run(request).await
}

/// `GET /api/key`: reports whether the key in the request is valid.
pub(super) async fn check_key(State(key): State<Key>, headers: HeaderMap) -> Response {
    let valid = key.matches(&headers);
    axum::Json(serde_json::json!({ "valid": valid })).into_response()
}

/// Middleware that rejects requests for other hosts and from other origins with 403, and adds the security headers.
pub(super) async fn require_local(request: Request, next: Next) -> Response {
    if !is_local(request.headers()) {
        let error = "this server answers only to localhost, 127.0.0.1 and [::1]\n";
        return (StatusCode::FORBIDDEN, error).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.remove(ACCESS_CONTROL_ALLOW_ORIGIN);
    for (name, value) in SECURITY_HEADERS {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}

/// Whether the host of a request is this machine and its origin, if any, is the same as the host, port included.
fn is_local(headers: &HeaderMap) -> bool {
    let text = |name| {
        headers
            .get(name)
            .map(|value: &HeaderValue| value.to_str().unwrap_or("?"))
    };
    let Some(host) = text(HOST).filter(|host| is_loopback_name(host)) else {
        return false;
    };
    let is_host = |authority: &str| authority.eq_ignore_ascii_case(host);
    text(ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_host))
}

/// Whether an authority is `localhost`, `127.0.0.1` or `[::1]`, with or without a port.
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

    fn headers_with(key: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(KEY_HEADER, key.parse().expect("a value"));
        headers
    }

    #[test]
    fn stored_key_is_valid_after_restart() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("state/page-key");
        let first = Key::load_or_create(Some(&file)).expect("a key");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().expect("a directory")), 0o700);
        let second = Key::load_or_create(Some(&file)).expect("a key");
        assert!(second.matches(&headers_with(&first.to_string())));
        assert!(!second.matches(&headers_with("")) && !second.matches(&HeaderMap::new()));
        // Without a file the key is new at each start.
        let [one, other] = [(), ()].map(|()| Key::load_or_create(None).expect("a key"));
        assert!(!one.matches(&headers_with(&other.to_string())));
    }

    #[test]
    fn untrusted_key_file_is_replaced() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("page-key");
        let before = Key::load_or_create(Some(&file)).expect("a key").to_string();
        let replaced = || {
            let key = Key::load_or_create(Some(&file)).expect("a key").to_string();
            assert_eq!(key.len(), KEY_DIGITS);
            assert_eq!(fs::read_to_string(&file).expect("read"), format!("{key}\n"));
            assert_eq!(
                fs::metadata(&file).expect("there").permissions().mode() & 0o777,
                0o600
            );
            key
        };
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("changed");
        assert_ne!(replaced(), before);
        for text in [
            "",
            "short",
            &format!("{before}{before}"),
            &"x".repeat(KEY_DIGITS),
        ] {
            fs::write(&file, text).expect("written");
            assert_ne!(replaced(), before);
        }
        fs::write(&file, [0xff; KEY_DIGITS]).expect("written");
        replaced();
        // A key that cannot be stored is valid as well.
        let taken = home.path().join("taken");
        fs::create_dir(&taken).expect("made");
        assert_eq!(
            Key::load_or_create(Some(&taken))
                .expect("a key")
                .to_string()
                .len(),
            KEY_DIGITS
        );
    }

    #[test]
    fn requests_of_other_hosts_and_origins_are_rejected() {
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
    fn new_keys_differ_and_match_only_themselves() {
        let (key, other) = (Key::new().expect("a key"), Key::new().expect("a key"));
        assert_ne!(key.to_string(), other.to_string());
        assert_eq!(key.to_string().len(), 32);
        assert!(!format!("{key:?}").contains(&key.to_string()));
        let with = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(KEY_HEADER, HeaderValue::from_str(text).expect("a header"));
            headers
        };
        assert!(key.matches(&with(&key.to_string())));
        assert!(!key.matches(&with(&other.to_string())));
        assert!(!key.matches(&with("")) && !key.matches(&HeaderMap::new()));
    }
}
