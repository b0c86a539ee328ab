//! Errors of requests to Lichess.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::model::clip;
use super::request_kind::RequestKind;
use super::stream::StreamError;

/// A failed request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The server responded with an error status.
    #[error("Lichess answered {0}")]
    Status(ErrorResponse),
    /// No response in time. The request may have been executed.
    #[error("no answer from Lichess within {0:?}")]
    Timeout(Duration),
    /// Not sent: earlier requests of this kind took all the time.
    #[error("not sent within {0:?}, because earlier requests took that long")]
    Queued(Duration),
    /// The connection could not be made, or broke. In the second case the request may have been executed.
    #[error("{}: {detail}", if *.connecting { "cannot connect to Lichess" } else { "the connection to Lichess broke" })]
    Network {
        /// Whether the connection could not be made.
        connecting: bool,
        /// The reason.
        detail: String,
    },
    /// An unexpected response body.
    #[error("unexpected response from Lichess: {0}")]
    Decode(String),
    /// The configured CA file cannot be used.
    #[error("the certificates in {} cannot be used: {why}; see lichess.ca_file", file.display())]
    CaFile {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: String,
    },
    /// TLS cannot be set up on this machine.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
    /// Not sent: an earlier 429 pauses this kind of request for this much longer.
    #[error("{0} requests are paused for another {1:.0?}, as Lichess asked")]
    Paused(RequestKind, Duration),
}

/// A response with a status outside of 200 to 299.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorResponse {
    /// HTTP status code.
    pub code: u16,
    /// The server's message, safe to print, at most 300 characters.
    pub message: String,
    /// Whether Lichess itself responded: its error responses are JSON objects with an `error`. All others come from a proxy in
    /// front of it.
    pub by_lichess: bool,
    /// The limit that was exceeded, if the body names it.
    pub ratelimit: Option<RateLimit>,
    /// The `Retry-After` header, for a proxy at most two minutes.
    pub retry_after: Option<Duration>,
}

/// The rate limit that was hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    /// Name of the limit.
    pub key: String,
    /// Time until the limit ends.
    pub seconds: Option<Duration>,
}

impl std::fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.code)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

/// Longer waits are cut to two days.
const MAX_WAIT: Duration = Duration::from_secs(2 * 24 * 3600);

/// Longer waits of a proxy in front of Lichess are cut to this. It knows nothing about our games, and its limits are over
/// within minutes.
const MAX_PROXY_WAIT: Duration = Duration::from_secs(120);

impl ErrorResponse {
    /// Parses the body of an error response: JSON of several shapes, HTML, or nothing.
    pub fn read(code: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let value = serde_json::from_slice::<Value>(body).ok();
        let by_lichess = value
            .as_ref()
            .is_some_and(|value| value.get("error").is_some());
        let max_wait = if by_lichess { MAX_WAIT } else { MAX_PROXY_WAIT };
        let message = match value.as_ref() {
            Some(value) => flatten_message(value.get("error").unwrap_or(value)),
            None => title(&String::from_utf8_lossy(body)),
        };
        Self {
            code,
            message: clip(message.trim(), 300),
            by_lichess,
            ratelimit: value
                .as_ref()
                .filter(|_| by_lichess)
                .and_then(|value| value.get("ratelimit"))
                .and_then(ratelimit),
            retry_after: retry_after
                .and_then(|text| text.trim().parse().ok())
                .map(|seconds| wait_from_secs(seconds).min(max_wait)),
        }
    }

    /// How long the server asks us to wait.
    pub fn requested_wait(&self) -> Option<Duration> {
        self.ratelimit
            .as_ref()
            .and_then(|limit| limit.seconds)
            .or(self.retry_after)
    }

    /// Returns whether the limit counts requests per IP address: a limit of the proxy, or one of Lichess with a key
    /// that ends in `.ip`.
    pub fn is_per_ip(&self) -> bool {
        let limit = self.ratelimit.as_ref();
        !self.by_lichess || limit.is_some_and(|limit| limit.key.ends_with(".ip"))
    }

    /// Returns whether this is the limit of 100 games a day against bots, ours (429) or the opponent's (400).
    pub fn is_bot_day_limit(&self) -> bool {
        self.ratelimit
            .as_ref()
            .is_some_and(|limit| limit.key == "bot.vsBot.day")
    }
}

