//! The rules of chess: no I/O, no clock, no logging, no dependencies.
//!
//! A [`Position`] knows its legal moves and plays them, in standard chess and in Chess960; a [`Game`] is a position
//! with its past and knows the draws that need one. Moves are read and written as UCI and SAN, positions as FEN, games as
//! [PGN](pgn).

#![warn(missing_docs)]

pub mod attacks;
pub mod perft;
pub mod pgn;

mod bitboard;
mod chess960;
mod epd;
mod fen;
mod game;
mod legality;
mod line;
mod magic;
mod material;
mod movegen;
mod moves;
mod piece;
mod position;
mod quote;
mod reversible;
mod san;
mod square;
mod uci;
mod zobrist;

pub use bitboard::{Bitboard, Squares};
pub use epd::{Epd, EpdError};
pub use fen::FenError;
pub use game::{Ending, Game};
pub use line::LineError;
pub use movegen::Generate;
pub use moves::{CastlingNotation, Move, MoveKind, MoveList};
pub use piece::{Color, Piece, Role};
pub use position::{CastlingSide, Position};
pub use square::{File, ParseSquareError, Rank, Square};
pub use uci::MoveError;
