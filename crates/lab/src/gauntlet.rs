//! `knightwatch gauntlet`: games against another engine over UCI with a clock, to measure strength; or against itself, to test
//! for errors.
//!
//! A player who exceeds the clock loses; one that hangs is started again. Games are adjudicated as won at 15 pawns for six
//! plies in both engines' view, and as drawn after 400 plies; games of variants are played to the end. An engine that exits or
//! sends an illegal move ends the run.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::contest::pair::{self, Adjudication};
use super::contest::worker_pool;
use super::datagen::HASH_MIB;
use super::openings::Openings;
use super::options::{GauntletOptions, MatchClock};
use super::signal::stop_on_signal;
use super::uci_engine::UciEngine;
use crate::progress::Progress;
use knightwatch_chess::{Color, Game, Variant};
use knightwatch_engine::{Searcher, Setting};
use knightwatch_external::{self as external, EngineError, Go};
use knightwatch_util::match_stats::MatchStats;

/// How much a player may exceed the clock in a game, for the latency between the processes.
const TIME_MARGIN: Duration = Duration::from_millis(50);

/// How much a player may exceed the clock before it counts as hanging.
const HANG_MARGIN: Duration = Duration::from_secs(1);

/// Options of both engines that are not set explicitly.
const DEFAULT_OPTIONS: [(&str, i64); 2] = [("Hash", 16), ("Threads", 1)];

/// Plays the games and prints the result, also of an interrupted run.
///
/// # Errors
/// When an engine fails, the openings cannot be used, or a thread cannot be started.
pub fn run(options: &GauntletOptions) -> anyhow::Result<()> {
    let openings = options.setup.openings(options.variant, 0)?;
    // Report wrong options before the first game.
    let [us, them] = players(options)?.map(|player| player.name.clone());
    let limit = match options.nodes {
        Some(nodes) => format!("{nodes} nodes"),
        None => options.tc.to_string(),
    };
    match options.variant {
        Variant::Standard => println!("{us} against {them}, {limit}"),
        variant => println!("{us} against {them}, {variant}, {limit}"),
    }
    let stop = stop_on_signal();
    let (pairs, taken) = (options.games.div_ceil(2), AtomicU64::new(0));
    let next = || {
        let pair = taken.fetch_add(1, Ordering::Relaxed);
        (pair < pairs && !stop.load(Ordering::Relaxed)).then_some(pair)
    };
    let worker = || {
        // Started with the first job of the thread.
        let mut engines = None;
        let openings = &openings;
        move |pair| {
            let engines = match &mut engines {
                Some(engines) => engines,
                none => none.insert(Engines::new(options)?),
            };
            engines.play(openings, pair)
        }
    };
    let (mut stats, mut time_losses) = (MatchStats::default(), [0; 2]);
    let mut progress = Progress::default();
    let played = worker_pool::run(
        worker_pool::thread_count(options.setup.threads),
        next,
        worker,
        |result: anyhow::Result<Pair>| {
            let result = result?;
            stats.add(result.points);
            for (all, time_losses) in time_losses.iter_mut().zip(result.time_losses) {
                *all += time_losses;
            }
            progress.show(|| stats.describe());
            Ok(())
        },
    );
    progress.clear();
    let seconds = progress.elapsed().as_secs_f64();
    // Played games count, even after an error.
    println!("{} in {seconds:.0} s", stats.describe());
    let [ours, theirs] = time_losses;
    println!("lost on time: {ours} by us, {theirs} by the opponent");
    played
}

/// Starts both engines: ours and the opponent.
fn players(options: &GauntletOptions) -> anyhow::Result<[UciEngine; 2]> {
    Ok([start_player(options, 0)?, start_player(options, 1)?])
}

/// Starts our engine (0) or the opponent (1).
fn start_player(options: &GauntletOptions, side: usize) -> anyhow::Result<UciEngine> {
    let mut player = match side == 0 || options.engine == Path::new("self") {
        true => {
            let own = std::env::current_exe().context("cannot find this program")?;
            UciEngine::start(&own, &["uci"])?
        }
        false => UciEngine::start(&options.engine, &[])?,
    };
    let settings = [&options.options, &options.opponent_options][side];
    for (name, value) in DEFAULT_OPTIONS {
        if !settings
            .iter()
            .any(|(set, _)| set.eq_ignore_ascii_case(name))
        {
            player.set_clamped(name, value)?;
        }
    }
    for (name, value) in settings {
        player.set(name, value)?;
    }
    player.check_variant(options.variant)?;
    Ok(player)
}

/// Result of two games from one opening.
struct Pair {
    /// Our half points in each.
    points: [u8; 2],
    /// Games lost on time by us and by the opponent.
    time_losses: [u64; 2],
}

