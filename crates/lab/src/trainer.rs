//! Network trainer: data-parallel mini-batch training with AdamW.
//!
//! Every thread has a replica of the weights and a gradient. A batch has two barriers: after the first one, each thread sums all
//! gradients over its own range of the parameters and updates that range; after the second one, each copies the other ranges
//! into its replica. No thread waits for a main thread, and no lock is contended.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::checkpoint::{Checkpoint, RunKey};
use super::dataset::{Dataset, RUN};
use super::kernel::{Loss, SimdLevel, TILE, Target, Tile};
use super::log::RunLog;
use super::model::{CLIP, Model, Row};
use super::options::TrainOptions;
use super::sample::Sample;
use super::spin_barrier::{AbortOnPanic, SpinBarrier};
use knightwatch_engine::nnue::{Kernels, Network, Shape};
use knightwatch_util::atomic_file;
use knightwatch_util::sync::lock;

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
/// Final learning rate relative to the highest.
const FINAL_RATE_FACTOR: f32 = 0.01;
/// The rate grows from 0 during this part of the run, while AdamW has seen few gradients.
const WARM_UP: f32 = 0.005;
/// In the last part of the run, gradients are those of the weights as rounded for the engine.
const ROUNDED_FROM: f32 = 0.85;
/// Limits of a network's scale relative to the scale it was trained with.
const SCALE_RATIO_LIMITS: [f64; 2] = [0.5, 2.0];
/// Upper limit of positions on which the integer network is compared at the end.
const MAX_COMPARED_POSITIONS: usize = 50_000;

/// Settings of a training run.
#[derive(Clone, Debug)]
struct TrainingSettings {
    target: Target,
    /// The target at the end; the weight of the result changes with the progress.
    final_target: Target,
    batch: usize,
    epochs: usize,
    limit: Option<Duration>,
    rate: f32,
    decay: f32,
    threads: usize,
    seed: u64,
}

impl TrainingSettings {
    fn new(options: &TrainOptions, data: &Dataset, threads: usize) -> TrainingSettings {
        let count = data.training.len();
        let scale = options
            .scale
            .map_or_else(|| fit_scale(&data.training), |scale| scale as f32);
        let batch = options
            .batch
            .unwrap_or(if count < 5_000_000 { 4096 } else { 16_384 });
        TrainingSettings {
            target: Target {
                wdl: options.wdl as f32,
                scale,
            },
            final_target: Target {
                wdl: options.final_wdl.unwrap_or(options.wdl) as f32,
                scale,
            },
            batch: (batch.min(count) / RUN).max(1) * RUN,
            epochs: options.epochs,
            limit: options.minutes,
            rate: options.rate as f32,
            decay: options.decay as f32,
            threads,
            seed: options.data.seed,
        }
    }

    /// The values that a resumed run must share with the interrupted one.
    fn key(&self, options: &TrainOptions, shape: Shape, data: &Dataset) -> RunKey {
        RunKey {
            hidden: shape.hidden,
            buckets: shape.buckets,
            positions: data.training.len(),
            batch: self.batch,
            wdl: [self.target.wdl, self.final_target.wdl],
            scale: self.target.scale,
            lambda: options.data.lambda,
            seed: options.data.seed,
        }
    }

    /// The network and the settings, as a line.
    fn describe(&self, options: &TrainOptions, shape: Shape) -> String {
        let Shape { hidden, buckets } = shape;
        format!(
            "network: (768 -> {hidden}) x 2 -> 1 x {buckets}; wdl {} to {}, lambda {}, K {:.0}, batch {}, epochs {}, limit {:?}, rate {}, decay {}, seed {}, {} threads, {:?}",
            options.wdl,
            self.final_target.wdl,
            options.data.lambda,
            self.target.scale,
            self.batch,
            self.epochs,
            self.limit,
            self.rate,
            self.decay,
            self.seed,
            self.threads,
            SimdLevel::best()
        )
    }

    /// Progress of the run (0.0 to 1.0): by epochs or by time, whichever is further.
    fn progress(&self, elapsed: Duration, epochs: f32) -> f32 {
        let time = |limit: Duration| elapsed.as_secs_f32() / limit.as_secs_f32();
        let time = self.limit.map_or(0.0, time);
        (epochs / self.epochs as f32).max(time).min(1.0)
    }

