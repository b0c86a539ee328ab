//! Calls about challenges.

use super::{Answer, Asked, Reply};
use crate::sim::Sim;
use crate::sim::call::ChallengeCall;
use crate::sim::challenge::DeclineReason;
use crate::sim::form;
use crate::sim::id::{GameId, UserId};
use crate::sim::limits::CHALLENGES_FROM;
use crate::sim::stream::Topic;

pub(super) fn create(sim: &Sim, asked: &Asked<'_>, me: &UserId, name: &str) -> Answer {
    let wanted = form::wanted(&asked.params)?;
    let now = sim.time().now();
    let mut world = sim.world();
    world
        .limits
        .charge(&CHALLENGES_FROM, &asked.address, 1, now)?;
    let (id, feed) = world.challenge(me, name, wanted, now)?;
    match feed {
        Some(feed) => Ok(Reply::Stream {
            topic: Topic::Challenge { id },
            feed,
        }),
        None => Ok(Reply::json(&world.show_challenge(me, id, now)?)),
    }
}

pub(super) fn about(
    sim: &Sim,
    asked: &Asked<'_>,
    me: &UserId,
    id: GameId,
    call: ChallengeCall,
) -> Answer {
    let now = sim.time().now();
    let mut world = sim.world();
    match call {
        ChallengeCall::Show => return Ok(Reply::json(&world.show_challenge(me, id, now)?)),
        ChallengeCall::Accept => world.accept(me, id, now)?,
        ChallengeCall::Decline => {
            let reason = asked.params.get("reason").unwrap_or("generic");
            world.decline(me, id, DeclineReason::from_key(reason), now)?;
        }
        ChallengeCall::Cancel => {
            let token = asked.params.get("opponentToken");
            let opponent = token.map(|token| world.grant(token).map(|grant| grant.user.clone()));
            world.cancel(me, id, opponent, now)?;
        }
    }
    Ok(Reply::ok())
}
