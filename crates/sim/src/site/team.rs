//! Teams and their members.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::site::{ApiError, SimTime, UserId};
use crate::spec::{names, parse_spec};

/// Options of a new team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct NewTeam {
    /// Name, with at least one letter or digit.
    pub name: String,
    /// Password required to join.
    pub password: Option<String>,
    /// Requires a message to join, and the leader to accept the request.
    pub by_message: bool,
    /// Name of the leader, who is a member and may create arenas restricted to the team.
    pub leader: Option<String>,
    /// Names of further members.
    #[serde(deserialize_with = "names")]
    pub members: Vec<String>,
}

impl NewTeam {
    /// Creates the options of a team that everybody may join.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// Parses `NAME,password=..,leader=NAME,members=A,members=B` as on the command line.
impl FromStr for NewTeam {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let team: Self = parse_spec(text)?;
        if TeamId::of(&team.name).0.is_empty() {
            return Err(format!(
                "`{}` is not a team name: it needs at least one letter or digit",
                team.name
            ));
        }
        Ok(team)
    }
}

/// Id of a team: the words of its name in lower case, joined by hyphens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TeamId(String);

impl TeamId {
    pub(crate) fn of(name: &str) -> Self {
        let words: Vec<String> = name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        Self(words.join("-"))
    }
}

impl fmt::Display for TeamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A team and its members.
#[derive(Clone, Debug)]
pub(crate) struct Team {
    pub id: TeamId,
    pub name: String,
    password: Option<String>,
    by_message: bool,
    pub leader: Option<UserId>,
    /// Members with the time at which they joined.
    pub members: BTreeMap<UserId, SimTime>,
    /// Users whose request to join waits for the leader.
    pub requests: BTreeSet<UserId>,
}

impl Team {
    /// Returns whether everybody may join.
    pub(crate) fn is_open(&self) -> bool {
        self.password.is_none() && !self.by_message
    }
}

/// All teams.
#[derive(Default)]
pub(crate) struct Teams(BTreeMap<TeamId, Team>);

impl Teams {
    /// Creates a team of these users.
    pub(crate) fn add(&mut self, team: NewTeam, now: SimTime) {
        let id = TeamId::of(&team.name);
        let names = team.leader.iter().chain(&team.members);
        let team = Team {
            id: id.clone(),
            members: names.map(|name| (UserId::of(name), now)).collect(),
            name: team.name,
            password: team.password,
            by_message: team.by_message,
            leader: team.leader.as_deref().map(UserId::of),
            requests: BTreeSet::new(),
        };
        self.0.insert(id, team);
    }

    pub(crate) fn get(&self, id: &TeamId) -> Option<&Team> {
        self.0.get(id)
    }

    pub(crate) fn find(&self, id: &str) -> Result<&Team, ApiError> {
        self.get(&TeamId::of(id)).ok_or_else(ApiError::not_found)
    }

    fn find_mut(&mut self, id: &str) -> Result<&mut Team, ApiError> {
        let team = self.0.get_mut(&TeamId::of(id));
        team.ok_or_else(ApiError::not_found)
    }

    /// Teams of a user.
    pub(crate) fn of<'a>(&'a self, user: &'a UserId) -> impl Iterator<Item = &'a Team> {
        let teams = self.0.values();
        teams.filter(|team| team.members.contains_key(user))
    }

    pub(crate) fn is_member(&self, team: &TeamId, user: &UserId) -> bool {
        self.get(team)
            .is_some_and(|team| team.members.contains_key(user))
    }

    /// Adds a member without any check, if the team exists.
    pub(crate) fn add_member(&mut self, team: &TeamId, user: &UserId, now: SimTime) {
        if let Some(team) = self.0.get_mut(team) {
            team.members.entry(user.clone()).or_insert(now);
        }
    }

    /// Joins a team, or requests to join it.
    pub(crate) fn join(
        &mut self,
        me: &UserId,
        id: &str,
        password: Option<&str>,
        message: Option<&str>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let team = self.find_mut(id)?;
        if team.members.contains_key(me) {
            return Ok(());
        }
        if team.password.is_some() && team.password.as_deref() != password {
            return Err(ApiError::new(403, "Incorrect password"));
        }
        let long_enough = |text: &str| (30..=2_000).contains(&text.chars().count());
        if team.by_message && !message.is_some_and(long_enough) {
            return Err(ApiError::new(403, "This team requires a message"));
        }
        if team.by_message {
            team.requests.insert(me.clone());
        } else {
            team.members.insert(me.clone(), now);
        }
        Ok(())
    }

    /// Accepts a request to join the team of this leader.
    pub(crate) fn accept(
        &mut self,
        me: &UserId,
        id: &str,
        user: &UserId,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let team = self.find_mut(id)?;
        if team.leader.as_ref() != Some(me) {
            return Err(ApiError::bad_request("Insufficient team permissions"));
        }
        if !team.requests.remove(user) {
            return Err(ApiError::not_found());
        }
        team.members.insert(user.clone(), now);
        Ok(())
    }

    /// Removes a member. Returns the id of the team.
    pub(crate) fn quit(&mut self, me: &UserId, id: &str) -> Result<TeamId, ApiError> {
        let team = self.find_mut(id)?;
        team.members.remove(me);
        team.requests.remove(me);
        Ok(team.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_team_parses_from_option() {
        let team: NewTeam = "The Bots!,password=x,leader=Ann,members=B1,members=B2,by-message"
            .parse()
            .unwrap();
        assert_eq!(TeamId::of(&team.name).to_string(), "the-bots");
        assert_eq!(team.members, ["B1", "B2"]);
        assert!(team.by_message);
        for text in ["", "!,password=x", "Bots,size=3"] {
            assert!(text.parse::<NewTeam>().is_err(), "{text}");
        }
    }

    #[test]
    fn team_checks_password_and_message() {
        let mut teams = Teams::default();
        let team = "The Bots,password=x,leader=Ann,by-message";
        teams.add(team.parse().unwrap(), SimTime(0));
        let id = TeamId::of("The Bots");
        let (ann, bob) = (UserId::of("Ann"), UserId::of("Bob"));
        assert!(teams.is_member(&id, &ann) && !teams.find("the-bots").unwrap().is_open());
        let long = "I play every day and would like to join.";
        for (password, message) in [(None, Some(long)), (Some("x"), Some("hi"))] {
            let refused = teams.join(&bob, "the-bots", password, message, SimTime(1));
            assert_eq!(refused.unwrap_err().status, 403);
        }
        let requested = teams.join(&bob, "the-bots", Some("x"), Some(long), SimTime(1));
        assert!(requested.is_ok() && !teams.is_member(&id, &bob));
        let by_bob = teams.accept(&bob, "the-bots", &bob, SimTime(2));
        assert_eq!(by_bob.unwrap_err().status, 400);
        let by_ann = teams.accept(&ann, "the-bots", &bob, SimTime(2));
        assert!(by_ann.is_ok() && teams.is_member(&id, &bob));
        let again = teams.accept(&ann, "the-bots", &bob, SimTime(3));
        assert_eq!(again.unwrap_err().status, 404);
        assert_eq!(teams.of(&bob).count(), 1);
        teams.quit(&bob, "the-bots").unwrap();
        assert_eq!(teams.of(&bob).count(), 0);
        assert_eq!(teams.quit(&bob, "nobody").unwrap_err().status, 404);
    }
}
