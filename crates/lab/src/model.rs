//! Floating-point network: memory layout, initialization and quantization.
//!
//! All parameters are in one vector of rows of 32 values. The first layer is blocked: for each 32 hidden units the 768 rows of
//! all inputs, so that one block (98 kB) stays in the L2 cache while a tile of positions is processed.

use knightwatch_engine::nnue::features::INPUTS;
use knightwatch_engine::nnue::{LANE, Lane, Network, NetworkError, QA, QB, Shape};

/// Weights are clipped to this bound, so that they fit the engine's integers (128 / 64, with room for rounding).
pub(crate) const CLIP: f32 = 1.98;

/// 32 values, two cache lines.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(128))]
pub(crate) struct Row(pub [f32; LANE]);

impl Row {
    pub(crate) const ZERO: Row = Row([0.0; LANE]);
}

/// Positions of the parameters in the vector of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub shape: Shape,
    /// Rows per perspective: hidden units / 32.
    pub blocks: usize,
}

impl Layout {
    pub(crate) fn new(shape: Shape) -> Layout {
        Layout {
            shape,
            blocks: shape.hidden / LANE,
        }
    }

    /// The first of the 768 rows of a block.
    pub(crate) fn inputs(self, block: usize) -> usize {
        block * INPUTS
    }

    /// The first of the `blocks` rows of biases.
    pub(crate) fn biases(self) -> usize {
        self.blocks * INPUTS
    }

    /// The first of the `2 * blocks` rows of an output: the side to move's half, then the other's.
    pub(crate) fn output(self, bucket: usize) -> usize {
        self.biases() + self.blocks + bucket * 2 * self.blocks
    }

    /// The row whose first values are the output biases.
    pub(crate) fn output_biases(self) -> usize {
        self.output(self.shape.buckets)
    }

    /// Rows of all parameters.
    pub(crate) fn rows(self) -> usize {
        self.output_biases() + 1
    }
}

/// All parameters, in the order of [`Layout`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    pub layout: Layout,
    pub rows: Vec<Row>,
}

impl Model {
    /// Small random weights.
    pub(crate) fn random(shape: Shape, seed: u64) -> Model {
        let layout = Layout::new(shape);
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut rows = vec![Row::ZERO; layout.rows()];
        for (at, row) in rows.iter_mut().enumerate() {
            let bound = match at {
                at if at < layout.biases() => 0.0625,
                at if at < layout.output(0) => 0.05,
                at if at < layout.output_biases() => 1.0 / (2.0 * shape.hidden as f32).sqrt(),
                _ => 0.0,
            };
            row.0 = std::array::from_fn(|_| (rng.f32() * 2.0 - 1.0) * bound);
            if (layout.biases()..layout.output(0)).contains(&at) {
                row.0.iter_mut().for_each(|bias| *bias += 0.1);
            }
        }
        Model { layout, rows }
    }

    /// Converts a network back; rescales the output to `scale` centipawns per unit.
    pub(crate) fn from_network(network: &Network, scale: f32) -> Model {
        let layout = Layout::new(network.shape());
        let blocks = layout.blocks;
        let mut rows = vec![Row::ZERO; layout.rows()];
        let (weights, biases, outputs, output_biases) = network.quantized();
        let float = |lane: &Lane, unit: f32| Row(lane.0.map(|value| f32::from(value) / unit));
        for (at, lane) in weights.iter().enumerate() {
            rows[layout.inputs(at % blocks) + at / blocks] = float(lane, QA as f32);
        }
        for (at, lane) in biases.iter().enumerate() {
            rows[layout.biases() + at] = float(lane, QA as f32);
        }
        let ratio = network.scale() as f32 / scale;
        for (at, lane) in outputs.iter().enumerate() {
            rows[layout.output(0) + at] = float(lane, QB as f32 / ratio);
        }
        for (at, bias) in output_biases.iter().enumerate() {
            rows[layout.output_biases()].0[at] = *bias as f32 / (QA * QB) as f32 * ratio;
        }
        rows.iter_mut()
            .take(layout.output_biases())
            .for_each(|row| row.0 = row.0.map(|value| value.clamp(-CLIP, CLIP)));
        Model { layout, rows }
    }

    /// The network with more hidden units. New ones have random inputs and zero output weights, so the evaluation is the same.
    pub(crate) fn widened(&self, hidden: usize, seed: u64) -> Model {
        let Layout { shape, blocks } = self.layout;
        let mut wide = Model::random(Shape { hidden, ..shape }, seed);
        let into = wide.layout;
        wide.rows[into.output(0)..].fill(Row::ZERO);
        let mut copy = |from: usize, to: usize, rows: usize| {
            wide.rows[to..][..rows].copy_from_slice(&self.rows[from..][..rows]);
        };
        copy(0, 0, blocks * INPUTS);
        copy(self.layout.biases(), into.biases(), blocks);
        for bucket in 0..shape.buckets {
            let (from, to) = (self.layout.output(bucket), into.output(bucket));
            copy(from, to, blocks);
            copy(from + blocks, to + into.blocks, blocks);
        }
        copy(self.layout.output_biases(), into.output_biases(), 1);
        wide
    }

