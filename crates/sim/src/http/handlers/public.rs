//! Handlers for public, read-only data.

use std::collections::HashSet;

use crate::http::game_filter::GameFilter;
use crate::http::params::Params;
use crate::http::request::{ApiRequest, ApiResult, NDJSON_TYPE, Reply};
use crate::http::route::{NO_TOKEN, Route, routes};
use crate::round::Round;
use crate::round::chat::Room;
use crate::round::spectators::WatchedGames;
use crate::site::limits::{CROSSTABLES, GAME_EXPORTS, PROFILE_READS, WATCHED_GAMES, WATCHED_LISTS};
use crate::site::{ApiError, Feed, GameId, Topic, UserId};
use crate::view::export;
use crate::view::game::chat_log;
use crate::view::user::{self, user_json};
use crate::wire;

/// Maximum number of ids in a request.
const MAX_IDS: usize = 300;

pub(super) fn routes() -> Vec<Route> {
    routes! {
        POST "/api/users" Users, NO_TOKEN => users;
        GET "/api/crosstable/{name}/{other}" Crosstable, NO_TOKEN => crosstable;
        GET "/game/export/{game}" Export, NO_TOKEN => export_game;
        GET "/api/user/{name}/current-game" Games, NO_TOKEN => current_game;
        GET "/api/games/user/{name}" Games, NO_TOKEN => games_of_user, limited(GAME_EXPORTS);
        POST "/api/games/export/_ids" Games, NO_TOKEN => games_by_ids, limited(GAME_EXPORTS);
        GET "/api/game/{name}/chat" SpectatorChat, NO_TOKEN => spectator_chat;
        GET "/api/stream/game/{name}" GamesStream, NO_TOKEN => stream_game;
        POST "/api/stream/games-by-users" GamesStream, NO_TOKEN => stream_users;
        POST "/api/stream/games/{stream}" GamesStream, NO_TOKEN => stream_ids;
        POST "/api/stream/games/{stream}/add" GamesStream, NO_TOKEN => add_ids;
    }
}

fn users(request: &ApiRequest<'_>) -> ApiResult {
    let cost = request.item_count().div_ceil(4);
    request.charge(&PROFILE_READS, &request.address, cost)?;
    let state = request.state();
    let users = request.ids(MAX_IDS);
    let users = users.iter().filter_map(|id| state.users.by_name(id));
    let users: Vec<_> = users.map(user_json).collect();
    Ok(Reply::json(&users))
}

fn crosstable(request: &ApiRequest<'_>) -> ApiResult {
    request.charge(&[CROSSTABLES], &request.address, 1)?;
    let now = request.now();
    let state = request.state();
    let users = [
        state.users.find(request.arg(0))?,
        state.users.find(request.arg(1))?,
    ];
    let meet = users[0]
        .playing
        .iter()
        .any(|id| users[1].playing.contains(id));
    let with_match = meet && request.params.is_true("matchup");
    let users = users.map(|user| user.id.clone());
    let (all, current) = state.crosstables.scores(&users, now);
    let current = current.filter(|_| with_match);
    Ok(Reply::json(&user::crosstable(&users, all, current)))
}

fn export_game(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let round = state.rounds.find(request.game_id()?)?;
    Ok(game_reply(round, request, &state.base_url))
}

/// The game the user is playing, or their last one.
fn current_game(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let user = state.users.find(request.arg(0))?.id.clone();
    let round = state
        .rounds
        .latest_of(&user)
        .ok_or_else(ApiError::not_found)?;
    Ok(game_reply(round, request, &state.base_url))
}

fn games_of_user(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let user = state.users.find(request.arg(0))?.id.clone();
    let filter = GameFilter::read(&request.params, user);
    Ok(games_reply(
        &filter.apply(&state.rounds),
        request,
        &state.base_url,
    ))
}

fn games_by_ids(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let ids = request.ids(MAX_IDS);
    let rounds: Vec<&Round> = ids
        .iter()
        .filter_map(|id| state.rounds.get(GameId::parse_any(id)?))
        .collect();
    Ok(games_reply(&rounds, request, &state.base_url))
}

fn spectator_chat(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let id = GameId::parse_any(request.arg(0)).ok_or_else(ApiError::not_found)?;
    let round = state.rounds.find(id)?;
    Ok(Reply::json(&chat_log(round, Room::Spectator)))
}

fn stream_game(request: &ApiRequest<'_>) -> ApiResult {
    if request.is_head {
        return Ok(Reply::unopened_stream());
    }
    let mut state = request.state();
    let permit = state.limits.acquire(WATCHED_GAMES, &request.address)?;
    let feed = state.watch_game(GameId::parse_any(request.arg(0)), permit)?;
    Ok(spectator_stream(feed))
}

/// Streams starts and ends of the games between listed users.
fn stream_users(request: &ApiRequest<'_>) -> ApiResult {
    let mut state = request.state();
    let permit = state.limits.acquire(WATCHED_LISTS, &request.address)?;
    let users = request.ids(MAX_IDS);
    let users = WatchedGames::Users(users.iter().map(|id| UserId::of(id)).collect());
    let with_current = request.params.is_true("withCurrentGames");
    let feed = state.watch_games(users, None, with_current, permit);
    Ok(spectator_stream(feed))
}

/// Streams starts and ends of listed games. The id of the stream is chosen by the client; games can be added under it.
fn stream_ids(request: &ApiRequest<'_>) -> ApiResult {
    let mut state = request.state();
    let permit = state.limits.acquire(WATCHED_LISTS, &request.address)?;
    let games = WatchedGames::Games(game_ids(request));
    let name = request.arg(0).to_owned();
    let feed = state.watch_games(games, Some(name), true, permit);
    Ok(spectator_stream(feed))
}

fn add_ids(request: &ApiRequest<'_>) -> ApiResult {
    if request
        .state()
        .add_watched_games(request.arg(0), game_ids(request))
    {
        Ok(Reply::ok())
    } else {
        Err(ApiError::not_found())
    }
}

fn spectator_stream(feed: Feed) -> Reply {
    Reply::Stream {
        topic: Topic::Spectators,
        feed,
    }
}

fn game_ids(request: &ApiRequest<'_>) -> HashSet<GameId> {
    let ids = request.ids(MAX_IDS);
    ids.iter().filter_map(|id| GameId::parse_any(id)).collect()
}

/// One game: as JSON if the client accepts it, else as PGN.
fn game_reply(round: &Round, request: &ApiRequest<'_>, base: &str) -> Reply {
    if request.accepts("application/json") {
        return Reply::json(&export::game_json(round, &request.params, base));
    }
    pgn_reply(export::pgn(round, &request.params, base))
}

fn games_reply(rounds: &[&Round], request: &ApiRequest<'_>, base: &str) -> Reply {
    let params: &Params = &request.params;
    if request.accepts(NDJSON_TYPE) {
        let games = rounds
            .iter()
            .map(|round| export::game_json(round, params, base));
        return Reply::lines(games.map(|game| wire::json(&game)));
    }
    let games = rounds.iter().map(|round| export::pgn(round, params, base));
    pgn_reply(games.map(|pgn| pgn + "\n").collect())
}

pub(super) fn pgn_reply(text: String) -> Reply {
    Reply::Text {
        kind: "application/x-chess-pgn",
        text,
    }
}
