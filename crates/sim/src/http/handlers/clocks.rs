//! Handlers for games against the AI and for changes to clocks.

use super::challenge::{WRITE, check_speed};
use crate::http::challenge_form as form;
use crate::http::request::{ApiRequest, ApiResult, Reply};
use crate::http::route::{NO_TOKEN, Route, routes};
use crate::referee::{Centis, GameError};
use crate::round::COLORS;
use crate::round::setup::Source;
use crate::site::limits::{AI_GAMES, GAME_SETUPS};
use crate::site::{AccountKind, ApiError};
use crate::view::game::ai_game;
use crate::wire;

/// Range of seconds that can be added; other values are clamped.
const ADD_TIME_SECONDS: (u32, u32) = (5, 60);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        POST "/api/challenge/ai" ChallengeAi, WRITE => play_engine;
        POST "/api/challenge/{challenge}/start-clocks" StartClocks, NO_TOKEN => start_clocks;
        POST "/api/round/{challenge}/add-time/{seconds}" AddTime, Some(&["challenge:write"]) => add_time;
    }
}

fn play_engine(request: &ApiRequest<'_>) -> ApiResult {
    let me = request.me()?;
    let config = form::challenge_config(&request.params)?;
    let level = form::level(&request.params)?;
    let now = request.now();
    {
        let mut state = request.state();
        check_speed(state.users.get(me), config.time_control)?;
        state
            .limits
            .charge(&GAME_SETUPS, &request.address, 1, now)?;
        if state.users.get(me).bot {
            state.limits.charge(&AI_GAMES, me.as_str(), 1, now)?;
        }
    }
    let engine = request.sim.add_ai_player(level);
    let mut state = request.state();
    let id = state.start_ai_game(me, engine, config, now);
    let game = state.rounds.get(id).and_then(|round| ai_game(round, me));
    Ok(Reply::Created(wire::json(&game)))
}

/// Starts the clocks of a game with the tokens of both players.
fn start_clocks(request: &ApiRequest<'_>) -> ApiResult {
    const SCOPE: &str = "challenge:write";
    let id = request.game_id()?;
    let now = request.now();
    let mut state = request.state();
    let mut users = Vec::new();
    for name in ["token1", "token2"] {
        let Some(token) = request.params.get(name) else {
            continue;
        };
        let grant = state.users.grant(token);
        let grant = grant.ok_or_else(|| ApiError::new(401, "No such token"))?;
        if !grant.scopes.iter().any(|scope| scope == SCOPE) {
            return Err(ApiError::new(403, format!("Missing scope: {SCOPE}")));
        }
        users.push(grant.user.clone());
    }
    match &users[..] {
        [] => return Err(ApiError::no_token()),
        [one, other] if one == other => {
            return Err(ApiError::new(401, "Both tokens belong to the same user"));
        }
        _ => {}
    }
    let round = state.rounds.find(id)?;
    // The AI has no token.
    let all_agree = COLORS.into_iter().all(|color| {
        let side = round.side(color);
        matches!(side.account_kind, AccountKind::Ai(_)) || users.contains(&side.user)
    });
    let all_play = users.iter().all(|user| round.color_of(user).is_some());
    if !(all_agree && all_play) {
        return Err(ApiError::not_found());
    }
    state.rounds.start_clock(id, now);
    Ok(Reply::ok())
}

fn add_time(request: &ApiRequest<'_>) -> ApiResult {
    let id = request.game_id()?;
    let seconds: u32 = request.arg(1).parse().map_err(|_| ApiError::not_found())?;
    let now = request.now();
    let mut state = request.state();
    let (round, color) = state
        .rounds
        .player(request.me()?, Some(id))
        .map_err(|_| ApiError::not_found())?;
    if matches!(round.source, Source::Arena { .. }) {
        return Err(GameError::CannotGiveTime.into());
    }
    let time = Centis::from_seconds(seconds.clamp(ADD_TIME_SECONDS.0, ADD_TIME_SECONDS.1));
    let is_pushed = state.quirks.add_time_push;
    state.act(
        id,
        |referee| {
            let mut outcome = referee.give_time(color, time, now);
            if !is_pushed {
                outcome.snapshots.clear();
            }
            outcome
        },
        now,
    )?;
    Ok(Reply::ok())
}
