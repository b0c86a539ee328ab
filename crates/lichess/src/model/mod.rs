//! Wire types.
//!
//! Parsing is lenient where the documentation, its samples and the server disagree, and where the server may grow:
//! unknown fields are skipped, unknown events become [`Event::Unknown`], unknown keys become the `Unknown` of their type,
//! in a field that no move depends on `null`, absent and unreadable are the same, and a line that cannot be parsed becomes a
//! [`Skipped`] instead of ending the stream.

pub mod address;
mod arena;
mod challenge;
mod event;
mod game;
mod ids;
#[cfg(test)]
mod mutate;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod tests;
mod text;
mod user;

pub use arena::{Arena, ArenaLine, ListedArena, Standing, Team};
pub use challenge::{
    Challenge, ChallengeUser, Challenges, ColorChoice, Direction, NewChallenge, TimeControl,
};
pub use event::{Event, FromLine, GameEvent, Skipped};
pub use game::{ChatLine, Compat, GameFull, GameInfo, GameState, Opponent, OpponentGone, Player};
pub use ids::{
    ArenaId, ChallengeId, ChallengeStatus, DeclineReason, GameId, InvalidId, Room, Speed, Status,
    Username, Variant,
};
pub use knightwatch_chess::Color;
pub(super) use text::list;
pub use text::{UNLIMITED, clean, clip};
pub use user::{Count, Perf, Preferences, Profile, TokenInfo, User, UserStatus};
