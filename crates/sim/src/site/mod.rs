//! State of the simulated site: its subsystems, and the effects between them.

pub(super) mod apply;
pub(super) mod crosstable;
pub(super) mod effect;
pub(super) mod error;
pub(super) mod feed;
mod glicko;
pub(super) mod id;
pub(super) mod limits;
pub(super) mod material;
pub(super) mod outage;
pub(super) mod relations;
pub(super) mod requests;
pub(super) mod schedule;
pub(super) mod state;
pub(super) mod streams;
pub(super) mod team;
pub(super) mod time;
pub(super) mod users;
pub(super) mod variant;

pub(crate) use effect::{Effect, Notice};
pub(crate) use error::ApiError;
pub(crate) use feed::{Feed, Topic};
pub(crate) use id::{ArenaId, GameId, UserId};
pub(crate) use limits::Limits;
pub(crate) use state::SiteState;
pub(crate) use team::{TeamId, Teams};
pub(crate) use time::SimTime;
pub(crate) use users::{AccountKind, User, Users};
pub(crate) use variant::{Perf, Speed, Variant};
