//! Which failure, which kind of request, how long: everything that is decided about trying again, without a clock, a
//! socket or a task of its own.

use std::fmt;
use std::time::{Duration, Instant};

use super::error::{Error, Refusal};
pub use super::reopen::{Ended, Reopen};

/// What a request is for. Each kind is retried in its own way, and a 429 pauses its own kind alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A move. Never paused by anything, never given up while it is owed.
    Move,
    /// What else ends a game: abort, resign.
    Command,
    /// Draws and takebacks, which opponents can ask for as often as they like.
    Offer,
    /// Claiming the win or a draw from an opponent who has left.
    Claim,
    /// Words. Never worth a second try.
    Chat,
    /// Accept, decline, cancel.
    Answer,
    /// A challenge of our own.
    Challenge,
    /// Joining an arena or a team.
    Arena,
    /// Leaving an arena, which no limit on joining may hold back: who stays is paired.
    Withdrawal,
    /// A question: account, playing, users, lists.
    Query,
    /// Opening the account's stream; see [`Reopen`].
    EventStream,
    /// Opening a game's stream; see [`Reopen`].
    GameStream,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Kind; 12] = [
        Kind::Move,
        Kind::Command,
        Kind::Offer,
        Kind::Claim,
        Kind::Chat,
        Kind::Answer,
        Kind::Challenge,
        Kind::Arena,
        Kind::Withdrawal,
        Kind::Query,
        Kind::EventStream,
        Kind::GameStream,
    ];

    /// Whether a 429 on another kind, or on this one, may hold it back at the gate. Moves never wait for anything but
    /// their own answer, and streams have their own schedule.
    fn can_pause(self) -> bool {
        !matches!(self, Kind::Move | Kind::EventStream | Kind::GameStream)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Move => "move",
            Kind::Command => "game command",
            Kind::Offer => "offer",
            Kind::Claim => "claim",
            Kind::Chat => "chat",
            Kind::Answer => "challenge answer",
            Kind::Challenge => "challenge",
            Kind::Arena => "arena",
            Kind::Withdrawal => "withdrawal",
            Kind::Query => "query",
            Kind::EventStream => "event stream",
            Kind::GameStream => "game stream",
        })
    }
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Send it again after this long, unless it has become pointless by then: a move that the stream shows, a game
    /// that is over, a challenge that is gone. Look at the stream first; see [`Error::may_have_worked`].
    After(Duration),
    GiveUp,
}

/// A 429 that names no time: a whole minute, as the API's documentation asks.
pub const UNNAMED_WAIT: Duration = Duration::from_secs(60);

/// A 429 on a move that names no time. A minute would cost games, and moves have no limit of their own.
const UNNAMED_MOVE_WAIT: Duration = Duration::from_secs(1);

/// A move that failed so often in a row, which takes more than a minute, is sent again every few seconds: Lichess is down,
/// and counts what comes in meanwhile.
const MANY: u32 = 70;

