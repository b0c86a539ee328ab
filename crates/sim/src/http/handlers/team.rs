//! Handlers for teams and Swiss tournaments.

use super::{ApiRequest, ApiResult, Reply};
use crate::http::error::ApiError;
use crate::http::route::{NO_TOKEN, Route, Scopes, routes};
use crate::wire;

/// Maximum number of listed arenas of a team.
const MAX_LINES: usize = 100;

const MEMBERSHIP: Scopes = Some(&["team:write"]);
const SWISS: Scopes = Some(&["tournament:write"]);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/api/team/of/{name}" Team, NO_TOKEN => of_user;
        GET "/api/team/{team}" Team, NO_TOKEN => show;
        GET "/api/team/{team}/users" Team, NO_TOKEN => members;
        GET "/api/team/{team}/arena" Team, NO_TOKEN => arenas;
        POST "/team/{team}/join" TeamJoin, MEMBERSHIP => join;
        POST "/team/{team}/quit" TeamQuit, MEMBERSHIP => quit;
        GET "/api/swiss/{swiss}" Swiss, NO_TOKEN => |_| Err(ApiError::not_found());
        POST "/api/swiss/{swiss}/join" Swiss, SWISS => enter_swiss;
        POST "/api/swiss/{swiss}/withdraw" Swiss, SWISS => enter_swiss;
    }
}

fn of_user(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let user = state.find_user(request.arg(0))?.id.clone();
    let caller = request.optional_caller(&state);
    let teams = state.teams.values();
    let teams: Vec<_> = teams
        .filter(|team| team.members.contains_key(&user))
        .map(|team| state.team_json(team, caller.as_ref()))
        .collect();
    Ok(Reply::json(&teams))
}

fn show(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let caller = request.optional_caller(&state);
    let team = state.find_team(request.arg(0))?;
    Ok(Reply::json(&state.team_json(team, caller.as_ref())))
}

fn members(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let team = state.find_team(request.arg(0))?;
    Ok(Reply::lines(state.team_members(team)))
}

fn arenas(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let state = request.state();
    let team = &state.find_team(request.arg(0))?.id;
    let arenas = state.arenas.iter().rev();
    let lines = arenas
        .filter(|arena| arena.is_for_team(team))
        .take(request.number("max", MAX_LINES, MAX_LINES))
        .map(|arena| wire::json(&state.listed(arena, now)));
    Ok(Reply::lines(lines))
}

fn join(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let (password, message) = (
        request.params.get("password"),
        request.params.get("message"),
    );
    let mut state = request.state();
    state.join_team(request.me()?, request.arg(0), password, message, now)?;
    Ok(Reply::ok())
}

fn quit(request: &ApiRequest<'_>) -> ApiResult {
    request.state().quit_team(request.me()?, request.arg(0))?;
    Ok(Reply::ok())
}

/// There are no Swiss tournaments in the simulator, and bots may not join any.
fn enter_swiss(request: &ApiRequest<'_>) -> ApiResult {
    if request.state().user(request.me()?).bot {
        return Err(ApiError::not_for_bots());
    }
    Err(ApiError::not_found())
}
