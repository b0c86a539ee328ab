//! Events about moves and the end of a game, sent after our move is posted.

use tracing::info;

use super::{ExitReason, GameTask};
use crate::bot::game::header::millis;
use crate::bot::game::moves::Change;
use crate::chess::Color;
use crate::events::{Event, GameFinished, Moved, SearchInfo, Timing};
use crate::lichess::model::{GameId, GameState, Status};
use crate::plural;

impl GameTask {
    /// Sends the events for new moves on the board, or for the clocks if there are none.
    pub(super) fn publish_moves(
        &mut self,
        change: Change,
        state: &GameState,
        mut shown: Option<(SearchInfo, Timing)>,
    ) {
        let Some((header, game_moves)) = self.core.game() else {
            return;
        };
        let clock = |time| millis(header.pace, time);
        let from = match change {
            Change::Unchanged => game_moves.game().moves().len(),
            Change::Appended { from } => from,
            Change::Replaced { common } => {
                let moves = plural::count(common.div_ceil(2), "move", "moves");
                info!(game = %self.id, "takeback: {moves} left on the board");
                let (game, ply) = (self.id.to_string(), common as u32);
                self.ctx.events.send(Event::TakenBack { game, ply });
                common
            }
        };
        let moves = game_moves.game().moves();
        let mut past = game_moves.game().clone();
        past.truncate(from);
        for (ply, &mv) in moves.iter().enumerate().skip(from) {
            let by = past.position().turn();
            let ours = by == header.us;
            let last = ply + 1 == moves.len();
            let (search, timing) = shown.take_if(|_| ours).unzip();
            self.ctx.events.send(Event::Moved(Moved {
                game: self.id.to_string(),
                ply: ply as u32 + 1,
                san: past.position().san(mv),
                uci: mv.uci(header.castling).to_string(),
                by,
                ours,
                wtime: clock(state.wtime).filter(|_| last),
                btime: clock(state.btime).filter(|_| last),
                search,
                timing,
            }));
            past.play(mv);
        }
        if from == moves.len() {
            self.ctx.events.send(Event::Clocks {
                game: self.id.to_string(),
                wtime: clock(state.wtime),
                btime: clock(state.btime),
            });
        }
    }

    /// Records the end of the game.
    pub(super) fn finish(&mut self, status: Status, winner: Option<Color>) {
        if self.exit.is_some() {
            return;
        }
        let game = self.core.game();
        let moves = game.map(|(header, game_moves)| game_moves.uci(header.castling));
        let our_color = game.map(|(header, _)| header.us);
        let our_color = our_color.or(self.info.as_ref().map(|info| info.color));
        let moves = moves.unwrap_or_default();
        let end = game_finished(&self.id, our_color, status, winner, moves);
        info!(name: "game_finished", game = %self.id, "{}", self.core.describe_end(&end));
        self.ctx.events.send(Event::GameFinished(end));
        self.final_status = Some((status, winner));
        self.core.finish(result(status, winner), winner);
        self.exit = Some(ExitReason::Over);
    }
}

/// The event for the end of a game. `moves` are in UCI notation, separated by spaces.
pub(in crate::bot) fn game_finished(
    id: &GameId,
    our_color: Option<Color>,
    status: Status,
    winner: Option<Color>,
    moves: String,
) -> GameFinished {
    GameFinished {
        game: id.to_string(),
        our_color,
        status: status.key().into(),
        winner,
        result: result(status, winner).into(),
        plies: moves.split_whitespace().count() as u32,
        moves,
        observed: true,
    }
}

/// Result of a game in PGN notation.
pub(super) fn result(status: Status, winner: Option<Color>) -> &'static str {
    match (winner, status) {
        (Some(Color::White), _) => "1-0",
        (Some(Color::Black), _) => "0-1",
        (None, status) if status.has_result() => "1/2-1/2",
        (None, _) => "*",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_follow_pgn() {
        let table = [
            (Status::Mate, Some(Color::White), "1-0"),
            (Status::OutOfTime, Some(Color::Black), "0-1"),
            (Status::OutOfTime, None, "1/2-1/2"),
            (Status::Draw, None, "1/2-1/2"),
            (Status::Aborted, None, "*"),
            (Status::NoStart, Some(Color::Black), "0-1"),
            (Status::Unknown, None, "*"),
        ];
        for (status, winner, expected) in table {
            assert_eq!(result(status, winner), expected, "{status}");
        }
    }
}
