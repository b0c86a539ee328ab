//! Calls about teams, and what little there is of swiss tournaments.

use super::{Answer, Asked, Reply};
use crate::sim::Sim;
use crate::sim::failure::Failure;
use crate::sim::gathering::TeamCall;
use crate::sim::id::UserId;
use crate::sim::wire;

/// Most arenas of a team that are listed.
const MOST: usize = 100;

pub(super) fn about(
    sim: &Sim,
    asked: &Asked<'_>,
    me: Option<&UserId>,
    id: &str,
    call: TeamCall,
) -> Answer {
    let now = sim.time().now();
    let mut world = sim.world();
    match (call, me) {
        (TeamCall::Join, Some(me)) => {
            let (password, message) = (asked.params.get("password"), asked.params.get("message"));
            world.join_team(me, id, password, message, now)?;
            Ok(Reply::ok())
        }
        (TeamCall::Quit, Some(me)) => {
            world.quit_team(me, id)?;
            Ok(Reply::ok())
        }
        (TeamCall::Show, _) => {
            let visitor = asked.visitor(&world);
            let team = world.find_team(id)?;
            Ok(Reply::json(&world.team_json(team, visitor.as_ref())))
        }
        (TeamCall::Users, _) => Ok(Reply::lines(world.team_members(world.find_team(id)?))),
        (TeamCall::Arenas, _) => {
            let team = &world.find_team(id)?.id;
            let arenas = world
                .arenas
                .iter()
                .rev()
                .filter(|arena| arena.is_for_team(team));
            let lines = arenas.take(asked.number("max", MOST, MOST));
            Ok(Reply::lines(
                lines.map(|arena| wire::json(&world.listed(arena, now))),
            ))
        }
        (TeamCall::Join | TeamCall::Quit, None) => Err(Failure::no_page()),
    }
}

pub(super) fn of_user(sim: &Sim, asked: &Asked<'_>, name: &str) -> Answer {
    let world = sim.world();
    let user = world.find_user(name)?.id.clone();
    let visitor = asked.visitor(&world);
    let teams = world.teams.values();
    let teams: Vec<_> = teams
        .filter(|team| team.members.contains_key(&user))
        .map(|team| world.team_json(team, visitor.as_ref()))
        .collect();
    Ok(Reply::json(&teams))
}

/// There are no swiss tournaments here, and bots may not play in any.
pub(super) fn swiss(sim: &Sim, me: &UserId) -> Answer {
    if sim.world().user(me).bot {
        return Err(Failure::not_for_bots());
    }
    Err(Failure::not_found())
}
