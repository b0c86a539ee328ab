//! The helm: what an operator can have the running bot do, for the control socket and whoever else has a right to it.
//!
//! Each call is answered with a sentence when it is done, or with why it is not.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::argument;
use crate::bot::shutdown::ShutdownHandle;
use crate::config::{self, ArenaEntry, ClockSpec, Pattern, Play, Settings, Strength};
use crate::lichess::model::{ArenaId, GameId, NewChallenge, TimeControl, Username, Variant};

/// Calls that wait for the bot's loop.
const WAITING: usize = 32;

/// Longer than any request to Lichess takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of a call: what was done, in a sentence, or why not.
pub type Answer = Result<String, Refused>;

/// Reads the settings anew: none where this account of several is gone from them. May take as long as the disk does.
pub type ReloadSettings = Arc<dyn Fn() -> Result<Option<Settings>, config::Error> + Send + Sync>;

/// Why a call was not carried out, in words for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for Refused {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// The helm of a running bot. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CommandHandle {
    calls: mpsc::Sender<Call>,
    stopper: ShutdownHandle,
}

/// What is called at the helm, as the bot hears it. Without a helm nothing is ever heard.
#[derive(Debug, Default)]
pub struct CommandReceiver(Option<mpsc::Receiver<Call>>);

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    pub order: Order,
    pub reply: Reply,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Order {
    Pause,
    Resume,
    Block(Pattern),
    Unblock(Pattern),
    MoveNow(GameId),
    Play(Pattern, Box<Play>),
    Challenge(OutgoingChallenge),
    Join(ArenaEntry),
    Leave(ArenaId),
    Reload,
}

/// Where the answer to a call goes. Nobody minds when who asked has gone.
#[derive(Debug)]
pub(super) struct Reply(oneshot::Sender<Answer>);

impl Reply {
    pub fn done(self, what: impl Into<String>) {
        self.give(Ok(what.into()));
    }

    pub fn refuse(self, why: impl Into<Refused>) {
        self.give(Err(why.into()));
    }

    pub fn give(self, answer: Answer) {
        let _ = self.0.send(answer);
    }
}

/// A helm, and the calls that are heard from it. With this stopper the bot is stopped.
pub fn command_channel(stopper: ShutdownHandle) -> (CommandHandle, CommandReceiver) {
    let (sender, receiver) = mpsc::channel(WAITING);
    let helm = CommandHandle {
        calls: sender,
        stopper,
    };
    (helm, CommandReceiver(Some(receiver)))
}

impl CommandHandle {
    /// Takes no new games until told to resume, over restarts too. Games that are on go on.
    pub async fn pause(&self) -> Answer {
        self.call(Order::Pause).await
    }

    /// Takes new games again.
    pub async fn resume(&self) -> Answer {
        self.call(Order::Resume).await
    }

    /// Takes no new games, finishes those that are on, however long they take, and ends the program.
    pub fn drain(&self) -> Answer {
        self.stopper.drain();
        Ok("no new games, and challenges of ours are taken back; the program ends when the games that are on are over"
            .to_owned())
    }

    /// Never accepts this user again; `*` stands for any letters.
    pub async fn block(&self, user: &str) -> Answer {
        self.call(Order::Block(argument::pattern(user)?)).await
    }

    /// Takes that back.
    pub async fn unblock(&self, user: &str) -> Answer {
        self.call(Order::Unblock(argument::pattern(user)?)).await
    }

    /// Plays the best move found so far in a game, at once.
    pub async fn move_now(&self, game: &str) -> Answer {
        self.call(Order::MoveNow(argument::game(game)?)).await
    }

    /// Plays the next games against this user like this, whatever the rules say, until the program ends or is told otherwise:
    /// at this Elo, or with so many seconds for a move at most; with neither, by the rules again.
    pub async fn strength(&self, user: &str, elo: Option<u16>, move_s: Option<u64>) -> Answer {
        let strength = match elo {
            Some(elo) => Some(Strength::of_elo(elo).map_err(Refused::from)?),
            None => None,
        };
        if move_s.is_some_and(|seconds| !(1..=60).contains(&seconds)) {
            return Err("a move takes 1 to 60 seconds".into());
        }
        let play = Play {
            strength,
            max_move_ms: move_s.map(|seconds| 1_000 * seconds),
            ..Play::default()
        };
        let user = argument::pattern(user)?;
        self.call(Order::Play(user, Box::new(play))).await
    }

    /// Challenges somebody.
    pub async fn challenge(&self, invitation: OutgoingChallenge) -> Answer {
        self.call(Order::Challenge(invitation)).await
    }

    /// Takes part in an arena, as written in the configuration: `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
    pub async fn join(&self, arena: &str) -> Answer {
        self.call(Order::Join(argument::joining(arena)?)).await
    }

    /// Leaves an arena for good.
    pub async fn leave(&self, arena: &str) -> Answer {
        self.call(Order::Leave(argument::arena(arena)?)).await
    }

    /// Reads the settings anew and keeps to them, or to the old ones where there is something wrong with the new.
    pub async fn reload(&self) -> Answer {
        self.call(Order::Reload).await
    }

