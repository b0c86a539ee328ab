//! Handlers for public, read-only data.

use std::collections::HashSet;

use super::{ApiRequest, ApiResult, NDJSON, Reply, stubs};
use crate::Sim;
use crate::http::error::ApiError;
use crate::http::limits::{WATCHED_GAMES, WATCHED_LISTS};
use crate::http::params::Params;
use crate::http::route::public::PublicRoute;
use crate::http::stream::{Feed, Topic};
use crate::round::Round;
use crate::round::chat::Room;
use crate::round::export;
use crate::round::filter::GameFilter;
use crate::round::spectators::WatchedGames;
use crate::site::id::{GameId, UserId};
use crate::wire;

/// Maximum number of ids in a request.
const MAX_IDS: usize = 300;

pub(super) fn handle(sim: &Sim, request: &ApiRequest<'_>, route: PublicRoute<'_>) -> ApiResult {
    let now = sim.time().now();
    let mut state = sim.state();
    match route {
        PublicRoute::Users => {
            let users = request.ids(MAX_IDS);
            let users = users.iter().filter_map(|id| state.user_by_name(id));
            Ok(Reply::json(
                &users.map(|user| user.json()).collect::<Vec<_>>(),
            ))
        }
        PublicRoute::Crosstable(one, other) => {
            let users = [state.find_user(one)?, state.find_user(other)?];
            let meet = users[0]
                .playing
                .iter()
                .any(|id| users[1].playing.contains(id));
            let with_match = meet && request.params.is_true("matchup");
            let users = users.map(|user| user.id.clone());
            Ok(Reply::json(
                &state.crosstables.table(&users, with_match, now),
            ))
        }
        PublicRoute::CurrentGame(name) => {
            let user = state.find_user(name)?.id.clone();
            let round = state.latest_round(&user).ok_or_else(ApiError::not_found)?;
            Ok(game_reply(round, request, &state.base_url))
        }
        PublicRoute::GamesOf(name) => {
            let user = state.find_user(name)?.id.clone();
            let filter = GameFilter::read(&request.params, user);
            Ok(games_reply(&filter.apply(&state), request, &state.base_url))
        }
        PublicRoute::GamesByIds => {
            let ids = request.ids(MAX_IDS);
            let rounds: Vec<&Round> = ids
                .iter()
                .filter_map(|id| state.rounds.get(&GameId::parse_any(id)?))
                .collect();
            Ok(games_reply(&rounds, request, &state.base_url))
        }
        PublicRoute::SpectatorChat(id) => {
            let id = GameId::parse_any(id).filter(|id| state.rounds.contains_key(id));
            let id = id.ok_or_else(ApiError::not_found)?;
            Ok(Reply::json(&state.chat_log(id, Room::Spectator)))
        }
        PublicRoute::CloudEval => Err(ApiError::new(
            404,
            "No cloud evaluation available for that position",
        )),
        PublicRoute::Explorer(kind) => Ok(stubs::explorer(kind)),
        PublicRoute::Tablebase => stubs::tablebase(&request.params),
        PublicRoute::StreamGame(id) => {
            let permit = state.limits.acquire(WATCHED_GAMES, &request.address)?;
            Ok(spectator_stream(
                state.watch_game(GameId::parse_any(id), permit)?,
            ))
        }
        PublicRoute::StreamUsers => {
            let permit = state.limits.acquire(WATCHED_LISTS, &request.address)?;
            let users = request
                .ids(MAX_IDS)
                .iter()
                .map(|id| UserId::of(id))
                .collect();
            let with_current = request.params.is_true("withCurrentGames");
            Ok(spectator_stream(state.watch_games(
                WatchedGames::Users(users),
                None,
                with_current,
                permit,
            )))
        }
        PublicRoute::StreamIds(name) => {
            let permit = state.limits.acquire(WATCHED_LISTS, &request.address)?;
            let games = WatchedGames::Games(game_ids(request));
            Ok(spectator_stream(state.watch_games(
                games,
                Some(name.to_owned()),
                true,
                permit,
            )))
        }
        PublicRoute::AddIds(name) if state.add_watched_games(name, game_ids(request)) => {
            Ok(Reply::ok())
        }
        PublicRoute::AddIds(_) => Err(ApiError::not_found()),
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
pub(super) fn game_reply(round: &Round, request: &ApiRequest<'_>, base: &str) -> Reply {
    if request.accepts("application/json") {
        return Reply::json(&export::game_json(round, &request.params, base));
    }
    pgn_reply(export::pgn(round, &request.params, base))
}

fn games_reply(rounds: &[&Round], request: &ApiRequest<'_>, base: &str) -> Reply {
    let params: &Params = &request.params;
    if request.accepts(NDJSON) {
        let games = rounds
            .iter()
            .map(|round| export::game_json(round, params, base));
        return Reply::Text {
            kind: NDJSON,
            text: games.map(|game| wire::json(&game) + "\n").collect(),
        };
    }
    let games = rounds.iter().map(|round| export::pgn(round, params, base));
    pgn_reply(games.map(|pgn| pgn + "\n").collect())
}

fn pgn_reply(text: String) -> Reply {
    Reply::Text {
        kind: "application/x-chess-pgn",
        text,
    }
}
