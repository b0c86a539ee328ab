//! What can be done with the bot from the page: what an operator can do over the control socket.

use axum::extract::{Path, Query, State as Shared};
use axum::http::StatusCode;
use serde::Deserialize;

use super::records::ApiError;
use crate::control::{Answer, Dispatcher, Request};

/// Who may be had do what.
#[derive(Clone)]
pub struct Actions {
    /// Who does it.
    pub dispatcher: Dispatcher,
    /// Which of [`ALL_ACTIONS`] are enabled here.
    pub enabled: &'static [&'static str],
}

/// Every action that a page can run.
pub const ALL_ACTIONS: &[&str] = &[
    "pause", "resume", "drain", "block", "unblock", "move-now", "strength",
];

/// What an action is params.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActionParams {
    user: String,
    game: String,
    elo: Option<u16>,
    move_s: Option<u64>,
}

/// Carries out an action, or says why not.
pub(super) async fn run(
    Shared(actions): Shared<Actions>,
    Path(action): Path<String>,
    Query(params): Query<ActionParams>,
) -> Result<StatusCode, ApiError> {
    if !actions.enabled.contains(&action.as_str()) {
        return Err(ApiError::NotFound("there is no such action"));
    }
    let request = match action.as_str() {
        "pause" => Request::Pause,
        "resume" => Request::Resume,
        "drain" => Request::Drain,
        "block" => Request::Block { user: params.user },
        "unblock" => Request::Unblock { user: params.user },
        "strength" => Request::Strength {
            user: params.user,
            elo: params.elo,
            move_s: params.move_s,
        },
        _ => Request::MoveNow { game: params.game },
    };
    match actions.dispatcher.answer(None, request).await {
        Answer::Error(why) => Err(ApiError::BadRequest(why)),
        Answer::Done(_) | Answer::Status(_) => Ok(StatusCode::NO_CONTENT),
    }
}
