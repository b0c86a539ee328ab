//! Another instance on this machine that plays the same account.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::Error;
use crate::bot::{self, BotParts, FindOtherProcess};
use crate::clock;
use crate::config::Settings;
use crate::control;
use crate::lichess::model::Username;
use crate::metrics::Status;

/// Time limit for the account lookup at startup while another instance runs on this machine.
const ACCOUNT_LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Statuses of the other processes on this machine, by their control sockets.
fn other_statuses(socket: Option<&Path>) -> Vec<Status> {
    let mut statuses = control::running_statuses(socket);
    statuses.retain(|status| status.pid != std::process::id());
    statuses
}

/// Returns a function that finds the other process on this machine that plays an account, by its control socket.
pub(super) fn find_other_process(settings: &Settings) -> FindOtherProcess {
    let socket = settings.daemon.socket.clone();
    let server = settings.lichess.url.to_string();
    Arc::new(move |account| {
        let others = other_statuses(socket.as_deref());
        let mut playing = others.iter();
        let same = playing.find(|status| status.has_account(account.as_str(), &server));
        same.map(|status| status.pid)
    })
}

/// Fails if another process on this machine already plays all accounts, before the addresses of the page and the socket are
/// found in use. If the owner of a token cannot be determined now, the account repeats this check after login.
pub(super) async fn refuse_second_instance(
    parts: &[BotParts],
    settings: &Settings,
) -> Result<(), Error> {
    let server = settings.lichess.url.to_string();
    let socket = settings.daemon.socket.clone();
    let others = spawn_blocking(move || other_statuses(socket.as_deref())).await?;
    if others.is_empty() {
        return Ok(());
    }
    let mut second = None;
    for part in parts {
        let account = match &part.settings.name {
            Some(name) => Username::new(name),
            None => match clock::timeout(ACCOUNT_LOOKUP_TIMEOUT, part.client.account()).await {
                Ok(Ok(user)) => user.username,
                _ => return Ok(()),
            },
        };
        let mut playing = others.iter();
        let Some(other) = playing.find(|status| status.has_account(account.as_str(), &server))
        else {
            return Ok(());
        };
        let pid = other.pid;
        second.get_or_insert(bot::Error::AlreadyRunning { account, pid });
    }
    second.map_or(Ok(()), |second| Err(second.into()))
}