    /// The target after `progress` of the run.
    fn target_at(&self, progress: f32) -> Target {
        let [first, last] = [self.target.wdl, self.final_target.wdl];
        Target {
            wdl: first + (last - first) * progress,
            ..self.target
        }
    }
}

/// Refuses an output that exists and is not a network, so that no other data is lost.
fn check_output(out: &Path) -> anyhow::Result<()> {
    let shown = out.display();
    match out.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => bail!("cannot write {shown}: {error}"),
        Ok(metadata) => ensure!(metadata.is_file(), "cannot write {shown}: it is not a file"),
    }
    Network::open(out).context("the output exists and is not a network: choose another --out")?;
    Ok(())
}

/// Reads the games, trains a network and writes it to `options.out` after every epoch that is the best so far, with a
/// checkpoint next to it until the run is finished.
///
/// # Errors
/// When there are no games, a file cannot be read or written, the options are invalid, or there is a checkpoint that is
/// not resumed.
pub fn run(options: &TrainOptions) -> anyhow::Result<()> {
    let shape = Shape {
        hidden: options.hidden,
        buckets: options.buckets,
    };
    shape.check()?;
    let unfinished = Checkpoint::open(&options.out, options.resume)?;
    let mut log = RunLog::for_network(&options.out, options.resume)?;
    check_output(&options.out)?;
    let from = options.from.as_deref();
    let from = from.map(|path| open_network(path, shape)).transpose()?;
    let threads = options.data.thread_count();
    let began = Instant::now();
    let (data, data_line) = load_data(options)?;
    let settings = TrainingSettings::new(options, &data, threads);
    let key = settings.key(options, shape, &data);
    let (start, best) = match unfinished {
        Some((checkpoint, network)) => {
            checkpoint.check(&key)?;
            ensure!(
                checkpoint.epochs <= settings.epochs,
                "cannot resume: {} epochs are finished, and --epochs is {}",
                checkpoint.epochs,
                settings.epochs
            );
            let loss = checkpoint.best_loss;
            (checkpoint, Some((loss, network)))
        }
        None => {
            let model = match from {
                Some(network) => Model::from_network(&network, settings.target.scale)
                    .widened(shape.hidden, options.data.seed),
                None => Model::random(shape, options.data.seed),
            };
            (Checkpoint::start(key, &model), None)
        }
    };
    log.print(&data_line)?;
    log.print(&settings.describe(options, shape))?;
    if start.epochs > 0 {
        log.print(&format!(
            "continuing after epoch {}, {:.0} s",
            start.epochs,
            start.elapsed.as_secs_f64()
        ))?;
    }
    let best = train_and_save(options, &start, &data, &settings, best, &mut log)?;
    let (loss, network) = best.context("no epoch was finished")?;
    let (integer, magnitude) = compare(&network, &data.validation, settings.final_target);
    if SCALE_RATIO_LIMITS
        .map(|ratio| scaled(settings.target.scale, ratio))
        .contains(&network.scale())
    {
        log.print("the evaluations differ in size from the scores of the games; the scale is limited to half or twice K")?;
    }
    log.print(&format!(
        "best: validation {loss:.6}, as integers {integer:.6} (on up to {MAX_COMPARED_POSITIONS}); scale {}, mean |evaluation| {magnitude:.0}; {} in {:.0} s",
        network.scale(),
        options.out.display(),
        (start.elapsed + began.elapsed()).as_secs_f64()
    ))?;
    let path = Checkpoint::path(&options.out);
    std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
}

/// Reads the positions of the games. The text describes them.
fn load_data(options: &TrainOptions) -> anyhow::Result<(Dataset, String)> {
    let began = Instant::now();
    let (files, data) = options.data.load(options.validation)?;
    let (training_count, validation_count) = (data.training.len(), data.validation.len());
    let text = format!(
        "data: {} files, {} games, {} plies, {} positions kept ({:.1} a game, {:.1} %), {validation_count} for validation; read in {:.1} s",
        files,
        data.games,
        data.plies,
        training_count + validation_count,
        (training_count + validation_count) as f64 / data.games.max(1) as f64,
        (training_count + validation_count) as f64 * 100.0 / data.plies.max(1) as f64,
        began.elapsed().as_secs_f64()
    );
    ensure!(
        training_count >= 64 && validation_count > 0,
        "too few positions: {training_count} to learn from, and {validation_count} set apart (--validation {})",
        options.validation
    );
    Ok((data, text))
}

