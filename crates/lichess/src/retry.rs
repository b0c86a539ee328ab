//! Retry policy: what to do after a failure, by kind of request. Pure: no clock, socket or task.

use std::time::{Duration, Instant};

use super::error::{Error, ErrorResponse};
pub use super::request_kind::RequestKind;

/// Decision after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Send the request again after this time, unless it has become pointless: the stream shows the move, the game is over,
    /// the challenge is gone. Check the stream first; see [`Error::may_have_worked`].
    After(Duration),
    /// No further attempt.
    GiveUp,
}

/// Wait after a 429 that names no time: a whole minute, as the API's documentation asks.
pub const DEFAULT_RATE_LIMIT_WAIT: Duration = Duration::from_secs(60);

/// The same for a move. A minute would cost games, and moves have no limit of their own.
const DEFAULT_MOVE_RATE_LIMIT_WAIT: Duration = Duration::from_secs(1);

/// Failures in a row, more than a minute of them, after which a move is retried every few seconds only: Lichess is down, and
/// counts requests meanwhile.
const MAX_FAST_MOVE_RETRIES: u32 = 70;

/// Decides what to do after a request of this kind failed; `attempt` counts from 0.
pub fn decide(kind: RequestKind, error: &Error, attempt: u32) -> Retry {
    let step = |waits: &[u64]| {
        Retry::After(Duration::from_millis(
            waits[(attempt as usize).min(waits.len() - 1)],
        ))
    };
    let few = |waits: &[u64]| {
        if (attempt as usize) < waits.len() {
            step(waits)
        } else {
            Retry::GiveUp
        }
    };
    match (kind, FailureClass::of(error)) {
        (_, FailureClass::Refused) => Retry::GiveUp,
        (RequestKind::Move, FailureClass::Blocked) => step(&[500, 1000, 2000, 5000]),

        (RequestKind::Move, FailureClass::Limited(wait)) => {
            // Without a pause the request would be repeated as fast as it is refused.
            let wait = wait.filter(|wait| !wait.is_zero());
            Retry::After(wait.unwrap_or(DEFAULT_MOVE_RATE_LIMIT_WAIT))
        }
        (RequestKind::Move, _) if attempt >= MAX_FAST_MOVE_RETRIES => {
            Retry::After(Duration::from_secs(5))
        }
        (RequestKind::Move, FailureClass::Broken) => step(&[0, 50, 100, 250, 500, 1000]),
        (RequestKind::Move, FailureClass::Unreachable) => step(&[50, 100, 250, 500, 1000]),
        (RequestKind::Move, FailureClass::Down) => step(&[50, 100, 250, 500, 1000]),
        // The stream had the whole timeout to show the move, so the move was not applied.
        (RequestKind::Move, FailureClass::Late) => step(&[0, 100, 250, 500, 1000]),

        // A draw or takeback that is accepted too late would be an offer of ours. A challenge may exist: a second request
        // would silently cancel it and count twice against the limit. Streams follow `ReconnectPolicy`.
        (
            RequestKind::Offer
            | RequestKind::Chat
            | RequestKind::Challenge
            | RequestKind::User
            | RequestKind::EventStream
            | RequestKind::GameStream,
            _,
        ) => Retry::GiveUp,

        (
            RequestKind::Command
            | RequestKind::Claim
            | RequestKind::Answer
            | RequestKind::Arena
            | RequestKind::Withdrawal
            | RequestKind::Query,
            FailureClass::Limited(wait),
        ) => {
            let wait = wait.unwrap_or(DEFAULT_RATE_LIMIT_WAIT);
            // After a longer wait the reason for the request is gone.
            if attempt < 3 && wait <= Duration::from_secs(120) {
                Retry::After(wait)
            } else {
                Retry::GiveUp
            }
        }
        (
            RequestKind::Command
            | RequestKind::Claim
            | RequestKind::Answer
            | RequestKind::Arena
            | RequestKind::Withdrawal,
            _,
        ) => few(&[250, 500, 1000, 2000, 4000, 8000]),
        (RequestKind::Query, _) => few(&[500, 1000, 2000, 4000, 8000]),
    }
}