/// What to do after a request of a `kind` failed for the time number `attempt`, counted from 0.
pub fn decide(kind: Kind, error: &Error, attempt: u32) -> Retry {
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
    match (kind, Trouble::of(error)) {
        (_, Trouble::Refused) => Retry::GiveUp,
        (Kind::Move, Trouble::Blocked) => step(&[500, 1000, 2000, 5000]),

        (Kind::Move, Trouble::Limited(wait)) => Retry::After(wait.unwrap_or(UNNAMED_MOVE_WAIT)),
        (Kind::Move, _) if attempt >= MANY => Retry::After(Duration::from_secs(5)),
        (Kind::Move, Trouble::Broken) => step(&[0, 50, 100, 250, 500, 1000]),
        (Kind::Move, Trouble::Unreachable) => step(&[50, 100, 250, 500, 1000]),
        (Kind::Move, Trouble::Down) => step(&[50, 100, 250, 500, 1000]),
        // The stream had the whole timeout to show the move; what is not there by now was not applied.
        (Kind::Move, Trouble::Late) => step(&[0, 100, 250, 500, 1000]),

        (Kind::Chat, _) => Retry::GiveUp,
        // It may have been made: asking again would cancel the first silently and cost the limit twice.
        (Kind::Challenge, Trouble::Unreachable) => few(&[1000, 5000]),
        (Kind::Challenge, _) => Retry::GiveUp,

        (
            Kind::Command
            | Kind::Offer
            | Kind::Claim
            | Kind::Answer
            | Kind::Arena
            | Kind::Withdrawal
            | Kind::Query,
            Trouble::Limited(wait),
        ) => {
            let wait = wait.unwrap_or(UNNAMED_WAIT);
            // Whoever asked has forgotten why by then.
            if attempt < 3 && wait <= Duration::from_secs(120) {
                Retry::After(wait)
            } else {
                Retry::GiveUp
            }
        }
        (
            Kind::Command
            | Kind::Offer
            | Kind::Claim
            | Kind::Answer
            | Kind::Arena
            | Kind::Withdrawal,
            _,
        ) => few(&[250, 500, 1000, 2000, 4000, 8000]),
        (Kind::Query, _) => few(&[500, 1000, 2000, 4000, 8000]),
        // Streams follow `Reopen`; this is what it does at first.
        (Kind::EventStream | Kind::GameStream, Trouble::Limited(wait)) => {
            Retry::After(wait.unwrap_or(UNNAMED_WAIT))
        }
        (Kind::EventStream | Kind::GameStream, _) => step(&[100, 500, 1000, 2000, 5000]),
    }
}

/// A failure by what it means for trying again.
pub(super) enum Trouble {
    /// 429, with the wait it names.
    Limited(Option<Duration>),
    /// 5xx: the server, or what it stands behind, restarts.
    Down,
    /// No connection.
    Unreachable,
    /// The connection broke before the answer.
    Broken,
    /// No answer in time.
    Late,
    /// A proxy in front of Lichess refuses, which says nothing about the request and passes.
    Blocked,
    /// A no that stays a no, or an answer that will not become readable.
    Refused,
}

impl Trouble {
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::Status(refusal) => match refusal.code {
                429 => Self::Limited(refusal.named_wait()),
                408 | 425 | 500.. => Self::Down,
                _ if !refusal.by_lichess => Self::Blocked,
                _ => Self::Refused,
            },
            Error::Paused(_, wait) => Self::Limited(Some(*wait)),
            Error::Timeout(_) => Self::Late,
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

/// Which kinds of request pause, and until when.
///
/// A 429 of Lichess pauses its own kind. One of a proxy in front of it counts every request of this address, so it pauses
/// everything but moves and streams. The limit of 100 games a day between bots pauses no answers: humans can still be
/// accepted.
#[derive(Debug, Default)]
pub struct Gate {
    /// As Lichess asked.
    until: [Option<Instant>; Kind::ALL.len()],
    /// As a proxy asked.
    proxy: Option<Instant>,
}

impl Gate {
    /// How much longer a kind pauses; nothing when it may go.
    pub fn closed_for(&self, kind: Kind, now: Instant) -> Option<Duration> {
        let proxy = self.proxy_pause(now).filter(|_| kind.can_pause());
        self.pause_of(kind, now).max(proxy)
    }

    /// How much longer a kind pauses because Lichess asked for it.
    pub fn pause_of(&self, kind: Kind, now: Instant) -> Option<Duration> {
        left(self.until[kind as usize], now)
    }

    /// How much longer all kinds pause that can, because a proxy asked for it.
    pub fn proxy_pause(&self, now: Instant) -> Option<Duration> {
        left(self.proxy, now)
    }

    /// Takes note of a refusal of a request of this kind.
    pub fn refused(&mut self, kind: Kind, refusal: &Refusal, now: Instant) {
        if refusal.code != 429 || (kind == Kind::Answer && refusal.is_bot_day_limit()) {
            return;
        }
        let wait = refusal.named_wait().unwrap_or(UNNAMED_WAIT);
        if refusal.by_lichess {
            self.pause(kind, wait, now);
        } else {
            self.proxy = self.proxy.max(Some(now + wait));
        }
    }