    /// Copies these rows of weights, the first of which is row `from`, rounded to what the engine's integers can represent.
    pub(crate) fn copy_rounded(&mut self, from: usize, rows: &[Row]) {
        let (outputs, output_biases) = (self.layout.output(0), self.layout.output_biases());
        let copies = self.rows[from..].iter_mut().zip(rows);
        for (at, (copy, row)) in copies.enumerate() {
            let unit = match from + at {
                at if at < outputs => QA,
                at if at < output_biases => QB,
                _ => QA * QB,
            };
            let unit = unit as f32;
            *copy = Row(row.0.map(|value| round(value * unit) / unit));
        }
    }

    /// The integer network, with `scale` centipawns per unit of output.
    ///
    /// # Errors
    /// When a weight is out of range, which [`CLIP`] prevents for all but absurd networks.
    pub(crate) fn quantize(&self, name: &str, scale: i32) -> Result<Network, NetworkError> {
        let Layout { shape, blocks } = self.layout;
        let whole = |value: f32, unit: i32| (value * unit as f32).round();
        let quantize = |row: &Row, unit: i32| row.0.map(|value| whole(value, unit) as i16);
        let mut weights = Vec::with_capacity(INPUTS * shape.hidden);
        for input in 0..INPUTS {
            for block in 0..blocks {
                weights.extend(quantize(&self.rows[self.layout.inputs(block) + input], QA));
            }
        }
        let part = |from: usize, to: usize, unit: i32| {
            self.rows[from..to]
                .iter()
                .flat_map(move |row| quantize(row, unit))
        };
        let biases: Vec<i16> = part(self.layout.biases(), self.layout.output(0), QA).collect();
        let outputs: Vec<i16> =
            part(self.layout.output(0), self.layout.output_biases(), QB).collect();
        let output_biases: Vec<i32> = self.rows[self.layout.output_biases()].0[..shape.buckets]
            .iter()
            .map(|value| whole(*value, QA * QB) as i32)
            .collect();
        Network::from_weights(
            name,
            shape,
            scale,
            &weights,
            &biases,
            &outputs,
            &output_biases,
        )
    }
}

/// The nearest integer of a number between -2^22 and 2^22. The compiler can vectorize this for every processor.
fn round(value: f32) -> f32 {
    /// 1.5 * 2^23: between 2^23 and 2^24 the floats are the integers.
    const INTEGERS: f32 = 12_582_912.0;
    (value + INTEGERS) - INTEGERS
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use knightwatch_chess::Position;
    use knightwatch_engine::nnue::Accumulators;

    #[test]
    fn network_round_trips_through_model() {
        let model = Model::random(
            Shape {
                hidden: 64,
                buckets: 4,
            },
            1,
        );
        let network = model.quantize("a", 400).unwrap();
        let mut rounded = model.clone();
        rounded.copy_rounded(0, &model.rows);
        assert_ne!(rounded.rows, model.rows);
        assert_eq!(
            rounded.quantize("a", 400).unwrap().to_bytes(),
            network.to_bytes()
        );
        assert_eq!(
            Model::from_network(&network, 400.0)
                .quantize("a", 400)
                .unwrap(),
            network
        );
        let halved = Model::from_network(&network, 800.0);
        let at = model.layout.output(2);
        assert!((halved.rows[at].0[5] * 2.0 - model.rows[at].0[5]).abs() < 0.02);
    }

    #[test]
    fn widened_network_evaluates_the_same() {
        let shape = Shape {
            hidden: 32,
            buckets: 4,
        };
        let narrow = Model::random(shape, 1);
        let wide = narrow.widened(96, 2);
        assert_eq!(
            wide.layout.shape,
            Shape {
                hidden: 96,
                ..shape
            }
        );
        assert_eq!(narrow.widened(32, 2), narrow);
        let [narrow, wide] =
            [narrow, wide].map(|model| Arc::new(model.quantize("a", 400).unwrap()));
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        ] {
            let position = Position::from_fen(fen).unwrap();
            let [narrow, wide] = [&narrow, &wide]
                .map(|network| Accumulators::new(network.clone(), &position).evaluate(&position));
            assert_eq!(narrow, wide, "{fen}");
        }
    }
}
