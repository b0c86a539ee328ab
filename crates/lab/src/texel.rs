//! `knightwatch texel`: tunes the weights of the hand-crafted evaluation by Texel's method.
//!
//! Every quiet position of the games is kept as its [`Trace`], which says how often it counts each weight. The weights are
//! tuned to predict a mixture of the game's result and the search score: Adam on the squared error in mini-batches, with some
//! games kept for validation.

use std::fmt::Write as _;
use std::thread;
use std::time::Instant;

use anyhow::{Context, ensure};

use super::contest::worker_pool;
use super::dataset::{Dataset, Sources};
use super::options::TexelOptions;
use super::trainer::{best_scale, cosine, time_left};
use crate::progress::Progress;
use knightwatch_chess::Position;
use knightwatch_engine::trace::{self, Pair, Trace};
use knightwatch_util::atomic_file;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;

/// A position with its score and result for White.
struct Example {
    trace: Trace,
    /// Centipawns.
    score: i16,
    /// 0.0 lost, 0.5 drawn, 1.0 won.
    result: f32,
}

impl Example {
    /// `score` and `points` (0 to 2) are for the side to move.
    fn new(position: &Position, score: i16, points: u8) -> Example {
        let (score, points) = if position.turn().is_white() {
            (score, points)
        } else {
            (-score, 2 - points)
        };
        Example {
            trace: Trace::new(position),
            score,
            result: f32::from(points) / 2.0,
        }
    }
}

/// Training target.
#[derive(Clone, Copy)]
struct Target {
    /// Weight of the result; the rest is the score.
    wdl: f64,
    /// Centipawns at which the odds are e to 1.
    scale: f64,
}

impl Target {
    /// The expected result for this evaluation.
    fn expected(&self, value: f64) -> f64 {
        1.0 / (1.0 + (-value / self.scale).exp())
    }

    fn target_of(&self, example: &Example) -> f64 {
        let score = self.expected(example.score.into());
        self.wdl * f64::from(example.result) + (1.0 - self.wdl) * score
    }

    /// The squared error of an example; adds its gradient to `gradient`, if given.
    fn error(&self, example: &Example, weights: &[Pair], gradient: Option<&mut [Pair]>) -> f64 {
        let (value, shares) = example.trace.evaluate(weights);
        let expected = self.expected(value);
        let error = expected - self.target_of(example);
        if let Some(gradient) = gradient {
            let slope = 2.0 * error * expected * (1.0 - expected) / self.scale;
            for (place, times) in example.trace.terms() {
                gradient[place][0] += slope * times * shares[0];
                gradient[place][1] += slope * times * shares[1];
            }
        }
        error * error
    }
}

/// Calls `work` with a chunk of the examples on each thread.
fn parallel<T: Send>(
    examples: &[Example],
    threads: usize,
    work: impl Fn(&[Example]) -> T + Sync,
) -> Vec<T> {
    let share = examples.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let work = &work;
        let parts = examples.chunks(share);
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        parts
            .into_iter()
            .map(|part| part.join().expect("arithmetic does not panic"))
            .collect()
    })
}

/// Mean squared error of the weights.
fn loss(examples: &[Example], weights: &[Pair], target: Target, threads: usize) -> f64 {
    let sums = parallel(examples, threads, |part| -> f64 {
        let errors = part.iter();
        errors.map(|one| target.error(one, weights, None)).sum()
    });
    sums.into_iter().sum::<f64>() / examples.len().max(1) as f64
}

/// State of the optimization.
struct Tuner {
    target: Target,
    /// Regularization towards the initial weights: half the second derivative of its loss.
    hold: f64,
    start: Vec<Pair>,
    weights: Vec<Pair>,
    /// Running means of the gradient and of its square.
    means: Vec<[Pair; 2]>,
    steps: i32,
}

impl Tuner {
    /// `hold`: as if this fraction of the positions depended on each weight alone and supported its initial value.
    fn new(start: Vec<Pair>, target: Target, hold: f64) -> Tuner {
        Tuner {
            target,
            hold: hold * (0.25 / target.scale).powi(2),
            weights: start.clone(),
            means: vec![[[0.0; 2]; 2]; start.len()],
            steps: 0,
            start,
        }
    }

