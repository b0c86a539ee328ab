//! `knightwatch book grow`: an opening book from searches of the engine.
//!
//! A tree grows from the start position for White, and one for Black. At each position a search gives several lines. The
//! own side keeps the moves whose scores are near the best, with weights by their scores; of the opponent's moves those
//! that lose a little more are followed, too. The position that is most likely to be reached grows next. With one thread
//! and a number of nodes the result depends on nothing else.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;

use anyhow::Context;

use super::options::GrowOptions;
use crate::progress::Progress;
use knightwatch_book::{Builder, GameOptions, write_book};
use knightwatch_chess::{Color, Game, Move};
use knightwatch_engine::{Bound, Engine, EngineOptions, Limits, Score, SearchInfo, Task};
use knightwatch_util::atomic_file;

/// Size of the hash table in MiB.
const HASH_MIB: usize = 16;
/// Weight of the best move; one at the end of the margin has 1.
const BEST_WEIGHT: u16 = 100;
/// Margin for the moves of the opponent, in margins for own moves.
const OPPONENT_MARGIN: u32 = 3;
/// Score in centipawns beyond which a line ends: such games need no book.
const DECIDED: i32 = 600;
/// Score of a mate now.
const MATE: i32 = 100_000;

/// A position to be searched, for the book of `own`.
struct Leaf {
    game: Game,
    own: Color,
    /// Probability that the game is reached if both sides choose by the weights.
    probability: f64,
}

/// Moves with their scores in centipawns, best first; those of the last iteration that was completed.
type Lines = Vec<(Move, i32)>;

/// Grows a book, writes it, and prints a summary.
///
/// # Errors
/// When no position has a move for the book, or it cannot be written.
pub fn run(options: &GrowOptions, out: &mut impl Write) -> anyhow::Result<()> {
    atomic_file::check_directory(&options.output)
        .with_context(|| format!("cannot write the book {}", options.output.display()))?;
    let mut progress = Progress::default();
    let (builder, searches) = grow(options, |searches| {
        progress.show(|| format!("{searches} of {} positions", options.positions));
    });
    progress.clear();
    let output: &Path = &options.output;
    let content = write_book(builder, output).context("cannot grow a book")?;
    writeln!(
        out,
        "{}: {content} from {searches} searches of {} nodes",
        output.display(),
        options.nodes
    )?;
    Ok(())
}

/// The moves of the book, and the number of searches.
fn grow(options: &GrowOptions, mut on_search: impl FnMut(usize)) -> (Builder, usize) {
    let engine = Engine::new(EngineOptions {
        hash_mib: HASH_MIB,
        threads: 1,
    });
    let mut builder = Builder::with_games(GameOptions {
        variant: options.variant,
        ..GameOptions::default()
    });
    let mut searched: HashMap<u64, Lines> = HashMap::new();
    let mut grown = HashSet::new();
    let mut recorded = HashSet::new();
    let mut leaves = Vec::new();
    let mut open = BinaryHeap::new();
    let add = |leaves: &mut Vec<Leaf>, leaf: Leaf| {
        // Probabilities are not negative, so their bits are in their order.
        let order = (leaf.probability.to_bits(), Reverse(leaves.len()));
        leaves.push(leaf);
        order
    };
    for own in Color::ALL {
        let leaf = Leaf {
            game: Game::new(options.variant.start()),
            own,
            probability: 1.0,
        };
        open.push(add(&mut leaves, leaf));
    }
    while let Some((_, Reverse(number))) = open.pop() {
        let Leaf {
            game,
            own,
            probability,
        } = &leaves[number];
        let (game, own, probability) = (game.clone(), *own, *probability);
        let position = game.position();
        if !grown.insert((position.key(), own)) || game.termination().is_some() {
            continue;
        }
        let count = searched.len();
        let lines = match searched.get(&position.key()) {
            Some(lines) => lines,
            None if count >= options.positions => continue,
            None => {
                let lines = search(&engine, &game, options);
                on_search(count + 1);
                searched.entry(position.key()).or_insert(lines)
            }
        };
        let is_own = position.turn() == own;
        let moves = choices(
            lines,
            if is_own {
                options.margin
            } else {
                options.margin * OPPONENT_MARGIN
            },
        );
        // A drop that is best cannot be in a book, and the next best move should not be.
        if is_own && moves.first().is_none_or(|(mv, _)| mv.dropped().is_some()) {
            continue;
        }
        let moves: Vec<_> = moves
            .into_iter()
            .filter(|(mv, _)| !is_own || mv.dropped().is_none())
            .collect();
        if is_own && recorded.insert(position.book_key()) {
            for (mv, weight) in &moves {
                builder.add_move(position, *mv, *weight);
            }
        }
        let is_decided = lines
            .first()
            .is_some_and(|(_, score)| score.abs() > DECIDED);
        if is_decided || game.moves().len() + 1 >= options.plies as usize {
            continue;
        }
        let total: f64 = moves.iter().map(|(_, weight)| f64::from(*weight)).sum();
        for (mv, weight) in moves {
            let mut game = game.clone();
            game.play(mv);
            let leaf = Leaf {
                game,
                own,
                probability: probability * f64::from(weight) / total,
            };
            open.push(add(&mut leaves, leaf));
        }
    }
    (builder, searched.len())
}