/// Trains from `start` on. After each epoch it prints the loss, writes the network if it is the best so far, and writes
/// a checkpoint. Returns the best network with its loss.
fn train_and_save(
    options: &TrainOptions,
    start: &Checkpoint,
    data: &Dataset,
    settings: &TrainingSettings,
    mut best: Option<(f64, Network)>,
    log: &mut RunLog,
) -> anyhow::Result<Option<(f64, Network)>> {
    let name = options.name.clone().unwrap_or_else(|| stem(&options.out));
    let mut save = |report: &EpochReport| {
        log.print(&report.line)?;
        let loss = report.validation.mean();
        ensure!(
            loss.is_finite(),
            "the loss is not finite; try a lower --rate"
        );
        let best_loss = best.as_ref().map_or(loss, |(min, _)| loss.min(*min));
        if best.as_ref().is_none_or(|(min, _)| loss < *min) {
            let scale = report.scale(settings.target.scale);
            let network = report.model.quantize(&name, scale)?;
            atomic_file::write(&options.out, &network.to_bytes())
                .with_context(|| format!("cannot write {}", options.out.display()))?;
            log.start_file()?;
            best = Some((loss, network));
        }
        report
            .checkpoint(best_loss)
            .write(&Checkpoint::path(&options.out))
    };
    let mut failed = None;
    train(start, data, settings, |report| {
        failed = save(report).err();
        match failed {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    })?;
    match failed {
        None => Ok(best),
        Some(error) => Err(error),
    }
}

/// Opens the network to continue from, if it has a compatible shape.
fn open_network(path: &Path, shape: Shape) -> anyhow::Result<Network> {
    let network = Network::open(path)?;
    let has = network.shape();
    ensure!(
        has.buckets == shape.buckets && has.hidden <= shape.hidden,
        "{} has {} hidden units and {} output rows: continue with --buckets {} and at least as many hidden units",
        path.display(),
        has.hidden,
        has.buckets,
        has.buckets
    );
    Ok(network)
}

/// Report of an epoch.
struct EpochReport<'a> {
    model: &'a Model,
    validation: Loss,
    line: String,
    shared: &'a Shared<'a>,
    epochs: usize,
    step: u32,
    elapsed: Duration,
}

impl EpochReport<'_> {
    /// All that is needed to continue after this epoch. `best_loss` is that of the network written last.
    fn checkpoint(&self, best_loss: f64) -> Checkpoint {
        let rows = |part: fn(&Shard) -> &Vec<Row>| -> Vec<Row> {
            let shards = self.shared.shards.iter();
            shards
                .flat_map(|shard| part(&read(shard)).clone())
                .collect()
        };
        Checkpoint {
            key: self.shared.start.key,
            epochs: self.epochs,
            step: self.step,
            elapsed: self.elapsed,
            best_loss,
            weights: rows(|shard| &shard.weights),
            first: rows(|shard| &shard.first),
            second: rows(|shard| &shard.second),
        }
    }

    /// Centipawns per unit of output at which evaluations are as large as the scores.
    fn scale(&self, trained: f32) -> i32 {
        let ratio = if self.validation.outputs > 0.0 {
            self.validation.scores / self.validation.outputs
        } else {
            1.0
        };
        let [min, max] = SCALE_RATIO_LIMITS;
        scaled(trained, ratio.clamp(min, max))
    }
}

fn scaled(scale: f32, ratio: f64) -> i32 {
    (f64::from(scale) * ratio).round() as i32
}

/// One thread's range of the parameters, with the moments of AdamW.
struct Shard {
    from: usize,
    weights: Vec<Row>,
    first: Vec<Row>,
    second: Vec<Row>,
}

/// State shared by all threads.
struct Shared<'a> {
    start: &'a Checkpoint,
    data: &'a Dataset,
    settings: &'a TrainingSettings,
    gradients: Vec<RwLock<Vec<Row>>>,
    shards: Vec<RwLock<Shard>>,
    losses: Vec<Mutex<(Loss, Loss)>>,
    barrier: SpinBarrier,
    /// Progress of the run at the next step, as the bits of an `f32`.
    progress: AtomicU32,
    stop: AtomicBool,
}

