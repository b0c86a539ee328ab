//! The trainer: threads that each push their share of a batch through the network, add up their gradients and take a step.
//!
//! Every thread owns a replica of the weights and a gradient. A batch has two meetings: after the first, each thread sums all
//! gradients over its own range of the parameters and moves that range (AdamW); after the second, each copies the others' ranges
//! into its replica. No thread waits for a main thread, and no lock is ever contended.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::contest::crew;
use super::dataset::{Dataset, Sources};
use super::kernel::{Level, Loss, TILE, Target, Tile};
use super::log::Log;
use super::meeting::{Leave, Meeting};
use super::model::{CLIP, Model, Row};
use super::options::TrainOptions;
use super::sample::Sample;
use crate::atomic_file;
use crate::engine::nnue::{Kernels, Network, Shape};

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
/// The last learning rate, as a share of the first.
const LAST_RATE: f32 = 0.01;
/// The scale of a network is at least and at most so many times the one that it was trained with.
const RATIOS: [f64; 2] = [0.5, 2.0];
/// Positions at most that the integer network is compared on at the end.
const COMPARED: usize = 50_000;

/// What a training run is, data apart.
#[derive(Clone, Debug)]
struct Plan {
    target: Target,
    batch: usize,
    epochs: usize,
    limit: Option<Duration>,
    rate: f32,
    decay: f32,
    threads: usize,
    seed: u64,
}