/// The moves that lose at most `margin` centipawns, with their weights.
fn choices(lines: &[(Move, i32)], margin: u32) -> Vec<(Move, u16)> {
    let best = lines.first().map_or(0, |(_, score)| *score);
    let weight = |(mv, score): &(Move, i32)| {
        let loss = best.abs_diff(*score);
        let missing = u64::from(BEST_WEIGHT - 1) * u64::from(loss) / u64::from(margin.max(1));
        (loss <= margin).then(|| (*mv, BEST_WEIGHT - missing as u16))
    };
    lines.iter().filter_map(weight).collect()
}

/// Searches a position on its own: what was searched before has no influence.
fn search(engine: &Engine, game: &Game, options: &GrowOptions) -> Lines {
    engine.new_game();
    let (sender, receiver) = mpsc::channel();
    let done = sender.clone();
    let _running = engine.start(Task {
        game_id: 0,
        game: game.clone(),
        limits: Limits {
            nodes: Some(options.nodes),
            multi_pv: options.lines,
            ..Limits::default()
        },
        on_info: Box::new(move |info| drop(sender.send(Some(info.clone())))),
        on_done: Box::new(move |_| drop(done.send(None))),
    });
    let count = options.lines.min(game.position().legal_moves().len());
    let mut complete = Vec::new();
    // By depth, since the last iteration may be unfinished.
    let mut iterations: BTreeMap<u32, Lines> = BTreeMap::new();
    while let Ok(Some(info)) = receiver.recv() {
        let SearchInfo {
            mv,
            score,
            depth,
            bound,
            multipv,
            ..
        } = info;
        let (Some(mv), Bound::Exact) = (mv, bound) else {
            continue;
        };
        let lines = iterations.entry(depth).or_default();
        if multipv == lines.len() + 1 {
            lines.push((mv, centipawns(score)));
        }
        if lines.len() == count {
            complete.clone_from(lines);
        }
    }
    complete
}

fn centipawns(score: Score) -> i32 {
    match score {
        Score::Centipawns(score) => score,
        Score::Mate(moves) if moves > 0 => MATE - moves,
        Score::Mate(moves) => -MATE - moves,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_book::Book;
    use knightwatch_chess::Variant;

    fn options(variant: Variant) -> GrowOptions {
        GrowOptions {
            variant,
            nodes: 2_000,
            plies: 6,
            positions: 40,
            lines: 3,
            margin: 30,
            output: "unused".into(),
        }
    }

    fn book(options: &GrowOptions) -> Book {
        let (builder, searches) = grow(options, |_| {});
        assert!(searches <= options.positions, "{searches}");
        Book::from_bytes("grown", builder.finish().unwrap()).unwrap()
    }

    #[test]
    fn grown_books_are_bounded_and_the_same_again() {
        for variant in [Variant::Atomic, Variant::Crazyhouse, Variant::RacingKings] {
            let options = options(variant);
            let (one, two) = (book(&options), book(&options));
            assert!(one.records().eq(two.records()), "{variant}");
            let start = variant.start();
            let moves = one.entries(&start);
            assert!((1..=3).contains(&moves.len()), "{variant}: {moves:?}");
            assert_eq!(moves[0].weight, BEST_WEIGHT, "{variant}");
            // Black has an answer to the best move, and no line is longer than asked.
            assert!(
                !one.entries(&start.after(moves[0].mv)).is_empty(),
                "{variant}"
            );
            let mut game = Game::new(start);
            while let Some(entry) = one.entries(game.position()).first() {
                game.play(entry.mv);
            }
            assert!(game.moves().len() <= 6, "{variant}");
        }
    }

    #[test]
    fn choices_weigh_moves_by_their_loss() {
        let moves = Variant::Standard.start().legal_moves();
        let lines = [
            (moves[0], 20),
            (moves[1], 10),
            (moves[2], -10),
            (moves[3], -11),
        ];
        let expected = [(moves[0], 100), (moves[1], 67), (moves[2], 1)];
        assert_eq!(choices(&lines, 30), expected);
        assert_eq!(choices(&lines, 0), expected[..1]);
        assert_eq!(choices(&[], 30), []);
    }
}
