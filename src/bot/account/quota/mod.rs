//! Lichess's limits and how much of them an account has used; kept in a file over restarts.
//!
//! Lichess counts in windows: the first charge opens one, a request passes while fewer credits are used than there
//! are, and the window ends as a whole. The quota counts along. If it has missed something (a lost file, another
//! program on the same account), Lichess's refusal says how long the window lasts, see [`Quota::mark_exhausted`].
//!
//! The number of games against bots is not fixed. If Lichess refuses one earlier than expected, the count at the refusal is
//! the limit from then on; after a week it is raised step by step, until the next refusal.
//!
//! Pauses are not counts: requests of a kind are not sent before its pause is over, not after a restart either. The
//! pause of a proxy in front of Lichess stops all requests for minutes and is not kept.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::backoff::Backoff;
use crate::bot::account::persist::{self, JsonState};
use crate::clock;
use crate::lichess::model::GameId;
use crate::lichess::retry::RequestKind;
use crate::seconds::{DAY, HOUR, MINUTE};

/// A limit of Lichess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Games against other bots, no matter who has challenged.
    BotGames,
    /// Challenges sent in a day: one to a bot costs 1, one to a person 5.
    ChallengesDay,
    /// Challenges sent in a minute, at the same cost.
    ChallengesMinute,
    /// Challenges sent from this address, each at a cost of 1.
    ChallengesAddress,
    /// Games against Lichess's own engine.
    AiGames,
    /// Opened event streams of the account.
    EventStreams,
    /// Requests to join an arena, for the first time or again.
    ArenaJoins,
    /// Arenas joined for the first time in an hour; one created by a user costs 2.
    ArenasHour,
    /// Arenas joined for the first time in a day, at the same cost.
    ArenasDay,
}

impl Limit {
    /// Limits shown in the status, their names, and which requests cost more than 1.
    pub(crate) const DAILY: [(Self, &str, Option<&str>); 4] = [
        (Self::BotGames, "bot games", None),
        (
            Self::ChallengesDay,
            "challenges",
            Some("one to a person counts 5"),
        ),
        (
            Self::ArenasDay,
            "arenas",
            Some("one that a user has made counts 2"),
        ),
        (Self::AiGames, "AI games", None),
    ];

    /// Key, credits of a window as far as is known, and its length in seconds.
    fn spec(self) -> (&'static str, u32, u64) {
        match self {
            Self::BotGames => ("bot.vsBot.day", 100, DAY),
            Self::ChallengesDay => ("challenge.create.user.day", 200, DAY),
            Self::ChallengesMinute => ("challenge.create.user.minute", 25, MINUTE),
            Self::ChallengesAddress => ("challenge.create.ip", 500, 10 * MINUTE),
            Self::AiGames => ("setup.post.bot.ai", 20, DAY),
            Self::EventStreams => ("event.stream", 30, 10 * MINUTE),
            Self::ArenaJoins => ("tournament.join", 30, 10 * MINUTE),
            Self::ArenasHour => ("tournament.user.join.hour", 8, HOUR),
            Self::ArenasDay => ("tournament.user.join.day", 30, DAY),
        }
    }

    /// Lichess's key of the limit, where it has one.
    pub(crate) fn key(self) -> &'static str {
        self.spec().0
    }

    /// Credits of a window, unless [a refusal](Quota::credits) has told otherwise.
    pub(crate) fn credits(self) -> u32 {
        self.spec().1
    }

    /// Length of a window.
    pub(crate) fn window(self) -> Duration {
        Duration::from_secs(self.seconds())
    }

    fn seconds(self) -> u64 {
        self.spec().2
    }
}

/// A game found by matchmaking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchmakingGame {
    /// The only game against this opponent, or the first of a pair.
    First,
    /// The second game of a pair.
    Second,
}

/// Request to join an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinRequest {
    /// The account has never been in the arena.
    pub first: bool,
    /// The arena was created by Lichess.
    pub by_lichess: bool,
    /// The arena was found by discovery: a quarter of the credits is reserved for those that the operator has named.
    pub discovered: bool,
    /// The arena has refused the account: half of the credits is reserved for those that have not.
    pub refused: bool,
}

/// Counted games that are remembered besides the running ones: every event stream reports those again.
const MAX_COUNTED_GAMES: usize = 300;

/// Time for which a learned limit holds unchanged.
const LEARNED_FOR: u64 = 7 * DAY;

/// Games that are added to a learned limit on each later day.
const RAISED_DAILY: u32 = 5;

/// Difference between our window and that of Lichess up to which both are the same: the game events take a moment.
const MAX_WINDOW_DIFFERENCE: u64 = 120;

