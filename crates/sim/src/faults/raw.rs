//! Raw form of a fault rule: a `[[fault]]` table of a script.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::http::error::proxy_page;
use crate::quirks::Castling;
use crate::site::id::check_name;
use crate::site::time::parse_duration;
use crate::time_control::TimeControl;

use super::{Endpoint, Fault, FaultRule, Latency, Skew, StreamFault};
use knightwatch_util::seconds::DAY;

/// Longer times are rejected; they could overflow sums.
const MAX_DURATION: Duration = Duration::from_secs(1_000 * DAY);
/// Longer than any client accepts.
const MAX_LINE_BYTES: usize = 64 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawRule {
    #[serde(rename = "do")]
    fault: RawFault,
    endpoint: Option<Endpoint>,
    user: Option<String>,
    game: Option<String>,
    ply: Option<usize>,
    from: Option<RawDuration>,
    until: Option<RawDuration>,
    at: Option<RawDuration>,
    every: Option<RawDuration>,
    probability: Option<f64>,
    nth: Option<usize>,
    times: Option<usize>,
    /// Lines of a stream before the fault happens.
    after_lines: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawFault {
    Status(RawStatus),
    Reset,
    Stall(RawDuration),
    AppliedLate(RawDuration),
    ResponseLost,
    ResponseLate(RawDuration),
    Drip(RawDuration),
    Latency(Latency),
    Eof,
    StreamReset,
    Silence,
    Garbage,
    Truncated,
    Oversized(usize),
    DuplicateFinal,
    Restart(RawRestart),
    Skew(Skew),
    Castling(Castling),
    Pair(RawPair),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawStatus {
    code: u16,
    body: Option<BodyKind>,
    /// The `error` of the JSON body, or the whole text body.
    message: Option<String>,
    /// `seconds` of the `ratelimit` object.
    seconds: Option<u64>,
    key: Option<String>,
    retry_after: Option<u64>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum BodyKind {
    Json,
    Html,
    Ratelimit,
    Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRestart {
    downtime: RawDuration,
    #[serde(default)]
    streams: RawStreamEnd,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawStreamEnd {
    #[default]
    Eof,
    Reset,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPair {
    white: String,
    black: String,
    clock: String,
}

/// `250ms`, `3s`, `2m`
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct RawDuration(Duration);

impl TryFrom<String> for RawDuration {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let duration = parse_duration(&text)?;
        if duration > MAX_DURATION {
            return Err(format!("`{text}` is too long"));
        }
        Ok(Self(duration))
    }
}

pub(super) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    RawDuration::deserialize(from).map(|RawDuration(duration)| duration)
}

/// A signed duration in milliseconds: `-800ms`, `90s`
pub(super) fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let text = String::deserialize(from)?;
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let duration = RawDuration::try_from(rest.to_owned()).map_err(D::Error::custom)?;
    Ok(sign * i64::try_from(duration.0.as_millis()).unwrap_or(i64::MAX))
}

impl<'de> Deserialize<'de> for FaultRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(RawRule::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl TryFrom<RawRule> for FaultRule {
    type Error = String;

    fn try_from(raw: RawRule) -> Result<Self, String> {
        let after_lines = raw.after_lines;
        let fault = raw.fault.fault(after_lines.unwrap_or(0))?;
        let duration = |time: Option<RawDuration>| time.map(|RawDuration(duration)| duration);
        let rule = Self {
            endpoint: raw.endpoint,
            user: raw.user,
            game: raw.game,
            ply: raw.ply,
            from: duration(raw.from).unwrap_or_default(),
            until: duration(raw.until),
            at: duration(raw.at),
            every: duration(raw.every),
            probability: raw.probability,
            nth: raw.nth.unwrap_or(1),
            times: raw.times.unwrap_or(1),
            fault,
        };
        rule.check(after_lines.is_some())?;
        // Conditions with another bound apply to all requests within it.
        let bounded = raw.times.is_some() || raw.nth.is_some();
        let is_unlimited = rule.probability.is_some()
            || rule.until.is_some()
            || rule.every.is_some() && rule.is_scheduled()
            || matches!(rule.fault, Fault::Latency(_));
        Ok(match is_unlimited && !bounded {
            true => rule.times(usize::MAX),
            false => rule,
        })
    }
}

impl FaultRule {
    /// Rejects contradictory conditions.
    fn check(&self, has_after_lines: bool) -> Result<(), String> {
        let invalid = |text: &str| Err(text.to_owned());
        let timed = self.at.is_some() || self.every.is_some();
        if self.probability.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
            return invalid("`probability` must be from 0 to 1");
        }
        if self.nth == 0 || self.times == 0 {
            return invalid("`nth` and `times` begin with 1");
        }
        if self.every == Some(Duration::ZERO) {
            return invalid("`every` must be longer than 0s");
        }
        if self.until.is_some_and(|until| until <= self.from) {
            return invalid("`until` must be after `from`");
        }
        match &self.fault {
            Fault::Stream { .. } => {
                let on_stream_opened = matches!(
                    self.endpoint,
                    Some(Endpoint::EventStream | Endpoint::GameStream | Endpoint::ChallengeCreate)
                );
                if self.endpoint.is_some() && !on_stream_opened {
                    return invalid(
                        "this is a stream fault: `endpoint` must be event-stream, game-stream or challenge-create",
                    );
                }
                if self.endpoint.is_none() && !timed && self.ply.is_none() {
                    return invalid(
                        "this is a stream fault: select streams with `endpoint`, or a time with `at`",
                    );
                }
            }
            _ if has_after_lines => {
                return invalid(
                    "`after-lines` counts lines of a stream; this is not a stream fault",
                );
            }
            Fault::Restart { .. }
                if self.endpoint.is_none()
                    && !timed
                    && self.ply.is_none()
                    && self.from.is_zero() =>
            {
                return invalid("say when: add `at`, `every`, `ply`, or `endpoint` and `nth`");
            }
            Fault::Skew(_) | Fault::Castling(_)
                if self.endpoint.is_some()
                    || self.every.is_some()
                    || self.probability.is_some() =>
            {
                return invalid("this lasts: it accepts only `at`, `from`, `until` and `ply`");
            }
            Fault::Pair { .. } if self.endpoint.is_some() => {
                return invalid("this needs no request: it accepts only `at`, `every` and `ply`");
            }
            _ => {}
        }
        Ok(())
    }
}

impl RawFault {
    fn fault(self, after_lines: usize) -> Result<Fault, String> {
        let stream = |fault| Fault::Stream { after_lines, fault };
        Ok(match self {
            Self::Status(raw) => raw.fault()?,
            Self::Reset => Fault::Reset,
            Self::Stall(RawDuration(wait)) => Fault::Stall(wait),
            Self::AppliedLate(RawDuration(wait)) => Fault::AppliedLate(wait),
            Self::ResponseLost => Fault::ResponseLost,
            Self::ResponseLate(RawDuration(wait)) => Fault::ResponseLate(wait),
            Self::Drip(RawDuration(pause)) => Fault::Drip(pause),
            Self::Latency(latency) => Fault::Latency(latency),
            Self::Eof => stream(StreamFault::Eof),
            Self::StreamReset => stream(StreamFault::Reset),
            Self::Silence => stream(StreamFault::Silence),
            Self::Garbage => stream(StreamFault::Garbage),
            Self::Truncated => stream(StreamFault::Truncated),
            Self::Oversized(bytes) if bytes > MAX_LINE_BYTES => {
                return Err(format!("at most {MAX_LINE_BYTES} bytes"));
            }
            Self::Oversized(bytes) => stream(StreamFault::Oversized(bytes)),
            Self::DuplicateFinal => stream(StreamFault::DuplicateFinal),
            Self::Restart(raw) => Fault::Restart {
                downtime: raw.downtime.0,
                streams: match raw.streams {
                    RawStreamEnd::Eof => StreamFault::Eof,
                    RawStreamEnd::Reset => StreamFault::Reset,
                },
            },
            Self::Skew(Skew { drift, .. }) if !(-1.0..=1.0).contains(&drift) => {
                return Err("`drift` must be from -1 to 1, in seconds per second".to_owned());
            }
            Self::Skew(skew) => Fault::Skew(skew),
            Self::Castling(castling) => Fault::Castling(castling),
            Self::Pair(raw) => {
                check_name(&raw.white)?;
                check_name(&raw.black)?;
                let clock: TimeControl = raw.clock.parse()?;
                if raw.white.eq_ignore_ascii_case(&raw.black) {
                    return Err("`white` and `black` must be different users".to_owned());
                }
                Fault::Pair {
                    players: [raw.white, raw.black],
                    clock,
                }
            }
        })
    }
}

impl RawStatus {
    fn fault(self) -> Result<Fault, String> {
        if !(400..600).contains(&self.code) {
            return Err(format!(
                "{} is not an error status: expected 400 to 599",
                self.code
            ));
        }
        // 502 to 504 come from the proxy, everything else from the site.
        let default = match self.code {
            502..=504 => BodyKind::Html,
            _ if self.seconds.is_some() || self.key.is_some() => BodyKind::Ratelimit,
            _ => BodyKind::Json,
        };
        let kind = self.body.unwrap_or(default);
        if kind != BodyKind::Ratelimit && (self.seconds.is_some() || self.key.is_some()) {
            return Err("`seconds` and `key` are for body = \"ratelimit\"".to_owned());
        }
        let message = self.message.unwrap_or_else(|| {
            let text = match self.code {
                401 => "No such token",
                404 => "Not found",
                429 => "Too many requests. Try again later.",
                _ => "Something went wrong",
            };
            text.to_owned()
        });
        let (content_type, body) = match kind {
            BodyKind::Json => (
                "application/json",
                serde_json::json!({ "error": message }).to_string(),
            ),
            BodyKind::Ratelimit => {
                let key = self.key.as_deref().unwrap_or("bot.vsBot.day");
                let limit = serde_json::json!({
                    "key": key,
                    "seconds": self.seconds.unwrap_or(60),
                });
                let body = serde_json::json!({ "error": message, "ratelimit": limit });
                ("application/json", body.to_string())
            }
            BodyKind::Html => ("text/html", proxy_page(self.code)),
            BodyKind::Text => ("text/plain; charset=utf-8", message),
        };
        let retry = self.retry_after.map(|seconds| seconds.to_string());
        let retry = retry.map(|seconds| ("Retry-After".to_owned(), seconds));
        let defaults = [("Content-Type".to_owned(), content_type.to_owned())];
        let headers = defaults
            .into_iter()
            .filter(|(name, _)| {
                !self
                    .headers
                    .keys()
                    .any(|key| key.eq_ignore_ascii_case(name))
            })
            .chain(retry)
            .chain(self.headers.clone());
        Ok(Fault::Status {
            code: self.code,
            headers: headers.collect(),
            body,
        })
    }
}
