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
            (Kind::Move, down.clone(), 1000, After(ms(1000))),
            (Kind::Move, broke(), 0, After(ms(0))),
            (Kind::Move, unreachable(), 0, After(ms(50))),
            (Kind::Move, late.clone(), 0, After(ms(0))),
            (Kind::Move, no.clone(), 0, GiveUp),
            (Kind::Move, status(401, ""), 0, GiveUp),
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
                assert!(
                    matches!(decide(Kind::Move, &error, attempt), Retry::After(wait) if wait <= ms(1000))
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

    #[test]
    fn the_event_stream_is_back_at_once_and_allows_more_silence_the_second_time() {
        let mut reopen = Reopen::events();
        let mut now = Instant::now();
        assert_eq!(reopen.silence(), ms(8500));
        reopen.opening(now);
        now += ms(8500);
        assert_eq!(reopen.ended(Ended::Silent, ms(8500), now), Duration::ZERO);
        assert_eq!(reopen.silence(), Duration::from_secs(15));
        reopen.opening(now);
        let day = Duration::from_secs(3600);
        now += day;
        let wait = reopen.ended(Ended::Eof, day, now);
        assert!(wait <= ms(2000), "{wait:?}");
        assert_eq!(
            reopen.silence(),
            ms(8500),
            "an hour without trouble is a fresh start"
        );
    }

    #[test]
    fn a_game_stream_is_back_within_half_a_second() {
        for how in [Ended::Eof, Ended::Broke, Ended::Silent] {
            let mut reopen = Reopen::game();
            let now = Instant::now();
            reopen.opening(now);
            assert!(
                reopen.ended(how, Duration::from_secs(60), now) <= ms(400),
                "{how:?}"
            );
            assert_eq!(reopen.silence(), ms(8500));
        }
    }

    #[test]
    fn there_are_never_more_than_twenty_event_streams_in_ten_minutes() {
        let ways = [
            Ended::Eof,
            Ended::Broke,
            Ended::Silent,
            Ended::Refused(None),
        ];
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut reopen = Reopen::new(&EVENT, fastrand::Rng::with_seed(seed));
            let mut now = Instant::now();
            let mut opens = Vec::new();
            for _ in 0..300 {
                reopen.opening(now);
                opens.push(now);
                // Sometimes long enough to look well, which is how a backoff alone could be fooled.
                let most = if random.u8(0..4) == 0 { 70_000 } else { 2_000 };
                let lived = ms(random.u64(0..most));
                now += lived;
                now += reopen.ended(ways[random.usize(0..ways.len())], lived, now);
            }
            for (first, later) in opens.iter().zip(&opens[20..]) {
                assert!(later.duration_since(*first) >= WINDOW, "seed {seed}");
            }
        }
    }

    #[test]
    fn waits_grow_to_their_limit_and_start_over() {
        let mut reopen = Reopen::game();
        let now = Instant::now();
        let waits: Vec<Duration> = (0..20)
            .map(|_| reopen.ended(Ended::Broke, ms(1), now))
            .collect();
        assert!(
            waits[0] == ms(100) && waits[1] <= ms(200) && waits[1] >= ms(150),
            "{waits:?}"
        );
        assert!(
            waits[19] <= Duration::from_secs(5) && waits[19] >= ms(3750),
            "{waits:?}"
        );
        assert_eq!(
            reopen.ended(Ended::Broke, Duration::from_secs(11), now),
            ms(100)
        );
    }

    #[test]
    fn a_refused_stream_waits_as_long_as_it_is_told() {
        let mut reopen = Reopen::events();
        let now = Instant::now();
        let wait = reopen.ended(Ended::failed(&named(90)), Duration::ZERO, now);
        assert_eq!(wait, Duration::from_secs(90));
        assert_eq!(
            Ended::failed(&status(429, "<html>")),
            Ended::Refused(Some(UNNAMED_WAIT))
        );
        assert_eq!(Ended::failed(&status(502, "")), Ended::Refused(None));
        assert_eq!(Ended::failed(&Error::Timeout(ms(1))), Ended::Silent);
    }
}
