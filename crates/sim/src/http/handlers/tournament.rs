//! Handlers for arenas.

use super::{ApiRequest, ApiResult, NDJSON, Reply, team};
use crate::Sim;
use crate::arena::{Arena, JoinRequest, arena_form};
use crate::http::error::ApiError;
use crate::http::limits::ARENA_JOINS;
use crate::http::route::tournament::{ArenaAction, TournamentRoute};
use crate::round::Round;
use crate::round::export;
use crate::site::id::{ArenaId, UserId};
use crate::site::state::SiteState;
use crate::site::time::SimTime;
use crate::wire;

/// Maximum number of lines of a list.
const MAX_LINES: usize = 10_000;

/// `me` is set whenever the endpoint needs a token.
pub(super) fn handle(
    sim: &Sim,
    request: &ApiRequest<'_>,
    me: Option<&UserId>,
    route: TournamentRoute<'_>,
) -> ApiResult {
    match (route, me) {
        (TournamentRoute::ArenaList, _) => Ok(list(sim)),
        (TournamentRoute::ArenaCreate, Some(me)) => create(sim, request, me),
        (TournamentRoute::Arena(id, action), _) => act(sim, request, me, id, action),
        (TournamentRoute::ArenasCreatedBy(name), _) => created_by(sim, request, name),
        (TournamentRoute::ArenasPlayedBy(name), _) => played_by(sim, request, name),
        (TournamentRoute::Team(id, action), _) => team::handle(sim, request, me, id, action),
        (TournamentRoute::TeamsOf(name), _) => team::of_user(sim, request, name),
        (TournamentRoute::SwissShow, _) => Err(ApiError::not_found()),
        (TournamentRoute::SwissEnter, Some(me)) => team::swiss(sim, me),
        (TournamentRoute::ArenaCreate | TournamentRoute::SwissEnter, None) => {
            Err(ApiError::unknown_path())
        }
    }
}

fn list(sim: &Sim) -> Reply {
    let now = sim.time().now();
    Reply::json(&sim.state().arena_lists(now))
}

fn create(sim: &Sim, request: &ApiRequest<'_>, me: &UserId) -> ApiResult {
    let now = sim.time().now();
    let mut state = sim.state();
    if state.user(me).bot {
        return Err(ApiError::new(404, "This account cannot create tournaments"));
    }
    let name = state.user(me).name.clone();
    let leads = |team: &str| {
        state
            .find_team(team)
            .is_ok_and(|team| team.leader.as_ref() == Some(me))
    };
    let options = arena_form(&request.params, &name, leads, now)?;
    let id = state
        .add_arena(&options, now)
        .map_err(ApiError::bad_request)?;
    shown(&state, request, Some(me), id, now)
}

fn shown(
    state: &SiteState,
    request: &ApiRequest<'_>,
    me: Option<&UserId>,
    id: ArenaId,
    now: SimTime,
) -> ApiResult {
    let arena = state.arenas.get(id).ok_or_else(ApiError::not_found)?;
    let page = request
        .params
        .get("page")
        .and_then(|page| page.parse().ok());
    Ok(Reply::json(&state.arena_json(arena, page, me, now)))
}

fn act(
    sim: &Sim,
    request: &ApiRequest<'_>,
    me: Option<&UserId>,
    id: ArenaId,
    route: ArenaAction,
) -> ApiResult {
    let now = sim.time().now();
    let mut state = sim.state();
    if let (ArenaAction::Join | ArenaAction::Withdraw, Some(me)) = (route, me) {
        if route == ArenaAction::Withdraw {
            state.leave_arena(me, id, now)?;
        } else {
            state.limits.charge(&ARENA_JOINS, me.as_str(), 1, now)?;
            state.join_arena(me, id, &entry(request), now)?;
        }
        return Ok(Reply::ok());
    }
    let arena = state.arenas.get(id).ok_or_else(ApiError::not_found)?;
    match route {
        ArenaAction::Show => shown(
            &state,
            request,
            request.optional_caller(&state).as_ref(),
            id,
            now,
        ),
        ArenaAction::Results => {
            let nb = request.number("nb", MAX_LINES, MAX_LINES);
            let sheet = request.params.is_true("sheet");
            Ok(Reply::lines(state.arena_results(arena, nb, sheet)))
        }
        ArenaAction::Games => Ok(games(&state, request, arena)),
        ArenaAction::Teams => state
            .team_standing(arena)
            .map(|standing| Reply::json(&standing))
            .ok_or_else(ApiError::not_found),
        ArenaAction::Join | ArenaAction::Withdraw => Err(ApiError::unknown_path()),
    }
}

fn entry(request: &ApiRequest<'_>) -> JoinRequest {
    let text = |name| request.params.get(name).map(str::to_owned);
    JoinRequest {
        password: text("password"),
        team: text("team"),
        pair_me_asap: request.params.is_true("pairMeAsap"),
    }
}

/// All games that are still stored, or those of one player.
fn games(state: &SiteState, request: &ApiRequest<'_>, arena: &Arena) -> Reply {
    let player = request.params.get("player").map(UserId::of);
    let of_player = |round: &&Round| {
        player
            .as_ref()
            .is_none_or(|player| round.color_of(player).is_some())
    };
    let ids = arena.all_games();
    let rounds = ids.iter().filter_map(|id| state.rounds.get(id));
    let rounds = rounds.filter(of_player);
    if request.accepts(NDJSON) {
        return Reply::lines(
            rounds.map(|round| {
                wire::json(&export::game_json(round, &request.params, &state.base_url))
            }),
        );
    }
    let games = rounds.map(|round| export::pgn(round, &request.params, &state.base_url) + "\n\n");
    Reply::Text {
        kind: "application/x-chess-pgn",
        text: games.collect(),
    }
}

fn created_by(sim: &Sim, request: &ApiRequest<'_>, name: &str) -> ApiResult {
    let now = sim.time().now();
    let state = sim.state();
    let user = state.find_user(name)?.id.clone();
    let arenas = state.arenas.iter().rev();
    let mine = arenas.filter(|arena| arena.created_by.as_ref() == Some(&user));
    let asked_for = |arena: &&Arena| match request.params.get("status") {
        None => true,
        Some(status) => status.parse() == Ok(arena.status.id()),
    };
    let nb = request.number("nb", MAX_LINES, MAX_LINES);
    let lines = mine.filter(asked_for).take(nb);
    Ok(Reply::lines(
        lines.map(|arena| wire::json(&state.listed(arena, now))),
    ))
}

fn played_by(sim: &Sim, request: &ApiRequest<'_>, name: &str) -> ApiResult {
    let now = sim.time().now();
    let state = sim.state();
    let user = state.find_user(name)?.id.clone();
    let played = state.arenas_played(&user, now);
    let nb = request.number("nb", MAX_LINES, MAX_LINES);
    Ok(Reply::lines(played.iter().take(nb).map(wire::json)))
}
