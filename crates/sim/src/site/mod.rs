//! State of the simulated site: accounts, ratings, teams, time, and what happens to the site as a whole.

pub(super) mod crosstable;
mod glicko;
pub(super) mod id;
pub(super) mod outage;
pub(super) mod relations;
pub(super) mod schedule;
pub(super) mod state;
pub(super) mod team;
pub(super) mod time;
pub(super) mod users;
pub(super) mod variant;
