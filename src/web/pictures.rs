//! Single games as JSON, as PGN and as SVG pictures, from memory or from the records.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::AppState;
use super::convert::to_record;
use super::history::PGN;
use super::live_game::LiveGame;
use super::records::{ApiError, NO_GAME, Params};
use crate::chess::Color;
use crate::draw::{Animation, Board, Graph};
use crate::store::{Details, pgn_of};

/// The game with this id.
async fn find(state: &AppState, id: &str) -> Result<LiveGame, ApiError> {
    match state.feed.live_game(id) {
        Some(live) => Ok(live),
        None if state.records.are_available() => state.records.game(id.to_owned()).await,
        None => Err(NO_GAME),
    }
}

/// `GET /api/game/ID`.
pub(super) async fn game(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let live = find(&state, &id).await?;
    Ok(Json(live.view).into_response())
}

/// `GET /game/ID/game.pgn`.
pub(super) async fn pgn(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let text = match state.feed.live_game(&id) {
        Some(live) => {
            let server = live.view.url.strip_suffix(&*id).unwrap_or_default();
            pgn_of(&to_record(&live), server, Details::ALL)
        }
        None if state.records.are_available() => state.records.game_pgn(id).await?,
        None => return Err(NO_GAME),
    };
    Ok(([(CONTENT_TYPE, PGN)], text).into_response())
}

/// Query parameters of a picture of the board.
#[derive(Debug, Deserialize)]
pub(super) struct BoardParams {
    ply: Option<usize>,
}

/// `GET /game/ID.svg`: the board, from our side.
pub(super) async fn board(
    State(state): State<AppState>,
    Path(name): Path<String>,
    Params(params): Params<BoardParams>,
) -> Result<Response, ApiError> {
    let id = name.strip_suffix(".svg").ok_or(NO_GAME)?;
    let live = find(&state, id).await?;
    let mut game = live.board().clone();
    let plies = game.moves().len();
    let ply = params.ply.unwrap_or(plies);
    if ply > plies {
        return Err(ApiError::BadRequest(format!(
            "ply={ply}: the game has {plies}"
        )));
    }
    game.truncate(ply);
    let board = Board {
        position: game.position(),
        orientation: live.orientation(),
        last: game.moves().last().copied(),
    };
    Ok(svg(board.svg()))
}

/// `GET /game/ID/graph.svg`: win probabilities and times.
pub(super) async fn graph(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let live = find(&state, &id).await?;
    let for_white = |win: f64| match live.ours {
        Color::White => win,
        Color::Black => 1.0 - win,
    };
    let moves = &live.view.moves;
    let win = |search: &super::wire::SearchInfo| search.win.map(for_white);
    let wins: Vec<_> = moves
        .iter()
        .map(|mv| mv.thought.as_ref().and_then(win))
        .collect();
    let times: Vec<_> = moves.iter().map(|mv| mv.spent_ms).collect();
    let graph = Graph {
        names: [&live.view.white.name, &live.view.black.name],
        wins: &wins,
        times: &times,
        first: live.board().initial().turn(),
    };
    Ok(svg(graph.svg()))
}

/// `GET /game/ID/animated.svg`: an animation of the game.
pub(super) async fn animation(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let live = find(&state, &id).await?;
    let result = live.view.result.as_ref();
    let animation = Animation {
        game: live.board(),
        orientation: live.orientation(),
        names: [&live.view.white.name, &live.view.black.name],
        result: result.map_or("", |ending| &ending.score),
    };
    Ok(svg(animation.svg()))
}

fn svg(text: String) -> Response {
    ([(CONTENT_TYPE, "image/svg+xml")], text).into_response()
}
