//! Reload of the settings and of the token by command.

use std::sync::Arc;

use tokio::task::{JoinError, spawn_blocking};
use tracing::{error, info, warn};

use super::Account;
use super::token::{NewToken, read_new_token};
use crate::bot::commands::{ReloadError, Responder};
use crate::config::{Change, Settings};

impl Account {
    /// Loads the settings and the token again.
    pub(super) fn reload(&mut self, responder: Responder) {
        let Some(reload_source) = self.operator.reload_source.clone() else {
            return responder.fail("there is no configuration to read again");
        };
        let Ok(permit) = Arc::clone(&self.operator.reload_permits).try_acquire_owned() else {
            return responder.succeed("the configuration is being read, and will be once more after that; the log says what has changed".to_owned());
        };
        let lock = Arc::clone(&self.operator.reload_lock);
        let (client, me) = (self.ctx.client.clone(), self.ctx.me.clone());
        let token_source = self.operator.token_source.clone();
        let request = async move {
            let _permit = permit;
            // However slow the disk is, one thread waits for it.
            let _turn = lock.lock_owned().await;
            let read = spawn_blocking(move || reload_source()).await?;
            let token = match &read {
                Ok(Some(_)) => read_new_token(&client, &me, token_source).await,
                // A mistake anywhere changes nothing.
                Ok(None) | Err(_) => NewToken::Unchanged,
            };
            Ok::<_, JoinError>((read, token))
        };
        self.background
            .spawn(request, move |account, read| match read {
                Ok((read, token)) => account.on_settings_read(read, token, responder),
                Err(failure) => responder.fail(failure.to_string()),
            });
    }

    /// Applies settings that were loaded again. Running games keep theirs.
    fn on_settings_read(
        &mut self,
        read: Result<Option<Settings>, ReloadError>,
        token: NewToken,
        responder: Responder,
    ) {
        const UNUSABLE: &str = "the settings are unchanged, because the new ones cannot be used";
        const GONE: &str = "this account was removed from the configuration; it plays on as before until a restart";
        let new = match read {
            Ok(Some(new)) => new,
            Ok(None) => {
                warn!("{GONE}");
                return responder.succeed(GONE);
            }
            Err(ReloadError::Resource(why)) => {
                error!("{UNUSABLE}: {why}");
                return responder.fail(format!("{UNUSABLE}: {why}"));
            }
            Err(ReloadError::Settings(error)) => {
                error!("{UNUSABLE}");
                for problem in error.problems() {
                    error!("{}", problem.line());
                }
                if let Some(more) = error.more() {
                    error!("{more}");
                }
                return responder.fail(format!("{UNUSABLE}\n\n{error}"));
            }
        };
        let old = Arc::clone(&self.operator.settings);
        let adopted = old.with_reloadable(&new);
        if self.operator.overrides.seek == Some(true)
            && let Some(why) = adopted.seek_problem()
        {
            let why = format!("{UNUSABLE}: `seek on` has switched on [matchmaking]: {why}");
            error!("{why}");
            return responder.fail(why);
        }
        let (now, mut later) = (old.changes(&adopted), adopted.changes(&new));
        if adopted.has_books() && self.ctx.books.is_empty() {
            later.push(Change {
                key: "rule".to_owned(),
                what: "books are asked for, and none were opened at the start".to_owned(),
            });
        }
        // Books are opened and engines started only at the start.
        let unknown = [adopted.unknown_books(), adopted.unknown_engines()].concat();
        later.extend(unknown.into_iter().map(|what| Change {
            key: "rule".to_owned(),
            what,
        }));
        let mut lines = vec![match now.len() {
            0 if later.is_empty() => "nothing has changed".to_owned(),
            0 => "no setting can change before a restart".to_owned(),
            1 => "one setting has changed".to_owned(),
            n => format!("{n} settings have changed"),
        }];
        info!(name: "reload", "reloaded: {}", lines[0]);
        for change in now {
            info!("{change}");
            lines.push(format!("  {change}"));
        }
        for change in later {
            warn!("not before a restart: {change}");
            lines.push(format!("  not before a restart: {change}"));
        }
        for warning in &new.warnings {
            warn!("{warning}");
            lines.push(format!("  warning: {warning}"));
        }
        let is_refused = matches!(token, NewToken::Invalid(_) | NewToken::Unchecked(_));
        lines.extend(self.adopt_token(token).map(|text| format!("  {text}")));
        self.operator.settings = Arc::new(adopted);
        self.state.block_lists.set_lists(&self.operator.settings);
        self.matchmaking
            .set_listed(self.state.block_lists.all_names());
        for arena in self.apply_settings() {
            info!(arena = %arena, "leaving the arena; it no longer matches the settings");
            lines.push(format!(
                "  leaving the arena {arena}, which is no longer looked for"
            ));
        }
        let text = lines.join("\n");
        match is_refused {
            true => responder.fail(text),
            false => responder.succeed(text),
        }
    }
}
