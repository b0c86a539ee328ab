//! Teams and their members.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::arena::names;
use crate::http::error::ApiError;
use crate::options::NewUser;
use crate::players::parse_spec;
use crate::site::id::UserId;
use crate::site::state::SiteState;
use crate::site::time::SimTime;
use crate::wire::{self, LightUser};

/// Options of a new team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct NewTeam {
    pub name: String,
    /// Password required to join.
    pub password: Option<String>,
    /// Requires a message to join; the request is accepted automatically.
    pub by_message: bool,
    /// Name of the leader, who is a member and may create arenas restricted to the team.
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

#[derive(Clone, Debug)]
pub(crate) struct Team {
    pub id: TeamId,
    pub name: String,
    pub password: Option<String>,
    by_message: bool,
    pub leader: Option<UserId>,
    /// Members with the time at which they joined.
    pub members: BTreeMap<UserId, SimTime>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TeamJson {
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
    /// Creates a team. Accounts of leader and members are created if missing.
    pub(crate) fn add_team(&mut self, team: NewTeam, now: SimTime) {
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

    pub(crate) fn find_team(&self, id: &str) -> Result<&Team, ApiError> {
        self.teams
            .get(&TeamId::of(id))
            .ok_or_else(ApiError::not_found)
    }

    pub(crate) fn is_member(&self, team: &TeamId, user: &UserId) -> bool {
        self.teams
            .get(team)
            .is_some_and(|team| team.members.contains_key(user))
    }

    pub(crate) fn join_team(
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

    /// Leaves a team and its arenas.
    pub(crate) fn quit_team(&mut self, me: &UserId, id: &str) -> Result<(), ApiError> {
        let team = self
            .teams
            .get_mut(&TeamId::of(id))
            .ok_or_else(ApiError::not_found)?;
        team.members.remove(me);
        let id = team.id.clone();
        self.leave_arenas_of(&id, me);
        Ok(())
    }

    pub(crate) fn team_json(&self, team: &Team, me: Option<&UserId>) -> TeamJson {
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

    /// One JSON line per member, in order of joining.
    pub(crate) fn team_members(&self, team: &Team) -> Vec<String> {
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
}
