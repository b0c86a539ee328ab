//! `knightwatch ladder`: the levels of `strength` play each other and another engine whose levels are known, which says what
//! Elo each of them has. `docs/engine/strength.md` says what to do with it.
//!
//! Nothing is limited by time, so that the result does not depend on the machine or on its load.

mod rating;

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::ensure;

use self::rating::{Against, Met, Rating, rate};
use super::contest::stats::Tally;
use super::contest::{crew, pair};
use super::datagen::HASH;
use super::openings::Openings;
use super::options::{Anchor, LadderOptions};
use super::rival::Rival;
use super::signal::stop_on_signal;
use crate::chess::{Color, Game};
use crate::engine::{Elo, Limits, Searcher, Setting, Strength};
use crate::progress::Progress;

/// Who plays whom.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pairing {
    /// By its place among the levels.
    level: usize,
    other: Other,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Other {
    Level(usize),
    Anchor(Anchor),
}

/// Plays and prints what comes out, also when it is ended before.
///
/// # Errors
/// When the other engine cannot be used, or the openings, or no thread be started.
pub fn run(options: &LadderOptions) -> anyhow::Result<()> {
    let mut levels = options.levels.clone();
    levels.sort_unstable();
    levels.dedup();
    let pairings = pairings(&levels, &options.anchors, options.near);
    let tied = |level: usize| {
        let mut theirs = pairings.iter().filter(|pairing| pairing.level == level);
        theirs.any(|pairing| matches!(pairing.other, Other::Anchor(_)))
    };
    ensure!(
        (0..levels.len()).any(tied),
        "no anchor is within {} Elo of a level",
        options.near
    );
    let openings = options.field.openings(0)?;
    let stop = stop_on_signal();
    let taken = AtomicU64::new(0);
    let count = pairings.len() as u64;
    let next = || {
        let job = taken.fetch_add(1, Ordering::Relaxed);
        let (pair, at) = (job / count, (job % count) as usize);
        (pair < options.games.div_ceil(2) && !stop.load(Ordering::Relaxed)).then_some((at, pair))
    };
    let worker = || {
        let mut room = Room::new(options);
        let (levels, pairings, openings) = (&levels, &pairings, &openings);
        move |(at, pair): (usize, u64)| (at, room.play(levels, pairings[at], openings, pair))
    };
    let mut tallies = vec![Tally::default(); pairings.len()];
    let mut progress = Progress::default();
    let played = crew::work(
        crew::size(options.field.threads),
        next,
        worker,
        |(at, points)| {
            tallies[at].add(points?);
            progress.show(|| {
                let games: u64 = tallies.iter().map(Tally::count).sum();
                format!("{games} of {} games", 2 * count * options.games.div_ceil(2))
            });
            Ok(())
        },
    );
    progress.clear();
    let seconds = progress.elapsed().as_secs_f64();
    // What has been played counts, whatever has gone wrong then.
    print!("{}", tell(&levels, &pairings, &tallies));
    println!("in {seconds:.0} s");
    played
}

/// Each level meets the next one, and the anchors near it.
fn pairings(levels: &[Elo], anchors: &[Anchor], near: u16) -> Vec<Pairing> {
    let meets = |(level, elo): (usize, &Elo)| {
        let next = (level + 1 < levels.len()).then_some(Other::Level(level + 1));
        let elo = elo.get();
        let known = anchors.iter().copied();
        let known = known.filter(move |anchor| anchor.elo.abs_diff(elo) <= near);
        let others = next.into_iter().chain(known.map(Other::Anchor));
        others.map(move |other| Pairing { level, other })
    };
    levels.iter().enumerate().flat_map(meets).collect()
}

/// The players of one thread.
struct Room<'a> {
    options: &'a LadderOptions,
    home: Searcher,
    guest: Searcher,
    /// Started when it is needed.
    rival: Option<Rival>,
}

