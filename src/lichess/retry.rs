//! Which failure, which kind of request, how long: everything that is decided about trying again, without a clock, a
//! socket or a task of its own.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use super::error::{Error, Refusal};

/// What a request is for. Each kind is retried in its own way, and a 429 pauses its own kind alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A move. Never paused by anything, never given up while it is owed.
    Move,
    /// What else a player does in a game: abort, resign, draw, takeback, claim.
    Command,
    /// Words. Never worth a second try.
    Chat,
    /// Accept, decline, cancel.
    Answer,
    /// A challenge of our own.
    Challenge,
    /// A question: account, playing, users, lists.
    Query,
    /// Opening the account's stream; see [`Reopen`].
    EventStream,
    /// Opening a game's stream; see [`Reopen`].
    GameStream,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Kind; 8] = [
        Kind::Move,
        Kind::Command,
        Kind::Chat,
        Kind::Answer,
        Kind::Challenge,
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
            Kind::Chat => "chat",
            Kind::Answer => "challenge answer",
            Kind::Challenge => "challenge",
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

        (Kind::Move, Trouble::Limited(wait)) => Retry::After(wait.unwrap_or(UNNAMED_MOVE_WAIT)),
        (Kind::Move, Trouble::Broken) => step(&[0, 50, 100, 250, 500, 1000]),
        (Kind::Move, Trouble::Unreachable) => step(&[50, 100, 250, 500, 1000]),
        (Kind::Move, Trouble::Down) => step(&[50, 100, 250, 500, 1000]),
        // The stream had the whole timeout to show the move; what is not there by now was not applied.
        (Kind::Move, Trouble::Late) => step(&[0, 100, 250, 500, 1000]),

        (Kind::Chat, _) => Retry::GiveUp,
        // It may have been made: asking again would cancel the first silently and cost the limit twice.
        (Kind::Challenge, Trouble::Unreachable) => few(&[1000, 5000]),
        (Kind::Challenge, _) => Retry::GiveUp,

        (Kind::Command | Kind::Answer | Kind::Query, Trouble::Limited(wait)) => {
            let wait = wait.unwrap_or(UNNAMED_WAIT);
            // Whoever asked has forgotten why by then.
            if attempt < 3 && wait <= Duration::from_secs(120) {
                Retry::After(wait)
            } else {
                Retry::GiveUp
            }
        }
        (Kind::Command | Kind::Answer, _) => few(&[250, 500, 1000, 2000, 4000, 8000]),
        (Kind::Query, _) => few(&[500, 1000, 2000, 4000, 8000]),
        // Streams follow `Reopen`; this is what it does at first.
        (Kind::EventStream | Kind::GameStream, Trouble::Limited(wait)) => {
            Retry::After(wait.unwrap_or(UNNAMED_WAIT))
        }
        (Kind::EventStream | Kind::GameStream, _) => step(&[100, 500, 1000, 2000, 5000]),
    }
}

/// A failure by what it means for trying again.
enum Trouble {
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
    /// A no that stays a no, or an answer that will not become readable.
    Refused,
}

