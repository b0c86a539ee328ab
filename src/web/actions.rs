//! Operator actions of the page, executed like requests on the control socket.

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};

use super::records::{ApiError, Params};
use crate::control::{Dispatcher, Request, Response};

/// Actions that a page offers.
#[derive(Clone)]
pub struct Actions {
    /// Executes the actions.
    pub dispatcher: Dispatcher,
    /// Enabled ones of [`ALL_ACTIONS`].
    pub enabled: &'static [&'static str],
}

/// All actions that a page can offer.
pub const ALL_ACTIONS: &[&str] = &[
    "pause", "resume", "seek-on", "seek-off", "drain", "block", "unblock", "move-now", "strength",
];

/// Query parameters of an action.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActionParams {
    user: String,
    game: String,
    elo: Option<u16>,
    move_s: Option<u64>,
}

/// Response to an action that succeeded.
#[derive(Debug, Serialize)]
pub(super) struct ActionResult {
    done: String,
}

/// `POST /control/ACTION`: executes an action.
pub(super) async fn run(
    State(actions): State<Actions>,
    Path(action): Path<String>,
    Params(params): Params<ActionParams>,
) -> Result<Json<ActionResult>, ApiError> {
    if !actions.enabled.contains(&action.as_str()) {
        return Err(ApiError::NotFound("there is no such action"));
    }
    let request = match action.as_str() {
        "pause" => Request::Pause,
        "resume" => Request::Resume,
        "seek-on" => Request::Seek { on: true },
        "seek-off" => Request::Seek { on: false },
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
    match actions.dispatcher.dispatch(None, request).await {
        Response::Error(why) => Err(ApiError::BadRequest(why)),
        Response::Done(done) => Ok(Json(ActionResult { done })),
        Response::Status(_) => unreachable!("none of these requests asks for the status"),
    }
}
