//! Rate limits as Lichess counts them, and the responses to clients that exceed them.
//!
//! All functions take the current time as an argument. The endpoints' limits are assigned in the
//! [handlers](crate::http::handlers).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use knightwatch_util::seconds::{DAY, HOUR, MINUTE};

use crate::quirks::Limiter;
use crate::site::{ApiError, SimTime};

/// Credits per user, token or address within a time window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Key in a `ratelimit` object; unique.
    pub key: &'static str,
    pub credits: u32,
    pub window: Duration,
    /// Error message when it is exceeded.
    message: &'static str,
}

impl Limit {
    const fn new(key: &'static str, credits: u32, seconds: u64) -> Self {
        Self {
            key,
            credits,
            window: Duration::from_secs(seconds),
            message: "Too many requests. Try again later.",
        }
    }

    const fn with_message(self, message: &'static str) -> Self {
        Self { message, ..self }
    }
}

// Source of the figures: `Limiters` and `BotLimit` in lila.

/// Challenges created by one user. The fast limit is charged even if the slow one refuses.
pub(crate) const CHALLENGES: [Limit; 2] = [
    Limit::new("challenge.create.user.fast", 25, MINUTE),
    Limit::new("challenge.create.user.slow", 200, DAY),
];
/// Challenges created from one address.
pub(crate) const CHALLENGES_PER_ADDRESS: Limit =
    Limit::new("challenge.create.ip", 500, 10 * MINUTE);
/// Games of one bot against other bots.
const BOT_GAMES: Limit = Limit::new("bot.vsBot.day", 100, DAY);
pub(crate) const EVENT_STREAMS: Limit = Limit::new("event.stream", 30, 10 * MINUTE).with_message(
    "Please don't poll this endpoint, it is intended to be streamed. See \
     https://lichess.org/api#tag/Board/operation/apiStreamEvent.",
);
pub(crate) const ACCOUNT_READS: Limit = Limit::new("api.account", 30, 5 * MINUTE).with_message(
    "Please don't poll this endpoint. Stream \
     https://lichess.org/api#tag/Board/operation/apiStreamEvent instead.",
);
/// Profiles read from one address.
pub(crate) const PROFILE_READS: [Limit; 2] = [
    Limit::new("api.users.fast", 2_000, 10 * MINUTE),
    Limit::new("api.users.slow", 30_000, DAY),
];
pub(crate) const TOKEN_TESTS: Limit = Limit::new("api.token.test", 10_000, 10 * MINUTE);

/// Requests to join an arena, rejoining included.
pub(crate) const ARENA_JOINS: Limit = Limit::new("tournament.join", 30, 10 * MINUTE);
/// Arenas joined for the first time; user-created arenas cost 2.
pub(crate) const ARENA_FIRST_JOINS: [Limit; 2] = [
    Limit::new("tournament.user.join.fast", 8, HOUR),
    Limit::new("tournament.user.join.slow", 30, DAY),
];
/// Games of one bot against the AI.
pub(crate) const AI_GAMES: Limit = Limit::new("setup.post.bot.ai", 20, DAY);
pub(crate) const GAME_SETUPS: Limit = Limit::new("setup.post", 5, MINUTE);
pub(crate) const REMATCHES: Limit = Limit::new("rematch", 2, MINUTE);

pub(crate) const CROSSTABLES: Limit = Limit::new("crosstable", 30, 10 * MINUTE);
pub(crate) const CLOUD_EVALS: Limit = Limit::new("cloudEval", 3_000, DAY);
pub(crate) const FOLLOWS: Limit = Limit::new("follow", 150, 3 * DAY);

/// Concurrent requests of one kind per address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConcurrencyLimit {
    kind: &'static str,
    max: usize,
}

impl ConcurrencyLimit {
    const fn new(kind: &'static str, max: usize) -> Self {
        Self { kind, max }
    }
}

pub(crate) const WATCHED_GAMES: ConcurrencyLimit = ConcurrencyLimit::new("stream.game", 8);
pub(crate) const WATCHED_LISTS: ConcurrencyLimit = ConcurrencyLimit::new("stream.games", 4);
/// Seeks with a clock of one user.
pub(crate) const SEEKS: ConcurrencyLimit =
    ConcurrencyLimit::new("boardApiHook.concurrency.limit.user", 1);
