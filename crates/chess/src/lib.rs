//! The rules of chess: no I/O, no clock, no logging, no dependencies.
//!
//! A [`Position`] generates and plays legal moves, in standard chess, Chess960 and Lichess's [variants](Variant); a
//! [`Game`] is a position with its history and detects draws that depend on it. Moves are read and written in UCI and
//! SAN notation, positions as FEN, games as [PGN](pgn).

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod attacks;
pub mod perft;
pub mod pgn;

mod bitboard;
mod chess960;
mod cuckoo;
mod epd;
mod fen;
mod game;
mod legality;
mod magic;
mod material;
mod movegen;
mod moves;
mod notation;
mod piece;
mod position;
mod quote;
mod san;
mod square;
mod termination;
mod uci;
mod variant;
mod zobrist;

pub use bitboard::{Bitboard, Squares};
pub use epd::{Epd, EpdError};
pub use fen::FenError;
pub use game::Game;
pub use movegen::Generate;
pub use moves::{CastlingNotation, Move, MoveKind, MoveList};
pub use notation::NotationError;
pub use piece::{Color, Piece, Role};
pub use position::{CastlingSide, Position};
pub use quote::Quoted;
pub use square::{File, ParseSquareError, Rank, Square};
pub use termination::Termination;
pub use uci::MoveError;
pub use variant::Variant;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
