//! Gradient computation: forward and backward pass of a tile of positions.
//!
//! The loops are plain and vectorised by the compiler, once per instruction set. The only `unsafe` code is the calls of functions
//! compiled for an instruction set that was detected.

use super::model::{Layout, Row};
use super::sample::Sample;
use knightwatch_engine::nnue::LANE;
use knightwatch_engine::nnue::features::bucket;

/// Positions that are processed together with a block of weights.
pub(crate) const TILE: usize = 64;

/// Training target: `wdl` of the game's result, the rest is the score's expected result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// Weight of the result, 0.0 to 1.0.
    pub wdl: f32,
    /// Centipawns per unit of output.
    pub scale: f32,
}

impl Target {
    pub(crate) fn of(self, sample: &Sample) -> f32 {
        self.wdl * sample.result()
            + (1.0 - self.wdl) * sigmoid(f32::from(sample.score()) / self.scale)
    }
}

pub(crate) fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + (-value).exp())
}

/// Loss sums over some positions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loss {
    /// Sum of squared errors.
    pub squares: f64,
    pub count: u64,
    /// Sums of |output| and of |score| / scale over undecided positions.
    pub outputs: f64,
    pub scores: f64,
}

impl Loss {
    pub(crate) fn add(&mut self, other: &Loss) {
        self.squares += other.squares;
        self.count += other.count;
        self.outputs += other.outputs;
        self.scores += other.scores;
    }

    /// Mean squared error.
    pub(crate) fn mean(&self) -> f64 {
        self.squares / self.count.max(1) as f64
    }
}

#[inline(always)]
fn add(to: &mut [f32; LANE], values: &[f32; LANE]) {
    for lane in 0..LANE {
        to[lane] += values[lane];
    }
}

/// Sum of the values, by halves, so that it vectorises.
#[inline(always)]
fn total(mut values: [f32; LANE]) -> f32 {
    let mut half = LANE / 2;
    while half > 0 {
        for at in 0..half {
            values[at] += values[at + half];
        }
        half /= 2;
    }
    values[0]
}

/// Larger scores, in centipawns, are not used to measure the network's scale.
const UNDECIDED: i16 = 600;

/// Instruction set that the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SimdLevel {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl SimdLevel {
    /// The best one of this processor.
    pub(crate) fn best() -> SimdLevel {
        *SimdLevel::all().last().expect("there is one for all")
    }

    /// All of this processor, the best last.
    pub(crate) fn all() -> Vec<SimdLevel> {
        #[allow(unused_mut)] // Elsewhere there is one.
        let mut levels = vec![SimdLevel::Plain];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            levels.push(SimdLevel::Avx2);
            if is_x86_feature_detected!("avx512f") {
                levels.push(SimdLevel::Avx512);
            }
        }
        levels
    }
}

/// Working memory of one thread.
pub(crate) struct Tile {
    layout: Layout,
    level: SimdLevel,
    samples: usize,
    features: Box<[[[u16; 32]; 2]; TILE]>,
    counts: [usize; TILE],
    buckets: [usize; TILE],
    targets: [f32; TILE],
    outputs: [f32; TILE],
    undecided: [Option<f32>; TILE],
    /// First-layer sums: `[block][position][perspective]`.
    hidden: Vec<Row>,
}

impl Tile {
    /// Creates a tile for networks of this layout.
    ///
    /// # Panics
    /// When the processor does not support `level`.
    pub(crate) fn new(layout: Layout, level: SimdLevel) -> Tile {
        assert!(
            level == SimdLevel::Plain || SimdLevel::best() != SimdLevel::Plain,
            "instruction set not supported by this processor"
        );
        #[cfg(target_arch = "x86_64")]
        assert!(
            level != SimdLevel::Avx512 || SimdLevel::best() == SimdLevel::Avx512,
            "instruction set not supported by this processor"
        );
        Tile {
            layout,
            level,
            samples: 0,
            features: Box::new([[[0; 32]; 2]; TILE]),
            counts: [0; TILE],
            buckets: [0; TILE],
            targets: [0.0; TILE],
            outputs: [0.0; TILE],
            undecided: [None; TILE],
            hidden: vec![Row::ZERO; TILE * 2 * layout.blocks],
        }
    }

    /// Computes the loss of up to 64 samples, and adds to `gradient`, if given.
    pub(crate) fn run(
        &mut self,
        weights: &[Row],
        samples: &[Sample],
        target: Target,
        gradient: Option<&mut [Row]>,
    ) -> Loss {
        assert!(samples.len() <= TILE && weights.len() == self.layout.rows());
        self.load(samples, target);
        match self.level {
            SimdLevel::Plain => self.pass(weights, gradient),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` has checked that the processor has these instructions.
            SimdLevel::Avx2 => unsafe { self.pass_avx2(weights, gradient) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` has checked that the processor has these instructions.
            SimdLevel::Avx512 => unsafe { self.pass_avx512(weights, gradient) },
        }
        let mut loss = Loss {
            count: samples.len() as u64,
            ..Loss::default()
        };
        for at in 0..samples.len() {
            loss.squares += f64::from((sigmoid(self.outputs[at]) - self.targets[at]).powi(2));
            if let Some(score) = self.undecided[at] {
                loss.outputs += f64::from(self.outputs[at].abs());
                loss.scores += f64::from(score.abs());
            }
        }
        loss
    }

