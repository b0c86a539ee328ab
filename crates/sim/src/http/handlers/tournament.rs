//! Handlers for arenas.

use super::public::pgn_reply;
use crate::arena::Arena;
use crate::arena::entry::JoinRequest;
use crate::http::arena_form::arena_form;
use crate::http::request::{ApiRequest, ApiResult, NDJSON_TYPE, Reply};
use crate::http::route::{NO_TOKEN, Route, Scopes, routes};
use crate::round::Round;
use crate::site::limits::ARENA_JOINS;
use crate::site::{ApiError, ArenaId, SimTime, SiteState, UserId};
use crate::view::{arena as view, export};
use crate::wire;

/// Maximum number of lines of a list.
const MAX_LINES: usize = 10_000;

const ENTER: Scopes = Some(&["tournament:write", "bot:play"]);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/api/tournament" ArenaList, NO_TOKEN => list;
        POST "/api/tournament" ArenaCreate, Some(&["tournament:write"]) => create;
        GET "/api/tournament/{arena}" ArenaShow, NO_TOKEN => show;
        POST "/api/tournament/{arena}/join" ArenaJoin, ENTER => join;
        POST "/api/tournament/{arena}/withdraw" ArenaWithdraw, ENTER => withdraw;
        GET "/api/tournament/{arena}/results" ArenaResults, NO_TOKEN => results;
        GET "/api/tournament/{arena}/games" ArenaGames, NO_TOKEN => games;
        GET "/api/tournament/{arena}/teams" ArenaTeams, NO_TOKEN => teams;
        GET "/api/user/{name}/tournament/created" ArenasOfUser, NO_TOKEN => created_by;
        GET "/api/user/{name}/tournament/played" ArenasOfUser, NO_TOKEN => played_by;
    }
}

fn arena_id(request: &ApiRequest<'_>) -> Result<ArenaId, ApiError> {
    ArenaId::parse(request.arg(0)).ok_or_else(ApiError::not_found)
}

fn arena_of<'a>(request: &ApiRequest<'_>, state: &'a SiteState) -> Result<&'a Arena, ApiError> {
    state.arenas.find(arena_id(request)?)
}

fn list(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    Ok(Reply::json(&view::arena_lists(&request.state(), now)))
}

fn create(request: &ApiRequest<'_>) -> ApiResult {
    let me = request.me()?;
    let now = request.now();
    let mut state = request.state();
    if state.users.get(me).bot {
        return Err(ApiError::new(404, "This account cannot create tournaments"));
    }
    let name = state.users.get(me).name.clone();
    let leads = |team: &str| {
        state
            .teams
            .find(team)
            .is_ok_and(|team| team.leader.as_ref() == Some(me))
    };
    let options = arena_form(&request.params, &name, leads, now)?;
    let id = state
        .add_arena(&options, now)
        .map_err(ApiError::bad_request)?;
    let arena = state.arenas.find(id)?;
    Ok(shown(&state, request, Some(me), arena, now))
}

fn show(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let state = request.state();
    let arena = arena_of(request, &state)?;
    let me = request.optional_caller(&state);
    Ok(shown(&state, request, me.as_ref(), arena, now))
}

fn shown(
    state: &SiteState,
    request: &ApiRequest<'_>,
    me: Option<&UserId>,
    arena: &Arena,
    now: SimTime,
) -> Reply {
    let page = request
        .params
        .get("page")
        .and_then(|page| page.parse().ok());
    Reply::json(&view::arena_json(state, arena, page, me, now))
}

fn join(request: &ApiRequest<'_>) -> ApiResult {
    let me = request.me()?;
    request.charge(&[ARENA_JOINS], me.as_str(), 1)?;
    let text = |name| request.params.get(name).map(str::to_owned);
    let entry = JoinRequest {
        password: text("password"),
        team: text("team"),
        pair_me_asap: request.params.is_true("pairMeAsap"),
    };
    let now = request.now();
    request
        .state()
        .join_arena(me, arena_id(request)?, &entry, now)?;
    Ok(Reply::ok())
}

fn withdraw(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    request
        .state()
        .arenas
        .leave(request.me()?, arena_id(request)?, now)?;
    Ok(Reply::ok())
}

fn results(request: &ApiRequest<'_>) -> ApiResult {
    let nb = request.number("nb", MAX_LINES, MAX_LINES);
    let sheet = request.params.is_true("sheet");
    let state = request.state();
    let arena = arena_of(request, &state)?;
    Ok(Reply::lines(view::arena_results(&state, arena, nb, sheet)))
}

fn teams(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let standing = view::team_standing(&state, arena_of(request, &state)?);
    Ok(Reply::json(&standing.ok_or_else(ApiError::not_found)?))
}

/// All games that are still stored, or those of one player.
fn games(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let player = request.params.get("player").map(UserId::of);
    let of_player = |round: &&Round| {
        player
            .as_ref()
            .is_none_or(|player| round.color_of(player).is_some())
    };
    let ids = arena_of(request, &state)?.all_games();
    let rounds = ids.iter().filter_map(|id| state.rounds.get(*id));
    let rounds = rounds.filter(of_player);
    let base = &state.base_url;
    if request.accepts(NDJSON_TYPE) {
        let games = rounds.map(|round| export::game_json(round, &request.params, base));
        return Ok(Reply::lines(games.map(|game| wire::json(&game))));
    }
    let games = rounds.map(|round| export::pgn(round, &request.params, base) + "\n\n");
    Ok(pgn_reply(games.collect()))
}

fn created_by(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let state = request.state();
    let user = state.users.find(request.arg(0))?.id.clone();
    let arenas = state.arenas.iter().rev();
    let mine = arenas.filter(|arena| arena.created_by.as_ref() == Some(&user));
    let is_requested = |arena: &&Arena| match request.params.get("status") {
        None => true,
        Some(status) => status.parse() == Ok(arena.status.id()),
    };
    let nb = request.number("nb", MAX_LINES, MAX_LINES);
    let lines = mine.filter(is_requested).take(nb);
    Ok(Reply::lines(lines.map(|arena| {
        wire::json(&view::listed(&state, arena, now))
    })))
}

fn played_by(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let state = request.state();
    let user = state.users.find(request.arg(0))?.id.clone();
    let played = view::arenas_played(&state, &user, now);
    let nb = request.number("nb", MAX_LINES, MAX_LINES);
    Ok(Reply::lines(played.iter().take(nb).map(wire::json)))
}
