//! JSON views: functions of the state of the site, above the subsystems, which know no JSON.

pub(crate) mod arena;
pub(crate) mod challenge;
pub(crate) mod export;
pub(crate) mod game;
pub(crate) mod spectator;
pub(crate) mod team;
pub(crate) mod user;