/// Reason for a game to end early.
enum GameError {
    /// This player has exceeded the clock.
    TimeForfeit(usize),
    Engine(anyhow::Error),
}

/// Engines of one thread.
struct Engines<'a> {
    options: &'a GauntletOptions,
    players: [UciEngine; 2],
    referee: Searcher,
    adjudication: &'static Adjudication,
}

impl<'a> Engines<'a> {
    fn new(options: &'a GauntletOptions) -> anyhow::Result<Self> {
        Ok(Engines {
            options,
            players: players(options)?,
            referee: Searcher::new(HASH_MIB, &Setting::default()),
            adjudication: match options.variant {
                Variant::Standard => &pair::ANY_ENGINES,
                _ => &pair::BY_RULES,
            },
        })
    }

    /// Plays two games from one opening.
    fn play(&mut self, openings: &Openings, pair: u64) -> anyhow::Result<Pair> {
        let start = pair::opening(openings, pair, &mut self.referee);
        let (mut points, mut time_losses) = ([0; 2], [0; 2]);
        for (points, first) in points.iter_mut().zip([Color::White, Color::Black]) {
            for player in &mut self.players {
                player.new_game(&start)?;
            }
            let mut clocks = Clocks::new(self.options.tc);
            let nodes = self.options.nodes;
            let players = &mut self.players;
            let mut is_hanging = false;
            let search = |side: usize, game: &Game| {
                let player = &mut players[side];
                let since = Instant::now();
                let result = match nodes {
                    Some(_) => {
                        let limits = Go {
                            nodes,
                            ..Go::default()
                        };
                        player.search(game, &limits)
                    }
                    None => {
                        let timeout = clocks.left[side] + HANG_MARGIN;
                        player.search_within(timeout, game, &clocks.limits(first))
                    }
                };
                is_hanging = nodes.is_none() && matches!(result, Err(EngineError::TooLate(_)));
                if is_hanging {
                    return Err(GameError::TimeForfeit(side));
                }
                let result = result.map_err(|error| GameError::Engine(error.into()))?;
                match nodes.is_some() || clocks.spend(side, since.elapsed()) {
                    true => Ok(Some(result)),
                    false => Err(GameError::TimeForfeit(side)),
                }
            };
            *points =
                match pair::play_game(search, Game::new(start.clone()), first, self.adjudication) {
                    Ok(outcome) => outcome.points(first),
                    Err(GameError::TimeForfeit(side)) => {
                        time_losses[side] += 1;
                        if is_hanging {
                            self.players[side] = start_player(self.options, side)?;
                        }
                        [0, 2][side]
                    }
                    Err(GameError::Engine(error)) => return Err(error),
                };
        }
        Ok(Pair {
            points,
            time_losses,
        })
    }
}

/// Clocks of both players.
struct Clocks {
    left: [Duration; 2],
    /// How much each player may still exceed the clock.
    margin: [Duration; 2],
    increment: Duration,
}

impl Clocks {
    fn new(tc: MatchClock) -> Clocks {
        Clocks {
            left: [tc.base; 2],
            margin: [TIME_MARGIN; 2],
            increment: tc.increment,
        }
    }

    /// The limits of a search, where player 0 has this color.
    fn limits(&self, first: Color) -> Go {
        let [mut white, mut black] = self.left;
        if !first.is_white() {
            std::mem::swap(&mut white, &mut black);
        }
        Go {
            clock: Some(external::Clocks {
                white,
                black,
                increment: self.increment,
                moves_to_go: None,
            }),
            ..Go::default()
        }
    }

    /// Subtracts the time of a move. Returns whether there was time for it.
    fn spend(&mut self, side: usize, took: Duration) -> bool {
        // The used part of the margin is not available to later moves.
        let overstepped = took.saturating_sub(self.left[side]);
        self.margin[side] = self.margin[side].saturating_sub(overstepped);
        self.left[side] = self.left[side].saturating_sub(took) + self.increment;
        !self.margin[side].is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_subtract_time_and_margin() {
        let ms = Duration::from_millis;
        let mut clocks = Clocks::new(MatchClock {
            base: ms(1_000),
            increment: ms(20),
        });
        assert!(clocks.spend(0, ms(300)));
        for (first, white, black) in [(Color::White, 720, 1_000), (Color::Black, 1_000, 720)] {
            let limits = clocks.limits(first).clock.expect("clocks");
            assert_eq!(limits.increment, ms(20));
            assert_eq!((limits.white, limits.black), (ms(white), ms(black)));
        }
        assert!(clocks.spend(1, ms(1_030)), "within the margin");
        assert_eq!(clocks.left, [ms(720), ms(20)]);
        assert!(clocks.spend(1, ms(39)));
        assert!(!clocks.spend(1, ms(21)), "which is used up");
    }
}
