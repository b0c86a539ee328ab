// What each target does with its bytes. The fuzzer runs these, and so does `tests/it/bad_input.rs` on every build.
//
// All of them assert the same: no panic, nothing that a terminal would obey, no text longer than asked for, and of what
// is accepted that it is what it says it is.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use knightwatch::book::{Book, Choice, Probe, Selection};
use knightwatch::bot::replay::{Outcome, Replay};
use knightwatch::bot::{AcceptedLog, policy};
use knightwatch::chess::pgn::{self, Reader};
use knightwatch::chess::{CastlingNotation, Game, Position};
use knightwatch::config::{Settings, Sources};
use knightwatch::control::Request;
use knightwatch::engine::{Engine, EngineOptions, Limits, Setting, Solo};
use knightwatch::lichess::model::{
    Arena, Challenge, Challenges, ChatLine, Event, FromLine, GameEvent, GameInfo, TokenInfo, User,
    UserStatus, Username, clean, clip,
};
use knightwatch::lichess::retry::{self, Gate, Kind, Retry};
use knightwatch::lichess::{Error, Line, Lines, Playing, Refusal, Token, decode};
use knightwatch::uci;

/// A target's name and what it does.
pub type Body = (&'static str, fn(&[u8]));

pub const BODIES: [Body; 11] = [
    ("answers", answers),
    ("book", book),
    ("config", config),
    ("fen", fen),
    ("game", game),
    ("moves", moves),
    ("pgn", pgn),
    ("search", search),
    ("stream", stream),
    ("text", text),
    ("uci", uci),
];

/// The longest message about anything, in bytes.
const LONGEST: usize = 3_000;

/// What is said to a person.
fn shown(text: impl ToString) {
    let text = text.to_string();
    assert!(text.len() <= LONGEST, "{} bytes: {text:.200}", text.len());
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

/// One of the streams, by the first byte, from bytes in pieces of any size to events.
pub fn stream(data: &[u8]) {
    let (size, data) = split(data);
    // The fuzzer's inputs have 800 bytes: some get a limit that they can go beyond.
    let limit = if size % 8 < 2 { 100 } else { 2_000 };
    let mut lines = Lines::new(limit);
    let mut taken = 0;
    let mut read = |line| {
        taken += 1;
        if let Line::Text(text) = line {
            // What is not UTF-8 is replaced by a sign of three bytes.
            assert!(text.len() <= 3 * limit);
            match size.is_multiple_of(2) {
                true => game_event(GameEvent::from_line(&text)),
                false => account_event(Event::from_line(&text)),
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

fn account_event(event: Event) {
    match event {
        Event::GameStart(game) | Event::GameFinish(game) => game_info(&game),
        Event::Challenge(challenge, compat) => {
            let case = policy::Case {
                challenge: &challenge,
                compat,
                age_days: None,
            };
            let (ledger, now) = (AcceptedLog::default(), SystemTime::UNIX_EPOCH);
            let ruling = policy::judge(case, settings(), &ledger, now, policy::Load::default());
            shown(ruling.why);
            ruling.steps.into_iter().for_each(|step| shown(step.says));
            challenge_shown(&challenge);
        }
        Event::ChallengeDeclined(challenge) | Event::ChallengeCanceled(challenge) => {
            challenge_shown(&challenge);
        }
        Event::Unknown(kind) => shown(kind),
        Event::Skipped(skipped) => shown(skipped.why),
    }
}

fn game_event(event: GameEvent) {
    match event {
        GameEvent::Full(full) => {
            for player in [&full.white, &full.black] {
                shown(player.shown());
                shown(player.title.as_deref().unwrap_or_default());
            }
        }
        GameEvent::State(_) | GameEvent::OpponentGone(_) => {}
        GameEvent::Chat(line) => chat_line(&line),
        GameEvent::Unknown(kind) => shown(kind),
        GameEvent::Skipped(skipped) => shown(skipped.why),
    }
}

fn game_info(game: &GameInfo) {
    shown(&game.id);
    shown(&game.opponent.name);
    shown(game.opponent.title.as_deref().unwrap_or_default());
}

fn challenge_shown(challenge: &Challenge) {
    for user in [&challenge.challenger, &challenge.dest_user]
        .into_iter()
        .flatten()
    {
        shown(&user.name);
        shown(user.title.as_deref().unwrap_or_default());
    }
    shown(challenge.time_control);
    shown(challenge.decline_reason.as_deref().unwrap_or_default());
}

fn chat_line(line: &ChatLine) {
    shown(&line.username);
    shown(&line.text);
}

/// The defaults, made once.
fn settings() -> &'static Settings {
    // Rules that look at everything, and say what is there instead.
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

/// A game's stream against everything that a game's task does with it. A line is one of the stream as it is, or
/// after a letter what stands in one: `m` the moves of a state, `f` the position that a game begins with and after a `|`
/// its moves, `c` the clocks. A game is on already unless the first line is to begin one.
pub fn game(data: &[u8]) {
    let data = utf8(data);
    let mut replay = Replay::new(Username::new("Me"));
    if !data.starts_with(['f', '{']) {
        outcome(replay.on_line(&full("startpos", "")));
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
        outcome(replay.on_line(&line));
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

fn outcome(outcome: Outcome) {
    /// What Lichess sends where there is no clock, and the most that is believed.
    const MOST: Duration = Duration::from_millis(i32::MAX as u64);
    match outcome {
        Outcome::Unsupported(why) | Outcome::InvalidMoves(why) => shown(why),
        Outcome::Think(position, limits) => {
            let again = Position::from_fen(&position.shredder_fen());
            assert!(
                position.en_passant().is_some() || again.is_ok(),
                "{}",
                position.fen()
            );
            let time = limits.at_most.or(limits.clock.map(|clock| clock.remaining));
            let time = time.expect("whoever thinks has a time");
            assert!(Duration::ZERO < time && time <= MOST, "{limits:?}");
            if let Some(clock) = limits.clock {
                assert!(
                    clock.increment <= MOST && clock.overhead <= MOST,
                    "{limits:?}"
                );
            }
        }
        Outcome::Nothing | Outcome::Updated | Outcome::Over => {}
    }
}

/// Positions: what is taken can be written, read again, and played on.
pub fn fen(data: &[u8]) {
    let text = utf8(data);
    let position = match Position::from_fen(&text) {
        Ok(position) => position,
        Err(error) => return shown(error),
    };
    for fen in [position.shredder_fen(), position.fen()] {
        assert_eq!(Position::from_fen(&fen).as_ref(), Ok(&position), "{text:?}");
    }
    for mv in &position.legal_moves() {
        assert!(position.is_legal(mv), "{text:?} {mv:?}");
        let uci = mv.uci(CastlingNotation::KingTakesRook).to_string();
        assert_eq!(position.parse_uci(&uci), Ok(mv), "{text:?}");
        assert_eq!(position.parse_san(&position.san(mv)), Ok(mv), "{text:?}");
        // Either side keeps its king, and the one that moved leaves it out of check.
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

/// Lists of moves in UCI and SAN, on positions that they reach: what is accepted is legal, what is not changes nothing.
pub fn moves(data: &[u8]) {
    let text = utf8(data);
    let (fen, list) = text.split_once('|').unwrap_or(("", &text));
    let mut game = Game::new(Position::from_fen(fen).unwrap_or_else(|_| Position::startpos()));
    for word in list.split_whitespace() {
        let before = game.position().clone();
        let legal = before.legal_moves();
        match game.push_uci(word) {
            Ok(mv) => assert!(legal.contains(&mv), "{word:?}"),
            Err(error) => {
                shown(error);
                assert_eq!(game.position(), &before);
                match before.parse_san(word) {
                    Ok(mv) => {
                        assert!(legal.contains(&mv), "{word:?}");
                        game.play(mv);
                    }
                    Err(error) => shown(error),
                }
            }
        }
    }
    let over = !game.position().has_legal_move();
    assert!(!over || game.ending().is_some());
    assert!(game.repetitions() >= 1);
    assert_eq!(game.identities().len(), game.moves().len() + 1);
}

/// Games as text, in pieces of any size: what is read can be written and read again.
pub fn pgn(data: &[u8]) {
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
            Ok(record) => written(&record),
            Err(error) => shown(error),
        }
    }
}

fn written(record: &pgn::Record) {
    let text = pgn::write(&record.tags, &record.game, &record.notes, record.outcome);
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

/// Polyglot books: whatever is in them, what is chosen is a legal move. The records' keys are those of the positions
/// that their moves reach if the first byte says so: no fuzzer finds those by itself.
pub fn book(data: &[u8]) {
    let (kind, data) = split(data);
    let mut positions = vec![Position::startpos()];
    let mut bytes = data.to_vec();
    if kind.is_multiple_of(2) {
        for record in bytes.chunks_exact_mut(16) {
            let position = &positions[usize::from(record[0]) % positions.len()];
            let legal = position.legal_moves();
            let next = legal
                .get(usize::from(record[1]))
                .map(|&mv| position.after(mv));
            record[..8].copy_from_slice(&position.key().to_be_bytes());
            positions.extend(next);
        }
    }
    let book = match Book::from_bytes("fuzz", bytes) {
        Ok(book) => book,
        Err(error) => return shown(error),
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
            let choice = Choice {
                selection,
                min_weight,
            };
            let mv = book.pick(position, &choice, &mut rng);
            assert!(mv.is_none_or(|mv| legal.contains(&mv)));
        }
        let _ = Probe::new(&book, position).to_string();
    }
}

/// Configuration: a file, and after a zero byte lines like `section.key=value` from the command line, which stand for
/// variables of the environment, too.
pub fn config(data: &[u8]) {
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
            shown(text);
        }
    }
}

/// Names, chat and reasons from the network: harmless in a terminal, and no longer than asked. And the token.
pub fn text(data: &[u8]) {
    let (most, data) = split(data);
    let text = utf8(data);
    assert!(!clean(&text).contains(char::is_control));
    assert!(clip(&text, most).chars().count() <= most + 1);
    assert!(Username::new(&text).as_str().chars().count() <= 41);
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
    if let Ok(id) = text.parse::<knightwatch::lichess::model::GameId>() {
        assert!(!id.as_str().contains(['/', '.', '%', ' ']));
    }
}

/// What servers answer: refusals with their headers, and the bodies of all questions; and what is asked on the control
/// socket.
pub fn answers(data: &[u8]) {
    let (kind, data) = split(data);
    match kind % 9 {
        0 => refusal(data),
        1 => read::<Playing>(data, |playing| {
            playing.now_playing.iter().for_each(game_info)
        }),
        2 => read::<Vec<ChatLine>>(data, |lines| lines.iter().for_each(chat_line)),
        3 => read::<Challenges>(data, |all| {
            all.incoming
                .iter()
                .chain(&all.outgoing)
                .for_each(challenge_shown);
        }),
        4 => read::<User>(data, |user| {
            shown(&user.username);
            shown(user.profile.bio.as_deref().unwrap_or_default());
        }),
        5 => read::<Vec<UserStatus>>(data, |users| {
            users.iter().for_each(|user| shown(&user.name));
        }),
        6 => read::<TokenInfo>(data, |info| info.scopes.iter().for_each(shown)),
        7 => read::<Arena>(data, |arena| {
            shown(&arena.name);
            arena.refusals.iter().for_each(shown);
        }),
        _ => match Request::read(&utf8(data)) {
            Ok(request) => {
                let line = serde_json::to_string(&request).expect("a request can be written");
                assert_eq!(Request::read(&line), Ok(request));
            }
            Err(why) => shown(why),
        },
    }
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8], look: impl FnOnce(&T)) {
    match decode::<T>(body) {
        Ok(answer) => look(&answer),
        Err(error) => shown(error),
    }
}

/// The code is in the first two bytes, `Retry-After` in the line after them.
fn refusal(data: &[u8]) {
    const TWO_DAYS: Duration = Duration::from_secs(2 * 24 * 3600);
    let (code, data) = data.split_at(data.len().min(2));
    let code = code
        .iter()
        .fold(0, |code, &byte| code << 8 | u16::from(byte));
    let end = data.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let (retry_after, body) = data.split_at(end);
    let refusal = Refusal::read(code % 600, Some(&utf8(retry_after)), body);
    shown(&refusal);
    assert!(refusal.named_wait().is_none_or(|wait| wait <= TWO_DAYS));
    let now = std::time::Instant::now();
    let mut gate = Gate::default();
    for kind in Kind::ALL {
        gate.refused(kind, &refusal, now);
        assert!(
            gate.closed_for(kind, now)
                .is_none_or(|wait| wait <= TWO_DAYS)
        );
        let error = Error::Status(refusal.clone());
        if let Retry::After(wait) = retry::decide(kind, &error, 7) {
            assert!(wait <= TWO_DAYS, "{error}");
        }
    }
    assert_eq!(gate.closed_for(Kind::Move, now), None);
}

/// What a chess GUI may say of positions and limits.
pub fn uci(data: &[u8]) {
    let text = utf8(data);
    let mut game = Game::new(Position::startpos());
    let complain = |what: &str| assert!(!what.contains(['\n', '\r']), "{what:?}");
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["position", rest @ ..] => match uci::read_position(rest) {
                Ok(read) => game = read,
                Err(error) => complain(&error),
            },
            rest => {
                let limits = uci::read_limits(rest, &game, Duration::from_millis(20), complain);
                let legal = game.position().legal_moves();
                assert!(limits.search_moves.iter().all(|mv| legal.contains(mv)));
            }
        }
    }
}

/// A short search wherever moves may lead: a legal move, or none where there is none.
pub fn search(data: &[u8]) {
    static JUDGE: LazyLock<Engine> = LazyLock::new(|| {
        Engine::new(EngineOptions {
            hash_mib: 1,
            threads: 1,
        })
    });
    thread_local! {
        static SOLO: std::cell::RefCell<Solo> = std::cell::RefCell::new(Solo::new(1, &Setting::with_network(None)));
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
    let thought = SOLO.with_borrow_mut(|solo| solo.think(&game, &limits));
    let legal = game.position().legal_moves();
    assert_eq!(thought.mv.is_some(), !legal.is_empty(), "{text:?}");
    assert!(thought.mv.is_none_or(|mv| legal.contains(&mv)), "{text:?}");
    assert!(JUDGE.evaluate(game.position()).abs() < 100_000, "{text:?}");
}
