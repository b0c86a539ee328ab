//! Asking Lichess who we are.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tracing::warn;

use super::{BEAT, BotParts, Error, House};
use crate::bot::helm::Calls;
use crate::bot::stop::{Stage, Stop};
use crate::clock;
use crate::events;
use crate::lichess::retry::{self, Kind, Retry};

/// What the operator is told meanwhile.
const NOT_YET: &str = "Lichess has not told us yet who we are, so nothing is played; try again when the bot is online";

/// Asks Lichess who we are, as long as it takes. `None` when we are told to stop before it answers.
pub(super) async fn introduce(
    parts: &BotParts,
    stop: &mut Stop,
    calls: &mut Calls,
) -> Result<Option<House>, Error> {
    let mut attempt = 0;
    loop {
        let asked = tokio::select! {
            asked = parts.client.account() => asked,
            never = calls.turn_away(NOT_YET) => match never {},
            () = stop.reached(Stage::Draining) => return Ok(None),
        };
        let failure = match asked {
            Ok(user) if !parts.settings.is_called(user.username.as_str()) => {
                let wanted = parts.settings.name.clone().unwrap_or_default();
                let is = user.username;
                return Err(Error::SomebodyElse { wanted, is });
            }
            Ok(user) if !user.is_bot() => return Err(Error::NotABot(user.username)),
            Ok(user) => {
                return Ok(Some(House {
                    client: parts.client.named(&user.username),
                    engine: parts.engine.clone(),
                    books: parts.books.clone(),
                    settings: Arc::clone(&parts.settings),
                    events: parts.events.clone(),
                    me: user.username,
                    games: Arc::default(),
                    waiting: Arc::default(),
                    doubt: Arc::new(Notify::new()),
                    traces: parts.traces.clone(),
                    hall: parts.hall.clone(),
                }));
            }
            Err(failure) => failure,
        };
        if failure.is_unauthorized() {
            return Err(Error::TokenRejected(failure.to_string()));
        }
        let wait = match retry::decide(Kind::Query, &failure, attempt) {
            Retry::After(wait) => wait,
            Retry::GiveUp => Duration::from_secs(30),
        };
        attempt += 1;
        warn!("cannot ask Lichess who we are, again in {wait:.1?}: {failure}");
        parts.events.send(events::Event::Offline {
            reason: failure.to_string(),
            retry_in: Some(wait),
        });
        if keep_waiting(parts, stop, Stage::Draining, calls, wait, NOT_YET).await {
            return Ok(None);
        }
    }
}

/// Waits for so long, alive, while this is what the operator is told. Whether the stop has gone so far meanwhile.
pub(super) async fn keep_waiting(
    parts: &BotParts,
    stop: &mut Stop,
    stage: Stage,
    calls: &mut Calls,
    wait: Duration,
    words: &'static str,
) -> bool {
    let until = clock::now() + wait;
    while clock::now() < until {
        parts.pulse.beat();
        tokio::select! {
            () = clock::sleep(BEAT.min(wait)) => {}
            never = calls.turn_away(words) => match never {},
            () = stop.reached(stage) => return true,
        }
    }
    false
}
