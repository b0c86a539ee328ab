//! Handlers for accounts and tokens.

use crate::http::request::{ApiRequest, ApiResult, Reply};
use crate::http::route::{ANY_TOKEN, NO_TOKEN, Route, Scopes, routes};
use crate::site::limits::{ACCOUNT_READS, EVENT_STREAMS, PROFILE_READS, TOKEN_TESTS};
use crate::site::{AccountKind, ApiError, Topic};
use crate::view::game::now_playing;
use crate::view::user::{profile, relation, status, user_json};
use crate::wire::{self, Object, object};

/// Scopes of bots and boards; challenges are events, too.
const EVENTS: Scopes = Some(&["bot:play", "board:play", "challenge:read"]);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/__ping" Ping, NO_TOKEN => |_| Ok(ping());
        GET "/api/account" Account, ANY_TOKEN => account;
        GET "/api/account/playing" Playing, ANY_TOKEN => playing;
        POST "/api/token/test" TokenTest, NO_TOKEN => test_tokens;
        POST "/api/bot/account/upgrade" Upgrade, Some(&["bot:play"]) => upgrade;
        GET "/api/stream/event" EventStream, EVENTS => events;
        GET "/api/bot/online" BotsOnline, NO_TOKEN => bots_online;
        GET "/api/users/status" UsersStatus, NO_TOKEN => users_status;
        GET "/api/user/{name}" User, NO_TOKEN => user;
    }
}

fn ping() -> Reply {
    Reply::Text {
        kind: "text/plain; charset=utf-8",
        text: "pong".to_owned(),
    }
}

fn test_tokens(request: &ApiRequest<'_>) -> ApiResult {
    request.charge(&[TOKEN_TESTS], &request.address, request.item_count())?;
    let text = String::from_utf8_lossy(request.body);
    let state = request.state();
    let tokens = text.trim().split(',').filter(|token| !token.is_empty());
    let known = tokens.take(1_000).map(|token| {
        let info = state.users.grant(token).map(|grant| {
            object("userId", grant.user.to_string())
                .set("scopes", grant.scopes.join(","))
                .set("expires", None::<i64>)
        });
        (token, info)
    });
    Ok(Reply::json(&known.collect::<Object>()))
}

fn events(request: &ApiRequest<'_>) -> ApiResult {
    let me = request.caller()?;
    request.charge(&[EVENT_STREAMS], &me.token, 1)?;
    if request.is_head {
        return Ok(Reply::unopened_stream());
    }
    let now = request.now();
    let feed = request.state().open_event_stream(&me.token, &me.user, now);
    let user = me.user.clone();
    Ok(Reply::Stream {
        topic: Topic::Events { user },
        feed,
    })
}

fn bots_online(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let state = request.state();
    let bots = state.users.iter().filter(|user| user.is_listed(now));
    let bots = bots.take(request.number("nb", 100, 512));
    Ok(Reply::lines(bots.map(|user| wire::json(&user_json(user)))))
}

fn users_status(request: &ApiRequest<'_>) -> ApiResult {
    let ids = request.params.get("ids").unwrap_or_default();
    let ids: Vec<&str> = ids
        .split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty())
        .collect();
    if ids.is_empty() {
        return Err(ApiError::bad_request("No user ids provided"));
    }
    let now = request.now();
    let state = request.state();
    let with = |name| request.params.is_true(name);
    let statuses: Vec<_> = ids
        .into_iter()
        .take(100)
        .filter_map(|id| state.users.by_name(id))
        .map(|user| {
            let shown = ["withSignal", "withGameIds", "withGameMetas"].map(with);
            status(&state, user, shown, now)
        })
        .collect();
    Ok(Reply::json(&statuses))
}

fn user(request: &ApiRequest<'_>) -> ApiResult {
    request.charge(&PROFILE_READS, &request.address, 1)?;
    let state = request.state();
    let user = state.users.find(request.arg(0))?;
    // A valid token adds the caller's relation to this user; an invalid one is ignored.
    let relation = request.optional_caller(&state).map(|me| {
        let relations = &state.users.get(&me).relations;
        relation(relations.follows(&user.id), relations.blocks(&user.id))
    });
    Ok(Reply::json(&profile(&state, user, relation)))
}

fn account(request: &ApiRequest<'_>) -> ApiResult {
    let me = request.me()?;
    request.charge(&[ACCOUNT_READS], me.as_str(), 1)?;
    let state = request.state();
    if state.users.get(me).account_kind != AccountKind::User {
        return Err(ApiError::new(401, "No such user"));
    }
    let own = relation(false, false);
    Ok(Reply::json(&profile(
        &state,
        state.users.get(me),
        Some(own),
    )))
}

fn playing(request: &ApiRequest<'_>) -> ApiResult {
    let max = request.number("nb", 9, 50);
    let state = request.state();
    let playing = now_playing(&state, request.me()?, max, request.now());
    Ok(Reply::json(&playing))
}

fn upgrade(request: &ApiRequest<'_>) -> ApiResult {
    let me = request.me()?;
    let mut state = request.state();
    state.users.upgrade_to_bot(me)?;
    state.arenas.leave_all(me);
    Ok(Reply::ok())
}
