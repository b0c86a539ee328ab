//! A rule as it is written in a script: `[[fault]]` with when and, under `do`, what.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::sim::http::error::proxy_page;
use crate::sim::options::{TimeControl, check_name};
use crate::sim::quirks::Castling;
use crate::sim::site::time::parse_duration;

use super::{Endpoint, Fault, Latency, Rule, Skew, StreamFault};

/// No script means more than this; longer times would overflow sums.
const LONGEST: Duration = Duration::from_secs(1_000 * 86_400);
/// More of a line than any reader takes.
const LONGEST_LINE: usize = 64 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Table {
    /// What goes wrong.
    #[serde(rename = "do")]
    what: What,
    endpoint: Option<Endpoint>,
    user: Option<String>,
    game: Option<String>,
    ply: Option<usize>,
    from: Option<Time>,
    until: Option<Time>,
    at: Option<Time>,
    every: Option<Time>,
    probability: Option<f64>,
    nth: Option<usize>,
    times: Option<usize>,
    /// Lines of a stream before it goes wrong.
    after: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    Status(StatusTable),
    Reset,
    Stall(Time),
    AppliedLate(Time),
    AnswerLost,
    AnswerLate(Time),
    Drip(Time),
    Latency(LatencyTable),
    Eof,
    StreamReset,
    Silence,
    Garbage,
    Truncated,
    Oversized(usize),
    DuplicateFinal,
    Restart(RestartTable),
    Skew(SkewTable),
    Castling(Castling),
    Pair(PairTable),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct StatusTable {
    code: u16,
    body: Option<BodyKind>,
    /// The error in the body, or the text.
    says: Option<String>,
    /// In the `ratelimit` object.
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
struct LatencyTable {
    least: Time,
    #[serde(default)]
    jitter: Time,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RestartTable {
    down: Time,
    #[serde(default)]
    streams: Ending,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ending {
    #[default]
    Eof,
    Reset,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkewTable {
    #[serde(default)]
    date: Shift,
    #[serde(default)]
    clocks: Shift,
    #[serde(default)]
    drift: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairTable {
    white: String,
    black: String,
    clock: String,
}

/// `250ms`, `3s`, `2m`
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(try_from = "String")]
struct Time(Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let span = parse_duration(&text)?;
        if span > LONGEST {
            return Err(format!("`{text}` is too long"));
        }
        Ok(Self(span))
    }
}

/// A time with a sign, in milliseconds: `-800ms`, `90s`
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(try_from = "String")]
struct Shift(i64);

impl TryFrom<String> for Shift {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (sign, span) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(&text)),
        };
        let Time(span) = Time::try_from(span.to_owned())?;
        Ok(Self(
            sign * i64::try_from(span.as_millis()).unwrap_or(i64::MAX),
        ))
    }
}

impl TryFrom<Table> for Rule {
    type Error = String;

    fn try_from(table: Table) -> Result<Self, String> {
        let after = table.after;
        let fault = table.what.fault(after.unwrap_or(0))?;
        let span = |time: Option<Time>| time.map(|Time(span)| span);
        let rule = Self {
            endpoint: table.endpoint,
            user: table.user,
            game: table.game,
            ply: table.ply,
            from: span(table.from).unwrap_or_default(),
            until: span(table.until),
            at: span(table.at),
            every: span(table.every),
            probability: table.probability,
            nth: table.nth.unwrap_or(1),
            times: table.times.unwrap_or(1),
            fault,
        };
        rule.check(after.is_some())?;
        // Who limits it in another way means all that is within.
        let bounded = table.times.is_some() || table.nth.is_some();
        let lasts = rule.probability.is_some()
            || rule.until.is_some()
            || rule.every.is_some() && rule.acts_by_itself()
            || matches!(rule.fault, Fault::Latency(_));
        Ok(match lasts && !bounded {
            true => rule.times(usize::MAX),
            false => rule,
        })
    }
}

impl Rule {
    /// Whether it makes sense.
    fn check(&self, counts_lines: bool) -> Result<(), String> {
        let wrong = |text: &str| Err(text.to_owned());
        let timed = self.at.is_some() || self.every.is_some();
        if self.probability.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
            return wrong("`probability` goes from 0 to 1");
        }
        if self.nth == 0 || self.times == 0 {
            return wrong("`nth` and `times` begin with 1");
        }
        if self.every == Some(Duration::ZERO) {
            return wrong("`every` has to be longer than nothing");
        }
        if self.until.is_some_and(|until| until <= self.from) {
            return wrong("`until` has to be after `from`");
        }
        match &self.fault {
            Fault::Stream { .. } => {
                let on_stream_opened = matches!(
                    self.endpoint,
                    Some(Endpoint::EventStream | Endpoint::GameStream | Endpoint::ChallengeCreate)
                );
                if self.endpoint.is_some() && !on_stream_opened {
                    return wrong(
                        "this happens to streams: `endpoint` is event-stream, game-stream or challenge-create",
                    );
                }
                if self.endpoint.is_none() && !timed && self.ply.is_none() {
                    return wrong(
                        "this happens to streams: say which with `endpoint`, or when with `at`",
                    );
                }
            }
            _ if counts_lines => return wrong("`after` counts the lines of a stream"),
            Fault::Restart { .. }
                if self.endpoint.is_none()
                    && !timed
                    && self.ply.is_none()
                    && self.from.is_zero() =>
            {
                return wrong("say when: `at`, `every`, `ply`, or `endpoint` and `nth`");
            }
            Fault::Skew(_) | Fault::Castling(_)
                if self.endpoint.is_some()
                    || self.every.is_some()
                    || self.probability.is_some() =>
            {
                return wrong("this lasts: it takes `at`, `from`, `until` and `ply`");
            }
            Fault::Pair { .. } if self.endpoint.is_some() => {
                return wrong("this happens by itself: it takes `at`, `every` and `ply`");
            }
            _ => {}
        }
        Ok(())
    }
}

