//! Pondering: searching on the opponent's time, assuming their expected move.

use super::GameTask;
use crate::bot::game::choice::Search;
use crate::bot::trace::Record;
use crate::chess::Move;
use crate::clock;

/// State of pondering.
#[derive(Default)]
pub(super) struct Pondering {
    /// Expected reply to our last move.
    pub(super) expected_move: Option<Move>,
    /// Search of the position after that reply. It publishes nothing, and the engine stops it as soon as any game has to move.
    pub(super) search: Option<Search>,
}

impl GameTask {
    /// Returns whether we may ponder in this game: only with a clock, at full strength (a limited engine imitates human
    /// think times) and without a configured time per move.
    pub(super) fn may_ponder(&self) -> bool {
        self.ctx.settings.engine.ponder
            && self.has_clock()
            && self.core.terms().move_limits.time.is_none()
            && self.core.strength().is_none()
    }

    /// Starts pondering after our move, if the expected position has more than one legal move.
    pub(super) fn start_pondering(&mut self) {
        let expected_move = self.pondering.expected_move.take();
        if !self.may_ponder() {
            return;
        }
        let (Some(expected_move), Some((header, game_moves))) = (expected_move, self.core.game())
        else {
            return;
        };
        let mut game = game_moves.game().clone();
        if !game.position().is_legal(expected_move) {
            return;
        }
        game.play(expected_move);
        if game.position().legal_moves().len() < 2 {
            return;
        }
        let limits = self.core.limits(self.time_inputs());
        self.pondering.search =
            Search::start_pondering(&self.ctx, self.external(), &self.id, &game, limits);
        if self.pondering.search.is_some() {
            let expected_move = expected_move.uci(header.castling);
            self.trace.note(clock::now(), || {
                Record::Note(format!("pondering on {expected_move}"))
            });
        }
    }
}
