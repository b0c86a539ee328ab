//! The commands that have a running bot do something: what they are called, and what they ask.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::client::{Error, operator_command, page_command, send_request_for};
use super::{Answer, Challenge, Request, validated};
use crate::bot::argument;

/// What an operator can have a running bot do.
#[derive(Debug, Subcommand)]
pub enum OperatorCommand {
    /// Print the address of a running bot's page, with the key that lets you steer it
    #[command(
        after_help = "Examples:\n  knightwatch page\n  knightwatch page --open\n  \
        sudo knightwatch page --socket /run/knightwatch/control.sock\n\n\
        The key stays the same over restarts, so the page can be bookmarked. It is kept beside the records, in a file that \
        only the bot's user can read; remove the file and restart the bot to get a new key. While --open starts the \
        browser, other users of this machine can see the address in the list of processes."
    )]
    Page {
        #[command(flatten)]
        socket: SocketArgs,
        /// Open it with xdg-open, too
        #[arg(long)]
        open: bool,
    },

    /// Take no new games until `knightwatch resume`; those that are on go on
    #[command(after_help = "Examples:\n  knightwatch pause\n  \
        sudo knightwatch pause --socket /run/knightwatch/control.sock\n\n\
        Challenges are declined with \"later\", and arenas are left until then. It holds over restarts of the \
        program too: only `knightwatch resume` dispatcher it. `knightwatch status` shows it.")]
    Pause(SocketArgs),

    /// Take new games again after `knightwatch pause`
    #[command(after_help = "Example: knightwatch resume\n\n\
        It does not take back `knightwatch drain` or SIGTERM: the program dispatcher, and plays again when it is started.")]
    Resume(SocketArgs),

    /// Take no new games, finish those that are on however long they take, and end
    #[command(after_help = "Example: knightwatch drain\n\n\
        Where a service manager starts the program again when it has ended, this is the way to a new version \
        without leaving a game. SIGTERM does the same within daemon.grace_s. Challenges of ours with a clock that \
        nobody has answered yet are taken back at once. It cannot be taken back: `knightwatch pause` is for a while.")]
    Drain(SocketArgs),

    /// Challenge somebody
    #[command(after_help = "Examples:\n  \
        knightwatch challenge Anna 3+2\n  \
        knightwatch challenge Rival 5+3 --rated --color white\n  \
        knightwatch challenge Bert 2d --variant chess960\n\n\
        One with a clock that nobody answers within a minute is taken back. `knightwatch pause` does not keep_open \
        it from being made: the answer says that the bot is paused.")]
    Challenge {
        #[command(flatten)]
        challenge: Challenge,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Take part in an arena
    #[command(after_help = "Examples:\n  \
        knightwatch join may24bot\n  \
        knightwatch join friday01:secret\n  \
        knightwatch join battle01@our-team\n\n\
        Until it is over or `knightwatch leave`, restarts of the program included.")]
    Join {
        /// The end of its address, then perhaps @TEAM, then perhaps :PASSWORD
        #[arg(value_parser = validated(argument::joining))]
        arena: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Leave an arena
    #[command(after_help = "Example: knightwatch leave may24bot\n\n\
        A game of it that is on is played to its end. It holds over restarts of the program too, and for an \
        arena that the configuration names: only `knightwatch join` dispatcher it.")]
    Leave {
        /// The end of its address
        #[arg(value_parser = validated(argument::arena))]
        arena: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Never accept a user again
    #[command(
        after_help = "Examples:\n  knightwatch block Rival\n  knightwatch block 'Annoying*'\n\n\
        Until `knightwatch unblock`, beside challenge.block of the configuration. A game that is on goes on."
    )]
    Block {
        /// The name; * stands for any letters, upper and lower case are the same
        #[arg(value_parser = validated(argument::pattern))]
        user: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Take back `knightwatch block`
    #[command(after_help = "Example: knightwatch unblock Rival")]
    Unblock {
        /// The name as it was blocked
        #[arg(value_parser = validated(argument::pattern))]
        user: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Play the best move found so far in a game, at once
    #[command(after_help = "Example: knightwatch move-now abcdefgh\n\n\
        `knightwatch status` lists the games.")]
    MoveNow {
        /// The game's id
        #[arg(value_parser = validated(argument::game))]
        game: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Read the configuration again, and say what has changed
    #[command(
        after_help = "Examples:\n  knightwatch reload\n  sudo systemctl reload knightwatch\n\n\
        The same as SIGHUP. Games that are on go on by the settings that they began with. What cannot be changed \
        while the program runs is named; when anything is wrong, everything stays as it is."
    )]
    Reload(SocketArgs),
}

/// Where the bot is, and which of its accounts is targets.
#[derive(Args, Clone, Debug, Default)]
pub struct SocketArgs {
    /// The bot's control socket [default: daemon.socket of the configuration, or else control.sock in the runtime directory]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The bot's configuration file [default: as of `knightwatch run`]
    #[arg(short, long, value_name = "FILE", conflicts_with = "socket")]
    pub config: Option<PathBuf>,
    /// The account, where the bot plays several
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
}

impl SocketArgs {
    /// Asks the bot that is there.
    pub(super) fn send(&self, request: &Request) -> Result<Answer, Error> {
        send_request_for(self.socket.as_deref(), self.account.as_deref(), request)
    }
}

impl OperatorCommand {
    /// Asks the bot, and prints on `out` what it has done. `locate` fills in the socket where none is given.
    ///
    /// # Errors
    /// When it cannot be located, no bot runs there, or it does not do it.
    pub fn run(
        self,
        locate: impl FnOnce(SocketArgs) -> anyhow::Result<SocketArgs>,
        out: &mut impl Write,
    ) -> anyhow::Result<ExitCode> {
        let (socket, request) = match self {
            Self::Page { socket, open } => {
                return page_command(&locate(socket)?, open, out);
            }
            Self::Pause(socket) => (socket, Request::Pause),
            Self::Resume(socket) => (socket, Request::Resume),
            Self::Drain(socket) => (socket, Request::Drain),
            Self::Challenge { challenge, socket } => (socket, Request::Challenge(challenge)),
            Self::Join { arena, socket } => (socket, Request::Join { arena }),
            Self::Leave { arena, socket } => (socket, Request::Leave { arena }),
            Self::Block { user, socket } => (socket, Request::Block { user }),
            Self::Unblock { user, socket } => (socket, Request::Unblock { user }),
            Self::MoveNow { game, socket } => (socket, Request::MoveNow { game }),
            Self::Reload(socket) => (socket, Request::Reload),
        };
        operator_command(&locate(socket)?, &request, out)
    }
}
