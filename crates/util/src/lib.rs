//! Files, counts and suggestions for the crates of Knightwatch.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod atomic_file;
pub mod backoff;
pub mod input;
pub mod plural;
pub mod spelling;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
