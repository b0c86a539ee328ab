//! The configuration of another bot, for `init --from`.

use std::path::Path;

use super::files::{self, NewFile};
use super::token::identify;
use super::{Init, Plan};
use crate::config::Lichess;
use crate::convert;
use crate::credentials::readable_by_others;
use crate::lichess::Token;

impl Init {
    /// Plans the configuration converted from this file, and the token file.
    pub(super) fn convert(&self, plan: &mut Plan, file: &Path) -> anyhow::Result<()> {
        let (prompt, token_file) = (&self.prompt, &self.place.token);
        let conversion = convert::convert(file)?;
        prompt.print(format_args!("{}: {}", file.display(), conversion.summary()))?;
        files::test_write(token_file)?;
        let mut server = Lichess::default();
        let address = self.server_of_environment().or(conversion.server.clone());
        if let Some(url) = address.and_then(|address| address.parse().ok()) {
            server.url = url;
        }
        let replace = format!(
            "{} exists. Replace it by the token of {}?",
            token_file.display(),
            file.display()
        );
        let new = match &conversion.token {
            Some(token) if !token_file.exists() || prompt.yes(replace, false)? => Some(token),
            _ => None,
        };
        if conversion.token.is_none() {
            let what = match token_file.exists() {
                true => format!("the one in {} is used", token_file.display()),
                false => format!("put it into {}", token_file.display()),
            };
            prompt.print(format_args!("{} holds no token: {what}", file.display()))?;
        }
        plan.has_token = new.is_some() || token_file.exists();
        plan.server = Some(server.address().to_owned());
        let token = match new {
            Some(token) => {
                plan.files.push(NewFile {
                    path: token_file.clone(),
                    text: format!("{token}\n").into(),
                    mode: 0o600,
                });
                token.parse().ok()
            }
            None => {
                let is_open = readable_by_others(token_file).is_some();
                plan.open_token = is_open.then(|| token_file.clone());
                Token::from_file(token_file).ok()
            }
        };
        let lichess = self.token_setting(token_file, plan.has_token);
        self.plan_configuration(plan, conversion.text(file, &lichess))?;
        plan.owner = match token.map(|token| identify(&server, token)) {
            None => None,
            Some(Ok(Some(owner))) => {
                self.print_owner(&owner)?;
                Some(owner)
            }
            Some(Ok(None)) => {
                prompt.print("  Lichess does not know this token: it was revoked, has expired, or is incomplete")?;
                None
            }
            Some(Err(error)) => {
                prompt.print(format_args!("  The token cannot be tested: {error}"))?;
                None
            }
        };
        Ok(())
    }
}
