//! Games: a position with its history.

use super::pgn::Outcome;
use super::{Move, MoveError, Position, Termination, Variant};

/// A game: initial position, moves, and current position.
///
/// ```
/// use knightwatch_chess::{Game, Position, Termination};
///
/// let game = Game::from_moves(Position::startpos(), ["f2f3", "e7e5", "g2g4", "d8h4"])?;
/// assert_eq!(game.termination(), Some(Termination::Checkmate));
/// # Ok::<(), knightwatch_chess::MoveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Game {
    initial: Position,
    position: Position,
    moves: Vec<Move>,
    repetition_keys: Vec<u64>,
}

impl Game {
    /// Creates a game that starts from this position.
    pub fn new(initial: Position) -> Game {
        Game {
            repetition_keys: vec![initial.repetition_key()],
            position: initial.clone(),
            moves: Vec::new(),
            initial,
        }
    }

    /// The game from a position with these moves in UCI notation.
    ///
    /// # Errors
    ///
    /// On the first illegal move.
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

    /// The initial position.
    pub fn initial(&self) -> &Position {
        &self.initial
    }

    /// The current position.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The moves played.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The keys of all positions, from the initial to the current one, as compared by the repetition rule: without en
    /// passant squares where the capture is illegal.
    pub fn repetition_keys(&self) -> &[u64] {
        &self.repetition_keys
    }

    /// Plays a legal move.
    ///
    /// # Panics
    ///
    /// In debug builds, if the move is illegal.
    pub fn play(&mut self, mv: Move) {
        self.position.play(mv);
        self.moves.push(mv);
        self.repetition_keys.push(self.position.repetition_key());
    }

    /// Plays a move given in UCI notation.
    ///
    /// # Errors
    ///
    /// As [`Position::parse_uci`]; the game is then unchanged.
    pub fn push_uci(&mut self, uci: &str) -> Result<Move, MoveError> {
        let mv = self.position.parse_uci(uci)?;
        self.play(mv);
        Ok(mv)
    }

    /// Takes back moves until `plies` are left; does nothing if there are fewer.
    pub fn truncate(&mut self, plies: usize) {
        if plies < self.moves.len() {
            let mut game = Game::new(self.initial.clone());
            for &mv in &self.moves[..plies] {
                game.play(mv);
            }
            *self = game;
        }
    }

    /// How often the current position has occurred, this time included. Positions are the same if the same moves are
    /// possible: an en passant square counts only if the capture is legal (FIDE 9.2.3).
    pub fn repetitions(&self) -> u32 {
        let now = self.position.repetition_key();
        // Positions before the last irreversible move cannot repeat. In crazyhouse, what is taken can come back.
        let reach = match self.position.variant() {
            Variant::Crazyhouse => usize::MAX,
            _ => self.position.halfmove_clock() as usize + 1,
        };
        let earlier = self.repetition_keys.len().saturating_sub(reach);
        self.repetition_keys[earlier..]
            .iter()
            .filter(|&&key| key == now)
            .count() as u32
    }

    /// How the game has ended automatically, if it has.
    pub fn termination(&self) -> Option<Termination> {
        let position = &self.position;
        if !position.has_legal_move() {
            return Some(match position.variant_outcome() {
                _ if position.is_checkmate() => Termination::Checkmate,
                Outcome::Win(color) => Termination::VariantWin(color),
                Outcome::Draw => Termination::VariantDraw,
                Outcome::Unknown => Termination::Stalemate,
            });
        }
        if position.insufficient_material() {
            Some(Termination::InsufficientMaterial)
        } else if self.is_fifty_move_draw() {
            Some(Termination::FiftyMoves)
        } else if self.repetitions() >= 5 {
            Some(Termination::FivefoldRepetition)
        } else {
            None
        }
    }

    /// Returns whether there were fifty moves of each side without a pawn move or a capture. Crazyhouse has no such rule.
    pub fn is_fifty_move_draw(&self) -> bool {
        let position = self.position();
        position.halfmove_clock() >= 100 && position.variant() != Variant::Crazyhouse
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
    fn repetitions_are_counted_up_to_five() {
        assert_eq!(game(START, "").repetitions(), 1);
        assert_eq!(game(START, SHUFFLE).repetitions(), 2);
        let third = game(START, &SHUFFLE.repeat(2));
        assert_eq!((third.repetitions(), third.termination()), (3, None));
        let fifth = game(START, &SHUFFLE.repeat(4));
        assert_eq!(fifth.termination(), Some(Termination::FivefoldRepetition));
    }

    #[test]
    fn repetitions_with_lost_castling_rights_differ() {
        let moves = "h1g1 a8b8 g1h1 b8a8 ";
        let game = game("r3k3/8/8/8/8/8/8/4K2R w Kq - 0 1", &moves.repeat(2));
        assert_eq!(game.repetitions(), 2);
    }

    #[test]
    fn repetitions_with_illegal_en_passant_are_equal() {
        // Both pawns would leave the rook's rank.
        let pinned = "8/8/8/8/k3p2R/8/3P4/7K w - - 0 1";
        let first = game(pinned, "d2d4");
        assert!(first.position().en_passant().is_some());
        assert_eq!(game(pinned, "d2d4 a4a5 h1g1 a5a4 g1h1").repetitions(), 2);
        // Without the rook the capture is possible the first time only.
        let free = "8/8/8/8/k3p3/8/3P4/7K w - - 0 1";
        assert_eq!(game(free, "d2d4 a4a5 h1g1 a5a4 g1h1").repetitions(), 1);
    }

    #[test]
    fn termination_of_known_games() {
        let cases = [
            (START, "", None),
            (
                "7k/8/5KQ1/8/8/8/8/8 w - - 0 1",
                "g6g7",
                Some(Termination::Checkmate),
            ),
            (
                "7k/8/5KQ1/8/8/8/8/8 w - - 0 1",
                "g6f7",
                Some(Termination::Stalemate),
            ),
            (
                "7k/8/8/8/8/8/1p6/K7 w - - 0 1",
                "a1b2",
                Some(Termination::InsufficientMaterial),
            ),
            (
                "7k/8/8/8/8/8/8/KR6 w - - 99 80",
                "b1b2",
                Some(Termination::FiftyMoves),
            ),
            ("7k/8/8/8/8/8/8/KR6 w - - 98 80", "b1b2", None),
            // Mate on the last of the fifty moves counts.
            (
                "7k/8/6K1/8/8/8/8/R7 w - - 99 80",
                "a1a8",
                Some(Termination::Checkmate),
            ),
        ];
        for (fen, moves, termination) in cases {
            assert_eq!(game(fen, moves).termination(), termination, "{fen} {moves}");
        }
    }

    #[test]
    fn truncate_restores_earlier_position() {
        let mut long = game(START, "e2e4 e7e5 g1f3 b8c6");
        let short = game(START, "e2e4 e7e5");
        long.truncate(7);
        assert_eq!(long.moves().len(), 4);
        long.truncate(2);
        assert_eq!(long.moves(), short.moves());
        assert_eq!(long.repetition_keys(), short.repetition_keys());
        assert_eq!(long.position(), short.position());
    }

    #[test]
    fn push_of_illegal_move_keeps_the_game() {
        let mut game = game(START, "e2e4");
        for wrong in ["e2e4", "e7e6q", "0000", "", "e8g8", "a9a1", "é2e4"] {
            assert!(game.push_uci(wrong).is_err(), "{wrong}");
        }
        assert_eq!(game.moves().len(), 1);
    }
}
