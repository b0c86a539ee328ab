//! Handlers for challenges.

use super::{ApiRequest, ApiResult, Reply};
use crate::Sim;
use crate::challenge::DeclineReason;
use crate::challenge::form;
use crate::challenge::open::OpenChallenge;
use crate::http::auth::bearer;
use crate::http::error::ApiError;
use crate::http::limits::CHALLENGES_PER_ADDRESS;
use crate::http::route::ChallengeAction;
use crate::http::stream::Topic;
use crate::site::id::{GameId, UserId};
use knightwatch_chess::Color;

pub(super) fn create(sim: &Sim, request: &ApiRequest<'_>, me: &UserId, name: &str) -> ApiResult {
    let config = form::challenge_config(&request.params)?;
    let now = sim.time().now();
    let mut state = sim.state();
    state
        .limits
        .charge(&CHALLENGES_PER_ADDRESS, &request.address, 1, now)?;
    let (id, feed) = state.challenge(me, name, config, now)?;
    match feed {
        Some(feed) => Ok(Reply::Stream {
            topic: Topic::Challenge { id },
            feed,
        }),
        None => Ok(Reply::json(&state.show_challenge(me, id, now)?)),
    }
}

/// Creates an open challenge. With a token, the creator is remembered.
pub(super) fn open(sim: &Sim, request: &ApiRequest<'_>) -> ApiResult {
    let now = sim.time().now();
    let mut state = sim.state();
    let creator = match bearer(request.headers) {
        None => None,
        Some(_) => Some(state.authorize(request.headers, &["challenge:write"])?.user),
    };
    let config = form::challenge_config(&request.params)?;
    let terms = form::open_config(&request.params, now)?;
    state
        .limits
        .charge(&CHALLENGES_PER_ADDRESS, &request.address, 1, now)?;
    let players = match terms.players {
        None => None,
        Some(names) => {
            let known = names.each_ref().map(|name| state.user_by_name(name));
            let [Some(white), Some(black)] = known else {
                return Err(ApiError::invalid_form(&[(
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

pub(super) fn act(
    sim: &Sim,
    request: &ApiRequest<'_>,
    me: &UserId,
    id: GameId,
    action: ChallengeAction,
) -> ApiResult {
    let now = sim.time().now();
    let mut state = sim.state();
    match action {
        ChallengeAction::Show => return Ok(Reply::json(&state.show_challenge(me, id, now)?)),
        ChallengeAction::Accept => {
            let color = match request.params.get("color") {
                Some("white") => Some(Color::White),
                Some("black") => Some(Color::Black),
                _ => None,
            };
            state.accept_as(me, id, color, now)?;
        }
        ChallengeAction::Decline => {
            let reason = request.params.get("reason").unwrap_or("generic");
            state.decline(me, id, DeclineReason::from_key(reason), now)?;
        }
        ChallengeAction::Cancel => {
            let token = request.params.get("opponentToken");
            let opponent = token.map(|token| state.grant(token).map(|grant| grant.user.clone()));
            state.cancel(me, id, opponent, now)?;
        }
    }
    Ok(Reply::ok())
}
