use std::fs;

use super::*;
use knightwatch_chess::Game;

const LINES: &str = include_str!("repertoire.txt");

fn record(position: &Position, san: &str, weight: u16) -> Record {
    Record {
        key: position.book_key(),
        mv: Record::write_move(position.parse_san(san).unwrap()).unwrap(),
        weight,
        learn: 0,
    }
}

fn book(records: &[Record]) -> Result<Book, Error> {
    let bytes: Vec<u8> = records.iter().flat_map(|r| r.to_bytes()).collect();
    Book::from_bytes("test.bin", bytes)
}

/// How often each move is picked in `times` tries.
fn picks(book: &Book, options: &PickOptions, times: u32) -> Vec<(String, u32)> {
    let start = Position::startpos();
    let mut rng = fastrand::Rng::with_seed(7);
    let mut counts: Vec<_> = book.entries(&start).iter().map(|e| (e.mv, 0)).collect();
    for _ in 0..times {
        if let Some(mv) = book.pick(&start, options, &mut rng) {
            counts.iter_mut().find(|(known, _)| *known == mv).unwrap().1 += 1;
        }
    }
    let named = |(mv, count): &(Move, u32)| (start.san(*mv), *count);
    counts.iter().map(named).collect()
}

fn four_moves() -> Book {
    let start = Position::startpos();
    let moves = [("g4", 0), ("c4", 1), ("e4", 6), ("d4", 3)];
    book(&moves.map(|(san, weight)| record(&start, san, weight))).unwrap()
}

#[test]
fn entries_of_known_positions_are_found() {
    let mut position = Position::startpos();
    let mut records = Vec::new();
    let mut visited = Vec::new();
    for san in "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7".split(' ') {
        records.push(record(&position, san, 5));
        visited.push((position.clone(), san));
        position.play(position.parse_san(san).unwrap());
    }
    records.sort_by_key(|record| record.key);
    let book = book(&records).unwrap();
    for (position, san) in visited {
        let entries = book.entries(&position);
        assert_eq!(entries.len(), 1);
        assert_eq!(position.san(entries[0].mv), san);
    }
    assert_eq!(book.entries(&position), []);
    assert_eq!(
        book.pick(
            &position,
            &PickOptions::default(),
            &mut fastrand::Rng::with_seed(1)
        ),
        None
    );
}

#[test]
fn entries_are_sorted_by_weight() {
    let start = Position::startpos();
    let entries = four_moves().entries(&start);
    let weights: Vec<_> = entries.iter().map(|entry| entry.weight).collect();
    assert_eq!(weights, [6, 3, 1, 0]);
}

#[test]
fn entries_skip_illegal_moves() {
    let start = Position::startpos();
    let good = record(&start, "e4", 1);
    // All zeros, a black pawn, a premature promotion, two moves with undefined bits.
    let bad = [0, 0x0d24, 0x431c, 0x831c, 0xf31c].map(|mv| Record { mv, ..good });
    let mut records = bad.to_vec();
    records.insert(2, good);
    let book = book(&records).unwrap();
    let entries = book.entries(&start);
    assert_eq!(entries.len(), 1);
    assert_eq!(start.san(entries[0].mv), "e4");
}

#[test]
fn pick_best_returns_largest_weight() {
    let options = PickOptions {
        selection: Selection::Best,
        min_weight: 1,
    };
    let counts = picks(&four_moves(), &options, 100);
    assert_eq!(counts[0], ("e4".to_owned(), 100));
}

#[test]
fn pick_weighted_follows_the_weights() {
    let options = PickOptions {
        selection: Selection::Weighted,
        min_weight: 0,
    };
    let counts = picks(&four_moves(), &options, 10_000);
    for ((san, count), expected) in counts.into_iter().zip([6000, 3000, 1000, 0]) {
        assert!(u32::abs_diff(expected, count) < 200, "{san}: {count}");
    }
}

#[test]
fn pick_uniform_ignores_the_weights() {
    let options = PickOptions {
        selection: Selection::Uniform,
        min_weight: 1,
    };
    let counts = picks(&four_moves(), &options, 9000);
    for ((san, count), expected) in counts.into_iter().zip([3000, 3000, 3000, 0]) {
        assert!(u32::abs_diff(expected, count) < 200, "{san}: {count}");
    }
}

#[test]
fn pick_ignores_moves_below_min_weight() {
    for selection in [Selection::Best, Selection::Weighted, Selection::Uniform] {
        let options = PickOptions {
            selection,
            min_weight: 6,
        };
        let counts = picks(&four_moves(), &options, 100);
        assert_eq!(counts[0], ("e4".to_owned(), 100), "{selection:?}");
        let options = PickOptions {
            selection,
            min_weight: 7,
        };
        let counts = picks(&four_moves(), &options, 100);
        assert!(counts.iter().all(|(_, count)| *count == 0), "{selection:?}");
    }
}

