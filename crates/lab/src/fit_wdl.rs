//! `knightwatch fit-wdl`: fits the WDL model to the engine's own games.
//!
//! Positions are counted by score and material; the parameters of [`WdlModel`] are chosen to maximize the likelihood
//! of the counts.

use std::collections::BTreeMap;

use anyhow::ensure;

use super::dataset::Sources;
use super::options::FitWdlOptions;
use knightwatch_engine::{MATERIALS, WdlModel, material};

/// Positions that a fit needs at least.
const MIN_POSITIONS: u64 = 1_000;

/// Width of a score bucket, in centipawns.
const BUCKET_CP: i32 = 5;

/// First and last relative step of the parameter search, as exponents of e.
const FIRST_STEP: f64 = 0.5;
const LAST_STEP: f64 = 0.0005;

/// Initial parameters.
const START: WdlModel = WdlModel {
    half: [100.0; MATERIALS.len()],
    spread: [100.0; MATERIALS.len()],
    tail: 5.0,
};

/// Bands of the printed table: from the first value to below the second.
const MATERIAL_BANDS: [(u32, u32); 6] = [(0, 1), (1, 4), (4, 8), (8, 13), (13, 19), (19, u32::MAX)];
const SCORE_BANDS: [(i32, i32); 7] = [
    (0, 25),
    (25, 60),
    (60, 120),
    (120, 250),
    (250, 500),
    (500, 1000),
    (1000, 2000),
];

/// Games lost, drawn and won by the side to move.
type Counts = [u64; 3];

/// Counts by material and score bucket.
struct PositionCounts(BTreeMap<(u32, i32), Counts>);

impl PositionCounts {
    fn new(positions: &[(u8, i16, u8)]) -> PositionCounts {
        let mut cells = BTreeMap::new();
        for &(material, score, points) in positions {
            let bucket = i32::from(score).div_euclid(BUCKET_CP);
            let counts: &mut Counts = cells.entry((material.into(), bucket)).or_default();
            counts[usize::from(points)] += 1;
        }
        PositionCounts(cells)
    }

    /// The positions with a score of at most this many centipawns.
    fn within(&self, cp: i32) -> PositionCounts {
        let near = |bucket: i32| bucket_center(bucket).abs() <= f64::from(cp);
        let cells = self.0.iter().filter(|((_, bucket), _)| near(*bucket));
        PositionCounts(cells.map(|(&place, &counts)| (place, counts)).collect())
    }

    fn count(&self) -> u64 {
        self.0.values().flatten().sum()
    }

    /// Mean negative log-likelihood.
    fn loss(&self, curves: &WdlModel) -> f64 {
        let mut sum = 0.0;
        for (&(material, bucket), counts) in &self.0 {
            let expected = outcomes(curves, bucket_center(bucket), material);
            for (count, share) in counts.iter().zip(expected) {
                sum -= *count as f64 * share.max(1e-9).ln();
            }
        }
        sum / self.count().max(1) as f64
    }

