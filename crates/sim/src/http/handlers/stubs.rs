//! Stubs of the opening explorer and the tablebase, which answer without data.

use serde_json::json;

use super::{ApiResult, NDJSON, Reply};
use crate::http::error::ApiError;
use crate::http::params::Params;
use crate::wire;
use knightwatch_chess::{CastlingNotation, Position};

/// Explorer response without games.
pub(super) fn explorer(kind: &str) -> Reply {
    let empty = json!({ "white": 0, "draws": 0, "black": 0, "moves": [], "opening": null });
    let with = |lists: &[&str]| {
        let mut answer = empty.clone();
        for list in lists {
            answer[list] = json!([]);
        }
        answer
    };
    match kind {
        "masters" => Reply::json(&with(&["topGames"])),
        "player" => Reply::Text {
            kind: NDJSON,
            text: wire::json(&with(&["recentGames"])) + "\n",
        },
        _ => Reply::json(&with(&["topGames", "recentGames"])),
    }
}

/// Tablebase response with what follows from the rules alone; everything else is unknown.
pub(super) fn tablebase(params: &Params) -> ApiResult {
    let fen = params.get("fen").unwrap_or_default().replace('_', " ");
    let position = Position::from_fen(&fen)
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

fn entry(position: &Position) -> serde_json::Value {
    let stuck = !position.has_legal_move();
    let checkmate = stuck && position.in_check();
    let stalemate = stuck && !checkmate;
    let insufficient = position.insufficient_material();
    let category = if checkmate {
        "loss"
    } else if stalemate || insufficient {
        "draw"
    } else {
        "unknown"
    };
    let zero = (category != "unknown").then_some(0);
    json!({
        "category": category, "dtz": zero, "precise_dtz": zero, "dtc": null, "dtm": null, "dtw": null,
        "checkmate": checkmate, "stalemate": stalemate, "variant_win": false, "variant_loss": false,
        "insufficient_material": insufficient,
    })
}
