//! The questions about the token, and what Lichess says about it.

use std::io;
use std::path::Path;

use super::Init;
use crate::config::Lichess;
use crate::doctor::{self, Owner, SCOPES};
use crate::lichess::{Client, Token};

/// The token that was chosen.
pub(super) enum Choice {
    Later,
    /// That of the file.
    Kept(Option<Owner>),
    New(String, Option<Owner>),
}

/// What came of trying a token.
enum Trial {
    Taken(Option<Owner>),
    Refused,
}

impl Init {
    /// A token that Lichess knows, or that is wanted although it cannot be asked.
    pub(super) fn ask_token(&self, server: &Lichess, file: &Path) -> anyhow::Result<Choice> {
        let talk = &self.talk;
        let mut question = "The token (Enter to do it later): ";
        if file.exists() {
            let replace = format!("{} exists. Replace the token in it?", file.display());
            if !talk.yes(replace, false)? {
                question = "Another token, which replaces it (Enter to keep it): ";
                match Token::from_file(file) {
                    Ok(token) => {
                        if let Trial::Taken(owner) = self.try_token(server, token)? {
                            return Ok(Choice::Kept(owner));
                        }
                    }
                    Err(error) => talk.say(format_args!("  {error}"))?,
                }
            }
        }
        loop {
            let text = talk.secret(question)?;
            if text.is_empty() {
                return Ok(match file.exists() {
                    true => Choice::Kept(None),
                    false => Choice::Later,
                });
            }
            match text.parse::<Token>() {
                Ok(token) => {
                    let length = text.len();
                    talk.say(format_args!("  token received ({length} characters)"))?;
                    if let Trial::Taken(owner) = self.try_token(server, token)? {
                        return Ok(Choice::New(text, owner));
                    }
                }
                Err(why) => talk.say(format_args!("  what was received {why}"))?,
            }
        }
    }

    /// Asks Lichess about a token and says what it answers.
    fn try_token(&self, server: &Lichess, token: Token) -> anyhow::Result<Trial> {
        let talk = &self.talk;
        let owner = match identify(server, token) {
            Ok(Some(owner)) => owner,
            Ok(None) => {
                talk.say("  Lichess does not know this token: it was revoked, has ended, or is not complete")?;
                return Ok(Trial::Refused);
            }
            Err(error) => {
                talk.say(format_args!("  It cannot be tried: {error}"))?;
                return Ok(match talk.yes("Go on without that?", false)? {
                    true => Trial::Taken(None),
                    false => Trial::Refused,
                });
            }
        };
        self.introduce(&owner)?;
        let concerns = concerns(&owner);
        for concern in &concerns {
            talk.say(format_args!("  problem: {concern}"))?;
        }
        let is_taken = concerns.is_empty() || talk.yes("Use this token all the same?", false)?;
        Ok(match is_taken {
            true => Trial::Taken(Some(owner)),
            false => Trial::Refused,
        })
    }

    pub(super) fn introduce(&self, owner: &Owner) -> io::Result<()> {
        let kind = match owner.user.is_bot() {
            true => "a bot account",
            false => "not a bot account yet",
        };
        let (name, played) = (&owner.user.username, games(owner.games()));
        self.talk
            .say(format_args!("  This is {name}: {kind}, {played} played"))
    }
}

/// Asks Lichess whose this token is; nothing when Lichess does not know it.
pub(super) fn identify(server: &Lichess, token: Token) -> anyhow::Result<Option<Owner>> {
    let client = Client::new(&server.endpoint()?, token, None)?;
    match doctor::runtime()?.block_on(doctor::owner(&client)) {
        Err(error) if error.is_unauthorized() => Ok(None),
        owner => Ok(owner?),
    }
}

/// What keeps the bot from playing with this token, or in part.
fn concerns(owner: &Owner) -> Vec<String> {
    let name = &owner.user.username;
    let missing: Vec<&str> = SCOPES
        .into_iter()
        .filter(|scope| !owner.token.has(scope))
        .collect();
    let mut concerns = Vec::new();
    if owner.user.disabled {
        concerns.push(format!("{name} is closed"));
    }
    if !owner.user.is_bot() && owner.games() > 0 {
        concerns.push(format!(
            "{name} has played {}, so Lichess will not make it a bot account: make a new account that never plays, and \
             a token for it",
            games(owner.games())
        ));
    }
    match &missing[..] {
        [] => {}
        [one] => concerns.push(format!("the token lacks the scope {one}")),
        more => concerns.push(format!("the token lacks the scopes {}", more.join(", "))),
    }
    concerns
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