    fn load(&mut self, samples: &[Sample], target: Target) {
        self.samples = samples.len();
        for (at, sample) in samples.iter().enumerate() {
            let [ours, theirs] = &mut self.features[at];
            sample.features(ours, theirs);
            self.counts[at] = sample.count();
            self.buckets[at] = bucket(sample.count(), self.layout.shape.buckets);
            self.targets[at] = target.of(sample);
            self.undecided[at] = (sample.score().abs() <= UNDECIDED)
                .then(|| f32::from(sample.score()) / target.scale);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn pass_avx2(&mut self, weights: &[Row], gradient: Option<&mut [Row]>) {
        self.pass(weights, gradient);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,avx512f")]
    fn pass_avx512(&mut self, weights: &[Row], gradient: Option<&mut [Row]>) {
        self.pass(weights, gradient);
    }

    #[inline(always)]
    fn pass(&mut self, weights: &[Row], gradient: Option<&mut [Row]>) {
        self.forward(weights);
        if let Some(gradient) = gradient {
            self.backward(weights, gradient);
        }
    }

    /// Computes the outputs, block by block; leaves the first layer's sums in `hidden`.
    #[inline(always)]
    fn forward(&mut self, weights: &[Row]) {
        let layout = self.layout;
        let mut sums = [[0.0f32; LANE]; TILE];
        for block in 0..layout.blocks {
            let inputs = &weights[layout.inputs(block)..layout.inputs(block + 1)];
            let bias = weights[layout.biases() + block];
            for (at, sum) in sums.iter_mut().enumerate().take(self.samples) {
                let outputs = layout.output(self.buckets[at]) + block;
                for side in 0..2 {
                    let features = &self.features[at][side][..self.counts[at]];
                    // Two sums, because an addition waits for the one before.
                    let (mut even, mut odd) = (bias.0, [0.0f32; LANE]);
                    let (pairs, last) = features.as_chunks();
                    for &[first, second] in pairs {
                        add(&mut even, &inputs[usize::from(first)].0);
                        add(&mut odd, &inputs[usize::from(second)].0);
                    }
                    for feature in last {
                        add(&mut even, &inputs[usize::from(*feature)].0);
                    }
                    add(&mut even, &odd);
                    self.hidden[(block * TILE + at) * 2 + side] = Row(even);
                    let output = &weights[outputs + side * layout.blocks].0;
                    for lane in 0..LANE {
                        let clipped = even[lane].clamp(0.0, 1.0);
                        sum[lane] += clipped * clipped * output[lane];
                    }
                }
            }
        }
        for (at, sum) in sums.into_iter().enumerate().take(self.samples) {
            let bias = weights[layout.output_biases()].0[self.buckets[at]];
            self.outputs[at] = bias + total(sum);
        }
    }

    /// Adds the gradients of the squared errors, block by block.
    #[inline(always)]
    fn backward(&mut self, weights: &[Row], gradient: &mut [Row]) {
        let layout = self.layout;
        let mut slopes = [0.0f32; TILE];
        for (at, slope) in slopes.iter_mut().enumerate().take(self.samples) {
            let expected = sigmoid(self.outputs[at]);
            *slope = 2.0 * (expected - self.targets[at]) * expected * (1.0 - expected);
            gradient[layout.output_biases()].0[self.buckets[at]] += *slope;
        }
        let (inputs, rest) = gradient.split_at_mut(layout.biases());
        for block in 0..layout.blocks {
            let inputs = &mut inputs[layout.inputs(block)..layout.inputs(block + 1)];
            let mut bias = [0.0f32; LANE];
            for at in 0..self.samples {
                let (slope, outputs) = (slopes[at], layout.output(self.buckets[at]) + block);
                for side in 0..2 {
                    let hidden = &self.hidden[(block * TILE + at) * 2 + side].0;
                    let row = outputs + side * layout.blocks;
                    let (output, output_gradient) =
                        (&weights[row].0, &mut rest[row - layout.biases()].0);
                    let mut slopes = [0.0f32; LANE];
                    for lane in 0..LANE {
                        let value = hidden[lane];
                        let clipped = value.clamp(0.0, 1.0);
                        output_gradient[lane] += slope * clipped * clipped;
                        let inside = if value < 1.0 { clipped } else { 0.0 };
                        slopes[lane] = 2.0 * slope * inside * output[lane];
                    }
                    add(&mut bias, &slopes);
                    for feature in &self.features[at][side][..self.counts[at]] {
                        add(&mut inputs[usize::from(*feature)].0, &slopes);
                    }
                }
            }
            add(&mut rest[block].0, &bias);
        }
    }
}
