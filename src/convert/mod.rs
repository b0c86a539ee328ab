//! `knightwatch convert` and `init --from`: the configuration of lichess-bot or BotLi as one of ours.
//!
//! Comments name each key of the old file: as it was carried over, how it was changed, or why it was not. What our own
//! loader rejects is not carried over, so that the result is always valid. The token is never part of it.

mod accepted;
mod books;
mod botli;
mod draft;
mod engines;
mod lichess_bot;
mod values;
mod yaml;

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use toml::{Table, Value as Toml};

use crate::file_error::FileError;
use crate::lichess::Token;
use crate::{atomic_file, input, plural};
pub use draft::Counts;
use draft::{Draft, Outcome, quoted};
use values::{boolean, changed, not, same, shown, table, up_to, whole};
use yaml::Value;

/// The shortest text that counts as a secret, in bytes.
const MIN_TOKEN_CHARS: usize = 12;

/// Upper limit of a configuration file, in bytes.
const MAX_CONFIG_BYTES: u64 = 256 << 10;

/// Options of `convert`.
#[derive(Args, Clone, Debug)]
pub struct ConvertOptions {
    /// The config.yml of lichess-bot or BotLi
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The configuration file to write; it must not exist [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Errors of converting a configuration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not valid YAML.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Description of the problem.
        message: String,
    },
    /// No key of the file is known.
    #[error(
        "{}: none of its keys belongs to lichess-bot or BotLi, whose config.yml can be converted", .0.display()
    )]
    Unknown(PathBuf),
    /// The output exists.
    #[error("{} exists: name a file that does not, or remove it first", .0.display())]
    Exists(PathBuf),
    /// The output cannot be printed.
    #[error("cannot write to stdout")]
    Output(#[from] io::Error),
}

/// A bot whose configuration can be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    LichessBot,
    BotLi,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LichessBot => "lichess-bot",
            Self::BotLi => "BotLi",
        })
    }
}

/// A converted configuration.
pub struct Conversion {
    /// The bot whose file it was.
    pub peer: Peer,
    /// The address of the server, if the file has one.
    pub server: Option<String>,
    /// The token, if the file has one.
    pub token: Option<String>,
    /// Numbers of keys of the file.
    pub counts: Counts,
    draft: Draft,
}

impl Conversion {
    /// The configuration. `lichess` is more of `[lichess]`, such as the token file.
    pub fn text(&self, source: &Path, lichess: &str) -> String {
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        let heading = format!(
            "Converted from {} of {} by Knightwatch. config.example.toml explains every setting.",
            quoted(&name),
            self.peer
        );
        let text = self.draft.text(&heading, lichess);
        match &self.token {
            // Shorter ones are no secrets, and would hit other words.
            Some(token) if token.len() >= MIN_TOKEN_CHARS => text.replace(token.as_str(), "..."),
            _ => text,
        }
    }

    /// `41 keys of BotLi carried over, 12 changed, 60 not`
    pub fn summary(&self) -> String {
        let Counts {
            carried,
            changed,
            dropped,
        } = self.counts;
        let keys = plural::count(carried, "key", "keys");
        format!(
            "{keys} of {} carried over, {changed} changed, {dropped} not",
            self.peer
        )
    }
}

/// Location of the file to convert.
struct Place {
    /// Its directory; relative paths in it start there or at the directory of the program.
    directory: PathBuf,
}

impl Place {
    fn url(&self) -> impl FnOnce(&Value) -> Outcome + use<> {
        |value| same(value.to_string().trim_end_matches('/'))
    }

    /// A path of the file as an absolute one.
    fn absolute(&self, path: &str) -> String {
        let path = match path.starts_with('~') {
            true => PathBuf::from(path),
            false => self.directory.join(path.strip_prefix("./").unwrap_or(path)),
        };
        path.to_string_lossy().into_owned()
    }
}

/// Runs `convert`.
///
/// # Errors
/// When the file cannot be read or is not the configuration of a known bot, or the output cannot be written.
pub fn convert_command(
    options: &ConvertOptions,
    out: &mut impl Write,
    diagnostics: &mut impl Write,
) -> Result<(), Error> {
    let ConvertOptions { file, output } = options;
    if let Some(path) = output
        .as_ref()
        .filter(|path| path.symlink_metadata().is_ok())
    {
        return Err(Error::Exists(path.clone()));
    }
    let conversion = convert(file)?;
    let text = conversion.text(file, "#token_file = \"token\"\n");
    match output {
        None => out.write_all(text.as_bytes())?,
        Some(path) => {
            atomic_file::write(path, text.as_bytes()).map_err(FileError::writing(path))?;
        }
    }
    writeln!(
        diagnostics,
        "{}; the comments name each of them",
        conversion.summary()
    )?;
    if conversion.token.is_some() {
        writeln!(
            diagnostics,
            "The token is not copied: put it into a file that only you can read, and name it in token_file; or use \
             knightwatch init --from {}, which does both",
            file.display()
        )?;
    }
    Ok(())
}