/// Trains from `start` on. `report` is called after every epoch, on one thread, and may end the training.
///
/// # Errors
/// When a thread cannot be started.
fn train(
    start: &Checkpoint,
    data: &Dataset,
    settings: &TrainingSettings,
    report: impl FnMut(&EpochReport) -> ControlFlow<()> + Send,
) -> anyhow::Result<()> {
    let model = start.model();
    let rows = model.layout.rows();
    let share = rows.div_ceil(settings.threads);
    let shared = Shared {
        start,
        data,
        settings,
        gradients: (0..settings.threads)
            .map(|_| RwLock::new(vec![Row::ZERO; rows]))
            .collect(),
        shards: (0..settings.threads)
            .map(|at| {
                let range = (at * share).min(rows)..((at + 1) * share).min(rows);
                RwLock::new(Shard {
                    from: range.start,
                    weights: start.weights[range.clone()].to_vec(),
                    first: start.first[range.clone()].to_vec(),
                    second: start.second[range].to_vec(),
                })
            })
            .collect(),
        losses: (0..settings.threads).map(|_| Mutex::default()).collect(),
        barrier: SpinBarrier::new(settings.threads),
        progress: AtomicU32::new(
            settings
                .progress(start.elapsed, start.epochs as f32)
                .to_bits(),
        ),
        stop: AtomicBool::new(false),
    };
    let mut report = Some(report);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        for thread in 0..settings.threads {
            let (shared, model) = (&shared, model.clone());
            let report = report.take();
            let work = move || {
                let _abort = AbortOnPanic(&shared.barrier);
                Worker {
                    thread,
                    tile: Tile::new(model.layout, SimdLevel::best()),
                    model,
                    shared,
                }
                .run(report);
            };
            let started = Builder::new()
                .name("trainer".into())
                .spawn_scoped(scope, work);
            if let Err(error) = started {
                shared.barrier.abort();
                return Err(error).context("cannot start a thread");
            }
        }
        Ok(())
    })
}

struct Worker<'a> {
    thread: usize,
    tile: Tile,
    model: Model,
    shared: &'a Shared<'a>,
}

