//! Who may look, and who may act.

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

/// The header that has the key. No page of another origin can set it without being let.
const KEY_HEADER: &str = "x-knightwatch-key";

/// What the same header says of a key that does not open, so that a page with an old one gives it up.
const WRONG_KEY: &str = "wrong";

/// The length of a key as text, in hexadecimal digits.
const KEY_DIGITS: usize = 32;

/// What every answer says to who is let in.
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

/// What those know who may act: 128 random bits.
#[derive(Clone)]
pub(super) struct Key(Arc<str>);

impl Key {
    /// One that nobody knows yet.
    ///
    /// # Errors
    /// When the system has no randomness.
    fn new() -> io::Result<Self> {
        let mut bytes = [0; KEY_DIGITS / 2];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| io::Error::other("the system has no random numbers"))?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(text.into()))
    }

    /// The key of this file, which is made where there is none. Without a file, or where it cannot be used, a new one.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn load_or_create(file: Option<&Path>) -> io::Result<Self> {
        let Some(file) = file else { return Self::new() };
        if let Some(key) = Self::read(file) {
            return Ok(key);
        }
        let key = Self::new()?;
        if let Err(error) = key.write(file) {
            let file = file.display();
            warn!("the page has a new key at each start: it cannot be kept in {file}: {error}");
        }
        Ok(key)
    }

    /// The key of this file, unless others may have read it.
    fn read(path: &Path) -> Option<Self> {
        let file = input::open(path).ok()?;
        let known = file.metadata().ok()?;
        if known.permissions().mode() & 0o077 != 0 {
            let path = path.display();
            warn!("others could read the page's key in {path}: it gets a new one");
            return None;
        }
        let mut text = String::new();
        let longest = KEY_DIGITS as u64 + 2;
        file.take(longest).read_to_string(&mut text).ok()?;
        let text = text.trim_end();
        let is_key = text.len() == KEY_DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit());
        is_key.then(|| Self(text.into()))
    }

    /// Puts the key into a file of its own, which only this user can read.
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

    /// Whether these headers have it.
    pub fn matches(&self, headers: &HeaderMap) -> bool {
        let presented = headers
            .get(KEY_HEADER)
            .map_or(&b""[..], HeaderValue::as_bytes);
        presented.ct_eq(self.0.as_bytes()).into()
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
pub(super) async fn require_key(State(key): State<Key>, request: Request, next: Next) -> Response {
    if !key.matches(request.headers()) {
        let why = "{\"error\":\"this needs the page's key: open the address that `knightwatch page` prints\"}\n";
        let headers = [
            ("content-type", "application/json"),
            (KEY_HEADER, WRONG_KEY),
        ];
        return (StatusCode::FORBIDDEN, headers, why).into_response();
    }
    next.run(request).await
}

/// Whether the key that a page has is the right one, so that an open page finds out at once when it is not.
pub(super) async fn check_key(State(key): State<Key>, headers: HeaderMap) -> Response {
    let opens = key.matches(&headers);
    axum::Json(serde_json::json!({ "opens": opens })).into_response()
}

/// Lets in who is on this machine, and no page of others.
pub(super) async fn require_local(request: Request, next: Next) -> Response {
    if !is_local(request.headers()) {
        let why = "this server answers only to localhost, 127.0.0.1 and [::1]\n";
        return (StatusCode::FORBIDDEN, why).into_response();
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

    fn shows(key: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(KEY_HEADER, key.parse().expect("a value"));
        headers
    }

    #[test]
    fn a_key_that_is_kept_opens_after_a_restart() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("state/page-key");
        let first = Key::load_or_create(Some(&file)).expect("a key");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().expect("a directory")), 0o700);
        let second = Key::load_or_create(Some(&file)).expect("a key");
        assert!(second.matches(&shows(&first.to_string())));
        assert!(!second.matches(&shows("")) && !second.matches(&HeaderMap::new()));
        // Without a file each start has its own.
        let [one, other] = [(), ()].map(|()| Key::load_or_create(None).expect("a key"));
        assert!(!one.matches(&shows(&other.to_string())));
    }

    #[test]
    fn a_key_that_cannot_be_trusted_gives_way_to_a_new_one() {
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
        // One that cannot be kept opens all the same.
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
            headers.insert(KEY_HEADER, HeaderValue::from_str(text).expect("a header"));
            headers
        };
        assert!(key.matches(&with(&key.to_string())));
        assert!(!key.matches(&with(&other.to_string())));
        assert!(!key.matches(&with("")) && !key.matches(&HeaderMap::new()));
    }
}
