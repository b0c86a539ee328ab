//! The score sheet of a game: the moves as the stream has them, and the board that they lead to.

use crate::chess::{CastlingNotation, Color, Game, Position};
use crate::lichess::model::{GameState, clip};

/// What a list of moves has done to the sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing: it is the list we know.
    Same,
    /// Moves were added to the `from` that were there.
    Grew {
        /// Plies before.
        from: usize,
    },
    /// Moves are gone (a takeback), or others stand in their place: `common` plies are as they were.
    Rewritten {
        /// Plies that both lists begin with.
        common: usize,
    },
}

/// A list of moves that cannot be played from the game's first position. The sheet stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("move {ply} of the list, {text:?}, cannot be played: {why}")]
pub struct Unplayable {
    /// Counted from 1.
    pub ply: usize,
    /// The move as it came, cut to a sensible length.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// What a state of the stream says, once it stands on the sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovesUpdate {
    /// What became of the list of moves.
    pub change: Change,
    /// It is our turn.
    pub ours: bool,
    /// The game is over.
    pub over: bool,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct GameMoves {
    game: Game,
    /// The list as it came last, to see at a glance that the new one only adds to it.
    text: String,
}

impl GameMoves {
    /// An empty sheet.
    pub fn new(initial: Position) -> Self {
        Self {
            game: Game::new(initial),
            text: String::new(),
        }
    }

    /// The game with its past.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// The board.
    pub fn position(&self) -> &Position {
        self.game.position()
    }

    /// The moves as the server writes them in such a game, with blanks between.
    pub fn uci(&self, castling: CastlingNotation) -> String {
        let moves = self.game.moves().iter();
        let moves: Vec<String> = moves.map(|mv| mv.uci(castling).to_string()).collect();
        moves.join(" ")
    }

    /// Moves made, in plies.
    pub fn ply(&self) -> usize {
        self.game.moves().len()
    }

    /// Whose turn it is.
    pub fn turn(&self) -> Color {
        self.position().turn()
    }

    /// Takes up a state of a game in which we are `us`.
    ///
    /// # Errors
    /// A list of moves that cannot be played, while that matters.
    pub fn read(&mut self, state: &GameState, us: Color) -> Result<MovesUpdate, Unplayable> {
        let over = state.status.is_over();
        let change = match self.follow(&state.moves) {
            Ok(change) => change,
            Err(_) if over => Change::Same,
            Err(unplayable) => return Err(unplayable),
        };
        Ok(MovesUpdate {
            change,
            ours: !over && self.turn() == us,
            over,
        })
    }

    /// Takes up the complete list of moves of a state, `e2e4 e7e5 ...`, castling in either spelling.
    pub fn follow(&mut self, moves: &str) -> Result<Change, Unplayable> {
        let from = self.ply();
        let tail = moves
            .strip_prefix(&self.text)
            .filter(|tail| self.text.is_empty() || tail.is_empty() || tail.starts_with(' '));
        match tail {
            Some(tail) => {
                if let Err(unplayable) = play_all(&mut self.game, tail) {
                    self.game.truncate(from);
                    return Err(unplayable);
                }
                self.text.push_str(tail);
                let grew = self.ply() > from;
                Ok(if grew {
                    Change::Grew { from }
                } else {
                    Change::Same
                })
            }
            None => self.rewrite(moves),
        }
    }

    fn rewrite(&mut self, moves: &str) -> Result<Change, Unplayable> {
        let mut game = Game::new(self.game.initial().clone());
        play_all(&mut game, moves)?;
        let (old, new) = (self.game.moves(), game.moves());
        let common = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let change = match (common == old.len(), common == new.len()) {
            (true, true) => Change::Same,
            (true, false) => Change::Grew { from: common },
            _ => Change::Rewritten { common },
        };
        self.game = game;
        self.text = moves.into();
        Ok(change)
    }
}

fn play_all(game: &mut Game, moves: &str) -> Result<(), Unplayable> {
    for text in moves.split_ascii_whitespace() {
        let ply = game.moves().len() + 1;
        game.push_uci(text).map_err(|error| Unplayable {
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

    fn sheet(moves: &str) -> GameMoves {
        let mut sheet = GameMoves::new(Position::startpos());
        sheet.follow(moves).unwrap();
        sheet
    }

    #[test]
    fn replays_change_nothing() {
        let mut sheet = sheet("e2e4 e7e5");
        for _ in 0..3 {
            assert_eq!(sheet.follow("e2e4 e7e5"), Ok(Change::Same));
        }
        assert_eq!(
            GameMoves::new(Position::startpos()).follow(""),
            Ok(Change::Same)
        );
    }

    #[test]
    fn a_longer_list_is_played_on() {
        let mut sheet = sheet("");
        assert_eq!(sheet.follow("e2e4"), Ok(Change::Grew { from: 0 }));
        assert_eq!(sheet.follow("e2e4 e7e5 g1f3"), Ok(Change::Grew { from: 1 }));
        assert_eq!((sheet.ply(), sheet.turn()), (3, Color::Black));
    }

    #[test]
    fn takebacks_shrink_the_list() {
        let mut sheet = sheet("e2e4 e7e5 g1f3");
        assert_eq!(sheet.follow("e2e4"), Ok(Change::Rewritten { common: 1 }));
        assert_eq!(sheet.follow(""), Ok(Change::Rewritten { common: 0 }));
        assert_eq!(sheet.position(), &Position::startpos());
    }

    #[test]
    fn a_move_list_is_no_mere_text() {
        // The pawn promotes later: the old list is a prefix of the text, not of the list.
        let mut sheet = GameMoves::new(Position::from_fen("8/P6k/8/8/8/8/7K/8 w - - 0 1").unwrap());
        sheet.follow("a7a8").unwrap_or(Change::Same);
        let change = sheet.follow("a7a8q").unwrap();
        assert!(matches!(
            change,
            Change::Grew { from: 0 } | Change::Rewritten { .. } | Change::Same
        ));
        assert_eq!(sheet.ply(), 1);
    }

    #[test]
    fn both_spellings_of_castling_are_the_same_game() {
        let opening = "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5";
        let mut sheet = sheet(&format!("{opening} e1g1 g8f6"));
        assert_eq!(
            sheet.follow(&format!("{opening} e1h1 g8f6")),
            Ok(Change::Same)
        );
        let longer = format!("{opening} e1h1 g8f6 d2d3");
        assert_eq!(sheet.follow(&longer), Ok(Change::Grew { from: 8 }));
    }

    #[test]
    fn nonsense_leaves_the_sheet_as_it_was() {
        let mut sheet = sheet("e2e4 e7e5");
        for nonsense in [
            "e2e4 e7e5 g1f3 g1f3",
            "e2e4 e7e6 \u{1b}[31m",
            "x",
            "e2e4e7e5",
        ] {
            let said = sheet.follow(nonsense).unwrap_err().to_string();
            assert!(!said.contains(char::is_control), "{said:?}");
            assert_eq!(sheet.follow("e2e4 e7e5"), Ok(Change::Same));
        }
    }
}
