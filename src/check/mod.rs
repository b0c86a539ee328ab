//! `knightwatch check` and `knightwatch upgrade`.

mod checks;
mod machine;
mod report;
mod sandbox;
mod upgrade;

#[cfg(test)]
mod tests;

pub use checks::check;
pub use report::{Cause, Finding, Report, Severity};
pub(crate) use sandbox::is_hidden;
pub use upgrade::{UpgradeError, upgrade};

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use crate::config::{Lichess, SERVICE_TOKEN, Settings};
use crate::credentials::is_unresolved;
use crate::lichess::model::{TokenInfo, User};
use crate::lichess::{Client, Error, TokenError};

/// Everything is ready.
const READY: u8 = 0;
/// Lichess cannot be reached or refused the request.
const FAILED: u8 = 1;
/// The token is invalid or lacks a scope, or the account is not a bot account.
const NOT_PERMITTED: u8 = 77;
/// The configuration cannot be used.
const MISCONFIGURED: u8 = 78;

/// Runs `knightwatch check`: prints the report and returns the exit code.
///
/// # Errors
/// When stdout cannot be written to, or the runtime cannot be started.
pub fn check_command(settings: &Settings) -> anyhow::Result<ExitCode> {
    let report = runtime()?.block_on(check(settings));
    writeln!(io::stdout(), "{report}")?;
    Ok(ExitCode::from(report.exit_code()))
}

/// Runs `knightwatch upgrade`: asks for confirmation unless `without_asking`, and makes the account a bot account.
///
/// # Errors
/// When stdout cannot be written to, or the runtime cannot be started.
pub fn upgrade_command(settings: &Settings, without_asking: bool) -> anyhow::Result<ExitCode> {
    let ask = |warning: &str| -> io::Result<Option<String>> {
        println!("{warning}");
        if without_asking || !io::stdin().is_terminal() {
            return Ok(None);
        }
        print!("> ");
        io::stdout().flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(Some(answer))
    };
    match runtime()?.block_on(upgrade(settings, without_asking, ask)) {
        Ok(done) => {
            writeln!(io::stdout(), "{done}")?;
            Ok(ExitCode::from(READY))
        }
        Err(error) => {
            writeln!(io::stderr(), "{error}")?;
            Ok(ExitCode::from(error.exit_code()))
        }
    }
}

/// The runtime of commands that send requests to Lichess.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Scopes that the token needs.
pub(crate) const SCOPES: [&str; 3] = ["bot:play", "challenge:read", "challenge:write"];

/// URL of a page of the server, such as `["account", "profile"]`.
pub(crate) fn page(server: &Lichess, path: &[&str]) -> String {
    format!("{}/{}", server.address(), path.join("/"))
}

/// URL of the page that creates a token, with the scopes ticked.
pub(crate) fn token_page(server: &Lichess) -> String {
    let scopes = SCOPES.map(|scope| format!("scopes[]={scope}&")).concat();
    let page = page(server, &["account", "oauth", "token", "create"]);
    format!("{page}?{scopes}description=Knightwatch")
}

/// The owner of a token.
pub(crate) struct Owner {
    pub token: TokenInfo,
    pub user: User,
}

impl Owner {
    /// Number of games that the account has played.
    pub(crate) fn games(&self) -> u64 {
        self.user.count.map_or(0, |count| count.all)
    }
}

/// Requests the owner of the token of the client; `None` if Lichess does not know the token.
pub(crate) async fn owner(client: &Client) -> Result<Option<Owner>, Error> {
    let Some(token) = client.token_test().await? else {
        return Ok(None);
    };
    let user = client.named(&token.user).account().await?;
    Ok(Some(Owner { token, user }))
}

/// Creates a client with the token of these settings.
fn connect(settings: &Settings) -> Result<Client, Finding> {
    let no_token = |text: String, advice: String| {
        Finding::problem("token", Cause::Configuration, text).hint(advice)
    };
    let Some(source) = &settings.token else {
        return Err(no_token(
            "there is none".to_owned(),
            format!(
                "knightwatch init asks for it. Or create one at {} and put it into a file that lichess.token_file names, or into \
                 LICHESS_TOKEN; the service finds {SERVICE_TOKEN} and any systemd credential called token by itself",
                token_page(&settings.lichess)
            ),
        ));
    };
    let token = source.read().map_err(|error| match &error {
        // The message says what to do, and the token may be valid.
        TokenError::NotAName | TokenError::NoName => {
            Finding::problem("token", Cause::Configuration, error.to_string())
        }
        TokenError::Unreadable { path, .. } if is_unresolved(path) => {
            Finding::problem("token", Cause::Configuration, error.to_string())
        }
        TokenError::Unreadable { path, .. } if path.try_exists().unwrap_or(true) => no_token(
            error.to_string(),
            "it must be a file that the user of the bot may read: see its owner and mode, and those of its directories"
                .to_owned(),
        ),
        _ => no_token(
            error.to_string(),
            format!("create one at {}", token_page(&settings.lichess)),
        ),
    })?;
    let bad = |text: String| Finding::problem("configuration", Cause::Configuration, text);
    let endpoint = settings
        .lichess
        .endpoint()
        .map_err(|error| bad(error.to_string()))?;
    Client::new(&endpoint, token, None).map_err(|error| bad(error.to_string()))
}
