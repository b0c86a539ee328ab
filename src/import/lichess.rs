//! Games as Lichess exports them: one JSON object per line.

use std::io::{self, BufRead, Read as _};

use serde::Deserialize;

use super::{MAX_PLIES, Read, name, uci_moves};
use crate::chess::{Color, Game, Position};
use crate::events::{GameStarted, Player, TimeControl};
use crate::input::skip_line;
use crate::lichess::model::Variant;
use crate::store::{ImportedGame, ImportedMove};

/// Upper limit of a line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportedGame {
    id: String,
    #[serde(default)]
    rated: bool,
    #[serde(default = "standard")]
    variant: String,
    #[serde(default)]
    speed: String,
    #[serde(default)]
    created_at: i64,
    last_move_at: Option<i64>,
    status: String,
    players: Players,
    initial_fen: Option<String>,
    winner: Option<String>,
    moves: Option<String>,
    #[serde(default)]
    clocks: Vec<i64>,
    clock: Option<Clock>,
    days_per_turn: Option<u32>,
    tournament: Option<String>,
}

#[derive(Deserialize)]
struct Players {
    white: Side,
    black: Side,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Side {
    user: Option<User>,
    rating: Option<u32>,
    #[serde(default)]
    provisional: bool,
    ai_level: Option<u32>,
}

#[derive(Deserialize)]
struct User {
    name: String,
    title: Option<String>,
}

#[derive(Deserialize)]
struct Clock {
    initial: u32,
    increment: u32,
}

fn standard() -> String {
    "standard".to_owned()
}

/// Reads all games and passes them to `each` until it returns false.
pub(super) fn read(text: &mut dyn BufRead, each: &mut dyn FnMut(Read) -> bool) -> io::Result<()> {
    let mut number = 0u64;
    loop {
        number += 1;
        let mut line = Vec::new();
        let limit = MAX_LINE_BYTES + 1;
        if (&mut *text).take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let is_long = line.len() as u64 >= limit && line.last() != Some(&b'\n');
        if is_long {
            skip_line(text)?;
        }
        let found = match line.trim_ascii() {
            [] => continue,
            _ if is_long => Err("the line is longer than 1 MiB".to_owned()),
            line => parse(line),
        };
        let found =
            found.unwrap_or_else(|problem| Read::Broken(format!("line {number}: {problem}")));
        if !each(found) {
            return Ok(());
        }
    }
}

/// Reads one line.
pub(super) fn parse(line: &[u8]) -> Result<Read, String> {
    let exported = serde_json::from_slice(line)
        .map_err(|error| format!("not a game as Lichess exports it: {error}"))?;
    game(exported)
}

fn game(exported: ExportedGame) -> Result<Read, String> {
    let ExportedGame { id, status, .. } = &exported;
    if id.len() != 8 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err("the id is not that of a game on Lichess".to_owned());
    }
    let variant = Variant::from_key(&exported.variant);
    let Some(rules) = variant.rules() else {
        return Ok(Read::Skipped("of variants that are not played"));
    };
    if status == "created" || status == "started" {
        return Ok(Read::Skipped("not finished"));
    }
    let initial = match &exported.initial_fen {
        Some(fen) => Position::from_variant_fen_lenient(rules, fen)
            .map_err(|error| format!("game {id}: initialFen: {error}"))?,
        None => rules.start(),
    };
    let Some(moves) = &exported.moves else {
        return Err(format!(
            "game {id}: there are no moves; export with moves=true"
        ));
    };
    let mut game = Game::new(initial);
    for san in moves.split_ascii_whitespace() {
        let position = game.position();
        let at = position.fullmove_number();
        let mv = position
            .parse_san(san)
            .map_err(|error| format!("game {id}, move {at}: {error}"))?;
        if game.moves().len() >= MAX_PLIES {
            return Err(format!("game {id}: more than {MAX_PLIES} plies"));
        }
        game.play(mv);
    }
    let winner = match exported.winner.as_deref() {
        Some("white") => Some(Color::White),
        Some("black") => Some(Color::Black),
        _ => None,
    };
    let result = match (winner, status.as_str()) {
        (Some(Color::White), _) => "1-0",
        (Some(Color::Black), _) => "0-1",
        (None, "aborted" | "noStart" | "unknownFinish") => "*",
        (None, _) => "1/2-1/2",
    };
    let clocks = exported
        .clocks
        .iter()
        .map(|clock| Some(clock.saturating_mul(10)));
    let clocks = clocks.chain(std::iter::repeat(None));
    let moves = uci_moves(&game).zip(clocks);
    let moves = moves.map(|(uci, clock)| ImportedMove {
        uci,
        clock,
        eval: None,
    });
    let time_control = match (&exported.clock, exported.days_per_turn) {
        (Some(clock), _) => TimeControl::Clock {
            limit: clock.initial,
            increment: clock.increment,
        },
        (None, Some(days)) => TimeControl::Correspondence { days },
        (None, None) => TimeControl::Unlimited,
    };
    let start = GameStarted {
        game: exported.id.clone(),
        white: player(exported.players.white),
        black: player(exported.players.black),
        our_color: Color::White,
        speed: name(&exported.speed),
        time_control,
        rated: exported.rated,
        variant: variant.key().to_owned(),
        initial_fen: exported.initial_fen,
        tournament: exported.tournament.map(|id| name(&id)),
        engine: None,
        plies: game.moves().len() as u32 + 1,
    };
    Ok(Read::Game(Box::new(ImportedGame {
        started: Some(exported.created_at),
        finished: Some(exported.last_move_at.unwrap_or(exported.created_at)),
        start,
        site: None,
        moves: moves.collect(),
        status: name(&exported.status),
        winner,
        result: result.to_owned(),
    })))
}

fn player(side: Side) -> Player {
    let (named, title) = match (side.user, side.ai_level) {
        (Some(user), _) => (name(&user.name), user.title.map(|title| name(&title))),
        (None, Some(level)) => (format!("Stockfish level {level}"), None),
        (None, None) => ("Anonymous".to_owned(), None),
    };
    Player {
        name: named,
        title,
        rating: side.rating,
        provisional: side.provisional,
    }
}
