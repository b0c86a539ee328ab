//! Conversion of games, decisions and notes of the records to the types of the page.

use std::time::Duration;

use super::live_game::LiveGame;
use super::wire::{Arena, Challenge, ChatLine, GAME_ROOM, GameResult, Note};
use crate::events::{self, ArenaStage, Color, GameStarted, Score, Severity, Source};
use crate::store::{self, ArenaResult, ChallengeDecision, MoveRecord, Outcome, Record};

/// Converts a game of the records.
pub(super) fn from_record(record: &Record, server: &str) -> LiveGame {
    let game = &record.game;
    let start = GameStarted {
        game: game.id.clone(),
        white: game.player(Color::White).clone(),
        black: game.player(Color::Black).clone(),
        our_color: game.color,
        speed: game.speed.clone(),
        time_control: game.time_control,
        rated: game.rated,
        variant: game.variant.clone(),
        initial_fen: game.initial_fen.clone(),
        tournament: game.tournament.clone(),
        engine: game.engine.clone(),
        plies: 0,
    };
    let started = game.started.unwrap_or_default().unsigned_abs();
    let mut live = LiveGame::new(&start, server, started);
    live.view.url = store::page_of(game, server).unwrap_or_default();
    let clocks = &live.view.clocks;
    let mut left = [clocks.white_ms, clocks.black_ms];
    // The last known clock of each side; the initial one until its first move.
    let mut known = left;
    for (played, ply) in record.moves.iter().zip(0..) {
        let mover = live.position().turn().index();
        left[mover] = played.clock_ms.map(|clock| clock.max(0).unsigned_abs());
        let is_first = ply < 2;
        known[mover] = left[mover].or(known[mover].filter(|_| !is_first));
        if !live.play(&played.uci, (left[0], left[1])) {
            break;
        }
        live.add_search_info(search_info(played).as_ref());
    }
    [live.view.clocks.white_ms, live.view.clocks.black_ms] = known;
    for note in &record.notes {
        add_note(&mut live, note);
    }
    let outcome = match game.outcome {
        Outcome::Won => "won",
        Outcome::Drawn => "drawn",
        Outcome::Lost => "lost",
        Outcome::Void => "unknown",
        Outcome::Open => {
            // The records do not contain since when the clock is running.
            live.view.clocks.running = None;
            return live;
        }
    };
    let status = game.status.clone().unwrap_or_default();
    let end = finished_event(game, &status);
    let text = end.reason(Some(live.board()));
    live.set_result(GameResult {
        outcome,
        score: end.result,
        status,
        text,
    });
    live
}

/// A game of the page as a record, for its PGN.
pub(super) fn to_record(live: &LiveGame) -> Record {
    let (start, view) = (&live.start, &live.view);
    let (account, opponent) = match start.our_color {
        Color::White => (&start.white, &start.black),
        Color::Black => (&start.black, &start.white),
    };
    let moves = view.moves.iter().map(|mv| {
        let clock = if mv.by == Color::White.key() {
            mv.white_ms
        } else {
            mv.black_ms
        };
        let search = mv.thought.as_ref();
        MoveRecord {
            ply: mv.ply,
            uci: mv.uci.clone(),
            clock_ms: clock.and_then(|ms| i64::try_from(ms).ok()),
            cp: search.and_then(|search| search.cp),
            mate: search.and_then(|search| search.mate),
            ..MoveRecord::default()
        }
    });
    let result = view.result.as_ref();
    Record {
        game: store::Game {
            site: None,
            id: view.id.clone(),
            started: i64::try_from(view.started).ok(),
            finished: None,
            color: start.our_color,
            account: account.clone(),
            opponent: opponent.clone(),
            speed: start.speed.clone(),
            time_control: start.time_control,
            variant: start.variant.clone(),
            rated: start.rated,
            initial_fen: start.initial_fen.clone(),
            tournament: start.tournament.clone(),
            engine: start.engine.clone(),
            status: result.map(|result| result.status.clone()),
            result: result.map(|result| result.score.clone()),
            outcome: Outcome::Open,
            plies: start.plies,
            opening: None,
            final_clock: None,
            round_trip: None,
        },
        moves: moves.collect(),
        notes: Vec::new(),
        rating_change: None,
    }
}

