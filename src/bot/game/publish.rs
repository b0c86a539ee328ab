//! What a game tells of itself, when the move is on its way.

use tracing::info;

use super::{ExitReason, GameTask};
use crate::bot::game::header::millis;
use crate::bot::game::moves::Change;
use crate::chess::Color;
use crate::events::{Event, GameFinished, Moved, SearchInfo, Timing};
use crate::lichess::model::{GameId, GameState, Status};
use crate::plural;

impl GameTask {
    /// Tells of the moves that are new on the board.
    pub(super) fn tell(
        &mut self,
        change: Change,
        state: &GameState,
        mut shown: Option<(SearchInfo, Timing)>,
    ) {
        let Some((head, sheet)) = &self.mind.table else {
            return;
        };
        let from = match change {
            Change::Same => return,
            Change::Grew { from } => from,
            Change::Rewritten { common } => {
                let moves = plural::count(common.div_ceil(2), "move", "moves");
                info!(game = %self.id, "moves were taken back: {moves} on the board");
                let (game, ply) = (self.id.to_string(), common as u32);
                self.house.events.send(Event::TakenBack { game, ply });
                common
            }
        };
        let moves = sheet.game().moves();
        let mut past = sheet.game().clone();
        past.truncate(from);
        for (ply, &mv) in moves.iter().enumerate().skip(from) {
            let by = past.position().turn();
            let ours = by == head.us;
            let last = ply + 1 == moves.len();
            let clock = |time| if last { millis(head.pace, time) } else { None };
            let (thought, timing) = if ours {
                shown.take().unzip()
            } else {
                (None, None)
            };
            self.house.events.send(Event::Moved(Moved {
                game: self.id.to_string(),
                ply: ply as u32 + 1,
                san: past.position().san(mv),
                uci: mv.uci(head.castling).to_string(),
                by,
                ours,
                wtime: clock(state.wtime),
                btime: clock(state.btime),
                thought,
                timing,
            }));
            past.play(mv);
        }
    }

    /// `won against Anna (1500): resignation, 3 moves`
    fn in_words(&self, end: &GameFinished) -> String {
        let Some((head, sheet)) = &self.mind.table else {
            return format!("over before it was seen: {}", end.reason(None));
        };
        let subject = self.mind.subject.as_ref();
        let rating = subject.and_then(|subject| subject.rating);
        let rating = rating.map_or_else(String::new, |rating| format!(" ({rating})"));
        let outcome = match (end.winner, end.result.as_str()) {
            (Some(winner), _) if winner == head.us => "won against",
            (Some(_), _) => "lost against",
            (None, "*") => "no result against",
            (None, _) => "drawn with",
        };
        format!(
            "{outcome} {}{rating}: {}, {}",
            head.opponent,
            end.reason(Some(sheet.game())),
            plural::count(end.plies.div_ceil(2), "move", "moves")
        )
    }

    pub(super) fn finish(&mut self, status: Status, winner: Option<Color>) {
        if self.over.is_some() {
            return;
        }
        let table = self.mind.table.as_ref();
        let moves = table.map(|(head, sheet)| sheet.uci(head.castling));
        let end = ended(&self.id, status, winner, moves.unwrap_or_default());
        info!(game = %self.id, "{}", self.in_words(&end));
        self.house.events.send(Event::GameFinished(end));
        self.ending = Some((status, winner));
        self.mind.ending = Some((result(status, winner), winner));
        self.over = Some(ExitReason::Over);
    }
}

/// What is told of the end of a game in which these moves were made, as the server has them with blanks between.
pub(in crate::bot) fn ended(
    id: &GameId,
    status: Status,
    winner: Option<Color>,
    moves: String,
) -> GameFinished {
    GameFinished {
        game: id.to_string(),
        status: status.key().into(),
        winner,
        result: result(status, winner).into(),
        plies: moves.split_whitespace().count() as u32,
        moves,
    }
}

/// How a game ended, as people write it.
pub(super) fn result(status: Status, winner: Option<Color>) -> &'static str {
    match (winner, status) {
        (Some(Color::White), _) => "1-0",
        (Some(Color::Black), _) => "0-1",
        (None, Status::Aborted | Status::NoStart | Status::UnknownFinish | Status::Unknown) => "*",
        (None, _) => "1/2-1/2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_written_as_in_a_tournament_book() {
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
