//! Address of the Lichess server.

use std::fmt;
use std::path::{Path, PathBuf};

use url::{Host, Url};

use super::model::clip;
use super::token::redact_tokens;

/// Base URL of the server: `https://lichess.org`, or any other address with any path before `/api`.
///
/// ```
/// use knightwatch_lichess::Endpoint;
///
/// assert!(Endpoint::parse("https://lichess.org").is_ok());
/// assert!(Endpoint::parse("http://127.0.0.1:9663/box").is_ok());
/// assert!(Endpoint::parse("http://lichess.org").is_err(), "the token would be sent unencrypted");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    base: Url,
    ca_file: Option<PathBuf>,
}

/// Reasons to reject a server address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The address cannot be parsed.
    #[error("`{0}` is not an address such as https://lichess.org ({1})")]
    NotAnUrl(String, url::ParseError),
    #[error(
        "`{0}` would send the token unencrypted; use https. Plain http is possible to this machine itself, and with lichess.insecure \
         = true to a simulator or a server of your own"
    )]
    /// Plain HTTP to another machine.
    Unencrypted(String),
    /// Another scheme than HTTP and HTTPS.
    #[error("`{0}` must begin with https://")]
    Scheme(String),
    /// A name or password in the address.
    #[error("the address must not contain a user name or password")]
    Credentials,
    /// A path, query or fragment after the host.
    #[error("`{0}` must end after the path, without ? or #")]
    Trailing(String),
}

impl Endpoint {
    /// Parses an address. Plain http is allowed for loopback addresses only.
    ///
    /// # Errors
    /// When the address is not http or https, is unencrypted and not loopback, or has a user name, query or fragment.
    pub fn parse(address: &str) -> Result<Self, EndpointError> {
        let base = Url::parse(address.trim())
            .map_err(|error| EndpointError::NotAnUrl(redact_tokens(&clip(address, 80)), error))?;
        Self::new(base)
    }

    /// Like [`parse`](Self::parse), for a parsed URL.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn new(base: Url) -> Result<Self, EndpointError> {
        Self::checked(base, false)
    }

    /// Like [`new`](Self::new), but plain http is allowed for all hosts except those of lichess.org: anyone on the way can read
    /// the token.
    ///
    /// # Errors
    /// As [`new`](Self::new), but for the encryption.
    pub fn insecure(base: Url) -> Result<Self, EndpointError> {
        Self::checked(base, true)
    }

    fn checked(base: Url, insecure: bool) -> Result<Self, EndpointError> {
        if !base.username().is_empty() || base.password().is_some() {
            return Err(EndpointError::Credentials);
        }
        let shown = || redact_tokens(&clip(base.as_str(), 80));
        match base.scheme() {
            "https" => {}
            "http" if is_loopback(&base) => {}
            "http" if insecure && !is_lichess(&base) => {}
            "http" => return Err(EndpointError::Unencrypted(shown())),
            _ => return Err(EndpointError::Scheme(shown())),
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(EndpointError::Trailing(shown()));
        }
        Ok(Self {
            base,
            ca_file: None,
        })
    }

    /// Trusts the certificates of a PEM file in addition to those of the system.
    pub fn with_ca_file(mut self, file: Option<PathBuf>) -> Self {
        self.ca_file = file;
        self
    }

    /// The address, with its path.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Returns whether the server is on this machine.
    pub fn is_local(&self) -> bool {
        is_loopback(&self.base)
    }

    pub(super) fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    /// Returns whether the connection is not encrypted.
    pub fn is_plain(&self) -> bool {
        self.base.scheme() == "http"
    }
}

/// Returns whether the host is lichess.org or below it.
fn is_lichess(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    host == "lichess.org" || host.ends_with(".lichess.org")
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_must_be_https_or_loopback() {
        for address in [
            "https://lichess.org",
            " https://lichess.org/ ",
            "https://example.org:8443/lichess/box",
            "http://127.0.0.1:9663",
            "http://127.9.9.9",
            "http://[::1]:9663/",
            "http://localhost:9663",
        ] {
            let endpoint = Endpoint::parse(address).expect(address);
            assert_eq!(endpoint.to_string(), address.trim().trim_end_matches('/'));
        }
        let table = [
            ("lichess.org", "is not an address"),
            ("ftp://lichess.org", "must begin with https://"),
            ("http://lichess.org", "unencrypted"),
            ("http://192.168.0.7:9663", "unencrypted"),
            ("http://localhost.example.org", "unencrypted"),
            ("http://127.0.0.1.example.org", "unencrypted"),
            ("https://me:secret@lichess.org", "user name or password"),
            ("https://lichess.org/?x=1", "without ? or #"),
            ("https://lichess.org/#x", "without ? or #"),
        ];
        let insecure = |address: &str| Endpoint::insecure(address.parse().expect("a URL"));
        assert!(insecure("http://simulator:9663").is_ok());
        for address in [
            "http://lichess.org",
            "http://lichess.org.",
            "http://en.lichess.org",
        ] {
            assert!(insecure(address).is_err(), "{address}");
        }
        for (address, why) in table {
            let error = Endpoint::parse(address).expect_err(address).to_string();
            assert!(error.contains(why), "{address}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