/// Reads the games, trains a network and writes it to `options.out`, after every epoch that was the best so far.
///
/// # Errors
/// When there are no games, a file cannot be read or written, or the options make no network.
pub fn run(options: &TrainOptions) -> anyhow::Result<()> {
    let shape = Shape {
        hidden: options.hidden,
        buckets: options.buckets,
    };
    shape.check()?;
    let mut log = Log::beside(&options.out)?;
    let from = options.from.as_deref();
    let from = from.map(|path| open(path, shape)).transpose()?;
    let threads = crew::size(options.threads);
    let began = Instant::now();
    let sources = Sources::find(&options.data)?;
    let data = sources.load(threads, options.validation, options.seed, Sample::new)?;
    let (learnt, apart) = (data.training.len(), data.validation.len());
    log.line(&format!(
        "data: {} files, {} games, {} plies, {} positions kept ({:.1} a game, {:.1} %), {apart} for validation; read in {:.1} s",
        sources.len(),
        data.games,
        data.plies,
        learnt + apart,
        (learnt + apart) as f64 / data.games.max(1) as f64,
        (learnt + apart) as f64 * 100.0 / data.plies.max(1) as f64,
        began.elapsed().as_secs_f64()
    ))?;
    ensure!(
        learnt >= 64 && apart > 0,
        "too few positions: {learnt} to learn from, and {apart} set apart (--validation {})",
        options.validation
    );
    let scale = options
        .scale
        .map_or_else(|| fit_scale(&data.training), |scale| scale as f32);
    let batch = options
        .batch
        .unwrap_or(if learnt < 5_000_000 { 4096 } else { 16_384 });
    let plan = Plan {
        target: Target {
            wdl: options.wdl as f32,
            scale,
        },
        batch: batch.min(learnt),
        epochs: options.epochs,
        limit: options.minutes,
        rate: options.rate as f32,
        decay: options.decay as f32,
        threads,
        seed: options.seed,
    };
    let model = match from {
        Some(network) => Model::from_network(&network, scale).widened(shape.hidden, options.seed),
        None => Model::random(shape, options.seed),
    };
    log.line(&format!(
        "network: (768 -> {}) x 2 -> 1 x {}; wdl {}, K {scale:.0}, batch {}, epochs {}, limit {:?}, rate {}, decay {}, seed {}, {} threads, {:?}",
        shape.hidden, shape.buckets, options.wdl, plan.batch, plan.epochs, plan.limit, plan.rate, plan.decay, plan.seed, threads,
        Level::best()
    ))?;
    let name = options.name.clone().unwrap_or_else(|| stem(&options.out));
    let mut best: Option<(f64, Network)> = None;
    let mut failed = None;
    train(model, &data, &plan, |report| {
        let result = (|| {
            log.line(&report.line)?;
            let loss = report.validation.mean();
            ensure!(
                loss.is_finite(),
                "the loss is no number any more: with a lower --rate it may stay one"
            );
            if best.as_ref().is_none_or(|(least, _)| loss < *least) {
                let network = report.model.quantise(&name, report.scale(scale))?;
                atomic_file::write(&options.out, &network.to_bytes())
                    .with_context(|| format!("cannot write {}", options.out.display()))?;
                log.keep()?;
                best = Some((loss, network));
            }
            anyhow::Ok(())
        })();
        failed = result.err();
        match failed {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let (loss, network) = best.context("no epoch was finished")?;
    let (integer, magnitude) = compare(&network, &data.validation, plan.target);
    if RATIOS
        .map(|ratio| scaled(scale, ratio))
        .contains(&network.scale())
    {
        log.line("its evaluations are not as large as the scores that it learned from: its scale is held at half or twice K")?;
    }
    log.line(&format!(
        "best: validation {loss:.6}, as integers {integer:.6} (on up to {COMPARED}); scale {}, mean |evaluation| {magnitude:.0}; {} in {:.0} s",
        network.scale(),
        options.out.display(),
        began.elapsed().as_secs_f64()
    ))
}

/// The network to go on with, if one of this shape can.
fn open(path: &Path, shape: Shape) -> anyhow::Result<Network> {
    let network = Network::open(path)?;
    let has = network.shape();
    ensure!(
        has.buckets == shape.buckets && has.hidden <= shape.hidden,
        "{} has {} hidden units and {} output rows: it can only go on with --buckets {} and as many hidden units or more",
        path.display(),
        has.hidden,
        has.buckets,
        has.buckets
    );
    Ok(network)
}

/// What one thread tells after an epoch.
struct Report<'a> {
    model: &'a Model,
    validation: Loss,
    line: String,
}

impl Report<'_> {
    /// Centipawns of one unit of output, so that evaluations are as large as the scores they were trained on.
    fn scale(&self, trained: f32) -> i32 {
        let ratio = if self.validation.outputs > 0.0 {
            self.validation.scores / self.validation.outputs
        } else {
            1.0
        };
        let [least, most] = RATIOS;
        scaled(trained, ratio.clamp(least, most))
    }
}

fn scaled(scale: f32, ratio: f64) -> i32 {
    (f64::from(scale) * ratio).round() as i32
}

/// One thread's range of the parameters.
struct Shard {
    from: usize,
    weights: Vec<Row>,
    first: Vec<Row>,
    second: Vec<Row>,
}

/// What the threads share.
struct Shared<'a> {
    data: &'a Dataset,
    plan: &'a Plan,
    gradients: Vec<RwLock<Vec<Row>>>,
    shards: Vec<RwLock<Shard>>,
    losses: Vec<Mutex<(Loss, Loss)>>,
    meeting: Meeting,
    /// The learning rate of the next step, as bits of an `f32`.
    rate: AtomicU32,
    over: AtomicBool,
}

