//! Results of games that ended while the bot was not running.
//!
//! Once after the start, when Lichess has listed the running games, the other unfinished games of the records are
//! fetched one after the other. The stream of a finished game sends one line with its result.

use std::time::Duration;

use futures::StreamExt;
use tokio::task::spawn_blocking;
use tracing::{debug, info};

use super::Account;
use crate::bot::game;
use crate::bot::game::header::GameHeader;
use crate::bot::game::moves::GameMoves;
use crate::clock;
use crate::events::{Event, GameFinished};
use crate::lichess::model::{GameEvent, GameFull, GameId, GameState, Status, Username};
use crate::lichess::{Client, Error as Failure};

/// Pause between requests: nothing waits for the answers.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// Time for the stream to open, and for its silence.
const STREAM_TIMEOUT: Duration = Duration::from_secs(10);

impl Account {
    /// Reads the unfinished games from the records.
    pub(super) fn load_unfinished_games(&mut self) {
        let Some(unfinished) = self.games.unfinished.take() else {
            return;
        };
        let me = self.ctx.me.to_string();
        let request = async move { spawn_blocking(move || unfinished(&me)).await };
        self.background.spawn(request, |account, ids| {
            account.fetch_missed_results(&ids.unwrap_or_default());
        });
    }

    /// Fetches and publishes the results of unfinished games that are not running.
    fn fetch_missed_results(&mut self, unfinished: &[String]) {
        let missed: Vec<GameId> = unfinished
            .iter()
            .filter_map(|id| id.parse().ok())
            .filter(|id| !self.games.is_known(id))
            .collect();
        let (client, events) = (self.ctx.client.clone(), self.ctx.events.clone());
        let me = self.ctx.me.clone();
        let request = async move {
            for id in missed {
                if let Some(end) = fetch_result(&client, &me, &id).await {
                    let end = GameFinished {
                        observed: false,
                        ..end
                    };
                    info!(game = %id, "ended while we were away: {} ({})", end.result, end.reason(None));
                    events.send(Event::GameFinished(end));
                }
                clock::sleep(REQUEST_INTERVAL).await;
            }
        };
        self.background.spawn(request, |_, ()| {});
    }
}

/// Fetches the result of a game; `None` if it is running or Lichess does not show it. Lichess deletes games without
/// moves after a day.
async fn fetch_result(client: &Client, me: &Username, id: &GameId) -> Option<GameFinished> {
    match fetch_game(client, id).await {
        Ok(Some(full)) if full.state.status.is_over() => {
            let moves = moves_of(&full, me);
            let our_color = full.color_of(me);
            let GameState { status, winner, .. } = full.state;
            Some(game::game_finished(id, our_color, status, winner, moves))
        }
        Ok(Some(_)) => None,
        Ok(None) => {
            let unknown = Status::UnknownFinish;
            Some(game::game_finished(id, None, unknown, None, String::new()))
        }
        Err(failure) => {
            debug!(game = %id, "cannot read the result: {failure}");
            None
        }
    }
}

/// Reads a game from its stream; `None` if Lichess does not know it.
pub(super) async fn fetch_game(
    client: &Client,
    id: &GameId,
) -> Result<Option<Box<GameFull>>, Failure> {
    let late = Failure::Timeout(STREAM_TIMEOUT);
    let opened = clock::timeout(STREAM_TIMEOUT, client.game(id, STREAM_TIMEOUT)).await;
    let mut stream = match opened.unwrap_or(Err(late.clone())) {
        Ok(stream) => stream,
        Err(failure) if failure.is_not_found() => return Ok(None),
        Err(failure) => return Err(failure),
    };
    match stream.next().await {
        Some(Ok(GameEvent::Full(full))) => Ok(Some(full)),
        Some(Ok(_)) => Err(Failure::Decode(
            "the stream of a game does not begin with the game".to_owned(),
        )),
        Some(Err(error)) => Err(error.into()),
        None => Err(Failure::Decode("the stream of a game is empty".to_owned())),
    }
}

/// Moves in the notation that the bot uses while a game is running, so that the records match them.
fn moves_of(full: &GameFull, me: &Username) -> String {
    let moves = &full.state.moves;
    let spelled = GameHeader::read(full, me, None).ok().and_then(|head| {
        let mut sheet = GameMoves::new(head.initial);
        sheet.update(moves).ok()?;
        Some(sheet.uci(head.castling))
    });
    spelled.unwrap_or_else(|| moves.clone())
}