impl<'a> Room<'a> {
    fn new(options: &'a LadderOptions) -> Room<'a> {
        let solo = || Searcher::new(HASH, &Setting::default());
        Room {
            options,
            home: solo(),
            guest: solo(),
            rival: None,
        }
    }

    /// Two games from one opening; the level's half points in each.
    fn play(
        &mut self,
        levels: &[Elo],
        pairing: Pairing,
        openings: &Openings,
        pair: u64,
    ) -> anyhow::Result<[u8; 2]> {
        let start = pair::opening(openings, pair, &mut self.home);
        let mut points = [0; 2];
        for (points, first) in points.iter_mut().zip([Color::White, Color::Black]) {
            // Two games of one opening are not to go the same way.
            let seed =
                u64::from(self.options.field.seed) << 32 | pair << 1 | u64::from(first.is_white());
            let at = |level: usize| Limits {
                strength: Some(Strength {
                    elo: levels[level],
                    seed,
                }),
                ..Limits::default()
            };
            let home = at(pairing.level);
            let game = Game::new(start.clone());
            let outcome = match pairing.other {
                Other::Level(level) => {
                    let guest = at(level);
                    let think = |side: usize, game: &Game| {
                        let thought = match side {
                            0 => self.home.search(game, &home),
                            _ => self.guest.search(game, &guest),
                        };
                        anyhow::Ok(thought.mv.map(|mv| (mv, thought.score)))
                    };
                    pair::play_game(think, game, first)?
                }
                Other::Anchor(anchor) => {
                    let rival = match &mut self.rival {
                        Some(rival) => rival,
                        none => {
                            let rival = none.insert(Rival::start(&self.options.engine, &[])?);
                            rival.offer("Threads", 1)?;
                            rival.set("UCI_LimitStrength", "true")?;
                            rival
                        }
                    };
                    rival.set("UCI_Elo", &anchor.elo.to_string())?;
                    rival.new_game(&start)?;
                    let nodes = format!("nodes {}", anchor.nodes);
                    let think = |side: usize, game: &Game| {
                        if side > 0 {
                            return rival.think(game, &nodes).map(Some);
                        }
                        let thought = self.home.search(game, &home);
                        Ok(thought.mv.map(|mv| (mv, thought.score)))
                    };
                    pair::play_game(think, game, first)?
                }
            };
            *points = outcome.points(first);
        }
        Ok(points)
    }
}

/// The results, and what they say.
fn tell(levels: &[Elo], pairings: &[Pairing], tallies: &[Tally]) -> String {
    let mut text = String::new();
    let mut met = Vec::new();
    let played = pairings.iter().zip(tallies);
    for (pairing, tally) in played.filter(|(_, tally)| tally.count() > 0) {
        let (against, name) = match pairing.other {
            Other::Level(level) => (Against::Player(level), levels[level].to_string()),
            Other::Anchor(anchor) => (
                Against::Known(anchor.elo.into()),
                format!("anchor {}@{}", anchor.elo, anchor.nodes),
            ),
        };
        let [lost, drawn, won] = tally.games;
        text += &format!(
            "{} - {name}: +{won} ={drawn} -{lost}\n",
            levels[pairing.level]
        );
        met.push(Met {
            player: pairing.level,
            against,
            games: tally.count() as f64,
            points: won as f64 + drawn as f64 / 2.0,
        });
    }
    let ratings = rate(levels.len(), &met);
    text += "\nlevel   step   Elo\n";
    for (level, Rating { elo, error }) in levels.iter().zip(&ratings) {
        text += &format!(
            "{:5}   {:4.0}   {elo:.0} +- {error:.0}\n",
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
    fn each_level_meets_the_next_and_the_anchors_near_it() {
        let anchor = |elo| Anchor { elo, nodes: 1 };
        let levels = elos(&[1_000, 1_300, 1_600]);
        let found = pairings(&levels, &[anchor(1_350), anchor(1_700)], 150);
        let expected = [
            (0, Other::Level(1)),
            (1, Other::Level(2)),
            (1, Other::Anchor(anchor(1_350))),
            (2, Other::Anchor(anchor(1_700))),
        ];
        let expected = expected.map(|(level, other)| Pairing { level, other });
        assert_eq!(found, expected);
    }

    #[test]
    fn the_result_is_a_line_for_each_level() {
        let anchor = Anchor {
            elo: 1_350,
            nodes: 1,
        };
        let levels = elos(&[1_000, 1_300]);
        let pairings = pairings(&levels, &[anchor], 100);
        let mut tallies = vec![Tally::default(); 2];
        (0..50).for_each(|_| tallies[0].add([0, 1]));
        (0..50).for_each(|_| tallies[1].add([0, 2]));
        let text = tell(&levels, &pairings, &tallies);
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