impl What {
    fn fault(self, after: usize) -> Result<Fault, String> {
        let stream = |how| Fault::Stream { after, how };
        Ok(match self {
            Self::Status(table) => table.fault()?,
            Self::Reset => Fault::Reset,
            Self::Stall(Time(wait)) => Fault::Stall(wait),
            Self::AppliedLate(Time(wait)) => Fault::AppliedLate(wait),
            Self::AnswerLost => Fault::AnswerLost,
            Self::AnswerLate(Time(wait)) => Fault::AnswerLate(wait),
            Self::Drip(Time(pause)) => Fault::Drip(pause),
            Self::Latency(table) => Fault::Latency(Latency {
                least: table.least.0,
                jitter: table.jitter.0,
            }),
            Self::Eof => stream(StreamFault::Eof),
            Self::StreamReset => stream(StreamFault::Reset),
            Self::Silence => stream(StreamFault::Silence),
            Self::Garbage => stream(StreamFault::Garbage),
            Self::Truncated => stream(StreamFault::Truncated),
            Self::Oversized(bytes) if bytes > LONGEST_LINE => {
                return Err(format!("at most {LONGEST_LINE} bytes"));
            }
            Self::Oversized(bytes) => stream(StreamFault::Oversized(bytes)),
            Self::DuplicateFinal => stream(StreamFault::DuplicateFinal),
            Self::Restart(table) => Fault::Restart {
                down: table.down.0,
                how: match table.streams {
                    Ending::Eof => StreamFault::Eof,
                    Ending::Reset => StreamFault::Reset,
                },
            },
            Self::Skew(SkewTable { drift, .. }) if !(-1.0..=1.0).contains(&drift) => {
                return Err("`drift` goes from -1 to 1, in seconds per second".to_owned());
            }
            Self::Skew(table) => Fault::Skew(Skew {
                date: table.date.0,
                clocks: table.clocks.0,
                drift: table.drift,
            }),
            Self::Castling(castling) => Fault::Castling(castling),
            Self::Pair(table) => {
                check_name(&table.white)?;
                check_name(&table.black)?;
                let clock: TimeControl = table.clock.parse()?;
                if table.white.eq_ignore_ascii_case(&table.black) {
                    return Err("nobody plays against himself".to_owned());
                }
                Fault::Pair {
                    players: [table.white, table.black],
                    clock,
                }
            }
        })
    }
}

impl StatusTable {
    fn fault(self) -> Result<Fault, String> {
        if !(400..600).contains(&self.code) {
            return Err(format!(
                "{} is no status of an error: 400 to 599",
                self.code
            ));
        }
        // The proxy speaks for a site that is down; else the site speaks for itself.
        let usual = match self.code {
            502..=504 => BodyKind::Html,
            _ if self.seconds.is_some() || self.key.is_some() => BodyKind::Ratelimit,
            _ => BodyKind::Json,
        };
        let kind = self.body.unwrap_or(usual);
        if kind != BodyKind::Ratelimit && (self.seconds.is_some() || self.key.is_some()) {
            return Err("`seconds` and `key` are for body = \"ratelimit\"".to_owned());
        }
        let says = self.says.unwrap_or_else(|| {
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
                serde_json::json!({ "error": says }).to_string(),
            ),
            BodyKind::Ratelimit => {
                let key = self.key.as_deref().unwrap_or("bot.vsBot.day");
                let limit = serde_json::json!({
                    "key": key,
                    "seconds": self.seconds.unwrap_or(60),
                });
                let body = serde_json::json!({ "error": says, "ratelimit": limit });
                ("application/json", body.to_string())
            }
            BodyKind::Html => ("text/html", proxy_page(self.code)),
            BodyKind::Text => ("text/plain; charset=utf-8", says),
        };
        let retry = self.retry_after.map(|seconds| seconds.to_string());
        let retry = retry.map(|seconds| ("Retry-After".to_owned(), seconds));
        let own = [("Content-Type".to_owned(), content_type.to_owned())];
        let headers = own
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