    /// Loss and gradient of a batch, regularization included.
    fn gradient(&self, batch: &[Example], threads: usize) -> (f64, Vec<Pair>) {
        let parts = parallel(batch, threads, |part| {
            let mut gradient = vec![[0.0; 2]; self.weights.len()];
            let errors = part
                .iter()
                .map(|one| self.target.error(one, &self.weights, Some(&mut gradient)));
            (errors.sum::<f64>(), gradient)
        });
        let mean = 1.0 / batch.len() as f64;
        let mut sum = 0.0;
        let mut total = vec![[0.0; 2]; self.weights.len()];
        for (error, gradient) in parts {
            sum += mean * error;
            for (total, slope) in total
                .as_flattened_mut()
                .iter_mut()
                .zip(gradient.as_flattened())
            {
                *total += mean * slope;
            }
        }
        let pairs = self
            .weights
            .as_flattened()
            .iter()
            .zip(self.start.as_flattened());
        for (total, (weight, start)) in total.as_flattened_mut().iter_mut().zip(pairs) {
            sum += self.hold * (weight - start).powi(2);
            *total += 2.0 * self.hold * (weight - start);
        }
        (sum, total)
    }

    /// An Adam step of about `rate` centipawns.
    fn step(&mut self, gradient: &[Pair], rate: f64) {
        self.steps += 1;
        let correction = |beta: f64| 1.0 - beta.powi(self.steps);
        let (first, second) = (correction(BETA1), correction(BETA2));
        for ((weight, means), slope) in self.weights.iter_mut().zip(&mut self.means).zip(gradient) {
            for half in 0..2 {
                let [mean, square] = means;
                mean[half] += (1.0 - BETA1) * (slope[half] - mean[half]);
                square[half] += (1.0 - BETA2) * (slope[half].powi(2) - square[half]);
                let deviation = (square[half] / second).sqrt();
                weight[half] -= rate * mean[half] / first / (deviation + 1e-12);
            }
        }
    }
}

/// Settings of a run.
struct Settings {
    target: Target,
    hold: f64,
    epochs: usize,
    batch: usize,
    rate: f64,
    threads: usize,
    seed: u64,
}

/// Tunes the weights from `start`. `report` is called after every epoch with its number (from 1), the training loss and the
/// validation loss. Returns the weights of the epoch with the lowest validation loss, and that loss.
fn tune(
    start: Vec<Pair>,
    data: &Dataset<Example>,
    settings: &Settings,
    mut report: impl FnMut(usize, f64, f64),
) -> (Vec<Pair>, f64) {
    let mut tuner = Tuner::new(start, settings.target, settings.hold);
    let mut rng = fastrand::Rng::with_seed(settings.seed);
    let mut batches: Vec<&[Example]> = data.training.chunks(settings.batch.max(1)).collect();
    let steps = (settings.epochs * batches.len()) as f32;
    let mut best = (tuner.weights.clone(), f64::INFINITY);
    for epoch in 1..=settings.epochs {
        rng.shuffle(&mut batches);
        let mut training = 0.0;
        for batch in &batches {
            let (loss, gradient) = tuner.gradient(batch, settings.threads);
            training += loss * batch.len() as f64 / data.training.len() as f64;
            let rate = cosine(settings.rate as f32, tuner.steps as f32 / steps);
            tuner.step(&gradient, rate.into());
        }
        let validation = loss(
            &data.validation,
            &tuner.weights,
            settings.target,
            settings.threads,
        );
        if validation < best.1 {
            best = (tuner.weights.clone(), validation);
        }
        report(epoch, training, validation);
    }
    best
}

