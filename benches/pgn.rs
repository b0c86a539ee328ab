//! Speed of reading PGN, including move validation: `cargo bench --bench pgn`.

use std::time::{Duration, Instant};

use knightwatch::book::Book;
use knightwatch::chess::pgn::{self, Eval, MoveComment, Outcome, Tags};
use knightwatch::chess::{Game, Position};

const GAMES: usize = 4_000;
const ROUNDS: usize = 9;

fn main() {
    let bare = text(false);
    let annotated = text(true);
    for (name, text) in [("bare", bare), ("with clocks and evaluations", annotated)] {
        let mut times: Vec<(Duration, usize)> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                let plies = read(&text);
                (start.elapsed(), plies)
            })
            .collect();
        times.sort();
        let (time, plies) = times[ROUNDS / 2];
        println!(
            "{name}: {:.2} million plies per second, {:.0} MB per second ({plies} plies, median of {ROUNDS})",
            plies as f64 / time.as_secs_f64() / 1e6,
            text.len() as f64 / time.as_secs_f64() / 1e6,
        );
    }
}

/// PGN of games with book openings and random continuations, of 80 plies each.
fn text(annotated: bool) -> String {
    let book = Book::embedded();
    let mut random = fastrand::Rng::with_seed(1);
    let mut text = String::new();
    for number in 0..GAMES {
        let mut game = Game::new(Position::startpos());
        while game.moves().len() < 80 && game.termination().is_none() {
            let mv = book.pick(game.position(), &Default::default(), &mut random);
            let moves = game.position().legal_moves();
            game.play(mv.unwrap_or_else(|| moves[random.usize(..moves.len())]));
        }
        let mut tags = Tags::default();
        tags.set("Event", "Rated blitz game");
        tags.set("Site", format!("https://lichess.org/{number:08}"));
        tags.set("White", "Knightwatch");
        tags.set("WhiteElo", "2400");
        let note = |_| MoveComment {
            clock: Some(Duration::from_secs(random.u64(..300))),
            eval: Some(Eval::Centipawns(random.i32(-300..300))),
            ..MoveComment::default()
        };
        let notes: Vec<MoveComment> = if annotated {
            game.moves().iter().map(note).collect()
        } else {
            Vec::new()
        };
        text += &pgn::write(&tags, &game, &notes, Outcome::Draw);
        text.push('\n');
    }
    text
}

/// Reads all games; returns their number of plies.
fn read(text: &str) -> usize {
    let mut reader = pgn::Reader::new();
    let mut plies = 0;
    for mut piece in text.as_bytes().chunks(1 << 16) {
        while let Some(record) = reader.feed(&mut piece) {
            plies += record.expect("a game written by `text`").game.moves().len();
        }
    }
    assert!(reader.finish().is_none());
    plies
}
