//! Handlers for accounts and tokens.

use super::{ApiRequest, ApiResult, NDJSON, Reply};
use crate::Sim;
use crate::http::error::ApiError;
use crate::site::id::UserId;
use crate::site::users::AccountKind;
use crate::site::variant::Variant;
use crate::wire::{self, Ordered, PlayingJson, Relation, TokenInfo};

pub(super) fn test_tokens(sim: &Sim, request: &ApiRequest<'_>) -> Reply {
    let text = String::from_utf8_lossy(request.body);
    let state = sim.state();
    let tokens = text.trim().split(',').filter(|token| !token.is_empty());
    let known = tokens.take(1_000).map(|token| {
        let info = state.grant(token).map(|grant| TokenInfo {
            user_id: grant.user.to_string(),
            scopes: grant.scopes.join(","),
            expires: None,
        });
        (token.to_owned(), info)
    });
    Reply::json(&Ordered(known.collect()))
}

pub(super) fn bots_online(sim: &Sim, request: &ApiRequest<'_>) -> Reply {
    let now = sim.time().now();
    let state = sim.state();
    let bots = state.users.values().filter(|user| user.is_listed(now));
    let lines = bots
        .take(request.number("nb", 100, 512))
        .map(|user| wire::json(&user.json()) + "\n");
    Reply::Text {
        kind: NDJSON,
        text: lines.collect(),
    }
}

pub(super) fn users_status(sim: &Sim, request: &ApiRequest<'_>) -> ApiResult {
    let ids = request.params.get("ids").unwrap_or_default();
    let ids: Vec<&str> = ids
        .split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty())
        .collect();
    if ids.is_empty() {
        return Err(ApiError::bad_request("No user ids provided"));
    }
    let now = sim.time().now();
    let state = sim.state();
    let with = |name| request.params.is_true(name);
    let statuses: Vec<_> = ids
        .into_iter()
        .take(100)
        .filter_map(|id| state.user_by_name(id))
        .map(|user| {
            let game = user.playing.last().and_then(|id| state.rounds.get(id));
            let playing = game.map(|round| match with("withGameMetas") {
                false => PlayingJson::Yes(true),
                true => PlayingJson::Game {
                    id: round.id.to_string(),
                    clock: round.time_control.show(),
                    variant: (round.variant != Variant::Standard).then(|| round.variant.key()),
                },
            });
            user.status(now, with("withSignal"), with("withGameIds"), playing)
        })
        .collect();
    Ok(Reply::json(&statuses))
}

pub(super) fn user(sim: &Sim, request: &ApiRequest<'_>, name: &str) -> ApiResult {
    let state = sim.state();
    let user = state.find_user(name)?;
    // A valid token adds the caller's relation to this user; an invalid one is ignored.
    let relation = state.authorize(request.headers, &[]).ok().map(|me| {
        let relations = &state.user(&me.user).relations;
        Relation {
            followable: true,
            following: relations.follows(&user.id),
            blocking: relations.blocks(&user.id),
        }
    });
    Ok(Reply::json(&state.profile(user, relation)))
}

pub(super) fn account(sim: &Sim, me: &UserId) -> ApiResult {
    let state = sim.state();
    if state.user(me).account_kind != AccountKind::User {
        return Err(ApiError::new(401, "No such user"));
    }
    let relation = Relation {
        followable: true,
        following: false,
        blocking: false,
    };
    Ok(Reply::json(&state.profile(state.user(me), Some(relation))))
}

pub(super) fn upgrade(sim: &Sim, me: &UserId) -> ApiResult {
    let mut state = sim.state();
    let user = state.user_mut(me);
    if user.game_counts.all > 0 || !user.playing.is_empty() {
        return Err(ApiError::bad_request(
            "You already have games played. Make a new account.",
        ));
    }
    user.upgrade_to_bot();
    state.leave_all_arenas(me);
    Ok(Reply::ok())
}
