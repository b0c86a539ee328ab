//! Command line of the operator commands.

use std::io::Write;
use std::process::ExitCode;

use clap::Subcommand;

use super::client::{SocketArgs, matches_command, operator_command, page_command};
use super::{Challenge, Request, validated};
use crate::bot::argument;

/// Commands to a running bot.
#[derive(Debug, Subcommand)]
pub enum OperatorCommand {
    /// Print the address of a running bot's page, with the key that controls the bot
    #[command(
        after_help = "Examples:\n  knightwatch page\n  knightwatch page --open\n  \
        sudo knightwatch page --socket /run/knightwatch/control.sock\n\n\
        The key survives restarts, so the page can be bookmarked. It is stored next to the records, in a file that \
        only the bot's user can read; remove the file and restart the bot to get a new key. While --open starts the \
        browser, other users of this machine can see the address in the list of processes."
    )]
    Page {
        #[command(flatten)]
        socket: SocketArgs,
        /// Also open it with xdg-open
        #[arg(long)]
        open: bool,
    },

    /// Take no new games until `knightwatch resume`; running games continue
    #[command(after_help = "Examples:\n  knightwatch pause\n  \
        sudo knightwatch pause --socket /run/knightwatch/control.sock\n\n\
        Meanwhile challenges are declined with \"later\" and arenas are left. The pause survives restarts of the \
        program: only `knightwatch resume` ends it. `knightwatch status` shows it.")]
    Pause(SocketArgs),

    /// Take new games again after `knightwatch pause`
    #[command(after_help = "Example: knightwatch resume\n\n\
        It does not cancel `knightwatch drain` or SIGTERM: the program exits, and plays again when it is started.")]
    Resume(SocketArgs),

    /// Switch matchmaking on or off, whatever the configuration says
    #[command(
        after_help = "Examples:\n  knightwatch seek on\n  knightwatch seek off\n\n\
        It survives restarts of the program. Running games continue, and challenges of others are answered as before. \
        `knightwatch status` shows it."
    )]
    Seek {
        /// on or off
        #[arg(value_name = "STATE", value_parser = ["on", "off"])]
        state: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Take no new games, finish the running ones however long they take, and exit
    #[command(after_help = "Example: knightwatch drain\n\n\
        With a service manager that restarts the program when it has exited, this is the way to upgrade \
        without leaving a game. SIGTERM does the same within daemon.grace_s. Unanswered challenges of the bot with a \
        clock are canceled at once. It cannot be undone: to stop for a while, use `knightwatch pause`.")]
    Drain(SocketArgs),

    /// Challenge a user
    #[command(after_help = "Examples:\n  \
        knightwatch challenge Anna 3+2\n  \
        knightwatch challenge Rival 5+3 --rated --color white\n  \
        knightwatch challenge Bert 2d --variant chess960\n  \
        knightwatch challenge Rival 3+2 --pairs 20\n\n\
        A challenge with a clock that is not answered within a minute is canceled. It is also sent while the bot is \
        paused; the output then says so.\n\n\
        With --pairs the bot plays a match, which goes on after restarts of the program. After a decline it waits for a \
        minute, then longer; it gives up after ten in a row, or when the reason names the kind of game. \
        `knightwatch matches` shows the score.")]
    Challenge {
        #[command(flatten)]
        challenge: Challenge,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Show the matches of `knightwatch challenge --pairs`, or end one
    #[command(
        after_help = "Examples:\n  knightwatch matches\n  knightwatch matches --cancel Rival\n\n\
        Elo is the difference to the opponent with the 95 % confidence interval, by complete pairs. A \
        match that is canceled ends with the running game."
    )]
    Matches {
        /// End the match against this opponent
        #[arg(long, value_name = "NAME", value_parser = validated(argument::user))]
        cancel: Option<String>,
        /// Print JSON, as `matches` of `knightwatch status --json`
        #[arg(long, conflicts_with = "cancel")]
        json: bool,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Join an arena
    #[command(after_help = "Examples:\n  \
        knightwatch join may24bot\n  \
        knightwatch join friday01:secret\n  \
        knightwatch join battle01@our-team\n\n\
        The bot plays until the arena is over or `knightwatch leave`, also after restarts of the program.")]
    Join {
        /// Id or address of the arena, optionally followed by @TEAM and :PASSWORD
        #[arg(value_parser = validated(argument::joining))]
        arena: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Leave an arena
    #[command(after_help = "Example: knightwatch leave may24bot\n\n\
        A running game of the arena is finished. Leaving survives restarts of the program, also for an \
        arena that the configuration names: only `knightwatch join` undoes it.")]
    Leave {
        /// Id or address of the arena
        #[arg(value_parser = validated(argument::arena))]
        arena: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Decline all challenges of a user
    #[command(
        after_help = "Examples:\n  knightwatch block Rival\n  knightwatch block 'Annoying*'\n\n\
        It lasts until `knightwatch unblock` and adds to challenge.block of the configuration. A running game continues."
    )]
    Block {
        /// User name; * matches any characters, case is ignored
        #[arg(value_parser = validated(argument::pattern))]
        user: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Undo `knightwatch block`
    #[command(after_help = "Example: knightwatch unblock Rival")]
    Unblock {
        /// User name as it was blocked
        #[arg(value_parser = validated(argument::pattern))]
        user: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Play the best move found so far in a game
    #[command(after_help = "Example: knightwatch move-now abcdefgh\n\n\
        `knightwatch status` lists the games.")]
    MoveNow {
        /// Id or address of the game
        #[arg(value_parser = validated(argument::game))]
        game: String,
        #[command(flatten)]
        socket: SocketArgs,
    },

    /// Reload the configuration and print what has changed
    #[command(
        after_help = "Examples:\n  knightwatch reload\n  sudo systemctl reload knightwatch\n\n\
        The same as SIGHUP. Running games keep the settings that they began with. Settings that cannot be changed \
        while the program runs are listed; if anything is wrong, nothing changes."
    )]
    Reload(SocketArgs),
}

