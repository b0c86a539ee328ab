//! Arenas and teams to join, as written in the configuration.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::lichess::model::ArenaId;
use crate::lichess::model::address::{self, Page};

/// An arena to join: `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArenaEntry {
    /// The id, the last part of the address of the arena.
    pub id: ArenaId,
    /// The team to play for, in a team battle.
    pub team: Option<String>,
    /// The password of a private arena.
    pub password: Option<String>,
}

impl FromStr for ArenaEntry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = address::after_host(text, Page::Arena).unwrap_or(text);
        let (place, password) = match text.split_once(':') {
            Some((place, password)) => (place, Some(password)),
            None => (text, None),
        };
        let (id, team) = match place.split_once('@') {
            Some((id, team)) => (id, Some(team)),
            None => (place, None),
        };
        let wrong = || {
            "expected the arena's address, or the eight letters and digits at its end, then perhaps @TEAM, then perhaps \
             :PASSWORD, as in \"may24bot\" or \"may24bot:secret\""
                .to_owned()
        };
        let part = |text: Option<&str>| match text {
            Some("") => Err(wrong()),
            other => Ok(other.map(str::to_owned)),
        };
        Ok(Self {
            id: address::first_segment(id)
                .parse()
                .ok()
                .filter(|id: &ArenaId| id.as_str().len() == 8)
                .ok_or_else(wrong)?,
            team: part(team)?,
            password: part(password)?,
        })
    }
}

impl TryFrom<String> for ArenaEntry {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ArenaEntry> for String {
    fn from(arena_entry: ArenaEntry) -> Self {
        let team = arena_entry.team.map(|team| format!("@{team}"));
        let password = arena_entry.password.map(|password| format!(":{password}"));
        format!(
            "{}{}{}",
            arena_entry.id,
            team.unwrap_or_default(),
            password.unwrap_or_default()
        )
    }
}

/// A team whose arenas are joined: `TEAM` or `TEAM:PASSWORD`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TeamEntry {
    /// The id, the last part of the address of the team.
    pub team: String,
    /// The password needed to join the team.
    pub password: Option<String>,
}

impl TryFrom<String> for TeamEntry {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text = address::after_host(&text, Page::Team).unwrap_or(&text);
        let (team, password) = match text.split_once(':') {
            Some((team, password)) => (team, Some(password.to_owned())),
            None => (text, None),
        };
        let team = address::first_segment(team);
        let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let is_team = !team.is_empty() && team.len() <= 80 && team.chars().all(fits);
        let no_password = |text: &str| text.is_empty() || text.starts_with("//");
        if !is_team || password.as_deref().is_some_and(no_password) {
            return Err(
                "expected the team's address or the end of it, then perhaps :PASSWORD, as in \"our-team\" or \"our-team:secret\""
                    .to_owned(),
            );
        }
        Ok(Self {
            team: team.to_owned(),
            password,
        })
    }
}

impl From<TeamEntry> for String {
    fn from(entry: TeamEntry) -> Self {
        let password = entry.password.map(|password| format!(":{password}"));
        entry.team + &password.unwrap_or_default()
    }
}

/// Without the password.
impl fmt::Debug for TeamEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.team)?;
        match self.password {
            Some(_) => f.write_str(":***"),
            None => Ok(()),
        }
    }
}

/// Without the password.
impl fmt::Debug for ArenaEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        if let Some(team) = &self.team {
            write!(f, "@{team}")?;
        }
        match self.password {
            Some(_) => f.write_str(":***"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn team_entry_with_password_round_trips() {
        let read = |text: &str| TeamEntry::try_from(text.to_owned());
        let open = read("our-team").unwrap();
        assert_eq!((open.team.as_str(), open.password), ("our-team", None));
        let closed = read("our-team:a:b").unwrap();
        assert_eq!(format!("{closed:?}"), "our-team:***");
        assert_eq!(String::from(closed), "our-team:a:b");
        for text in [
            "",
            "our team",
            "our-team:",
            "https://lichess.org/tournament/may24bot",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let copied = read("https://lichess.org/team/our-team:secret").unwrap();
        assert_eq!(String::from(copied), "our-team:secret");
    }

    #[test]
    fn arena_entry_with_team_and_password_round_trips() {
        for (text, id, team, password) in [
            ("may24bot", "may24bot", None, None),
            ("may24bot:a:b@c", "may24bot", None, Some("a:b@c")),
            ("may24bot@the-bots", "may24bot", Some("the-bots"), None),
            ("may24bot@x:y", "may24bot", Some("x"), Some("y")),
        ] {
            let arena_entry: ArenaEntry = text.parse().unwrap();
            assert_eq!(arena_entry.id.as_str(), id);
            assert_eq!(arena_entry.team.as_deref(), team);
            assert_eq!(arena_entry.password.as_deref(), password);
            assert_eq!(String::from(arena_entry), text);
        }
        for text in [
            "",
            "short",
            "may24bot1",
            "may24bot:",
            "may24bot@",
            "https://lichess.org/team/may24bot",
            "https://lichess.org/nuJDRHEf",
        ] {
            assert!(text.parse::<ArenaEntry>().is_err(), "{text}");
        }
        for (text, id) in [
            ("https://lichess.org/tournament/may24bot", "may24bot"),
            ("lichess.org/tournament/may24bot?ref=x", "may24bot"),
            (
                "http://127.0.0.1:9663/tournament/may24bot@the-bots:a/b",
                "may24bot@the-bots:a/b",
            ),
        ] {
            let arena_entry: ArenaEntry = text.parse().unwrap();
            assert_eq!(String::from(arena_entry), id, "{text}");
        }
        let shown = format!("{:?}", "may24bot@x:secret".parse::<ArenaEntry>().unwrap());
        assert_eq!(shown, "may24bot@x:***");
    }
}
