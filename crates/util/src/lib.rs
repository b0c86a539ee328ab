//! Files, credentials, text, counts, suggestions, keys, locks, log filters, match statistics, clock and signals for the
//! crates of Knightwatch.
//!
//! The modules `clock` and `signals` need tokio and a feature of the same name.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod atomic_file;
pub mod backoff;
#[cfg(feature = "clock")]
pub mod clock;
pub mod credentials;
pub mod file_error;
pub mod input;
mod keys;
pub mod log_filter;
pub mod match_stats;
pub mod plural;
pub mod seconds;
#[cfg(feature = "signals")]
pub mod signals;
pub mod spelling;
pub mod sync;
pub mod text;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
