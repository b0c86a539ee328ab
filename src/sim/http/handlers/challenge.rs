//! Calls about challenges.

use super::{Answer, Asked, Reply};
use crate::chess::Color;
use crate::sim::Sim;
use crate::sim::challenge::DeclineReason;
use crate::sim::challenge::form;
use crate::sim::challenge::open::Open;
use crate::sim::http::auth::bearer;
use crate::sim::http::error::Failure;
use crate::sim::http::limits::CHALLENGES_FROM;
use crate::sim::http::route::ChallengeCall;
use crate::sim::http::stream::Topic;
use crate::sim::site::id::{GameId, UserId};

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

/// A challenge to whoever comes; with a token the site remembers whose it is.
pub(super) fn open(sim: &Sim, asked: &Asked<'_>) -> Answer {
    let now = sim.time().now();
    let mut world = sim.world();
    let creator = match bearer(asked.headers) {
        None => None,
        Some(_) => Some(world.authorize(asked.headers, &["challenge:write"])?.user),
    };
    let wanted = form::wanted(&asked.params)?;
    let terms = form::open_terms(&asked.params, now)?;
    world
        .limits
        .charge(&CHALLENGES_FROM, &asked.address, 1, now)?;
    let players = match terms.players {
        None => None,
        Some(names) => {
            let known = names.each_ref().map(|name| world.user_by_name(name));
            let [Some(white), Some(black)] = known else {
                return Err(Failure::form(&[("users", "Invalid value".to_owned())]));
            };
            Some([white.id.clone(), black.id.clone()])
        }
    };
    let open = Open {
        creator,
        players,
        expires_at: terms.expires_at,
    };
    Ok(Reply::json(&world.open_challenge(wanted, open, now)))
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
        ChallengeCall::Accept => {
            let color = match asked.params.get("color") {
                Some("white") => Some(Color::White),
                Some("black") => Some(Color::Black),
                _ => None,
            };
            world.accept_as(me, id, color, now)?;
        }
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
