//! The lives of an account: one, as a rule. Where its loop fails as it never should, a new one begins, as after a crash
//! of the program: what was kept is read again, and the games that are on are taken up again.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio::task::spawn_blocking;
use tracing::{error, info};

use super::{Account, LEAVE_WITHIN};
use crate::bot::account::login::{introduce, keep_waiting};
use crate::bot::account::state_files::PersistedState;
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::bot::{AccountContext, BotParts, Error};
use crate::clock;
use crate::events::{Event, Severity};
use crate::lichess::model::{GameId, Username};
use crate::plural;

/// The next life begins after this; when the one before was short too, after twice this, ...
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// ... and after this at most: games are on.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A life that has lasted so long was none of a row of short ones.
const LONG: Duration = Duration::from_secs(600);

/// The most games that are named in a line of the log.
const NAMED: usize = 10;

/// What the operator is told meanwhile.
const NOT_NOW: &str =
    "the account's loop has failed and is about to begin anew; the log says why; try again then";

/// Follows the account until the stop has come to its end.
pub(in crate::bot) async fn run(
    mut parts: BotParts,
    mut stop: ShutdownSignal,
) -> Result<(), Error> {
    let mut calls = std::mem::take(&mut parts.calls);
    let Some(house) = introduce(&parts, &mut stop, &mut calls).await? else {
        info!("stopped before Lichess has said who we are: no game was taken up");
        return Ok(());
    };
    if let Some(pid) = played_by(&parts, &house.me).await {
        let account = house.me;
        return Err(Error::RunsAlready { account, pid });
    }
    parts.name_files(&house.me);
    let mut books = PersistedState::open(parts.ledger.as_deref());
    for (kind, wait) in books.quota.pauses(clock::date()) {
        info!("no {kind} requests for another {wait:.0?}, as Lichess asked before we were started");
        parts.client.pause(kind, wait);
    }
    let (mut short_lives, mut heard) = (0, 0);
    loop {
        let born = clock::now();
        // What it counts is its own.
        let house = AccountContext {
            games: Arc::default(),
            waiting: Arc::default(),
            ..house.clone()
        };
        let mut account = Account::new(house, &parts, books, stop.clone());
        account.again = short_lives > 0;
        account.challenges_heard = heard;
        let life = AssertUnwindSafe(account.follow(&mut stop, &mut calls));
        let lived = life.catch_unwind().await;
        // Without the token, or beside another instance, nothing can be finished.
        let patience = match &lived {
            Ok(Ok(())) => LEAVE_WITHIN,
            _ => Duration::ZERO,
        };
        let left = account.leave(patience).await;
        account.vacate();
        let failure = match lived {
            Ok(Ok(())) => {
                tell_stopped(&left);
                return Ok(());
            }
            Ok(outcome) => return outcome,
            Err(panic) => words(&*panic),
        };
        // By these, and not by those of the start.
        parts.settings = account.office.as_written();
        parts.rehearsed_failure = None;
        heard = account.challenges_heard;
        drop(account);
        short_lives = after(short_lives, born);
        let wait = pause(short_lives);
        tell(&parts, &failure, wait);
        if keep_waiting(&parts, &mut stop, Stage::Leaving, &mut calls, wait, NOT_NOW).await {
            return Ok(());
        }
        books = PersistedState::open(parts.ledger.as_deref());
    }
}

/// The last line of an account that was told to stop.
fn tell_stopped(left: &[GameId]) {
    if left.is_empty() {
        return info!("stopped: no game is left");
    }
    let games = plural::count(left.len(), "game", "games");
    let named: Vec<&str> = left.iter().take(NAMED).map(GameId::as_str).collect();
    let more = match left.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    info!(
        "stopped: {games} left on, taken up again at the next start: {}{more}",
        named.join(", ")
    );
}

/// The other process of this machine that plays this account. Its event stream would be closed by ours.
async fn played_by(parts: &BotParts, me: &Username) -> Option<u32> {
    let (elsewhere, me) = (parts.elsewhere.clone()?, me.clone());
    spawn_blocking(move || elsewhere(&me)).await.ok().flatten()
}

/// How many short lives there were in a row, when one that began then has failed.
fn after(short_lives: u32, born: Instant) -> u32 {
    if clock::since(born) < LONG {
        short_lives.saturating_add(1)
    } else {
        1
    }
}

fn pause(short_lives: u32) -> Duration {
    let doublings = short_lives.saturating_sub(1).min(16);
    (FIRST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE)
}

fn tell(parts: &BotParts, failure: &str, wait: Duration) {
    error!(
        "the account's loop has failed, it begins anew in {wait:.0?} and takes its games up again: {failure}"
    );
    parts.pulse.set(|status| {
        status.online = false;
        status.games = 0;
    });
    parts.events.send(Event::Note {
        severity: Severity::Error,
        game: None,
        text: "an error of ours; the account begins anew".to_owned(),
    });
    parts.events.send(Event::Offline {
        reason: "an error of ours".to_owned(),
        retry_in: Some(wait),
    });
}

/// What was said when it failed.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a word".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_have_an_end() {
        let seconds = |lives| pause(lives).as_secs();
        assert_eq!([1, 2, 3, 7, u32::MAX].map(seconds), [1, 2, 4, 60, 60]);
    }

    #[test]
    fn what_was_said_is_told() {
        for (panic, said) in [
            (Box::new("plain") as Box<dyn Any + Send>, "plain"),
            (Box::new("made".to_owned()), "made"),
            (Box::new(7), "without a word"),
        ] {
            assert_eq!(words(&*panic), said);
        }
    }
}
