//! A position with its past.

use super::{Move, MoveError, Position};

/// How a game ends by itself on Lichess, without anyone claiming it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ending {
    /// The side to move has lost.
    Checkmate,
    /// The side to move has no move and is not in check: a draw.
    Stalemate,
    /// Neither side could mate by any moves: a draw.
    InsufficientMaterial,
    /// Fifty moves of each side without a capture or a pawn move: a draw.
    FiftyMoves,
    /// The position stands for the fifth time: a draw.
    FivefoldRepetition,
}

/// A game: where it began, what was played, and what stands now.
///
/// ```
/// use knightwatch::chess::{Ending, Game, Position};
///
/// let game = Game::from_moves(Position::startpos(), ["f2f3", "e7e5", "g2g4", "d8h4"])?;
/// assert_eq!(game.ending(), Some(Ending::Checkmate));
/// # Ok::<(), knightwatch::chess::MoveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Game {
    initial: Position,
    position: Position,
    moves: Vec<Move>,
    keys: Vec<u64>,
    /// The keys again, but without an en passant that is not legal: what the repetition rule compares.
    identities: Vec<u64>,
}

impl Game {
    /// A game that begins with this position.
    pub fn new(initial: Position) -> Game {
        Game {
            keys: vec![initial.key()],
            identities: vec![initial.identity()],
            position: initial.clone(),
            moves: Vec::new(),
            initial,
        }
    }

    /// The game from a position with these moves in UCI notation.
    ///
    /// # Errors
    ///
    /// The first move that is not one.
    pub fn from_moves<I>(initial: Position, moves: I) -> Result<Game, MoveError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut game = Game::new(initial);
        for uci in moves {
            game.push_uci(uci.as_ref())?;
        }
        Ok(game)
    }

    /// The position that it began with.
    pub fn initial(&self) -> &Position {
        &self.initial
    }

    /// The position now.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The moves so far.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The [keys](Position::key) of all positions so far, from the first to the current one.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Plays a legal move.
    pub fn play(&mut self, mv: Move) {
        self.position.play(mv);
        self.moves.push(mv);
        self.keys.push(self.position.key());
        self.identities.push(self.position.identity());
    }

    /// Plays a move given in UCI notation.
    ///
    /// # Errors
    ///
    /// That of [`Position::parse_uci`]; the game is then as before.
    pub fn push_uci(&mut self, uci: &str) -> Result<Move, MoveError> {
        let mv = self.position.parse_uci(uci)?;
        self.play(mv);
        Ok(mv)
    }

    /// Takes moves back until this many plies are left; with more than there are, nothing happens.
    pub fn truncate(&mut self, plies: usize) {
        if plies < self.moves.len() {
            let mut game = Game::new(self.initial.clone());
            for &mv in &self.moves[..plies] {
                game.play(mv);
            }
            *self = game;
        }
    }

    /// How often the current position has stood on the board, this time included. Positions are the same if the
    /// same moves are possible: an en passant square counts only if it can legally be taken on (FIDE 9.2.3).
    pub fn repetitions(&self) -> u32 {
        let now = self.position.identity();
        // No position from before the last irreversible move can come again.
        let reach = self.position.halfmove_clock() as usize + 1;
        let earlier = self.identities.len().saturating_sub(reach);
        self.identities[earlier..]
            .iter()
            .filter(|&&key| key == now)
            .count() as u32
    }

    /// How the game has ended by itself, if it has.
    pub fn ending(&self) -> Option<Ending> {
        let position = &self.position;
        if !position.has_legal_move() {
            Some(if position.in_check() {
                Ending::Checkmate
            } else {
                Ending::Stalemate
            })
        } else if position.insufficient_material() {
            Some(Ending::InsufficientMaterial)
        } else if position.halfmove_clock() >= 100 {
            Some(Ending::FiftyMoves)
        } else if self.repetitions() >= 5 {
            Some(Ending::FivefoldRepetition)
        } else {
            None
        }
    }
}