impl Worker<'_> {
    /// Runs the training loop. The thread with `report` is the leader: it sets the learning rate, ends the training and prints.
    /// All threads stop when one has panicked.
    fn run<F: FnMut(&EpochReport) -> ControlFlow<()>>(&mut self, mut report: Option<F>) {
        let (shared, settings) = (self.shared, self.shared.settings);
        let (runs, _) = shared.data.training.as_chunks::<RUN>();
        let runs_per_batch = settings.batch / RUN;
        let batches = runs.len().div_ceil(runs_per_batch);
        let began = Instant::now();
        let elapsed = || shared.start.elapsed + began.elapsed();
        let mut last_report = began;
        let mut step = shared.start.step;
        for epoch in shared.start.epochs..settings.epochs {
            self.gather(self.progress() >= ROUNDED_FROM);
            let order = Permutation::new(runs.len(), settings.seed ^ (epoch as u64 + 1));
            let mut loss = Loss::default();
            for batch in 0..batches {
                let range = batch * runs_per_batch..((batch + 1) * runs_per_batch).min(runs.len());
                let size = range.len() * RUN;
                // The leader sets the next progress while others are still in their step.
                let progress = self.progress();
                let rate = rate_at(settings.rate, progress);
                loss.add(&self.gradient(runs, &order, range, settings.target_at(progress)));
                if !shared.barrier.wait() {
                    return;
                }
                step += 1;
                self.step(step, rate, size);
                if report.is_some() {
                    let epochs = epoch as f32 + (batch + 1) as f32 / batches as f32;
                    let progress = settings.progress(elapsed(), epochs);
                    shared.progress.store(progress.to_bits(), Ordering::Relaxed);
                    shared.stop.store(progress >= 1.0, Ordering::Relaxed);
                    if last_report.elapsed() > Duration::from_secs(10) {
                        last_report = Instant::now();
                        eprintln!(
                            "  {:.1} % {}, {:.2} M positions/s",
                            progress * 100.0,
                            time_left(elapsed(), progress),
                            f64::from(step) * settings.batch as f64 / elapsed().as_secs_f64() / 1e6
                        );
                    }
                }
                if !shared.barrier.wait() {
                    return;
                }
                self.gather(self.progress() >= ROUNDED_FROM);
                if shared.stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            // What counts is the network of the engine.
            self.gather(true);
            let validation = self.validate();
            *lock(&shared.losses[self.thread]) = (loss, validation);
            if !shared.barrier.wait() {
                return;
            }
            if let Some(report) = &mut report {
                let (mut training, mut validation) = (Loss::default(), Loss::default());
                for losses in &shared.losses {
                    let losses = lock(losses);
                    training.add(&losses.0);
                    validation.add(&losses.1);
                }
                let elapsed = elapsed();
                let progress = settings.progress(elapsed, (epoch + 1) as f32);
                let seconds = elapsed.as_secs_f64();
                let speed = f64::from(step) * settings.batch as f64 / seconds;
                let line = format!(
                    "epoch {:>3}: loss {:.6}, validation {:.6}; {:.2} M positions/s, {:.2} M a thread; {seconds:.0} s, {}",
                    epoch + 1,
                    training.mean(),
                    validation.mean(),
                    speed / 1e6,
                    speed / 1e6 / settings.threads as f64,
                    time_left(elapsed, progress)
                );
                let flow = report(&EpochReport {
                    model: &self.model,
                    validation,
                    line,
                    shared,
                    epochs: epoch + 1,
                    step,
                    elapsed,
                });
                if flow.is_break() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
            }
            if !shared.barrier.wait() || shared.stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }

    fn progress(&self) -> f32 {
        f32::from_bits(self.shared.progress.load(Ordering::Relaxed))
    }

    /// Computes the gradient of this thread's share of a batch of runs.
    fn gradient(
        &mut self,
        runs: &[[Sample; RUN]],
        order: &Permutation,
        batch: std::ops::Range<usize>,
        target: Target,
    ) -> Loss {
        let (shared, threads) = (self.shared, self.shared.settings.threads);
        let mut gradient = write(&shared.gradients[self.thread]);
        gradient.fill(Row::ZERO);
        let mut loss = Loss::default();
        let share = batch.len().div_ceil(threads);
        let from = (batch.start + self.thread * share).min(batch.end);
        let to = (from + share).min(batch.end);
        let mut samples = Vec::with_capacity(TILE);
        for start in (from..to).step_by(TILE / RUN) {
            samples.clear();
            let tile = start..(start + TILE / RUN).min(to);
            tile.for_each(|at| samples.extend(&runs[order.at(at)]));
            loss.add(
                &self
                    .tile
                    .run(&self.model.rows, &samples, target, Some(&mut gradient)),
            );
        }
        loss
    }

    /// AdamW step on this thread's range of the parameters.
    fn step(&mut self, step: u32, rate: f32, batch: usize) {
        let (shared, settings) = (self.shared, self.shared.settings);
        let gradients: Vec<RwLockReadGuard<Vec<Row>>> = shared.gradients.iter().map(read).collect();
        let mut shard = write(&shared.shards[self.thread]);
        let Shard {
            from,
            weights,
            first,
            second,
        } = &mut *shard;
        let correction = |beta: f32| 1.0 / (1.0 - beta.powi(step.min(100_000) as i32));
        let (first_correction, second_correction) = (correction(BETA1), correction(BETA2));
        let mean = 1.0 / batch as f32;
        let biases = self.model.layout.output_biases();
        for (at, ((weights, first), second)) in
            weights.iter_mut().zip(first).zip(second).enumerate()
        {
            let at = *from + at;
            let mut sum = gradients[0][at].0;
            for gradient in &gradients[1..] {
                for (sum, value) in sum.iter_mut().zip(gradient[at].0) {
                    *sum += value;
                }
            }
            let clip = if at == biases { f32::INFINITY } else { CLIP };
            for (lane, sum) in sum.into_iter().enumerate() {
                let slope = sum * mean;
                first.0[lane] = BETA1 * first.0[lane] + (1.0 - BETA1) * slope;
                second.0[lane] = BETA2 * second.0[lane] + (1.0 - BETA2) * slope * slope;
                let direction = first.0[lane] * first_correction
                    / ((second.0[lane] * second_correction).sqrt() + 1e-8);
                let weight = weights.0[lane] * (1.0 - rate * settings.decay) - rate * direction;
                weights.0[lane] = weight.clamp(-clip, clip);
            }
        }
    }

    /// Copies all ranges into this thread's replica, as they are or rounded as in the engine.
    fn gather(&mut self, rounded: bool) {
        for shard in &self.shared.shards {
            let Shard { from, weights, .. } = &*read(shard);
            if rounded {
                self.model.copy_rounded(*from, weights);
            } else {
                self.model.rows[*from..][..weights.len()].copy_from_slice(weights);
            }
        }
    }

    /// Loss on this thread's share of the validation set.
    fn validate(&mut self) -> Loss {
        let (samples, settings) = (&self.shared.data.validation, self.shared.settings);
        // Always the same target, so that epochs can be compared.
        let target = settings.final_target;
        let share = samples.len().div_ceil(settings.threads);
        let from = (self.thread * share).min(samples.len());
        let mut loss = Loss::default();
        for tile in samples[from..(from + share).min(samples.len())].chunks(TILE) {
            loss.add(&self.tile.run(&self.model.rows, tile, target, None));
        }
        loss
    }
}

/// The learning rate after `progress` of the run.
fn rate_at(rate: f32, progress: f32) -> f32 {
    let share = 0.5 * (1.0 + (std::f32::consts::PI * progress).cos());
    let warm = (progress / WARM_UP).min(1.0);
    rate * warm * (FINAL_RATE_FACTOR + (1.0 - FINAL_RATE_FACTOR) * share)
}

/// The time left after `progress` of the run, as text.
fn time_left(elapsed: Duration, progress: f32) -> String {
    let seconds = elapsed.as_secs_f32() * (1.0 / progress.max(1e-6) - 1.0);
    format!(
        "{:.0} min {:02.0} s left",
        (seconds / 60.0).floor(),
        seconds % 60.0
    )
}

/// A permutation of `0..count` that needs no memory: the runs are shuffled once when they are read, and every epoch visits them with
/// another stride, so that batches never repeat.
struct Permutation {
    count: u64,
    stride: u64,
    offset: u64,
}

impl Permutation {
    fn new(count: usize, seed: u64) -> Permutation {
        let mut rng = fastrand::Rng::with_seed(seed);
        let count = count as u64;
        let mut stride = rng.u64(0..count) | 1;
        while gcd(stride, count) != 1 {
            stride = rng.u64(0..count) | 1;
        }
        Permutation {
            count,
            stride,
            offset: rng.u64(0..count),
        }
    }

    fn at(&self, index: usize) -> usize {
        ((index as u64 * self.stride + self.offset) % self.count) as usize
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The scale K for which `sigmoid(score / K)` best predicts the results, on a part of the data.
fn fit_scale(samples: &[Sample]) -> f32 {
    let step = samples.len().div_ceil(500_000);
    best_scale(|scale| {
        let squares = samples.iter().step_by(step).map(|sample| {
            let expected = super::kernel::sigmoid(f32::from(sample.score()) / scale);
            f64::from((expected - sample.result()).powi(2))
        });
        squares.sum()
    })
}

/// The scale of the lowest error, by golden-section search.
fn best_scale(error: impl Fn(f32) -> f64) -> f32 {
    let golden = 0.618_034;
    let (mut low, mut high) = (40.0f32, 2000.0f32);
    while high - low > 0.5 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if error(left) < error(right) {
            high = right;
        } else {
            low = left;
        }
    }
    f32::midpoint(low, high)
}

/// The integer network's loss on a part of the validation set, and its mean |evaluation| in centipawns.
fn compare(network: &Network, samples: &[Sample], target: Target) -> (f64, f64) {
    let kernels = Kernels::best();
    let (mut loss, mut magnitude) = (0.0, 0.0);
    let step = samples.len().div_ceil(MAX_COMPARED_POSITIONS).max(1);
    let chosen: Vec<&Sample> = samples.iter().step_by(step).collect();
    for sample in &chosen {
        let (mut ours, mut theirs) = ([0; 32], [0; 32]);
        sample.features(&mut ours, &mut theirs);
        let count = sample.count();
        let value = network.evaluate_inputs(kernels, &ours[..count], &theirs[..count]);
        let expected = super::kernel::sigmoid(value as f32 / network.scale() as f32);
        loss += f64::from((expected - target.of(sample)).powi(2));
        magnitude += f64::from(value.abs());
    }
    (loss / chosen.len() as f64, magnitude / chosen.len() as f64)
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "trainer_tests.rs"]
mod tests;