    /// Holds a kind back for so long, if it can be held back.
    pub fn pause(&mut self, kind: Kind, wait: Duration, now: Instant) {
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
        Error::Status(Refusal::read(code, None, body.as_bytes()))
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
    fn each_kind_is_tried_again_in_its_own_way() {
        use Retry::{After, GiveUp};
        let late = Error::Timeout(ms(2000));
        let plain = status(429, r#"{"error":"Too many requests. Try again later."}"#);
        let html = status(429, "<html></html>");
        let down = status(502, "<html></html>");
        let no = status(400, r#"{"error":"Not your turn, or game already over"}"#);
        let table = [
            (Kind::Move, named(3), 0, After(ms(3000))),
            (Kind::Move, named(3), 9, After(ms(3000))),
            (Kind::Move, plain.clone(), 0, After(ms(1000))),
            (Kind::Move, html.clone(), 0, After(ms(1000))),
            (Kind::Move, down.clone(), 0, After(ms(50))),
            (Kind::Move, status(503, ""), 1, After(ms(100))),
            (Kind::Move, down.clone(), MANY - 1, After(ms(1000))),
            (Kind::Move, down.clone(), MANY, After(ms(5000))),
            (Kind::Move, status(404, "<html>"), 0, After(ms(500))),
            (Kind::Move, broke(), 0, After(ms(0))),
            (Kind::Move, unreachable(), 0, After(ms(50))),
            (Kind::Move, late.clone(), 0, After(ms(0))),
            (Kind::Move, no.clone(), 0, GiveUp),
            (Kind::Move, status(401, "<html>"), 0, After(ms(500))),
            (
                Kind::Move,
                status(401, r#"{"error":"No such token"}"#),
                0,
                GiveUp,
            ),
            (Kind::Chat, down.clone(), 0, GiveUp),
            (Kind::Chat, named(1), 0, GiveUp),
            (Kind::Challenge, plain.clone(), 0, GiveUp),
            (Kind::Challenge, late.clone(), 0, GiveUp),
            (Kind::Challenge, unreachable(), 0, After(ms(1000))),
            (Kind::Answer, down.clone(), 0, After(ms(250))),
            (Kind::Answer, down.clone(), 6, GiveUp),
            (Kind::Answer, plain.clone(), 0, After(ms(60_000))),
            (Kind::Answer, named(7200), 0, GiveUp),
            (Kind::Answer, no, 0, GiveUp),
            (Kind::Answer, status(403, "<html>"), 0, After(ms(250))),
            (Kind::Command, status(404, ""), 0, After(ms(250))),
            (Kind::Query, status(302, ""), 0, After(ms(500))),
            (Kind::Challenge, status(403, "<html>"), 0, GiveUp),
            (Kind::Command, broke(), 0, After(ms(250))),
            (
                Kind::Query,
                Error::Paused(Kind::Query, ms(1500)),
                0,
                After(ms(1500)),
            ),
            (Kind::Query, Error::Decode("x".to_owned()), 0, GiveUp),
            (Kind::Query, late, 4, After(ms(8000))),
            (Kind::Query, html, 3, GiveUp),
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
    fn a_move_is_back_within_a_tenth_of_a_second_and_never_given_up() {
        for error in [
            status(502, ""),
            status(500, ""),
            broke(),
            unreachable(),
            Error::Timeout(ms(2000)),
        ] {
            assert!(
                matches!(decide(Kind::Move, &error, 0), Retry::After(wait) if wait <= ms(50)),
                "{error}"
            );
            for attempt in 0..10_000 {
                let most = ms(if attempt < MANY { 1000 } else { 5000 });
                assert!(
                    matches!(decide(Kind::Move, &error, attempt), Retry::After(wait) if wait <= most)
                );
            }
        }
    }

    #[test]
    fn a_429_pauses_its_own_kind_and_no_other() {
        let now = Instant::now();
        let mut gate = Gate::default();
        gate.refused(Kind::Chat, named(5).refusal().expect("a status"), now);
        assert_eq!(gate.closed_for(Kind::Chat, now), Some(ms(5000)));
        assert_eq!(gate.closed_for(Kind::Chat, now + ms(4000)), Some(ms(1000)));
        assert_eq!(gate.closed_for(Kind::Chat, now + ms(5000)), None);
        for kind in Kind::ALL.into_iter().filter(|&kind| kind != Kind::Chat) {
            assert_eq!(gate.closed_for(kind, now), None, "{kind}");
        }
    }

    #[test]
    fn a_429_that_names_no_time_pauses_for_a_minute_and_a_shorter_one_does_not_end_it() {
        let now = Instant::now();
        let mut gate = Gate::default();
        gate.refused(
            Kind::Challenge,
            status(429, r#"{"error":"no"}"#)
                .refusal()
                .expect("a status"),
            now,
        );
        gate.refused(Kind::Challenge, named(1).refusal().expect("a status"), now);
        gate.refused(
            Kind::Challenge,
            status(502, "").refusal().expect("a status"),
            now,
        );
        assert_eq!(gate.closed_for(Kind::Challenge, now), Some(UNNAMED_WAIT));
    }

    #[test]
    fn a_429_from_the_proxy_pauses_all_but_moves_and_streams() {
        let now = Instant::now();
        let mut gate = Gate::default();
        gate.refused(
            Kind::Move,
            status(429, "<html>429</html>").refusal().expect("a status"),
            now,
        );
        for kind in Kind::ALL {
            let free = matches!(kind, Kind::Move | Kind::EventStream | Kind::GameStream);
            assert_eq!(gate.closed_for(kind, now).is_none(), free, "{kind}");
        }
    }

    #[test]
    fn a_pause_can_be_taken_along() {
        let now = Instant::now();
        let mut before = Gate::default();
        let limit = named(90);
        before.refused(Kind::Challenge, limit.refusal().expect("a status"), now);
        let mut after = Gate::default();
        for kind in Kind::ALL {
            if let Some(left) = before.pause_of(kind, now + ms(30_000)) {
                after.pause(kind, left, now);
            }
        }
        assert_eq!(after.pause_of(Kind::Challenge, now), Some(ms(60_000)));
        after.pause(Kind::Move, ms(1), now);
        for kind in Kind::ALL {
            let paused = after.closed_for(kind, now).is_some();
            assert_eq!(paused, kind == Kind::Challenge, "{kind}");
            assert_eq!(after.closed_for(kind, now + ms(60_000)), None, "{kind}");
        }
    }

    #[test]
    fn a_pause_for_a_proxy_is_none_of_lichess() {
        let (now, mut gate) = (Instant::now(), Gate::default());
        let html = status(429, "<html>429</html>");
        gate.refused(Kind::Query, html.refusal().expect("a status"), now);
        assert_eq!(gate.proxy_pause(now), Some(UNNAMED_WAIT));
        assert_eq!(gate.closed_for(Kind::Query, now), Some(UNNAMED_WAIT));
        assert_eq!(gate.pause_of(Kind::Query, now), None);
        assert_eq!(gate.proxy_pause(now + UNNAMED_WAIT), None);
    }

    #[test]
    fn no_429_ever_pauses_a_move() {
        let now = Instant::now();
        let mut gate = Gate::default();
        for kind in Kind::ALL {
            gate.refused(kind, named(100).refusal().expect("a status"), now);
            gate.refused(kind, status(429, "").refusal().expect("a status"), now);
        }
        assert_eq!(gate.closed_for(Kind::Move, now), None);
    }

    #[test]
    fn the_day_limit_between_bots_does_not_keep_humans_out() {
        let body = r#"{"error":"You played 100 games","ratelimit":{"key":"bot.vsBot.day","seconds":40000}}"#;
        let (now, mut gate) = (Instant::now(), Gate::default());
        let limit = status(429, body);
        gate.refused(Kind::Answer, limit.refusal().expect("a status"), now);
        assert_eq!(gate.closed_for(Kind::Answer, now), None);
        gate.refused(Kind::Challenge, limit.refusal().expect("a status"), now);
        assert!(gate.closed_for(Kind::Challenge, now).is_some());
    }
}
