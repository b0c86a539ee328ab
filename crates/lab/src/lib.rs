//! Training and measuring. From games to a network: self-play ([`datagen`]), game files ([`record`], [`archive`]) and the trainer
//! ([`trainer`]). Playing strength: matches ([`contest`]), games against other engines ([`gauntlet`]), calibration of the
//! `strength` levels ([`calibration`]), and tuners for search parameters ([`tune`]), the WDL model ([`fit_wdl`]) and
//! the evaluations of variants ([`fit_variant`]). Opening books from searches: [`grow`].
//!
//! `knightwatch datagen` plays games and stores them; `knightwatch train` reads them and writes a network file for the engine;
//! `knightwatch match` says which of two versions is stronger. No data from other sources is used.

#![warn(missing_docs)]

pub mod archive;
pub mod contest;
pub mod datagen;
pub mod epd;
pub mod export;
pub mod fit_variant;
pub mod fit_wdl;
pub mod perft;
pub mod progress;
pub mod record;

mod adjudication;
pub mod calibration;
mod checkpoint;
mod dataset;
pub mod gauntlet;
pub mod grow;
mod kernel;
mod log;
mod model;
mod openings;
mod options;
mod sample;
mod signal;
mod spin_barrier;
mod state_file;
pub mod trainer;
pub mod tune;
mod uci_engine;
mod variant_game;

pub use options::{
    CalibrateOptions, DataOptions, DatagenOptions, ExportOptions, FitVariantOptions, FitWdlOptions,
    GauntletOptions, GrowOptions, MatchOptions, TrainOptions, TuneOptions,
};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