/// Waits after a refused challenge, if Lichess does not name one.
const REFUSAL_BACKOFF: Backoff =
    Backoff::new(Duration::from_secs(MINUTE), Duration::from_secs(4 * HOUR));

/// Used credits, pauses and refusals of one account. Times are seconds since the epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Quota {
    /// By the keys of the limits.
    #[serde(alias = "used")]
    windows: BTreeMap<String, Window>,
    #[serde(alias = "made")]
    matchmaking: MatchmakingGames,
    #[serde(alias = "seen")]
    counted_games: VecDeque<String>,
    /// End of the pause of each kind of request, by its name.
    pauses: BTreeMap<String, u64>,
    /// End of the pause demanded by a proxy.
    #[serde(skip)]
    proxy_until: u64,
    #[serde(alias = "refused")]
    refusals: ChallengeRefusals,
    /// Limit of the games against bots, if it was learned from a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    learned_bot_games: Option<LearnedLimit>,
}

/// A limit that a refusal has told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct LearnedLimit {
    credits: u32,
    /// Time of the refusal.
    at: u64,
}

impl LearnedLimit {
    /// The credits that are tried now.
    fn credits(self, now: SystemTime) -> u32 {
        let age = clock::epoch_seconds(now).saturating_sub(self.at);
        let raises = age.saturating_sub(LEARNED_FOR).div_ceil(DAY);
        let raised = u64::from(RAISED_DAILY).saturating_mul(raises);
        self.credits
            .saturating_add(raised.try_into().unwrap_or(u32::MAX))
    }
}

/// Open window of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Window {
    /// When it was opened.
    since: u64,
    credits: u32,
}

/// Games found by matchmaking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct MatchmakingGames {
    /// Games in the window that was opened at `window`.
    games: u32,
    window: u64,
    /// Start of the last game, and whether it was the second of a pair.
    last: u64,
    pair: bool,
}

/// Refused challenges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct ChallengeRefusals {
    until: u64,
    /// Refusals in a row without a named wait.
    #[serde(alias = "unnamed")]
    in_a_row: u32,
}

impl JsonState for Quota {
    const FILE_SUFFIX: &str = "quota.json";
}

impl Quota {
    /// Credits of a window.
    pub(crate) fn credits(&self, limit: Limit, now: SystemTime) -> u32 {
        let learned = self.learned(limit, now);
        let learned = learned.map_or(u32::MAX, |learned| learned.credits(now));
        limit.credits().min(learned)
    }

    /// Time of the refusal from which a limit smaller than the usual one was learned.
    pub(crate) fn learned_at(&self, limit: Limit, now: SystemTime) -> Option<SystemTime> {
        let is_smaller = self.credits(limit, now) < limit.credits();
        let learned = self.learned(limit, now).filter(|_| is_smaller)?;
        Some(from_epoch(learned.at))
    }

    /// What a refusal has told about a limit. A refusal that is far ahead is due to a wrong clock.
    fn learned(&self, limit: Limit, now: SystemTime) -> Option<LearnedLimit> {
        let learned = self
            .learned_bot_games
            .filter(|_| limit == Limit::BotGames)?;
        let ahead = learned.at.saturating_sub(clock::epoch_seconds(now));
        (ahead <= 2 * DAY).then_some(learned)
    }

    /// Credits used in the open window.
    pub(crate) fn used(&self, limit: Limit, now: SystemTime) -> u32 {
        self.window(limit, now).map_or(0, |used| used.credits)
    }

    /// End of the open window.
    pub(crate) fn window_end(&self, limit: Limit, now: SystemTime) -> Option<SystemTime> {
        let used = self.window(limit, now)?;
        Some(from_epoch(used.since + limit.seconds()))
    }

    /// Start of the open window.
    pub(crate) fn window_start(&self, limit: Limit, now: SystemTime) -> Option<SystemTime> {
        self.window(limit, now).map(|used| from_epoch(used.since))
    }

    /// When the next request passes, if it does not now.
    pub(crate) fn full_until(&self, limit: Limit, now: SystemTime) -> Option<SystemTime> {
        let full = self.used(limit, now) >= self.credits(limit, now);
        self.window_end(limit, now).filter(|_| full)
    }

    /// Charges a request of this cost.
    pub(crate) fn charge(&mut self, limit: Limit, cost: u32, now: SystemTime) {
        let before = self.window(limit, now);
        let used = match before {
            Some(used) => Window {
                credits: used.credits.saturating_add(cost),
                ..used
            },
            None => Window {
                since: clock::epoch_seconds(now),
                credits: cost,
            },
        };
        self.windows.insert(limit.key().to_owned(), used);
    }

