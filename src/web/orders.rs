//! What can be done with the bot from the page: what an operator can do over the control socket.

use axum::extract::{Path, Query, State as Shared};
use axum::http::StatusCode;
use serde::Deserialize;

use super::records::Refusal;
use crate::control::{Answer, Ends, Request};

/// Who may be had do what.
#[derive(Clone)]
pub struct Orders {
    /// Who does it.
    pub ends: Ends,
    /// Which of [`ALL_ORDERS`] are given here.
    pub given: &'static [&'static str],
}

/// Every order that a page can give.
pub const ALL_ORDERS: &[&str] = &[
    "pause", "resume", "drain", "block", "unblock", "move-now", "strength",
];

/// What an order is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct About {
    user: String,
    game: String,
    elo: Option<u16>,
    move_s: Option<u64>,
}

/// Carries out an order, or says why not.
pub(super) async fn give(
    Shared(orders): Shared<Orders>,
    Path(order): Path<String>,
    Query(about): Query<About>,
) -> Result<StatusCode, Refusal> {
    if !orders.given.contains(&order.as_str()) {
        return Err(Refusal::Missing("there is no such order"));
    }
    let request = match order.as_str() {
        "pause" => Request::Pause,
        "resume" => Request::Resume,
        "drain" => Request::Drain,
        "block" => Request::Block { user: about.user },
        "unblock" => Request::Unblock { user: about.user },
        "strength" => Request::Strength {
            user: about.user,
            elo: about.elo,
            move_s: about.move_s,
        },
        _ => Request::MoveNow { game: about.game },
    };
    match orders.ends.answer(None, request).await {
        Answer::Error(why) => Err(Refusal::Wrong(why)),
        Answer::Done(_) | Answer::Status(_) => Ok(StatusCode::NO_CONTENT),
    }
}
