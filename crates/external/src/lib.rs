//! Client of UCI engines in processes of their own.
//!
//! [`UciProcess`] is one process. [`ExternalEngine`] shares warm processes among games, watches over every move, and falls
//! back to the own engine.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod info;
mod option;
mod pool;
mod process;

pub use info::Info;
pub use option::OptionKind;
pub use pool::{ExternalEngine, ExternalHandle, ExternalOptions, FixedLimits};
pub use process::{Answer, Deadlines, EngineError, Launch, StopSwitch, UciProcess};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
