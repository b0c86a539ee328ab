//! Knightwatch: an always-on Lichess bot with its own chess engine, in one binary.
//!
//! Modules are listed in dependency order, lower layers first.

/// Atomic replacement of files.
pub use knightwatch_util::atomic_file;
/// Rules of chess: board, move generation, notation, PGN; no I/O and no dependencies.
pub use knightwatch_chess as chess;
/// Scalable clock of the bot and the Lichess client.
pub use knightwatch_lichess::clock;
/// Events of the bot, and the bus that distributes them.
pub mod events;
/// Size-limited reading of files named by the operator.
pub use knightwatch_util::input;
/// Progress line of long-running commands.
pub use knightwatch_lab::progress;
/// HTTP/1.1 server with connection and time limits.
pub use knightwatch_serve as serve;
/// Suggestions for misspelled names.
pub use knightwatch_util::spelling;

/// Polyglot opening books: probing and building.
pub use knightwatch_book as book;
/// SVG images of positions and games.
pub mod draw;
/// Chess engine: search, evaluation, NNUE, time management.
pub use knightwatch_engine as engine;
/// EPD test suites.
pub use knightwatch_lab::epd;
/// Typed client of the Lichess Bot API: requests, streams, retries.
pub use knightwatch_lichess as lichess;
/// Metrics, health and status of the process.
pub mod metrics;
/// Simulator of Lichess with built-in players and fault injection.
pub use knightwatch_sim as sim;
/// SQLite records and PGN files of the games.
pub mod store;
/// Training and measurement: data generation, network training, tuning, matches.
pub use knightwatch_lab as train;
/// UCI engine on stdin and stdout.
pub use knightwatch_engine::uci;

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
/// `knightwatch perft`: move generation counts and speed.
pub use knightwatch_lab::perft;
/// Counts with singular and plural nouns.
pub use knightwatch_util::plural;
