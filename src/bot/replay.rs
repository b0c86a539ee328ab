//! What a game's task makes of the lines of a stream, without a network, an engine or a clock.
//!
//! The same parts that play ([`head`](super::head), [`sheet`](super::sheet), [`duty`](super::duty),
//! [`budget`](super::budget)) are driven by recorded or invented lines. Whatever a server sends, none of it may make
//! them panic, take memory without end, or think about a position that is not there.

use std::time::Duration;

use super::budget::Budget;
use super::duty::{Board, Duty, Step};
use super::head::Head;
use super::lag::Lag;
use super::sheet::Sheet;
use crate::chess::Position;
use crate::engine::Limits;
use crate::lichess::model::{FromLine, GameEvent, GameState, Username};

/// What came of a line.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Nothing for the board: chat, an absence, something unreadable.
    Nothing,
    /// The game cannot be played; why.
    Unfit(String),
    /// The list of moves cannot be played; the stream would be opened again.
    Mistrusted(String),
    /// The board is known, and nothing new is owed.
    Seen,
    /// A move is to be chosen here, within these limits.
    Think(Box<Position>, Box<Limits>),
    /// The game is over.
    Over,
}

/// A game that is replayed.
#[derive(Debug)]
pub struct Replay {
    me: Username,
    table: Option<(Head, Sheet)>,
    duty: Duty,
    lag: Lag,
}

impl Replay {
    /// A game of this account.
    pub fn new(me: Username) -> Self {
        Self {
            me,
            table: None,
            duty: Duty::default(),
            lag: Lag::default(),
        }
    }

    /// The next line of its stream, without its end.
    pub fn line(&mut self, line: &str) -> Outcome {
        match GameEvent::from_line(line) {
            GameEvent::Full(full) => {
                if self.table.is_none() {
                    match Head::read(&full, &self.me, None) {
                        Ok(head) => {
                            let sheet = Sheet::new(head.initial.clone());
                            self.table = Some((head, sheet));
                        }
                        Err(unfit) => return Outcome::Unfit(unfit.to_string()),
                    }
                }
                self.state(&full.state, true)
            }
            GameEvent::State(state) => self.state(&state, false),
            _ => Outcome::Nothing,
        }
    }

    fn state(&mut self, state: &GameState, fresh: bool) -> Outcome {
        let Some((head, sheet)) = &mut self.table else {
            return Outcome::Nothing;
        };
        let reading = match sheet.read(state, head.us) {
            Ok(reading) => reading,
            Err(unplayable) => return Outcome::Mistrusted(unplayable.to_string()),
        };
        let step = self.duty.board(Board::of(reading, fresh));
        if reading.over {
            return Outcome::Over;
        }
        if step != Step::Think {
            return Outcome::Seen;
        }
        let limits = Budget {
            pace: head.pace,
            remaining: state.time(head.us),
            since: Duration::ZERO,
            ply: sheet.ply(),
            lag: &self.lag,
            safety: Duration::from_millis(50),
            longest: Duration::from_secs(20),
            games: 1,
            concurrency: 1,
        }
        .limits();
        Outcome::Think(Box::new(sheet.position().clone()), Box::new(limits))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn full(fen: &str, moves: &str, time: &str) -> String {
        format!(
            r#"{{"id":"abcdefgh","variant":{{"key":"standard"}},"speed":"blitz","rated":false,"white":{{"id":"me","name":"Me"}},
            "black":{{"id":"you","name":"You"}},"initialFen":"{fen}","clock":{{"initial":{time},"increment":0}},
            "type":"gameFull","state":{{"type":"gameState","moves":"{moves}","wtime":{time},"btime":{time},"winc":0,
            "binc":0,"status":"started"}}}}"#
        )
        .replace('\n', " ")
    }

    fn replay() -> Replay {
        Replay::new(Username::new("Me"))
    }

    #[test]
    fn a_game_is_followed_move_by_move() {
        let mut game = replay();
        let first = game.line(&full("startpos", "", "180000"));
        assert!(matches!(first, Outcome::Think(..)), "{first:?}");
        let state = |moves: &str, status: &str| {
            format!(
                r#"{{"type":"gameState","moves":"{moves}","wtime":1,"btime":1,"winc":0,"binc":0,"status":"{status}"}}"#
            )
        };
        assert!(matches!(
            game.line(&state("e2e4", "started")),
            Outcome::Seen
        ));
        let Outcome::Think(position, _) = game.line(&state("e2e4 e7e5", "started")) else {
            panic!("it is our turn");
        };
        assert_eq!(position.fullmove_number(), 2);
        assert!(matches!(
            game.line(&state("e2e4 e7e5 e1e3", "started")),
            Outcome::Mistrusted(_)
        ));
        assert!(matches!(game.line(&state("e2e4", "mate")), Outcome::Over));
    }

    proptest! {
        #[test]
        fn no_line_is_too_much(
            lines in prop::collection::vec(".{0,200}", 0..8),
            fen in "[ -~]{0,80}",
            moves in "([a-i][0-9][a-i][0-9][qrbnk]? ?){0,20}",
            time in "-?[0-9]{1,25}",
        ) {
            let mut game = replay();
            game.line(&full("startpos", "", "180000"));
            game.line(&full(&fen.replace(['"', '\\'], " "), &moves, &time));
            game.line(&full("startpos", &moves, &time));
            for line in &lines {
                game.line(line);
            }
            let mut fresh = replay();
            fresh.line(&full(&fen.replace(['"', '\\'], " "), &moves, &time));
        }
    }
}
