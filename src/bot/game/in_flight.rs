//! In-flight operation of a game task, its side requests and its timers.

use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::bot::game::choice::{ChosenMove, Search};
use crate::clock;
use crate::lichess::Error;

/// The operation in flight for the pending move.
pub(super) enum InFlight {
    None,
    Search(Box<Search>),
    Post(Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>),
    Wait(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// Completion of the operation in flight.
pub(super) enum Completion {
    MoveChosen(Option<ChosenMove>),
    Response(Result<(), Error>),
    Timeout,
}

impl InFlight {
    /// Waits for the operation to complete. Cancel safe.
    pub(super) async fn completed(&mut self) -> Completion {
        match self {
            Self::None => pending().await,
            Self::Search(search) => Completion::MoveChosen(search.result().await),
            Self::Post(post) => Completion::Response(post.await),
            Self::Wait(wait) => {
                wait.await;
                Completion::Timeout
            }
        }
    }
}

/// Response to a side request, which no move waits for.
#[derive(Debug)]
pub(super) struct SideResponse {
    name: &'static str,
    took: Duration,
    answer: Result<(), Error>,
}

impl SideResponse {
    /// Performs a request.
    pub(super) async fn of(
        name: &'static str,
        request: impl Future<Output = Result<(), Error>>,
    ) -> Self {
        Self::since(clock::now(), name, request).await
    }

    /// Awaits a request that started at `began`.
    pub(super) async fn since(
        began: Instant,
        name: &'static str,
        request: impl Future<Output = Result<(), Error>>,
    ) -> Self {
        let answer = request.await;
        Self {
            name,
            took: clock::since(began),
            answer,
        }
    }
}

impl fmt::Display for SideResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, took) = (self.name, self.took.as_secs_f64() * 1e3);
        match &self.answer {
            Ok(()) => write!(f, "{name}: accepted after {took:.1} ms"),
            Err(error) => write!(f, "{name}: {error} after {took:.1} ms"),
        }
    }
}

/// Timers of a game task.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Our flag is about to fall and the engine has not answered.
    pub(super) flag_fall: Option<Instant>,
    /// The opponent has not made their first move.
    pub(super) abort: Option<Instant>,
    /// The opponent left and the game can be claimed.
    pub(super) claim: Option<Instant>,
    /// The account stream reported the end of the game; the game stream has not.
    pub(super) final_state: Option<Instant>,
    /// A game without a clock is suspended if the opponent does not answer soon.
    pub(super) suspend: Option<Instant>,
}

/// Name of a timer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timer {
    FlagFall,
    Abort,
    Claim,
    FinalState,
    Suspend,
}

impl Timers {
    /// Waits for the earliest timer. Cancel safe.
    pub(super) async fn next(&self) -> Timer {
        let all = [
            (self.flag_fall, Timer::FlagFall),
            (self.abort, Timer::Abort),
            (self.claim, Timer::Claim),
            (self.final_state, Timer::FinalState),
            (self.suspend, Timer::Suspend),
        ];
        let first = all
            .into_iter()
            .filter_map(|(at, timer)| Some((at?, timer)))
            .min_by_key(|&(at, _)| at);
        match first {
            Some((at, timer)) => {
                clock::sleep_until(at).await;
                timer
            }
            None => pending().await,
        }
    }
}
