//! Engines without a protocol: one JSON object in for each move, one line with the move out.

use std::collections::BTreeMap;

use knightwatch_chess::{CastlingNotation, Game, Move};
use serde::Serialize;

use super::answer::{Answer, Best, parse_move};
use super::channel::{Channel, Deadlines, EngineError, SearchCommands};
use super::go::{Go, ms};
use super::info::Info;

const COMMANDS: SearchCommands = SearchCommands {
    stop: None,
    ponderhit: "",
};

/// Request for a move.
#[derive(Serialize)]
struct Request<'a> {
    /// The position.
    fen: String,
    /// `white` or `black`: the side to move.
    color: &'static str,
    /// Moves that may be played, in UCI notation.
    legal: Vec<String>,
    /// The position before the first move.
    initial_fen: String,
    /// Moves so far, in UCI notation.
    moves: Vec<String>,
    /// Lichess's key of the variant.
    variant: &'static str,
    chess960: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    increment_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    movetime_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u64>,
    options: &'a BTreeMap<String, String>,
}

/// Runs a search.
pub(crate) fn think(
    channel: &mut Channel,
    options: &BTreeMap<String, String>,
    game: &Game,
    go: &Go,
    deadlines: Deadlines,
    best: &mut Best<'_>,
) -> Result<Answer, EngineError> {
    let position = game.position();
    let notation = game.initial().castling_notation();
    let list = |moves: &[Move]| {
        moves
            .iter()
            .map(|mv| mv.uci(notation).to_string())
            .collect()
    };
    let legal = match go.search_moves.is_empty() {
        true => list(&position.legal_moves()),
        false => list(&go.search_moves),
    };
    let request = Request {
        fen: position.fen(),
        color: position.turn().key(),
        legal,
        initial_fen: game.initial().fen(),
        moves: list(game.moves()),
        variant: position.variant().key(),
        chess960: notation == CastlingNotation::KingTakesRook,
        clock_ms: go.clock.map(|clock| ms(clock.of(position.turn()))),
        increment_ms: go.clock.map(|clock| clock.increment.as_millis() as u64),
        movetime_ms: go.movetime.map(ms),
        depth: go.depth,
        nodes: go.nodes,
        options,
    };
    // Maps with text keys are always valid JSON.
    channel.send(&serde_json::to_string(&request).unwrap_or_default())?;
    let name = channel.name.clone();
    channel.answer(Some(deadlines), COMMANDS, |line| {
        if let Some(info) = Info::parse(line, position) {
            best.heard(info);
            return Ok(None);
        }
        if best.heard_message(line) {
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