/// Class of a failure, as far as retries are concerned.
pub(super) enum FailureClass {
    /// 429, with the wait it names.
    Limited(Option<Duration>),
    /// 5xx: the server or its proxy restarts.
    Down,
    /// No connection.
    Unreachable,
    /// The connection broke before the response.
    Broken,
    /// No response in time.
    Late,
    /// Rejected by a proxy in front of Lichess, which says nothing about the request and is temporary.
    Blocked,
    /// A permanent error, or an unreadable response.
    Refused,
}

impl FailureClass {
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::Status(response) => match response.code {
                429 => Self::Limited(response.requested_wait()),
                408 | 425 | 500.. => Self::Down,
                _ if !response.by_lichess => Self::Blocked,
                _ => Self::Refused,
            },
            Error::Paused(_, wait) => Self::Limited(Some(*wait)),
            Error::Timeout(_) | Error::Queued(_) => Self::Late,
            Error::Network {
                connecting: true, ..
            } => Self::Unreachable,
            Error::Network {
                connecting: false, ..
            } => Self::Broken,
            Error::Decode(_) | Error::CaFile { .. } | Error::Setup(_) => Self::Refused,
        }
    }
}

/// Pauses by kind of request.
///
/// A 429 of Lichess pauses its own kind. One of a proxy counts every request of this IP address, so it pauses everything
/// but moves and streams. The limit of 100 games a day between bots pauses nothing: games against humans are still allowed.
#[derive(Debug, Default)]
pub struct Gate {
    /// Requested by Lichess.
    until: [Option<Instant>; RequestKind::ALL.len()],
    /// Requested by a proxy.
    proxy: Option<Instant>,
}

impl Gate {
    /// The time left until this kind may be sent; `None` if it is not paused.
    pub fn remaining_pause(&self, kind: RequestKind, now: Instant) -> Option<Duration> {
        let proxy = self.proxy_pause(now).filter(|_| kind.can_pause());
        self.lichess_pause(kind, now).max(proxy)
    }

    /// The time left of a pause requested by Lichess.
    pub fn lichess_pause(&self, kind: RequestKind, now: Instant) -> Option<Duration> {
        left(self.until[kind as usize], now)
    }

    /// The time left of a pause requested by a proxy.
    pub fn proxy_pause(&self, now: Instant) -> Option<Duration> {
        left(self.proxy, now)
    }

    /// Records the error response to a request of this kind.
    pub fn on_error_response(&mut self, kind: RequestKind, response: &ErrorResponse, now: Instant) {
        if response.code != 429 || response.is_bot_day_limit() {
            return;
        }
        let wait = response.requested_wait().unwrap_or(DEFAULT_RATE_LIMIT_WAIT);
        if response.by_lichess {
            self.pause(kind, wait, now);
        } else {
            self.proxy = self.proxy.max(Some(now + wait));
        }
    }

    /// Pauses a kind, if it can be paused.
    pub fn pause(&mut self, kind: RequestKind, wait: Duration, now: Instant) {
        if kind.can_pause() {
            let pause = &mut self.until[kind as usize];
            *pause = (*pause).max(Some(now + wait));
        }
    }
}

