//! `knightwatch fit-variant`: fits the weights of a variant's evaluation to the engine's own games.
//!
//! Logistic regression: the expected result of a quiet position is a logistic function of its evaluation, and the weights are
//! chosen to make the results and the scores of the search likely. They are drawn towards the present ones, so that terms
//! that are rare in the games keep theirs.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};

use super::archive;
use super::dataset::is_quiet;
use super::options::FitVariantOptions;
use super::variant_game::VariantGame;
use knightwatch_chess::{Position, Variant};
use knightwatch_engine::VariantEvaluation;

/// One game in this many is kept for validation.
const VALIDATION_PERIOD: usize = 10;
/// The step of Adam at the start, in centipawns.
const FIRST_STEP: f64 = 3.0;
/// Factors of Adam's means of the gradient and its square.
const BETAS: [f64; 2] = [0.9, 0.999];
/// Scales of the logistic function that are tried, in centipawns.
const SCALES: std::ops::Range<u32> = 6..80;
const SCALE_STEP: f64 = 10.0;

/// A position with its counted terms.
struct Sample {
    /// Terms with their counts: those of White less those of Black; in horde Black's follow White's.
    terms: Vec<(u16, i16)>,
    /// Centipawns for White that no weight changes.
    base: f64,
    /// Points of White, 0 to 1.
    result: f64,
    /// The score of the search, in centipawns for White.
    score: f64,
}

impl Sample {
    fn value(&self, weights: &[f64]) -> f64 {
        let weighted = |&(term, count): &(u16, i16)| weights[usize::from(term)] * f64::from(count);
        self.base + self.terms.iter().map(weighted).sum::<f64>()
    }

    /// Value that the logistic function should have here.
    fn target(&self, score_share: f64, scale: f64) -> f64 {
        let expected = logistic(self.score / scale);
        score_share * expected + (1.0 - score_share) * self.result
    }
}

fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

/// The weights of one variant as a list.
struct Layout {
    evaluation: VariantEvaluation,
    /// Whether White and Black have weights of their own.
    has_sides: bool,
    terms: usize,
}

impl Layout {
    fn new(variant: Variant) -> anyhow::Result<Layout> {
        let evaluation = VariantEvaluation::new(variant)
            .with_context(|| format!("{variant} has no weights of its own"))?;
        Ok(Layout {
            has_sides: variant == Variant::Horde,
            terms: evaluation.weights()[0].len(),
            evaluation,
        })
    }

    /// The present weights.
    fn weights(&self) -> Vec<f64> {
        let [white, black] = self.evaluation.weights();
        let black = if self.has_sides { black } else { &[] };
        let both = white.iter().chain(black);
        both.map(|&weight| f64::from(weight)).collect()
    }

    fn sample(&mut self, position: &Position, score: i16, points: u8) -> Sample {
        let mut counts = BTreeMap::new();
        for (side, terms) in self.evaluation.terms(position).into_iter().enumerate() {
            let offset = if self.has_sides { side * self.terms } else { 0 };
            let sign = 1 - 2 * side as i32;
            for (term, count) in terms {
                *counts.entry((term + offset) as u16).or_insert(0) += sign * count;
            }
        }
        let counts = counts.into_iter().filter(|&(_, count)| count != 0);
        Sample {
            terms: counts.map(|(term, count)| (term, count as i16)).collect(),
            base: self.evaluation.base(position).into(),
            result: f64::from(points) / 2.0,
            score: score.into(),
        }
    }
}

/// Quiet positions of games.
#[derive(Default)]
struct Samples {
    games: usize,
    training: Vec<Sample>,
    validation: Vec<Sample>,
}

impl Samples {
    fn load(paths: &[PathBuf], variant: Variant, layout: &mut Layout) -> anyhow::Result<Samples> {
        let mut samples = Samples::default();
        for path in paths {
            let files = archive::files(path, archive::VARIANT_FILE_SUFFIX);
            for file in files.with_context(|| format!("cannot read {}", path.display()))? {
                let lines = BufReader::new(archive::open(&file)?).lines();
                for (number, line) in (1..).zip(lines) {
                    let place = || format!("{}:{number}", file.display());
                    let game = VariantGame::read(&line.with_context(place)?).with_context(place)?;
                    if game.start.variant() == variant {
                        samples.add(&game, layout);
                    }
                }
            }
        }
        Ok(samples)
    }

    fn add(&mut self, game: &VariantGame, layout: &mut Layout) {
        self.games += 1;
        let into = match self.games.is_multiple_of(VALIDATION_PERIOD) {
            true => &mut self.validation,
            false => &mut self.training,
        };
        let points = game.outcome.points(knightwatch_chess::Color::White);
        let mut position = game.start.clone();
        for &(mv, score) in &game.plies {
            if is_quiet(&position, mv, score) {
                into.push(layout.sample(&position, score, points));
            }
            position.play(mv);
        }
    }
}

