//! Operator commands to a running bot, from the control socket and the page.
//!
//! Each command is answered with a sentence: what was done, or why it failed.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::bot::shutdown::ShutdownHandle;
use crate::config::{self, ArenaEntry, Pattern, Play, Settings};
use crate::lichess::Token;
use crate::lichess::model::{ArenaId, GameId, NewChallenge, Username, Variant};

/// Commands that may wait for the bot's loop.
const MAX_QUEUED_COMMANDS: usize = 32;

/// Longer than any request to Lichess takes.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);

/// Reason for canceling a challenge, and for abandoning a command, during shutdown.
pub(super) const SHUTTING_DOWN: &str = "the bot is shutting down";

/// Response to a command: what was done, or why it failed.
pub type CommandResult = Result<String, CommandError>;

/// Loads the settings again; `None` if this account was removed from them. Blocks on the disk and on engines.
pub type ReloadSettings = Arc<dyn Fn() -> Result<Option<Settings>, ReloadError> + Send + Sync>;

/// Reason why new settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// Problems of the file.
    #[error(transparent)]
    Settings(#[from] config::Error),
    /// A book or an engine, with which the program would not start.
    #[error("{0}")]
    Resource(String),
}

/// Reads the token of the account again. Blocks on the disk.
pub type ReadToken = Arc<dyn Fn() -> Result<Token, String> + Send + Sync>;

/// Reason why a command failed, for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CommandError(pub String);

impl From<String> for CommandError {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for CommandError {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// Sends commands to a running bot. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CommandHandle {
    sender: mpsc::Sender<Command>,
    shutdown: ShutdownHandle,
}

/// Receives commands. The default one never receives any.
#[derive(Debug, Default)]
pub struct CommandReceiver(Option<mpsc::Receiver<Command>>);

/// A command and where to respond.
#[derive(Debug)]
pub(super) struct Command {
    pub kind: CommandKind,
    pub responder: Responder,
}

/// Operator command and its arguments, as [`argument`](super::argument) parses them.
#[derive(Debug)]
pub enum CommandKind {
    /// Takes no new games until resumed, also after a restart. Running games are played on.
    Pause,
    /// Takes new games again.
    Resume,
    /// Switches matchmaking on or off, also for the next start.
    Seek(bool),
    /// Blocks a user from now on.
    Block(Pattern),
    /// Unblocks a user.
    Unblock(Pattern),
    /// Plays the best move found so far in a game.
    MoveNow(GameId),
    /// Sets how the next games against a user are played, regardless of rules, until the program ends. With the
    /// default the rules apply again.
    Play(Pattern, Box<Play>),
    /// Challenges a user.
    Challenge(OutgoingChallenge),
    /// Starts a match: so many pairs of games, one with each color.
    Match(OutgoingChallenge, u32),
    /// Ends the match against a user early.
    CancelMatch(Username),
    /// Joins an arena.
    Join(ArenaEntry),
    /// Leaves an arena and stays out of it.
    Leave(ArenaId),
    /// Loads the settings again. If they are invalid the current ones stay in force.
    Reload,
}

/// Sends the response to a command. It is dropped if the sender of the command has gone.
#[derive(Debug)]
pub(super) struct Responder(oneshot::Sender<CommandResult>);

impl Responder {
    pub(super) fn succeed(self, text: impl Into<String>) {
        self.respond(Ok(text.into()));
    }

    pub(super) fn fail(self, why: impl Into<CommandError>) {
        self.respond(Err(why.into()));
    }

    pub(super) fn respond(self, answer: CommandResult) {
        let _ = self.0.send(answer);
    }
}

/// Creates a connected pair. `shutdown` is used to drain the bot.
pub fn command_channel(shutdown: ShutdownHandle) -> (CommandHandle, CommandReceiver) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_COMMANDS);
    let handle = CommandHandle { sender, shutdown };
    (handle, CommandReceiver(Some(receiver)))
}

impl CommandHandle {
    /// Takes no new games, finishes running games, however long they take, and ends the account. The program ends with
    /// its last account.
    pub fn drain(&self) -> CommandResult {
        self.shutdown.drain();
        Ok("no new games, and our open challenges with a clock are canceled; the account ends when its running games \
            with a clock are over, and the program with its last account"
            .to_owned())
    }