impl Trouble {
    fn of(error: &Error) -> Self {
        match error {
            Error::Status(refusal) => match refusal.code {
                429 => Self::Limited(refusal.named_wait()),
                408 | 425 | 500.. => Self::Down,
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
            Error::Decode(_) | Error::Setup(_) => Self::Refused,
        }
    }
}

/// Which kinds of request pause, and until when.
///
/// A 429 pauses its own kind. One whose body is not JSON comes from the proxy in front of Lichess and counts every
/// request of this address, so it pauses everything but moves and streams. The limit of 100 games a day between bots
/// pauses no answers: humans can still be accepted.
#[derive(Debug, Default)]
pub struct Gate {
    until: [Option<Instant>; Kind::ALL.len()],
}

impl Gate {
    /// How much longer a kind pauses; nothing when it may go.
    pub fn closed_for(&self, kind: Kind, now: Instant) -> Option<Duration> {
        let left = self.until[kind as usize]?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Takes note of a refusal of a request of this kind.
    pub fn refused(&mut self, kind: Kind, refusal: &Refusal, now: Instant) {
        if refusal.code != 429 || (kind == Kind::Answer && refusal.is_bot_day_limit()) {
            return;
        }
        let until = now + refusal.named_wait().unwrap_or(UNNAMED_WAIT);
        for other in Kind::ALL {
            if other.can_pause() && (other == kind || !refusal.json) {
                let pause = &mut self.until[other as usize];
                *pause = Some(pause.map_or(until, |before| before.max(until)));
            }
        }
    }
}

/// How a stream ended, as far as opening it again is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Cleanly.
    Eof,
    /// The connection broke.
    Broke,
    /// Nothing came for as long as [`Reopen::silence`].
    Silent,
    /// It could not be opened; with the wait that a 429 named or implied.
    Refused(Option<Duration>),
}

impl Ended {
    /// What a failure to open means.
    pub fn failed(error: &Error) -> Self {
        match Trouble::of(error) {
            Trouble::Limited(wait) => Self::Refused(Some(wait.unwrap_or(UNNAMED_WAIT))),
            Trouble::Late => Self::Silent,
            _ => Self::Refused(None),
        }
    }
}

/// When a stream is opened again, and how much silence it is allowed.
///
/// The driver calls [`opening`](Self::opening) right before each attempt, [`ended`](Self::ended) after it, and waits as
/// long as that says.
///
/// | stream | first wait | then | silence | at most |
/// |---|---|---|---|---|
/// | event | 0.25 s (none after silence) | doubled to 1 min | 8.5 s; 15 s once it was silent | 20 opens in 10 min |
/// | game | 0.1 s (none after silence) | doubled to 5 s | 8.5 s | - |
///
/// The waits grow while streams end soon after they began, and start over once one has lived for a while. Waits beyond
/// the first are drawn from 75 to 100 % of their length, so that many streams do not return in step.
#[derive(Debug)]
pub struct Reopen {
    plan: &'static Plan,
    random: fastrand::Rng,
    /// Opens of the last ten minutes.
    opens: VecDeque<Instant>,
    /// Ends in a row without a long life between.
    failures: u32,
    was_silent: bool,
}

#[derive(Debug)]
struct Plan {
    first: Duration,
    most: Duration,
    /// Whoever lived this long was well.
    healthy: Duration,
    silence: [Duration; 2],
    opens: usize,
}

const WINDOW: Duration = Duration::from_secs(600);

static EVENT: Plan = Plan {
    first: Duration::from_millis(250),
    most: Duration::from_secs(60),
    healthy: Duration::from_secs(60),
    silence: [Duration::from_millis(8500), Duration::from_secs(15)],
    opens: 20,
};

static GAME: Plan = Plan {
    first: Duration::from_millis(100),
    most: Duration::from_secs(5),
    healthy: Duration::from_secs(10),
    silence: [Duration::from_millis(8500); 2],
    opens: usize::MAX,
};

impl Reopen {
    /// The schedule of the account's stream. Lichess allows 30 opens in ten minutes; we keep to 20.
    pub fn events() -> Self {
        Self::new(&EVENT, fastrand::Rng::new())
    }

    /// The schedule of a game's stream. Without it we count as gone, so it is never away for long.
    pub fn game() -> Self {
        Self::new(&GAME, fastrand::Rng::new())
    }

    fn new(plan: &'static Plan, random: fastrand::Rng) -> Self {
        Self {
            plan,
            random,
            opens: VecDeque::new(),
            failures: 0,
            was_silent: false,
        }
    }

    /// How long the stream that is opened next may be silent, its opening included.
    pub fn silence(&self) -> Duration {
        self.plan.silence[usize::from(self.was_silent)]
    }

    /// An attempt to open begins.
    pub fn opening(&mut self, now: Instant) {
        while self
            .opens
            .front()
            .is_some_and(|&open| now.saturating_duration_since(open) >= WINDOW)
        {
            self.opens.pop_front();
        }
        if self.plan.opens != usize::MAX {
            self.opens.push_back(now);
        }
    }

    /// The attempt ended, or the stream did after it had `lived` this long. Gives the wait until the next attempt.
    pub fn ended(&mut self, how: Ended, lived: Duration, now: Instant) -> Duration {
        if lived >= self.plan.healthy {
            self.failures = 0;
        }
        if lived >= WINDOW {
            self.was_silent = false;
        }
        let backoff = match self.failures {
            // The silence was wait enough.
            0 if how == Ended::Silent => Duration::ZERO,
            0 => self.plan.first,
            failures => {
                let doubled = self
                    .plan
                    .first
                    .saturating_mul(1 << failures.min(16))
                    .min(self.plan.most);
                doubled.mul_f64(0.75 + self.random.f64() / 4.0)
            }
        };
        self.failures = self.failures.saturating_add(1);
        self.was_silent |= how == Ended::Silent;
        let named = match how {
            Ended::Refused(Some(wait)) => wait,
            _ => Duration::ZERO,
        };
        backoff.max(named).max(self.until_allowed(now))
    }

    /// How many ends there were in a row without a long life between.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// How long until the limit of opens lets the next one through.
    fn until_allowed(&self, now: Instant) -> Duration {
        match self.opens.len().checked_sub(self.plan.opens) {
            Some(over) => (self.opens[over] + WINDOW).saturating_duration_since(now),
            None => Duration::ZERO,
        }
    }
}
