//! Games as pictures and as they are shown, whether they are on, were over not long ago, or are in the records.

use axum::Json;
use axum::extract::{Path, Query, State as Shared};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::House;
use super::records::Refusal;
use super::table::Table;
use crate::chess::Color;
use crate::draw::{Animation, Board, Graph};

const NO_GAME: Refusal = Refusal::Missing("there is no such game");

/// The game with this id.
async fn find(house: &House, id: &str) -> Result<Table, Refusal> {
    let known = house.feed.table(id);
    match known {
        Some(table) => Ok(table),
        None if house.records.are_kept() => house.records.game(id.to_owned()).await,
        None => Err(NO_GAME),
    }
}

/// A game as the page shows it.
pub(super) async fn game(
    Shared(house): Shared<House>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let table = find(&house, &id).await?;
    Ok(Json(table.shown).into_response())
}

/// Which board of the game.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    ply: Option<usize>,
}

/// `/game/ID.svg`: the board, from our side.
pub(super) async fn board(
    Shared(house): Shared<House>,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Result<Response, Refusal> {
    let id = name.strip_suffix(".svg").ok_or(NO_GAME)?;
    let table = find(&house, id).await?;
    let mut game = table.board().clone();
    let plies = game.moves().len();
    let ply = which.ply.unwrap_or(plies);
    if ply > plies {
        return Err(Refusal::Wrong(format!("ply={ply}: the game has {plies}")));
    }
    game.truncate(ply);
    let board = Board {
        position: game.position(),
        orientation: table.ours,
        last: game.moves().last().copied(),
    };
    Ok(svg(board.svg()))
}

/// `/game/ID/graph.svg`: chances and times.
pub(super) async fn graph(
    Shared(house): Shared<House>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let table = find(&house, &id).await?;
    let for_white = |win: f64| match table.ours {
        Color::White => win,
        Color::Black => 1.0 - win,
    };
    let moves = &table.shown.moves;
    let chance = |thought: &super::wire::Report| thought.win.map(for_white);
    let chances: Vec<_> = moves
        .iter()
        .map(|mv| mv.thought.as_ref().and_then(chance))
        .collect();
    let times: Vec<_> = moves.iter().map(|mv| mv.spent_ms).collect();
    let graph = Graph {
        names: [&table.shown.white.name, &table.shown.black.name],
        chances: &chances,
        times: &times,
        first: table.board().initial().turn(),
    };
    Ok(svg(graph.svg()))
}

/// `/game/ID/animated.svg`: all of it.
pub(super) async fn film(
    Shared(house): Shared<House>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let table = find(&house, &id).await?;
    let result = table.shown.result.as_ref();
    let film = Animation {
        game: table.board(),
        orientation: table.ours,
        names: [&table.shown.white.name, &table.shown.black.name],
        result: result.map_or("", |ending| &ending.score),
    };
    Ok(svg(film.svg()))
}

fn svg(text: String) -> Response {
    ([(CONTENT_TYPE, "image/svg+xml")], text).into_response()
}
