//! Knightwatch: an always-on Lichess bot with its own chess engine, in one binary.
//!
//! The modules in dependency order:

pub mod atomic_file;
pub mod chess;
pub mod clock;
pub mod events;
pub mod input;
pub mod progress;
pub mod serve;
pub mod spelling;

pub mod book;
pub mod draw;
pub mod engine;
pub mod epd;
pub mod lichess;
pub mod metrics;
pub mod sim;
pub mod store;
pub mod train;
pub mod uci;

pub mod bot;
pub mod config;
pub mod control;
pub mod web;

pub mod cli;
pub mod daemon;
pub mod demo;
pub mod doctor;
pub mod init;
pub mod logging;
pub mod perft;
pub mod plural;
