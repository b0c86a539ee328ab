//! From games to a network: self-play ([`datagen`]), the archive of games ([`record`], [`archive`]) and the trainer ([`trainer`]);
//! and from games to what is better: matches ([`contest`]), games against other engines ([`gauntlet`]), the levels of `strength` on
//! a ladder ([`ladder`]), the tuner of the search's numbers ([`tune`]), that of the weights of the evaluation by hand ([`fit`]), and
//! that of what a score means ([`chances`]).
//!
//! `knightwatch datagen` plays games and stores them; `knightwatch train` reads them and writes a network file that the engine
//! loads; `knightwatch match` says which of two is stronger. Nothing comes from anywhere else.

pub mod archive;
pub mod chances;
pub mod contest;
pub mod datagen;
pub mod fit;
pub mod record;

mod dataset;
pub mod gauntlet;
mod kernel;
pub mod ladder;
mod log;
mod meeting;
mod model;
mod openings;
mod options;
mod referee;
mod rival;
mod sample;
pub mod signal;
pub mod trainer;
pub mod tune;

pub use options::{
    ChancesOptions, DatagenOptions, FitOptions, GauntletOptions, LadderOptions, MatchOptions,
    TrainOptions, TuneOptions,
};
