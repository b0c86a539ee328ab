//! Engines without a protocol: one JSON object in for each move, one line with the move out.

use std::collections::BTreeMap;

use knightwatch_chess::{CastlingNotation, Game, Move};
use serde_json::json;

use super::answer::{Answer, Best, parse_move};
use super::channel::{Channel, Deadlines, EngineError, SearchCommands};
use super::go::{Go, ms};
use super::info::Info;
use super::uci::is_word;

const COMMANDS: SearchCommands = SearchCommands {
    stop: None,
    ponderhit: "",
};

/// Runs a search.
pub(crate) fn search(
    channel: &mut Channel,
    options: &BTreeMap<String, String>,
    game: &Game,
    go: &Go,
    deadlines: Deadlines,
    best: &mut Best<'_>,
) -> Result<Answer, EngineError> {
    let position = game.position();
    let notation = game.initial().castling_notation();
    let list = |moves: &[Move]| -> Vec<String> {
        let moves = moves.iter();
        moves.map(|mv| mv.uci(notation).to_string()).collect()
    };
    let legal = match go.search_moves.is_empty() {
        true => list(&position.legal_moves()),
        false => list(&go.search_moves),
    };
    let mut request = json!({
        "fen": position.fen(),
        "color": position.turn().key(),
        "legal": legal,
        "initial_fen": game.initial().fen(),
        "moves": list(game.moves()),
        "variant": position.variant().key(),
        "chess960": notation == CastlingNotation::KingTakesRook,
        "clock_ms": go.clock.map(|clock| ms(clock.of(position.turn()))),
        "increment_ms": go.clock.map(|clock| clock.increment.as_millis() as u64),
        "movetime_ms": go.movetime.map(ms),
        "depth": go.depth,
        "nodes": go.nodes,
        "options": options,
    });
    // Limits that are not set have no key.
    if let Some(keys) = request.as_object_mut() {
        keys.retain(|_, value| !value.is_null());
    }
    channel.send(&request.to_string())?;
    let name = channel.name.clone();
    channel.answer(Some(deadlines), COMMANDS, |line| {
        if let Some(info) = Info::parse(line, position) {
            best.add_info(info);
            return Ok(None);
        }
        if is_word(line, "info").is_some() {
            best.add_message(line);
            return Ok(None);
        }
        let mv = parse_move(position, line.trim());
        let mv = mv.map_err(|source| EngineError::illegal(&name, game, line, source))?;
        Ok(Some(Answer {
            mv,
            ponder: None,
            info: best.take(),
        }))
    })
}
