//! The socket of a running daemon, and the commands that exchange to it.
//!
//! A client sends one line of JSON, the daemon answers with one line, for as long as the client keeps asking. The
//! socket belongs to the daemon's user alone (mode 0600, in a directory where nobody else can put one): who can open it
//! may do everything.

mod client;
mod command;
mod dispatch;
mod owner;
mod server;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bot::{self, CommandHandle, OutgoingChallenge, argument};
use crate::metrics::Status;

pub use client::{Error, running_statuses, send_request, send_request_for, status_command};
pub use command::{OperatorCommand, SocketArgs};
pub use dispatch::{Dispatcher, PageUrl};
pub use server::{BindError, Server, keep_open};

/// The socket's file name.
const SOCKET_FILE_NAME: &str = "control.sock";

/// The field of a request that names an account.
const ACCOUNT_FIELD: &str = "account";

/// Where the systemd unit has its runtime directory.
const SYSTEM_RUNTIME_DIR: &str = "/run/knightwatch";

/// What a client may ask: `{"command":"move-now","game":"abcdefgh"}`. Beside that `"account"` may say which one of several is
/// targets, see [`Request::parse_addressed`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "command")]
pub enum Request {
    /// How is it going?
    Status,
    /// Where is the page, with its key?
    Page,
    /// Take no new games.
    Pause,
    /// Take new games again.
    Resume,
    /// Finish the games that are on, then end.
    Drain,
    /// Challenge somebody, as [`OutgoingChallenge::read`] has it.
    Challenge(Challenge),
    /// Take part in an arena: `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
    Join {
        /// Which.
        arena: String,
    },
    /// Leave an arena.
    Leave {
        /// Which.
        arena: String,
    },
    /// Never accept this user again.
    Block {
        /// Whom.
        user: String,
    },
    /// Take that back.
    Unblock {
        /// Whom.
        user: String,
    },
    /// Play the best move found so far, at once.
    MoveNow {
        /// In which game.
        game: String,
    },
    /// Play the next games against this user like this, whatever the rules say.
    Strength {
        /// Whom.
        user: String,
        /// At this level.
        elo: Option<u16>,
        /// With so many seconds for a move at most.
        move_s: Option<u64>,
    },
    /// Read the settings anew.
    Reload,
}

/// Whom to challenge to what, as it was typed.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Challenge {
    /// Whom
    #[arg(value_parser = validated(argument::user))]
    user: String,
    /// Minutes and seconds as in 3+2, days for a move as in 2d, or unlimited
    #[arg(value_name = "TC", value_parser = validated(argument::clock))]
    clock: String,
    /// A game that counts for the rating
    #[arg(long)]
    rated: bool,
    /// standard or chess960
    #[arg(long, value_name = "KEY", default_value = "standard", value_parser = validated(argument::variant))]
    variant: String,
    /// Our colour: white, black or random
    #[arg(long, value_name = "COLOR", default_value = "random", value_parser = validated(argument::color))]
    color: String,
}

/// Reads an argument as the bot does, and keeps it as it was typed: what is wrong with it is wrong usage of the command.
fn validated<T: 'static>(
    read: fn(&str) -> Result<T, bot::CommandError>,
) -> impl Fn(&str) -> Result<String, bot::CommandError> + Clone + Send + Sync + 'static {
    move |text| read(text).map(|_| text.to_owned())
}

impl Challenge {
    fn to_outgoing(&self) -> Result<OutgoingChallenge, bot::CommandError> {
        OutgoingChallenge::parse(
            &self.user,
            &self.clock,
            self.rated,
            &self.variant,
            &self.color,
        )
    }
}

impl Request {
    /// Reads a line of a client.
    ///
    /// # Errors
    /// Why it is no request.
    pub fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| {
            // It quotes the line, which may be long and hold anything.
            let why: String = error.to_string().escape_debug().take(200).collect();
            format!("not a request: {why}")
        })
    }

    /// Reads a line of a client that may name an account.
    ///
    /// # Errors
    /// Why it is no request.
    pub fn parse_addressed(line: &str) -> Result<(Option<String>, Self), String> {
        // Only one that names an account has to be taken apart.
        if let Ok(Value::Object(mut request)) = serde_json::from_str(line)
            && let Some(account) = request.remove(ACCOUNT_FIELD)
        {
            let Value::String(account) = account else {
                return Err("not a request: an account is named by a text".to_owned());
            };
            let request = Self::parse(&Value::Object(request).to_string())?;
            return Ok((Some(account), request));
        }
        Ok((None, Self::parse(line)?))
    }

    /// The line that says so.
    fn to_line(&self, account: Option<&str>) -> serde_json::Result<String> {
        let mut request = serde_json::to_value(self)?;
        if let (Some(fields), Some(account)) = (request.as_object_mut(), account) {
            fields.insert(ACCOUNT_FIELD.to_owned(), account.into());
        }
        Ok(format!("{request}\n"))
    }

    /// What an account says to it.
    async fn execute(self, commands: &CommandHandle) -> bot::CommandResult {
        match self {
            Self::Status | Self::Page => Err("that is not for one account".into()),
            Self::Pause => commands.pause().await,
            Self::Resume => commands.resume().await,
            Self::Drain => commands.drain(),
            Self::Challenge(challenge) => match challenge.to_outgoing() {
                Ok(challenge) => commands.challenge(challenge).await,
                Err(refused) => Err(refused),
            },
            Self::Join { arena } => commands.join(&arena).await,
            Self::Leave { arena } => commands.leave(&arena).await,
            Self::Block { user } => commands.block(&user).await,
            Self::Unblock { user } => commands.unblock(&user).await,
            Self::MoveNow { game } => commands.move_now(&game).await,
            Self::Strength { user, elo, move_s } => commands.strength(&user, elo, move_s).await,
            Self::Reload => commands.reload().await,
        }
    }
}

/// What the daemon answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// That is how it is going.
    Status(Box<Status>),
    /// That is what was done.
    Done(String),
    /// It was not done, or the request makes no sense; why.
    Error(String),
}

/// Where a daemon opens its socket when nobody says where: in the runtime directory that systemd gives it, else in that
/// of the session, else in a directory of its own below the one for temporary files.
pub fn default_path() -> PathBuf {
    let directory = |variable| {
        let value = std::env::var_os(variable)?;
        // systemd may name several, with colons between them.
        let first = std::env::split_paths(&value).next()?;
        first.is_absolute().then_some(first)
    };
    let directory = directory("RUNTIME_DIRECTORY")
        .or_else(|| directory("XDG_RUNTIME_DIR").map(|session| session.join("knightwatch")))
        .unwrap_or_else(|| std::env::temp_dir().join(format!("knightwatch-{}", effective_uid())));
    directory.join(SOCKET_FILE_NAME)
}

/// A path where a daemon's socket may be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    path: PathBuf,
    /// Somebody who may say so has said that it is there: the operator, or root, who alone can write to `/run`. Otherwise
    /// anybody may have made the directory.
    is_explicit: bool,
}

impl Candidate {
    fn named(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            is_explicit: true,
        }
    }
}

/// Where a daemon's socket may be, the likeliest first.
fn candidates() -> Vec<Candidate> {
    let system = Candidate::named(&Path::new(SYSTEM_RUNTIME_DIR).join(SOCKET_FILE_NAME));
    let own = Candidate {
        path: default_path(),
        is_explicit: false,
    };
    vec![own, system]
}

/// The directory that a socket is in.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

/// The number of the user who runs this process.
fn effective_uid() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // The real one, and the one that files are made as.
    let effective = ids.and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok());
    effective.unwrap_or(0)
}
