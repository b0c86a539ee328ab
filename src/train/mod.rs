//! From games to a network: self-play ([`datagen`]), the archive of games ([`record`], [`archive`]) and the trainer ([`trainer`]).
//!
//! `knightwatch datagen` plays games and stores them; `knightwatch train` reads them and writes a network file that the engine
//! loads. Nothing comes from anywhere else.

pub mod archive;
pub mod datagen;

mod dataset;
pub mod duel;
mod kernel;
mod model;
mod options;
pub mod record;
mod sample;
pub mod trainer;

pub use options::{DatagenOptions, DuelOptions, TrainOptions};
