//! Checks of a new challenge beyond its form, in the order in which Lichess makes them.

use crate::challenge::ChallengeConfig;
use crate::site::error::{CHALLENGE_NOT_CREATED, ErrorBody};
use crate::site::limits::{CHALLENGES, Exceeded};
use crate::site::{ApiError, Limits, SimTime, Speed, UserId, Users};
use crate::time_control::TimeControl;

/// A user with this many ongoing games cannot play further real-time games.
const MAX_ONGOING_GAMES: usize = 200;

/// Returns an error if this user may not challenge the other one with these options.
pub(crate) fn check_challenge(
    users: &Users,
    limits: &mut Limits,
    me: &UserId,
    dest: &UserId,
    config: &ChallengeConfig,
    now: SimTime,
) -> Result<(), ApiError> {
    if me == dest {
        return Err(ApiError::bad_request("You cannot challenge yourself"));
    }
    let other = users.get(dest);
    if other.bot && !config.rules.is_empty() {
        return Err(ApiError::bad_request("Rules not applicable for bots"));
    }
    if config.only_if_followed && !other.follows(me) {
        return Err(ApiError::bad_request(format!(
            "{} does not follow you",
            other.name
        )));
    }
    let cost = match other {
        other if other.follows(me) => 0,
        other if other.bot => 1,
        _ => 5,
    };
    limits.charge_all(&CHALLENGES, me.as_str(), cost, now)?;
    check_bot_games(users, limits, me, dest, now)?;
    let (mine, other) = (users.get(me), users.get(dest));
    if other.relations.blocks(me) {
        let text = format!("You cannot challenge {}.", other.name);
        return Err(ApiError::bad_request(text));
    }
    let is_too_fast = Speed::of(config.time_control) == Speed::UltraBullet;
    if is_too_fast && (mine.bot || other.bot) {
        return Err(ApiError::bad_request(
            "Bots cannot play UltraBullet. Choose a slower time control.",
        ));
    }
    let real_time = matches!(config.time_control, TimeControl::Clock { .. });
    if real_time
        && [mine, other]
            .iter()
            .any(|user| user.playing.len() >= MAX_ONGOING_GAMES)
    {
        return Err(ApiError::bad_request(CHALLENGE_NOT_CREATED));
    }
    Ok(())
}

/// Returns an error if both are bots and one of them has played the daily limit of games against bots.
pub(crate) fn check_bot_games(
    users: &Users,
    limits: &mut Limits,
    me: &UserId,
    other: &UserId,
    now: SimTime,
) -> Result<(), ApiError> {
    if !(users.get(me).bot && users.get(other).bot) {
        return Ok(());
    }
    let refused = |status, text: String, exceeded: Exceeded| {
        let seconds = exceeded.wait.as_millis().div_ceil(1_000);
        ApiError {
            status,
            body: ErrorBody::RateLimited {
                text,
                key: exceeded.limit,
                seconds: seconds as u64,
            },
        }
    };
    let limit = limits.bot_games();
    let games = limit.credits;
    limits
        .check(&limit, me.as_str(), now)
        .map_err(|exceeded| {
            let text = format!(
                "You played {games} games against other bots today, please wait before challenging another bot."
            );
            refused(429, text, exceeded)
        })?;
    limits
        .check(&limit, other.as_str(), now)
        .map_err(|exceeded| {
            let text = format!(
                "{} played {games} games against other bots today, please wait until {} to challenge them.",
                users.get(other).name,
                (now + exceeded.wait).iso(),
            );
            refused(400, text, exceeded)
        })
}
