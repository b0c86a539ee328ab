//! Calls about accounts and tokens.

use super::{Answer, Asked, NDJSON, Reply};
use crate::sim::Sim;
use crate::sim::http::error::Failure;
use crate::sim::site::id::UserId;
use crate::sim::site::users::Face;
use crate::sim::site::variant::Variant;
use crate::sim::wire::{self, Ordered, PlayingJson, Relation, TokenInfo};

pub(super) fn test_tokens(sim: &Sim, asked: &Asked<'_>) -> Reply {
    let text = String::from_utf8_lossy(asked.body);
    let world = sim.world();
    let tokens = text.trim().split(',').filter(|token| !token.is_empty());
    let known = tokens.take(1_000).map(|token| {
        let info = world.grant(token).map(|grant| TokenInfo {
            user_id: grant.user.to_string(),
            scopes: grant.scopes.join(","),
            expires: None,
        });
        (token.to_owned(), info)
    });
    Reply::json(&Ordered(known.collect()))
}

pub(super) fn bots_online(sim: &Sim, asked: &Asked<'_>) -> Reply {
    let now = sim.time().now();
    let world = sim.world();
    let bots = world.users.values().filter(|user| user.is_listed(now));
    let lines = bots
        .take(asked.number("nb", 100, 512))
        .map(|user| wire::json(&user.json()) + "\n");
    Reply::Text {
        kind: NDJSON,
        text: lines.collect(),
    }
}

pub(super) fn users_status(sim: &Sim, asked: &Asked<'_>) -> Answer {
    let ids = asked.params.get("ids").unwrap_or_default();
    let ids: Vec<&str> = ids
        .split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty())
        .collect();
    if ids.is_empty() {
        return Err(Failure::bad("No user ids provided"));
    }
    let now = sim.time().now();
    let world = sim.world();
    let with = |name| asked.params.is_true(name);
    let statuses: Vec<_> = ids
        .into_iter()
        .take(100)
        .filter_map(|id| world.user_by_name(id))
        .map(|user| {
            let game = user.playing.last().and_then(|id| world.rounds.get(id));
            let playing = game.map(|round| match with("withGameMetas") {
                false => PlayingJson::Yes(true),
                true => PlayingJson::Game {
                    id: round.id.to_string(),
                    clock: round.time_control.show(),
                    variant: (round.variant != Variant::Standard).then(|| round.variant.key()),
                },
            });
            user.status(now, with("withSignal"), with("withGameIds"), playing)
        })
        .collect();
    Ok(Reply::json(&statuses))
}

pub(super) fn user(sim: &Sim, asked: &Asked<'_>, name: &str) -> Answer {
    let world = sim.world();
    let user = world.find_user(name)?;
    // Who shows a token is told how he stands to this user; a bad one is as good as none.
    let relation = world.authorize(asked.headers, &[]).ok().map(|me| {
        let ties = &world.user(&me.user).ties;
        Relation {
            followable: true,
            following: ties.follows(&user.id),
            blocking: ties.blocks(&user.id),
        }
    });
    Ok(Reply::json(&world.profile(user, relation)))
}

pub(super) fn account(sim: &Sim, me: &UserId) -> Answer {
    let world = sim.world();
    if world.user(me).face != Face::User {
        return Err(Failure::new(401, "No such user"));
    }
    let relation = Relation {
        followable: true,
        following: false,
        blocking: false,
    };
    Ok(Reply::json(&world.profile(world.user(me), Some(relation))))
}

pub(super) fn upgrade(sim: &Sim, me: &UserId) -> Answer {
    let mut world = sim.world();
    let user = world.user_mut(me);
    if user.tally.all > 0 || !user.playing.is_empty() {
        return Err(Failure::bad(
            "You already have games played. Make a new account.",
        ));
    }
    user.become_bot();
    world.leave_all_arenas(me);
    Ok(Reply::ok())
}
