// Bodies of the fuzz targets. The fuzzer runs them, and so does `tests/it/bad_input.rs` on every build.
//
// All of them assert: no panic, no control sequences and no overlong text in output, and that accepted input is valid.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use knightwatch::book::{Book, PickOptions, Probe, Selection};
use knightwatch::bot::policy;
use knightwatch::bot::replay::{Outcome, Replay};
use knightwatch::chess::pgn::{self, Reader};
use knightwatch::chess::{CastlingNotation, Game, Position, Variant};
use knightwatch::config::{Settings, Sources};
use knightwatch::control::Request;
use knightwatch::engine::{Engine, EngineOptions, Limits, Searcher, Setting};
use knightwatch::lichess::model::{
    Arena, Challenge, Challenges, ChatLine, Event, FromLine, GameEvent, GameInfo, TokenInfo, User,
    UserStatus, Username, clean, clip,
};
use knightwatch::lichess::retry::{self, Gate, RequestKind, Retry};
use knightwatch::lichess::{Error, ErrorResponse, Line, LineSplitter, Playing, Token, decode};
use knightwatch::uci;

/// Name and function of a target.
pub(super) type Target = (&'static str, fn(&[u8]));

pub(super) const TARGETS: [Target; 11] = [
    ("book", book),
    ("config", config),
    ("fen", fen),
    ("game", game),
    ("moves", moves),
    ("pgn", pgn),
    ("responses", responses),
    ("search", search),
    ("stream", stream),
    ("text", text),
    ("uci", uci),
];

/// Limit of any message, in bytes.
const MAX_MESSAGE_BYTES: usize = 3_000;

/// Asserts that a text shown to a person is short and free of control characters.
fn check_text(text: impl ToString) {
    let text = text.to_string();
    assert!(
        text.len() <= MAX_MESSAGE_BYTES,
        "{} bytes: {text:.200}",
        text.len()
    );
    assert!(text.split('\n').all(|line| clean(line) == line), "{text:?}");
}

/// The first byte, and the rest.
fn split(data: &[u8]) -> (usize, &[u8]) {
    data.split_first()
        .map_or((0, data), |(first, rest)| (usize::from(*first), rest))
}

/// Any bytes as text.
fn utf8(data: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(data)
}

/// The event stream or a game stream, by the first byte, from chunks of any size to events.
pub(super) fn stream(data: &[u8]) {
    let (size, data) = split(data);
    // Inputs have up to 800 bytes, so some get a limit that they can exceed.
    let limit = if size % 8 < 2 { 100 } else { 2_000 };
    let mut lines = LineSplitter::new(limit);
    let mut taken = 0;
    let mut read = |line| {
        taken += 1;
        if let Line::Text(text) = line {
            // Invalid UTF-8 is replaced by a character of three bytes.
            assert!(text.len() <= 3 * limit);
            match size.is_multiple_of(2) {
                true => check_game_event(GameEvent::from_line(&text)),
                false => check_account_event(Event::from_line(&text)),
            }
        }
    };
    for piece in data.chunks(size.max(1)) {
        lines.push(piece, &mut read);
    }
    if let Some(line) = lines.finish() {
        read(line);
    }
    assert!(taken <= data.split(|&byte| byte == b'\n').count());
}

fn check_account_event(event: Event) {
    match event {
        Event::GameStart(game) | Event::GameFinish(game) => check_game_info(&game),
        Event::Challenge(challenge, compat) => {
            let case = policy::ChallengeContext {
                challenge: &challenge,
                compat,
                input: &policy::MatchInput::of_challenge(&challenge, None),
            };
            let unused = policy::LimitUsage {
                accepted: &|_, _, _| (0, None),
                running: &|_| Some(0),
            };
            let idle = policy::Load::default();
            let assessment = policy::evaluate(case, settings(), &unused, idle);
            check_text(assessment.reason);
            assessment
                .checks
                .into_iter()
                .for_each(|check| check_text(check.result));
            check_challenge(&challenge);
        }
        Event::ChallengeDeclined(challenge) | Event::ChallengeCanceled(challenge) => {
            check_challenge(&challenge);
        }
        Event::Unknown(kind) => check_text(kind),
        Event::Skipped(skipped) => check_text(skipped.why),
    }
}

fn check_game_event(event: GameEvent) {
    match event {
        GameEvent::Full(full) => {
            for player in [&full.white, &full.black] {
                check_text(player.display_name());
                check_text(player.title.as_deref().unwrap_or_default());
            }
        }
        GameEvent::State(_) | GameEvent::OpponentGone(_) => {}
        GameEvent::Chat(line) => check_chat_line(&line),
        GameEvent::Unknown(kind) => check_text(kind),
        GameEvent::Skipped(skipped) => check_text(skipped.why),
    }
}

fn check_game_info(game: &GameInfo) {
    check_text(&game.id);
    check_text(&game.opponent.name);
    check_text(game.opponent.title.as_deref().unwrap_or_default());
}

fn check_challenge(challenge: &Challenge) {
    for user in [&challenge.challenger, &challenge.dest_user]
        .into_iter()
        .flatten()
    {
        check_text(&user.name);
        check_text(user.title.as_deref().unwrap_or_default());
    }
    check_text(challenge.time_control);
    check_text(challenge.decline_reason.as_deref().unwrap_or_default());
}

fn check_chat_line(line: &ChatLine) {
    check_text(&line.username);
    check_text(&line.text);
}

/// Default settings with one rule per property.
fn settings() -> &'static Settings {
    // Rules that match on every property, and so report every mismatch.
    static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
        let asked = [
            "title = 'GM'",
            "name = 'a*a*b'",
            "rating = '1..2'",
            "rating_diff = '-5000..5000'",
            "clock = '3+2'",
            "estimate_s = '..100'",
            "days = 3",
            "color = 'white'",
            "rules = 'noAbort'",
        ];
        let rule = |asked| format!("[[rule]]\nmatch = {{ {asked} }}\nlimit = {{ per_day = 1 }}\n");
        Settings::from_text(asked.map(rule).concat(), &Sources::default()).expect("valid settings")
    });
    &SETTINGS
}

