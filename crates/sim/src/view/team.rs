//! Views of teams.

use serde::Serialize;

use crate::site::team::Team;
use crate::site::{SiteState, UserId};
use crate::view::user::{light_user, user_json};
use crate::wire::{self, LightUser, UserJson};

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
    user: UserJson,
    #[serde(rename = "joinedTeamAt")]
    joined_team_at: &'a i64,
}

pub(crate) fn team_json(state: &SiteState, team: &Team, me: Option<&UserId>) -> TeamJson {
    let leader = team.leader.as_ref().map(|id| light_user(state, id));
    TeamJson {
        id: team.id.to_string(),
        name: team.name.clone(),
        description: String::new(),
        open: team.is_open(),
        leaders: leader.iter().cloned().collect(),
        leader,
        nb_members: team.members.len(),
        joined: me.map(|me| team.members.contains_key(me)),
        requested: me.map(|_| false),
    }
}

/// One JSON line per member, in order of joining.
pub(crate) fn members(state: &SiteState, team: &Team) -> Vec<String> {
    let mut members: Vec<_> = team.members.iter().collect();
    members.sort_by_key(|(_, since)| **since);
    members
        .into_iter()
        .map(|(id, since)| {
            wire::json(&MemberJson {
                user: user_json(state.users.get(id)),
                joined_team_at: &since.0,
            })
        })
        .collect()
}
