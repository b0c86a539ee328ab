//! Games against the site's engine, and hands on the clocks of other games.

use super::{Answer, Asked, Reply};
use crate::sim::Sim;
use crate::sim::failure::Failure;
use crate::sim::form;
use crate::sim::id::{GameId, UserId};
use crate::sim::limits::{AI_GAMES, SETUPS};
use crate::sim::referee::{Centis, GameError};
use crate::sim::round::{COLORS, Source};
use crate::sim::users::Face;
use crate::sim::wire;

/// What a gift of time may be, in seconds; others become the nearest of these.
const GIFTS: (u32, u32) = (5, 60);

pub(super) fn play_engine(sim: &Sim, asked: &Asked<'_>, me: &UserId) -> Answer {
    let wanted = form::wanted(&asked.params)?;
    let level = form::level(&asked.params)?;
    let now = sim.time().now();
    {
        let mut world = sim.world();
        world.limits.charge(&SETUPS, &asked.address, 1, now)?;
        if world.user(me).bot {
            world.limits.charge(&AI_GAMES, me.as_str(), 1, now)?;
        }
    }
    let engine = sim.engine_of_level(level);
    let mut world = sim.world();
    let id = world.play_engine(me, engine, wanted, now);
    let game = world.rounds.get(&id).and_then(|round| round.ai_game(me));
    Ok(Reply::Created(wire::json(&game)))
}

/// Who organised a game starts its clock, with the tokens of both players.
pub(super) fn start_clocks(sim: &Sim, asked: &Asked<'_>, id: GameId) -> Answer {
    const SCOPE: &str = "challenge:write";
    let now = sim.time().now();
    let mut world = sim.world();
    let mut users = Vec::new();
    for name in ["token1", "token2"] {
        let Some(token) = asked.params.get(name) else {
            continue;
        };
        let grant = world.grant(token);
        let grant = grant.ok_or_else(|| Failure::new(401, "No such token"))?;
        if !grant.scopes.iter().any(|scope| scope == SCOPE) {
            return Err(Failure::new(403, &format!("Missing scope: {SCOPE}")));
        }
        users.push(grant.user.clone());
    }
    match &users[..] {
        [] => return Err(Failure::new(401, "Missing authorization header")),
        [one, other] if one == other => {
            return Err(Failure::new(401, "Both tokens belong to the same user"));
        }
        _ => {}
    }
    let round = world.rounds.get_mut(&id).ok_or_else(Failure::not_found)?;
    // An engine has no token.
    let all_agree = COLORS.into_iter().all(|color| {
        let side = round.side(color);
        matches!(side.face, Face::Ai(_)) || users.contains(&side.user)
    });
    let all_play = users.iter().all(|user| round.color_of(user).is_some());
    if !(all_agree && all_play) {
        return Err(Failure::not_found());
    }
    round.referee.start_clock(now);
    Ok(Reply::ok())
}

pub(super) fn add_time(sim: &Sim, me: &UserId, id: GameId, seconds: u32) -> Answer {
    let now = sim.time().now();
    let mut world = sim.world();
    let (round, color) = world
        .player_of(me, Some(id))
        .map_err(|_| Failure::not_found())?;
    if matches!(round.source, Source::Arena { .. }) {
        return Err(GameError::CannotGiveTime.into());
    }
    let gift = Centis::seconds(seconds.clamp(GIFTS.0, GIFTS.1));
    let is_pushed = world.quirks.add_time_push;
    world.rule(
        id,
        |referee| {
            let mut ruling = referee.give_time(color, gift, now);
            if !is_pushed {
                ruling.snapshots.clear();
            }
            ruling
        },
        now,
    )?;
    Ok(Reply::ok())
}