/// A game stream through the logic of a game task. A line is a stream line, or a letter and part of one: `m` the moves of a
/// state, `f` the initial position and after `|` its moves, `c` the clocks. A game is already running unless the first
/// line starts one.
pub(super) fn game(data: &[u8]) {
    let data = utf8(data);
    let mut replay = Replay::new(Username::new("Me"));
    if !data.starts_with(['f', '{']) {
        check_outcome(replay.on_line(&full("startpos", "")));
    }
    for line in data.lines() {
        let line = match line.split_at_checked(1) {
            Some(("m", moves)) => state(&quoted(moves), "1000"),
            Some(("c", clock)) => state("\"\"", clock),
            Some(("f", fen)) => {
                let (fen, moves) = fen.split_once('|').unwrap_or((fen, ""));
                full(fen, moves)
            }
            _ => line.to_owned(),
        };
        check_outcome(replay.on_line(&line));
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("any text can be quoted")
}

fn full(fen: &str, moves: &str) -> String {
    format!(
        r#"{{"id":"abcdefgh","variant":{{"key":"fromPosition"}},"speed":"blitz","white":{{"id":"me","name":"Me"}},"black":{{"id":"you","name":"You"}},"initialFen":{},"clock":{{"initial":180000,"increment":2000}},"type":"gameFull","state":{}}}"#,
        quoted(fen),
        state(&quoted(moves), "180000")
    )
}

fn state(moves: &str, clock: &str) -> String {
    format!(
        r#"{{"type":"gameState","moves":{moves},"wtime":{clock},"btime":1000,"winc":{clock},"binc":2000,"status":"started"}}"#
    )
}

fn check_outcome(outcome: Outcome) {
    /// Remaining time that Lichess sends without a clock; larger values are capped.
    const MAX_REMAINING: Duration = Duration::from_millis(i32::MAX as u64);
    match outcome {
        Outcome::Unsupported(why) | Outcome::InvalidMoves(why) => check_text(why),
        Outcome::Think(position, limits) => {
            let again = Position::from_fen(&position.shredder_fen());
            assert!(
                position.en_passant().is_some() || again.is_ok(),
                "{}",
                position.fen()
            );
            let time = limits
                .max_time
                .or(limits.clock.map(|clock| clock.remaining));
            let time = time.expect("every search has a time limit");
            assert!(Duration::ZERO < time && time <= MAX_REMAINING, "{limits:?}");
            if let Some(clock) = limits.clock {
                assert!(
                    clock.increment <= MAX_REMAINING && clock.overhead <= MAX_REMAINING,
                    "{limits:?}"
                );
            }
        }
        Outcome::Nothing | Outcome::Updated | Outcome::Over => {}
    }
}

/// FEN: accepted positions survive a round trip, and so do their legal moves in UCI and SAN.
pub(super) fn fen(data: &[u8]) {
    let text = utf8(data);
    let position = match Position::from_fen(&text) {
        Ok(position) => position,
        Err(error) => return check_text(error),
    };
    for fen in [position.shredder_fen(), position.fen()] {
        assert_eq!(Position::from_fen(&fen).as_ref(), Ok(&position), "{text:?}");
    }
    for mv in &position.legal_moves() {
        assert!(position.is_legal(mv), "{text:?} {mv:?}");
        let uci = mv.uci(CastlingNotation::KingTakesRook).to_string();
        assert_eq!(position.parse_uci(&uci), Ok(mv), "{text:?}");
        assert_eq!(position.parse_san(&position.san(mv)), Ok(mv), "{text:?}");
        // The side that moved does not leave its king in check.
        let after = position.after(mv);
        assert!(
            !after
                .legal_moves()
                .iter()
                .any(|reply| reply.to() == after.king(!after.turn())),
            "{text:?}"
        );
    }
}

/// Lists of moves in UCI and SAN: accepted moves are legal, rejected ones leave the position unchanged.
pub(super) fn moves(data: &[u8]) {
    let text = utf8(data);
    let (fen, list) = text.split_once('|').unwrap_or(("", &text));
    let mut game = Game::new(Position::from_fen(fen).unwrap_or_else(|_| Position::startpos()));
    for word in list.split_whitespace() {
        let before = game.position().clone();
        let legal = before.legal_moves();
        match game.push_uci(word) {
            Ok(mv) => assert!(legal.contains(&mv), "{word:?}"),
            Err(error) => {
                check_text(error);
                assert_eq!(game.position(), &before);
                match before.parse_san(word) {
                    Ok(mv) => {
                        assert!(legal.contains(&mv), "{word:?}");
                        game.play(mv);
                    }
                    Err(error) => check_text(error),
                }
            }
        }
    }
    let over = !game.position().has_legal_move();
    assert!(!over || game.termination().is_some());
    assert!(game.repetitions() >= 1);
    assert_eq!(game.repetition_keys().len(), game.moves().len() + 1);
}

/// PGN in chunks of any size: accepted games survive a round trip.
pub(super) fn pgn(data: &[u8]) {
    let (size, data) = split(data);
    let mut reader = Reader::new();
    let mut records = Vec::new();
    for mut piece in data.chunks(size.max(1)) {
        while let Some(record) = reader.feed(&mut piece) {
            records.push(record);
        }
    }
    records.extend(reader.finish());
    for record in records {
        match record {
            Ok(record) => check_round_trip(&record),
            Err(error) => check_text(error),
        }
    }
}

fn check_round_trip(record: &pgn::Record) {
    let text = pgn::write(&record.tags, &record.game, &record.comments, record.outcome);
    let mut reader = Reader::new();
    let mut rest = text.as_bytes();
    let again = reader.feed(&mut rest).or_else(|| reader.finish());
    let again = again
        .and_then(Result::ok)
        .unwrap_or_else(|| panic!("{text}"));
    assert_eq!(again.game.initial(), record.game.initial(), "{text}");
    assert_eq!(again.game.moves(), record.game.moves(), "{text}");
    assert_eq!(again.outcome, record.outcome, "{text}");
}

/// Polyglot books: chosen moves are always legal. With an even first byte, the record keys are replaced by those of
/// reachable positions, which no fuzzer finds by itself.
pub(super) fn book(data: &[u8]) {
    let (kind, data) = split(data);
    let variant = Variant::ALL[kind / 2 % Variant::ALL.len()];
    let mut positions = vec![variant.start()];
    let mut bytes = data.to_vec();
    if kind.is_multiple_of(2) {
        for record in bytes.chunks_exact_mut(16) {
            let position = &positions[usize::from(record[0]) % positions.len()];
            let legal = position.legal_moves();
            let next = legal
                .get(usize::from(record[1]))
                .map(|&mv| position.after(mv));
            record[..8].copy_from_slice(&position.book_key().to_be_bytes());
            positions.extend(next);
        }
    }
    let book = match Book::from_bytes("fuzz", bytes) {
        Ok(book) => book,
        Err(error) => return check_text(error),
    };
    assert!(book.records().is_sorted_by_key(|record| record.key));
    let mut rng = fastrand::Rng::with_seed(1);
    for position in &positions {
        let legal = position.legal_moves();
        assert!(
            book.entries(position)
                .iter()
                .all(|entry| legal.contains(&entry.mv))
        );
        for (selection, min_weight) in [
            (Selection::Best, 0),
            (Selection::Weighted, 1),
            (Selection::Uniform, 1_000),
        ] {
            let choice = PickOptions {
                selection,
                min_weight,
            };
            let mv = book.pick(position, &choice, &mut rng);
            assert!(mv.is_none_or(|mv| legal.contains(&mv)));
        }
        let _ = Probe::new(&book, position).to_string();
    }
}

/// Configuration: a file, and after a zero byte lines such as `section.key=value`, used as `--set` and as environment
/// variables.
pub(super) fn config(data: &[u8]) {
    let text = utf8(data);
    let (file, rest) = text.split_once('\0').unwrap_or((&text, ""));
    let set: Vec<(String, String)> = rest
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let variable = |(key, value): &(String, String)| {
        let name = key.to_uppercase().replace('.', "__");
        (format!("KNIGHTWATCH__{name}"), value.clone())
    };
    let sources = Sources {
        file: Some("fuzz.toml".into()),
        environment: set.iter().map(variable).collect::<BTreeMap<_, _>>(),
        set,
        ..Sources::default()
    };
    if let Err(error) = Settings::from_text(file.to_owned(), &sources) {
        for problem in error.problems() {
            let text = problem.to_string();
            let hidden = |(at, start): (usize, &str)| {
                !text[at + start.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
            };
            assert!(text.match_indices("lip_").all(hidden), "{text}");
            check_text(text);
        }
    }
}

/// Names, chat and reasons from the network are cleaned and clipped; tokens are not printed.
pub(super) fn text(data: &[u8]) {
    let (max, data) = split(data);
    let text = utf8(data);
    assert!(!clean(&text).contains(char::is_control));
    assert!(clip(&text, max).chars().count() <= max + 1);
    assert!(Username::new(&text).as_str().chars().count() <= 41);
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
    if let Ok(id) = text.parse::<knightwatch::lichess::model::GameId>() {
        assert!(!id.as_str().contains(['/', '.', '%', ' ']));
    }
}

/// Response bodies, error responses with `Retry-After`, and requests on the control socket.
pub(super) fn responses(data: &[u8]) {
    let (kind, data) = split(data);
    match kind % 9 {
        0 => error_response(data),
        1 => decode_and_check::<Playing>(data, |playing| {
            playing.now_playing.iter().for_each(check_game_info);
        }),
        2 => {
            decode_and_check::<Vec<ChatLine>>(data, |lines| lines.iter().for_each(check_chat_line));
        }
        3 => decode_and_check::<Challenges>(data, |all| {
            all.incoming
                .iter()
                .chain(&all.outgoing)
                .for_each(check_challenge);
        }),
        4 => decode_and_check::<User>(data, |user| {
            check_text(&user.username);
            check_text(user.profile.bio.as_deref().unwrap_or_default());
        }),
        5 => decode_and_check::<Vec<UserStatus>>(data, |users| {
            for user in users {
                check_text(&user.name);
            }
        }),
        6 => decode_and_check::<TokenInfo>(data, |info| info.scopes.iter().for_each(check_text)),
        7 => decode_and_check::<Arena>(data, |arena| {
            check_text(&arena.name);
            arena.unmet_requirements.iter().for_each(check_text);
        }),
        _ => match Request::parse(&utf8(data)) {
            Ok(request) => {
                let line = serde_json::to_string(&request).expect("a request can be written");
                assert_eq!(Request::parse(&line), Ok(request));
            }
            Err(why) => check_text(why),
        },
    }
}

fn decode_and_check<T: serde::de::DeserializeOwned>(body: &[u8], check: impl FnOnce(&T)) {
    match decode::<T>(body) {
        Ok(answer) => check(&answer),
        Err(error) => check_text(error),
    }
}

/// An error response: the status code in the first two bytes, `Retry-After` in the rest of the line, then the body.
fn error_response(data: &[u8]) {
    const TWO_DAYS: Duration = Duration::from_secs(2 * 24 * 3600);
    let (code, data) = data.split_at(data.len().min(2));
    let code = code
        .iter()
        .fold(0, |code, &byte| code << 8 | u16::from(byte));
    let end = data.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let (retry_after, body) = data.split_at(end);
    let refusal = ErrorResponse::read(code % 600, Some(&utf8(retry_after)), body);
    check_text(&refusal);
    assert!(refusal.requested_wait().is_none_or(|wait| wait <= TWO_DAYS));
    let now = std::time::Instant::now();
    let mut gate = Gate::default();
    for kind in RequestKind::ALL {
        gate.on_error_response(kind, &refusal, now);
        assert!(
            gate.remaining_pause(kind, now)
                .is_none_or(|wait| wait <= TWO_DAYS)
        );
        let error = Error::Status(refusal.clone());
        if let Retry::After(wait) = retry::decide(kind, &error, 7) {
            assert!(wait <= TWO_DAYS, "{error}");
        }
    }
    assert_eq!(gate.remaining_pause(RequestKind::Move, now), None);
}

/// Positions and limits from a chess GUI.
pub(super) fn uci(data: &[u8]) {
    let text = utf8(data);
    let mut game = Game::new(Position::startpos());
    let check_message = |text: &str| assert!(!text.contains(['\n', '\r']), "{text:?}");
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["position", rest @ ..] => match uci::read_position(Variant::Standard, rest) {
                Ok(read) => game = read,
                Err(error) => check_message(&error),
            },
            rest => {
                let limits =
                    uci::read_limits(rest, &game, Duration::from_millis(20), true, check_message);
                let legal = game.position().legal_moves();
                assert!(limits.search_moves.iter().all(|mv| legal.contains(mv)));
            }
        }
    }
}

