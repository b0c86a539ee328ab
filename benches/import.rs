//! Speed of importing 10,000 games of up to 80 plies from PGN: `cargo bench --bench import [-- GAMES]`.

use std::error::Error;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use knightwatch::chess::pgn::{self, MoveComment, Outcome, Tags};
use knightwatch::chess::{Game, Position, Termination};
use knightwatch::import::{Options, Source, import_command};

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo passes `--bench`.
    let wanted = std::env::args().find_map(|argument| argument.parse().ok());
    let games: usize = wanted.unwrap_or(10_000);
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("games.pgn");
    fs::write(&file, text(games))?;
    let options = Options {
        source: Source::Files(vec![file]),
        since: None,
        records: directory.path().join("lichess.org.sqlite"),
        server: "https://lichess.org".to_owned(),
        accounts: vec!["Knightwatch".to_owned()],
    };
    for run in ["first", "again"] {
        let start = Instant::now();
        import_command(&options, &mut io::stdout(), &mut io::stderr())?;
        println!("{run}: {:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// PGN of random games with clocks.
fn text(games: usize) -> String {
    let mut random = fastrand::Rng::with_seed(1);
    let mut text = String::new();
    for number in 0..games {
        let mut game = Game::new(Position::startpos());
        while game.moves().len() < 80 && game.termination().is_none() {
            let moves = game.position().legal_moves();
            game.play(moves[random.usize(..moves.len())]);
        }
        let mut tags = Tags::default();
        tags.set("Event", "Rated blitz game");
        tags.set("Site", format!("https://lichess.org/{number:08}"));
        tags.set("Date", "2026.05.24");
        tags.set("White", "Knightwatch");
        tags.set("Black", format!("Rival{}", number % 200));
        tags.set("TimeControl", "180+2");
        let comment = |_| MoveComment {
            clock: Some(Duration::from_secs(random.u64(..300))),
            ..MoveComment::default()
        };
        let comments: Vec<MoveComment> = game.moves().iter().map(comment).collect();
        let outcome = match game.termination() {
            Some(Termination::Checkmate) => Outcome::Win(!game.position().turn()),
            _ => Outcome::Draw,
        };
        text += &pgn::write(&tags, &game, &comments, outcome);
        text.push('\n');
    }
    text
}
