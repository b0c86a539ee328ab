//! Games of which the records have no end, since it came while we were not there to see it.
//!
//! Once after the start, when Lichess has listed the games that are on, the others are looked at one after the other: of a game
//! that is over its stream sends one line, which tells how it ended.

use std::time::Duration;

use futures::StreamExt;
use tracing::{debug, info};

use super::Account;
use crate::bot::account::background::TaskResult;
use crate::bot::game;
use crate::bot::game::header::GameHeader;
use crate::bot::game::moves::GameMoves;
use crate::clock;
use crate::events::{Event, GameFinished};
use crate::lichess::Client;
use crate::lichess::model::{GameEvent, GameFull, GameId, GameState, Status, Username};

/// Between two of them: nothing waits for the answers.
const APART: Duration = Duration::from_secs(1);

/// Lichess gets this long for the one line.
const PATIENCE: Duration = Duration::from_secs(10);

impl Account {
    /// Asks the records for games without an end.
    pub(super) fn ask_records(&mut self) {
        let Some(left_open) = self.left_open.take() else {
            return;
        };
        let me = self.house.me.to_string();
        self.errands.spawn(async move {
            let asked = tokio::task::spawn_blocking(move || left_open(&me)).await;
            TaskResult::UnfinishedGames(asked.unwrap_or_default())
        });
    }

    /// Finds out how those ended that are not on, and tells of it.
    pub(super) fn settle(&mut self, left_open: &[String]) {
        let gone: Vec<GameId> = left_open
            .iter()
            .filter_map(|id| id.parse().ok())
            .filter(|id| !self.knows_game(id))
            .collect();
        let (client, events) = (self.house.client.clone(), self.house.events.clone());
        let me = self.house.me.clone();
        self.errands.spawn(async move {
            for id in gone {
                if let Some(end) = end_of(&client, &me, &id).await {
                    info!(game = %id, "ended while we were away: {} ({})", end.result, end.reason(None));
                    events.send(Event::GameFinished(end));
                }
                clock::sleep(APART).await;
            }
            TaskResult::Nothing
        });
    }
}

/// How a game ended; nothing of one that is on, or that Lichess does not show us. Of one in which nobody has moved Lichess
/// knows nothing after a day.
async fn end_of(client: &Client, me: &Username, id: &GameId) -> Option<GameFinished> {
    let opened = clock::timeout(PATIENCE, client.game(id, PATIENCE)).await;
    let mut stream = match opened.ok()? {
        Ok(stream) => stream,
        Err(failure) => {
            debug!(game = %id, "cannot look how it ended: {failure}");
            let is_gone = failure.word().is_some_and(|refusal| refusal.code == 404);
            return is_gone
                .then(|| game::game_finished(id, Status::UnknownFinish, None, String::new()));
        }
    };
    match stream.next().await {
        Some(Ok(GameEvent::Full(full))) if full.state.status.is_over() => {
            let moves = moves_of(&full, me);
            let GameState { status, winner, .. } = full.state;
            Some(game::game_finished(id, status, winner, moves))
        }
        _ => None,
    }
}

/// Its moves, spelled as we spell them while a game is on, so that the records know them again.
fn moves_of(full: &GameFull, me: &Username) -> String {
    let moves = &full.state.moves;
    let spelled = GameHeader::read(full, me, None).ok().and_then(|head| {
        let mut sheet = GameMoves::new(head.initial);
        sheet.update(moves).ok()?;
        Some(sheet.uci(head.castling))
    });
    spelled.unwrap_or_else(|| moves.clone())
}
