//! A match of two networks at a fixed number of nodes, to see which one to keep.
//!
//! Every opening is played twice with colours exchanged. Both sides search on one thread with a small table, so that the result
//! depends on the evaluation alone, not on its speed nor on the load of the machine.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::datagen::{HASH, STACK, by_rule, opening};
use super::options::DuelOptions;
use super::record::Outcome;
use crate::chess::{Color, Game};
use crate::engine::nnue::{self, Network};
use crate::engine::{Limits, Score, Setting, Solo};

/// Openings beyond this, in centipawns for either engine, are no games.
const OPENING_MAX: i32 = 200;
/// A game is over when both agree that it stands at this for so many plies.
const WIN_SCORE: i32 = 1500;
const WIN_PLIES: usize = 6;
const MAX_PLIES: usize = 400;

/// Plays the match and prints its result as it goes.
///
/// # Errors
/// When a network cannot be used or no thread be started.
pub fn run(options: &DuelOptions) -> anyhow::Result<()> {
    ensure!(
        options.nodes > 0 && options.games > 0,
        "--nodes and --games must be at least 1"
    );
    let networks = [load(&options.network)?, load(&options.against)?];
    for network in &networks {
        println!("{}", nnue::describe(network.as_deref()));
    }
    let threads = options
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .max(1);
    let next = AtomicU64::new(0);
    let pairs = options.games.div_ceil(2);
    let began = Instant::now();
    let mut score = Tally::default();
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let (sender, results) = mpsc::channel();
        for _ in 0..threads {
            let (sender, networks, next) = (sender.clone(), networks.clone(), &next);
            let play = move || {
                let mut players =
                    networks.map(|network| Solo::new(HASH, &Setting::with_network(network)));
                loop {
                    let pair = next.fetch_add(1, Ordering::Relaxed);
                    if pair >= pairs || sender.send(play_pair(&mut players, options, pair)).is_err()
                    {
                        return;
                    }
                }
            };
            Builder::new()
                .name("duel".into())
                .stack_size(STACK)
                .spawn_scoped(scope, play)
                .context("cannot start a thread")?;
        }
        drop(sender);
        let mut spoken = Instant::now();
        for points in results {
            score.add(points);
            if spoken.elapsed() > Duration::from_secs(10) {
                spoken = Instant::now();
                println!("{}", score.describe());
            }
        }
        Ok(())
    })?;
    println!(
        "{} in {:.0} s",
        score.describe(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn load(name: &str) -> anyhow::Result<Option<Arc<Network>>> {
    Ok(match name {
        "none" => None,
        "embedded" => Some(Network::embedded().context("this binary has no network")?),
        path => Some(Arc::new(Network::open(Path::new(path))?)),
    })
}

/// Two games from one opening; the first player's points in each: 0, 1 or 2.
fn play_pair(players: &mut [Solo; 2], options: &DuelOptions, pair: u64) -> [u8; 2] {
    let mut rng = fastrand::Rng::with_seed(options.seed << 32 | pair);
    let limits = Limits {
        soft_nodes: Some(options.nodes),
        nodes: Some(options.nodes * 8),
        ..Limits::default()
    };
    let longer = Limits {
        soft_nodes: Some(options.nodes * 4),
        nodes: Some(options.nodes * 32),
        ..Limits::default()
    };
    let start = loop {
        let Some(start) = opening(&mut rng, options.chess960) else {
            continue;
        };
        let game = Game::new(start.clone());
        let fair = players.iter_mut().all(|player| {
            player.new_game();
            matches!(player.think(&game, &longer).score, Score::Centipawns(cp) if cp.abs() <= OPENING_MAX)
        });
        if fair {
            break start;
        }
    };
    [Color::White, Color::Black].map(|first| {
        players.iter_mut().for_each(Solo::new_game);
        play(players, &limits, Game::new(start.clone()), first).points(first)
    })
}

/// One game, in which the first player has the colour `first`.
fn play(players: &mut [Solo; 2], limits: &Limits, mut game: Game, first: Color) -> Outcome {
    let mut winning = 0i32;
    for _ in 0..MAX_PLIES {
        if let Some(outcome) = by_rule(&game) {
            return outcome;
        }
        let turn = game.position().turn();
        let thought = players[usize::from(turn != first)].think(&game, limits);
        let Some(mv) = thought.mv else { break };
        let score = match thought.score {
            Score::Centipawns(cp) => cp,
            Score::Mate(moves) => {
                if moves > 0 {
                    WIN_SCORE
                } else {
                    -WIN_SCORE
                }
            }
        };
        let white = if turn.is_white() { score } else { -score };
        let side = i32::from(white >= WIN_SCORE) - i32::from(white <= -WIN_SCORE);
        winning = if side == 0 || winning.signum() == -side {
            side
        } else {
            winning + side
        };
        if winning.unsigned_abs() as usize >= WIN_PLIES {
            return if winning > 0 {
                Outcome::WhiteWins
            } else {
                Outcome::BlackWins
            };
        }
        game.play(mv);
    }
    Outcome::Draw
}

/// Results so far, of the first player.
#[derive(Default)]
struct Tally {
    /// Lost, drawn, won.
    games: [u64; 3],
    /// Pairs by their points, 0 to 4.
    pairs: [u64; 5],
}

impl Tally {
    fn add(&mut self, points: [u8; 2]) {
        points
            .iter()
            .for_each(|points| self.games[usize::from(*points)] += 1);
        self.pairs[usize::from(points[0] + points[1])] += 1;
    }

    /// Mean score (0.0 to 1.0) and its standard error, from the pairs, whose two games are not independent.
    fn mean(&self) -> (f64, f64) {
        let count = self.pairs.iter().sum::<u64>().max(1) as f64;
        let moment = |power: i32| {
            let sum: f64 = self
                .pairs
                .iter()
                .enumerate()
                .map(|(points, pairs)| (points as f64 / 4.0).powi(power) * *pairs as f64)
                .sum();
            sum / count
        };
        let mean = moment(1);
        (mean, ((moment(2) - mean * mean).max(0.0) / count).sqrt())
    }

    fn describe(&self) -> String {
        let (mean, error) = self.mean();
        let elo = |score: f64| -400.0 * (1.0 / score.clamp(1e-3, 1.0 - 1e-3) - 1.0).log10();
        let margin = (elo(mean + 1.96 * error) - elo(mean - 1.96 * error)) / 2.0;
        let [lost, drawn, won] = self.games;
        format!(
            "{} games: +{won} ={drawn} -{lost}, {:.1} %, Elo {:+.0} +- {margin:.0}",
            lost + drawn + won,
            mean * 100.0,
            elo(mean)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_knows_elo_and_its_error() {
        let mut tally = Tally::default();
        (0..100).for_each(|_| tally.add([2, 1]));
        (0..100).for_each(|_| tally.add([2, 0]));
        let (mean, error) = tally.mean();
        assert!((mean - 0.625).abs() < 1e-9 && (error - 0.125 / 200f64.sqrt()).abs() < 1e-9);
        assert!(
            tally
                .describe()
                .starts_with("400 games: +200 =100 -100, 62.5 %, Elo +89"),
            "{}",
            tally.describe()
        );
    }

    #[test]
    fn equal_players_score_half() {
        let options = DuelOptions {
            network: "none".into(),
            against: "none".into(),
            nodes: 100,
            games: 4,
            threads: Some(1),
            chess960: 50,
            seed: 1,
        };
        let mut players = [(); 2].map(|()| Solo::new(1, &Setting::with_network(None)));
        for pair in 0..2 {
            let points = play_pair(&mut players, &options, pair);
            assert_eq!(
                points[0] + points[1],
                2,
                "the same game twice, with colours exchanged"
            );
        }
    }
}