/// Trains `model`; `report` is called after every epoch, from one thread, and may end it.
///
/// # Errors
/// When a thread cannot be started.
fn train(
    model: Model,
    data: &Dataset,
    plan: &Plan,
    report: impl FnMut(&Report) -> ControlFlow<()> + Send,
) -> anyhow::Result<()> {
    let rows = model.layout.rows();
    let share = rows.div_ceil(plan.threads);
    let shared = Shared {
        data,
        plan,
        gradients: (0..plan.threads)
            .map(|_| RwLock::new(vec![Row::ZERO; rows]))
            .collect(),
        shards: (0..plan.threads)
            .map(|at| {
                let range = (at * share).min(rows)..((at + 1) * share).min(rows);
                let zeros = vec![Row::ZERO; range.len()];
                RwLock::new(Shard {
                    from: range.start,
                    weights: model.rows[range].to_vec(),
                    first: zeros.clone(),
                    second: zeros,
                })
            })
            .collect(),
        losses: (0..plan.threads).map(|_| Mutex::default()).collect(),
        meeting: Meeting::new(plan.threads),
        rate: AtomicU32::new(plan.rate.to_bits()),
        over: AtomicBool::new(false),
    };
    let mut report = Some(report);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        for thread in 0..plan.threads {
            let (shared, model) = (&shared, model.clone());
            let report = report.take();
            let work = move || {
                let _leave = Leave(&shared.meeting);
                Worker {
                    thread,
                    tile: Tile::new(model.layout, Level::best()),
                    model,
                    shared,
                }
                .run(report);
            };
            let started = Builder::new()
                .name("trainer".into())
                .spawn_scoped(scope, work);
            if let Err(error) = started {
                shared.meeting.leave();
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
    /// The first thread has `report` and leads: it sets the rate, decides on the end and speaks.
    /// All end where one has gone: nobody is waited for who does not come.
    fn run<F: FnMut(&Report) -> ControlFlow<()>>(&mut self, mut report: Option<F>) {
        let (shared, plan) = (self.shared, self.shared.plan);
        let count = shared.data.training.len();
        let batches = count.div_ceil(plan.batch);
        let began = Instant::now();
        let mut spoken = began;
        let mut step = 0u32;
        for epoch in 0..plan.epochs {
            let order = Order::new(count, plan.seed ^ (epoch as u64 + 1));
            let mut loss = Loss::default();
            for batch in 0..batches {
                let range = batch * plan.batch..((batch + 1) * plan.batch).min(count);
                let size = range.len();
                // The leader sets it for the next batch while others are still at their step.
                let rate = f32::from_bits(shared.rate.load(Ordering::Relaxed));
                loss.add(&self.gradient(&order, range));
                if !shared.meeting.wait() {
                    return;
                }
                step += 1;
                self.step(step, rate, size);
                if report.is_some() {
                    let progress = self.progress(
                        began,
                        (epoch * batches + batch + 1) as f32 / (plan.epochs * batches) as f32,
                    );
                    shared
                        .rate
                        .store(cosine(plan.rate, progress).to_bits(), Ordering::Relaxed);
                    shared.over.store(progress >= 1.0, Ordering::Relaxed);
                    if spoken.elapsed() > Duration::from_secs(10) {
                        spoken = Instant::now();
                        let done = (epoch * count + (batch + 1) * plan.batch) as f64;
                        eprintln!(
                            "  {:.1} % {}, {:.2} M positions/s",
                            progress * 100.0,
                            left(began, progress),
                            done / began.elapsed().as_secs_f64() / 1e6
                        );
                    }
                }
                if !shared.meeting.wait() {
                    return;
                }
                self.gather();
                if shared.over.load(Ordering::Relaxed) {
                    break;
                }
            }
            let validation = self.validate();
            *lock(&shared.losses[self.thread]) = (loss, validation);
            if !shared.meeting.wait() {
                return;
            }
            if let Some(report) = &mut report {
                let (mut training, mut validation) = (Loss::default(), Loss::default());
                for losses in &shared.losses {
                    let losses = lock(losses);
                    training.add(&losses.0);
                    validation.add(&losses.1);
                }
                let progress = self.progress(began, (epoch + 1) as f32 / plan.epochs as f32);
                let seconds = began.elapsed().as_secs_f64();
                let speed = step as f64 * plan.batch as f64 / seconds;
                let line = format!(
                    "epoch {:>3}: loss {:.6}, validation {:.6}; {:.2} M positions/s, {:.2} M a thread; {seconds:.0} s, {}",
                    epoch + 1,
                    training.mean(),
                    validation.mean(),
                    speed / 1e6,
                    speed / 1e6 / plan.threads as f64,
                    left(began, progress)
                );
                let told = report(&Report {
                    model: &self.model,
                    validation,
                    line,
                });
                if told.is_break() {
                    shared.over.store(true, Ordering::Relaxed);
                }
            }
            if !shared.meeting.wait() || shared.over.load(Ordering::Relaxed) {
                break;
            }
        }
    }

    /// This thread's share of a batch, into its gradient.
    fn gradient(&mut self, order: &Order, batch: std::ops::Range<usize>) -> Loss {
        let (shared, threads) = (self.shared, self.shared.plan.threads);
        let mut gradient = write(&shared.gradients[self.thread]);
        gradient.fill(Row::ZERO);
        let mut loss = Loss::default();
        let share = batch.len().div_ceil(threads);
        let from = (batch.start + self.thread * share).min(batch.end);
        let to = (from + share).min(batch.end);
        let mut samples = Vec::with_capacity(TILE);
        for start in (from..to).step_by(TILE) {
            samples.clear();
            samples.extend(
                (start..(start + TILE).min(to)).map(|at| shared.data.training[order.at(at)]),
            );
            loss.add(&self.tile.run(
                &self.model.rows,
                &samples,
                shared.plan.target,
                Some(&mut gradient),
            ));
        }
        loss
    }

    /// AdamW on this thread's range of the parameters.
    fn step(&mut self, step: u32, rate: f32, batch: usize) {
        let (shared, plan) = (self.shared, self.shared.plan);
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
                let weight = weights.0[lane] * (1.0 - rate * plan.decay) - rate * direction;
                weights.0[lane] = weight.clamp(-clip, clip);
            }
        }
    }

    /// Copies all ranges into this thread's replica.
    fn gather(&mut self) {
        for shard in &self.shared.shards {
            let shard = read(shard);
            self.model.rows[shard.from..][..shard.weights.len()].copy_from_slice(&shard.weights);
        }
    }

    /// The loss on this thread's share of the validation set.
    fn validate(&mut self) -> Loss {
        let samples = &self.shared.data.validation;
        let share = samples.len().div_ceil(self.shared.plan.threads);
        let from = (self.thread * share).min(samples.len());
        let mut loss = Loss::default();
        for tile in samples[from..(from + share).min(samples.len())].chunks(TILE) {
            loss.add(
                &self
                    .tile
                    .run(&self.model.rows, tile, self.shared.plan.target, None),
            );
        }
        loss
    }

    /// How far the run is (0.0 to 1.0): by epochs, or by time where that is further.
    fn progress(&self, began: Instant, epochs: f32) -> f32 {
        let time = self.shared.plan.limit.map_or(0.0, |limit| {
            began.elapsed().as_secs_f32() / limit.as_secs_f32()
        });
        epochs.max(time).min(1.0)
    }
}

