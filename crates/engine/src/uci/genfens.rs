//! The command `genfens N seed S book B`: starting positions for data generation, as OpenBench asks for them. Further words,
//! which OpenBench passes on from the operator, have no effect.

use std::collections::HashSet;
use std::path::Path;

use super::Output;
use super::parse::number;
use crate::{Limits, Searcher, Setting, Wdl, material};
use fastrand::Rng;
use knightwatch_chess::{Epd, Game, Position};
use knightwatch_util::input;

/// Random plies from the start position; one more with a probability of 50 %, so that either side may be to move.
const RANDOM_PLIES: usize = 8;

/// Random plies from a position of a book, likewise one more at times.
const RANDOM_PLIES_FROM_BOOK: usize = 4;

/// Positions in which a side wins with a higher probability, in permille, are decided.
const MAX_WIN_PERMILLE: u32 = 900;

/// Nodes to search for the probability.
const NODES: u64 = 1_000;
const HASH_MIB: usize = 1;

/// Random positions that are tried before giving up.
const MAX_TRIES: u32 = 1_000;

const MAX_COUNT: u32 = 10_000_000;

/// Size limit of a book, in bytes.
const MAX_BOOK_BYTES: u64 = 512 << 20;

/// Prints an `info string genfens FEN` for each position. The words are those after `genfens`.
///
/// # Errors
///
/// If an argument is wrong, the book cannot be read, or it has too few positions that are not decided.
pub(super) fn run(words: &[&str], setting: &Setting, output: &Output) -> Result<(), String> {
    let [count, "seed", seed, "book", book, ref more @ ..] = *words else {
        return Err(
            "genfens: expected `genfens N seed S book None` or a file instead of None".into(),
        );
    };
    let count: u32 = number("genfens", count)?;
    if count == 0 || count > MAX_COUNT {
        return Err(format!(
            "genfens: expected 1 to {MAX_COUNT} positions, not {count}"
        ));
    }
    // Any other word is for other engines.
    let is_variant =
        |pair: &[&str]| pair[0] == "variant" && !["chess", "standard"].contains(&pair[1]);
    if more.windows(2).any(is_variant) {
        return Err("genfens: has positions of standard chess only".into());
    }
    let mut rng = Rng::with_seed(number("genfens: seed", seed)?);
    let book = match book.eq_ignore_ascii_case("none") {
        true => None,
        false => Some(Book::open(book)?),
    };
    let mut searcher = Searcher::new(HASH_MIB, setting);
    let mut seen = HashSet::new();
    for found in 0..count {
        let mut position = None;
        for _ in 0..MAX_TRIES {
            let start = match &book {
                Some(book) => book.draw(&mut rng)?,
                None => Position::startpos(),
            };
            let plies = if book.is_some() {
                RANDOM_PLIES_FROM_BOOK
            } else {
                RANDOM_PLIES
            };
            position = play_randomly(start, plies + rng.usize(0..2), &mut rng)
                .filter(|position| !seen.contains(&position.key()))
                .filter(|position| !is_decided(position, &mut searcher));
            if position.is_some() {
                break;
            }
        }
        let position = position.ok_or_else(|| {
            format!("genfens: found only {found} different positions that are not decided")
        })?;
        seen.insert(position.key());
        output.info_string(&format!("genfens {}", position.fen()));
        if !output.is_open() {
            break;
        }
    }
    Ok(())
}

/// Plays random moves; returns `None` if the game ends.
fn play_randomly(mut position: Position, plies: usize, rng: &mut Rng) -> Option<Position> {
    for _ in 0..plies {
        position.play(rng.choice(position.legal_moves().iter().copied())?);
    }
    let game = Game::new(position);
    game.termination()
        .is_none()
        .then(|| game.position().clone())
}

fn is_decided(position: &Position, searcher: &mut Searcher) -> bool {
    let limits = Limits {
        nodes: Some(NODES),
        ..Limits::default()
    };
    // The result must depend on the position alone.
    searcher.new_game();
    let score = searcher.search(&Game::new(position.clone()), &limits).score;
    let [win, _, loss] = Wdl::of(score, material(position)).permille();
    win.max(loss) > MAX_WIN_PERMILLE
}

/// Lines of a file of EPD or FEN.
struct Book {
    name: String,
    text: String,
    /// Numbers of lines with their starts, without blank lines and comments.
    lines: Vec<(u32, usize)>,
}

impl Book {
    fn open(name: &str) -> Result<Book, String> {
        let text = input::read_text(Path::new(name), MAX_BOOK_BYTES)
            .map_err(|error| format!("genfens: cannot read {name}: {error}"))?;
        let mut lines = Vec::new();
        let mut start = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                lines.push((number, start));
            }
            start += line.len();
        }
        if lines.is_empty() {
            return Err(format!("genfens: {name} has no positions"));
        }
        Ok(Book {
            name: name.to_owned(),
            text,
            lines,
        })
    }

    /// A random position. Only its line is parsed: books have millions of lines.
    fn draw(&self, rng: &mut Rng) -> Result<Position, String> {
        let (number, start) = self.lines[rng.usize(0..self.lines.len())];
        let line = self.text[start..].lines().next().unwrap_or_default();
        match Epd::parse(line) {
            Ok(epd) => Ok(epd.position),
            Err(error) => Err(format!("genfens: {}:{number}: {error}", self.name)),
        }
    }
}
