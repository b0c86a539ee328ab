//! Tests of the trainer: gradients against finite differences, and memorization.

use super::*;
use crate::export::RECORD_BYTES;
use crate::kernel::{UNDECIDED, sigmoid};
use crate::model::Layout;
use knightwatch_chess::Position;
use knightwatch_engine::nnue::features::INPUTS;
use knightwatch_engine::nnue::{LANE, QA, QB};

/// Positions of random games with random scores.
fn samples(count: usize, seed: u64) -> Vec<Sample> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut samples = Vec::new();
    while samples.len() < count {
        let mut position = Position::chess960_start(rng.u32(0..960)).unwrap();
        for _ in 0..rng.usize(5..80) {
            let Some(mv) = rng.choice(position.legal_moves().iter().copied()) else {
                break;
            };
            position.play(mv);
        }
        samples.push(Sample::new(&position, rng.i16(-400..400), rng.u8(0..3)));
    }
    samples
}

/// All positions of random games, in their order.
fn game_samples(count: usize, seed: u64) -> Vec<Sample> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut samples = Vec::new();
    while samples.len() < count {
        let mut position = Position::chess960_start(rng.u32(0..960)).unwrap();
        for _ in 0..30 {
            let Some(mv) = rng.choice(position.legal_moves().iter().copied()) else {
                break;
            };
            position.play(mv);
            samples.push(Sample::new(&position, rng.i16(-400..400), rng.u8(0..3)));
        }
    }
    samples.truncate(count);
    samples
}

#[test]
fn gradient_matches_finite_differences() {
    let shape = Shape {
        hidden: 32,
        buckets: 4,
    };
    let mut model = Model::random(shape, 5);
    // Larger weights, so that values are clipped as well.
    model
        .rows
        .iter_mut()
        .take(model.layout.biases())
        .for_each(|row| row.0 = row.0.map(|weight| weight * 4.0));
    let samples = samples(40, 6);
    let target = Target {
        wdl: 0.3,
        scale: 300.0,
    };
    let mut tile = Tile::new(model.layout, SimdLevel::Plain);
    let mut gradient = vec![Row::ZERO; model.layout.rows()];
    tile.run(&model.rows, &samples, target, Some(&mut gradient));
    let mut rng = fastrand::Rng::with_seed(7);
    let mut checked = 0;
    let layout = model.layout;
    let rows: Vec<usize> = (0..1000)
        .map(|_| rng.usize(0..layout.biases()))
        .chain(layout.biases()..layout.rows())
        .collect();
    for row in rows {
        let lane = if row == layout.output_biases() {
            rng.usize(0..shape.buckets)
        } else {
            rng.usize(0..LANE)
        };
        let exact = f64::from(gradient[row].0[lane]);
        let mut loss_at = |offset: f32| {
            let mut moved = model.clone();
            moved.rows[row].0[lane] += offset;
            tile.run(&moved.rows, &samples, target, None).squares
        };
        let step = 1e-3;
        let found = (loss_at(step) - loss_at(-step)) / f64::from(2.0 * step);
        assert!(
            (found - exact).abs() < 2e-3 + 0.02 * exact.abs(),
            "row {row}, lane {lane}: {found} for {exact}"
        );
        checked += usize::from(exact.abs() > 1e-3);
    }
    assert!(checked > 150, "only {checked} gradients were not zero");
}

#[test]
fn order_of_positions_does_not_matter() {
    let shape = Shape {
        hidden: 64,
        buckets: 8,
    };
    let model = Model::random(shape, 15);
    let target = Target {
        wdl: 0.1,
        scale: 400.0,
    };
    let run = |samples: &[Sample]| {
        let mut gradient = vec![Row::ZERO; model.layout.rows()];
        let mut tile = Tile::new(model.layout, SimdLevel::Plain);
        let loss = tile.run(&model.rows, samples, target, Some(&mut gradient));
        (loss.squares, gradient)
    };
    let mut samples = game_samples(TILE, 16);
    let in_order = run(&samples);
    fastrand::Rng::with_seed(17).shuffle(&mut samples);
    let shuffled = run(&samples);
    assert!((in_order.0 - shuffled.0).abs() < 1e-5);
    for (a, b) in in_order.1.iter().zip(&shuffled.1) {
        let are_near = a.0.iter().zip(b.0).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(are_near, "{a:?} {b:?}");
    }
}

