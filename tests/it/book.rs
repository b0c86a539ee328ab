//! Books of games compared with those that Polyglot builds from the same games.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use knightwatch::book::{Book, Record};
use knightwatch::chess::pgn::{self, Outcome, Tags};
use knightwatch::chess::{Color, Game, Position};

use crate::common::skip;

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