    /// Marks a limit as used up for this time, as Lichess has reported. Returns the limit of games against bots if it
    /// was learned from this.
    pub(crate) fn mark_exhausted(
        &mut self,
        limit: Limit,
        wait: Duration,
        now: SystemTime,
    ) -> Option<u32> {
        let since = (clock::epoch_seconds(now) + wait.as_secs()).saturating_sub(limit.seconds());
        let used = self.window(limit, now);
        // Without the whole window of Lichess some games were not counted.
        let complete = used.filter(|used| used.since.abs_diff(since) <= MAX_WINDOW_DIFFERENCE);
        let learned = complete
            .map(|used| used.credits)
            .filter(|count| limit == Limit::BotGames && (1..limit.credits()).contains(count));
        if let Some(credits) = learned {
            let at = clock::epoch_seconds(now);
            self.learned_bot_games = Some(LearnedLimit { credits, at });
        }
        let credits = self.used(limit, now).max(self.credits(limit, now));
        // These games belong to the window whose start is known only now.
        let made = self.matchmaking_games(now);
        self.windows
            .insert(limit.key().to_owned(), Window { since, credits });
        if limit == Limit::BotGames {
            self.matchmaking.games = made;
            self.matchmaking.window = since;
        }
        learned
    }

    /// Charges a challenge that was created, or refused after Lichess had counted it.
    pub(crate) fn charge_challenge(&mut self, bot: bool, now: SystemTime) {
        let cost = if bot { 1 } else { 5 };
        self.charge(Limit::ChallengesMinute, cost, now);
        self.charge(Limit::ChallengesDay, cost, now);
        self.charge(Limit::ChallengesAddress, 1, now);
        self.refusals.in_a_row = 0;
    }

    /// Handles a refused challenge, with the wait that Lichess has named.
    pub(crate) fn on_challenge_refused(&mut self, wait: Option<Duration>, now: SystemTime) {
        let wait = wait.map_or_else(
            || {
                let delay = REFUSAL_BACKOFF.delay(self.refusals.in_a_row);
                self.refusals.in_a_row = self.refusals.in_a_row.saturating_add(1);
                delay
            },
            |named| named.max(Duration::from_secs(1)),
        );
        let until = clock::epoch_seconds(now) + wait.as_secs();
        let before = self.refusals.until;
        let is_pending = persist::pending_until(before, now).is_some();
        self.refusals.until = if is_pending { before.max(until) } else { until };
    }

    /// When the next challenge may be sent, if not now: one was refused, a limit is used up, or requests pause.
    pub(crate) fn challenges_blocked_until(&self, now: SystemTime) -> Option<SystemTime> {
        let limits = [
            Limit::ChallengesMinute,
            Limit::ChallengesDay,
            Limit::ChallengesAddress,
        ];
        let full = limits.map(|limit| self.full_until(limit, now));
        let paused = self.pause_until(RequestKind::Challenge, now);
        let [refused, proxy] =
            [self.refusals.until, self.proxy_until].map(|until| persist::pending_until(until, now));
        let all = full.into_iter().chain([refused, paused, proxy]);
        all.flatten().max()
    }

    /// The same for a challenge to a human or a bot: of games between bots there is a limit.
    pub(crate) fn blocked_until_for(&self, human: bool, now: SystemTime) -> Option<SystemTime> {
        let full = (!human).then(|| self.full_until(Limit::BotGames, now));
        self.challenges_blocked_until(now).or(full.flatten())
    }

    /// Counts a game against another bot; `game` if matchmaking has found it. Whether it was new.
    pub(crate) fn count_bot_game(
        &mut self,
        id: &GameId,
        game: Option<MatchmakingGame>,
        now: SystemTime,
    ) -> bool {
        if !self.mark_counted(id) {
            return false;
        }
        let made = self.matchmaking_games(now);
        self.charge(Limit::BotGames, 1, now);
        if let (Some(game), Some(used)) = (game, self.window(Limit::BotGames, now)) {
            self.matchmaking = MatchmakingGames {
                games: made.saturating_add(1),
                window: used.since,
                last: clock::epoch_seconds(now),
                pair: game == MatchmakingGame::Second,
            };
        }
        true
    }

    /// Counts a game against Lichess's own engine. Whether it was new.
    pub(crate) fn count_ai_game(&mut self, id: &GameId, now: SystemTime) -> bool {
        let new = self.mark_counted(id);
        if new {
            self.charge(Limit::AiGames, 1, now);
        }
        new
    }

