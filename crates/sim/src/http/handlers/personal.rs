//! Handlers for the caller's own account: settings, messages, follows and blocks.

use serde_json::json;

use super::{ApiRequest, ApiResult, NDJSON, Reply};
use crate::Sim;
use crate::http::auth::Caller;
use crate::http::error::ApiError;
use crate::http::route::personal::{PersonalRoute, RelationChange};
use crate::site::id::UserId;
use crate::site::users::User;
use crate::wire;

pub(super) fn handle(
    sim: &Sim,
    request: &ApiRequest<'_>,
    me: &Caller,
    route: PersonalRoute<'_>,
) -> ApiResult {
    let mut state = sim.state();
    match route {
        PersonalRoute::Preferences => return Ok(Reply::Json(preferences(state.user(&me.user)))),
        PersonalRoute::Email => {
            let email = format!("{}@localhost", me.user);
            return Ok(Reply::json(&json!({ "email": email })));
        }
        PersonalRoute::Kid => return Ok(Reply::json(&json!({ "kid": state.user(&me.user).kid }))),
        PersonalRoute::SetKid => state.user_mut(&me.user).kid = request.params.is_true("v"),
        PersonalRoute::Revoke => {
            state.revoke(&me.token);
            return Ok(Reply::NoContent);
        }
        PersonalRoute::Inbox(name) => {
            if request.params.get("text").is_none() {
                let missing = [("text", "This field is required".to_owned())];
                return Err(ApiError::invalid_form(&missing));
            }
            let other = state.find_user(name)?;
            if other.relations.blocks(&me.user) {
                return Err(ApiError::bad_request("The message could not be sent"));
            }
        }
        PersonalRoute::SetRelation(change, name) => {
            let other = state.find_user(name)?.id.clone();
            if other == me.user {
                return Err(ApiError::bad_request("Cannot do that to yourself"));
            }
            set_relation(state.user_mut(&me.user), change, other);
        }
        PersonalRoute::Following => {
            let following_ids = state.user(&me.user).relations.following_ids();
            let lines = following_ids.filter_map(|id| state.users.get(id));
            return Ok(Reply::Text {
                kind: NDJSON,
                text: lines.map(|user| wire::json(&user.json()) + "\n").collect(),
            });
        }
        PersonalRoute::Timeline => return Ok(Reply::json(&json!({ "entries": [], "users": {} }))),
        PersonalRoute::Seek if state.user(&me.user).bot => return Err(ApiError::not_for_bots()),
        PersonalRoute::Seek => return Err(ApiError::bad_request("This simulator has no lobby")),
    }
    Ok(Reply::ok())
}

fn set_relation(user: &mut User, change: RelationChange, other: UserId) {
    match change {
        RelationChange::Follow => user.relations.follow(other),
        RelationChange::Unfollow => user.relations.unfollow(&other),
        RelationChange::Block => user.relations.block(other),
        RelationChange::Unblock => user.relations.unblock(&other),
    }
}

/// Default preferences. Bots refuse takebacks and added time.
fn preferences(user: &User) -> String {
    let (takeback, moretime) = if user.takebacks { (3, 3) } else { (1, 1) };
    let prefs = json!({
        "dark": true, "transp": false, "bgImg": "", "is3d": false, "theme": "brown",
        "pieceSet": "cburnett", "theme3d": "Blue-Marble", "pieceSet3d": "Basic",
        "soundSet": "standard", "autoQueen": 2, "autoThreefold": 2, "takeback": takeback,
        "moretime": moretime, "clockTenths": 1, "clockBar": true, "clockSound": true,
        "premove": true, "animation": 2, "captured": true, "follow": true, "highlight": true,
        "destination": true, "coords": 2, "replay": 2, "challenge": 4, "message": 3,
        "coordColor": 3, "submitMove": 4, "confirmResign": 1, "insightShare": 1,
        "keyboardMove": 0, "zen": 0, "ratings": 1, "moveEvent": 2, "rookCastle": 1,
    });
    wire::json(&json!({ "prefs": prefs, "language": "en-US" }))
}
