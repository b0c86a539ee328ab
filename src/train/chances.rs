//! `knightwatch chances`: how often positions are won, drawn and lost, fitted to the engine's own games.
//!
//! The positions are counted by score and material, and the four numbers of the [`WdlModel`] are moved until the counts are as
//! likely as can be.

use std::collections::BTreeMap;

use anyhow::ensure;

use super::dataset::Sources;
use super::options::ChancesOptions;
use crate::engine::{WdlModel, material};

/// Positions whose scores differ by less than this, in centipawns, are counted together.
const BUCKET: i32 = 5;

/// The steps with which the search for the best numbers begins, in e-foldings, and ends.
const FIRST_STEP: f64 = 0.5;
const LAST_STEP: f64 = 0.0005;

/// The curves with which it begins.
const START: WdlModel = WdlModel {
    half: [100.0, 100.0],
    spread: [100.0, 100.0],
};

/// Bands of what is told: material and scores from the first to before the second.
const MATERIAL: [(u32, u32); 4] = [(0, 5), (5, 12), (12, 19), (19, u32::MAX)];
const SCORES: [(i32, i32); 6] = [
    (0, 25),
    (25, 60),
    (60, 120),
    (120, 250),
    (250, 500),
    (500, 1000),
];

/// How games went on: lost, drawn and won for the side to move.
type Counts = [u64; 3];

/// Positions by material and by bucket of the score.
struct Census(BTreeMap<(u32, i32), Counts>);

impl Census {
    fn of(positions: &[(u8, i16, u8)]) -> Census {
        let mut cells = BTreeMap::new();
        for &(material, score, points) in positions {
            let bucket = i32::from(score).div_euclid(BUCKET);
            let counts: &mut Counts = cells.entry((material.into(), bucket)).or_default();
            counts[usize::from(points)] += 1;
        }
        Census(cells)
    }

    /// Those whose scores are at most so many centipawns.
    fn within(&self, cp: i32) -> Census {
        let near = |bucket: i32| middle(bucket).abs() <= f64::from(cp);
        let cells = self.0.iter().filter(|((_, bucket), _)| near(*bucket));
        Census(cells.map(|(&place, &counts)| (place, counts)).collect())
    }

    fn count(&self) -> u64 {
        self.0.values().flatten().sum()
    }

    /// The mean of the logarithms of what the curves thought unlikely: the less the better.
    fn loss(&self, curves: &WdlModel) -> f64 {
        let mut sum = 0.0;
        for (&(material, bucket), counts) in &self.0 {
            let expected = outcomes(curves, middle(bucket), material);
            for (count, share) in counts.iter().zip(expected) {
                sum -= *count as f64 * share.max(1e-9).ln();
            }
        }
        sum / self.count().max(1) as f64
    }

    /// Some of the cells: what was, and what the curves expect, both as shares.
    fn compare(
        &self,
        curves: &WdlModel,
        is_in: impl Fn(u32, i32) -> bool,
    ) -> (u64, [f64; 3], [f64; 3]) {
        let (mut found, mut expected) = ([0.0; 3], [0.0; 3]);
        for (&(material, bucket), counts) in &self.0 {
            if !is_in(material, bucket * BUCKET) {
                continue;
            }
            let all = counts.iter().sum::<u64>() as f64;
            for (i, share) in outcomes(curves, middle(bucket), material)
                .into_iter()
                .enumerate()
            {
                found[i] += counts[i] as f64;
                expected[i] += all * share;
            }
        }
        let all: f64 = found.iter().sum();
        let shares = |sums: [f64; 3]| sums.map(|sum| sum / all.max(1.0));
        (all as u64, shares(found), shares(expected))
    }
}

/// The score in the middle of a bucket.
fn middle(bucket: i32) -> f64 {
    f64::from(bucket * BUCKET) + f64::from(BUCKET - 1) / 2.0
}

/// Shares of games lost, drawn and won.
fn outcomes(curves: &WdlModel, cp: f64, material: u32) -> [f64; 3] {
    let chances = curves.wdl(cp, material);
    let [loss, win] = [chances.loss / 100.0, chances.win / 100.0];
    [loss, 1.0 - loss - win, win]
}