/// A fit of weights to samples.
struct Fit {
    /// Centipawns per unit of the logistic function.
    scale: f64,
    score_share: f64,
    pull: f64,
    present: Vec<f64>,
}

impl Fit {
    /// Mean cross-entropy in bits.
    fn loss(&self, samples: &[Sample], weights: &[f64]) -> f64 {
        let loss = |sample: &Sample| {
            let target = sample.target(self.score_share, self.scale);
            let chance = logistic(sample.value(weights) / self.scale).clamp(1e-9, 1.0 - 1e-9);
            -target * chance.log2() - (1.0 - target) * (1.0 - chance).log2()
        };
        samples.iter().map(loss).sum::<f64>() / samples.len().max(1) as f64
    }

    /// The scale with which the present evaluation predicts the results best, so that a centipawn keeps its worth.
    fn choose_scale(&mut self, samples: &[Sample]) {
        let score_share = std::mem::replace(&mut self.score_share, 0.0);
        let scales = SCALES.map(|step| f64::from(step) * SCALE_STEP);
        let losses = scales.map(|scale| {
            self.scale = scale;
            (self.loss(samples, &self.present), scale)
        });
        let best = losses.min_by(|(one, _), (other, _)| one.total_cmp(other));
        (_, self.scale) = best.expect("there are scales");
        self.score_share = score_share;
    }

    /// The weights after this many steps of Adam.
    fn run(&self, samples: &[Sample], steps: u32) -> Vec<f64> {
        let mut weights = self.present.clone();
        let [mut mean, mut square] = [vec![0.0; weights.len()], vec![0.0; weights.len()]];
        let targets: Vec<f64> = samples
            .iter()
            .map(|sample| sample.target(self.score_share, self.scale))
            .collect();
        for step in 1..=steps {
            let mut gradient: Vec<f64> = weights
                .iter()
                .zip(&self.present)
                .map(|(weight, present)| 2e-4 * self.pull * (weight - present))
                .collect();
            for (sample, target) in samples.iter().zip(&targets) {
                let error = logistic(sample.value(&weights) / self.scale) - target;
                let slope = error / self.scale / samples.len() as f64;
                for &(term, count) in &sample.terms {
                    gradient[usize::from(term)] += slope * f64::from(count);
                }
            }
            let left = f64::from(steps - step) / f64::from(steps);
            let step_size = FIRST_STEP * (0.02 + 0.98 * left);
            let correction = BETAS.map(|beta| 1.0 - beta.powi(step as i32));
            for (index, slope) in gradient.into_iter().enumerate() {
                mean[index] = BETAS[0] * mean[index] + (1.0 - BETAS[0]) * slope;
                square[index] = BETAS[1] * square[index] + (1.0 - BETAS[1]) * slope * slope;
                let root = (square[index] / correction[1]).sqrt();
                weights[index] -= step_size * mean[index] / correction[0] / (root + 1e-12);
            }
        }
        weights
    }
}

/// Reads the games, fits the weights and prints them as the arrays of `weights.rs`.
///
/// # Errors
/// When the games cannot be read, there are none, or the variant has no weights.
pub fn run(options: &FitVariantOptions, out: &mut dyn Write) -> anyhow::Result<()> {
    let variant = options.variant;
    let mut layout = Layout::new(variant)?;
    let samples = Samples::load(&options.data, variant, &mut layout)?;
    ensure!(
        !samples.training.is_empty() && !samples.validation.is_empty(),
        "{} games of {variant} (*{}) are too few: play at least 20 with datagen --variant",
        samples.games,
        archive::VARIANT_FILE_SUFFIX
    );
    let mut fit = Fit {
        scale: 0.0,
        score_share: options.score_share,
        pull: options.pull,
        present: layout.weights(),
    };
    fit.choose_scale(&samples.training);
    let weights = fit.run(&samples.training, options.steps);
    writeln!(
        out,
        "// {} positions of {} games, {} cp; loss of the others {:.5}, before {:.5} bits",
        samples.training.len() + samples.validation.len(),
        samples.games,
        fit.scale,
        fit.loss(&samples.validation, &weights),
        fit.loss(&samples.validation, &fit.present),
    )?;
    for side in weights.chunks(layout.terms) {
        write_array(side, out)?;
    }
    Ok(())
}