    /// Returns whether the bot has ended.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a command and waits for its response.
    ///
    /// # Errors
    /// If the bot rejects it, has ended, or does not respond in time.
    pub async fn send(&self, kind: CommandKind) -> CommandResult {
        let (sender, response) = oneshot::channel();
        let command = Command {
            kind,
            responder: Responder(sender),
        };
        let exchange = async {
            match self.sender.send(command).await {
                // What would have answered was abandoned.
                Ok(()) => response.await.unwrap_or(Err(SHUTTING_DOWN.into())),
                Err(_) => Err("the bot is about to end".into()),
            }
        };
        let answer = tokio::time::timeout(COMMAND_TIMEOUT, exchange).await;
        answer.unwrap_or_else(|_| {
            let limit = COMMAND_TIMEOUT.as_secs();
            Err(format!("no answer within {limit} s; it may be done yet").into())
        })
    }
}

impl CommandReceiver {
    /// Receives the next command.
    pub(super) async fn next(&mut self) -> Command {
        let command = match &mut self.0 {
            Some(receiver) => receiver.recv().await,
            None => None,
        };
        match command {
            Some(command) => command,
            None => pending().await,
        }
    }

    /// Answers every command with this error.
    pub(super) async fn reject_all(&mut self, why: &str) -> Infallible {
        loop {
            self.next().await.responder.fail(why);
        }
    }
}

/// Challenge that the operator asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct OutgoingChallenge {
    pub(super) user: Username,
    pub(super) params: NewChallenge,
}

/// Formats like `Anna to 3+2, rated`.
impl fmt::Display for OutgoingChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rated = if self.params.rated { "rated" } else { "casual" };
        write!(f, "{} to {}, {rated}", self.user, self.params.time_control)?;
        match self.params.variant {
            Variant::Standard => Ok(()),
            variant => write!(f, ", {variant}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::argument;
    use crate::bot::shutdown::{Stage, shutdown_channel};

    #[test]
    fn outgoing_challenge_parses_typed_arguments() {
        let read = |user: &str, clock: &str, variant: &str, color: &str| {
            OutgoingChallenge::parse(user, clock, true, variant, color)
        };
        let blitz = read("Anna", "3+2", "standard", "white").unwrap();
        assert_eq!(blitz.to_string(), "Anna to 3+2, rated");
        let copied = read("https://lichess.org/@/Anna", "3+2", "standard", "white");
        assert_eq!(copied.unwrap(), blitz);
        let slow = read("Anna", "2d", "standard", "random").unwrap();
        assert_eq!(slow.to_string(), "Anna to 2 days, rated");
        let variant = read("Anna", "0+2", "chess960", "random").unwrap();
        assert_eq!(variant.to_string(), "Anna to 0+2, rated, chess960");
        for (user, clock, variant, color, why) in [
            ("a/b", "3+2", "standard", "white", "name of a user"),
            ("Anna", "3", "standard", "white", "minutes and seconds"),
            ("Anna", "xd", "standard", "white", "minutes and seconds"),
            ("Anna", "0+0", "standard", "white", "bots may not"),
            ("Anna", "181+0", "standard", "white", "no such clock"),
            ("Anna", "4d", "standard", "white", "1, 2, 3, 5, 7, 10 or 14"),
            (
                "Anna",
                "3+2",
                "bughouse",
                "white",
                "standard, chess960, crazyhouse",
            ),
            ("Anna", "3+2", "standard", "green", "white, black or random"),
            ("Anna", "2d", "chess960", "white", "never rates chess960"),
            ("Anna", "0+1", "atomic", "white", "never rates atomic"),
        ] {
            let refused = read(user, clock, variant, color).unwrap_err();
            assert!(refused.0.contains(why), "{refused}");
        }
    }

    #[tokio::test]
    async fn command_gets_response_of_receiver() {
        let (shutdown, stop) = shutdown_channel();
        let (handle, mut receiver) = command_channel(shutdown);
        let bot = tokio::spawn(async move {
            let command = receiver.next().await;
            assert!(matches!(command.kind, CommandKind::Pause));
            command.responder.succeed("paused");
        });
        assert_eq!(
            handle.send(CommandKind::Pause).await,
            Ok("paused".to_owned())
        );
        bot.await.unwrap();
        assert_eq!(
            handle.send(CommandKind::Resume).await,
            Err("the bot is about to end".into())
        );
        assert!(argument::game("../x").is_err());
        assert!(argument::pattern("two names").is_err());
        assert!(handle.drain().is_ok());
        assert_eq!(stop.stage(), Stage::Draining);
    }
}
