//! Calls about arenas.

use super::{Answer, Asked, NDJSON, Reply, team};
use crate::sim::Sim;
use crate::sim::arena::{Arena, JoinRequest, arena_form};
use crate::sim::export;
use crate::sim::failure::Failure;
use crate::sim::gathering::{ArenaCall, Gathering};
use crate::sim::id::{ArenaId, UserId};
use crate::sim::limits::ARENA_JOINS;
use crate::sim::round::Round;
use crate::sim::time::Moment;
use crate::sim::wire;
use crate::sim::world::World;

/// Most lines of a list.
const MOST: usize = 10_000;

/// `me` is there whenever the call needs a token.
pub(super) fn gather(
    sim: &Sim,
    asked: &Asked<'_>,
    me: Option<&UserId>,
    call: Gathering<'_>,
) -> Answer {
    match (call, me) {
        (Gathering::ArenaList, _) => Ok(list(sim)),
        (Gathering::ArenaCreate, Some(me)) => create(sim, asked, me),
        (Gathering::Arena(id, call), _) => about(sim, asked, me, id, call),
        (Gathering::ArenasCreatedBy(name), _) => created_by(sim, asked, name),
        (Gathering::ArenasPlayedBy(name), _) => played_by(sim, asked, name),
        (Gathering::Team(id, call), _) => team::about(sim, asked, me, id, call),
        (Gathering::TeamsOf(name), _) => team::of_user(sim, asked, name),
        (Gathering::SwissShow, _) => Err(Failure::not_found()),
        (Gathering::SwissEnter, Some(me)) => team::swiss(sim, me),
        (Gathering::ArenaCreate | Gathering::SwissEnter, None) => Err(Failure::no_page()),
    }
}

fn list(sim: &Sim) -> Reply {
    let now = sim.time().now();
    Reply::json(&sim.world().arena_lists(now))
}

fn create(sim: &Sim, asked: &Asked<'_>, me: &UserId) -> Answer {
    let now = sim.time().now();
    let mut world = sim.world();
    if world.user(me).bot {
        return Err(Failure::new(404, "This account cannot create tournaments"));
    }
    let name = world.user(me).name.clone();
    let leads = |team: &str| {
        world
            .find_team(team)
            .is_ok_and(|team| team.leader.as_ref() == Some(me))
    };
    let options = arena_form(&asked.params, &name, leads, now)?;
    let id = world.add_arena(&options, now).map_err(Failure::bad)?;
    shown(&world, asked, Some(me), id, now)
}

fn shown(
    world: &World,
    asked: &Asked<'_>,
    me: Option<&UserId>,
    id: ArenaId,
    now: Moment,
) -> Answer {
    let arena = world.arenas.get(id).ok_or_else(Failure::not_found)?;
    let page = asked.params.get("page").and_then(|page| page.parse().ok());
    Ok(Reply::json(&world.arena_json(arena, page, me, now)))
}

fn about(
    sim: &Sim,
    asked: &Asked<'_>,
    me: Option<&UserId>,
    id: ArenaId,
    call: ArenaCall,
) -> Answer {
    let now = sim.time().now();
    let mut world = sim.world();
    if let (ArenaCall::Join | ArenaCall::Withdraw, Some(me)) = (call, me) {
        if call == ArenaCall::Withdraw {
            world.leave_arena(me, id, now)?;
        } else {
            world.limits.charge(&ARENA_JOINS, me.as_str(), 1, now)?;
            world.join_arena(me, id, &entry(asked), now)?;
        }
        return Ok(Reply::ok());
    }
    let arena = world.arenas.get(id).ok_or_else(Failure::not_found)?;
    match call {
        ArenaCall::Show => shown(&world, asked, asked.visitor(&world).as_ref(), id, now),
        ArenaCall::Results => {
            let nb = asked.number("nb", MOST, MOST);
            let sheet = asked.params.is_true("sheet");
            Ok(Reply::lines(world.arena_results(arena, nb, sheet)))
        }
        ArenaCall::Games => Ok(games(&world, asked, arena)),
        ArenaCall::Teams => world
            .team_standing(arena)
            .map(|standing| Reply::json(&standing))
            .ok_or_else(Failure::not_found),
        ArenaCall::Join | ArenaCall::Withdraw => Err(Failure::no_page()),
    }
}

fn entry(asked: &Asked<'_>) -> JoinRequest {
    let text = |name| asked.params.get(name).map(str::to_owned);
    JoinRequest {
        password: text("password"),
        team: text("team"),
        pair_me_asap: asked.params.is_true("pairMeAsap"),
    }
}

/// All games, or those of one player, that the site still has.
fn games(world: &World, asked: &Asked<'_>, arena: &Arena) -> Reply {
    let player = asked.params.get("player").map(UserId::of);
    let of_player = |round: &&Round| {
        player
            .as_ref()
            .is_none_or(|player| round.color_of(player).is_some())
    };
    let ids = arena.all_games();
    let rounds = ids.iter().filter_map(|id| world.rounds.get(id));
    let rounds = rounds.filter(of_player);
    if asked.accepts(NDJSON) {
        return Reply::lines(
            rounds.map(|round| wire::json(&export::game_json(round, &asked.params, &world.base))),
        );
    }
    let games = rounds.map(|round| export::pgn(round, &asked.params, &world.base) + "\n\n");
    Reply::Text {
        kind: "application/x-chess-pgn",
        text: games.collect(),
    }
}

fn created_by(sim: &Sim, asked: &Asked<'_>, name: &str) -> Answer {
    let now = sim.time().now();
    let world = sim.world();
    let user = world.find_user(name)?.id.clone();
    let arenas = world.arenas.iter().rev();
    let mine = arenas.filter(|arena| arena.created_by.as_ref() == Some(&user));
    let asked_for = |arena: &&Arena| match asked.params.get("status") {
        None => true,
        Some(status) => status.parse() == Ok(arena.status.id()),
    };
    let nb = asked.number("nb", MOST, MOST);
    let lines = mine.filter(asked_for).take(nb);
    Ok(Reply::lines(
        lines.map(|arena| wire::json(&world.listed(arena, now))),
    ))
}

fn played_by(sim: &Sim, asked: &Asked<'_>, name: &str) -> Answer {
    let now = sim.time().now();
    let world = sim.world();
    let user = world.find_user(name)?.id.clone();
    let played = world.arenas_played(&user, now);
    let nb = asked.number("nb", MOST, MOST);
    Ok(Reply::lines(played.iter().take(nb).map(wire::json)))
}
