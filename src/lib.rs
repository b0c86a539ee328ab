//! Knightwatch: an always-on Lichess bot with its own chess engine, in one binary.
//!
//! Modules are listed in dependency order, lower layers first.

/// Atomic replacement of files.
pub mod atomic_file;
/// Rules of chess: board, move generation, notation, PGN; no I/O and no dependencies.
pub mod chess;
/// Scalable clock of the bot and the Lichess client.
pub mod clock;
/// Events of the bot, and the bus that distributes them.
pub mod events;
/// Size-limited reading of files named by the operator.
pub mod input;
/// Progress line of long-running commands.
pub mod progress;
/// HTTP/1.1 server with connection and time limits.
pub mod serve;
/// Suggestions for misspelled names.
pub mod spelling;

/// Polyglot opening books: probing and building.
pub mod book;
/// SVG images of positions and games.
pub mod draw;
/// Chess engine: search, evaluation, NNUE, time management.
pub mod engine;
/// EPD test suites.
pub mod epd;
/// Typed client of the Lichess Bot API: requests, streams, retries.
pub mod lichess;
/// Metrics, health and status of the process.
pub mod metrics;
/// Simulator of Lichess with built-in players and fault injection.
pub mod sim;
/// SQLite records and PGN files of the games.
pub mod store;
/// Training and measurement: data generation, network training, tuning, matches.
pub mod train;
/// UCI engine on stdin and stdout.
pub mod uci;

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
pub mod perft;
/// Counts with singular and plural nouns.
pub mod plural;
