//! Gradient computation: forward and backward pass of a tile of positions.
//!
//! Consecutive positions of a game have most inputs in common. The first layer's sums of a position are those of the
//! position before, with the difference of the inputs. The gradient of an input is the sum of all slopes from the
//! position on in which it is added, less the sum from the position on in which it is removed. Apart from rounding, the
//! result does not depend on the order of the positions, only the time does.
//!
//! The loops are plain and vectorized by the compiler, once per instruction set. The only `unsafe` code is the calls of functions
//! compiled for an instruction set that was detected.

use super::model::{Layout, Row};
use super::sample::Sample;
use knightwatch_chess::Color;
use knightwatch_engine::nnue::LANE;
use knightwatch_engine::nnue::features::{INPUTS, bucket};

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

#[inline(always)]
fn subtract(from: &mut [f32; LANE], values: &[f32; LANE]) {
    for lane in 0..LANE {
        from[lane] -= values[lane];
    }
}

/// Sum of the values, by halves, so that it vectorizes.
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
pub(super) const UNDECIDED: i16 = 600;

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

/// Inputs as bits.
type InputSet = [u64; INPUTS.div_ceil(64)];

/// The inputs of a position for one perspective, as a difference to the position before it in the tile.
#[derive(Clone, Copy, Default)]
struct InputChange {
    /// All inputs are added: the position before has too little in common, or there is none.
    fresh: bool,
    /// Range of the added inputs, and the end of the removed ones that follow, in [`Tile::inputs`].
    from: u16,
    added_to: u16,
    removed_to: u16,
}

impl InputChange {
    fn added(self, inputs: &[u16]) -> &[u16] {
        &inputs[usize::from(self.from)..usize::from(self.added_to)]
    }

    fn removed(self, inputs: &[u16]) -> &[u16] {
        &inputs[usize::from(self.added_to)..usize::from(self.removed_to)]
    }
}

/// Appends the members of a set.
fn push_members(inputs: &mut Vec<u16>, set: impl Iterator<Item = u64>) {
    for (word, mut bits) in set.enumerate() {
        while bits != 0 {
            inputs.push((word * 64) as u16 + bits.trailing_zeros() as u16);
            bits &= bits - 1;
        }
    }
}

/// Working memory of one thread.
pub(crate) struct Tile {
    layout: Layout,
    level: SimdLevel,
    samples: usize,
    /// Added and removed inputs of all positions.
    inputs: Vec<u16>,
    /// By position and color.
    changes: [[InputChange; 2]; TILE],
    turns: [Color; TILE],
    buckets: [usize; TILE],
    targets: [f32; TILE],
    outputs: [f32; TILE],
    undecided: [Option<f32>; TILE],
    /// First-layer sums: `[block][position][color]`.
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
            inputs: Vec::with_capacity(TILE * 2 * 32),
            changes: [[InputChange::default(); 2]; TILE],
            turns: [Color::White; TILE],
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
        self.inputs.clear();
        let mut before = [InputSet::default(); 2];
        for (at, sample) in samples.iter().enumerate() {
            let (mut ours, mut theirs) = ([0; 32], [0; 32]);
            sample.features(&mut ours, &mut theirs);
            let count = sample.count();
            self.turns[at] = sample.turn();
            let by_color = match sample.turn() {
                Color::White => [&ours, &theirs],
                Color::Black => [&theirs, &ours],
            };
            for (color, features) in by_color.into_iter().enumerate() {
                self.changes[at][color] =
                    self.change_inputs(&mut before[color], &features[..count]);
            }
            self.buckets[at] = bucket(count, self.layout.shape.buckets);
            self.targets[at] = target.of(sample);
            self.undecided[at] = (sample.score().abs() <= UNDECIDED)
                .then(|| f32::from(sample.score()) / target.scale);
        }
    }

    /// Stores the difference between the inputs `before`, empty for the first position, and `features`; then sets
    /// `before` to `features`.
    fn change_inputs(&mut self, before: &mut InputSet, features: &[u16]) -> InputChange {
        let mut now = InputSet::default();
        for feature in features {
            now[usize::from(feature / 64)] |= 1 << (feature % 64);
        }
        let words = || now.iter().zip(before.iter());
        let differences: u32 = words()
            .map(|(now, before)| (now ^ before).count_ones())
            .sum();
        let fresh = differences as usize >= features.len();
        let inputs = &mut self.inputs;
        let from = inputs.len() as u16;
        if fresh {
            inputs.extend(features);
        } else {
            push_members(inputs, words().map(|(now, before)| now & !before));
        }
        let added_to = inputs.len() as u16;
        if !fresh {
            push_members(inputs, words().map(|(now, before)| before & !now));
        }
        *before = now;
        InputChange {
            fresh,
            from,
            added_to,
            removed_to: inputs.len() as u16,
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
            let mut last = [bias.0; 2];
            for (at, sum) in sums.iter_mut().enumerate().take(self.samples) {
                let outputs = layout.output(self.buckets[at]) + block;
                for color in Color::ALL {
                    let change = self.changes[at][color.index()];
                    // A local copy stays in registers.
                    let mut hidden = if change.fresh {
                        bias.0
                    } else {
                        last[color.index()]
                    };
                    // Two sums, because an addition waits for the one before.
                    let mut odd = [0.0f32; LANE];
                    let (pairs, last_input) = change.added(&self.inputs).as_chunks();
                    for &[first, second] in pairs {
                        add(&mut hidden, &inputs[usize::from(first)].0);
                        add(&mut odd, &inputs[usize::from(second)].0);
                    }
                    for input in last_input {
                        add(&mut odd, &inputs[usize::from(*input)].0);
                    }
                    add(&mut hidden, &odd);
                    for input in change.removed(&self.inputs) {
                        subtract(&mut hidden, &inputs[usize::from(*input)].0);
                    }
                    last[color.index()] = hidden;
                    self.hidden[(block * TILE + at) * 2 + color.index()] = Row(hidden);
                    let side = usize::from(color != self.turns[at]);
                    let output = &weights[outputs + side * layout.blocks].0;
                    for lane in 0..LANE {
                        let clipped = hidden[lane].clamp(0.0, 1.0);
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
            // Sums over this position and those after it, up to the next fresh one.
            let mut later = [[0.0f32; LANE]; 2];
            for at in (0..self.samples).rev() {
                let (slope, outputs) = (slopes[at], layout.output(self.buckets[at]) + block);
                for color in Color::ALL {
                    let hidden = &self.hidden[(block * TILE + at) * 2 + color.index()].0;
                    let side = usize::from(color != self.turns[at]);
                    let row = outputs + side * layout.blocks;
                    let (output, output_gradient) =
                        (&weights[row].0, &mut rest[row - layout.biases()].0);
                    let mut sum = later[color.index()];
                    for lane in 0..LANE {
                        let value = hidden[lane];
                        let clipped = value.clamp(0.0, 1.0);
                        output_gradient[lane] += slope * clipped * clipped;
                        let inside = if value < 1.0 { clipped } else { 0.0 };
                        sum[lane] += 2.0 * slope * inside * output[lane];
                    }
                    let change = self.changes[at][color.index()];
                    for input in change.added(&self.inputs) {
                        add(&mut inputs[usize::from(*input)].0, &sum);
                    }
                    for input in change.removed(&self.inputs) {
                        subtract(&mut inputs[usize::from(*input)].0, &sum);
                    }
                    if change.fresh {
                        add(&mut bias, &sum);
                        sum = [0.0; LANE];
                    }
                    later[color.index()] = sum;
                }
            }
            add(&mut rest[block].0, &bias);
        }
    }
}
