//! Access control: keys, Host and Origin checks, security headers.
//!
//! A request is local if it comes from a loopback address, names a loopback host, and has passed no proxy. Local requests
//! may watch without a key. All others are from outside: they are answered only if the operator has chosen a key, and only
//! with a key.

mod attempts;
mod key;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION, HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ipnet::IpNet;

use attempts::Attempts;
pub(in crate::web) use key::Keys;
pub use key::{KeyError, KeySource, KeySources};

/// Header with the key. Pages of other origins cannot set it without CORS permission.
const KEY_HEADER: &str = "x-knightwatch-key";

/// Value of the same header in a response to a wrong key, so that the page drops the key.
const WRONG_KEY: &str = "wrong";

/// Headers that a reverse proxy adds.
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Other headers that a reverse proxy adds, besides those that begin with `x-forwarded-`.
const PROXY_HEADERS: [&str; 5] = [
    "forwarded",
    "via",
    "x-real-ip",
    "cf-connecting-ip",
    "true-client-ip",
];

/// Paths of the probes of a service manager. Everyone may read their status code.
const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// Path of the metrics, which have a key of their own.
const METRICS: &str = "/metrics";

/// Headers of every response.
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

/// Rights of a request; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rights {
    /// Nothing but the status code of a probe.
    Probe,
    /// Reading `/metrics`.
    Metrics,
    /// Reading everything.
    Watch,
    /// Everything.
    Operate,
}