#[test]
fn simd_levels_agree() {
    let model = Model::random(
        Shape {
            hidden: 96,
            buckets: 8,
        },
        9,
    );
    let samples = game_samples(TILE, 10);
    let target = Target {
        wdl: 0.1,
        scale: 400.0,
    };
    let run = |level: SimdLevel| {
        let mut gradient = vec![Row::ZERO; model.layout.rows()];
        let loss =
            Tile::new(model.layout, level).run(&model.rows, &samples, target, Some(&mut gradient));
        (loss.squares, gradient)
    };
    let plain = run(SimdLevel::Plain);
    for level in SimdLevel::all() {
        let other = run(level);
        assert!((plain.0 - other.0).abs() < 1e-6, "{level:?}");
        for (a, b) in plain.1.iter().zip(&other.1) {
            let are_near = a.0.iter().zip(b.0).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(are_near, "{level:?}");
        }
    }
}

fn settings(threads: usize, epochs: usize) -> TrainingSettings {
    let target = Target {
        wdl: 0.0,
        scale: 300.0,
    };
    TrainingSettings {
        target,
        final_target: target,
        batch: 240,
        epochs,
        limit: None,
        rate: 0.003,
        decay: 0.0,
        threads,
        seed: 3,
    }
}

fn learn(threads: usize, data: &Dataset, epochs: usize) -> (Model, Loss) {
    let mut last = None;
    let report = |report: &EpochReport| {
        last = Some((report.model.clone(), report.validation));
        ControlFlow::Continue(())
    };
    train(&start(data), data, &settings(threads, epochs), report).unwrap();
    last.unwrap()
}

/// The start of a run with a small random network.
fn start(data: &Dataset) -> Checkpoint {
    let shape = Shape {
        hidden: 32,
        buckets: 2,
    };
    let key = RunKey {
        hidden: shape.hidden,
        buckets: shape.buckets,
        positions: data.training.len(),
        batch: 240,
        wdl: [0.0; 2],
        scale: 300.0,
        lambda: 0.0,
        seed: 3,
    };
    Checkpoint::start(key, &Model::random(shape, 1))
}

/// About 1,000 positions, in whole runs, used for training and validation.
fn thousand() -> Dataset {
    let training = samples(62 * RUN, 11);
    Dataset {
        validation: training.clone(),
        training,
        ..Dataset::default()
    }
}

#[test]
fn training_memorizes_1000_positions() {
    let data = thousand();
    let (model, loss) = learn(2, &data, 250);
    assert!(loss.mean() < 1e-4, "the loss stays at {}", loss.mean());
    let network = model.quantize("heart", 300).unwrap();
    let (integer, _) = compare(&network, &data.validation, settings(1, 1).target);
    assert!(integer < 5e-4, "the integers lose too much: {integer}");
}

