//! Checks of a new challenge beyond its form, in the order in which Lichess makes them.

use crate::challenge::ChallengeConfig;
use crate::http::error::ApiError;
use crate::http::limits::{BOT_GAMES, CHALLENGES, Exceeded};
use crate::options::TimeControl;
use crate::site::id::UserId;
use crate::site::state::SiteState;
use crate::site::time::SimTime;
use crate::site::variant::Speed;

/// A user with this many ongoing games cannot play further real-time games.
const MAX_ONGOING_GAMES: usize = 200;

impl SiteState {
    /// Returns an error if this user may not challenge the other one with these options.
    pub(crate) fn check_challenge(
        &mut self,
        me: &UserId,
        dest: &UserId,
        config: &ChallengeConfig,
        now: SimTime,
    ) -> Result<(), ApiError> {
        if me == dest {
            return Err(ApiError::bad_request("You cannot challenge yourself"));
        }
        let other = self.user(dest);
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
        self.limits
            .charge_all(&CHALLENGES, me.as_str(), cost, now)?;
        self.check_bot_games(me, dest, now)?;
        let (mine, other) = (self.user(me), self.user(dest));
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
            return Err(ApiError::bad_request("Challenge not created"));
        }
        Ok(())
    }

    /// Returns an error if both are bots and one of them has played the daily limit of games against bots.
    pub(crate) fn check_bot_games(
        &mut self,
        me: &UserId,
        other: &UserId,
        now: SimTime,
    ) -> Result<(), ApiError> {
        if !(self.user(me).bot && self.user(other).bot) {
            return Ok(());
        }
        let refused = |status, text: String, exceeded: Exceeded| {
            let seconds = exceeded.wait.as_millis().div_ceil(1_000);
            ApiError::rate_limited(status, &text, exceeded.limit, seconds as u64)
        };
        let games = BOT_GAMES.credits;
        self.limits
            .check(&BOT_GAMES, me.as_str(), now)
            .map_err(|exceeded| {
                let text = format!(
                    "You played {games} games against other bots today, please wait before challenging another bot."
                );
                refused(429, text, exceeded)
            })?;
        self.limits
            .check(&BOT_GAMES, other.as_str(), now)
            .map_err(|exceeded| {
                let text = format!(
                    "{} played {games} games against other bots today, please wait until {} to challenge them.",
                    self.user(other).name,
                    (now + exceeded.wait).iso(),
                );
                refused(400, text, exceeded)
            })
    }
}
