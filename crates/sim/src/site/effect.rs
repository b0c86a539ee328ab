//! Effects: what a change in one subsystem means for the others.
//!
//! The subsystems do not know each other. Their methods return effects, which
//! [`apply`](crate::site::apply) applies in order.

use knightwatch_chess::Color;

use crate::challenge::{Challenge, ChallengeStatus};
use crate::referee::StateSnapshot;
use crate::round::setup::Setup;
use crate::site::{ArenaId, Feed, GameId, SimTime, UserId};

/// Notification to a built-in player.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    /// The player was challenged.
    Challenged(GameId),
    /// The player's challenge was declined or canceled.
    ChallengeEnded(GameId),
    /// The player's game started or changed.
    Game(GameId),
    /// Somebody seeks a game in the lobby.
    Seek(GameId),
    /// An arena was announced, or the player was removed from it.
    Arena(ArenaId),
}

/// Action to be run at a given time.
#[derive(Clone, Debug)]
pub(crate) enum ScheduledAction {
    /// Announces a challenge from an anonymous player to its recipient.
    Announce(GameId),
    /// This user accepts the rematch with this game id.
    AcceptRematch(UserId, GameId),
    DeclineRematch(UserId, GameId),
}

pub(crate) enum Effect {
    /// Informs a user about a challenge: created, canceled or declined.
    Challenge {
        challenge: Box<Challenge>,
        status: ChallengeStatus,
        to: UserId,
        /// The event says with which APIs the recipient can play.
        compat: bool,
    },
    /// Ends the keep-alive stream of a challenge with its outcome.
    EndKeepAlive(Feed, ChallengeStatus),
    Notify(UserId, Notice),
    NotifyAll(Notice),
    Schedule(SimTime, ScheduledAction),
    /// Starts a game.
    Start(Box<Setup>),
    /// Links a game to its rematch.
    Rematch(GameId, GameId),
    /// Starts the next game of two players of an arena, White first.
    Pair(ArenaId, [UserId; 2]),
    /// A game has started.
    Started(GameId),
    /// Sends states to the players of a game.
    States(GameId, Vec<StateSnapshot>),
    /// A game has ended.
    Finished(GameId),
    /// A game without moves was deleted.
    Deleted(GameId, [UserId; 2]),
    /// New positions are shown to the spectators of a game.
    Watched(GameId),
    /// Informs a player about the opponent, who is back, or is gone so that the win can be claimed after these seconds.
    OpponentGone {
        game: GameId,
        to: Color,
        claim_in: Option<u64>,
    },
}
