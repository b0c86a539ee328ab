//! Operator actions of the page, executed like requests on the control socket.

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};

use super::records::{ApiError, Params};
use crate::control::{Dispatcher, Request, Response};
use crate::keys;

/// Actions that a page offers.
#[derive(Clone)]
pub struct Actions {
    /// Executes the actions.
    pub dispatcher: Dispatcher,
    /// Those that are enabled.
    pub enabled: &'static [PageAction],
}

keys! {
    /// An action of the page, with its name in the URL.
    pub enum PageAction {
        Pause = "pause",
        Resume = "resume",
        SeekOn = "seek-on",
        SeekOff = "seek-off",
        Drain = "drain",
        Block = "block",
        Unblock = "unblock",
        MoveNow = "move-now",
        Strength = "strength",
    }
}

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
    let action = PageAction::from_key(&action).filter(|action| actions.enabled.contains(action));
    let request = match action.ok_or(ApiError::NotFound("there is no such action"))? {
        PageAction::Pause => Request::Pause,
        PageAction::Resume => Request::Resume,
        PageAction::SeekOn => Request::Seek { on: true },
        PageAction::SeekOff => Request::Seek { on: false },
        PageAction::Drain => Request::Drain,
        PageAction::Block => Request::Block { user: params.user },
        PageAction::Unblock => Request::Unblock { user: params.user },
        PageAction::MoveNow => Request::MoveNow { game: params.game },
        PageAction::Strength => Request::Strength {
            user: params.user,
            elo: params.elo,
            move_s: params.move_s,
        },
    };
    match actions.dispatcher.dispatch(None, request).await {
        Response::Error(why) => Err(ApiError::BadRequest(why)),
        Response::Done(done) => Ok(Json(ActionResult { done })),
        Response::Status(_) => unreachable!("none of these requests asks for the status"),
    }
}
