//! A token that was changed while the bot is running: read again on reload, and after a 401.
//!
//! A new token replaces the current one only if it is one of this account. Streams that are open stay open; requests and
//! streams from then on use the new token.

use tokio::task::spawn_blocking;
use tracing::{info, warn};

use super::Account;
use crate::bot::ReadToken;
use crate::events;
use crate::lichess::model::Username;
use crate::lichess::{Client, Error as Failure, Token};

/// Result of reading the token again.
pub(super) enum NewToken {
    /// It is the current one, or there is no source.
    Unchanged,
    /// It belongs to this account.
    Valid(Token),
    /// It cannot be used, for this reason.
    Invalid(String),
    /// It may be valid: Lichess does not answer.
    Unchecked(Failure),
}

/// Reads the token again, and asks Lichess about a changed one.
pub(super) async fn read_new_token(
    client: &Client,
    me: &Username,
    source: Option<ReadToken>,
) -> NewToken {
    let Some(source) = source else {
        return NewToken::Unchanged;
    };
    let token = match spawn_blocking(move || source()).await {
        Ok(Ok(token)) if token == client.token() => return NewToken::Unchanged,
        Ok(Ok(token)) => token,
        Ok(Err(why)) => return NewToken::Invalid(why),
        Err(failure) => return NewToken::Invalid(failure.to_string()),
    };
    match client.with_token(token.clone()).account().await {
        Ok(user) if user.username == *me => NewToken::Valid(token),
        Ok(user) => NewToken::Invalid(format!(
            "it belongs to {}, and this bot plays {me}",
            user.username
        )),
        Err(failure) => match failure.lichess_code() {
            Some(401 | 403) => NewToken::Invalid(format!("Lichess rejects it: {failure}")),
            _ => NewToken::Unchecked(failure),
        },
    }
}

impl Account {
    /// Uses a new token. Returns a sentence about it, unless nothing has changed.
    pub(super) fn adopt_token(&mut self, new: NewToken) -> Option<String> {
        let text = match new {
            NewToken::Unchanged => return None,
            NewToken::Valid(token) => {
                self.ctx.client.set_token(token);
                self.connection.on_new_token();
                let text = "the token has changed, and the new one is used from now on".to_owned();
                info!("{text}");
                text
            }
            NewToken::Invalid(why) => {
                let text = format!("the new token cannot be used, so the old one stays: {why}");
                warn!("{text}");
                text
            }
            NewToken::Unchecked(failure) => {
                let text = format!(
                    "the token has changed, but Lichess does not say whether it is valid, so the old one stays until the \
                     next reload: {failure}"
                );
                warn!("{text}");
                text
            }
        };
        self.ctx.events.send(events::Event::note(text.clone()));
        Some(text)
    }

    /// Reads the token again, since Lichess rejects the current one.
    pub(super) fn replace_rejected_token(&mut self, rejected: Failure) {
        let (client, me) = (self.ctx.client.clone(), self.ctx.me.clone());
        let source = self.operator.token_source.clone();
        let request = async move { read_new_token(&client, &me, source).await };
        self.background
            .spawn_fallible(request, move |account, new| {
                let is_useless = matches!(new, NewToken::Unchanged | NewToken::Invalid(_));
                account.adopt_token(new);
                match is_useless {
                    true => account.connection.on_rejected(&rejected),
                    false => Ok(()),
                }
            });
    }
}