/// The best curves: each number grows and shrinks by a share of itself for as long as that helps, then by less.
fn fit(census: &Census) -> WdlModel {
    let numbers = |curves: &WdlModel| [curves.half, curves.spread].concat();
    let curves = |of: &[f64]| WdlModel {
        half: [of[0], of[1]],
        spread: [of[2], of[3]],
    };
    let mut best = numbers(&START);
    let mut least = census.loss(&START);
    let mut step = FIRST_STEP;
    while step > LAST_STEP {
        let before = least;
        for number in 0..best.len() {
            for factor in [step.exp(), (-step).exp()] {
                let mut tried = best.clone();
                tried[number] *= factor;
                let loss = census.loss(&curves(&tried));
                if loss < least {
                    (best, least) = (tried, loss);
                }
            }
        }
        if least >= before {
            step /= 2.0;
        }
    }
    curves(&best)
}

/// Reads the games, fits and tells.
///
/// # Errors
/// When the games cannot be read, or no position has a score within the bounds.
pub fn run(options: &ChancesOptions) -> anyhow::Result<()> {
    let sources = Sources::find(&options.data)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let data = sources.load(threads, 0.0, 1, |position, score, points| {
        (material(position) as u8, score, points)
    })?;
    let census = Census::of(&data.training);
    let near = census.within(options.within);
    ensure!(
        near.count() > 0,
        "no position in {} files has a score within {} cp",
        sources.len(),
        options.within
    );
    let curves = fit(&near);
    println!(
        "{} positions of {} games are within {} cp; loss {:.5}",
        near.count(),
        data.games,
        options.within,
        near.loss(&curves)
    );
    let WdlModel { half, spread } = curves;
    println!("half: [{:.1}, {:.1}],", half[0], half[1]);
    println!("spread: [{:.1}, {:.1}],", spread[0], spread[1]);
    println!("\nmaterial  score        positions  lost drawn won, and as expected, in %");
    for (from, to) in MATERIAL {
        for (least, most) in SCORES {
            let is_in =
                |material, cp| (from..to).contains(&material) && (least..most).contains(&cp);
            let (count, found, expected) = census.compare(&curves, is_in);
            let [lost, drawn, won] = found.map(|share| 100.0 * share);
            let [lose, draw, win] = expected.map(|share| 100.0 * share);
            println!(
                "from {from:<3}  {least:>4} to {most:<4} {count:>10}  {lost:4.1} {drawn:5.1} {won:4.1}   {lose:4.1} {draw:5.1} {win:4.1}"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Games that go as some curves say are found to go as those say.
    #[test]
    fn the_curves_that_made_the_games_are_found() {
        let truth = WdlModel {
            half: [90.0, 150.0],
            spread: [240.0, 70.0],
        };
        let mut cells = BTreeMap::new();
        for material in 0..=24 {
            for bucket in -60..60 {
                let shares = outcomes(&truth, middle(bucket), material);
                cells.insert((material, bucket), shares.map(|share| (1e4 * share) as u64));
            }
        }
        let found = fit(&Census(cells));
        for (found, truth) in [(found.half, truth.half), (found.spread, truth.spread)] {
            for (found, truth) in found.into_iter().zip(truth) {
                assert!(
                    (found - truth).abs() < 0.02 * truth,
                    "{found} is not {truth}"
                );
            }
        }
    }

    #[test]
    fn positions_are_counted_where_they_belong() {
        let census = Census::of(&[(3, -1, 0), (3, -5, 2), (3, 0, 1), (3, 4, 1), (9, 200, 2)]);
        assert_eq!(census.0[&(3, -1)], [1, 0, 1]);
        assert_eq!(census.0[&(3, 0)], [0, 2, 0]);
        assert_eq!((census.count(), census.within(60).count()), (5, 4));
        let (count, found, _) = census.compare(&START, |_, cp| cp >= 0);
        assert_eq!((count, found), (3, [0.0, 2.0 / 3.0, 1.0 / 3.0]));
    }
}