#[test]
fn pick_of_weight_0_needs_min_weight_0() {
    let start = Position::startpos();
    let book = book(&[record(&start, "g4", 0)]).unwrap();
    let pick = |selection, min_weight| {
        let mut rng = fastrand::Rng::with_seed(1);
        book.pick(
            &start,
            &PickOptions {
                selection,
                min_weight,
            },
            &mut rng,
        )
    };
    assert!(pick(Selection::Best, 0).is_some());
    assert!(pick(Selection::Uniform, 0).is_some());
    assert_eq!(pick(Selection::Weighted, 0), None);
    assert_eq!(pick(Selection::Best, 1), None);
}

#[test]
fn selection_parses_its_names() {
    assert_eq!("best".parse(), Ok(Selection::Best));
    assert_eq!("weighted".parse(), Ok(Selection::Weighted));
    assert_eq!("uniform".parse(), Ok(Selection::Uniform));
    let error = "Best".parse::<Selection>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"Best\" is not one of best, weighted, uniform"
    );
}

#[test]
fn open_of_damaged_file_names_path_and_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.bin");
    let open = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = Book::open(&path).unwrap_err().to_string();
        assert!(error.contains("broken.bin"), "{error}");
        error
    };
    let whole = build("e4 e5\nd4 d5").unwrap();
    let cut = open(&whole[..whole.len() - 5]);
    assert!(
        cut.contains("its size of 59 bytes is not a multiple of 16"),
        "{cut}"
    );
    assert!(open(&[7; 3]).contains("its size of 3 bytes"));
    let text = include_bytes!("repertoire.txt");
    let text = &text[..text.len() / Record::SIZE * Record::SIZE];
    assert!(open(text).contains("out of order"));
    assert!(open(b"").contains("empty"));
    fs::write(&path, whole).unwrap();
    assert_eq!(Book::open(&path).unwrap().records().len(), 4);
}

/// Some programs append what they learn.
#[test]
fn from_bytes_with_unsorted_tail_is_sorted() {
    let lines: Vec<&str> = LINES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    let (head, tail) = lines.split_at(lines.len() * 3 / 4);
    let [head, tail] = [head, tail].map(|lines| build(&lines.join("\n")).unwrap());
    let sorted = Book::from_bytes("tail", tail.clone()).unwrap();
    let mut tail: Vec<[u8; Record::SIZE]> = tail.as_chunks().0.to_vec();
    fastrand::Rng::with_seed(5).shuffle(&mut tail);
    let book = Book::from_bytes("both", [head.as_slice(), tail.as_flattened()].concat()).unwrap();
    assert!(book.records().is_sorted_by_key(|record| record.key));
    for record in sorted.records() {
        assert!(book.records().any(|other| other == record));
    }
    let start = Position::startpos();
    assert!(book.entries(&start).len() > sorted.entries(&start).len());
}

#[test]
fn open_of_unreadable_file_names_path() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().join("missing.bin"), dir.path().to_owned()] {
        let error = Book::open(&path).unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }));
        assert!(error.to_string().contains(path.to_str().unwrap()));
    }
}

#[test]
fn repertoire_has_enough_long_lines() {
    let plies = |line: &str| {
        let moves = line.split(" # ").next().unwrap_or_default();
        moves
            .split(' ')
            .filter(|word| word.starts_with(char::is_alphabetic))
            .count()
    };
    let lines = LINES.lines().filter(|line| !line.starts_with('#'));
    assert!(lines.filter(|line| plies(line) >= 10).count() >= 100);
}

#[test]
fn embedded_book_varies_and_answers_openings() {
    let book = Book::embedded();
    let mut rng = fastrand::Rng::with_seed(3);
    let mut games = std::collections::HashSet::new();
    for _ in 0..100 {
        let mut game = Game::new(Position::startpos());
        while let Some(mv) = book.pick(game.position(), &PickOptions::default(), &mut rng) {
            game.play(mv);
        }
        assert!(game.moves().len() >= 10, "{}", game.position().fen());
        games.insert(game.moves()[..10].to_vec());
    }
    assert!(games.len() >= 40, "{}", games.len());
}

#[test]
fn embedded_books_of_variants_have_legal_moves_for_both_sides() {
    for variant in &Variant::ALL[1..] {
        let book = Book::embedded_for(*variant);
        assert!((100..2_000).contains(&book.records().len()), "{book:?}");
        // All positions that the book reaches when it plays both sides.
        let mut open = vec![Game::new(variant.start())];
        let mut seen = std::collections::HashSet::new();
        let mut deepest = 0;
        while let Some(game) = open.pop() {
            let entries = book.entries(game.position());
            let records = book.records();
            let records = records.filter(|record| record.key == game.position().book_key());
            assert_eq!(entries.len(), records.count(), "{}", game.position().fen());
            deepest = deepest.max(game.moves().len());
            for entry in entries {
                assert!(entry.weight > 0 && entry.mv.dropped().is_none());
                let mut next = game.clone();
                next.play(entry.mv);
                if seen.insert(next.position().key()) {
                    open.push(next);
                }
            }
        }
        assert!(deepest >= 6, "{variant}: {deepest}");
    }
}

#[test]
fn embedded_book_matches_the_repertoire() {
    let built = build(LINES).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        built == include_bytes!("repertoire.bin"),
        "rebuild it: knightwatch book build crates/book/src/repertoire.txt -o crates/book/src/repertoire.bin"
    );
}
