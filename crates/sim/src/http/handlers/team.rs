//! Handlers for teams and Swiss tournaments.

use super::{ApiRequest, ApiResult, Reply};
use crate::Sim;
use crate::http::error::ApiError;
use crate::http::route::tournament::TeamAction;
use crate::site::id::UserId;
use crate::wire;

/// Maximum number of listed arenas of a team.
const MAX_LINES: usize = 100;

pub(super) fn handle(
    sim: &Sim,
    request: &ApiRequest<'_>,
    me: Option<&UserId>,
    id: &str,
    action: TeamAction,
) -> ApiResult {
    let now = sim.time().now();
    let mut state = sim.state();
    match (action, me) {
        (TeamAction::Join, Some(me)) => {
            let (password, message) = (
                request.params.get("password"),
                request.params.get("message"),
            );
            state.join_team(me, id, password, message, now)?;
            Ok(Reply::ok())
        }
        (TeamAction::Quit, Some(me)) => {
            state.quit_team(me, id)?;
            Ok(Reply::ok())
        }
        (TeamAction::Show, _) => {
            let caller = request.optional_caller(&state);
            let team = state.find_team(id)?;
            Ok(Reply::json(&state.team_json(team, caller.as_ref())))
        }
        (TeamAction::Users, _) => Ok(Reply::lines(state.team_members(state.find_team(id)?))),
        (TeamAction::Arenas, _) => {
            let team = &state.find_team(id)?.id;
            let arenas = state
                .arenas
                .iter()
                .rev()
                .filter(|arena| arena.is_for_team(team));
            let lines = arenas.take(request.number("max", MAX_LINES, MAX_LINES));
            Ok(Reply::lines(
                lines.map(|arena| wire::json(&state.listed(arena, now))),
            ))
        }
        (TeamAction::Join | TeamAction::Quit, None) => Err(ApiError::unknown_path()),
    }
}

pub(super) fn of_user(sim: &Sim, request: &ApiRequest<'_>, name: &str) -> ApiResult {
    let state = sim.state();
    let user = state.find_user(name)?.id.clone();
    let caller = request.optional_caller(&state);
    let teams = state.teams.values();
    let teams: Vec<_> = teams
        .filter(|team| team.members.contains_key(&user))
        .map(|team| state.team_json(team, caller.as_ref()))
        .collect();
    Ok(Reply::json(&teams))
}

/// There are no Swiss tournaments in the simulator, and bots may not join any.
pub(super) fn swiss(sim: &Sim, me: &UserId) -> ApiResult {
    if sim.state().user(me).bot {
        return Err(ApiError::not_for_bots());
    }
    Err(ApiError::not_found())
}
