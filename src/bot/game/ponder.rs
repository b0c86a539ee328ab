//! Pondering: thinking on the opponent's time about the answer to the move that is expected of him.

use super::GameTask;
use crate::bot::game::choice::Search;
use crate::bot::trace::Record;
use crate::chess::Move;
use crate::clock;

/// What is thought ahead.
#[derive(Default)]
pub(super) struct Ahead {
    /// What the opponent is expected to answer to the move that we have found last.
    pub(super) expected: Option<Move>,
    /// About the position after that. It is silent, and given up as soon as any game owes a move.
    pub(super) search: Option<Search>,
}

impl GameTask {
    /// Our move stands on the board, and the opponent thinks. So do we, where a clock runs: not below full strength, which is
    /// to take its time like a person, not where somebody has said how long to think, and not where there will be nothing
    /// to choose.
    pub(super) fn think_ahead(&mut self) {
        let expected = self.ahead.expected.take();
        let wanted = self.house.settings.engine.ponder && self.clocked();
        let terms = &self.mind.terms;
        if !wanted || terms.move_limits.time.is_some() || self.mind.strength().is_some() {
            return;
        }
        let (Some(expected), Some((head, sheet))) = (expected, &self.mind.table) else {
            return;
        };
        let mut game = sheet.game().clone();
        if !game.position().is_legal(expected) {
            return;
        }
        game.play(expected);
        if game.position().legal_moves().len() < 2 {
            return;
        }
        let limits = self.mind.limits(self.share());
        self.ahead.search = Search::ahead(&self.house, &self.id, &game, limits);
        if self.ahead.search.is_some() {
            let expected = expected.uci(head.castling);
            self.trace.note(clock::now(), || {
                Record::Note(format!("thinking ahead, about the answer to {expected}"))
            });
        }
    }
}
