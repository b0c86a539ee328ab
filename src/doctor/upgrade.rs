//! Turns an account into a bot account.

use std::io;

use super::report::{Fault, Finding, Report};
use super::{FAILED, connect, owner, page, token_page};
use crate::config::Settings;
use crate::lichess::Error;
use crate::lichess::model::Username;
use crate::plural;

/// Why an account was not upgraded.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// The token, the account or the configuration will not do.
    #[error("{0}")]
    Unfit(Finding),
    #[error("Lichess did not upgrade the account: {0}")]
    Lichess(#[from] Error),
    #[error("Nothing was changed: the answer was not {0}.")]
    NotConfirmed(Username),
    #[error(
        "Nothing was changed: there is no terminal to ask on. With --yes it is done without asking."
    )]
    Unasked,
    #[error("the terminal cannot be read: {0}")]
    Terminal(#[from] io::Error),
}

impl UpgradeError {
    /// What the process ends with: as [`Report::exit_code`], and 1 for all that is no finding.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unfit(finding) => Report {
                findings: vec![finding.clone()],
                ..Report::default()
            }
            .exit_code(),
            Self::Lichess(error) if error.is_unauthorized() => super::NOT_PERMITTED,
            _ => FAILED,
        }
    }
}

/// Upgrades the account of the token. `ask` shows a warning and gives the answer, or none when there is nobody to ask,
/// which is enough only when it is to be done `without_asking`. Gives what to say when it is done.
///
/// # Errors
/// When the account cannot become a bot account, the answer was no, or Lichess refuses.
pub async fn upgrade(
    settings: &Settings,
    without_asking: bool,
    ask: impl FnOnce(&str) -> io::Result<Option<String>>,
) -> Result<String, UpgradeError> {
    let client = connect(settings).map_err(UpgradeError::Unfit)?;
    let unfit = |text: String, advice: String| {
        UpgradeError::Unfit(Finding::bad("account", Fault::Token, text).advice(advice))
    };
    let Some(owner) = owner(&client).await? else {
        return Err(unfit(
            "Lichess does not know the token".to_owned(),
            format!(
                "it was revoked or has ended; make one at {}",
                token_page(&settings.lichess)
            ),
        ));
    };
    let client = client.named(&owner.token.user);
    let name = &owner.user.username;
    if owner.user.is_bot() {
        return Ok(format!("{name} is a bot account already."));
    }
    if !owner.token.has("bot:play") {
        return Err(unfit(
            format!("the token of {name} lacks the scope bot:play"),
            format!("make another at {}", token_page(&settings.lichess)),
        ));
    }
    let new_account = "make a new account that has never played, and a token for it";
    let played = owner.games();
    if played > 0 {
        let games = plural::count(played, "game", "games");
        return Err(unfit(
            format!("{name} has played {games}, so it cannot become a bot account"),
            new_account.to_owned(),
        ));
    }
    let warning = format!(
        "{name} on {} becomes a bot account.\n\
         This cannot be undone. From then on it plays through the bot interface alone: nobody can play on the website\n\
         with it, neither in the lobby nor in tournaments for humans.",
        settings.lichess.address()
    );
    let question = format!("{warning}\nType the account's name to go on.");
    match ask(if without_asking { &warning } else { &question })? {
        _ if without_asking => {}
        Some(answer) if Username::new(answer.trim()) == *name => {}
        Some(_) => return Err(UpgradeError::NotConfirmed(name.clone())),
        None => return Err(UpgradeError::Unasked),
    }
    match client.upgrade().await {
        Ok(()) => Ok(format!(
            "{name} is a bot account now. Give it a biography at {}, then: knightwatch check",
            page(&settings.lichess, &["account", "profile"])
        )),
        Err(Error::Status(refusal)) if refusal.code == 400 && refusal.by_lichess => Err(unfit(
            format!("Lichess says no to {name}: {}", refusal.message),
            new_account.to_owned(),
        )),
        Err(error) => Err(error.into()),
    }
}
