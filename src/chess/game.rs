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
    identities: Vec<u64>,
}

impl Game {
    /// A game that begins with this position.
    pub fn new(initial: Position) -> Game {
        Game {
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

    /// The keys of all positions so far, from the first to the current one, but without an en passant that is not legal: what
    /// the repetition rule compares.
    pub fn identities(&self) -> &[u64] {
        &self.identities
    }

    /// Plays a legal move.
    ///
    /// # Panics
    ///
    /// In debug builds, if the move is illegal.
    pub fn play(&mut self, mv: Move) {
        self.position.play(mv);
        self.moves.push(mv);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn game(fen: &str, moves: &str) -> Game {
        let position = Position::from_fen(fen).expect("a position");
        Game::from_moves(position, moves.split_whitespace()).expect("legal moves")
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const SHUFFLE: &str = "g1f3 g8f6 f3g1 f6g8 ";

    #[test]
    fn repetitions_are_counted_up_to_the_fifth() {
        assert_eq!(game(START, "").repetitions(), 1);
        assert_eq!(game(START, SHUFFLE).repetitions(), 2);
        let third = game(START, &SHUFFLE.repeat(2));
        assert_eq!((third.repetitions(), third.ending()), (3, None));
        let fifth = game(START, &SHUFFLE.repeat(4));
        assert_eq!(fifth.ending(), Some(Ending::FivefoldRepetition));
    }

    #[test]
    fn lost_rights_to_castle_make_another_position() {
        let moves = "h1g1 a8b8 g1h1 b8a8 ";
        let game = game("r3k3/8/8/8/8/8/8/4K2R w Kq - 0 1", &moves.repeat(2));
        assert_eq!(game.repetitions(), 2);
    }

    #[test]
    fn an_en_passant_that_is_not_legal_makes_no_other_position() {
        // Both pawns would leave the fourth rank to the rook.
        let pinned = "8/8/8/8/k3p2R/8/3P4/7K w - - 0 1";
        let first = game(pinned, "d2d4");
        assert!(first.position().en_passant().is_some());
        assert_eq!(game(pinned, "d2d4 a4a5 h1g1 a5a4 g1h1").repetitions(), 2);
        // Without the rook the capture is possible the first time only.
        let free = "8/8/8/8/k3p3/8/3P4/7K w - - 0 1";
        assert_eq!(game(free, "d2d4 a4a5 h1g1 a5a4 g1h1").repetitions(), 1);
    }

    #[test]
    fn endings() {
        let cases = [
            (START, "", None),
            (
                "7k/8/5KQ1/8/8/8/8/8 w - - 0 1",
                "g6g7",
                Some(Ending::Checkmate),
            ),
            (
                "7k/8/5KQ1/8/8/8/8/8 w - - 0 1",
                "g6f7",
                Some(Ending::Stalemate),
            ),
            (
                "7k/8/8/8/8/8/1p6/K7 w - - 0 1",
                "a1b2",
                Some(Ending::InsufficientMaterial),
            ),
            (
                "7k/8/8/8/8/8/8/KR6 w - - 99 80",
                "b1b2",
                Some(Ending::FiftyMoves),
            ),
            ("7k/8/8/8/8/8/8/KR6 w - - 98 80", "b1b2", None),
            // A mate with the last move of the fifty counts.
            (
                "7k/8/6K1/8/8/8/8/R7 w - - 99 80",
                "a1a8",
                Some(Ending::Checkmate),
            ),
        ];
        for (fen, moves, ending) in cases {
            assert_eq!(game(fen, moves).ending(), ending, "{fen} {moves}");
        }
    }

    #[test]
    fn moves_can_be_taken_back() {
        let mut long = game(START, "e2e4 e7e5 g1f3 b8c6");
        let short = game(START, "e2e4 e7e5");
        long.truncate(7);
        assert_eq!(long.moves().len(), 4);
        long.truncate(2);
        assert_eq!(long.moves(), short.moves());
        assert_eq!(long.identities(), short.identities());
        assert_eq!(long.position(), short.position());
    }

    #[test]
    fn a_wrong_move_leaves_the_game_as_it_was() {
        let mut game = game(START, "e2e4");
        for wrong in ["e2e4", "e7e6q", "0000", "", "e8g8", "a9a1", "é2e4"] {
            assert!(game.push_uci(wrong).is_err(), "{wrong}");
        }
        assert_eq!(game.moves().len(), 1);
    }
}