/// The learning rate after `progress` of the run.
pub(super) fn cosine(rate: f32, progress: f32) -> f32 {
    let share = 0.5 * (1.0 + (std::f32::consts::PI * progress).cos());
    rate * (LAST_RATE + (1.0 - LAST_RATE) * share)
}

/// The time left after `progress` of the run.
pub(super) fn left(began: Instant, progress: f32) -> String {
    let seconds = began.elapsed().as_secs_f32() * (1.0 / progress.max(1e-6) - 1.0);
    format!(
        "{:.0} min {:02.0} s left",
        (seconds / 60.0).floor(),
        seconds % 60.0
    )
}

/// A permutation of `0..count` that costs no memory: the set is shuffled once when it is read, and every epoch strides through
/// it differently, so that batches never repeat.
struct Order {
    count: u64,
    stride: u64,
    offset: u64,
}

impl Order {
    fn new(count: usize, seed: u64) -> Order {
        let mut rng = fastrand::Rng::with_seed(seed);
        let count = count as u64;
        let mut stride = rng.u64(0..count) | 1;
        while gcd(stride, count) != 1 {
            stride = rng.u64(0..count) | 1;
        }
        Order {
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

/// The scale K for which `sigmoid(score / K)` best foretells the results, on a part of the data.
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

/// The scale of the least error, by golden-section search.
pub(super) fn best_scale(error: impl Fn(f32) -> f64) -> f32 {
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
    (low + high) / 2.0
}

/// The integer network's loss on a part of the validation set, and its mean magnitude in centipawns.
fn compare(network: &Network, samples: &[Sample], target: Target) -> (f64, f64) {
    let kernels = Kernels::best();
    let (mut loss, mut magnitude) = (0.0, 0.0);
    let step = samples.len().div_ceil(COMPARED).max(1);
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "trainer_tests.rs"]
mod tests;
