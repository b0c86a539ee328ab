use std::time::Duration;

use super::*;
use crate::pgn::{self, Eval};

type Read = Vec<Result<Record, ReadError>>;

/// Reads a text in chunks of `size` bytes.
fn read_in_pieces(text: &[u8], size: usize) -> Read {
    let mut reader = Reader::new();
    let mut games = Vec::new();
    for mut piece in text.chunks(size) {
        while let Some(game) = reader.feed(&mut piece) {
            games.push(game);
        }
        assert!(piece.is_empty());
    }
    games.extend(reader.finish());
    games
}

fn read(text: &str) -> Read {
    read_in_pieces(text.as_bytes(), usize::MAX)
}

fn read_one(text: &str) -> Record {
    let mut games = read(text);
    assert_eq!(games.len(), 1, "{games:?}");
    games
        .remove(0)
        .unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn error_text(error: &Result<Record, ReadError>) -> String {
    error.as_ref().map(|_| ()).expect_err("no game").to_string()
}

/// The game as written by [`pgn::write`].
fn written(record: &Record) -> String {
    pgn::write(&record.tags, &record.game, &record.comments, record.outcome)
}

fn san(record: &Record) -> String {
    let mut position = record.game.initial().clone();
    let mut moves = Vec::new();
    for &mv in record.game.moves() {
        moves.push(position.san(mv));
        position.play(mv);
    }
    moves.join(" ")
}

/// Written by python-chess, with unescaped quotes in tags.
const WITH_VARIATIONS: &str = r#"[Event "A "quoted" \ event"]
[Site "?"]
[Date "????.??.??"]
[Round "?"]
[White "Ä"]
[Black "?"]
[Result "1/2-1/2"]

{ before it all } 1. e4 e5 { [%clk 0:02:59.5] [%eval -0.31,18] solid } 2. Nf3 $1 $14 ( 2. f4 { the gambit (old) [x] } 2... exf4 ( 2... d5 $3 ) ) 2... Nc6 3. Bb5 a6 1/2-1/2

[Event "?"]
[Result "0-1"]
[FEN "1r1k2r1/8/8/8/8/8/8/1R1K2R1 w KQkq - 0 1"]
[SetUp "1"]
[Variant "Chess960"]

1. Rxg8+ Kc7 0-1
"#;

#[test]
fn read_skips_variations_and_keeps_comments() {
    let games = read(WITH_VARIATIONS);
    let [Ok(first), Ok(second)] = &games[..] else {
        panic!("{games:?}");
    };
    assert_eq!(san(first), "e4 e5 Nf3 Nc6 Bb5 a6");
    assert_eq!(first.tags.get("Event"), Some(r#"A "quoted" \ event"#));
    assert_eq!(first.tags.get("White"), Some("Ä"));
    assert_eq!(first.initial_comment.text, "before it all");
    let comment = MoveComment {
        clock: Some(Duration::from_millis(179_500)),
        eval: Some(Eval::Centipawns(-31)),
        text: "solid".to_owned(),
    };
    assert_eq!(first.comments, [MoveComment::default(), comment]);
    assert_eq!(first.outcome, Outcome::Draw);
    assert_eq!(san(second), "Rxg8+ Kc7");
    assert_eq!(second.outcome, Outcome::Win(Color::Black));
}

#[test]
fn write_then_read_is_identity() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut text = String::new();
    let mut games = Vec::new();
    for number in 0..60 {
        let initial = if number % 2 == 0 {
            Position::startpos()
        } else {
            Position::chess960_start(random.u32(..960)).expect("below 960")
        };
        let mut game = Game::new(initial);
        let mut comments = Vec::new();
        for _ in 0..random.usize(..200) {
            let Some(mv) = random.choice(game.position().legal_moves().iter().copied()) else {
                break;
            };
            game.play(mv);
            comments.push(MoveComment {
                clock: random
                    .bool()
                    .then(|| Duration::from_secs(random.u64(..20_000))),
                eval: match random.u8(..3) {
                    0 => None,
                    1 => Some(Eval::Centipawns(random.i32(-3_000..3_000))),
                    _ => Some(Eval::Mate(random.i32(-20..20))),
                },
                text: ["", "fine", "1. e4 is (not) [better]; $1 %"][random.usize(..3)].to_owned(),
            });
        }
        let mut tags = Tags::default();
        tags.set("White", "a \"b\" \\ c \\");
        let outcome = [Outcome::Draw, Outcome::Unknown, Outcome::Win(Color::White)][number % 3];
        let one = pgn::write(&tags, &game, &comments, outcome);
        text += &one;
        text.push('\n');
        games.push((one, game));
    }
    let read = read(&text);
    assert_eq!(read.len(), games.len());
    for (record, (one, game)) in read.iter().zip(&games) {
        let record = record.as_ref().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(record.game.moves(), game.moves());
        assert_eq!(record.game.position(), game.position());
        assert_eq!(&written(record), one);
    }
}

#[test]
fn read_accepts_common_variations() {
    for (text, moves) in [
        ("1.e4 e5 2.Nf3", "e4 e5 Nf3"),
        ("e4 c5!? 2. Nf3 ?! d6", "e4 c5 Nf3 d6"),
        ("1. e4 ; the best (by test\n1... e5 1-0", "e4 e5"),
        ("\u{feff}1. e4\n% 1... c5 is not said\n1... e5 *", "e4 e5"),
        ("[FEN \"\"]\n[Variant \"?\"]\n\n1. e4 e5 *", "e4 e5"),
        ("1. e4 (1. d4 {a ) b} (1. c4) 1... d5) e5$1$2 *", "e4 e5"),
        ("1. e4 d5 2. e5 f5 3. exf6 e.p. *", "e4 d5 e5 f5 exf6"),
        (
            "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. 0-0 0-0 1/2",
            "Nf3 Nf6 g3 g6 Bg2 Bg7 O-O O-O",
        ),
        ("1.\r\ne4\r\n\r\ne5\r\n", "e4 e5"),
    ] {
        assert_eq!(san(&read_one(text)), moves, "{text}");
    }
}

#[test]
fn read_without_moves_or_result_is_a_game() {
    let games = read("[White \"A\"]\n[Result \"1-0\"]\n\n[Black \"B\"]\n\n");
    // One tag section is one game, even with blank lines in it.
    assert_eq!(games.len(), 1);
    let record = read_one("[White \"A\"]\n[Result \"1-0\"]\n");
    assert_eq!(record.outcome, Outcome::Win(Color::White));
    let games = read("[White \"A\"]\n\n1. e4\n\n[White \"B\"]\n\n1. d4\n");
    let white: Vec<_> = games
        .iter()
        .map(|game| game.as_ref().expect("a game").tags.get("White"))
        .collect();
    assert_eq!(white, [Some("A"), Some("B")]);
    assert!(read("").is_empty() && read("\n{ nothing }\n").is_empty());
}

#[test]
fn read_of_latin_1_is_decoded() {
    let games = read_in_pieces(b"[White \"J\xfcrgen\"]\n\n1. e4 { sch\xf6n } *\n", 7);
    let record = games[0].as_ref().expect("a game");
    assert_eq!(record.tags.get("White"), Some("Jürgen"));
    assert_eq!(record.comments[0].text, "schön");
}

#[test]
fn read_of_bad_game_names_place_and_continues() {
    for (wrong, message) in [
        (
            "[White \"A\"]\n\n1. e4 e5\n2. Qxh9 { a }\n[%clk 1]\n",
            "line 4, move 2.: \"Qxh9\" is not a move",
        ),
        (
            "1. e4 e5 2. Nf3\nQxh2 3. a3\n",
            "line 2, move 2...: \"Qxh2\" is not a legal move here",
        ),
        (
            "[White \"A\"]\n[White B]\n[Black \"C\"]\n\n1. e4\n",
            "line 2: \"[White B\" is not a tag like [White \"Anna\"]",
        ),
        (
            "[White \"A\n\n1. e4\n",
            "line 1: \"[White \\\"A\" is not a tag like [White \"Anna\"]",
        ),
        (
            "[Variant \"Bughouse\"]\n\n1. e4\n",
            "line 3: unsupported variant \"Bughouse\"",
        ),
        (
            "[FEN \"8/8/8/8/8/8/8/4K3 w - - 0 1\"]\n\n1. e4\n",
            "line 3: tag FEN: Black has no king",
        ),
        ("1. e4 e5 } 2. d4\n", "line 1, move 2.: unexpected '}'"),
        (
            "1. e4 (1. d4\n",
            "line 3, move 1...: variation is not closed",
        ),
    ] {
        let text = format!("{wrong}\n[Event \"next\"]\n\n1. d4 *\n");
        let games = read(&text);
        assert_eq!(games.len(), 2, "{text}\n{games:?}");
        assert_eq!(error_text(&games[0]), message, "{text}");
        let next = games[1].as_ref().expect("the next game");
        assert_eq!(next.tags.get("Event"), Some("next"), "{text}");
        assert_eq!(san(next), "d4");
    }
    let open = read("1. e4 { and so on\n\n");
    assert_eq!(
        error_text(&open[0]),
        "line 3, move 1...: comment is not closed"
    );
    let open = read("1. e4 ( 1. d4");
    assert_eq!(
        error_text(&open[0]),
        "line 1, move 1...: variation is not closed"
    );
}

#[test]
fn read_of_bad_game_without_tags_continues_with_the_next() {
    let games = read("1. e4 e4 *\n\n1. d4 d5 *\n\n1. c4 *\n");
    assert_eq!(games.len(), 3, "{games:?}");
    assert!(games[0].is_err());
    let moves = games[1..].iter().map(|game| san(game.as_ref().unwrap()));
    assert_eq!(moves.collect::<Vec<_>>(), ["d4 d5", "c4"]);
    // Results within comments and variations end no game.
    for rest in [
        "{ drawn, 1/2-1/2 } ( 1. d4 1-0 ) 2. d4 0-1",
        "{White won 1-0} (1. d4 1-0) 1-0",
        "{drawn}1/2-1/2",
        "1-0{resigns}",
        "; 1-0 and {\n2. d4 *",
    ] {
        let games = read(&format!("1. e4 e4 {rest}\n\n1. c4 *\n"));
        assert_eq!(games.len(), 2, "{rest}: {games:?}");
        assert_eq!(san(games[1].as_ref().unwrap()), "c4", "{rest}");
    }
}

#[test]
fn read_of_huge_game_is_refused() {
    let long = [
        format!("1. e4 {{{}", "word ".repeat(400_000)),
        format!(
            "1. Nf3 Nf6 2. Ng1 Ng8 {}",
            "Nf3 Nf6 Ng1 Ng8 ".repeat(20_000)
        ),
        (0..2_000)
            .map(|number| format!("[T{number} \"\"]\n"))
            .collect(),
        format!("[White \"{}\"]", "A".repeat(2_000_000)),
    ];
    for text in long {
        let games = read(&text);
        let problem = games[0].as_ref().expect_err("too much").problem.clone();
        assert_eq!(problem, Problem::TooLong);
    }
    // Skipped text needs no memory.
    let text = format!(
        "1. e4 ({}) {} e5 *",
        "1. d4 {!} ".repeat(200_000),
        "$1 ".repeat(500_000)
    );
    assert_eq!(san(&read_one(&text)), "e4 e5");
}

#[test]
fn read_of_random_text_does_not_depend_on_chunks() {
    let mut random = fastrand::Rng::with_seed(3);
    let start = WITH_VARIATIONS.as_bytes();
    let letters = b"[]{}()\";%$*.\\\n \t01-2/KQNOxe4=#+\0\xff\xc3\xef";
    for _ in 0..3_000 {
        let mut text = start.to_vec();
        for _ in 0..random.usize(..30) {
            let place = random.usize(..text.len());
            match random.u8(..3) {
                0 => drop(text.remove(place)),
                1 => text.insert(place, letters[random.usize(..letters.len())]),
                _ => text[place] = random.u8(..),
            }
        }
        text.truncate(random.usize(..text.len()));
        let shown = |games: Read| -> Vec<_> {
            let game = |game: Result<Record, ReadError>| game.map(|record| written(&record));
            games.into_iter().map(game).collect()
        };
        let whole = shown(read_in_pieces(&text, usize::MAX));
        assert_eq!(shown(read_in_pieces(&text, 1)), whole);
        assert_eq!(shown(read_in_pieces(&text, random.usize(1..50))), whole);
    }
}
