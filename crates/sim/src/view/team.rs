//! Views of teams.

use crate::site::team::Team;
use crate::site::{SiteState, UserId};
use crate::view::user::{light_user, user_json};
use crate::wire::{self, Object, object};

pub(crate) fn team_json(state: &SiteState, team: &Team, me: Option<&UserId>) -> Object {
    let leader = team.leader.as_ref().map(|id| light_user(state, id));
    object("id", team.id.to_string())
        .set("name", &team.name)
        .set("description", "")
        .set("open", team.is_open())
        .set("leader", &leader)
        .set("leaders", leader.iter().collect::<Vec<_>>())
        .set("nbMembers", team.members.len())
        .maybe("joined", me.map(|me| team.members.contains_key(me)))
        .maybe("requested", me.map(|me| team.requests.contains(me)))
}

/// One JSON line per member, in order of joining.
pub(crate) fn members(state: &SiteState, team: &Team) -> Vec<String> {
    let mut members: Vec<_> = team.members.iter().collect();
    members.sort_by_key(|(_, since)| **since);
    let lines = members.into_iter().map(|(id, since)| {
        wire::json(&user_json(state.users.get(id)).set("joinedTeamAt", since.0))
    });
    lines.collect()
}