/// A short search from any position: a legal move if there is one.
pub(super) fn search(data: &[u8]) {
    static EVALUATOR: LazyLock<Engine> = LazyLock::new(|| {
        Engine::new(EngineOptions {
            hash_mib: 1,
            threads: 1,
        })
    });
    thread_local! {
        static SOLO: std::cell::RefCell<Searcher> = std::cell::RefCell::new(Searcher::new(1, &Setting::with_network(None)));
    }
    let text = utf8(data);
    let (fen, list) = text.split_once('|').unwrap_or((&text, ""));
    let Ok(position) = Position::from_fen(fen) else {
        return;
    };
    let mut game = Game::new(position);
    for word in list.split_whitespace() {
        if game.push_uci(word).is_err() {
            break;
        }
    }
    let limits = Limits {
        nodes: Some(64),
        ..Limits::default()
    };
    let result = SOLO.with_borrow_mut(|solo| solo.search(&game, &limits));
    let legal = game.position().legal_moves();
    assert_eq!(result.mv.is_some(), !legal.is_empty(), "{text:?}");
    assert!(result.mv.is_none_or(|mv| legal.contains(&mv)), "{text:?}");
    assert!(
        EVALUATOR.evaluate(game.position()).abs() < 100_000,
        "{text:?}"
    );
}
