//! Result types of the referee: game status, states to send, errors.

use std::fmt;
use std::time::Duration;

use knightwatch_chess::{Color, Square};
use knightwatch_util::keys;

keys! {
    /// Game status, with the names and ids of scalachess.
    pub(crate) enum Status {
        Started = "started",
        Aborted = "aborted",
        Mate = "mate",
        Resign = "resign",
        Stalemate = "stalemate",
        Timeout = "timeout",
        Draw = "draw",
        OutOfTime = "outoftime",
        /// A player did not make their first move in an arena game.
        NoStart = "noStart",
        InsufficientMaterialClaim = "insufficientMaterialClaim",
        VariantEnd = "variantEnd",
    }
}

impl Status {
    pub(crate) fn id(self) -> u8 {
        match self {
            Self::Started => 20,
            Self::Aborted => 25,
            Self::Mate => 30,
            Self::Resign => 31,
            Self::Stalemate => 32,
            Self::Timeout => 33,
            Self::Draw => 34,
            Self::OutOfTime => 35,
            Self::NoStart => 37,
            Self::InsufficientMaterialClaim => 39,
            Self::VariantEnd => 60,
        }
    }
}

/// Rejected game action. The text is that of Lichess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GameError {
    InvalidUci(String),
    NotYourTurn,
    NoPiece(Square),
    NotMyPiece(Square),
    Illegal(Square, Square),
    IllegalDrop(Square),
    CannotAbort,
    CannotResign,
    CannotClaimVictory,
    CannotClaimDraw,
    CannotBerserk,
    CannotGiveTime,
}

impl fmt::Display for GameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUci(text) => write!(f, "Invalid UCI: {text}"),
            Self::NotYourTurn => f.write_str("Not your turn, or game already over"),
            Self::NoPiece(from) => write!(f, "No piece on {from}"),
            Self::NotMyPiece(from) => write!(f, "Not my piece on {from}"),
            Self::Illegal(from, to) => write!(f, "Piece on {from} cannot move to {to}"),
            Self::IllegalDrop(text) => write!(f, "Cannot drop {text}"),
            Self::CannotAbort => f.write_str("This game can no longer be aborted"),
            Self::CannotResign => f.write_str("This game cannot be resigned"),
            Self::CannotClaimVictory => f.write_str("You cannot claim the win on this game"),
            Self::CannotBerserk => f.write_str("Cannot berserk"),
            Self::CannotGiveTime => f.write_str("This game doesn't allow giving time"),
            Self::CannotClaimDraw => f.write_str("You cannot claim draw on this game"),
        }
    }
}

/// The changing part of a game at one moment, as sent to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateSnapshot {
    pub moves: String,
    pub millis: [i64; 2],
    pub increment: i64,
    pub status: Status,
    pub winner: Option<Color>,
    pub draw_offers: [bool; 2],
    pub takeback_offers: [bool; 2],
    /// Limit for the first move; only in games that expire.
    pub expiration: Option<Expiration>,
}

/// Time limit for the first move: time already spent and total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiration {
    pub idle: Duration,
    pub allowed: Duration,
}

/// Result of a game action: states to send to watchers, in order, and whether the action succeeded.
#[derive(Clone, Debug)]
pub(crate) struct ActionOutcome {
    pub snapshots: Vec<StateSnapshot>,
    pub result: Result<(), GameError>,
}

impl ActionOutcome {
    pub(crate) fn accepted(snapshots: Vec<StateSnapshot>) -> Self {
        Self {
            snapshots,
            result: Ok(()),
        }
    }

    pub(crate) fn rejected(error: GameError) -> Self {
        Self {
            snapshots: Vec::new(),
            result: Err(error),
        }
    }
}