/// Reads the games, tunes the weights and writes them to `options.out`, as a replacement for `src/engine/eval/weights.rs`.
///
/// # Errors
/// When there are no games, or a file cannot be read or written.
pub fn run(options: &TexelOptions) -> anyhow::Result<()> {
    let began = Instant::now();
    let threads = worker_pool::thread_count(options.threads);
    let sources = Sources::find(&options.data)?;
    let data = sources.load(threads, options.validation, options.seed, Example::new)?;
    let (training_count, validation_count) = (data.training.len(), data.validation.len());
    println!(
        "data: {} files, {} games, {training_count} positions to learn from, {validation_count} for validation; read in {:.1} s",
        sources.len(),
        data.games,
        began.elapsed().as_secs_f64()
    );
    ensure!(
        training_count >= 64 && validation_count > 0,
        "too few positions to fit to ({training_count} and {validation_count})"
    );
    let start = trace::weights();
    let scale = options
        .scale
        .unwrap_or_else(|| fitted_scale(&data.training, &start));
    let target = Target {
        wdl: options.wdl,
        scale,
    };
    let settings = Settings {
        target,
        hold: options.hold / training_count as f64,
        epochs: options.epochs,
        batch: options.batch,
        rate: options.rate,
        threads,
        seed: options.seed,
    };
    let before = loss(&data.validation, &start, target, threads);
    println!(
        "K {scale:.0}, {} weights; validation {before:.6}",
        2 * start.len()
    );
    let mut progress = Progress::default();
    let running = Instant::now();
    let (weights, after) = tune(
        start.clone(),
        &data,
        &settings,
        |epoch, training, validation| {
            progress.show(|| {
                let done = epoch as f32 / settings.epochs as f32;
                format!(
                    "epoch {epoch} of {}: loss {training:.6}, validation {validation:.6}; {}",
                    settings.epochs,
                    time_left(running, done)
                )
            });
        },
    );
    drop(progress);
    let mut origin = format!(
        "Written by `knightwatch texel --wdl {} --epochs {} --batch {} --rate {} --hold {} --seed {}`:\n",
        options.wdl, settings.epochs, settings.batch, settings.rate, options.hold, settings.seed
    );
    let _ = write!(
        origin,
        "{training_count} positions of {} games, K {scale:.0}, validation error {after:.6}, {before:.6} before.",
        data.games
    );
    atomic_file::write(&options.out, trace::source(&weights, &origin).as_bytes())
        .with_context(|| format!("cannot write {}", options.out.display()))?;
    println!(
        "validation {after:.6}, {before:.6} before; evaluations {:.2} times as large; {} in {:.0} s",
        magnitude(&data.validation, &weights) / magnitude(&data.validation, &start),
        options.out.display(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

/// The scale at which the weights best predict the results, on a part of the data.
fn fitted_scale(examples: &[Example], weights: &[Pair]) -> f64 {
    let step = examples.len().div_ceil(500_000);
    let known: Vec<(f64, f64)> = examples
        .iter()
        .step_by(step)
        .map(|example| (example.trace.evaluate(weights).0, example.result.into()))
        .collect();
    let scale = best_scale(|scale| {
        let target = Target {
            wdl: 1.0,
            scale: scale.into(),
        };
        let errors = known.iter();
        errors
            .map(|(value, result)| (target.expected(*value) - result).powi(2))
            .sum()
    });
    scale.into()
}

/// Sum of the absolute evaluations.
fn magnitude(examples: &[Example], weights: &[Pair]) -> f64 {
    let values = examples.iter();
    values.map(|one| one.trace.evaluate(weights).0.abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive;
    use crate::record::{Outcome, Record};

    /// Positions of random games, with the evaluations of `weights` as scores.
    fn examples(count: usize, seed: u64, weights: &[Pair]) -> Vec<Example> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut examples = Vec::new();
        while examples.len() < count {
            let mut position = Position::chess960_start(rng.u32(0..960)).expect("one of 960");
            for _ in 0..rng.usize(5..80) {
                let Some(mv) = rng.choice(position.legal_moves().iter().copied()) else {
                    break;
                };
                position.play(mv);
            }
            let mut example = Example::new(&position, 0, rng.u8(0..3));
            example.score = example.trace.evaluate(weights).0.round() as i16;
            examples.push(example);
        }
        examples
    }

    fn moved(weights: &[Pair], by: f64, seed: u64) -> Vec<Pair> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut change = |weight: f64| weight + by * (2.0 * rng.f64() - 1.0);
        weights.iter().map(|pair| pair.map(&mut change)).collect()
    }

    #[test]
    fn gradient_matches_finite_differences() {
        let start = trace::weights();
        let target = Target {
            wdl: 0.4,
            scale: 150.0,
        };
        let examples = examples(60, 2, &moved(&start, 90.0, 3));
        let mut tuner = Tuner::new(start.clone(), target, 0.1);
        tuner.weights = moved(&start, 40.0, 4);
        let (_, gradient) = tuner.gradient(&examples, 3);
        let mut checked = 0;
        for (at, exact) in gradient.as_flattened().iter().enumerate() {
            let step = 1e-3;
            let mut loss_at = |offset: f64| {
                let before = tuner.weights.as_flattened()[at];
                tuner.weights.as_flattened_mut()[at] += offset;
                let loss = tuner.gradient(&examples, 1).0;
                tuner.weights.as_flattened_mut()[at] = before;
                loss
            };
            let found = (loss_at(step) - loss_at(-step)) / (2.0 * step);
            let near = (found - exact).abs() < 1e-9 + 1e-4 * exact.abs();
            assert!(near, "{at}: {found} for {exact}");
            checked += usize::from(exact.abs() > 1e-6);
        }
        assert!(checked > 300, "only {checked} gradients were not zero");
    }

    #[test]
    fn tuning_recovers_weights() {
        let start = trace::weights();
        let hidden = moved(&start, 30.0, 5);
        let data = Dataset {
            training: examples(4_000, 6, &hidden),
            validation: examples(500, 7, &hidden),
            games: 0,
            plies: 0,
        };
        let target = Target {
            wdl: 0.0,
            scale: 200.0,
        };
        let settings = Settings {
            target,
            hold: 0.0,
            epochs: 40,
            batch: 500,
            rate: 3.0,
            threads: 2,
            seed: 1,
        };
        let before = loss(&data.validation, &start, target, 1);
        let mut told = 0;
        let (_, after) = tune(start, &data, &settings, |epoch, _, _| told = epoch);
        assert!(after < before / 20.0, "{before} became {after}");
        assert_eq!(told, 40);
    }

    #[test]
    fn weights_without_positions_are_unchanged() {
        let start = trace::weights();
        let target = Target {
            wdl: 0.0,
            scale: 200.0,
        };
        let mut tuner = Tuner::new(start.clone(), target, 1.0);
        let pawn = Position::from_fen("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").expect("a good FEN");
        let (_, gradient) = tuner.gradient(&[Example::new(&pawn, 300, 2)], 1);
        tuner.step(&gradient, 1.0);
        let changed = |half: usize| {
            let pairs = tuner.weights.iter().zip(&start);
            pairs.filter(|(a, b)| a[half] != b[half]).count()
        };
        assert_eq!(changed(0), 0, "there is no middlegame left");
        assert!((3..20).contains(&changed(1)), "{}", changed(1));
    }

    #[test]
    fn run_writes_weights_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rng = fastrand::Rng::with_seed(8);
        let mut games = Vec::new();
        for game in 0..60 {
            let mut position = Position::startpos();
            let mut record = Record::new(position.clone());
            for _ in 0..40 {
                let Some(mv) = rng.choice(position.legal_moves().iter().copied()) else {
                    break;
                };
                record.push(mv, rng.i16(-300..300));
                position.play(mv);
            }
            record.finish([Outcome::WhiteWins, Outcome::Draw, Outcome::BlackWins][game % 3]);
            record.write(&mut games);
        }
        let file = folder.path().join(format!("games{}", archive::FILE_SUFFIX));
        archive::write_file(&file, &games).expect("written");
        let options = TexelOptions {
            data: vec![folder.path().into()],
            out: folder.path().join("weights.rs"),
            threads: Some(2),
            epochs: 2,
            wdl: 0.5,
            rate: 1.0,
            batch: 200,
            scale: None,
            hold: 10.0,
            validation: 0.2,
            seed: 1,
        };
        run(&options).expect("a fit");
        let text = std::fs::read_to_string(&options.out).expect("written");
        assert!(
            text.contains("//! Written by `knightwatch texel --wdl 0.5 --epochs 2"),
            "{text}"
        );
        assert_eq!(text.matches(" s(").count(), trace::weights().len());
    }
}
