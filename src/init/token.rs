//! Questions about the token, and its test against Lichess.

use std::io;
use std::path::Path;

use super::files::{self, NewFile};
use super::{Init, Plan};
use crate::check::{self, Owner, SCOPES};
use crate::config::Lichess;
use crate::credentials::readable_by_others;
use crate::lichess::{Client, Token};

/// The chosen token.
pub(super) enum TokenChoice {
    Later,
    /// The token in the existing file.
    Kept(Option<Owner>),
    New(String, Option<Owner>),
}

impl Plan {
    /// Plans the token file. Sets what is known about the token.
    pub(super) fn take_token(&mut self, choice: TokenChoice, file: &Path) {
        self.has_token = !matches!(choice, TokenChoice::Later);
        if matches!(choice, TokenChoice::Kept(_)) && readable_by_others(file).is_some() {
            self.open_token = Some(file.to_owned());
        }
        self.owner = match choice {
            TokenChoice::Later => None,
            TokenChoice::Kept(owner) => owner,
            TokenChoice::New(token, owner) => {
                self.files.push(NewFile {
                    path: file.to_owned(),
                    text: format!("{token}\n").into(),
                    mode: 0o600,
                });
                owner
            }
        };
    }
}

/// Result of the test of a token.
enum TokenTest {
    Accepted(Box<Option<Owner>>),
    Rejected,
}

impl Init {
    /// Asks for a token until Lichess accepts it, or the user accepts it untested.
    pub(super) fn ask_token(&self, server: &Lichess, file: &Path) -> anyhow::Result<TokenChoice> {
        let prompt = &self.prompt;
        files::test_write(file)?;
        prompt.print(format_args!(
            "Create a token here, logged in as the bot; its scopes are already ticked:\n  {}",
            check::token_page(server)
        ))?;
        let mut question = "The token (Enter to do it later): ";
        if file.exists() {
            let replace = format!("{} exists. Replace the token in it?", file.display());
            if !prompt.yes(replace, false)? {
                question = "Another token, which replaces it (Enter to keep it): ";
                match Token::from_file(file) {
                    Ok(token) => {
                        if let TokenTest::Accepted(owner) = self.test_token(server, token)? {
                            return Ok(TokenChoice::Kept(*owner));
                        }
                    }
                    Err(error) => prompt.print(format_args!("  {error}"))?,
                }
            }
        }
        loop {
            let text = prompt.secret(question)?;
            if text.is_empty() {
                return Ok(match file.exists() {
                    true => TokenChoice::Kept(None),
                    false => TokenChoice::Later,
                });
            }
            match text.parse::<Token>() {
                Ok(token) => {
                    let length = text.len();
                    prompt.print(format_args!("  token received ({length} characters)"))?;
                    if let TokenTest::Accepted(owner) = self.test_token(server, token)? {
                        return Ok(TokenChoice::New(text, *owner));
                    }
                }
                Err(why) => prompt.print(format_args!("  what was received {why}"))?,
            }
        }
    }

    /// Tests a token against Lichess and prints the result.
    fn test_token(&self, server: &Lichess, token: Token) -> anyhow::Result<TokenTest> {
        let prompt = &self.prompt;
        let owner = match identify(server, token) {
            Ok(Some(owner)) => owner,
            Ok(None) => {
                prompt.print("  Lichess does not know this token: it was revoked, has expired, or is incomplete")?;
                return Ok(TokenTest::Rejected);
            }
            Err(error) => {
                prompt.print(format_args!("  It cannot be tested: {error}"))?;
                return Ok(match prompt.yes("Continue without a test?", false)? {
                    true => TokenTest::Accepted(Box::new(None)),
                    false => TokenTest::Rejected,
                });
            }
        };
        self.print_owner(&owner)?;
        let token_problems = token_problems(&owner);
        for problem in &token_problems {
            prompt.print(format_args!("  problem: {problem}"))?;
        }
        let is_taken = token_problems.is_empty() || prompt.yes("Use this token anyway?", false)?;
        Ok(match is_taken {
            true => TokenTest::Accepted(Box::new(Some(owner))),
            false => TokenTest::Rejected,
        })
    }

    pub(super) fn print_owner(&self, owner: &Owner) -> io::Result<()> {
        let kind = match owner.user.is_bot() {
            true => "a bot account",
            false => "not a bot account yet",
        };
        let (name, played) = (&owner.user.username, games(owner.games()));
        self.prompt
            .print(format_args!("  This is {name}: {kind}, {played} played"))
    }
}

/// Requests the owner of a token; `None` if Lichess does not know it.
pub(super) fn identify(server: &Lichess, token: Token) -> anyhow::Result<Option<Owner>> {
    let client = Client::new(&server.endpoint()?, token, None)?;
    match check::runtime()?.block_on(check::owner(&client)) {
        Err(error) if error.is_unauthorized() => Ok(None),
        owner => Ok(owner?),
    }
}

/// Problems of the token and its account, a sentence each.
fn token_problems(owner: &Owner) -> Vec<String> {
    let name = &owner.user.username;
    let missing: Vec<&str> = SCOPES
        .into_iter()
        .filter(|scope| !owner.token.has(scope))
        .collect();
    let mut token_problems = Vec::new();
    if owner.user.disabled {
        token_problems.push(format!("{name} is closed"));
    }
    if !owner.user.is_bot() && owner.games() > 0 {
        token_problems.push(format!(
            "{name} has played {}, so Lichess will not make it a bot account: create a new account that never plays, and \
             a token for it",
            games(owner.games())
        ));
    }
    match &missing[..] {
        [] => {}
        [one] => token_problems.push(format!("the token lacks the scope {one}")),
        more => token_problems.push(format!("the token lacks the scopes {}", more.join(", "))),
    }
    token_problems
}

pub(super) fn can_become_a_bot(owner: &Owner) -> bool {
    !owner.user.is_bot()
        && !owner.user.disabled
        && owner.games() == 0
        && owner.token.has("bot:play")
}

fn games(number: u64) -> String {
    match number {
        0 => "no games".to_owned(),
        1 => "one game".to_owned(),
        more => format!("{more} games"),
    }
}
