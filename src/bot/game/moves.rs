//! Move list of a game, kept in step with the stream.

use crate::chess::{CastlingNotation, Color, Game, Position};
use crate::lichess::model::{GameState, clip};

/// Change of the move list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The list is the same.
    Unchanged,
    /// Moves were appended.
    Appended {
        /// Plies before.
        from: usize,
    },
    /// Moves were removed (a takeback) or replaced.
    Replaced {
        /// Length of the common prefix in plies.
        common: usize,
    },
}

/// Move list that cannot be played from the initial position. The previous list stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("move {ply} of the list, {text:?}, cannot be played: {why}")]
pub(crate) struct InvalidMoves {
    /// Counted from 1.
    pub ply: usize,
    /// The move as received, truncated.
    pub text: String,
    pub why: String,
}

/// Result of applying a state of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MovesUpdate {
    /// Change of the move list.
    pub change: Change,
    /// It is our turn.
    pub our_turn: bool,
    /// The game is over.
    pub over: bool,
}

/// Moves and board of a game, kept in step with the stream.
#[derive(Clone, Debug)]
pub(crate) struct GameMoves {
    game: Game,
    /// The last list received, so that an appended move is recognized without replaying the game.
    text: String,
}

impl GameMoves {
    /// Creates an empty list.
    pub(crate) fn new(initial: Position) -> Self {
        Self {
            game: Game::new(initial),
            text: String::new(),
        }
    }

    /// The game with its history.
    pub(crate) fn game(&self) -> &Game {
        &self.game
    }

    /// The current position.
    pub(crate) fn position(&self) -> &Position {
        self.game.position()
    }

    /// The moves in UCI notation, separated by spaces, with castling as the server writes it.
    pub(crate) fn uci(&self, castling: CastlingNotation) -> String {
        let moves = self.game.moves().iter();
        let moves: Vec<String> = moves.map(|mv| mv.uci(castling).to_string()).collect();
        moves.join(" ")
    }

    /// Number of plies.
    pub(crate) fn ply(&self) -> usize {
        self.game.moves().len()
    }

    /// Side to move.
    pub(crate) fn turn(&self) -> Color {
        self.position().turn()
    }

    /// Applies a state of the stream in a game that we play as `us`.
    ///
    /// # Errors
    /// The move list is not playable, and the game is not over.
    pub(crate) fn apply_state(
        &mut self,
        state: &GameState,
        us: Color,
    ) -> Result<MovesUpdate, InvalidMoves> {
        let over = state.status.is_over();
        let change = match self.update(&state.moves) {
            Ok(change) => change,
            Err(_) if over => Change::Unchanged,
            Err(unplayable) => return Err(unplayable),
        };
        Ok(MovesUpdate {
            change,
            our_turn: !over && self.turn() == us,
            over,
        })
    }

    /// Applies a complete move list, `e2e4 e7e5 ...`. Accepts both notations of castling.
    ///
    /// # Errors
    /// The move list is not playable.
    pub(crate) fn update(&mut self, moves: &str) -> Result<Change, InvalidMoves> {
        let from = self.ply();
        match moves_after(moves, &self.text) {
            Some(tail) => {
                if let Err(unplayable) = play_all(&mut self.game, tail) {
                    self.game.truncate(from);
                    return Err(unplayable);
                }
                self.text.push_str(tail);
                let appended = self.ply() > from;
                Ok(if appended {
                    Change::Appended { from }
                } else {
                    Change::Unchanged
                })
            }
            None => self.replace(moves),
        }
    }

    fn replace(&mut self, moves: &str) -> Result<Change, InvalidMoves> {
        let mut game = Game::new(self.game.initial().clone());
        play_all(&mut game, moves)?;
        let (old, new) = (self.game.moves(), game.moves());
        let common = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let change = match (common == old.len(), common == new.len()) {
            (true, true) => Change::Unchanged,
            (true, false) => Change::Appended { from: common },
            _ => Change::Replaced { common },
        };
        self.game = game;
        self.text = moves.into();
        Ok(change)
    }
}

