//! Files, text, counts, suggestions, keys, locks and stop signals for the crates of Knightwatch.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod atomic_file;
pub mod backoff;
pub mod file_error;
pub mod input;
mod keys;
pub mod plural;
pub mod spelling;
pub mod stop_request;
pub mod sync;
pub mod text;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