/// The end of a game of the records, with the status of the server.
pub(super) fn finished_event(game: &store::Game, status: &str) -> events::GameFinished {
    let score = game.result.clone().unwrap_or_else(|| "*".to_owned());
    events::GameFinished {
        game: game.id.clone(),
        our_color: Some(game.color),
        winner: match score.as_str() {
            "1-0" => Some(Color::White),
            "0-1" => Some(Color::Black),
            _ => None,
        },
        status: status.to_owned(),
        result: score,
        plies: game.plies,
        moves: String::new(),
        observed: game.finished.is_some(),
    }
}

/// Search information of a move of ours.
fn search_info(played: &MoveRecord) -> Option<events::SearchInfo> {
    let micros = |micros: i64| Duration::from_micros(micros.max(0).unsigned_abs());
    let line = played.pv.as_deref().unwrap_or_default();
    Some(events::SearchInfo {
        source: match played.source.as_deref()? {
            "book" => Source::Book,
            "only" => Source::Only,
            "fallback" => Source::Fallback,
            _ => Source::Search,
        },
        score: match (played.cp, played.mate) {
            (_, Some(moves)) => Some(Score::Mate(moves)),
            (cp, None) => cp.map(Score::Centipawns),
        },
        wdl: None,
        fallback: None,
        depth: played.depth.unwrap_or(0),
        seldepth: played.seldepth.unwrap_or(0),
        nodes: played.nodes.unwrap_or(0).max(0).unsigned_abs(),
        hashfull: 0,
        ordering: None,
        elapsed: micros(played.search_us.unwrap_or(0)),
        pv: line.split_whitespace().map(str::to_owned).collect(),
    })
}

impl From<ChallengeDecision> for Challenge {
    fn from(decided: ChallengeDecision) -> Self {
        Self {
            at: decided.at.unsigned_abs(),
            id: decided.challenge,
            from: decided.from,
            to: decided.to,
            time_control: decided.time_control.to_string(),
            variant: decided.variant,
            rated: decided.rated,
            decision: decided.decision,
            reason: decided.reason,
        }
    }
}

/// A tournament of the records, which contain only our games of it.
pub(super) fn arena_of(attended: ArenaResult, several: bool) -> Arena {
    let [won, drawn, lost] = attended.score;
    Arena {
        name: attended.tournament.clone(),
        id: attended.tournament,
        account: several.then_some(attended.account),
        stage: ArenaStage::Over.key(),
        starts: Some(attended.since.unsigned_abs()),
        rank: None,
        players: 0,
        text: format!("our games: {won} won, {drawn} drawn, {lost} lost"),
    }
}

impl From<store::Note> for Note {
    fn from(note: store::Note) -> Self {
        let (severity, text) = match note.kind.as_str() {
            "online" => (Severity::Info, format!("online as {}", note.text)),
            "offline" => (Severity::Warning, format!("offline: {}", note.text)),
            "warning" => (Severity::Warning, note.text),
            "error" => (Severity::Error, note.text),
            _ => (Severity::Info, note.text),
        };
        Self {
            at: note.at.unsigned_abs(),
            severity: severity.key(),
            game: None,
            ply: None,
            text,
        }
    }
}

/// Adds a chat line, an offer or a declined offer.
fn add_note(live: &mut LiveGame, note: &store::Note) {
    let text = match note.kind.as_str() {
        "chat" => return live.add_chat(chat_line(note)),
        "draw-offer" => "offered a draw",
        "draw-declined" => "declined the draw",
        "takeback-asked" => "asked for a takeback",
        "takeback-declined" => "declined the takeback",
        _ => return,
    };
    let (by, last_draw_offer) = match note.text.as_str() {
        "white" => (&live.view.white, &mut live.view.last_draw_offer.white),
        "black" => (&live.view.black, &mut live.view.last_draw_offer.black),
        _ => return,
    };
    if note.kind == "draw-offer" {
        *last_draw_offer = note.ply;
    }
    let line = ChatLine {
        at: note.at.unsigned_abs(),
        ply: note.ply,
        room: GAME_ROOM.to_owned(),
        from: by.name.clone(),
        text: text.to_owned(),
    };
    live.add_chat(line);
}

/// Parses a chat line of the records, such as `player Anna: hello`.
fn chat_line(note: &store::Note) -> ChatLine {
    let (room, rest) = note.text.split_once(' ').unwrap_or_default();
    let (from, text) = rest.split_once(": ").unwrap_or_default();
    ChatLine {
        at: note.at.unsigned_abs(),
        ply: note.ply,
        room: room.to_owned(),
        from: from.to_owned(),
        text: text.to_owned(),
    }
}
