//! What can go wrong between us and Lichess.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::model::clip;
use super::retry::Kind;

/// A request that did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The server answered, and it was no.
    #[error("Lichess answered {0}")]
    Status(Refusal),
    /// No answer in time. The request may have been carried out all the same.
    #[error("no answer from Lichess within {0:?}")]
    Timeout(Duration),
    /// The connection could not be made, or broke. After it was made the request may have been carried out.
    #[error("{}: {detail}", if *.connecting { "cannot connect to Lichess" } else { "the connection to Lichess broke" })]
    Network { connecting: bool, detail: String },
    /// An answer that is not what was asked for.
    #[error("Lichess answered something unreadable: {0}")]
    Decode(String),
    /// The certificates that the configuration names cannot be used.
    #[error("the certificates in {} cannot be used: {why}; see lichess.ca_file", file.display())]
    CaFile { file: PathBuf, why: String },
    /// Encryption cannot be set up on this machine.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
    /// Not sent: an earlier 429 asked for a pause of this kind of request, which lasts this much longer.
    #[error("{0} requests pause for another {1:.0?}, as Lichess asked")]
    Paused(Kind, Duration),
}

/// An answer outside 200 to 299.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    /// What the server says, harmless in a terminal, at most 300 characters.
    pub message: String,
    /// Whether Lichess itself says so: its refusals are JSON objects with an `error`. All others come from a proxy in front
    /// of it.
    pub by_lichess: bool,
    pub ratelimit: Option<RateLimit>,
    /// The `Retry-After` header, of a proxy at most [`LONGEST_PROXY_WAIT`].
    pub retry_after: Option<Duration>,
}

/// Which limit was hit, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    pub key: String,
    pub seconds: Option<Duration>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.code)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

/// No server gets us to wait longer than this: two days.
const LONGEST_WAIT: Duration = Duration::from_secs(2 * 24 * 3600);

/// The longest wait that a proxy in front of Lichess can ask for. It knows nothing of our games, and what it limits is over
/// within minutes.
const LONGEST_PROXY_WAIT: Duration = Duration::from_secs(120);

impl Refusal {
    /// Reads the body of a refusal, which may be JSON of several shapes, HTML, or nothing.
    pub fn read(code: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let value = serde_json::from_slice::<Value>(body).ok();
        let by_lichess = value
            .as_ref()
            .is_some_and(|value| value.get("error").is_some());
        let longest = if by_lichess {
            LONGEST_WAIT
        } else {
            LONGEST_PROXY_WAIT
        };
        let message = match value.as_ref() {
            Some(value) => sentence(value.get("error").unwrap_or(value)),
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
                .map(|seconds| wait(seconds).min(longest)),
        }
    }

    /// How long the server asks us to wait, if it says so.
    pub fn named_wait(&self) -> Option<Duration> {
        self.ratelimit
            .as_ref()
            .and_then(|limit| limit.seconds)
            .or(self.retry_after)
    }

    /// Whether this counts what comes from our address, whoever asks: a limit of the proxy in front of Lichess, or one that
    /// Lichess calls so.
    pub fn is_of_address(&self) -> bool {
        let limit = self.ratelimit.as_ref();
        !self.by_lichess || limit.is_some_and(|limit| limit.key.ends_with(".ip"))
    }

    /// Whether this is the limit of 100 games a day against other bots, ours (429) or the opponent's (400).
    pub fn is_bot_day_limit(&self) -> bool {
        self.ratelimit
            .as_ref()
            .is_some_and(|limit| limit.key == "bot.vsBot.day")
    }
}

fn wait(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0))
        .unwrap_or(LONGEST_WAIT)
        .min(LONGEST_WAIT)
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
        seconds: wire.seconds.map(wait),
    })
}

/// The words of an `error`: a string, or fields with lists of strings.
fn sentence(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(sentence).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match name.as_str() {
                "global" | "" => sentence(value),
                name => format!("{name}: {}", sentence(value)),
            };
            fields.iter().map(field).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

/// What an HTML page calls itself; of other text its first line.
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

impl Error {
    /// The status code, when the server answered one that is no success.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Status(refusal) => Some(refusal.code),
            _ => None,
        }
    }

    /// What the server said, when it refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Status(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The same, but only Lichess's own word, and not that of a proxy in front of it.
    pub fn word(&self) -> Option<&Refusal> {
        self.refusal().filter(|refusal| refusal.by_lichess)
    }

    /// Lichess says that the token is not, or no longer, one that it knows.
    pub fn is_unauthorized(&self) -> bool {
        self.word().is_some_and(|refusal| refusal.code == 401)
    }

    /// Too many requests.
    pub fn is_rate_limited(&self) -> bool {
        self.code() == Some(429)
    }

    /// Whether the request may have been carried out although it failed.
    pub fn may_have_worked(&self) -> bool {
        match self {
            Self::Timeout(_)
            | Self::Network {
                connecting: false, ..
            } => true,
            Self::Status(refusal) => refusal.code >= 500,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_body_of_a_refusal_becomes_a_sentence() {
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
            let refusal = Refusal::read(code, None, body.as_bytes());
            assert_eq!(refusal.message, message, "{body}");
            assert_eq!(refusal.by_lichess, body.starts_with('{'), "{body}");
        }
    }

    #[test]
    fn the_wait_is_the_one_that_is_named() {
        let body = br#"{"error":"You played 100 games","ratelimit":{"key":"bot.vsBot.day","seconds":7200}}"#;
        let refusal = Refusal::read(429, Some("30"), body);
        assert_eq!(refusal.named_wait(), Some(Duration::from_secs(7200)));
        assert!(refusal.is_bot_day_limit());
        assert_eq!(
            Refusal::read(429, Some(" 30 "), b"").named_wait(),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            Refusal::read(429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), b"").named_wait(),
            None
        );
        assert_eq!(
            Refusal::read(429, Some("-3"), b"").named_wait(),
            Some(Duration::ZERO)
        );
        assert_eq!(
            Refusal::read(429, Some("1e300"), br#"{"error":"no"}"#).named_wait(),
            Some(LONGEST_WAIT)
        );
        assert_eq!(
            Refusal::read(429, Some("NaN"), b"").named_wait(),
            Some(Duration::ZERO)
        );
        assert_eq!(
            Refusal::read(429, None, br#"{"ratelimit":7}"#).named_wait(),
            None
        );
    }

    #[test]
    fn a_proxy_has_no_say_about_tokens_and_none_about_hours() {
        for body in [
            "",
            "<html></html>",
            "{}",
            "[]",
            "1",
            r#"{"message":"Forbidden"}"#,
        ] {
            let refusal = Refusal::read(429, Some("86400"), body.as_bytes());
            assert_eq!(refusal.named_wait(), Some(LONGEST_PROXY_WAIT), "{body}");
            assert!(refusal.is_of_address(), "{body}");
            let failure = Error::Status(Refusal::read(401, None, body.as_bytes()));
            assert!(failure.word().is_none(), "{body}");
            assert!(!failure.is_unauthorized(), "{body}");
        }
        let body = br#"{"error":"No such token"}"#;
        assert!(Error::Status(Refusal::read(401, None, body)).is_unauthorized());
        let limit = br#"{"ratelimit":{"key":"x","seconds":86400}}"#;
        assert_eq!(Refusal::read(429, None, limit).named_wait(), None);
    }

    #[test]
    fn a_message_has_an_end() {
        let body = format!(r#"{{"error":"{}"}}"#, "x".repeat(100_000));
        assert!(Refusal::read(400, None, body.as_bytes()).message.len() < 400);
    }
}
