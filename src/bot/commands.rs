//! Operator commands to a running bot, from the control socket and the page.
//!
//! Each command is answered with a sentence: what was done, or why it failed.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::argument;
use super::matches::MAX_PAIRS;
use crate::bot::shutdown::ShutdownHandle;
use crate::config::{self, ArenaEntry, ClockSpec, Pattern, Play, Settings, Strength};
use crate::lichess::Token;
use crate::lichess::model::{
    ArenaId, ColorChoice, GameId, NewChallenge, TimeControl, Username, Variant,
};

/// Commands that may wait for the bot's loop.
const MAX_QUEUED_COMMANDS: usize = 32;

/// Longer than any request to Lichess takes.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);

/// Response to a command: what was done, or why it failed.
pub type CommandResult = Result<String, CommandError>;

/// Loads the settings again; `None` if this account was removed from them. Blocks on the disk.
pub type ReloadSettings = Arc<dyn Fn() -> Result<Option<Settings>, config::Error> + Send + Sync>;

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

/// Operator command and its arguments.
#[derive(Debug)]
pub(super) enum CommandKind {
    Pause,
    Resume,
    Seek(bool),
    Block(Pattern),
    Unblock(Pattern),
    MoveNow(GameId),
    Play(Pattern, Box<Play>),
    Challenge(OutgoingChallenge),
    /// Number of pairs of games.
    Match(OutgoingChallenge, u32),
    CancelMatch(Username),
    Join(ArenaEntry),
    Leave(ArenaId),
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
    /// Takes no new games until resumed, also after a restart. Running games are played on.
    pub async fn pause(&self) -> CommandResult {
        self.send(CommandKind::Pause).await
    }

    /// Takes new games again.
    pub async fn resume(&self) -> CommandResult {
        self.send(CommandKind::Resume).await
    }

    /// Switches matchmaking on or off, also for the next start.
    pub async fn seek(&self, on: bool) -> CommandResult {
        self.send(CommandKind::Seek(on)).await
    }

    /// Takes no new games, finishes running games, however long they take, and ends the program.
    pub fn drain(&self) -> CommandResult {
        self.shutdown.drain();
        Ok("no new games, and our open challenges are cancelled; the program ends when the running games are over"
            .to_owned())
    }

    /// Blocks a user from now on; `*` matches any letters.
    pub async fn block(&self, user: &str) -> CommandResult {
        self.send(CommandKind::Block(argument::pattern(user)?))
            .await
    }

    /// Unblocks a user.
    pub async fn unblock(&self, user: &str) -> CommandResult {
        self.send(CommandKind::Unblock(argument::pattern(user)?))
            .await
    }

    /// Plays the best move found so far in a game.
    pub async fn move_now(&self, game: &str) -> CommandResult {
        self.send(CommandKind::MoveNow(argument::game(game)?)).await
    }

    /// Sets how the next games against a user are played, regardless of rules, until the program ends: at an Elo, or
    /// with a number of seconds per move at most. With neither the rules apply again.
    pub async fn strength(
        &self,
        user: &str,
        elo: Option<u16>,
        move_s: Option<u64>,
    ) -> CommandResult {
        let strength = match elo {
            Some(elo) => Some(Strength::of_elo(elo).map_err(CommandError::from)?),
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
        self.send(CommandKind::Play(user, Box::new(play))).await
    }

    /// Challenges a user.
    pub async fn challenge(&self, challenge: OutgoingChallenge) -> CommandResult {
        self.send(CommandKind::Challenge(challenge)).await
    }

    /// Starts a match: so many pairs of games, one with each color.
    pub async fn start_match(&self, challenge: OutgoingChallenge, pairs: u32) -> CommandResult {
        let params = &challenge.params;
        if !params.time_control.is_clock() {
            return Err("a match is played with a clock, as in 3+2".into());
        }
        if params.color != ColorChoice::Random {
            return Err("a match is played with both colors: leave the color out".into());
        }
        if !(1..=MAX_PAIRS).contains(&pairs) {
            return Err(CommandError(format!(
                "a match has 1 to {MAX_PAIRS} pairs of games"
            )));
        }
        self.send(CommandKind::Match(challenge, pairs)).await
    }

    /// Ends the match against a user early.
    pub async fn cancel_match(&self, user: &str) -> CommandResult {
        self.send(CommandKind::CancelMatch(argument::user(user)?))
            .await
    }

    /// Joins an arena: `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
    pub async fn join(&self, arena: &str) -> CommandResult {
        self.send(CommandKind::Join(argument::joining(arena)?))
            .await
    }

    /// Leaves an arena and stays out of it.
    pub async fn leave(&self, arena: &str) -> CommandResult {
        self.send(CommandKind::Leave(argument::arena(arena)?)).await
    }

    /// Loads the settings again. If they are invalid the current ones stay in force.
    pub async fn reload(&self) -> CommandResult {
        self.send(CommandKind::Reload).await
    }

    /// Whether the bot has ended.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    async fn send(&self, kind: CommandKind) -> CommandResult {
        let (sender, response) = oneshot::channel();
        let command = Command {
            kind,
            responder: Responder(sender),
        };
        let exchange = async {
            self.sender.send(command).await.ok()?;
            response.await.ok()
        };
        match tokio::time::timeout(COMMAND_TIMEOUT, exchange).await {
            Ok(Some(answer)) => answer,
            Ok(None) => Err("the bot is about to end".into()),
            Err(_) => Err(CommandError(format!(
                "no answer within {} s; it may be done yet",
                COMMAND_TIMEOUT.as_secs()
            ))),
        }
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

/// Parses a time control: `3+2`, `unlimited` or, in days, `2d`.
///
/// # Errors
/// If the text has another form.
pub fn time_control(text: &str) -> Result<TimeControl, String> {
    ClockSpec::try_from(text.to_owned())
        .map(ClockSpec::time)
        .map_err(|why| format!("`{text}`: {why}"))
}

/// Challenge that the operator asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct OutgoingChallenge {
    pub(super) user: Username,
    pub(super) params: NewChallenge,
}

impl OutgoingChallenge {
    /// Parses a challenge: `clock` is `3+2`, `unlimited` or, in days, `2d`; `variant` and `color` are Lichess's keys.
    ///
    /// # Errors
    /// The first argument that is not valid.
    pub fn parse(
        user: &str,
        clock: &str,
        rated: bool,
        variant: &str,
        color: &str,
    ) -> Result<Self, CommandError> {
        Ok(Self {
            user: argument::user(user)?,
            params: NewChallenge {
                time_control: argument::clock(clock)?,
                rated,
                color: argument::color(color)?,
                variant: argument::variant(variant)?,
                fen: None,
            },
        })
    }
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
        let slow = read("Anna", "2d", "chess960", "random").unwrap();
        assert_eq!(slow.to_string(), "Anna to 2 days, rated, chess960");
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
        assert_eq!(handle.pause().await, Ok("paused".to_owned()));
        bot.await.unwrap();
        assert_eq!(handle.resume().await, Err("the bot is about to end".into()));
        assert!(handle.move_now("../x").await.is_err());
        assert!(handle.block("two names").await.is_err());
        assert!(handle.drain().is_ok());
        assert_eq!(stop.stage(), Stage::Draining);
    }
}
