//! `knightwatch init`: a few questions, then a configuration and a token file.
//!
//! Answers may be piped in, one a line; where they end, the defaults hold.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use url::Url;

use crate::config::{Settings, Sources};
use crate::lichess::Endpoint;

/// What a token for this bot must allow.
const SCOPES: [&str; 3] = ["bot:play", "challenge:read", "challenge:write"];

/// Asks on the terminal and writes the configuration to `target`, or else to the user's own place, and the token beside it.
///
/// # Errors
/// When a file is there and may not be replaced, or cannot be written.
pub fn run(target: Option<PathBuf>) -> anyhow::Result<()> {
    let sources = Sources::of_process(None, Vec::new());
    let target = target.or_else(|| sources.user_file());
    let target = target.context(
        "there is no home directory to put the configuration in: name a file with --config",
    )?;
    let hidden = io::stdin().is_terminal();
    let mut talk = Talk {
        input: io::stdin().lock(),
        output: io::stdout().lock(),
        hidden,
    };
    talk.hold(&target)
}

/// A conversation: questions go out, answers come in.
struct Talk<I, O> {
    input: I,
    output: O,
    /// Whether the token is typed on a terminal, where it must not be seen.
    hidden: bool,
}

impl<I: BufRead, O: Write> Talk<I, O> {
    fn hold(&mut self, target: &Path) -> anyhow::Result<()> {
        let defaults = Settings::default();
        let token_file = target.with_file_name("token");
        if target.exists()
            && !self.yes(&format!("{} exists. Replace it?", target.display()), false)?
        {
            bail!("{} was left as it is", target.display());
        }

        let url: Url = self.ask("Which server?", &defaults.lichess.url, |url: &Url| {
            Endpoint::new(url.clone())
                .map(drop)
                .map_err(|error| error.to_string())
        })?;
        writeln!(
            self.output,
            "A token is made here, for the account that is to be the bot:\n  {}",
            token_page(&url)
        )?;
        let token = self.token(&token_file)?;
        let games = self.ask(
            "How many games at once?",
            &defaults.games.concurrency,
            |n| (*n > 0).then_some(()).ok_or("at least 1".to_owned()),
        )?;
        let hash = self.ask(
            "How much memory for the engine's hash table, in MiB?",
            &defaults.engine.hash_mib,
            |n| {
                (1..=65_536)
                    .contains(n)
                    .then_some(())
                    .ok_or("from 1 to 65536".to_owned())
            },
        )?;
        let bots = self.yes("Play against other bots?", defaults.challenge.bots)?;
        let rated = self.yes("Play rated games?", defaults.challenge.rated)?;

        if let Some(directory) = target
            .parent()
            .filter(|directory| !directory.as_os_str().is_empty())
        {
            fs::create_dir_all(directory)
                .with_context(|| format!("cannot make {}", directory.display()))?;
        }
        if let Some(token) = &token {
            write(&token_file, &format!("{token}\n"), 0o600)?;
        }
        let has_token = token.is_some() || token_file.exists();
        let token_line = if has_token {
            "token_file = \"token\"\n"
        } else {
            "# token_file = \"token\"\n"
        };
        let text = format!(
            "# Written by knightwatch init. config.example.toml lists everything that can be set.\n\n\
             [lichess]\nurl = \"{url}\"\n{token_line}\n\
             [engine]\nhash_mib = {hash}\n\n\
             [games]\nconcurrency = {games}\n\n\
             [challenge]\nbots = {bots}\nrated = {rated}\n"
        );
        write(target, &text, 0o644)?;
        self.what_next(target, &token_file, has_token)
    }