/// Converts a file.
///
/// # Errors
/// When it cannot be read or is not the configuration of a known bot.
pub fn convert(path: &Path) -> Result<Conversion, Error> {
    let text = input::read_text(path, MAX_CONFIG_BYTES).map_err(FileError::reading(path))?;
    let leaves = yaml::read(&text).map_err(|error| Error::Syntax {
        path: path.to_owned(),
        line: error.line,
        message: quoted(&error.message),
    })?;
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let directory = parent.unwrap_or(Path::new("."));
    let place = Place {
        directory: directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_owned()),
    };
    let count = leaves.len();
    let read = |peer| {
        let mut draft = Draft::new(leaves.clone());
        let token = draft.take("token").and_then(|(value, from)| {
            draft.drop_key(
                "it is a secret, which goes into a file of its own: lichess.token_file",
                from,
            );
            real_token(&value.to_string())
        });
        let server = draft.value("url").map(ToString::to_string);
        match peer {
            Peer::LichessBot => lichess_bot::convert(&mut draft, &place),
            Peer::BotLi => botli::convert(&mut draft, &place),
        }
        draft.finish();
        (peer, draft, token, server)
    };
    let [first, second] = [Peer::LichessBot, Peer::BotLi].map(read);
    let (peer, mut draft, token, server) = match first.1.unknown <= second.1.unknown {
        true => first,
        false => second,
    };
    if draft.unknown == count {
        return Err(Error::Unknown(path.to_owned()));
    }
    draft.reject_invalid();
    Ok(Conversion {
        peer,
        server,
        token,
        counts: draft.counts(),
        draft,
    })
}

/// The token, unless it is the placeholder of a default file.
fn real_token(text: &str) -> Option<String> {
    let text = text.trim();
    let is_placeholder = text.chars().all(|letter| letter.eq_ignore_ascii_case(&'x'));
    (!is_placeholder && text.parse::<Token>().is_ok()).then(|| text.to_owned())
}

/// Converts the switch of the books.
fn book_switch(draft: &mut Draft, path: &str) {
    draft.map(path, "book", "enabled", |value| match boolean(value) {
        Outcome::Same(Toml::Boolean(false)) => changed(
            false,
            "with true the embedded book would be used, which needs no file",
        ),
        other => other,
    });
}

/// Converts the number of takebacks that humans get in a game.
fn takebacks(draft: &mut Draft, path: &str) {
    let Some((value, from)) = draft.take(path) else {
        return;
    };
    match whole(&value, 1_000) {
        Some(0) => draft.set("games", "takebacks", changed("never", "none"), vec![from]),
        Some(max) => {
            draft.set("games", "max_takebacks", same(max), vec![from]);
            draft.add(
                "games",
                vec![("takebacks", "humans".into())],
                Vec::new(),
                "rated games too",
            );
        }
        None => draft.drop_key("it is not a number", from),
    }
}

/// Converts the score below which a game is resigned.
fn resign_score(value: &Value) -> Outcome {
    let behind = match value {
        Value::Int(score) => Value::Int(score.saturating_neg()),
        other => other.clone(),
    };
    match up_to::<100_000>(&behind) {
        Outcome::Same(score) => changed(score, "centipawns down"),
        Outcome::Changed(score, remark) => changed(score, remark),
        Outcome::Not(_) => not(format!("`{}` is not a negative score", shown(value))),
    }
}

/// Converts the condition that bullet games of bots have an increment.
fn bullet_increment(draft: &mut Draft, value: &Value, from: String) {
    increment_rule(draft, value, from, table([("bot", true.into())]));
}

/// Converts the condition that bullet games have an increment.
fn increment_rule(draft: &mut Draft, value: &Value, from: String, mut matching: Table) {
    if *value != Value::Bool(true) {
        draft.drop_key("that is so here without a setting", from);
        return;
    }
    matching.extend(table([
        ("speed", "bullet".into()),
        ("increment_s", 0.into()),
    ]));
    draft.rule(
        matching,
        ("decline", "tooFast".into()),
        vec![from],
        "a rule",
    );
}