impl OperatorCommand {
    /// Sends the command to the bot and prints its response to `out`. `resolve` fills in the socket if none is given.
    ///
    /// # Errors
    /// If the socket cannot be resolved, no bot is running, or it rejects the command.
    pub fn run(
        self,
        resolve: impl FnOnce(SocketArgs) -> anyhow::Result<SocketArgs>,
        out: &mut impl Write,
    ) -> anyhow::Result<ExitCode> {
        let (socket, request) = match self {
            Self::Page { socket, open } => {
                return page_command(&resolve(socket)?, open, out);
            }
            Self::Pause(socket) => (socket, Request::Pause),
            Self::Resume(socket) => (socket, Request::Resume),
            Self::Seek { state, socket } => (socket, Request::Seek { on: state == "on" }),
            Self::Drain(socket) => (socket, Request::Drain),
            Self::Challenge { challenge, socket } => (socket, Request::Challenge(challenge)),
            Self::Matches {
                cancel: None,
                json,
                socket,
            } => return matches_command(&resolve(socket)?, json, out),
            Self::Matches {
                cancel: Some(user),
                socket,
                ..
            } => (socket, Request::CancelMatch { user }),
            Self::Join { arena, socket } => (socket, Request::Join { arena }),
            Self::Leave { arena, socket } => (socket, Request::Leave { arena }),
            Self::Block { user, socket } => (socket, Request::Block { user }),
            Self::Unblock { user, socket } => (socket, Request::Unblock { user }),
            Self::MoveNow { game, socket } => (socket, Request::MoveNow { game }),
            Self::Reload(socket) => (socket, Request::Reload),
        };
        operator_command(&resolve(socket)?, &request, out)
    }
}
