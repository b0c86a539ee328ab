//! Control socket of a running daemon, and the commands that use it.
//!
//! A client sends requests of one line of JSON each; the daemon answers each with one line. The socket belongs to the
//! daemon's user (mode 0600, in a directory that only this user can write to). A client that can open it may send every
//! request.

mod client;
mod command;
mod dispatch;
mod server;
mod socket_owner;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bot::{self, CommandHandle, CommandKind, OutgoingChallenge, argument};
use crate::config::directory_in_environment;
use crate::metrics::Status;

pub use client::{
    Error, SocketArgs, running_statuses, send_request, send_request_for, status_command,
};
pub use command::OperatorCommand;
pub use dispatch::{Dispatcher, PageUrl};
pub use server::{BindError, Server, keep_open};

/// File name of the socket.
const SOCKET_FILE_NAME: &str = "control.sock";

/// The field of a request that names an account.
const ACCOUNT_FIELD: &str = "account";

/// Runtime directory of the systemd unit.
const SYSTEM_RUNTIME_DIR: &str = "/run/knightwatch";

/// Request of a client, such as `{"command":"move-now","game":"abcdefgh"}`. An additional field `"account"` selects one of
/// several accounts, see [`Request::parse_addressed`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "command")]
pub enum Request {
    /// Get the status.
    Status,
    /// Get the URL of the page with its key.
    Page,
    /// Take no new games.
    Pause,
    /// Take new games again.
    Resume,
    /// Switch matchmaking on or off.
    Seek {
        /// Whether games are sought.
        on: bool,
    },
    /// Finish the running games, then exit.
    Drain,
    /// Challenge a user.
    Challenge(Challenge),
    /// End the match against a user early.
    CancelMatch {
        /// The opponent.
        user: String,
    },
    /// Join an arena.
    Join {
        /// `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
        arena: String,
    },
    /// Leave an arena.
    Leave {
        /// Id of the arena.
        arena: String,
    },
    /// Decline all challenges of a user.
    Block {
        /// User name; may contain `*`.
        user: String,
    },
    /// Undo [`Request::Block`].
    Unblock {
        /// User name as it was blocked.
        user: String,
    },
    /// Play the best move found so far.
    MoveNow {
        /// Id of the game.
        game: String,
    },
    /// Set the strength of the next games against a user, regardless of the rules.
    Strength {
        /// User name.
        user: String,
        /// Elo level.
        elo: Option<u16>,
        /// Time limit per move in seconds.
        move_s: Option<u64>,
    },
    /// Reload the settings.
    Reload,
}

/// Arguments of a challenge as typed.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Challenge {
    /// User to challenge
    #[arg(value_parser = validated(argument::user))]
    user: String,
    /// Time control: minutes and seconds as in 3+2, days per move as in 2d, or unlimited
    #[arg(value_name = "TC", value_parser = validated(argument::clock))]
    clock: String,
    /// Challenge to a rated game
    #[arg(long)]
    rated: bool,
    /// Variant, by its key on Lichess: standard, chess960, crazyhouse, ...
    #[arg(long, value_name = "KEY", default_value = "standard", value_parser = validated(argument::variant))]
    variant: String,
    /// Our color: white, black or random
    #[arg(long, value_name = "COLOR", default_value = "random", value_parser = validated(argument::color))]
    color: String,
    /// Play a match instead: N pairs of games, one with each color
    #[arg(long, value_name = "N", conflicts_with = "color", value_parser = clap::value_parser!(u32).range(1..=i64::from(bot::MAX_PAIRS)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pairs: Option<u32>,
}

/// A clap value parser that checks an argument with the parser of the bot and keeps its text, so that an invalid argument is a
/// usage error.
fn validated<T: 'static>(
    parse: fn(&str) -> Result<T, bot::CommandError>,
) -> impl Fn(&str) -> Result<String, bot::CommandError> + Clone + Send + Sync + 'static {
    move |text| parse(text).map(|_| text.to_owned())
}

impl Challenge {
    fn command(&self) -> Result<CommandKind, bot::CommandError> {
        let challenge = OutgoingChallenge::parse(
            &self.user,
            &self.clock,
            self.rated,
            &self.variant,
            &self.color,
        )?;
        let Some(pairs) = self.pairs else {
            return Ok(CommandKind::Challenge(challenge));
        };
        challenge.check_match(pairs)?;
        Ok(CommandKind::Match(challenge, pairs))
    }
}

