//! Upgrade of an account to a bot account.

use std::io;

use super::report::{Cause, Finding, Report};
use super::{FAILED, connect, owner, page, token_page};
use crate::config::Settings;
use crate::lichess::Error;
use crate::lichess::model::Username;
use crate::plural;

/// Why an account was not upgraded.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// The token, the account or the configuration is unsuitable.
    #[error("{0}")]
    Unsuitable(Finding),
    #[error("Lichess did not upgrade the account: {0}")]
    Lichess(#[from] Error),
    #[error("Nothing was changed: the answer was not {0}.")]
    NotConfirmed(Username),
    #[error("Nothing was changed: there is no terminal to ask on. --yes upgrades without asking.")]
    NoTerminal,
    #[error("the terminal cannot be read: {0}")]
    Terminal(#[from] io::Error),
}

impl UpgradeError {
    /// The exit code of the process: that of [`Report::exit_code`], else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unsuitable(finding) => Report {
                findings: vec![finding.clone()],
                ..Report::default()
            }
            .exit_code(),
            Self::Lichess(error) if error.is_unauthorized() => super::NOT_PERMITTED,
            _ => FAILED,
        }
    }
}

/// Upgrades the account of the token and returns a message for the user.
///
/// `ask` shows a warning and returns the answer, or `None` without a terminal; the latter suffices only with
/// `without_asking`.
///
/// # Errors
/// When the account cannot become a bot account, the answer was no, or Lichess refuses.
pub async fn upgrade(
    settings: &Settings,
    without_asking: bool,
    ask: impl FnOnce(&str) -> io::Result<Option<String>>,
) -> Result<String, UpgradeError> {
    let client = connect(settings).map_err(UpgradeError::Unsuitable)?;
    let unsuitable = |text: String, advice: String| {
        UpgradeError::Unsuitable(Finding::problem("account", Cause::Token, text).hint(advice))
    };
    let Some(owner) = owner(&client).await? else {
        return Err(unsuitable(
            "Lichess does not know the token".to_owned(),
            format!(
                "it was revoked or has expired; create one at {}",
                token_page(&settings.lichess)
            ),
        ));
    };
    let client = client.named(&owner.token.user);
    let name = &owner.user.username;
    if owner.user.is_bot() {
        return Ok(format!("{name} is already a bot account."));
    }
    if !owner.token.has("bot:play") {
        return Err(unsuitable(
            format!("the token of {name} lacks the scope bot:play"),
            format!("create another at {}", token_page(&settings.lichess)),
        ));
    }
    let new_account = "create a new account that has never played, and a token for it";
    let played = owner.games();
    if played > 0 {
        let games = plural::count(played, "game", "games");
        return Err(unsuitable(
            format!("{name} has played {games}, so it cannot become a bot account"),
            new_account.to_owned(),
        ));
    }
    let warning = format!(
        "{name} on {} becomes a bot account.\n\
         This cannot be undone. From then on it plays only through the Bot API: nobody can use it to play on the website,\n\
         neither in the lobby nor in tournaments for humans.",
        settings.lichess.address()
    );
    let question = format!("{warning}\nType the name of the account to continue.");
    match ask(if without_asking { &warning } else { &question })? {
        _ if without_asking => {}
        Some(answer) if Username::new(answer.trim()) == *name => {}
        Some(_) => return Err(UpgradeError::NotConfirmed(name.clone())),
        None => return Err(UpgradeError::NoTerminal),
    }
    match client.upgrade().await {
        Ok(()) => Ok(format!(
            "{name} is a bot account now. Give it a biography at {}, then: knightwatch check",
            page(&settings.lichess, &["account", "profile"])
        )),
        Err(Error::Status(refusal)) if refusal.code == 400 && refusal.by_lichess => {
            Err(unsuitable(
                format!("Lichess refused to upgrade {name}: {}", refusal.message),
                new_account.to_owned(),
            ))
        }
        Err(error) => Err(error.into()),
    }
}
