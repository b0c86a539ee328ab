//! Handlers for teams and Swiss tournaments.

use crate::arena::ArenaStatus;
use crate::http::request::{ApiRequest, ApiResult, Reply};
use crate::http::route::{NO_TOKEN, Route, Scopes, routes};
use crate::site::{ApiError, UserId};
use crate::view::arena::{creator, listed};
use crate::view::team::team_json;
use crate::{view, wire};

/// Maximum number of listed arenas of a team.
const MAX_LINES: usize = 100;

const MEMBERSHIP: Scopes = Some(&["team:write"]);
const LEADERSHIP: Scopes = Some(&["team:lead"]);
const SWISS: Scopes = Some(&["tournament:write"]);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/api/team/of/{name}" Team, NO_TOKEN => of_user;
        GET "/api/team/{team}" Team, NO_TOKEN => show;
        GET "/api/team/{team}/users" Team, NO_TOKEN => members;
        GET "/api/team/{team}/arena" Team, NO_TOKEN => arenas;
        GET "/api/team/{team}/swiss" Team, NO_TOKEN => swiss;
        POST "/api/team/{team}/request/{name}/accept" Team, LEADERSHIP => accept;
        POST "/team/{team}/join" TeamJoin, MEMBERSHIP => join;
        POST "/team/{team}/quit" TeamQuit, MEMBERSHIP => quit;
        GET "/api/swiss/{swiss}" Swiss, NO_TOKEN => |_| Err(ApiError::not_found());
        POST "/api/swiss/{swiss}/join" Swiss, SWISS => enter_swiss;
        POST "/api/swiss/{swiss}/withdraw" Swiss, SWISS => enter_swiss;
    }
}

fn of_user(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let user = state.users.find(request.arg(0))?.id.clone();
    let caller = request.optional_caller(&state);
    let teams: Vec<_> = state
        .teams
        .of(&user)
        .map(|team| team_json(&state, team, caller.as_ref()))
        .collect();
    Ok(Reply::json(&teams))
}

fn show(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let caller = request.optional_caller(&state);
    let team = state.teams.find(request.arg(0))?;
    Ok(Reply::json(&team_json(&state, team, caller.as_ref())))
}

fn members(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let team = state.teams.find(request.arg(0))?;
    Ok(Reply::lines(view::team::members(&state, team)))
}

/// The arenas of a team with the requested status, creator and exact name. An unknown status is ignored, as in lila.
fn arenas(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let state = request.state();
    let team = &state.teams.find(request.arg(0))?.id;
    let status = request.params.get("status");
    let status = status.and_then(ArenaStatus::from_key);
    let created_by = request.params.get("createdBy").map(UserId::of);
    let name = request.params.get("name");
    let arenas = state.arenas.iter().rev();
    let lines = arenas
        .filter(|arena| arena.is_for_team(team))
        .filter(|arena| status.is_none_or(|status| arena.status == status))
        .filter(|arena| {
            created_by
                .as_ref()
                .is_none_or(|user| creator(arena) == user.as_str())
        })
        .filter(|arena| name.is_none_or(|name| arena.config.name == name))
        .take(request.number("max", MAX_LINES, MAX_LINES))
        .map(|arena| wire::json(&listed(&state, arena, now)));
    Ok(Reply::lines(lines))
}

/// The simulator has no Swiss tournaments.
fn swiss(request: &ApiRequest<'_>) -> ApiResult {
    request.state().teams.find(request.arg(0))?;
    Ok(Reply::lines([]))
}

fn join(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let (password, message) = (
        request.params.get("password"),
        request.params.get("message"),
    );
    let mut state = request.state();
    let teams = &mut state.teams;
    teams.join(request.me()?, request.arg(0), password, message, now)?;
    Ok(Reply::ok())
}

fn accept(request: &ApiRequest<'_>) -> ApiResult {
    let (now, user) = (request.now(), UserId::of(request.arg(1)));
    let mut state = request.state();
    let teams = &mut state.teams;
    teams.accept(request.me()?, request.arg(0), &user, now)?;
    Ok(Reply::ok())
}

fn quit(request: &ApiRequest<'_>) -> ApiResult {
    request.state().quit_team(request.me()?, request.arg(0))?;
    Ok(Reply::ok())
}

/// There are no Swiss tournaments in the simulator, and bots may not join any.
fn enter_swiss(request: &ApiRequest<'_>) -> ApiResult {
    if request.state().users.get(request.me()?).bot {
        return Err(ApiError::not_for_bots());
    }
    Err(ApiError::not_found())
}
