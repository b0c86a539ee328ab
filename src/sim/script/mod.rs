//! A site as a file describes it: who is there, how it behaves, and what goes wrong when.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use toml::Table;

use super::faults::{LIBRARY, Rule};
use super::options::{NewUser, check_name};
use super::quirks::Quirks;
use super::sparring::Sparring;
use super::{ArenaOptions, NewTeam};
use crate::input;
use crate::spelling;

/// The longest script that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What scripts say. Later ones win where they speak of the same thing, and add where they list.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What it is about, in one sentence.
    pub about: Option<String>,
    pub speed: Option<f64>,
    pub seed: Option<u64>,
    pub limits: Option<bool>,
    pub nginx_limit: Option<u32>,
    /// As written; they are checked.
    pub quirks: Table,
    pub users: Vec<NewUser>,
    pub sparring: Vec<Sparring>,
    pub teams: Vec<NewTeam>,
    pub arenas: Vec<ArenaOptions>,
    pub faults: Vec<Rule>,
}

/// A script that cannot be read: which, where in it, and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(String);

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

/// The file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    about: Option<String>,
    speed: Option<Speed>,
    seed: Option<u64>,
    limits: Option<bool>,
    nginx_limit: Option<u32>,
    #[serde(default, rename = "quirks")]
    _quirks: Quirks,
    #[serde(default)]
    user: Vec<User>,
    #[serde(default)]
    sparring: Vec<Sparring>,
    #[serde(default)]
    team: Vec<NewTeam>,
    #[serde(default)]
    arena: Vec<ArenaOptions>,
    #[serde(default)]
    fault: Vec<Rule>,
}

/// How much faster than the wall a site runs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Speed(f64);

impl TryFrom<f64> for Speed {
    type Error = &'static str;

    fn try_from(speed: f64) -> Result<Self, Self::Error> {
        check_speed(speed).map(Self)
    }
}

pub(super) fn check_speed(speed: f64) -> Result<f64, &'static str> {
    match speed {
        speed if (0.1..=1_000.0).contains(&speed) => Ok(speed),
        _ => Err("expected a number from 0.1 to 1000"),
    }
}

#[derive(Deserialize)]
#[serde(try_from = "UserTable")]
struct User(NewUser);

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct UserTable {
    name: String,
    #[serde(default)]
    bot: bool,
    rating: Option<u32>,
    games: Option<u32>,
    takebacks: Option<bool>,
    bio: Option<String>,
    scopes: Option<Vec<String>>,
    follows: Option<Vec<String>>,
    #[serde(default)]
    present: bool,
    #[serde(default)]
    guest: bool,
    #[serde(default)]
    browser: bool,
}

impl TryFrom<UserTable> for User {
    type Error = String;

    fn try_from(table: UserTable) -> Result<Self, String> {
        check_name(&table.name)?;
        let usual = match table.bot {
            true => NewUser::bot(table.name),
            false => NewUser::human(table.name),
        };
        Ok(Self(NewUser {
            rating: table.rating.unwrap_or(usual.rating),
            games: table.games.unwrap_or(usual.games),
            takebacks: table.takebacks.unwrap_or(usual.takebacks),
            bio: table.bio.or(usual.bio),
            scopes: table.scopes.unwrap_or(usual.scopes),
            follows: table.follows.unwrap_or(usual.follows),
            present: table.present,
            guest: table.guest,
            browser: table.browser,
            name: usual.name,
            bot: usual.bot,
            title: usual.title,
        }))
    }
}

impl Script {
    /// Reads the text of a script; `origin` is what it is called in errors.
    ///
    /// # Errors
    /// When it is no TOML, or says something that means nothing, with line, column and what is allowed.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ScriptError> {
        let wrong = |error: toml::de::Error| {
            ScriptError(format!(
                "{origin}: {}",
                spelling::suggest(&error.to_string())
            ))
        };
        let file: File = toml::from_str(text).map_err(wrong)?;
        // Once more as it stands: only what is written may win over another script.
        let table: Table = toml::from_str(text).map_err(wrong)?;
        let quirks = table.get("quirks").and_then(|quirks| quirks.as_table());
        Ok(Self {
            about: file.about,
            speed: file.speed.map(|Speed(speed)| speed),
            seed: file.seed,
            limits: file.limits,
            nginx_limit: file.nginx_limit,
            quirks: quirks.cloned().unwrap_or_default(),
            users: file.user.into_iter().map(|User(user)| user).collect(),
            sparring: file.sparring,
            teams: file.team,
            arenas: file.arena,
            faults: file.fault,
        })
    }

    /// Reads a script of the library by its name, or a file.
    ///
    /// # Errors
    /// When there is neither, or when it cannot be read.
    pub fn load(name: &str) -> Result<Self, ScriptError> {
        let shipped = LIBRARY
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        if let Some((known, text)) = shipped {
            return Self::parse(text, known);
        }
        let text = input::read_text(Path::new(name), LONGEST).map_err(|error| {
            ScriptError(format!(
                "{name}: {error}\nhint: write the name of a file, or one of F1 to F17; `--faults list` tells what these are"
            ))
        })?;
        Self::parse(&text, name)
    }

    /// The names of the scripts that ship with the program, and what each is about.
    pub fn library() -> impl Iterator<Item = (&'static str, String)> {
        LIBRARY.iter().map(|(name, text)| {
            let about = Self::parse(text, name).ok().and_then(|script| script.about);
            (*name, about.unwrap_or_default())
        })
    }

    /// Adds what a later script says.
    pub fn extend(&mut self, later: Self) {
        self.about = later.about.or(self.about.take());
        self.speed = later.speed.or(self.speed);
        self.seed = later.seed.or(self.seed);
        self.limits = later.limits.or(self.limits);
        self.nginx_limit = later.nginx_limit.or(self.nginx_limit);
        self.quirks.extend(later.quirks);
        self.users.extend(later.users);
        self.sparring.extend(later.sparring);
        self.teams.extend(later.teams);
        self.arenas.extend(later.arenas);
        self.faults.extend(later.faults);
    }
}

#[cfg(test)]
mod tests;