/// Rules for requests from other machines.
#[derive(Clone, Debug, Default)]
pub struct RemoteAccess {
    /// Names by which this server is called, without a port. It can always be called by an IP address.
    pub hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-*` headers count.
    pub trusted_proxies: Vec<IpNet>,
}

/// Decides on the access of each request.
#[derive(Debug)]
pub(super) struct Access {
    keys: Keys,
    remote_access: RemoteAccess,
    attempts: Attempts,
}

/// A client, as far as it can be believed.
#[derive(Debug, PartialEq, Eq)]
struct Client {
    address: IpAddr,
    /// It is on this machine.
    is_local: bool,
}

impl Access {
    pub(super) fn new(keys: Keys, remote_access: RemoteAccess) -> Self {
        Self {
            keys,
            remote_access,
            attempts: Attempts::default(),
        }
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        let mut proxies = self.remote_access.trusted_proxies.iter();
        proxies.any(|proxy| proxy.contains(&address))
    }

    /// The client of a request from this address. `None` if the request is for another host or from another origin.
    fn client(&self, peer: IpAddr, request: &Request) -> Option<Client> {
        let headers = request.headers();
        let is_trusted = self.is_trusted(peer);
        let host = text(headers, &HOST)?;
        // The target of a request to a forward proxy must not contradict the header.
        let target = request.uri().authority().map(Authority::as_str);
        if target.is_some_and(|target| !target.eq_ignore_ascii_case(host)) {
            return None;
        }
        let is_forwarded = headers.keys().any(|name| is_of_proxy(name.as_str()));
        let is_local = peer.is_loopback() && !is_trusted && !is_forwarded && is_loopback_name(host);
        let called = match headers.contains_key(&FORWARDED_HOST) && is_trusted {
            true => text(headers, &FORWARDED_HOST)?,
            false => host,
        };
        if !is_local && !self.is_own_name(called) {
            return None;
        }
        let scheme = match is_trusted {
            true => text(headers, &FORWARDED_PROTO).unwrap_or("http"),
            false => "http",
        };
        if headers.contains_key(ORIGIN) {
            let (origin_scheme, authority) = text(headers, &ORIGIN)?.split_once("://")?;
            if origin_scheme != scheme || !authority.eq_ignore_ascii_case(called) {
                return None;
            }
        }
        let address = match is_trusted {
            true => self.forwarded_for(headers).unwrap_or(peer),
            false => peer,
        };
        Some(Client { address, is_local })
    }

    /// The last address of `X-Forwarded-For` that is not one of our proxies.
    fn forwarded_for(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let lines = headers.get_all(FORWARDED_FOR).into_iter().rev();
        let addresses = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.rsplit(','))
            .map_while(|address| address.trim().parse().ok());
        addresses
            .map(|address: IpAddr| address.to_canonical())
            .find(|address| !self.is_trusted(*address))
    }

    /// Returns whether requests from outside may use this name.
    fn is_own_name(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<Authority>() else {
            return false;
        };
        let (name, text) = (authority.host(), authority.as_str());
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let mut hosts = self.remote_access.hosts.iter();
        !text.contains('@')
            && (is_address
                || name.eq_ignore_ascii_case("localhost")
                || hosts.any(|host| host.eq_ignore_ascii_case(name)))
    }

    /// The rights of the keys in these headers, [`Rights::Probe`] without a right one, and whether one is wrong.
    ///
    /// A right key in the header of the page counts alone, and a wrong one only if the other key does not permit
    /// everything: it may be an old one that the page has kept. So no right key hides guesses of another.
    fn rights_by_key(&self, headers: &HeaderMap) -> (Rights, bool) {
        let rights = |presented: Vec<u8>| {
            let is = |key: &Option<key::Key>| key.as_ref().is_some_and(|key| key.is(&presented));
            if self.keys.operate.is(&presented) {
                Rights::Operate
            } else if is(&self.keys.watch) {
                Rights::Watch
            } else if is(&self.keys.metrics) {
                Rights::Metrics
            } else {
                Rights::Probe
            }
        };
        let of_page = page_key(headers).map(rights);
        if let Some(of_page) = of_page.filter(|of_page| *of_page > Rights::Probe) {
            return (of_page, false);
        }
        let other = authorization_key(headers).map(rights);
        let best = other.unwrap_or(Rights::Probe);
        let is_wrong = of_page.is_some() && best < Rights::Operate || other == Some(Rights::Probe);
        (best, is_wrong)
    }

    /// The rights of a request, or why it is refused.
    fn rights(&self, peer: IpAddr, request: &Request) -> Result<Rights, Refusal> {
        let path = request.uri().path();
        let is_probe = PROBES.contains(&path) && request.method().is_safe();
        let Some(client) = self.client(peer, request) else {
            return match (is_probe, self.keys.answers_remote) {
                (true, true) => Ok(Rights::Probe),
                (_, true) => Err(Refusal::Elsewhere),
                (_, false) => Err(Refusal::NotLocal),
            };
        };
        if client.is_local {
            let (by_key, _) = self.rights_by_key(request.headers());
            return Ok(by_key.max(Rights::Watch));
        }
        if !self.keys.answers_remote {
            return Err(Refusal::NotLocal);
        }
        if self.attempts.is_blocked(client.address) {
            return match is_probe {
                true => Ok(Rights::Probe),
                false => Err(Refusal::TooManyWrongKeys),
            };
        }
        let (rights, is_wrong) = self.rights_by_key(request.headers());
        let needed = match path {
            METRICS => Rights::Metrics,
            _ if is_probe => Rights::Probe,
            _ => Rights::Watch,
        };
        if is_wrong {
            self.attempts.add_wrong_key(client.address);
        }
        match rights >= needed {
            true => Ok(rights),
            false => Err(Refusal::KeyNeeded),
        }
    }
}

/// Reasons to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// No key was chosen, and the request is not local.
    NotLocal,
    /// The request is for another host or from another origin.
    Elsewhere,
    /// The request has no key, or one that does not suffice.
    KeyNeeded,
    /// Too many wrong keys came from this address.
    TooManyWrongKeys,
}

/// Others than local clients get no body.
impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::NotLocal => {
                let error = "this server answers only to localhost, 127.0.0.1 and [::1]; for others the operator sets \
                             web.key_file and web.hosts\n";
                (StatusCode::FORBIDDEN, error).into_response()
            }
            Self::Elsewhere => StatusCode::FORBIDDEN.into_response(),
            Self::KeyNeeded => {
                let challenge = "Basic realm=\"Knightwatch\", charset=\"UTF-8\"";
                (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)]).into_response()
            }
            Self::TooManyWrongKeys => {
                let wait = [(RETRY_AFTER, attempts::ATTEMPT_WINDOW.as_secs().to_string())];
                (StatusCode::TOO_MANY_REQUESTS, wait).into_response()
            }
        }
    }
}

/// The key in the header of the page.
fn page_key(headers: &HeaderMap) -> Option<Vec<u8>> {
    let key = headers.get(KEY_HEADER).map(HeaderValue::as_bytes);
    key.filter(|key| !key.is_empty()).map(<[u8]>::to_vec)
}

/// The key that is presented as bearer token or password.
fn authorization_key(headers: &HeaderMap) -> Option<Vec<u8>> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, value) = value.split_at_checked(value.iter().position(|b| *b == b' ')?)?;
    let value = value.trim_ascii();
    match () {
        () if scheme.eq_ignore_ascii_case(b"bearer") => Some(value.to_vec()),
        () if scheme.eq_ignore_ascii_case(b"basic") => {
            let pair = BASE64_STANDARD.decode(value).ok()?;
            let colon = pair.iter().position(|b| *b == b':')?;
            Some(pair[colon + 1..].to_vec())
        }
        () => None,
    }
}

/// Returns whether a reverse proxy has added the header of this name, in lower case.
fn is_of_proxy(name: &str) -> bool {
    name.starts_with("x-forwarded-") || PROXY_HEADERS.contains(&name)
}

/// The only value of a header; `None` if there are none, several, or it is not text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).into_iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

/// Middleware that decides on the rights of each request, refuses it without any, and adds the security headers.
pub(super) async fn authorize(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |info| info.0.ip());
    let mut response = match access.rights(peer.to_canonical(), &request) {
        Err(refusal) => refusal.into_response(),
        Ok(rights) => {
            request.extensions_mut().insert(rights);
            let is_probe = PROBES.contains(&request.uri().path());
            let response = next.run(request).await;
            match is_probe && rights < Rights::Watch {
                true => response.map(|_| Body::empty()),
                false => response,
            }
        }
    };
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

/// Middleware that rejects requests without the key to operate with 403.
pub(super) async fn require_key(
    Extension(rights): Extension<Rights>,
    request: Request,
    next: Next,
) -> Response {
    if rights < Rights::Operate {
        let body = "{\"error\":\"this needs the page's key: open the page's address with `/#key=KEY`; `knightwatch page` prints it\"}\n";
        let headers = [
            ("content-type", "application/json"),
            (KEY_HEADER, WRONG_KEY),
        ];
        return (StatusCode::FORBIDDEN, headers, body).into_response();
    }
    next.run(request).await
}