    /// The token, unless there is none yet or the one in the file is kept.
    fn token(&mut self, file: &Path) -> anyhow::Result<Option<String>> {
        if file.exists()
            && !self.yes(
                &format!("{} exists. Replace the token in it?", file.display()),
                false,
            )?
        {
            return Ok(None);
        }
        loop {
            write!(self.output, "The token (Enter to do it later): ")?;
            self.output.flush()?;
            let token = if self.hidden {
                let token = rpassword::read_password()?;
                writeln!(self.output)?;
                Some(token)
            } else {
                self.line()?
            };
            let token = token.unwrap_or_default().trim().to_owned();
            if token.is_empty() {
                writeln!(self.output)?;
                return Ok(None);
            }
            if token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Ok(Some(token));
            }
            writeln!(
                self.output,
                "  a token has letters, digits and underscores, and no blanks"
            )?;
        }
    }

    fn what_next(
        &mut self,
        target: &Path,
        token_file: &Path,
        has_token: bool,
    ) -> anyhow::Result<()> {
        let out = &mut self.output;
        writeln!(out, "\nWrote {}", target.display())?;
        let config = target.display();
        let mut step = 0;
        let mut next = |out: &mut O, what: String| {
            step += 1;
            writeln!(out, "  {step}. {what}")
        };
        writeln!(out, "What is next:")?;
        if !has_token {
            let file = token_file.display();
            next(
                out,
                format!("put the token into {file} with mode 0600 and take the # off token_file"),
            )?;
        }
        next(
            out,
            format!("knightwatch upgrade --config {config}   makes the account a bot, for good"),
        )?;
        next(
            out,
            format!("knightwatch check --config {config}     says what is still missing"),
        )?;
        next(
            out,
            format!("knightwatch run --config {config}       plays"),
        )?;
        Ok(())
    }

    /// One value; asks again until it is one that `check` takes.
    fn ask<T>(
        &mut self,
        question: &str,
        default: &T,
        check: impl Fn(&T) -> Result<(), String>,
    ) -> io::Result<T>
    where
        T: Clone + FromStr + std::fmt::Display,
    {
        loop {
            write!(self.output, "{question} [{default}] ")?;
            self.output.flush()?;
            let Some(line) = self.line()? else {
                writeln!(self.output)?;
                return Ok(default.clone());
            };
            if line.is_empty() {
                return Ok(default.clone());
            }
            match line
                .parse::<T>()
                .map_err(|_| "that is not understood".to_owned())
                .and_then(|value| check(&value).map(|()| value))
            {
                Ok(value) => return Ok(value),
                Err(why) => writeln!(self.output, "  {why}")?,
            }
        }
    }

    fn yes(&mut self, question: &str, default: bool) -> io::Result<bool> {
        loop {
            write!(
                self.output,
                "{question} [{}] ",
                if default { "Y/n" } else { "y/N" }
            )?;
            self.output.flush()?;
            let Some(line) = self.line()? else {
                writeln!(self.output)?;
                return Ok(default);
            };
            match line.to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => writeln!(self.output, "  y or n")?,
            }
        }
    }

    /// The next answer without its blanks; `None` when there are no more.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.input.read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim().to_owned()))
    }
}

/// The page of this server that makes a token with the right scopes.
fn token_page(url: &Url) -> String {
    let scopes: String = SCOPES
        .iter()
        .map(|scope| format!("scopes[]={scope}&"))
        .collect();
    let base = url.as_str().trim_end_matches('/');
    format!("{base}/account/oauth/token/create?{scopes}description=Knightwatch")
}

/// Writes a file that was allowed to be replaced. It never has more rights than `mode`, not even for a moment.
fn write(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let written = || {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(path)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(answers: &str, target: &Path) -> (anyhow::Result<()>, String) {
        let mut output = Vec::new();
        let mut talk = Talk {
            input: answers.as_bytes(),
            output: &mut output,
            hidden: false,
        };
        let result = talk.hold(target);
        (result, String::from_utf8(output).expect("text"))
    }

    fn load(file: &Path) -> Settings {
        let sources = Sources {
            file: Some(file.to_owned()),
            ..Sources::default()
        };
        Settings::load(&sources).expect("what init writes is valid")
    }

    #[test]
    fn answers_become_settings() {
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        let target = directory.path().join("deep/config.toml");
        let (result, told) = talk(
            "http://127.0.0.1:9663\nlip_me\n0\n7\n64\nn\nmaybe\nno\n",
            &target,
        );
        result.expect("it can be written");
        let settings = load(&target);
        assert_eq!(settings.lichess.url.as_str(), "http://127.0.0.1:9663/");
        assert_eq!(
            (settings.games.concurrency, settings.engine.hash_mib),
            (7, 64)
        );
        assert_eq!(
            (settings.challenge.bots, settings.challenge.rated),
            (false, false)
        );
        let token = settings.lichess.token_file.expect("a token was given");
        assert_eq!(
            fs::read_to_string(&token).expect("a token file"),
            "lip_me\n"
        );
        assert_eq!(
            fs::metadata(&token)
                .expect("a token file")
                .permissions()
                .mode()
                & 0o777,
            0o600
        );
        assert!(!told.contains("lip_me"));
        assert!(told.contains("scopes[]=bot:play&"), "{told}");
        assert!(told.contains("knightwatch upgrade"), "{told}");
    }

    #[test]
    fn without_answers_the_defaults_hold() {
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        let target = directory.path().join("config.toml");
        talk("", &target).0.expect("it can be written");
        let file = Some(target.clone());
        assert_eq!(
            load(&target),
            Settings {
                file,
                ..Settings::default()
            }
        );
        assert!(!directory.path().join("token").exists());
    }

    #[test]
    fn nothing_is_replaced_without_a_word() {
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        let target = directory.path().join("config.toml");
        let token = directory.path().join("token");
        fs::write(&target, "# mine").expect("a writable directory");
        fs::write(&token, "lip_old").expect("a writable directory");
        talk("", &target).0.expect_err("nobody allowed it");
        assert_eq!(fs::read_to_string(&target).expect("still there"), "# mine");

        talk("y\n\nn\n", &target)
            .0
            .expect("the configuration may be replaced");
        assert_eq!(fs::read_to_string(&token).expect("still there"), "lip_old");
        assert_eq!(load(&target).lichess.token_file, Some(token));
    }
}
