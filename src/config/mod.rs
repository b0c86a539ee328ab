//! Settings: defaults < file < environment < flags.
//!
//! [`settings`] says what can be set and what holds without a word from the operator.

mod settings;

pub use settings::{
    Account, Book, Challenge, Chat, Daemon, Draw, Engine, Games, Lichess, LogLevel, Resign,
    Selection, Settings, Speed, Variant,
};
