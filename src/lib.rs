//! Knightwatch: an always-on Lichess bot with its own chess engine, in one binary.
//!
//! The crates of the workspace come first, then the modules of the daemon, in dependency order, lower layers first.

/// Polyglot opening books: probing and building.
pub use knightwatch_book as book;
/// Rules of chess: board, move generation, notation, PGN; no I/O and no dependencies.
pub use knightwatch_chess as chess;
/// Chess engine: search, evaluation, NNUE, time management.
pub use knightwatch_engine as engine;
/// UCI engine on stdin and stdout.
pub use knightwatch_engine::uci;
/// Training and measurement: data generation, network training, tuning, matches, test suites.
pub use knightwatch_lab as lab;
/// Typed client of the Lichess Bot API: requests, streams, retries.
pub use knightwatch_lichess as lichess;
/// Scalable clock of the bot and the Lichess client.
pub use knightwatch_lichess::clock;
/// HTTP/1.1 server with connection and time limits.
pub use knightwatch_serve as serve;
/// Simulator of Lichess with built-in players and fault injection.
pub use knightwatch_sim as sim;
/// Atomic files, size-limited input, counts with nouns, suggestions for misspelled names.
pub use knightwatch_util::{atomic_file, input, plural, spelling};

/// SVG images of positions and games.
pub mod draw;
/// Events of the bot, and the bus that distributes them.
pub mod events;
/// Metrics, health and status of the process.
pub mod metrics;
/// SQLite records and PGN files of the games.
pub mod store;

/// The bot: accounts, games, challenges, matchmaking, tournaments.
pub mod bot;
/// Settings from file, environment and arguments.
pub mod config;
/// Control socket: status and operator commands.
pub mod control;
/// Web page, its API, `/metrics` and `/healthz`.
pub mod web;

/// `knightwatch check` and `knightwatch upgrade`.
pub mod check;
/// Command line definitions.
pub mod cli;
/// `knightwatch run`: wiring of the process, signals, systemd.
pub mod daemon;
/// `knightwatch demo`: bot, simulator and built-in opponents in one process.
pub mod demo;
/// `knightwatch init`: interactive setup.
pub mod init;
/// Log output to stderr.
pub mod logging;
