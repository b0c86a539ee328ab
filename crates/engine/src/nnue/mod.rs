//! Efficiently updatable neural network, trained only on Knightwatch's games against itself.
//!
//! Architecture: `(768 -> H) x 2 -> 1 x B`. Each side sees the board from its own end, mirrored so that its king is
//! on files a to d. 768 inputs (color, role, square) feed `H` hidden units; the two halves, side to move first, go
//! through SCReLU (squared clipped ReLU) and one of `B` output rows, chosen by the number of pieces on the board.
//!
//! [`Network`] holds the weights, [`Accumulators`] the state of one search thread, [`Kernels`] the arithmetic for the
//! CPU; [`features`] maps pieces to inputs. All arithmetic is integer and gives the same results on every machine.

mod accumulator;
mod change;
pub mod features;
mod network;
mod simd;
#[cfg(test)]
pub(crate) mod tests;

pub use accumulator::Accumulators;
use change::Change;
pub use network::{Lane, Network, NetworkError, OpenError, Shape};
pub use simd::Kernels;

/// The evaluation in use, in one line for users.
#[must_use]
pub fn describe(network: Option<&Network>) -> String {
    match network {
        Some(network) => {
            let Shape { hidden, buckets } = network.shape();
            format!(
                "evaluation: network {}, (768 -> {hidden}) x 2 -> {buckets}, {} kernels",
                network.name(),
                Kernels::best().name()
            )
        }
        None => "evaluation: material and piece-square tables".to_owned(),
    }
}

/// Quantization of the hidden layer: this is an activation of 1.
pub const QA: i32 = 255;
/// Quantization of the output layer: this is a weight of 1.
pub const QB: i32 = 64;
/// Values in one [`Lane`]; hidden layers are a multiple of this.
pub const LANE: usize = 32;
