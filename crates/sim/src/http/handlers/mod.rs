//! Request handlers, each with its row of the table of endpoints. Checks run in the order in which Lichess makes them.

mod account;
mod challenge;
mod clocks;
mod engines;
mod game;
mod personal;
mod public;
mod stubs;
mod team;
mod tournament;

use std::sync::LazyLock;

use crate::http::route::Route;

/// Table of all endpoints. Of several rows that match a request, the first answers it.
pub(super) static TABLE: LazyLock<Vec<Route>> = LazyLock::new(routes);

fn routes() -> Vec<Route> {
    [
        account::routes(),
        // Before the challenges, among which `ai` would be the name of a user.
        clocks::routes(),
        challenge::routes(),
        engines::routes(),
        game::routes(),
        personal::routes(),
        public::routes(),
        stubs::routes(),
        team::routes(),
        tournament::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