fn left(until: Option<Instant>, now: Instant) -> Option<Duration> {
    let left = until?.saturating_duration_since(now);
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn status(code: u16, body: &str) -> Error {
        Error::Status(ErrorResponse::read(code, None, body.as_bytes()))
    }

    fn named(seconds: u64) -> Error {
        status(
            429,
            &format!(r#"{{"error":"slow down","ratelimit":{{"key":"x","seconds":{seconds}}}}}"#),
        )
    }

    fn broke() -> Error {
        Error::Network {
            connecting: false,
            detail: "reset".to_owned(),
        }
    }

    fn unreachable() -> Error {
        Error::Network {
            connecting: true,
            detail: "refused".to_owned(),
        }
    }

    #[test]
    fn retries_depend_on_kind() {
        use Retry::{After, GiveUp};
        let late = Error::Timeout(ms(2000));
        let plain = status(429, r#"{"error":"Too many requests. Try again later."}"#);
        let html = status(429, "<html></html>");
        let down = status(502, "<html></html>");
        let refusal = status(400, r#"{"error":"Not your turn, or game already over"}"#);
        let table = [
            (RequestKind::Move, named(3), 0, After(ms(3000))),
            (RequestKind::Move, named(3), 9, After(ms(3000))),
            (RequestKind::Move, named(0), 9, After(ms(1000))),
            (RequestKind::Move, plain.clone(), 0, After(ms(1000))),
            (RequestKind::Move, html.clone(), 0, After(ms(1000))),
            (RequestKind::Move, down.clone(), 0, After(ms(50))),
            (RequestKind::Move, status(503, ""), 1, After(ms(100))),
            (
                RequestKind::Move,
                down.clone(),
                MAX_FAST_MOVE_RETRIES - 1,
                After(ms(1000)),
            ),
            (
                RequestKind::Move,
                down.clone(),
                MAX_FAST_MOVE_RETRIES,
                After(ms(5000)),
            ),
            (RequestKind::Move, status(404, "<html>"), 0, After(ms(500))),
            (RequestKind::Move, broke(), 0, After(ms(0))),
            (RequestKind::Move, unreachable(), 0, After(ms(50))),
            (RequestKind::Move, late.clone(), 0, After(ms(0))),
            (RequestKind::Move, refusal.clone(), 0, GiveUp),
            (RequestKind::Move, status(401, "<html>"), 0, After(ms(500))),
            (
                RequestKind::Move,
                status(401, r#"{"error":"No such token"}"#),
                0,
                GiveUp,
            ),
            (RequestKind::Chat, down.clone(), 0, GiveUp),
            (RequestKind::Chat, named(1), 0, GiveUp),
            (RequestKind::Challenge, plain.clone(), 0, GiveUp),
            (RequestKind::Challenge, late.clone(), 0, GiveUp),
            (RequestKind::Challenge, unreachable(), 0, GiveUp),
            (RequestKind::Offer, down.clone(), 0, GiveUp),
            (RequestKind::Claim, down.clone(), 0, After(ms(250))),
            (RequestKind::Answer, down.clone(), 0, After(ms(250))),
            (RequestKind::Answer, down.clone(), 6, GiveUp),
            (RequestKind::Answer, plain.clone(), 0, After(ms(60_000))),
            (RequestKind::Answer, named(7200), 0, GiveUp),
            (RequestKind::Answer, refusal, 0, GiveUp),
            (
                RequestKind::Answer,
                status(403, "<html>"),
                0,
                After(ms(250)),
            ),
            (RequestKind::Command, status(404, ""), 0, After(ms(250))),
            (RequestKind::Query, status(302, ""), 0, After(ms(500))),
            (RequestKind::Challenge, status(403, "<html>"), 0, GiveUp),
            (RequestKind::Command, broke(), 0, After(ms(250))),
            (
                RequestKind::Query,
                Error::Paused(RequestKind::Query, ms(1500)),
                0,
                After(ms(1500)),
            ),
            (RequestKind::Query, Error::Decode("x".to_owned()), 0, GiveUp),
            (RequestKind::Query, late, 4, After(ms(8000))),
            (RequestKind::Query, html, 3, GiveUp),
        ];
        for (kind, error, attempt, expected) in table {
            assert_eq!(
                decide(kind, &error, attempt),
                expected,
                "{kind} {error} {attempt}"
            );
        }
    }

    #[test]
    fn move_is_retried_at_once_and_forever() {
        for error in [
            status(502, ""),
            status(500, ""),
            broke(),
            unreachable(),
            Error::Timeout(ms(2000)),
        ] {
            assert!(
                matches!(decide(RequestKind::Move, &error, 0), Retry::After(wait) if wait <= ms(50)),
                "{error}"
            );
            for attempt in 0..10_000 {
                let max = ms(if attempt < MAX_FAST_MOVE_RETRIES {
                    1000
                } else {
                    5000
                });
                assert!(
                    matches!(decide(RequestKind::Move, &error, attempt), Retry::After(wait) if wait <= max)
                );
            }
        }
    }

    #[test]
    fn rate_limit_pauses_only_its_kind() {
        let now = Instant::now();
        let mut gate = Gate::default();
        gate.on_error_response(
            RequestKind::Chat,
            named(5).error_response().expect("a status"),
            now,
        );
        assert_eq!(gate.remaining_pause(RequestKind::Chat, now), Some(ms(5000)));
        assert_eq!(
            gate.remaining_pause(RequestKind::Chat, now + ms(4000)),
            Some(ms(1000))
        );
        assert_eq!(
            gate.remaining_pause(RequestKind::Chat, now + ms(5000)),
            None
        );
        for kind in RequestKind::ALL
            .into_iter()
            .filter(|&kind| kind != RequestKind::Chat)
        {
            assert_eq!(gate.remaining_pause(kind, now), None, "{kind}");
        }
    }

    #[test]
    fn rate_limit_without_time_pauses_for_a_minute() {
        let now = Instant::now();
        let mut gate = Gate::default();
        gate.on_error_response(
            RequestKind::Challenge,
            status(429, r#"{"error":"no"}"#)
                .error_response()
                .expect("a status"),
            now,
        );
        gate.on_error_response(
            RequestKind::Challenge,
            named(1).error_response().expect("a status"),
            now,
        );
        gate.on_error_response(
            RequestKind::Challenge,
            status(502, "").error_response().expect("a status"),
            now,
        );
        assert_eq!(
            gate.remaining_pause(RequestKind::Challenge, now),
            Some(DEFAULT_RATE_LIMIT_WAIT)
        );
    }

    #[test]
    fn proxy_rate_limit_pauses_all_but_moves_and_streams() {
        let now = Instant::now();
        let mut gate = Gate::default();
        gate.on_error_response(
            RequestKind::Move,
            status(429, "<html>429</html>")
                .error_response()
                .expect("a status"),
            now,
        );
        for kind in RequestKind::ALL {
            let free = matches!(
                kind,
                RequestKind::Move | RequestKind::EventStream | RequestKind::GameStream
            );
            assert_eq!(gate.remaining_pause(kind, now).is_none(), free, "{kind}");
        }
    }

    #[test]
    fn pause_can_be_restored() {
        let now = Instant::now();
        let mut before = Gate::default();
        let limit = named(90);
        before.on_error_response(
            RequestKind::Challenge,
            limit.error_response().expect("a status"),
            now,
        );
        let mut after = Gate::default();
        for kind in RequestKind::ALL {
            if let Some(left) = before.lichess_pause(kind, now + ms(30_000)) {
                after.pause(kind, left, now);
            }
        }
        assert_eq!(
            after.lichess_pause(RequestKind::Challenge, now),
            Some(ms(60_000))
        );
        after.pause(RequestKind::Move, ms(1), now);
        for kind in RequestKind::ALL {
            let paused = after.remaining_pause(kind, now).is_some();
            assert_eq!(paused, kind == RequestKind::Challenge, "{kind}");
            assert_eq!(
                after.remaining_pause(kind, now + ms(60_000)),
                None,
                "{kind}"
            );
        }
    }

    #[test]
    fn proxy_pause_is_not_a_lichess_pause() {
        let (now, mut gate) = (Instant::now(), Gate::default());
        let html = status(429, "<html>429</html>");
        gate.on_error_response(
            RequestKind::Query,
            html.error_response().expect("a status"),
            now,
        );
        assert_eq!(gate.proxy_pause(now), Some(DEFAULT_RATE_LIMIT_WAIT));
        assert_eq!(
            gate.remaining_pause(RequestKind::Query, now),
            Some(DEFAULT_RATE_LIMIT_WAIT)
        );
        assert_eq!(gate.lichess_pause(RequestKind::Query, now), None);
        assert_eq!(gate.proxy_pause(now + DEFAULT_RATE_LIMIT_WAIT), None);
    }

    #[test]
    fn rate_limit_never_pauses_moves() {
        let now = Instant::now();
        let mut gate = Gate::default();
        for kind in RequestKind::ALL {
            gate.on_error_response(kind, named(100).error_response().expect("a status"), now);
            gate.on_error_response(
                kind,
                status(429, "").error_response().expect("a status"),
                now,
            );
        }
        assert_eq!(gate.remaining_pause(RequestKind::Move, now), None);
    }

    #[test]
    fn bot_day_limit_pauses_nothing() {
        let body = r#"{"error":"You played 100 games","ratelimit":{"key":"bot.vsBot.day","seconds":40000}}"#;
        let (now, mut gate) = (Instant::now(), Gate::default());
        let limit = status(429, body);
        for kind in RequestKind::ALL {
            gate.on_error_response(kind, limit.error_response().expect("a status"), now);
            assert_eq!(gate.remaining_pause(kind, now), None, "{kind}");
        }
    }
}