/// The moves of a list after those of another one; `None` if it does not begin with them.
pub(crate) fn moves_after<'a>(moves: &'a str, known: &str) -> Option<&'a str> {
    moves
        .strip_prefix(known)
        .filter(|tail| known.is_empty() || tail.is_empty() || tail.starts_with(' '))
}

fn play_all(game: &mut Game, moves: &str) -> Result<(), InvalidMoves> {
    for text in moves.split_ascii_whitespace() {
        let ply = game.moves().len() + 1;
        game.push_uci(text).map_err(|error| InvalidMoves {
            ply,
            text: clip(text, 8),
            why: error.to_string(),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game_moves(moves: &str) -> GameMoves {
        let mut game_moves = GameMoves::new(Position::startpos());
        game_moves.update(moves).unwrap();
        game_moves
    }

    #[test]
    fn same_list_is_unchanged() {
        let mut game_moves = game_moves("e2e4 e7e5");
        for _ in 0..3 {
            assert_eq!(game_moves.update("e2e4 e7e5"), Ok(Change::Unchanged));
        }
        assert_eq!(
            GameMoves::new(Position::startpos()).update(""),
            Ok(Change::Unchanged)
        );
    }

    #[test]
    fn longer_list_is_appended() {
        let mut game_moves = game_moves("");
        assert_eq!(game_moves.update("e2e4"), Ok(Change::Appended { from: 0 }));
        assert_eq!(
            game_moves.update("e2e4 e7e5 g1f3"),
            Ok(Change::Appended { from: 1 })
        );
        assert_eq!((game_moves.ply(), game_moves.turn()), (3, Color::Black));
    }

    #[test]
    fn takeback_replaces_list() {
        let mut game_moves = game_moves("e2e4 e7e5 g1f3");
        assert_eq!(
            game_moves.update("e2e4"),
            Ok(Change::Replaced { common: 1 })
        );
        assert_eq!(game_moves.update(""), Ok(Change::Replaced { common: 0 }));
        assert_eq!(game_moves.position(), &Position::startpos());
    }

    #[test]
    fn promotion_suffix_is_not_a_text_prefix() {
        // `a7a8` is a prefix of the text `a7a8q`, but not of the move list.
        assert_eq!(moves_after("a7a8q h7g7", "a7a8"), None);
        assert_eq!(moves_after("a7a8q h7g7", "a7a8q"), Some(" h7g7"));
        let mut game_moves =
            GameMoves::new(Position::from_fen("8/P6k/8/8/8/8/7K/8 w - - 0 1").unwrap());
        assert!(game_moves.update("a7a8").is_err());
        assert_eq!(game_moves.update("a7a8q"), Ok(Change::Appended { from: 0 }));
        assert_eq!(game_moves.ply(), 1);
    }

    #[test]
    fn both_castling_notations_are_equal() {
        let opening = "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5";
        let mut game_moves = game_moves(&format!("{opening} e1g1 g8f6"));
        assert_eq!(
            game_moves.update(&format!("{opening} e1h1 g8f6")),
            Ok(Change::Unchanged)
        );
        let longer = format!("{opening} e1h1 g8f6 d2d3");
        assert_eq!(game_moves.update(&longer), Ok(Change::Appended { from: 8 }));
    }

    #[test]
    fn invalid_list_keeps_previous_moves() {
        let mut game_moves = game_moves("e2e4 e7e5");
        for invalid in [
            "e2e4 e7e5 g1f3 g1f3",
            "e2e4 e7e6 \u{1b}[31m",
            "x",
            "e2e4e7e5",
        ] {
            let message = game_moves.update(invalid).unwrap_err().to_string();
            assert!(!message.contains(char::is_control), "{message:?}");
            assert_eq!(game_moves.update("e2e4 e7e5"), Ok(Change::Unchanged));
        }
    }
}
