//! Stubs of the opening explorer, the tablebase and cloud evaluations, which answer without data.

use serde_json::{Value, json};

use crate::http::request::{ApiRequest, ApiResult, Reply};
use crate::http::route::{ANY_TOKEN, NO_TOKEN, Route, routes};
use crate::site::ApiError;
use crate::site::limits::CLOUD_EVALS;
use crate::wire;
use knightwatch_chess::pgn::Outcome;
use knightwatch_chess::{CastlingNotation, Position, Variant};

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/masters" Explorer, ANY_TOKEN => |_| Ok(Reply::json(&no_games(&["topGames"])));
        GET "/lichess" Explorer, ANY_TOKEN => |_| Ok(Reply::json(&no_games(&["topGames", "recentGames"])));
        GET "/player" Explorer, ANY_TOKEN => |_| Ok(Reply::lines([wire::json(&no_games(&["recentGames"]))]));
        GET "/standard" Tablebase, NO_TOKEN => |request| tablebase(request, Variant::Standard);
        GET "/atomic" Tablebase, NO_TOKEN => |request| tablebase(request, Variant::Atomic);
        GET "/antichess" Tablebase, NO_TOKEN => |request| tablebase(request, Variant::Antichess);
        GET "/api/cloud-eval" CloudEval, NO_TOKEN => cloud_eval;
    }
}

fn cloud_eval(request: &ApiRequest<'_>) -> ApiResult {
    request.charge(&[CLOUD_EVALS], &request.address, 1)?;
    Err(ApiError::new(
        404,
        "No cloud evaluation available for that position",
    ))
}

/// Explorer response with empty lists of games.
fn no_games(lists: &[&str]) -> Value {
    let mut answer = json!({ "white": 0, "draws": 0, "black": 0, "moves": [], "opening": null });
    for list in lists {
        answer[list] = json!([]);
    }
    answer
}

/// Tablebase response with what follows from the rules alone; everything else is unknown.
fn tablebase(request: &ApiRequest<'_>, variant: Variant) -> ApiResult {
    let fen = request
        .params
        .get("fen")
        .unwrap_or_default()
        .replace('_', " ");
    let position = Position::from_variant_fen(variant, &fen)
        .map_err(|error| ApiError::bad_request(format!("Invalid FEN: {error}")))?;
    let moves = position.legal_moves();
    let shown: Vec<_> = moves
        .iter()
        .map(|mv| {
            let mut answer = entry(&position.after(*mv));
            answer["uci"] = json!(mv.uci(CastlingNotation::KingTakesRook).to_string());
            answer["san"] = json!(position.san(*mv));
            answer["zeroing"] = json!(mv.is_capture() || is_pawn_move(&position, mv.from()));
            answer
        })
        .collect();
    let mut answer = entry(&position);
    answer["moves"] = json!(shown);
    Ok(Reply::json(&answer))
}

fn is_pawn_move(position: &Position, from: knightwatch_chess::Square) -> bool {
    let piece = position.piece_at(from);
    piece.is_some_and(|piece| piece.role == knightwatch_chess::Role::Pawn)
}

fn entry(position: &Position) -> Value {
    let (checkmate, stalemate) = (position.is_checkmate(), position.is_stalemate());
    let insufficient = position.insufficient_material();
    let (won, lost) = match position.variant_outcome() {
        Outcome::Win(winner) => (winner == position.turn(), winner != position.turn()),
        Outcome::Draw | Outcome::Unknown => (false, false),
    };
    let category = if checkmate || lost {
        "loss"
    } else if won {
        "win"
    } else if stalemate || insufficient {
        "draw"
    } else {
        "unknown"
    };
    let zero = (category != "unknown").then_some(0);
    json!({
        "category": category, "dtz": zero, "precise_dtz": zero, "dtc": null, "dtm": null, "dtw": null,
        "checkmate": checkmate, "stalemate": stalemate, "variant_win": won, "variant_loss": lost,
        "insufficient_material": insufficient,
    })
}