fn wait_from_secs(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0))
        .unwrap_or(MAX_WAIT)
        .min(MAX_WAIT)
}

fn ratelimit(value: &Value) -> Option<RateLimit> {
    #[derive(Deserialize)]
    struct Wire {
        #[serde(default)]
        key: String,
        seconds: Option<f64>,
    }
    let wire = Wire::deserialize(value).ok()?;
    Some(RateLimit {
        key: clip(&wire.key, 60),
        seconds: wire.seconds.map(wait_from_secs),
    })
}

/// Flattens an `error`: a string, or fields with lists of strings.
fn flatten_message(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(items) => items
            .iter()
            .map(flatten_message)
            .collect::<Vec<_>>()
            .join(", "),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match name.as_str() {
                "global" | "" => flatten_message(value),
                name => format!("{name}: {}", flatten_message(value)),
            };
            fields.iter().map(field).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

/// The title of an HTML page; the first line of other text.
fn title(body: &str) -> String {
    let inside = body
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"))
        .map(|(title, _)| title);
    match inside {
        Some(title) => title.to_owned(),
        None if body.trim_start().starts_with('<') => String::new(),
        None => body
            .trim_start()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

impl From<StreamError> for Error {
    fn from(error: StreamError) -> Self {
        Self::Network {
            connecting: false,
            detail: error.to_string(),
        }
    }
}

impl Error {
    /// The status of an error response.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Status(response) => Some(response.code),
            _ => None,
        }
    }

    /// The error response, of Lichess or of a proxy.
    pub fn error_response(&self) -> Option<&ErrorResponse> {
        match self {
            Self::Status(response) => Some(response),
            _ => None,
        }
    }

    /// The error response, if it comes from Lichess itself and not from a proxy.
    pub fn lichess_error(&self) -> Option<&ErrorResponse> {
        self.error_response().filter(|response| response.by_lichess)
    }

    /// The status code, if it comes from Lichess itself and not from a proxy.
    pub fn lichess_code(&self) -> Option<u16> {
        self.lichess_error().map(|response| response.code)
    }

    /// Lichess says that the token is invalid or revoked.
    pub fn is_unauthorized(&self) -> bool {
        self.lichess_code() == Some(401)
    }

    /// Returns whether Lichess does not know what was requested.
    pub fn is_not_found(&self) -> bool {
        self.lichess_code() == Some(404)
    }

    /// Lichess refuses the request to this token, such as for a missing scope.
    pub fn is_forbidden(&self) -> bool {
        self.lichess_code() == Some(403)
    }

    /// Returns whether Lichess itself refuses the request for good: a 4xx that does not come from a limit.
    pub fn is_refusal(&self) -> bool {
        self.lichess_error().is_some_and(|response| {
            (400..500).contains(&response.code)
                && response.code != 429
                && !response.is_bot_day_limit()
        })
    }

    /// Returns whether a limit of Lichess has stopped the request: now, or by the pause after an earlier one.
    pub fn is_limited(&self) -> bool {
        self.is_rate_limited() || matches!(self, Self::Paused(..))
    }

    /// Returns whether the status is 429.
    pub fn is_rate_limited(&self) -> bool {
        self.code() == Some(429)
    }

    /// Returns whether the server's certificate was not accepted.
    pub fn is_certificate_rejection(&self) -> bool {
        match self {
            Self::Network { detail, .. } => detail.starts_with("invalid peer certificate"),
            _ => false,
        }
    }

    /// Returns whether the request may have been executed although it failed.
    pub fn may_have_worked(&self) -> bool {
        match self {
            Self::Timeout(_)
            | Self::Network {
                connecting: false, ..
            } => true,
            Self::Status(response) => response.code >= 500,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_bodies_documented_become_messages() {
        let cases = [
            (
                429,
                r#"{"error":"Too many requests. Try again later."}"#,
                "Too many requests. Try again later.",
            ),
            (
                400,
                r#"{"error":{"clock.limit":["Invalid clock"]}}"#,
                "clock.limit: Invalid clock",
            ),
            (
                400,
                r#"{"error":{"global":["can't be rated","Invalid speed"]}}"#,
                "can't be rated, Invalid speed",
            ),
            (
                400,
                r#"{"text":["Too long"],"error":{"text":["Too long"]}}"#,
                "text: Too long",
            ),
            (
                502,
                "<html><head><title>502 Bad Gateway</title></head><body></body></html>",
                "502 Bad Gateway",
            ),
            (429, "<html>\r\n<body>slow down</body></html>", ""),
            (
                503,
                "upstream connect error\nreset reason",
                "upstream connect error",
            ),
            (500, "", ""),
            (400, r#"{"error":null}"#, ""),
            (418, "\u{1b}[31mred\u{7}", "[31mred"),
        ];
        for (code, body, message) in cases {
            let response = ErrorResponse::read(code, None, body.as_bytes());
            assert_eq!(response.message, message, "{body}");
            assert_eq!(response.by_lichess, body.starts_with('{'), "{body}");
        }
    }

    #[test]
    fn wait_requested_is_used() {
        let body = br#"{"error":"You played 100 games","ratelimit":{"key":"bot.vsBot.day","seconds":7200}}"#;
        let response = ErrorResponse::read(429, Some("30"), body);
        assert_eq!(response.requested_wait(), Some(Duration::from_secs(7200)));
        assert!(response.is_bot_day_limit());
        assert_eq!(
            ErrorResponse::read(429, Some(" 30 "), b"").requested_wait(),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            ErrorResponse::read(429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), b"").requested_wait(),
            None
        );
        assert_eq!(
            ErrorResponse::read(429, Some("-3"), b"").requested_wait(),
            Some(Duration::ZERO)
        );
        assert_eq!(
            ErrorResponse::read(429, Some("1e300"), br#"{"error":"no"}"#).requested_wait(),
            Some(MAX_WAIT)
        );
        assert_eq!(
            ErrorResponse::read(429, Some("NaN"), b"").requested_wait(),
            Some(Duration::ZERO)
        );
        assert_eq!(
            ErrorResponse::read(429, None, br#"{"ratelimit":7}"#).requested_wait(),
            None
        );
    }

    #[test]
    fn proxy_errors_are_not_trusted() {
        for body in [
            "",
            "<html></html>",
            "{}",
            "[]",
            "1",
            r#"{"message":"Forbidden"}"#,
        ] {
            let response = ErrorResponse::read(429, Some("86400"), body.as_bytes());
            assert_eq!(response.requested_wait(), Some(MAX_PROXY_WAIT), "{body}");
            assert!(response.is_per_ip(), "{body}");
            let failure = Error::Status(ErrorResponse::read(401, None, body.as_bytes()));
            assert!(failure.lichess_error().is_none(), "{body}");
            assert!(!failure.is_unauthorized(), "{body}");
        }
        let body = br#"{"error":"No such token"}"#;
        assert!(Error::Status(ErrorResponse::read(401, None, body)).is_unauthorized());
        let limit = br#"{"ratelimit":{"key":"x","seconds":86400}}"#;
        assert_eq!(ErrorResponse::read(429, None, limit).requested_wait(), None);
    }

    #[test]
    fn refusal_is_neither_limit_nor_outage() {
        let is_refusal = |code, body: &str| {
            Error::Status(ErrorResponse::read(code, None, body.as_bytes())).is_refusal()
        };
        let error = r#"{"error":"no"}"#;
        for (code, expected) in [(400, true), (404, true), (429, false), (503, false)] {
            assert_eq!(is_refusal(code, error), expected, "{code}");
            assert!(!is_refusal(code, "<html></html>"), "{code}");
        }
        let day_limit = r#"{"error":"100 games","ratelimit":{"key":"bot.vsBot.day","seconds":9}}"#;
        assert!(!is_refusal(400, day_limit));
        assert!(!Error::Timeout(Duration::from_secs(2)).is_refusal());
    }

    #[test]
    fn error_message_is_bounded() {
        let body = format!(r#"{{"error":"{}"}}"#, "x".repeat(100_000));
        assert!(
            ErrorResponse::read(400, None, body.as_bytes())
                .message
                .len()
                < 400
        );
    }
}