    /// Whether nobody hears it any more: the bot has ended.
    pub fn is_abandoned(&self) -> bool {
        self.calls.is_closed()
    }

    async fn call(&self, order: Order) -> Answer {
        let (answer, answered) = oneshot::channel();
        let call = Call {
            order,
            reply: Reply(answer),
        };
        let talk = async {
            self.calls.send(call).await.ok()?;
            answered.await.ok()
        };
        match tokio::time::timeout(PATIENCE, talk).await {
            Ok(Some(answer)) => answer,
            Ok(None) => Err("the bot is about to end".into()),
            Err(_) => Err(Refused(format!(
                "no answer within {} s; it may be done yet",
                PATIENCE.as_secs()
            ))),
        }
    }
}

impl CommandReceiver {
    /// The next call.
    pub(super) async fn next(&mut self) -> Call {
        let call = match &mut self.0 {
            Some(calls) => calls.recv().await,
            None => None,
        };
        match call {
            Some(call) => call,
            None => pending().await,
        }
    }

    /// Answers every call with this refusal.
    pub(super) async fn turn_away(&mut self, why: &str) -> Infallible {
        loop {
            self.next().await.reply.refuse(why);
        }
    }
}

/// A time control as it is typed: `3+2`, `unlimited` or, in days, `2d`.
///
/// # Errors
/// Why it is none.
pub fn time_control(text: &str) -> Result<TimeControl, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
    match days {
        Some(days) => Ok(TimeControl::Correspondence { days }),
        None => ClockSpec::try_from(text.to_owned())
            .map(ClockSpec::time)
            .map_err(|why| format!("`{text}`: {why}, or days as in \"2d\"")),
    }
}

/// Whom to challenge to what.
#[derive(Clone, Debug, PartialEq)]
pub struct OutgoingChallenge {
    pub(super) user: Username,
    pub(super) what: NewChallenge,
}

impl OutgoingChallenge {
    /// As it was typed: `clock` is `3+2`, `unlimited` or, in days, `2d`; `variant` and `color` are Lichess's keys.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(
        user: &str,
        clock: &str,
        rated: bool,
        variant: &str,
        color: &str,
    ) -> Result<Self, Refused> {
        Ok(Self {
            user: argument::user(user)?,
            what: NewChallenge {
                time_control: argument::clock(clock)?,
                rated,
                color: argument::color(color)?,
                variant: argument::variant(variant)?,
                fen: None,
            },
        })
    }
}

/// `Anna to 3+2, rated`.
impl fmt::Display for OutgoingChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rated = if self.what.rated { "rated" } else { "casual" };
        write!(f, "{} to {}, {rated}", self.user, self.what.time_control)?;
        match self.what.variant {
            Variant::Standard => Ok(()),
            variant => write!(f, ", {variant}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::shutdown::{Stage, shutdown_channel};

    #[test]
    fn invitations_are_read_as_they_are_typed() {
        let read = |user: &str, clock: &str, variant: &str, color: &str| {
            OutgoingChallenge::read(user, clock, true, variant, color)
        };
        let blitz = read("Anna", "3+2", "standard", "white").unwrap();
        assert_eq!(blitz.to_string(), "Anna to 3+2, rated");
        let copied = read("https://lichess.org/@/Anna", "3+2", "standard", "white");
        assert_eq!(copied.unwrap(), blitz);
        let slow = read("Anna", "2d", "chess960", "random").unwrap();
        assert_eq!(slow.to_string(), "Anna to 2 days, rated, chess960");
        for (user, clock, variant, color, why) in [
            ("a/b", "3+2", "standard", "white", "name of a user"),
            ("Anna", "3", "standard", "white", "minutes and seconds"),
            ("Anna", "xd", "standard", "white", "minutes and seconds"),
            ("Anna", "0+0", "standard", "white", "bots may not"),
            ("Anna", "181+0", "standard", "white", "no such clock"),
            ("Anna", "4d", "standard", "white", "1, 2, 3, 5, 7, 10 or 14"),
            ("Anna", "3+2", "atomic", "white", "standard or chess960"),
            ("Anna", "3+2", "standard", "green", "white, black or random"),
        ] {
            let refused = read(user, clock, variant, color).unwrap_err();
            assert!(refused.0.contains(why), "{refused}");
        }
    }

    #[tokio::test]
    async fn calls_are_answered_by_whoever_hears_them() {
        let (stopper, stop) = shutdown_channel();
        let (helm, mut calls) = command_channel(stopper);
        let bot = tokio::spawn(async move {
            let call = calls.next().await;
            assert!(matches!(call.order, Order::Pause));
            call.reply.done("paused");
        });
        assert_eq!(helm.pause().await, Ok("paused".to_owned()));
        bot.await.unwrap();
        assert_eq!(helm.resume().await, Err("the bot is about to end".into()));
        assert!(helm.move_now("../x").await.is_err());
        assert!(helm.block("two names").await.is_err());
        assert!(helm.drain().is_ok());
        assert_eq!(stop.stage(), Stage::Draining);
    }
}
