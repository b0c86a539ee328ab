//! Handlers for challenges.

use crate::challenge::{DeclineReason, OpenChallenge};
use crate::http::auth::{authorize, bearer};
use crate::http::challenge_form as form;
use crate::http::request::{ApiRequest, ApiResult, Reply};
use crate::http::route::{NO_TOKEN, Route, Scopes, routes};
use crate::site::limits::CHALLENGES_PER_ADDRESS;
use crate::site::{ApiError, Speed, Topic, User};
use crate::time_control::TimeControl;
use crate::view::challenge::{list_challenges, show_challenge};
use knightwatch_chess::Color;

const READ: Scopes = Some(&["challenge:read"]);
pub(super) const WRITE: Scopes = Some(&["challenge:write", "bot:play", "board:play"]);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/api/challenge" ChallengeList, READ => list;
        POST "/api/challenge/open" ChallengeOpen, NO_TOKEN => open;
        POST "/api/challenge/{name}" ChallengeCreate, WRITE => create;
        GET "/api/challenge/{challenge}/show" ChallengeShow, READ => show;
        POST "/api/challenge/{challenge}/accept" ChallengeAccept, WRITE => accept;
        POST "/api/challenge/{challenge}/decline" ChallengeDecline, WRITE => decline;
        POST "/api/challenge/{challenge}/cancel" ChallengeCancel, WRITE => cancel;
    }
}

fn list(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    Ok(Reply::json(&list_challenges(
        &state,
        request.me()?,
        request.now(),
    )))
}

fn create(request: &ApiRequest<'_>) -> ApiResult {
    let me = request.me()?;
    let config = form::challenge_config(&request.params)?;
    let now = request.now();
    let mut state = request.state();
    check_speed(state.users.get(me), config.time_control)?;
    state
        .limits
        .charge(&CHALLENGES_PER_ADDRESS, &request.address, 1, now)?;
    let (id, feed) = state.challenge(me, request.arg(0), config, now)?;
    match feed {
        Some(feed) => Ok(Reply::Stream {
            topic: Topic::Challenge { id },
            feed,
        }),
        None => Ok(Reply::json(&show_challenge(&state, me, id, now)?)),
    }
}

/// Refuses ultraBullet to bots (`Speed.scala` of scalachess: an estimated duration of less than 30 s).
pub(super) fn check_speed(user: &User, time_control: TimeControl) -> Result<(), ApiError> {
    if user.bot && Speed::of(time_control) == Speed::UltraBullet {
        let error = ("global", "Invalid speed".to_owned());
        return Err(ApiError::invalid_form(vec![error]));
    }
    Ok(())
}

/// Creates an open challenge. With a token, the creator is remembered.
fn open(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let mut state = request.state();
    let creator = match bearer(request.headers) {
        None => None,
        Some(_) => Some(authorize(&state.users, request.headers, &["challenge:write"])?.user),
    };
    let config = form::challenge_config(&request.params).map_err(ApiError::with_fields_once)?;
    let terms = form::open_config(&request.params, now).map_err(ApiError::with_fields_once)?;
    state
        .limits
        .charge(&CHALLENGES_PER_ADDRESS, &request.address, 1, now)?;
    let players = match terms.players {
        None => None,
        Some(names) => {
            let known = names.each_ref().map(|name| state.users.by_name(name));
            let [Some(white), Some(black)] = known else {
                return Err(ApiError::invalid_fields(vec![(
                    "users",
                    "Invalid value".to_owned(),
                )]));
            };
            Some([white.id.clone(), black.id.clone()])
        }
    };
    let open = OpenChallenge {
        creator,
        players,
        expires_at: terms.expires_at,
    };
    Ok(Reply::json(&state.open_challenge(config, open, now)))
}

fn show(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let shown = show_challenge(&request.state(), request.me()?, request.game_id()?, now)?;
    Ok(Reply::json(&shown))
}

fn accept(request: &ApiRequest<'_>) -> ApiResult {
    let color = match request.params.get("color") {
        Some("white") => Some(Color::White),
        Some("black") => Some(Color::Black),
        _ => None,
    };
    let now = request.now();
    request
        .state()
        .accept(request.me()?, request.game_id()?, color, now)?;
    Ok(Reply::ok())
}

fn decline(request: &ApiRequest<'_>) -> ApiResult {
    let reason = request.params.get("reason").unwrap_or("generic");
    let reason = DeclineReason::from_key(reason);
    let now = request.now();
    request
        .state()
        .decline(request.me()?, request.game_id()?, reason, now)?;
    Ok(Reply::ok())
}

fn cancel(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let mut state = request.state();
    let token = request.params.get("opponentToken");
    let opponent = token.map(|token| state.users.grant(token).map(|grant| grant.user.clone()));
    state.cancel(request.me()?, request.game_id()?, opponent, now)?;
    Ok(Reply::ok())
}
