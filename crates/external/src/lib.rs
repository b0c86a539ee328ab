//! Client of chess engines in processes of their own, by UCI, XBoard's protocol or plain lines.
//!
//! [`EngineProcess`] is one process. [`ExternalEngine`] shares warm processes among games, watches over every move, and falls
//! back to the embedded engine.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod answer;
mod channel;
mod engine;
mod engine_option;
mod go;
mod inbox;
mod info;
mod job;
mod lines;
mod pool;
mod process;
mod settings;
mod transcript;
mod uci;
mod variant;
mod worker;
mod xboard;

pub use answer::{Answer, Opponent};
pub use channel::{Deadlines, EngineError, Launch, Protocol, StopSwitch};
pub use engine::EngineProcess;
pub use engine_option::OptionKind;
pub use go::{Clocks, Go};
pub use info::Info;
pub use job::{ExternalHandle, FallbackReason, GameSetup, Outcome};
pub use pool::{ExternalEngine, Stats};
pub use settings::{ExternalSettings, FixedLimits};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