pub(crate) const GAME_EXPORTS: ConcurrencyLimit = ConcurrencyLimit::new("games.export", 2);

/// An exceeded limit and the time until it allows another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded {
    pub limit: &'static str,
    pub wait: Duration,
    message: &'static str,
}

impl From<Exceeded> for ApiError {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(429, exceeded.message)
    }
}

/// Usage of one limit by one subject.
#[derive(Clone, Debug)]
enum Usage {
    /// One window, opened by the first charge, that ends as a whole.
    Fixed { ends: SimTime, credits: u32 },
    /// Each charge expires on its own.
    Rolling(Vec<(SimTime, u32)>),
}

impl Usage {
    fn new(limiter: Limiter, now: SimTime) -> Self {
        match limiter {
            Limiter::Fixed => Self::Fixed {
                ends: now,
                credits: 0,
            },
            Limiter::Rolling => Self::Rolling(Vec::new()),
        }
    }

    /// Removes expired charges. Returns whether none is left.
    fn expire(&mut self, now: SimTime) -> bool {
        match self {
            Self::Fixed { ends, .. } => *ends <= now,
            Self::Rolling(charges) => {
                charges.retain(|(ends, _)| *ends > now);
                charges.is_empty()
            }
        }
    }

    /// Returns how long the limit stays exceeded, if it is. A limit is exceeded once all its credits are used, so the
    /// last charge may go beyond it.
    fn time_exceeded(&mut self, limit: &Limit, now: SimTime) -> Option<Duration> {
        if self.expire(now) {
            return None;
        }
        match self {
            Self::Fixed { ends, credits } => (*credits >= limit.credits).then_some(ends.since(now)),
            Self::Rolling(charges) => {
                let mut usage: u32 = charges.iter().map(|(_, cost)| cost).sum();
                if usage < limit.credits {
                    return None;
                }
                // Charges are sorted by age; several may have to expire.
                charges.iter().find_map(|(ends, cost)| {
                    usage -= cost;
                    (usage < limit.credits).then_some(ends.since(now))
                })
            }
        }
    }

    fn charge(&mut self, limit: &Limit, cost: u32, now: SimTime) {
        let over = self.expire(now);
        match self {
            Self::Fixed { ends, credits } if over => {
                (*ends, *credits) = (now + limit.window, cost);
            }
            Self::Fixed { credits, .. } => *credits = credits.saturating_add(cost),
            Self::Rolling(charges) => charges.push((now + limit.window, cost)),
        }
    }
}

