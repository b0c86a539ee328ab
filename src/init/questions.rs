//! Questions about the configuration, and the files written for the answers.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;

use super::files::{self, NewFile};
use super::{Init, Plan, named_token_file};
use crate::config::{self, Protocol, SERVICE_TOKEN, Settings, TokenSource};
use crate::lichess::Endpoint;

/// The environment variable that sets the server.
pub(super) const SERVER_VARIABLE: &str = "KNIGHTWATCH__LICHESS__URL";

impl Init {
    /// Asks the questions about the configuration.
    pub(super) fn ask(&self, plan: &mut Plan, known: Option<Settings>) -> anyhow::Result<()> {
        let prompt = &self.prompt;
        let known = known.unwrap_or_default();
        let mut server = known.lichess.clone();
        let address = match self.server_of_environment() {
            Some(address) => address,
            None => known.lichess.address().to_owned(),
        };
        let address = prompt.value("Which server?", (&address, &address), |address: &String| {
            let endpoint = match (server.insecure, address.parse()) {
                (true, Ok(url)) => Endpoint::insecure(url),
                _ => Endpoint::parse(address),
            };
            endpoint.map(drop).map_err(|error| error.to_string())
        })?;
        server.url = address.parse()?;
        let token_file = match named_token_file(&known) {
            Some(file) if self.place.service.is_none() => file.to_owned(),
            _ => self.place.token.clone(),
        };
        let choice = self.ask_token(&server, &token_file)?;
        let games = known.games.concurrency;
        let games = prompt.value("How many games at once?", (&games, games), |n| {
            let fits = (1..=config::MAX_GAMES).contains(n);
            fits.then_some(())
                .ok_or(format!("from 1 to {}", config::MAX_GAMES))
        })?;
        let hash = known.engine.hash_mib;
        let hash = prompt.value(
            "How much memory for the engine's hash table, in MiB?",
            (&hash, hash),
            |n| {
                let fits = (1..=65_536).contains(n);
                fits.then_some(()).ok_or("from 1 to 65536".to_owned())
            },
        )?;
        let bots = prompt.yes("Play against other bots?", known.challenge.bots)?;
        let rated = prompt.yes("Play rated games?", known.challenge.rated)?;
        let seeks =
            bots && prompt.yes("Challenge other bots when idle?", known.matchmaking.enabled)?;
        let engine = self.ask_engine(&known.engine.default)?;

        plan.server = Some(server.address().to_owned());
        plan.take_token(choice, &token_file);
        let mut text = "# Written by knightwatch init. config.example.toml lists everything that can be set.\n\n\
                        [lichess]\n"
            .to_owned();
        let quote = |value: &str| toml::Value::from(value).to_string();
        writeln!(text, "url = {}", quote(server.address()))?;
        if server.insecure {
            writeln!(text, "insecure = true")?;
        }
        if let Some(url) = &server.engine_url {
            writeln!(text, "engine_url = {}", quote(url.as_str()))?;
        }
        if let Some(file) = &server.ca_file {
            writeln!(text, "ca_file = {}", quote(&file.to_string_lossy()))?;
        }
        text += &self.token_setting(&token_file, plan.has_token);
        write!(
            text,
            "\n[engine]\nhash_mib = {hash}\n{}\n[games]\nconcurrency = {games}\n\n\
             [challenge]\nbots = {bots}\nrated = {rated}\n\n[matchmaking]\nenabled = {seeks}\n",
            engine.map_or_else(String::new, |program| {
                let (name, file) = (quote(program.name), quote(&program.file.to_string_lossy()));
                let protocol = match program.protocol {
                    Protocol::Xboard => "protocol = \"xboard\"\n",
                    Protocol::Uci | Protocol::Lines => "",
                };
                format!(
                    "default = {name}\n\n[[engine.external]]\nname = {name}\ncommand = [{file}]\n{protocol}\
                     # threads = 1\n# hash_mib = {hash}\n# processes = 1\n"
                )
            })
        )?;
        if seeks {
            write!(
                text,
                "\n# Blitz against bots of about the same rating, one game with each color.\n\
                 [[matchmaking.profile]]\nclock = [\"3+2\", \"5+3\"]\nrating_diff = \"-300..300\"\nrated = {rated}\n"
            )?;
        }
        self.plan_configuration(plan, text)
    }

    /// Asks for the token of a configuration that is kept and has none that can be read.
    pub(super) fn ask_missing_token(
        &self,
        plan: &mut Plan,
        settings: &mut Settings,
    ) -> anyhow::Result<()> {
        let named = named_token_file(settings);
        let token_file = named.unwrap_or(&self.place.token).to_owned();
        let is_named = named.is_some();
        self.prompt.print("It has no token that can be read.")?;
        let choice = self.ask_token(&settings.lichess, &token_file)?;
        plan.take_token(choice, &token_file);
        if !plan.has_token {
            return Ok(());
        }
        settings.token = Some(TokenSource::File(token_file.clone()));
        if is_named || self.place.service.is_some() {
            return Ok(());
        }
        let config = &self.place.config;
        let text = fs::read_to_string(config)
            .with_context(|| format!("cannot read {}", config.display()))?;
        let commented = self.token_setting(&token_file, false);
        let line = self.token_setting(&token_file, true);
        if text.contains(&commented) {
            return self.plan_configuration(plan, text.replacen(&commented, &line, 1));
        }
        self.prompt.print(format_args!(
            "Add this line to [lichess] in {}: {line}",
            config.display()
        ))?;
        Ok(())
    }

    /// The server set by the environment variable, if it is valid.
    pub(super) fn server_of_environment(&self) -> Option<String> {
        let address = self.sources.environment.get(SERVER_VARIABLE)?;
        let address = address.trim().trim_end_matches('/');
        Endpoint::parse(address).ok().map(|_| address.to_owned())
    }

    /// The line of `[lichess]` about the token.
    pub(super) fn token_setting(&self, token_file: &Path, has_token: bool) -> String {
        if self.place.service.is_some() {
            return format!(
                "# The token is in {SERVICE_TOKEN}. The unit passes it on as a credential, which needs no setting.\n"
            );
        }
        let name = match token_file.parent() == self.place.config.parent() {
            true => token_file.file_name().map_or(token_file, Path::new),
            false => token_file,
        };
        let name = toml::Value::from(&*name.to_string_lossy());
        let sign = if has_token { "" } else { "# " };
        format!("{sign}token_file = {name}\n")
    }

    /// Plans the configuration file, and the backup of the old one.
    pub(super) fn plan_configuration(&self, plan: &mut Plan, text: String) -> anyhow::Result<()> {
        let config = &self.place.config;
        let mut mode = 0o644;
        if config.exists() {
            let unreadable = || format!("cannot read {}", config.display());
            let old = fs::read(config).with_context(unreadable)?;
            let about = fs::metadata(config).with_context(unreadable)?;
            let old_mode = about.permissions().mode() & 0o777;
            // The user of the service must be able to read it.
            mode = match self.place.service {
                Some(_) => mode | old_mode,
                None => old_mode,
            };
            if old != text.as_bytes() {
                plan.files.push(NewFile {
                    path: files::backup_path(config),
                    text: old,
                    mode: old_mode,
                });
            }
        }
        plan.files.push(NewFile {
            path: config.clone(),
            text: text.into(),
            mode,
        });
        Ok(())
    }
}