    /// Charges a request to join an arena, unless Lichess would refuse it.
    ///
    /// # Errors
    /// The time of the next attempt, if the limit is reached.
    pub(crate) fn enter_arena(
        &mut self,
        entry: JoinRequest,
        now: SystemTime,
    ) -> Result<(), SystemTime> {
        let cost = if entry.by_lichess { 1 } else { 2 };
        let mut limits = vec![(Limit::ArenaJoins, 1)];
        if entry.first {
            limits.extend([(Limit::ArenasHour, cost), (Limit::ArenasDay, cost)]);
        }
        let full = |limit: Limit| {
            let all = limit.credits();
            let reserved = match (entry.refused, entry.discovered) {
                (true, _) => all / 2,
                (false, true) => all / 4,
                (false, false) => 0,
            };
            let max = all - reserved;
            let full = self.used(limit, now) >= max;
            self.window_end(limit, now).filter(|_| full)
        };
        if let Some(until) = limits.iter().filter_map(|(limit, _)| full(*limit)).max() {
            return Err(until);
        }
        for (limit, cost) in limits {
            self.charge(limit, cost, now);
        }
        Ok(())
    }

    /// Lichess has refused a join because of too many arenas, more than were counted, without naming a wait.
    pub(crate) fn on_too_many_arenas(&mut self, now: SystemTime) {
        let hour = Limit::ArenasHour;
        self.mark_exhausted(hour, hour.window(), now);
    }

    /// Games found by matchmaking in the open window.
    pub(crate) fn matchmaking_games(&self, now: SystemTime) -> u32 {
        let used = self.window(Limit::BotGames, now);
        let ours = used.filter(|used| used.since == self.matchmaking.window);
        ours.map_or(0, |_| self.matchmaking.games)
    }

    /// Start of the last game found by matchmaking in the open window, and whether it was the second of a pair.
    pub(crate) fn last_matchmaking_game(&self, now: SystemTime) -> Option<(SystemTime, bool)> {
        // Whatever the file says, no game has started later than now.
        let last = from_epoch(self.matchmaking.last.min(clock::epoch_seconds(now)));
        (self.matchmaking_games(now) > 0).then_some((last, self.matchmaking.pair))
    }

    /// Sets the pauses as the client reports them. Whether they have changed.
    pub(crate) fn set_pauses(
        &mut self,
        pauses: impl IntoIterator<Item = (RequestKind, Duration)>,
        now: SystemTime,
    ) -> bool {
        let mut changed = false;
        for (kind, wait) in pauses {
            let until = clock::epoch_seconds(now) + wait.as_secs() + 1;
            let stored = self.pauses.entry(kind.to_string()).or_default();
            // They are read once a second, and seconds are rounded.
            if stored.abs_diff(until) > 2 {
                *stored = until;
                changed = true;
            }
        }
        let now = clock::epoch_seconds(now);
        self.pauses.retain(|_, until| *until > now);
        changed
    }

    /// Sets the pause demanded by a proxy, as the client reports it.
    pub(crate) fn set_proxy_pause(&mut self, wait: Option<Duration>, now: SystemTime) {
        self.proxy_until = wait.map_or(0, |wait| clock::epoch_seconds(now) + wait.as_secs() + 1);
    }

    /// Kinds of request that pause, and for how long.
    pub(crate) fn pauses(&self, now: SystemTime) -> Vec<(RequestKind, Duration)> {
        let left = |kind: RequestKind| {
            let until = self.pause_until(kind, now)?;
            Some((kind, until.duration_since(now).ok()?))
        };
        RequestKind::ALL.into_iter().filter_map(left).collect()
    }

    /// End of the pause of this kind of request, if there is one.
    pub(crate) fn pause_until(&self, kind: RequestKind, now: SystemTime) -> Option<SystemTime> {
        persist::pending_until(*self.pauses.get(&kind.to_string())?, now)
    }

    fn window(&self, limit: Limit, now: SystemTime) -> Option<Window> {
        let used = *self.windows.get(limit.key())?;
        // A start in the future is due to a wrong clock; a small step back of the clock does no harm.
        (clock::epoch_seconds(now).abs_diff(used.since) < limit.seconds()).then_some(used)
    }

    /// Forgets the oldest counted games beyond the maximum, unless they are running: a correspondence game lasts for
    /// weeks.
    pub(crate) fn forget_counted_games(&mut self, is_running: impl Fn(&str) -> bool) {
        let mut excess = self.counted_games.len().saturating_sub(MAX_COUNTED_GAMES);
        self.counted_games.retain(|id| {
            let forget = excess > 0 && !is_running(id);
            excess -= usize::from(forget);
            !forget
        });
    }

    /// Marks a game as counted. Whether it was not.
    fn mark_counted(&mut self, id: &GameId) -> bool {
        if self.counted_games.iter().any(|seen| seen == id.as_str()) {
            return false;
        }
        self.counted_games.push_back(id.to_string());
        true
    }
}

fn from_epoch(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[cfg(test)]
mod tests;
