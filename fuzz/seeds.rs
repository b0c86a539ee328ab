// Seeds of the fuzz targets: test fixtures, and inputs that once failed.

const EVENTS: &str = include_str!("../crates/lichess/tests/fixtures/event-stream.ndjson");
const FULLS: &str = include_str!("../crates/lichess/tests/fixtures/game-full.ndjson");
const GAME: &str = include_str!("../crates/lichess/tests/fixtures/game-stream.ndjson");
const PLAYING: &str = include_str!("../crates/lichess/tests/fixtures/playing.ndjson");
const USERS: &str = include_str!("../crates/lichess/tests/fixtures/users.ndjson");
const CONFIG: &str = include_str!("../config.example.toml");
const STANDARD: &str = include_str!("../crates/chess/tests/suites/standard.perft");
const CHESS960: &str = include_str!("../crates/chess/tests/suites/chess960.perft");
const REPERTOIRE: &[u8] = include_bytes!("../crates/book/src/repertoire.bin");

const OPENING: &str = "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1 g8f6 d2d3 e8h8";

/// The seeds of a target.
pub(super) fn seeds(target: &str) -> Vec<Vec<u8>> {
    match target {
        "responses" => responses(),
        "book" => REPERTOIRE.chunks(160).step_by(500).flat_map(|some| [prefixed(0, some), prefixed(1, some)]).collect(),
        "config" => config(),
        "fen" => positions().map(|fen| fen.as_bytes().to_vec()).collect(),
        "game" => game(),
        "moves" => text([
            OPENING.to_owned(),
            format!("|{OPENING} e5d4 Nxe5 O-O-O bxa8=Q#"),
            "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1|e1g1 O-O-O".to_owned(),
            "8/P7/8/k7/8/8/8/K7 w - - 98 65535|a7a8q Ka6 a8b8 Kxb8".to_owned(),
            "g1f3 g8f6 f3g1 f6g8 ".repeat(5),
        ]),
        "pgn" => text([
            "\u{40}[White \"Anna\"]\n[Result \"1-0\"]\n\n1. e4 (1. d4 d5) e5 $1 2. Nf3 { [%clk 0:02:59] [%eval #-3] at once } 1-0\n",
            "\u{7}[FEN \"4k3/4p3/8/8/8/8/8/4K2R b K - 0 30\"]\n[SetUp \"1\"]\n\n30... e5 31. O-O 1-0\n\n1. d4 *\n; words\n%no\n",
            "\u{3}[Variant \"Chess960\"]\n[FEN \"bqnbrnkr/pppppppp/8/8/8/8/PPPPPPPP/BQNBRNKR w KQkq - 0 1\"]\n\n1. O-O 1/2-1/2\n",
        ].map(str::to_owned)),
        "search" => positions().map(|fen| format!("{fen}|e2e4 e1g1").into_bytes()).collect(),
        "stream" => {
            let account = lines(&[EVENTS]).map(|line| prefixed(251, line.as_bytes()));
            let games = lines(&[FULLS, GAME]).map(|line| prefixed(250, line.as_bytes()));
            // Most of these exceed the line limit.
            let cut = lines(&[EVENTS, GAME]).map(|line| prefixed(248, line.as_bytes()));
            account.chain(games).chain(cut).collect()
        }
        "text" => text([
            "\u{5}Anna".to_owned(),
            "\u{20}\u{1b}[31mred\u{202e}\u{7}".to_owned(),
            "\u{40}lip_abcDEF123 \r\n".to_owned(),
        ]),
        "uci" => text([
            format!("position startpos moves {OPENING}\ngo wtime 1000 btime 9223372036854775807 winc -5 movestogo 0"),
            "position fen 8/P7/8/k7/8/8/8/K7 w - - 0 1 moves a7a8q\ngo searchmoves a1a2 a1b1 depth 3 ponder".to_owned(),
            "go infinite nodes 5 mate 3 movetime 10 binc 1".to_owned(),
        ]),
        _ => Vec::new(),
    }
}

fn text<const N: usize>(seeds: [String; N]) -> Vec<Vec<u8>> {
    seeds.map(String::into_bytes).into()
}

fn prefixed(first: u8, rest: &[u8]) -> Vec<u8> {
    [&[first], rest].concat()
}

