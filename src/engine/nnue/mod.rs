//! The network: a small efficiently updatable evaluation, trained only on games that Knightwatch played against itself.
//!
//! Shape: `(768 -> H) x 2 -> 1 x B`. Each side sees the board from its own end, mirrored so that its own king always stands on
//! files a to d; 768 inputs (colour, role, square) feed `H` units; the two halves, side to move first, are squared after clipping
//! (SCReLU) and summed by one of `B` output rows, chosen by the number of pieces on the board.
//!
//! [`Network`] is the file and its weights, [`Accumulators`] the state of one search thread, [`Kernels`] the arithmetic for the
//! processor at hand; [`features`] says which input a piece is. Everything is integer arithmetic and the same on every machine.

mod accumulator;
pub mod features;
mod network;
mod simd;
#[cfg(test)]
pub(crate) mod tests;

pub use accumulator::Accumulators;
pub use network::{Lane, Network, NetworkError, OpenError, Shape};
pub use simd::Kernels;

/// What positions are evaluated with, in a line for people.
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
        None => "evaluation: by hand".to_owned(),
    }
}

/// One unit of the first layer's clipped activation.
pub const QA: i32 = 255;
/// One unit of an output weight.
pub const QB: i32 = 64;
/// Values in one [`Lane`], the step in which layers grow.
pub const LANE: usize = 32;