/// `GET /api/key`: reports whether the request has the key to operate.
pub(super) async fn check_key(Extension(rights): Extension<Rights>) -> Response {
    let valid = rights == Rights::Operate;
    axum::Json(serde_json::json!({ "valid": valid })).into_response()
}

/// Returns whether an authority is `localhost`, `127.0.0.1` or `[::1]`, with or without a port.
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

    const OPERATE: &str = "0123456789abcdef-operate";
    const WATCH: &str = "0123456789abcdef-watch";
    const METRICS_KEY: &str = "0123456789abcdef-metrics";

    fn access(chosen: bool, proxies: &[&str]) -> Access {
        let key = |text: &str| Some(KeySource::Variable("KEY", text.to_owned())).filter(|_| chosen);
        let keys = Keys::load(&KeySources {
            operate: key(OPERATE),
            watch: key(WATCH),
            metrics: key(METRICS_KEY),
            generated: None,
        });
        let proxies = proxies
            .iter()
            .map(|proxy| proxy.parse().expect("a network"));
        let remote_access = RemoteAccess {
            hosts: vec!["bot.example.org".to_owned()],
            trusted_proxies: proxies.collect(),
        };
        Access::new(keys.expect("keys"), remote_access)
    }

    fn request(target: &str, headers: &[(&str, &str)]) -> Request {
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).expect("a request")
    }

    fn rights(access: &Access, peer: &str, headers: &[(&str, &str)]) -> Result<Rights, Refusal> {
        let peer = peer.parse().expect("an address");
        access.rights(peer, &request("/", headers))
    }

    #[test]
    fn requests_of_other_hosts_and_origins_are_rejected() {
        let access = access(false, &[]);
        let local = |headers: &[(&str, &str)]| rights(&access, "127.0.0.1", headers).is_ok();
        for host in ["localhost", "localhost:9664", "127.0.0.1:80", "[::1]:9664"] {
            assert!(local(&[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "localhost:80@evil.example",
            "192.168.0.2",
            "bot.example.org",
            "",
        ] {
            assert!(!local(&[("host", host)]), "{host}");
        }
        assert!(!local(&[]));
        assert!(!local(&[("host", "localhost"), ("host", "localhost")]));
        let host = ("host", "localhost:1");
        assert!(local(&[host, ("origin", "http://localhost:1")]));
        for origin in [
            "http://evil.example",
            "https://localhost:1",
            "http://localhost:2",
            "http://127.0.0.1:1",
            "null",
        ] {
            assert!(!local(&[host, ("origin", origin)]), "{origin}");
        }
        for header in [
            "forwarded",
            "via",
            "x-forwarded-for",
            "x-forwarded-foo",
            "x-real-ip",
        ] {
            assert!(!local(&[host, (header, "127.0.0.1")]), "{header}");
        }
        let other_target = request("http://evil.example/", &[host]);
        let peer = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert!(access.rights(peer, &other_target).is_err());
    }

    #[test]
    fn remote_access_needs_chosen_key() {
        let host = ("host", "bot.example.org");
        let operate = ("x-knightwatch-key", OPERATE);
        let closed = access(false, &[]);
        assert_eq!(
            rights(&closed, "192.0.2.1", &[host, operate]),
            Err(Refusal::NotLocal)
        );
        let open = access(true, &[]);
        let from_remote = |headers: &[(&str, &str)]| rights(&open, "192.0.2.1", headers);
        assert_eq!(from_remote(&[host]), Err(Refusal::KeyNeeded));
        assert_eq!(from_remote(&[host, operate]), Ok(Rights::Operate));
        assert_eq!(
            from_remote(&[("host", "[2001:db8::1]:80"), operate]),
            Ok(Rights::Operate)
        );
        assert_eq!(
            from_remote(&[("host", "evil.example"), operate]),
            Err(Refusal::Elsewhere)
        );
        for (authorization, expected) in [
            (format!("Bearer {WATCH}"), Ok(Rights::Watch)),
            (format!("bearer  {OPERATE}"), Ok(Rights::Operate)),
            (
                format!("Basic {}", BASE64_STANDARD.encode(format!("me:{WATCH}"))),
                Ok(Rights::Watch),
            ),
            (
                format!("Basic {}", BASE64_STANDARD.encode(WATCH)),
                Err(Refusal::KeyNeeded),
            ),
            (format!("Bearer {METRICS_KEY}"), Err(Refusal::KeyNeeded)),
            (format!("Digest {OPERATE}"), Err(Refusal::KeyNeeded)),
            (OPERATE.to_owned(), Err(Refusal::KeyNeeded)),
        ] {
            let headers = [host, ("authorization", authorization.as_str())];
            assert_eq!(from_remote(&headers), expected, "{authorization}");
        }
        let bearer = format!("Bearer {METRICS_KEY}");
        let scrape = request("/metrics", &[host, ("authorization", &bearer)]);
        let peer = "192.0.2.1".parse().expect("an address");
        assert_eq!(open.rights(peer, &scrape), Ok(Rights::Metrics));
        let probe = request("/livez", &[("host", "10.1.2.3:9664")]);
        assert_eq!(open.rights(peer, &probe), Ok(Rights::Probe));
        // A key in the address counts for nothing.
        let in_address = request(&format!("/?key={OPERATE}"), &[host]);
        assert_eq!(open.rights(peer, &in_address), Err(Refusal::KeyNeeded));
    }

    #[test]
    fn forwarded_headers_count_from_trusted_proxies_only() {
        let access = access(true, &["10.0.0.0/8", "127.0.0.1/32"]);
        let behind_tls = [
            ("host", "127.0.0.1:9664"),
            ("x-forwarded-host", "bot.example.org"),
            ("x-forwarded-proto", "https"),
            ("origin", "https://bot.example.org"),
            ("x-knightwatch-key", OPERATE),
        ];
        assert_eq!(
            rights(&access, "10.1.2.3", &behind_tls),
            Ok(Rights::Operate)
        );
        assert_eq!(
            rights(&access, "192.0.2.1", &behind_tls),
            Err(Refusal::Elsewhere)
        );
        let twice = [&behind_tls[..], &[("x-forwarded-host", "evil.example")]].concat();
        assert_eq!(rights(&access, "10.1.2.3", &twice), Err(Refusal::Elsewhere));
        // A trusted proxy on this machine is no local client.
        let plain = [("host", "localhost:9664")];
        assert_eq!(
            rights(&access, "127.0.0.1", &plain),
            Err(Refusal::KeyNeeded)
        );
        let client = |forwarded_for: &str| {
            let headers = [("host", "10.0.0.1"), ("x-forwarded-for", forwarded_for)];
            let peer = "10.0.0.1".parse().expect("an address");
            let client = access.client(peer, &request("/", &headers));
            client.expect("a client").address.to_string()
        };
        assert_eq!(client("198.51.100.7, 192.0.2.1, 10.0.0.9"), "192.0.2.1");
        assert_eq!(client("nonsense"), "10.0.0.1");
    }

    #[test]
    fn guessing_blocks_only_the_guesser() {
        let access = access(true, &[]);
        let guess = [("host", "192.0.2.9"), ("x-knightwatch-key", "wrong")];
        let refusals = (0..10_000).map(|_| rights(&access, "192.0.2.1", &guess));
        let counted = refusals.filter(|rights| *rights == Err(Refusal::KeyNeeded));
        assert!(counted.count() <= 100);
        let right = [("host", "192.0.2.9"), ("x-knightwatch-key", OPERATE)];
        assert_eq!(
            rights(&access, "192.0.2.1", &right),
            Err(Refusal::TooManyWrongKeys)
        );
        assert_eq!(rights(&access, "192.0.2.2", &right), Ok(Rights::Operate));
    }
}
