//! Teams: who is in them, and how one gets in.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::sim::arena::names;
use crate::sim::http::error::ApiError;
use crate::sim::options::NewUser;
use crate::sim::players::parse_spec;
use crate::sim::site::id::UserId;
use crate::sim::site::state::SiteState;
use crate::sim::site::time::SimTime;
use crate::sim::wire::{self, LightUser};

/// A team to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct NewTeam {
    pub name: String,
    /// Who wants to be in it has to know it.
    pub password: Option<String>,
    /// Who wants to be in it has to write a message, and is let in without anybody reading it.
    pub by_message: bool,
    /// May hold arenas for the team alone; a member.
    pub leader: Option<String>,
    #[serde(deserialize_with = "names")]
    pub members: Vec<String>,
}

impl NewTeam {
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// `NAME,password=..,leader=NAME,members=A,members=B`, as on the command line.
impl FromStr for NewTeam {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let team: Self = parse_spec(text)?;
        if TeamId::of(&team.name).0.is_empty() {
            return Err(format!("`{}` is no name of a team", team.name));
        }
        Ok(team)
    }
}

/// The name in small letters and dashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::sim) struct TeamId(String);

impl TeamId {
    pub fn of(name: &str) -> Self {
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

#[derive(Clone, Debug)]
pub(in crate::sim) struct Team {
    pub id: TeamId,
    pub name: String,
    pub password: Option<String>,
    by_message: bool,
    pub leader: Option<UserId>,
    /// With the time of joining.
    pub members: BTreeMap<UserId, SimTime>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sim) struct TeamJson {
    id: String,
    name: String,
    description: String,
    open: bool,
    leader: Option<LightUser>,
    leaders: Vec<LightUser>,
    nb_members: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    joined: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<bool>,
}

#[derive(Serialize)]
struct MemberJson<'a> {
    #[serde(flatten)]
    user: wire::UserJson,
    #[serde(rename = "joinedTeamAt")]
    joined_team_at: &'a i64,
}

impl SiteState {
    /// Makes a team; its leader and members get accounts if they have none.
    pub fn add_team(&mut self, team: NewTeam, now: SimTime) {
        let id = TeamId::of(&team.name);
        let leader = team.leader.as_deref().map(UserId::of);
        let mut members = BTreeMap::new();
        for name in team.leader.iter().chain(&team.members) {
            self.add_user(NewUser::human(name), now);
            members.insert(UserId::of(name), now);
        }
        let team = Team {
            id: id.clone(),
            name: team.name,
            password: team.password,
            by_message: team.by_message,
            leader,
            members,
        };
        self.teams.insert(id, team);
    }

    pub fn find_team(&self, id: &str) -> Result<&Team, ApiError> {
        self.teams
            .get(&TeamId::of(id))
            .ok_or_else(ApiError::not_found)
    }

    pub fn is_member(&self, team: &TeamId, user: &UserId) -> bool {
        self.teams
            .get(team)
            .is_some_and(|team| team.members.contains_key(user))
    }

    pub fn join_team(
        &mut self,
        me: &UserId,
        id: &str,
        password: Option<&str>,
        message: Option<&str>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let team = self
            .teams
            .get_mut(&TeamId::of(id))
            .ok_or_else(ApiError::not_found)?;
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
        team.members.insert(me.clone(), now);
        Ok(())
    }

    /// Who leaves a team leaves its arenas too.
    pub fn quit_team(&mut self, me: &UserId, id: &str) -> Result<(), ApiError> {
        let team = self
            .teams
            .get_mut(&TeamId::of(id))
            .ok_or_else(ApiError::not_found)?;
        team.members.remove(me);
        let id = team.id.clone();
        self.leave_arenas_of(&id, me);
        Ok(())
    }

    pub fn team_json(&self, team: &Team, me: Option<&UserId>) -> TeamJson {
        let leader = team.leader.as_ref().map(|id| self.light_user(id));
        TeamJson {
            id: team.id.to_string(),
            name: team.name.clone(),
            description: String::new(),
            open: team.password.is_none() && !team.by_message,
            leaders: leader.iter().cloned().collect(),
            leader,
            nb_members: team.members.len(),
            joined: me.map(|me| team.members.contains_key(me)),
            requested: me.map(|_| false),
        }
    }

    /// One line for each member, who came first first.
    pub fn team_members(&self, team: &Team) -> Vec<String> {
        let mut members: Vec<_> = team.members.iter().collect();
        members.sort_by_key(|(_, since)| **since);
        members
            .into_iter()
            .map(|(id, since)| {
                wire::json(&MemberJson {
                    user: self.user(id).json(),
                    joined_team_at: &since.0,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_in_one_line() {
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
}
