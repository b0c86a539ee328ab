//! What is in flight for the move we owe, and what is to happen at a certain time.

use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::bot::game::choice::{Choice, Search};
use crate::clock;
use crate::lichess::Error;

/// The one thing that is in flight for the move we owe.
pub(super) enum InFlight {
    None,
    Search(Box<Search>),
    Post(Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>),
    Wait(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// What came of it.
pub(super) enum Completion {
    Found(Option<Choice>),
    Answered(Result<(), Error>),
    Due,
}

impl InFlight {
    /// May be dropped and called again.
    pub(super) async fn landed(&mut self) -> Completion {
        match self {
            Self::None => pending().await,
            Self::Search(search) => Completion::Found(search.done().await),
            Self::Post(post) => Completion::Answered(post.await),
            Self::Wait(wait) => {
                wait.await;
                Completion::Due
            }
        }
    }
}

/// What has come of a request that nothing waits for.
#[derive(Debug)]
pub(super) struct Done {
    what: &'static str,
    took: Duration,
    answer: Result<(), Error>,
}

impl Done {
    /// Awaits the answer.
    pub(super) async fn of(
        what: &'static str,
        request: impl Future<Output = Result<(), Error>>,
    ) -> Self {
        Self::since(clock::now(), what, request).await
    }

    /// The same, begun earlier.
    pub(super) async fn since(
        began: Instant,
        what: &'static str,
        request: impl Future<Output = Result<(), Error>>,
    ) -> Self {
        let answer = request.await;
        Self {
            what,
            took: clock::since(began),
            answer,
        }
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, took) = (self.what, self.took.as_secs_f64() * 1e3);
        match &self.answer {
            Ok(()) => write!(f, "{what}: taken after {took:.1} ms"),
            Err(error) => write!(f, "{what}: {error} after {took:.1} ms"),
        }
    }
}

/// What is to happen at a certain time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Our flag is about to fall, and the engine has not answered.
    pub(super) hurry: Option<Instant>,
    /// The opponent has not begun.
    pub(super) abort: Option<Instant>,
    /// The opponent is gone, and the game may be claimed.
    pub(super) claim: Option<Instant>,
    /// The game is over by the account's stream, its own has not said so.
    pub(super) last_words: Option<Instant>,
    /// The opponent may take days, and we have waited a little.
    pub(super) rest: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Timer {
    Hurry,
    Abort,
    Claim,
    LastWords,
    Rest,
}

impl Timers {
    pub(super) async fn next(&self) -> Timer {
        let all = [
            (self.hurry, Timer::Hurry),
            (self.abort, Timer::Abort),
            (self.claim, Timer::Claim),
            (self.last_words, Timer::LastWords),
            (self.rest, Timer::Rest),
        ];
        let first = all
            .into_iter()
            .filter_map(|(at, alarm)| Some((at?, alarm)))
            .min_by_key(|&(at, _)| at);
        match first {
            Some((at, alarm)) => {
                clock::sleep_until(at).await;
                alarm
            }
            None => pending().await,
        }
    }
}