#[test]
fn report_can_end_training() {
    let data = thousand();
    let mut epochs = 0;
    let report = |_: &EpochReport| {
        epochs += 1;
        match epochs {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    train(&start(&data), &data, &settings(2, 50), report).unwrap();
    assert_eq!(epochs, 3);
}

#[test]
fn interrupted_training_continues_from_checkpoint() {
    let data = thousand();
    let settings = settings(1, 6);
    let mut checkpoints = Vec::new();
    let report = |report: &EpochReport| {
        checkpoints.push(report.checkpoint(report.validation.mean()));
        ControlFlow::Continue(())
    };
    train(&start(&data), &data, &settings, report).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("net.checkpoint");
    assert!(Checkpoint::read(&file).unwrap().is_none());
    checkpoints[2].write(&file).unwrap();
    let third = Checkpoint::read(&file).unwrap().unwrap();
    assert_eq!((third.epochs, &third.weights), (3, &checkpoints[2].weights));
    let mut last = None;
    let report = |report: &EpochReport| {
        last = Some(report.checkpoint(0.0));
        ControlFlow::Continue(())
    };
    train(&third, &data, &settings, report).unwrap();
    let last = last.unwrap();
    assert_eq!((last.epochs, last.step), (6, checkpoints[5].step));
    assert_eq!(last.weights, checkpoints[5].weights);
    let other = RunKey {
        seed: 4,
        ..third.key
    };
    let error = third.check(&other).expect_err("another seed").to_string();
    let seed = third.key.seed;
    assert!(
        error.ends_with(&format!("options: seed was {seed} and is 4 now")),
        "{error}"
    );
    let mut truncated = std::fs::read(&file).unwrap();
    truncated.truncate(truncated.len() - 3 * 128);
    for bytes in [&truncated[..], b"KWTRAIN1\n{}\n", b""] {
        std::fs::write(&file, bytes).unwrap();
        let error = Checkpoint::read(&file).unwrap_err().to_string();
        assert!(error.contains("is not a checkpoint"), "{error}");
    }
}

#[test]
fn training_does_not_depend_on_threads() {
    let training = samples(600, 12);
    let data = Dataset {
        validation: samples(100, 13),
        training,
        ..Dataset::default()
    };
    let (one, three) = (learn(1, &data, 5).1, learn(3, &data, 5).1);
    assert!(
        (one.mean() - three.mean()).abs() < 1e-4,
        "{} and {}",
        one.mean(),
        three.mean()
    );
}

#[test]
fn permutation_visits_each_index_once() {
    for (count, seed) in [(64, 1), (1000, 2), (4096, 3), (99_991, 4)] {
        let order = Permutation::new(count, seed);
        let mut seen = vec![false; count];
        (0..count).for_each(|at| seen[order.at(at)] = true);
        assert!(seen.into_iter().all(|seen| seen));
    }
}

#[test]
fn learning_rate_grows_and_follows_a_cosine() {
    assert_eq!(rate_at(1.0, 0.0), 0.0);
    assert!((rate_at(1.0, WARM_UP / 2.0) - 0.5).abs() < 1e-3);
    assert!((rate_at(1.0, WARM_UP) - 1.0).abs() < 1e-3);
    assert!((rate_at(1.0, 0.5) - 0.505).abs() < 1e-3);
    assert!((rate_at(1.0, 1.0) - FINAL_RATE_FACTOR).abs() < 1e-6);
}

#[test]
fn scale_is_fitted() {
    let mut rng = fastrand::Rng::with_seed(14);
    let start = Position::startpos();
    let samples: Vec<Sample> = (0..20_000)
        .map(|_| {
            let score = rng.i16(-1000..1000);
            let won = rng.f32() < sigmoid(f32::from(score) / 350.0);
            Sample::new(&start, score, if won { 2 } else { 0 })
        })
        .collect();
    let scale = fit_scale(&samples);
    assert!((330.0..370.0).contains(&scale), "{scale}");
    assert_eq!(
        Layout::new(Shape {
            hidden: 64,
            buckets: 8
        })
        .blocks,
        2
    );
}

#[test]
fn gpu_trainer_has_the_same_constants() {
    let script = include_str!("../gpu/train.py");
    for line in [
        format!("INPUTS = {INPUTS}"),
        format!("QA, QB = {QA}, {QB}"),
        format!("RECORD = {RECORD_BYTES}"),
        format!("CLIP = {CLIP}"),
        format!("BETA1, BETA2 = {BETA1}, {BETA2}"),
        format!(
            "WARM_UP, FINAL_RATE, ROUNDED_FROM = {WARM_UP}, {FINAL_RATE_FACTOR}, {ROUNDED_FROM}"
        ),
        format!("UNDECIDED = {UNDECIDED}"),
    ] {
        assert!(script.lines().any(|found| found == line), "{line}");
    }
}