/// Prints weights in the rows of `weights.rs`.
fn write_array(weights: &[f64], out: &mut dyn Write) -> std::io::Result<()> {
    const ROWS: [(&str, &[usize]); 11] = [
        ("Pawn", &[16, 16]),
        ("Knight", &[16, 16]),
        ("Bishop", &[16, 16]),
        ("Rook", &[16, 16]),
        ("Queen", &[16, 16]),
        ("King", &[16, 16]),
        ("Mobility", &[4]),
        (
            "Attacks around the king, by role and by number",
            &[5, 12, 12, 12, 12],
        ),
        ("Weak squares and safe checks", &[4, 16]),
        ("Passed pawns, pawn structure", &[8, 4]),
        ("Pieces in hand, promoted pieces", &[11]),
    ];
    let mut left = weights;
    let mut row = |out: &mut dyn Write, length: usize| {
        let (now, later) = left.split_at(length.min(left.len()));
        left = later;
        let numbers: Vec<String> = now
            .iter()
            .map(|weight| (weight.round() as i16).to_string())
            .collect();
        writeln!(out, "    {},", numbers.join(", "))
    };
    writeln!(out, "[")?;
    for (name, lengths) in ROWS {
        writeln!(out, "    // {name}.")?;
        for &length in lengths {
            row(out, length)?;
        }
    }
    writeln!(out, "    // Terms of the variant, and the right to move.")?;
    row(out, usize::MAX)?;
    writeln!(out, "];")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;

    /// Samples of positions after random moves, with the results that an evaluation predicts.
    fn samples(layout: &mut Layout, weights: &[f64], scale: f64) -> Vec<Sample> {
        let mut random = fastrand::Rng::with_seed(5);
        let mut samples = Vec::new();
        while samples.len() < 4_000 {
            let mut position = Variant::Horde.start();
            for _ in 0..random.usize(10..80) {
                let Some(mv) = random.choice(position.legal_moves().iter().copied()) else {
                    break;
                };
                position.play(mv);
            }
            let mut sample = layout.sample(&position, 0, 1);
            sample.result = logistic(sample.value(weights) / scale);
            samples.push(sample);
        }
        samples
    }

    #[test]
    fn fit_recovers_weights_of_frequent_terms() {
        let mut layout = Layout::new(Variant::Horde).unwrap();
        let mut truth = layout.weights();
        // Black's knights on their first rank, and White's right to move.
        let changed = [layout.terms + 32, layout.terms + 33, layout.terms - 1];
        for term in changed {
            truth[term] += 90.0;
        }
        let samples = samples(&mut layout, &truth, 300.0);
        let fit = Fit {
            scale: 300.0,
            score_share: 0.0,
            pull: 1e-6,
            present: layout.weights(),
        };
        let fitted = fit.run(&samples, 300);
        assert!(fit.loss(&samples, &fitted) < fit.loss(&samples, &fit.present));
        let error = |weights: &[f64]| -> f64 {
            let errors = changed.map(|term| (weights[term] - truth[term]).abs());
            errors.into_iter().sum()
        };
        assert!(
            error(&fitted) < 0.5 * error(&fit.present),
            "{}",
            error(&fitted)
        );
    }

    #[test]
    fn games_are_fitted_to_arrays_of_all_terms() {
        let folder = tempfile::tempdir().unwrap();
        let mut random = fastrand::Rng::with_seed(8);
        let mut lines = Vec::new();
        for number in 0..12 {
            let mut game = VariantGame::new(Variant::Atomic.start());
            let mut position = game.start.clone();
            for _ in 0..20 {
                let Some(mv) = random.choice(position.legal_moves().iter().copied()) else {
                    break;
                };
                game.plies.push((mv, 10));
                position.play(mv);
            }
            game.outcome = [Outcome::WhiteWins, Outcome::BlackWins][number % 2];
            game.write(&mut lines);
        }
        let path = folder
            .path()
            .join(format!("a{}", archive::VARIANT_FILE_SUFFIX));
        archive::write_file(&path, &lines).unwrap();
        let options = |variant| FitVariantOptions {
            variant,
            data: vec![folder.path().to_owned()],
            score_share: 0.4,
            pull: 1e-4,
            steps: 3,
        };
        let mut out = Vec::new();
        run(&options(Variant::Atomic), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let numbers = text
            .lines()
            .filter(|line| !line.contains("//"))
            .flat_map(|line| line.split(','))
            .filter(|word| word.trim().parse::<i16>().is_ok());
        let terms = Layout::new(Variant::Atomic).unwrap().terms;
        assert_eq!(numbers.count(), terms, "{text}");
        for variant in [Variant::Horde, Variant::KingOfTheHill] {
            assert!(
                run(&options(variant), &mut Vec::new()).is_err(),
                "{variant}"
            );
        }
    }
}
