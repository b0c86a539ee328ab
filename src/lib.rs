//! Knightwatch: an always-on Lichess bot with its own chess engine, in one binary.
//!
//! The crates of the workspace, re-exported, lower layers first:
//!
//! - [`atomic_file`], [`backoff`], [`clock`], [`file_error`], [`input`], [`keys!`], [`match_stats`], [`plural`],
//!   [`signals`], [`spelling`], [`sync`]: atomic files, growing delays, scalable clock, errors of files, size-limited
//!   input, enumerations with keys, statistics of matches, counts with nouns, termination signals, suggestions for
//!   misspelled names, locks.
//! - [`serve`]: HTTP/1.1 server with connection and time limits.
//! - [`chess`]: rules of chess: board, move generation, notation, PGN; no I/O and no dependencies.
//! - [`book`]: Polyglot opening books: probing and building.
//! - [`engine`]: chess engine: search, evaluation, NNUE, time management.
//! - [`uci`]: engine on stdin and stdout, by UCI and XBoard's protocol.
//! - [`external`]: engines in processes of their own.
//! - [`lichess`]: typed client of the Lichess Bot API: requests, streams, retries.
//! - [`sim`]: simulator of Lichess with built-in players and fault injection.
//! - [`lab`]: training and measurement: data generation, network training, tuning, matches, test suites.
//!
//! The modules of the daemon, lower layers first:
//!
//! - [`events`]: events of the bot, and the bus that distributes them.
//! - [`draw`]: SVG images of positions and games.
//! - [`metrics`]: metrics, health and status of the process.
//! - [`store`]: SQLite records and PGN files of the games.
//! - [`config`]: settings from file, environment and arguments.
//! - [`bot`]: the bot: accounts, games, challenges, matchmaking, tournaments.
//! - [`control`]: control socket: status and operator commands.
//! - [`convert`]: configurations of other bots as ours.
//! - [`import`]: `knightwatch import`: games from elsewhere for the records.
//! - [`web`]: web page, its API, `/metrics` and `/healthz`.
//! - [`alert`]: alerts to webhooks.
//! - [`provider`]: our engine on the analysis board of Lichess.
//! - `console`: moves and results of games as lines in the terminal.
//! - [`logging`]: log output to stderr.
//! - [`daemon`]: `knightwatch run`: wiring of the process, signals, systemd.
//! - [`check`]: `knightwatch check` and `knightwatch upgrade`.
//! - [`demo`]: `knightwatch demo`: bot, simulator and built-in opponents in one process.
//! - [`init`]: `knightwatch init`: interactive setup.
//! - [`cli`]: command line definitions.

pub use knightwatch_book as book;
pub use knightwatch_chess as chess;
pub use knightwatch_engine as engine;
pub use knightwatch_engine::uci;
pub use knightwatch_external as external;
pub use knightwatch_lab as lab;
pub use knightwatch_lichess as lichess;
pub use knightwatch_serve as serve;
pub use knightwatch_sim as sim;
pub use knightwatch_util::{
    atomic_file, backoff, clock, credentials, file_error, input, keys, log_filter, match_stats,
    plural, seconds, signals, spelling, sync,
};

pub mod alert;
pub mod bot;
pub mod check;
pub mod cli;
pub mod config;
mod console;
pub mod control;
pub mod convert;
pub mod daemon;
pub mod demo;
pub mod draw;
pub mod events;
pub mod import;
pub mod init;
pub mod logging;
pub mod metrics;
pub mod provider;
pub mod store;
pub mod web;
