//! Handlers for the caller's own account: settings, messages, follows and blocks, and seeks in the lobby.

use serde_json::json;

use crate::http::request::{ApiRequest, ApiResult, Reply};
use crate::http::route::{ANY_TOKEN, Route, Scopes, routes};
use crate::http::seek_form::seek_config;
use crate::site::error::REQUIRED;
use crate::site::limits::{FOLLOWS, GAME_SETUPS};
use crate::site::relations::Relations;
use crate::site::{AccountKind, ApiError, Topic, UserId};
use crate::time_control::TimeControl;
use crate::view::user::user_json;
use crate::wire;

const READ_PREFERENCES: Scopes = Some(&["preference:read"]);
const WRITE_PREFERENCES: Scopes = Some(&["preference:write"]);
const FOLLOW: Scopes = Some(&["follow:write"]);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/api/account/preferences" Personal, READ_PREFERENCES => preferences;
        GET "/api/account/email" Personal, Some(&["email:read"]) => email;
        GET "/api/account/kid" Personal, READ_PREFERENCES => kid;
        POST "/api/account/kid" Personal, WRITE_PREFERENCES => set_kid;
        DELETE "/api/token" Personal, ANY_TOKEN => revoke;
        POST "/inbox/{name}" Personal, Some(&["msg:write"]) => send_message;
        GET "/api/rel/following" Personal, Some(&["follow:read"]) => following;
        POST "/api/rel/follow/{name}" Personal, FOLLOW => follow;
        POST "/api/rel/unfollow/{name}" Personal, FOLLOW => |request| relate(request, Relations::unfollow);
        POST "/api/rel/block/{name}" Personal, FOLLOW => |request| relate(request, Relations::block);
        POST "/api/rel/unblock/{name}" Personal, FOLLOW => |request| relate(request, Relations::unblock);
        GET "/api/timeline" Personal, ANY_TOKEN => |_| Ok(Reply::json(&json!({ "entries": [], "users": {} })));
        POST "/api/board/seek" Seek, Some(&["board:play"]) => seek;
    }
}

fn email(request: &ApiRequest<'_>) -> ApiResult {
    let email = format!("{}@localhost", request.me()?);
    Ok(Reply::json(&json!({ "email": email })))
}

fn kid(request: &ApiRequest<'_>) -> ApiResult {
    let kid = request.state().users.get(request.me()?).kid;
    Ok(Reply::json(&json!({ "kid": kid })))
}

fn set_kid(request: &ApiRequest<'_>) -> ApiResult {
    let kid = request.params.is_true("v");
    request.state().users.set_kid(request.me()?, kid);
    Ok(Reply::ok())
}

fn revoke(request: &ApiRequest<'_>) -> ApiResult {
    request.state().users.revoke(&request.caller()?.token);
    Ok(Reply::NoContent)
}

fn send_message(request: &ApiRequest<'_>) -> ApiResult {
    if request.params.get("text").is_none() {
        return Err(ApiError::invalid_form(vec![("text", REQUIRED.to_owned())]));
    }
    let state = request.state();
    if state
        .users
        .find(request.arg(0))?
        .relations
        .blocks(request.me()?)
    {
        return Err(ApiError::bad_request("The message could not be sent"));
    }
    Ok(Reply::ok())
}

fn follow(request: &ApiRequest<'_>) -> ApiResult {
    request.charge(&[FOLLOWS], request.me()?.as_str(), 1)?;
    relate(request, Relations::follow)
}

/// Changes the caller's relation to the user in the path.
fn relate(request: &ApiRequest<'_>, change: fn(&mut Relations, &UserId)) -> ApiResult {
    let me = request.me()?;
    let mut state = request.state();
    let other = state.users.find(request.arg(0))?.id.clone();
    if other == *me {
        return Err(ApiError::bad_request("Cannot do that to yourself"));
    }
    change(state.users.relations_mut(me), &other);
    Ok(Reply::ok())
}

fn following(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let ids = state.users.get(request.me()?).relations.following_ids();
    let users = ids.filter_map(|id| state.users.known(id));
    Ok(Reply::lines(users.map(|user| wire::json(&user_json(user)))))
}

/// Seeks a game in the lobby, which is forbidden to bots. One with a clock is open as long as the response.
fn seek(request: &ApiRequest<'_>) -> ApiResult {
    let (me, now) = (request.me()?, request.now());
    let mut state = request.state();
    let user = state.users.get(me);
    if user.bot {
        return Err(ApiError::not_for_bots());
    }
    let in_browser = user.browser || user.account_kind != AccountKind::User;
    let config = seek_config(&request.params, in_browser)?;
    if matches!(config.time_control, TimeControl::Clock { .. }) {
        state
            .limits
            .charge(&GAME_SETUPS, &request.address, 1, now)?;
    }
    Ok(match state.seek(me, config, now)? {
        (id, Some(feed)) => Reply::Stream {
            topic: Topic::Seek { id },
            feed,
        },
        (id, None) => Reply::json(&json!({ "id": id.to_string() })),
    })
}

/// Default preferences. Bots refuse takebacks and added time.
fn preferences(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let user = state.users.get(request.me()?);
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
    Ok(Reply::json(&json!({ "prefs": prefs, "language": "en-US" })))
}
