//! Simulator scripts: TOML files with users, players, arenas, quirks and faults.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use toml::Table;

use crate::arena::options::ArenaOptions;
use crate::faults::{FaultRule, LIBRARY};
use crate::options::NewUser;
use crate::players::PlayerOptions;
use crate::quirks::Quirks;
use crate::site::UserId;
use crate::site::id::check_name;
use crate::site::team::NewTeam;
use knightwatch_util::input;
use knightwatch_util::spelling;

const MAX_SCRIPT_BYTES: u64 = 1 << 20;

/// The contents of one or several scripts. In later scripts, values override and lists append.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// One sentence.
    pub description: Option<String>,
    /// Speed of all clocks, as in [`SimOptions`](crate::SimOptions).
    pub speed: Option<f64>,
    /// Seed of all random choices.
    pub seed: Option<u64>,
    /// Enables the rate limits.
    pub limits: Option<bool>,
    /// Requests per minute and address that the proxy lets through.
    pub nginx_limit: Option<u32>,
    /// Only the keys that are set; already validated.
    pub quirks: Table,
    /// Accounts.
    pub users: Vec<NewUser>,
    /// Built-in players.
    pub players: Vec<PlayerOptions>,
    /// Teams.
    pub teams: Vec<NewTeam>,
    /// Arenas.
    pub arenas: Vec<ArenaOptions>,
    /// Faults.
    pub faults: Vec<FaultRule>,
}

/// A script that cannot be read. The message names the script, the place in it and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(String);

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawScript {
    description: Option<String>,
    speed: Option<Speed>,
    seed: Option<u64>,
    limits: Option<bool>,
    nginx_limit: Option<u32>,
    #[serde(default, rename = "quirks")]
    _quirks: Quirks,
    #[serde(default)]
    user: Vec<User>,
    #[serde(default)]
    player: Vec<PlayerOptions>,
    #[serde(default)]
    team: Vec<NewTeam>,
    #[serde(default)]
    arena: Vec<ArenaOptions>,
    #[serde(default)]
    fault: Vec<FaultRule>,
}

/// Simulated seconds per real second.
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

/// Returns the first two names that have the same key.
pub(super) fn find_duplicate<'a, K: Ord>(
    names: impl Iterator<Item = &'a str>,
    key: impl Fn(&str) -> K,
) -> Option<[&'a str; 2]> {
    let mut seen = BTreeMap::new();
    for name in names {
        if let Some(first) = seen.insert(key(name), name) {
            return Some([first, name]);
        }
    }
    None
}

/// Checks that no two users, and no two built-in players, of one source have the same name.
pub(super) fn check_names(users: &[NewUser], players: &[PlayerOptions]) -> Result<(), String> {
    let players: Vec<PlayerOptions> = players
        .iter()
        .cloned()
        .flat_map(PlayerOptions::expand_copies)
        .collect();
    let users: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
    let players: Vec<&str> = players.iter().map(|player| player.name.as_str()).collect();
    for (what, names) in [("users", users), ("players", players)] {
        if let Some([first, second]) = find_duplicate(names.into_iter(), UserId::of) {
            return Err(format!(
                "{what} {first} and {second} have the same name: rename or remove one; case does not matter in names"
            ));
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(try_from = "RawUser")]
struct User(NewUser);

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawUser {
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
    online: bool,
    #[serde(default)]
    guest: bool,
    #[serde(default)]
    browser: bool,
}

impl TryFrom<RawUser> for User {
    type Error = String;

    fn try_from(raw: RawUser) -> Result<Self, String> {
        check_name(&raw.name)?;
        let defaults = match raw.bot {
            true => NewUser::bot(raw.name),
            false => NewUser::human(raw.name),
        };
        Ok(Self(NewUser {
            rating: raw.rating.unwrap_or(defaults.rating),
            games: raw.games.unwrap_or(defaults.games),
            takebacks: raw.takebacks.unwrap_or(defaults.takebacks),
            bio: raw.bio.or(defaults.bio),
            scopes: raw.scopes.unwrap_or(defaults.scopes),
            follows: raw.follows.unwrap_or(defaults.follows),
            present: raw.online,
            guest: raw.guest,
            browser: raw.browser,
            name: defaults.name,
            bot: defaults.bot,
            title: defaults.title,
        }))
    }
}

impl Script {
    /// Parses a script; `origin` names it in error messages.
    ///
    /// # Errors
    /// Invalid TOML, unknown keys or invalid values, with line, column and the allowed values.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ScriptError> {
        let invalid = |error: toml::de::Error| {
            ScriptError(format!(
                "{origin}: {}",
                spelling::suggest(&error.to_string())
            ))
        };
        let raw: RawScript = toml::from_str(text).map_err(invalid)?;
        // Parsed again as a table: only quirks that are set may override those of another script.
        let table: Table = toml::from_str(text).map_err(invalid)?;
        let quirks = table.get("quirks").and_then(|quirks| quirks.as_table());
        let users: Vec<NewUser> = raw.user.into_iter().map(|User(user)| user).collect();
        check_names(&users, &raw.player)
            .map_err(|text| ScriptError(format!("{origin}: {text}")))?;
        Ok(Self {
            description: raw.description,
            speed: raw.speed.map(|Speed(speed)| speed),
            seed: raw.seed,
            limits: raw.limits,
            nginx_limit: raw.nginx_limit,
            quirks: quirks.cloned().unwrap_or_default(),
            users,
            players: raw.player,
            teams: raw.team,
            arenas: raw.arena,
            faults: raw.fault,
        })
    }

    /// Loads a script of the built-in library by name, or a file.
    ///
    /// # Errors
    /// No such script or file, or an invalid script.
    pub fn load(name: &str) -> Result<Self, ScriptError> {
        let built_in = LIBRARY
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        if let Some((known, text)) = built_in {
            return Self::parse(text, known);
        }
        let text = input::read_text(Path::new(name), MAX_SCRIPT_BYTES).map_err(|error| {
            ScriptError(format!(
                "{name}: {error}\nhint: give a file name, or one of F1 to F17; `--faults list` describes them"
            ))
        })?;
        Self::parse(&text, name)
    }

    /// The names and descriptions of the built-in scripts.
    pub fn library() -> impl Iterator<Item = (&'static str, String)> {
        LIBRARY.iter().map(|(name, text)| {
            let script = Self::parse(text, name).ok();
            let description = script.and_then(|script| script.description);
            (*name, description.unwrap_or_default())
        })
    }

    /// Merges a later script into this one.
    pub fn extend(&mut self, later: Self) {
        self.description = later.description.or(self.description.take());
        self.speed = later.speed.or(self.speed);
        self.seed = later.seed.or(self.seed);
        self.limits = later.limits.or(self.limits);
        self.nginx_limit = later.nginx_limit.or(self.nginx_limit);
        self.quirks.extend(later.quirks);
        self.users.extend(later.users);
        self.players.extend(later.players);
        self.teams.extend(later.teams);
        self.arenas.extend(later.arenas);
        self.faults.extend(later.faults);
    }
}

#[cfg(test)]
mod tests;
