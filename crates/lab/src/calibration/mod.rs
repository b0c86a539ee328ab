//! `knightwatch calibrate`: measures the Elo of the `strength` levels in games against each other and against an engine with
//! known levels. See `docs/strength.md`.
//!
//! Searches have no time limits, so the result does not depend on the machine or its load.

mod rating;
mod state;

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::ensure;

use self::rating::{MatchResult, Opponent, fit_ratings};
use self::state::State;
use super::contest::{pair, worker_pool};
use super::datagen::HASH_MIB;
use super::openings::Openings;
use super::options::{Anchor, CalibrateOptions};
use super::signal::stop_on_signal;
use super::uci_engine::UciEngine;
use crate::progress::Progress;
use knightwatch_chess::{Color, Game, Variant};
use knightwatch_engine::{Elo, Limits, Searcher, Setting, Strength};
use knightwatch_external::Go;
use knightwatch_util::match_stats::{EloEstimate, MatchStats};

/// A level and its opponent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pairing {
    /// Index into the levels.
    level: usize,
    opponent: PairingOpponent,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PairingOpponent {
    Level(usize),
    Anchor(Anchor),
}

impl Pairing {
    fn name(self, levels: &[Elo]) -> String {
        let level = levels[self.level];
        match self.opponent {
            PairingOpponent::Level(other) => format!("{level} - {}", levels[other]),
            PairingOpponent::Anchor(Anchor { elo, nodes }) => {
                format!("{level} - anchor {elo}@{nodes}")
            }
        }
    }

    /// The key of a pair of games in the state file.
    fn key(self, levels: &[Elo], pair: u64) -> String {
        format!("{}, pair {}", self.name(levels), pair + 1)
    }
}

/// Plays the games and prints the result, also of an interrupted run.
///
/// # Errors
/// When the other engine, the openings or the state file cannot be used, or a thread cannot be started.
pub fn run(options: &CalibrateOptions) -> anyhow::Result<()> {
    let mut levels = options.levels.clone();
    levels.sort_unstable();
    levels.dedup();
    let mut anchors = options.anchors.clone();
    anchors.sort_unstable();
    anchors.dedup();
    let pairings = pairings(&levels, &anchors, options.near);
    let has_anchor = |level: usize| {
        let mut own = pairings.iter().filter(|pairing| pairing.level == level);
        own.any(|pairing| matches!(pairing.opponent, PairingOpponent::Anchor(_)))
    };
    ensure!(
        (0..levels.len()).any(has_anchor),
        "no anchor is within {} Elo of a level",
        options.near
    );
    let openings = options.setup.openings(Variant::Standard, 0)?;
    let mut state = State::load_or_new(options)?;
    let mut stats = vec![MatchStats::default(); pairings.len()];
    let mut jobs = Vec::new();
    for pair in 0..options.games.div_ceil(2) {
        for (at, pairing) in pairings.iter().enumerate() {
            match state.get(&pairing.key(&levels, pair)) {
                Some(points) => stats[at].add(points),
                None => jobs.push((at, pair)),
            }
        }
    }
    let planned = 2 * pairings.len() as u64 * options.games.div_ceil(2);
    let stop = stop_on_signal();
    let taken = AtomicUsize::new(0);
    let next = || {
        let job = jobs.get(taken.fetch_add(1, Ordering::Relaxed)).copied();
        job.filter(|_| !stop.load(Ordering::Relaxed))
    };
    let worker = || {
        let mut engines = Engines::new(options);
        let (levels, pairings, openings) = (&levels, &pairings, &openings);
        move |(at, pair): (usize, u64)| {
            let points = engines.play(levels, pairings[at], openings, pair);
            (at, pair, points)
        }
    };
    let mut progress = Progress::default();
    let played = worker_pool::run(
        worker_pool::thread_count(options.setup.threads),
        next,
        worker,
        |(at, pair, points)| {
            let points = points?;
            stats[at].add(points);
            progress.show(|| {
                let games: u64 = stats.iter().map(MatchStats::count).sum();
                format!("{games} of {planned} games")
            });
            state.add(pairings[at].key(&levels, pair), points)
        },
    );
    progress.clear();
    let seconds = progress.elapsed().as_secs_f64();
    // Played games count, even after an error.
    if stats.iter().any(|stats| stats.count() > 0) {
        print!("{}", describe(&levels, &pairings, &stats));
        println!("in {seconds:.0} s");
    }
    played
}

/// Each level plays the next one and all anchors within `near` Elo.
fn pairings(levels: &[Elo], anchors: &[Anchor], near: u16) -> Vec<Pairing> {
    let pairings_of = |(level, elo): (usize, &Elo)| {
        let next = (level + 1 < levels.len()).then_some(PairingOpponent::Level(level + 1));
        let elo = elo.get();
        let known = anchors.iter().copied();
        let known = known.filter(move |anchor| anchor.elo.abs_diff(elo) <= near);
        let opponents = next.into_iter().chain(known.map(PairingOpponent::Anchor));
        opponents.map(move |opponent| Pairing { level, opponent })
    };
    levels.iter().enumerate().flat_map(pairings_of).collect()
}

/// Engines of one thread.
struct Engines<'a> {
    options: &'a CalibrateOptions,
    player: Searcher,
    opponent: Searcher,
    /// Started on first use.
    engine: Option<UciEngine>,
}