impl Request {
    /// Parses a line of a client.
    ///
    /// # Errors
    /// If it is not a request.
    pub fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| {
            // The error quotes the line, which may be long and contain control characters.
            let why: String = error.to_string().escape_debug().take(200).collect();
            format!("not a request: {why}; write one such as {{\"command\":\"status\"}}")
        })
    }

    /// Parses a line of a client that may name an account.
    ///
    /// # Errors
    /// If it is not a request.
    pub fn parse_addressed(line: &str) -> Result<(Option<String>, Self), String> {
        // `Request` rejects unknown fields, so the account is removed first.
        if let Ok(Value::Object(mut request)) = serde_json::from_str(line)
            && let Some(account) = request.remove(ACCOUNT_FIELD)
        {
            let Value::String(account) = account else {
                return Err(
                    "not a request: `account` is not a string; write the user name in quotes"
                        .to_owned(),
                );
            };
            let request = Self::parse(&Value::Object(request).to_string())?;
            return Ok((Some(account), request));
        }
        Ok((None, Self::parse(line)?))
    }

    /// Serializes the request as a line.
    fn to_line(&self, account: Option<&str>) -> serde_json::Result<String> {
        let mut request = serde_json::to_value(self)?;
        if let (Some(fields), Some(account)) = (request.as_object_mut(), account) {
            fields.insert(ACCOUNT_FIELD.to_owned(), account.into());
        }
        Ok(format!("{request}\n"))
    }

    /// Executes the request for one account.
    async fn execute(self, commands: &CommandHandle) -> bot::CommandResult {
        let command = match self {
            Self::Status | Self::Page => {
                return Err("this request is not for a single account".into());
            }
            Self::Drain => return commands.drain(),
            Self::Pause => CommandKind::Pause,
            Self::Resume => CommandKind::Resume,
            Self::Seek { on } => CommandKind::Seek(on),
            Self::Challenge(challenge) => challenge.command()?,
            Self::CancelMatch { user } => CommandKind::CancelMatch(argument::user(&user)?),
            Self::Join { arena } => CommandKind::Join(argument::joining(&arena)?),
            Self::Leave { arena } => CommandKind::Leave(argument::arena(&arena)?),
            Self::Block { user } => CommandKind::Block(argument::pattern(&user)?),
            Self::Unblock { user } => CommandKind::Unblock(argument::pattern(&user)?),
            Self::MoveNow { game } => CommandKind::MoveNow(argument::game(&game)?),
            Self::Strength { user, elo, move_s } => {
                let play = argument::play(elo, move_s)?;
                CommandKind::Play(argument::pattern(&user)?, Box::new(play))
            }
            Self::Reload => CommandKind::Reload,
        };
        commands.send(command).await
    }
}

/// Response of the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Response {
    /// The status.
    Status(Box<Status>),
    /// A sentence about what was done.
    Done(String),
    /// Reason for which nothing was done, as a sentence.
    Error(String),
}

/// Default path of a daemon's socket: in the runtime directory of its systemd unit, else of the session, else in a
/// directory of this user below the directory for temporary files.
pub fn default_path() -> PathBuf {
    let directory = directory_in_environment("RUNTIME_DIRECTORY")
        .or_else(|| {
            directory_in_environment("XDG_RUNTIME_DIR").map(|session| session.join("knightwatch"))
        })
        .unwrap_or_else(temporary_directory);
    directory.join(SOCKET_FILE_NAME)
}

/// The directory of this user below the one for temporary files.
fn temporary_directory() -> PathBuf {
    std::env::temp_dir().join(format!("knightwatch-{}", effective_uid()))
}

/// A possible path of a daemon's socket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    path: PathBuf,
    /// The path is from the operator, or below `/run`, where only root can write. Otherwise any user may have made the
    /// directory.
    is_explicit: bool,
}

impl Candidate {
    fn explicit(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            is_explicit: true,
        }
    }
}

/// Default paths of a daemon's socket, the likeliest first.
fn candidates() -> Vec<Candidate> {
    let system = Candidate::explicit(&Path::new(SYSTEM_RUNTIME_DIR).join(SOCKET_FILE_NAME));
    let of_user = |path| Candidate {
        path,
        is_explicit: false,
    };
    let own = of_user(default_path());
    // A daemon from cron, or after `su`, has no runtime directory of a session.
    let without_session = of_user(temporary_directory().join(SOCKET_FILE_NAME));
    let mut all = vec![own, without_session, system];
    all.dedup();
    all
}

/// Directory of a socket.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

/// Effective user id of this process.
fn effective_uid() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // The fields are the real, effective, saved and file system id.
    let effective = ids.and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok());
    effective.unwrap_or(0)
}
