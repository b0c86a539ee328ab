//! Login: which account the token belongs to.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tracing::warn;

use super::connection::Rejection;
use super::{AccountContext, BotParts, Error, HEARTBEAT_INTERVAL};
use crate::bot::commands::CommandReceiver;
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::clock;
use crate::events;
use crate::lichess::Error as Failure;
use crate::lichess::retry::{self, DEFAULT_RATE_LIMIT_WAIT, RequestKind, Retry};

/// Longest wait between two attempts, unless Lichess itself limits the request: games may be running.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(5);

/// Response to commands before the login.
const NOT_LOGGED_IN: &str =
    "the bot is not logged in yet, so no games are played; try again when it is online";

/// Requests our account until Lichess answers. `None` if shutdown begins before.
pub(super) async fn login(
    parts: &BotParts,
    shutdown: &mut ShutdownSignal,
    commands: &mut CommandReceiver,
) -> Result<Option<AccountContext>, Error> {
    let mut attempt = 0;
    let mut rejection = Rejection::default();
    loop {
        let response = tokio::select! {
            response = parts.client.account_past_pauses() => response,
            never = commands.reject_all(NOT_LOGGED_IN) => match never {},
            () = shutdown.reached(Stage::Draining) => return Ok(None),
        };
        let failure = match response {
            Ok(user) if !parts.settings.is_account_name(user.username.as_str()) => {
                let wanted = parts.settings.name.clone().unwrap_or_default();
                let actual = user.username;
                return Err(Error::WrongAccount { wanted, actual });
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
                    externals: parts.externals.clone(),
                    books: parts.books.clone(),
                    settings: Arc::clone(&parts.settings),
                    events: parts.events.clone(),
                    me: user.username,
                    running_games: Arc::default(),
                    queued_challenges: Arc::default(),
                    token_check: Arc::new(Notify::new()),
                    traces: parts.traces.clone(),
                    shared_load: parts.shared_load.clone(),
                    unlimited_bot_games: parts.unlimited_bot_games,
                    shutdown: shutdown.clone(),
                }));
            }
            Err(failure) => failure,
        };
        let wait = retry_wait(&failure, attempt);
        attempt += 1;
        if failure.is_unauthorized() {
            let left = rejection.on_rejected(&failure)?;
            warn!(
                "Lichess rejects the token; this account stops in about {left:.0?} unless it is accepted again: {failure}"
            );
        } else {
            rejection.clear();
            warn!("cannot read our account; next attempt in {wait:.1?}: {failure}");
        }
        parts.events.send(events::Event::Offline {
            reason: failure.to_string(),
            retry_in: Some(wait),
        });
        let until = (Stage::Draining, NOT_LOGGED_IN);
        if wait_rejecting(parts, shutdown, commands, wait, until).await {
            return Ok(None);
        }
    }
}

/// Wait after failure number `attempt`, counted from 0.
fn retry_wait(failure: &Failure, attempt: u32) -> Duration {
    let max = match failure.lichess_error() {
        Some(refusal) if refusal.code == 429 => DEFAULT_RATE_LIMIT_WAIT,
        _ => MAX_RETRY_WAIT,
    };
    match retry::decide(RequestKind::Query, failure, attempt) {
        Retry::After(wait) => wait.min(max),
        Retry::GiveUp => max,
    }
}

/// Waits, while heartbeats continue and commands are rejected with `reason`. Whether shutdown has reached the stage.
pub(super) async fn wait_rejecting(
    parts: &BotParts,
    shutdown: &mut ShutdownSignal,
    commands: &mut CommandReceiver,
    wait: Duration,
    (stage, reason): (Stage, &'static str),
) -> bool {
    let until = clock::now() + wait;
    while clock::now() < until {
        parts.metrics.heartbeat();
        tokio::select! {
            () = clock::sleep(HEARTBEAT_INTERVAL.min(wait)) => {}
            never = commands.reject_all(reason) => match never {},
            () = shutdown.reached(stage) => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::ErrorResponse;

    #[test]
    fn login_waits_long_only_for_lichess_limit() {
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
                let wait = retry_wait(failure, attempt);
                assert!(wait <= MAX_RETRY_WAIT, "{failure} {attempt}: {wait:?}");
            }
            assert_eq!(retry_wait(&json, attempt), DEFAULT_RATE_LIMIT_WAIT);
            assert_eq!(retry_wait(&named, attempt), DEFAULT_RATE_LIMIT_WAIT);
        }
    }
}