    /// Actual and expected outcomes of the selected cells: the number of positions, and both as fractions.
    fn compare(
        &self,
        curves: &WdlModel,
        is_in: impl Fn(u32, i32) -> bool,
    ) -> (u64, [f64; 3], [f64; 3]) {
        let (mut found, mut expected) = ([0.0; 3], [0.0; 3]);
        for (&(material, bucket), counts) in &self.0 {
            if !is_in(material, bucket * BUCKET_CP) {
                continue;
            }
            let all = counts.iter().sum::<u64>() as f64;
            for (i, share) in outcomes(curves, bucket_center(bucket), material)
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

/// The mean score of a bucket.
fn bucket_center(bucket: i32) -> f64 {
    f64::from(bucket * BUCKET_CP) + f64::from(BUCKET_CP - 1) / 2.0
}

/// Expected fractions of games lost, drawn and won.
fn outcomes(curves: &WdlModel, cp: f64, material: u32) -> [f64; 3] {
    let chances = curves.wdl(cp, material);
    let [loss, win] = [chances.loss / 100.0, chances.win / 100.0];
    [loss, 1.0 - loss - win, win]
}

/// All parameters of a model.
fn parameters(model: &WdlModel) -> Vec<f64> {
    [&model.half[..], &model.spread, &[model.tail]].concat()
}

/// The model with these [`parameters`].
fn model(parameters: &[f64]) -> WdlModel {
    let (parts, rest) = parameters.as_chunks();
    WdlModel {
        half: parts[0],
        spread: parts[1],
        tail: rest[0],
    }
}

/// Finds the best parameters by coordinate descent with shrinking steps.
fn fit(counts: &PositionCounts) -> WdlModel {
    let mut best = parameters(&START);
    let mut lowest_loss = counts.loss(&START);
    let mut step = FIRST_STEP;
    while step > LAST_STEP {
        let before = lowest_loss;
        for index in 0..best.len() {
            for factor in [step.exp(), (-step).exp()] {
                let mut candidate = best.clone();
                candidate[index] *= factor;
                let loss = counts.loss(&model(&candidate));
                if loss < lowest_loss {
                    (best, lowest_loss) = (candidate, loss);
                }
            }
        }
        if lowest_loss >= before {
            step /= 2.0;
        }
    }
    model(&best)
}

/// Reads the games, fits the model and prints it.
///
/// # Errors
/// When the games cannot be read, or too few positions have a score within the limit.
pub fn run(options: &FitWdlOptions) -> anyhow::Result<()> {
    let sources = Sources::find(&options.data)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let data = sources.load(threads, 0.0, 1, 0.0, |position, score, points| {
        (material(position) as u8, score, points)
    })?;
    let counts = PositionCounts::new(&data.training);
    let limited = counts.within(options.within);
    ensure!(
        limited.count() >= MIN_POSITIONS,
        "{} positions in {} files have a score within {} cp; a fit needs at least {MIN_POSITIONS}",
        limited.count(),
        sources.len(),
        options.within
    );
    let curves = fit(&limited);
    println!(
        "{} positions of {} games are within {} cp; loss {:.5}",
        limited.count(),
        data.games,
        options.within,
        limited.loss(&curves)
    );
    let WdlModel { half, spread, tail } = curves;
    println!("half: {half:.1?},");
    println!("spread: {spread:.1?},");
    println!("tail: {tail:.2},");
    println!("\nmaterial  score        positions  lost drawn won, and as expected, in %");
    for (from, to) in MATERIAL_BANDS {
        for (min, max) in SCORE_BANDS {
            let is_in = |material, cp| (from..to).contains(&material) && (min..max).contains(&cp);
            let (count, found, expected) = counts.compare(&curves, is_in);
            let [lost, drawn, won] = found.map(|share| 100.0 * share);
            let [lose, draw, win] = expected.map(|share| 100.0 * share);
            println!(
                "from {from:<3}  {min:>4} to {max:<4} {count:>10}  {lost:4.1} {drawn:5.1} {won:4.1}   {lose:4.1} {draw:5.1} {win:4.1}"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Games generated by a model yield that model.
    #[test]
    fn fit_recovers_the_model() {
        let truth = WdlModel {
            half: [90.0, 110.0, 150.0, 200.0],
            spread: [140.0, 90.0, 70.0, 50.0],
            tail: 4.0,
        };
        let mut cells = BTreeMap::new();
        for material in 0..=24 {
            for bucket in -200..200 {
                let shares = outcomes(&truth, bucket_center(bucket), material);
                cells.insert((material, bucket), shares.map(|share| (1e6 * share) as u64));
            }
        }
        let found = parameters(&fit(&PositionCounts(cells)));
        for (found, truth) in found.into_iter().zip(parameters(&truth)) {
            assert!(
                (found - truth).abs() < 0.02 * truth,
                "{found} is not {truth}"
            );
        }
    }

    #[test]
    fn positions_are_counted_by_score_and_material() {
        let counts =
            PositionCounts::new(&[(3, -1, 0), (3, -5, 2), (3, 0, 1), (3, 4, 1), (9, 200, 2)]);
        assert_eq!(counts.0[&(3, -1)], [1, 0, 1]);
        assert_eq!(counts.0[&(3, 0)], [0, 2, 0]);
        assert_eq!((counts.count(), counts.within(60).count()), (5, 4));
        let (count, found, _) = counts.compare(&START, |_, cp| cp >= 0);
        assert_eq!((count, found), (3, [0.0, 2.0 / 3.0, 1.0 / 3.0]));
    }
}
