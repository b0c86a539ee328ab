//! Books compared with those that Polyglot builds from the same games, and read by python-chess.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use knightwatch::book::{Book, Builder, GameOptions, Record};
use knightwatch::chess::pgn::{self, Outcome, Tags};
use knightwatch::chess::{CastlingNotation, Color, Game, Position, Role, Variant};

use crate::common::{python_with, skip};

/// Path of the installed `polyglot`, if any. Debian installs it where not every search path looks.
fn polyglot() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths)
        .chain([PathBuf::from("/usr/games")])
        .map(|path| path.join("polyglot"))
        .find(|path| path.is_file())
}

/// Games with many shared positions: plays one of the first four moves, most often the first.
fn games(count: usize, seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut text = String::new();
    for _ in 0..count {
        let mut game = Game::new(Position::startpos());
        while game.moves().len() < 120 && game.termination().is_none() {
            let mut moves = game.position().legal_moves();
            // Captures, castling and checks first, so that all kinds of moves occur.
            let position = game.position();
            moves.sort_by_key(|&mv| {
                let rare = mv.is_noisy() || mv.is_castle() || position.gives_check(mv);
                (!rare, mv.bits().wrapping_mul(40_503))
            });
            let choice = random.usize(..4).min(random.usize(..4));
            game.play(moves[choice.min(moves.len() - 1)]);
        }
        let outcomes = [
            Outcome::Win(Color::White),
            Outcome::Win(Color::Black),
            Outcome::Draw,
            Outcome::Unknown,
        ];
        let outcome = outcomes[random.usize(..outcomes.len())];
        let mut tags = Tags::default();
        tags.set("Result", outcome.to_string());
        text += &pgn::write(&tags, &game, &[], outcome);
        text.push('\n');
    }
    text
}

/// The records of a book, sorted by weight and move within a position: Polyglot leaves equal ones in any order.
fn records(path: &Path) -> Vec<(u64, u16, u16)> {
    let book = Book::open(path).unwrap();
    let record = |record: Record| (record.key, u16::MAX - record.weight, record.mv);
    let mut records: Vec<_> = book.records().map(record).collect();
    records.sort_unstable();
    records
}

fn build(arguments: &[&str], directory: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["book", "build", "games.pgn", "-o", "ours.bin"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn book_of_games_matches_polyglot() {
    let Some(polyglot) = polyglot() else {
        return skip(
            "polyglot",
            "polyglot is not installed (apt install polyglot)",
        );
    };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("games.pgn"), games(1_500, 11)).unwrap();
    for (min_games, max_ply) in [("1", "200"), ("3", "40"), ("10", "9")] {
        build(
            &["--min-games", min_games, "--max-ply", max_ply],
            directory.path(),
        );
        let made = Command::new(&polyglot)
            .args(["make-book", "-pgn", "games.pgn", "-bin", "theirs.bin"])
            .args(["-min-game", min_games, "-max-ply", max_ply])
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let ours = records(&directory.path().join("ours.bin"));
        let theirs = records(&directory.path().join("theirs.bin"));
        assert!(ours.len() > 20, "{}: {made:?}", ours.len());
        assert_eq!(ours.len(), theirs.len(), "at least {min_games} games");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "at least {min_games} games");
        }
    }
}

#[test]
fn books_of_variants_are_read_by_python_chess() {
    let Some(python) = python_with("chess") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let (mut lines, mut positions) = (String::new(), 0);
    for variant in Variant::ALL {
        let mut builder = Builder::with_games(GameOptions {
            variant,
            ..GameOptions::default()
        });
        for _ in 0..40 {
            let mut game = Game::new(variant.start());
            lines += variant.uci();
            while game.moves().len() < 150 && game.termination().is_none() {
                let mut moves = game.position().legal_moves();
                random.shuffle(&mut moves);
                // Captures and promotions often, so that pockets fill and all kinds of moves occur.
                let noisy = moves.iter().find(|mv| mv.is_noisy() || mv.is_castle());
                let mv = *noisy.filter(|_| random.bool()).unwrap_or(&moves[0]);
                builder.add_move(game.position(), mv, 1);
                positions += usize::from(mv.dropped() != Some(Role::Pawn));
                lines += &format!(" {}", mv.uci(CastlingNotation::Standard));
                game.play(mv);
            }
            lines.push('\n');
        }
        let file = directory.path().join(format!("{}.bin", variant.uci()));
        std::fs::write(file, builder.finish().unwrap()).unwrap();
    }
    let mut reader = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/polyglot.py"))
        .arg(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = reader.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    let read = reader.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success(), "{printed}");
    let count = String::from_utf8(read.stdout).unwrap();
    assert_eq!(count.trim(), positions.to_string());
    assert!(positions > 10_000, "{positions}");
}

#[test]
fn book_of_a_variant_is_built_and_grown() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
            .arg("book")
            .args(arguments)
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let games = "[Variant \"Atomic\"]\n\n1. Nf3 f6 *\n\n[Variant \"Standard\"]\n\n1. e4 e5 *\n";
    std::fs::write(directory.path().join("games.pgn"), games).unwrap();
    let arguments = [
        "build",
        "games.pgn",
        "--variant",
        "atomic",
        "--min-games",
        "1",
    ];
    let [printed, warned] = run(&[&arguments[..], &["-o", "games.bin"]].concat());
    assert!(
        printed.contains("2 moves of 2 positions from 1 game"),
        "{printed}"
    );
    assert!(
        warned.contains("it is Standard; --variant standard"),
        "{warned}"
    );
    let [printed, _] = run(&["probe", "games.bin", "--variant", "atomic", "Nf3"]);
    assert!(printed.contains("f7f6"), "{printed}");

    let grow = [
        "grow",
        "--variant",
        "atomic",
        "--nodes",
        "500",
        "--positions",
        "8",
    ];
    for name in ["one.bin", "two.bin"] {
        let [printed, _] = run(&[&grow[..], &["-o", name]].concat());
        assert!(
            printed.contains("from 8 searches of 500 nodes"),
            "{printed}"
        );
    }
    let [one, two] =
        ["one.bin", "two.bin"].map(|name| std::fs::read(directory.path().join(name)).unwrap());
    assert_eq!(one, two);
    let book = Book::open(directory.path().join("one.bin")).unwrap();
    assert!(!book.entries(&Variant::Atomic.start()).is_empty());
}