/// All usage counts of a site.
pub(crate) struct Limits {
    enabled: bool,
    limiter: Limiter,
    usage: HashMap<(&'static str, String), Usage>,
    running: HashMap<(&'static str, String), Arc<()>>,
    /// Requests per minute and address that the proxy in front of the site lets through.
    proxy: Option<Limit>,
    /// Games of one bot against other bots.
    bot_games: Limit,
}

impl Limits {
    /// Without `enabled`, everything but the proxy's limit is allowed.
    pub(crate) fn new(enabled: bool, limiter: Limiter, per_minute: Option<u32>) -> Self {
        Self {
            enabled,
            limiter,
            usage: HashMap::new(),
            running: HashMap::new(),
            proxy: per_minute.map(|credits| Limit::new("proxy", credits, MINUTE)),
            bot_games: BOT_GAMES,
        }
    }

    /// Sets the number of games of one bot against other bots.
    pub(crate) fn with_bot_games(self, credits: u32) -> Self {
        let bot_games = Limit {
            credits,
            ..BOT_GAMES
        };
        Self { bot_games, ..self }
    }

    /// Games of one bot against other bots.
    pub(crate) fn bot_games(&self) -> Limit {
        self.bot_games
    }

    /// Charges a limit unless it is exceeded. A cost of 0 is always allowed.
    pub(crate) fn charge(
        &mut self,
        limit: &Limit,
        subject: &str,
        cost: u32,
        now: SimTime,
    ) -> Result<(), Exceeded> {
        if cost > 0 {
            self.check(limit, subject, now)?;
            self.charge_unchecked(limit, subject, cost, now);
        }
        Ok(())
    }

    /// Charges limits in order up to the first that is exceeded.
    pub(crate) fn charge_all(
        &mut self,
        limits: &[Limit],
        subject: &str,
        cost: u32,
        now: SimTime,
    ) -> Result<(), Exceeded> {
        limits
            .iter()
            .try_for_each(|limit| self.charge(limit, subject, cost, now))
    }

    /// Returns an error if the limit is exceeded, without charging it.
    pub(crate) fn check(
        &mut self,
        limit: &Limit,
        subject: &str,
        now: SimTime,
    ) -> Result<(), Exceeded> {
        if !self.enabled {
            return Ok(());
        }
        self.check_usage(limit, subject, now)
    }

    fn check_usage(&mut self, limit: &Limit, subject: &str, now: SimTime) -> Result<(), Exceeded> {
        let usage = self.usage.get_mut(&(limit.key, subject.to_owned()));
        match usage.and_then(|usage| usage.time_exceeded(limit, now)) {
            None => Ok(()),
            Some(wait) => Err(Exceeded {
                limit: limit.key,
                wait,
                message: limit.message,
            }),
        }
    }

    /// Charges a limit even if it is exceeded.
    pub(crate) fn charge_unchecked(
        &mut self,
        limit: &Limit,
        subject: &str,
        cost: u32,
        now: SimTime,
    ) {
        if self.enabled {
            self.add(limit, subject, cost, now);
        }
    }

    fn add(&mut self, limit: &Limit, subject: &str, cost: u32, now: SimTime) {
        self.usage
            .entry((limit.key, subject.to_owned()))
            .or_insert_with(|| Usage::new(self.limiter, now))
            .charge(limit, cost, now);
    }

    /// Counts a request at the proxy in front of the site. Returns whether it may pass.
    pub(crate) fn passes_proxy(&mut self, address: &str, now: SimTime) -> bool {
        let Some(limit) = self.proxy else {
            return true;
        };
        let passes = self.check_usage(&limit, address, now).is_ok();
        if passes {
            self.add(&limit, address, 1, now);
        }
        passes
    }

    /// Takes a permit for one more concurrent request.
    pub(crate) fn acquire(
        &mut self,
        limit: ConcurrencyLimit,
        subject: &str,
    ) -> Result<Permit, ApiError> {
        let key = (limit.kind, subject.to_owned());
        let running = self.running.entry(key).or_default();
        // One reference is held by the map.
        if self.enabled && Arc::strong_count(running) > limit.max {
            return Err(ApiError::too_many_at_once(limit.max));
        }
        Ok(Permit {
            _running: Arc::clone(running),
        })
    }

    /// Removes expired charges and unused counters.
    pub(crate) fn remove_expired(&mut self, now: SimTime) {
        self.usage.retain(|_, usage| !usage.expire(now));
        self.running
            .retain(|_, running| Arc::strong_count(running) > 1);
    }

    /// Clears all counts, as a restart of the site does.
    pub(crate) fn clear(&mut self) {
        self.usage.clear();
    }
}

/// A running request, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _running: Arc<()>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: SimTime = SimTime(1_000_000);
    const LIMIT: Limit = Limit::new("test", 25, 60);

    fn at(seconds: u64) -> SimTime {
        START + Duration::from_secs(seconds)
    }

    fn limits(limiter: Limiter) -> Limits {
        Limits::new(true, limiter, None)
    }

    #[test]
    fn fact_24_limit_allows_while_credits_are_left() {
        let mut limits = limits(Limiter::Fixed);
        assert!(limits.charge(&LIMIT, "a", 24, at(0)).is_ok());
        assert!(limits.charge(&LIMIT, "a", 5, at(1)).is_ok(), "24 of 25");
        assert!(limits.charge(&LIMIT, "a", 1, at(1)).is_err(), "29 of 25");
        assert!(
            limits.charge(&LIMIT, "a", 0, at(1)).is_ok(),
            "costs nothing"
        );
        assert!(
            limits.charge(&LIMIT, "b", 1, at(1)).is_ok(),
            "somebody else"
        );
    }

    #[test]
    fn fact_24_fixed_window_starts_with_first_charge() {
        let mut limits = limits(Limiter::Fixed);
        for second in 10..35 {
            assert!(limits.charge(&LIMIT, "a", 1, at(second)).is_ok());
        }
        let refused = limits.charge(&LIMIT, "a", 1, at(69)).unwrap_err();
        assert_eq!(refused.wait, Duration::from_secs(1));
        // The whole window ends at once. Refused requests were not charged and did not extend it.
        for _ in 0..25 {
            assert!(limits.charge(&LIMIT, "a", 1, at(70)).is_ok());
        }
        assert!(limits.charge(&LIMIT, "a", 1, at(129)).is_err());
        assert!(limits.charge(&LIMIT, "a", 1, at(130)).is_ok());
    }

    #[test]
    fn fact_24_fast_limit_charged_when_slow_refuses() {
        const SLOW: Limit = Limit::new("slow", 1, 1_000);
        const FAST: Limit = Limit::new("fast", 2, 10);
        let mut limits = limits(Limiter::Fixed);
        let mut charge = |second| {
            let charged = limits.charge_all(&[FAST, SLOW], "a", 1, at(second));
            charged.map_err(|exceeded| exceeded.limit)
        };
        assert_eq!(charge(0), Ok(()));
        assert_eq!(charge(1), Err("slow"));
        assert_eq!(charge(2), Err("fast"), "by the call before");
        assert_eq!(charge(10), Err("slow"));
        assert_eq!(charge(1_000), Ok(()));
    }

    #[test]
    fn rolling_window_charges_expire_separately() {
        let mut limits = limits(Limiter::Rolling);
        assert!(limits.charge(&LIMIT, "a", 20, at(0)).is_ok());
        assert!(limits.charge(&LIMIT, "a", 20, at(50)).is_ok());
        let refused = limits.charge(&LIMIT, "a", 1, at(59)).unwrap_err();
        assert_eq!(refused.wait, Duration::from_secs(1));
        assert!(limits.charge(&LIMIT, "a", 20, at(60)).is_ok());
        assert!(limits.charge(&LIMIT, "a", 1, at(61)).is_err());
    }

    #[test]
    fn rolling_window_waits_for_several_charges() {
        let mut limits = limits(Limiter::Rolling);
        for (cost, second) in [(24, 0), (20, 10), (5, 59)] {
            let _ = limits.charge(&LIMIT, "a", cost, at(second));
        }
        limits.charge_unchecked(&LIMIT, "a", 10, at(59));
        // 24, 20 and 10 credits: without the first, 30 are still used.
        let refused = limits.charge(&LIMIT, "a", 1, at(59)).unwrap_err();
        assert_eq!(refused.wait, Duration::from_secs(11));
        assert!(limits.charge(&LIMIT, "a", 1, at(69)).is_err());
        assert!(limits.charge(&LIMIT, "a", 1, at(70)).is_ok());
    }

    #[test]
    fn concurrency_limit_counts_running_requests() {
        let mut limits = limits(Limiter::Fixed);
        let mut acquire = |subject| limits.acquire(GAME_EXPORTS, subject);
        let passes = [(); 2].map(|()| acquire("a").unwrap());
        assert!(acquire("a").is_err());
        assert!(acquire("b").is_ok());
        limits.remove_expired(START);
        assert!(limits.acquire(GAME_EXPORTS, "a").is_err());
        drop(passes);
        assert!(limits.acquire(GAME_EXPORTS, "a").is_ok());
    }

    #[test]
    fn limits_disabled_allow_everything() {
        let mut limits = Limits::new(false, Limiter::Fixed, None);
        for _ in 0..100 {
            assert!(limits.charge(&LIMIT, "a", 1, START).is_ok());
        }
        assert!(limits.usage.is_empty());
    }
}