impl<'a> Engines<'a> {
    fn new(options: &'a CalibrateOptions) -> Engines<'a> {
        let solo = || Searcher::new(HASH_MIB, &Setting::default());
        Engines {
            options,
            player: solo(),
            opponent: solo(),
            engine: None,
        }
    }

    /// Plays two games from one opening; returns the level's half points in each.
    fn play(
        &mut self,
        levels: &[Elo],
        pairing: Pairing,
        openings: &Openings,
        pair: u64,
    ) -> anyhow::Result<[u8; 2]> {
        let start = pair::opening(openings, pair, &mut self.player);
        let mut points = [0; 2];
        for (points, first) in points.iter_mut().zip([Color::White, Color::Black]) {
            // Different seeds, so that both games of an opening differ.
            let seed =
                u64::from(self.options.setup.seed) << 32 | pair << 1 | u64::from(first.is_white());
            let limits_of = |level: usize| Limits {
                strength: Some(Strength {
                    elo: levels[level],
                    seed,
                }),
                ..Limits::default()
            };
            let player_limits = limits_of(pairing.level);
            let game = Game::new(start.clone());
            let outcome = match pairing.opponent {
                PairingOpponent::Level(level) => {
                    let opponent_limits = limits_of(level);
                    let search = |side: usize, game: &Game| {
                        let result = match side {
                            0 => self.player.search(game, &player_limits),
                            _ => self.opponent.search(game, &opponent_limits),
                        };
                        anyhow::Ok(result.mv.map(|mv| (mv, result.score)))
                    };
                    pair::play_game(search, game, first, &pair::CALIBRATION)?
                }
                PairingOpponent::Anchor(anchor) => {
                    let engine = match &mut self.engine {
                        Some(engine) => engine,
                        none => {
                            let engine = none.insert(UciEngine::start(&self.options.engine, &[])?);
                            engine.set_clamped("Threads", 1)?;
                            engine.set("UCI_LimitStrength", "true")?;
                            engine
                        }
                    };
                    engine.set("UCI_Elo", &anchor.elo.to_string())?;
                    engine.new_game(&start)?;
                    let nodes = Go {
                        nodes: Some(anchor.nodes),
                        ..Go::default()
                    };
                    let search = |side: usize, game: &Game| {
                        if side > 0 {
                            return engine.search(game, &nodes).map(Some);
                        }
                        let result = self.player.search(game, &player_limits);
                        Ok(result.mv.map(|mv| (mv, result.score)))
                    };
                    pair::play_game(search, game, first, &pair::CALIBRATION)?
                }
            };
            *points = outcome.points(first);
        }
        Ok(points)
    }
}

/// The results and the ratings, as text.
fn describe(levels: &[Elo], pairings: &[Pairing], stats: &[MatchStats]) -> String {
    let mut text = String::new();
    let mut results = Vec::new();
    let played = pairings.iter().zip(stats);
    for (pairing, stats) in played.filter(|(_, stats)| stats.count() > 0) {
        let opponent = match pairing.opponent {
            PairingOpponent::Level(level) => Opponent::Player(level),
            PairingOpponent::Anchor(anchor) => Opponent::Known(anchor.elo.into()),
        };
        let [lost, drawn, won] = stats.games;
        text += &format!("{}: +{won} ={drawn} -{lost}\n", pairing.name(levels));
        results.push(MatchResult {
            player: pairing.level,
            opponent,
            games: stats.count() as f64,
            points: won as f64 + drawn as f64 / 2.0,
        });
    }
    let ratings = fit_ratings(levels.len(), &results);
    text += "\nlevel   step   Elo\n";
    for (level, EloEstimate { value, error }) in levels.iter().zip(&ratings) {
        text += &format!(
            "{:5}   {:4.0}   {value:.0} +- {error:.0}\n",
            level.get(),
            level.step()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elos(numbers: &[i32]) -> Vec<Elo> {
        numbers.iter().map(|&elo| Elo::nearest(elo)).collect()
    }

    #[test]
    fn pairings_have_next_level_and_near_anchors() {
        let anchor = |elo| Anchor { elo, nodes: 1 };
        let levels = elos(&[1_000, 1_300, 1_600]);
        let found = pairings(&levels, &[anchor(1_350), anchor(1_700)], 150);
        let expected = [
            (0, PairingOpponent::Level(1)),
            (1, PairingOpponent::Level(2)),
            (1, PairingOpponent::Anchor(anchor(1_350))),
            (2, PairingOpponent::Anchor(anchor(1_700))),
        ];
        let expected = expected.map(|(level, opponent)| Pairing { level, opponent });
        assert_eq!(found, expected);
    }

    #[test]
    fn report_has_a_line_for_each_level() {
        let anchor = Anchor {
            elo: 1_350,
            nodes: 1,
        };
        let levels = elos(&[1_000, 1_300]);
        let pairings = pairings(&levels, &[anchor], 100);
        let mut stats = vec![MatchStats::default(); 2];
        (0..50).for_each(|_| stats[0].add([0, 1]));
        (0..50).for_each(|_| stats[1].add([0, 2]));
        let text = describe(&levels, &pairings, &stats);
        assert!(text.contains("1000 - 1300: +0 =50 -50\n"), "{text}");
        assert!(
            text.contains("1300 - anchor 1350@1: +50 =0 -50\n"),
            "{text}"
        );
        assert!(
            text.lines().last().unwrap().contains("   1350 +- "),
            "{text}"
        );
    }
}
