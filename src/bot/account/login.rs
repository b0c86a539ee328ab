//! Asking Lichess who we are.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tracing::warn;

use super::{AccountContext, BEAT, BotParts, Error};
use crate::bot::commands::CommandReceiver;
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::clock;
use crate::events;
use crate::lichess::Error as Failure;
use crate::lichess::retry::{self, DEFAULT_RATE_LIMIT_WAIT, RequestKind, Retry};

/// Games may be on, and they are not played before Lichess has said who we are: the longest wait between two tries, unless
/// Lichess itself limits the question.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What the operator is told meanwhile.
const NOT_YET: &str = "Lichess has not told us yet who we are, so nothing is played; try again when the bot is online";

/// Asks Lichess who we are, as long as it takes. `None` when we are told to stop before it answers.
pub(super) async fn introduce(
    parts: &BotParts,
    stop: &mut ShutdownSignal,
    calls: &mut CommandReceiver,
) -> Result<Option<AccountContext>, Error> {
    let mut attempt = 0;
    loop {
        let asked = tokio::select! {
            asked = parts.client.account_past_pauses() => asked,
            never = calls.turn_away(NOT_YET) => match never {},
            () = stop.reached(Stage::Draining) => return Ok(None),
        };
        let failure = match asked {
            Ok(user) if !parts.settings.is_account_name(user.username.as_str()) => {
                let wanted = parts.settings.name.clone().unwrap_or_default();
                let is = user.username;
                return Err(Error::SomebodyElse { wanted, is });
            }
            Ok(user) if !user.is_bot() => {
                return Err(Error::NotABot {
                    games: user.count.map_or(0, |count| count.all),
                    account: user.username,
                });
            }
            Ok(user) => {
                return Ok(Some(AccountContext {
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
        let wait = wait_after(&failure, attempt);
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

/// How long to wait after a failure to ask, for the time number `attempt`, counted from 0.
fn wait_after(failure: &Failure, attempt: u32) -> Duration {
    let longest = match failure.lichess_error() {
        Some(refusal) if refusal.code == 429 => DEFAULT_RATE_LIMIT_WAIT,
        _ => LONGEST_WAIT,
    };
    match retry::decide(RequestKind::Query, failure, attempt) {
        Retry::After(wait) => wait.min(longest),
        Retry::GiveUp => longest,
    }
}

/// Waits for so long, alive, while this is what the operator is told. Whether the stop has gone so far meanwhile.
pub(super) async fn keep_waiting(
    parts: &BotParts,
    stop: &mut ShutdownSignal,
    stage: Stage,
    calls: &mut CommandReceiver,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::ErrorResponse;

    #[test]
    fn only_lichess_itself_makes_us_wait_for_long() {
        let status = |code, after, body: &str| {
            Failure::Status(ErrorResponse::read(code, after, body.as_bytes()))
        };
        let seconds = Duration::from_secs;
        let html = status(429, Some("86400"), "<html></html>");
        let json = status(429, None, r#"{"error":"Please don't poll this endpoint."}"#);
        let named = status(
            429,
            None,
            r#"{"error":"no","ratelimit":{"key":"x","seconds":86400}}"#,
        );
        for attempt in 0..20 {
            for failure in [
                &html,
                &status(401, None, "<html></html>"),
                &status(502, None, ""),
                &Failure::Timeout(seconds(10)),
                &Failure::Decode("a page".to_owned()),
            ] {
                let wait = wait_after(failure, attempt);
                assert!(wait <= LONGEST_WAIT, "{failure} {attempt}: {wait:?}");
            }
            assert_eq!(wait_after(&json, attempt), DEFAULT_RATE_LIMIT_WAIT);
            assert_eq!(wait_after(&named, attempt), DEFAULT_RATE_LIMIT_WAIT);
        }
    }
}