fn lines(files: &[&'static str]) -> impl Iterator<Item = &'static str> {
    let lines: Vec<_> = files.iter().flat_map(|file| file.lines()).collect();
    lines.into_iter().filter(|line| !line.is_empty())
}

fn positions() -> impl Iterator<Item = &'static str> {
    lines(&[STANDARD, CHESS960])
        .filter_map(|line| line.split([';', ',']).next())
        .filter(|line| line.contains('/'))
        .map(str::trim)
}

fn game() -> Vec<Vec<u8>> {
    let fixtures = FULLS.replace("\"rob\"", "\"me\"");
    let mut seeds: Vec<Vec<u8>> = fixtures
        .lines()
        .map(|line| line.as_bytes().to_vec())
        .collect();
    seeds.push(GAME.as_bytes().to_vec());
    seeds.extend(text([
        format!("m{}\nm{OPENING}\nm{}", &OPENING[..9], &OPENING[..14]),
        "m\u{1b}[2J".to_owned(),
        "c-5\nc1e300\nc2147483647\nc0.5".to_owned(),
        "f8/8/8/8/8/8/8/8 w - - 0 1|a1a2".to_owned(),
        "f4k3/8/8/8/8/8/8/4K2R w K - 0 1|e1g1 e8d8".to_owned(),
        "fX\u{1b}[2J".to_owned(),
    ]));
    seeds
}

fn config() -> Vec<Vec<u8>> {
    let mut seeds = text([
        CONFIG.to_owned(),
        "\0engine.hash_mib=64\nchallenge.speeds=blitz,rapid\nchallenge.block=[\"a\"]".to_owned(),
        "token = \"lip_abc\"\n[lichess]\ntoken = \"lip_abc\"\nurl = \"lip_x\"\nlip_key = 1"
            .to_owned(),
        "lichess = { url = \"http://127.0.0.1:1\", token_file = \"~/x\" }".to_owned(),
        "[challenge]\nspeeds = [\"blizt\", 7, \"\u{1b}[2J\"]\n[[account]]\n".to_owned(),
        "\0lip_abc=1\nengine.threads=lip_abc".to_owned(),
    ]);
    // Single sections mutate faster than the whole file.
    seeds.extend(
        CONFIG
            .split("\n[")
            .skip(1)
            .map(|section| format!("[{section}").into_bytes()),
    );
    seeds
}

fn responses() -> Vec<Vec<u8>> {
    let arena = r#"{"id":"abcdefgh","fullName":"Bots Arena","botsAllowed":true,"secondsToStart":30,"me":{"rank":3,"withdraw":true,"pauseDelay":12},"verdicts":{"list":[{"verdict":"ok"}]}}"#;
    let challenges =
        lines(&[EVENTS]).filter_map(|line| line.split_once("\"challenge\":").map(|(_, rest)| rest));
    let mut seeds = vec![
        prefixed(0, b"\x01\xad30\n{\"error\":\"Too many\",\"ratelimit\":{\"key\":\"bot.vsBot.day\",\"seconds\":7200}}"),
        prefixed(0, b"\x01\xf61e300\n<html><head><title>502 Bad Gateway</title></head></html>"),
        prefixed(0, b"\x01\x90\n{\"error\":{\"clock.limit\":[\"Invalid clock\"],\"global\":[\"no\"]}}"),
        prefixed(2, br#"[{"user":"anna","text":"hello"},{"username":"x","text":"","room":"spectator"}]"#),
        prefixed(6, br#"{"userId":"rob","scopes":"bot:play,challenge:read","expires":1760000000000}"#),
        prefixed(7, arena.as_bytes()),
        prefixed(8, br#"{"ask":"status"}"#),
    ];
    seeds.extend(lines(&[PLAYING]).map(|line| prefixed(1, line.as_bytes())));
    seeds.extend(lines(&[USERS]).flat_map(|line| {
        [
            prefixed(4, line.as_bytes()),
            prefixed(5, format!("[{line}]").as_bytes()),
        ]
    }));
    seeds.extend(challenges.take(3).map(|one| {
        prefixed(
            3,
            format!("{{\"in\":[{}]}}", one.trim_end_matches('}')).as_bytes(),
        )
    }));
    seeds
}
