//! What Lichess lets an account do in a span of time, and how much of it was done; kept in a file over restarts.
//!
//! Lichess counts in windows: the first charge opens one, a call passes while fewer credits are used than there are,
//! and the window ends as a whole. We count along. Where we have missed something (a file that was lost, another
//! program on the same account) its refusal tells how long the window lasts still, see [`Quota::exhausted`].
//!
//! A refusal is no count but a pause: nothing of its kind is sent before it is over, not after a restart either. That of a
//! proxy in front of Lichess pauses everything for minutes, and is not kept.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::bot::account::persist;
use crate::clock;
use crate::lichess::model::GameId;
use crate::lichess::retry::Kind;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Games against other bots, whoever has challenged whom.
    BotGames,
    /// Challenges of ours: one to a bot costs 1, one to a person 5.
    ChallengesDay,
    /// The same in a minute.
    ChallengesMinute,
    /// Challenges from this address, whatever they cost.
    ChallengesAddress,
    /// Games against Lichess's own engine.
    AiGames,
    /// Openings of the account's event stream.
    EventStreams,
    /// Joining arenas, and coming back to them.
    ArenaJoins,
    /// Arenas that are joined for the first time; those that users hold cost two.
    ArenasHour,
    /// The same in a day.
    ArenasDay,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;

impl Limit {
    /// Those of a day that the status shows, their names, and which calls count more than once.
    pub const DAILY: [(Self, &str, Option<&str>); 4] = [
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

    /// What it is called, where Lichess has a name for it by that.
    pub fn key(self) -> &'static str {
        match self {
            Self::BotGames => "bot.vsBot.day",
            Self::ChallengesDay => "challenge.create.user.day",
            Self::ChallengesMinute => "challenge.create.user.minute",
            Self::ChallengesAddress => "challenge.create.ip",
            Self::AiGames => "setup.post.bot.ai",
            Self::EventStreams => "event.stream",
            Self::ArenaJoins => "tournament.join",
            Self::ArenasHour => "tournament.user.join.hour",
            Self::ArenasDay => "tournament.user.join.day",
        }
    }

    /// How many credits a window has.
    pub fn credits(self) -> u32 {
        match self {
            Self::BotGames => 100,
            Self::ChallengesDay => 200,
            Self::ChallengesMinute => 25,
            Self::ChallengesAddress => 500,
            Self::AiGames => 20,
            Self::EventStreams | Self::ArenaJoins | Self::ArenasDay => 30,
            Self::ArenasHour => 8,
        }
    }

    /// How long a window lasts.
    pub fn window(self) -> Duration {
        Duration::from_secs(self.seconds())
    }

    fn seconds(self) -> u64 {
        match self {
            Self::BotGames | Self::ChallengesDay | Self::AiGames | Self::ArenasDay => DAY,
            Self::ArenasHour => HOUR,
            Self::ChallengesMinute => MINUTE,
            Self::ChallengesAddress | Self::EventStreams | Self::ArenaJoins => 10 * MINUTE,
        }
    }
}

/// A game of our own seeking, as it is spread over the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchmakingGame {
    /// The first one against this opponent, or the only one.
    First,
    /// The second of a pair with both colours.
    Second,
}

/// An arena that is to be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaEntry {
    /// We were never in it.
    pub first: bool,
    /// Lichess itself has made it.
    pub by_lichess: bool,
    /// Nobody has named it: a quarter of what there is stays for those that the operator names.
    pub discovered: bool,
    /// It has refused us: half of what there is stays for those that have not.
    pub refused: bool,
}

/// Games of which it is remembered that they were counted: Lichess tells of those that are on with every stream.
const MAX_COUNTED_GAMES: usize = 300;

/// Where Lichess does not say how long it will refuse challenges: after this, twice this, ... at most this.
const REFUSAL_WAIT_S: (u64, u64) = (MINUTE, 4 * 3_600);

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quota {
    /// By the keys of the limits.
    #[serde(alias = "used")]
    windows: BTreeMap<String, Window>,
    #[serde(alias = "made")]
    matchmaking: MatchmakingGames,
    #[serde(alias = "seen")]
    counted_games: VecDeque<String>,
    /// Until when requests of a kind pause, by the name of the kind.
    pauses: BTreeMap<String, u64>,
    /// Until when everything pauses because of a proxy.
    #[serde(skip)]
    proxy_until: u64,
    #[serde(alias = "refused")]
    refusals: ChallengeRefusals,
}

/// A window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Window {
    /// When it was opened.
    since: u64,
    credits: u32,
}

/// Games of our own seeking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct MatchmakingGames {
    /// Those in the window that was opened then.
    games: u32,
    window: u64,
    /// When the last one began, and whether it was one of a pair.
    last: u64,
    pair: bool,
}

/// Challenges that Lichess has refused to take from us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct ChallengeRefusals {
    until: u64,
    /// In a row, without a time.
    #[serde(alias = "unnamed")]
    in_a_row: u32,
}

impl Quota {
    /// What its file ends with.
    pub const FILE_SUFFIX: &str = "quota.json";

    /// Reads the file; one that is not there is empty.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn load(path: &Path) -> io::Result<Self> {
        persist::load(path)
    }

    /// The file as it should be.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data with string keys")
    }

    /// Credits used in the window that is open.
    pub fn used(&self, limit: Limit, now: SystemTime) -> u32 {
        self.window(limit, now).map_or(0, |used| used.credits)
    }

    /// When the window ends that is open.
    pub fn window_end(&self, limit: Limit, now: SystemTime) -> Option<SystemTime> {
        let used = self.window(limit, now)?;
        Some(from_epoch(used.since + limit.seconds()))
    }

    /// When the window was opened that is open.
    pub fn window_start(&self, limit: Limit, now: SystemTime) -> Option<SystemTime> {
        self.window(limit, now).map(|used| from_epoch(used.since))
    }

    /// When the next call passes, if it does not now.
    pub fn full_until(&self, limit: Limit, now: SystemTime) -> Option<SystemTime> {
        let full = self.used(limit, now) >= limit.credits();
        self.window_end(limit, now).filter(|_| full)
    }

    /// Something was done that costs this much.
    pub fn charge(&mut self, limit: Limit, cost: u32, now: SystemTime) {
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

    /// Lichess says that a limit is used up, for so long.
    pub fn mark_exhausted(&mut self, limit: Limit, wait: Duration, now: SystemTime) {
        let since = (clock::epoch_seconds(now) + wait.as_secs()).saturating_sub(limit.seconds());
        let credits = self.used(limit, now).max(limit.credits());
        // The games of our own are those of this window, though we have just learnt when it began.
        let made = self.matchmaking_games(now);
        self.windows
            .insert(limit.key().to_owned(), Window { since, credits });
        if limit == Limit::BotGames {
            self.matchmaking.games = made;
            self.matchmaking.window = since;
        }
    }

    /// A challenge of ours was made, or refused after it had been counted.
    pub fn charge_challenge(&mut self, bot: bool, now: SystemTime) {
        let cost = if bot { 1 } else { 5 };
        self.charge(Limit::ChallengesMinute, cost, now);
        self.charge(Limit::ChallengesDay, cost, now);
        self.charge(Limit::ChallengesAddress, 1, now);
        self.refusals.in_a_row = 0;
    }

    /// Lichess has refused to take a challenge from us, for so long if it says so.
    pub fn on_challenge_refused(&mut self, wait: Option<Duration>, now: SystemTime) {
        let wait = wait.map_or_else(
            || {
                let (first, most) = REFUSAL_WAIT_S;
                let doubled = first << self.refusals.in_a_row.min(16);
                self.refusals.in_a_row = self.refusals.in_a_row.saturating_add(1);
                doubled.min(most)
            },
            |named| named.as_secs().max(1),
        );
        let until = clock::epoch_seconds(now) + wait;
        let before = Some(self.refusals.until).filter(|before| self.is_pending(*before, now));
        self.refusals.until = before.map_or(until, |before| before.max(until));
    }

    /// When Lichess may take a challenge from us again, if it does not now: it has refused one, or its limits are reached.
    pub fn challenges_blocked_until(&self, now: SystemTime) -> Option<SystemTime> {
        let limits = [
            Limit::ChallengesMinute,
            Limit::ChallengesDay,
            Limit::ChallengesAddress,
        ];
        let full = limits.map(|limit| self.full_until(limit, now));
        let refused = self.is_pending(self.refusals.until, now).then_some(());
        let refused = refused.map(|()| from_epoch(self.refusals.until));
        let paused = self.pause_until(Kind::Challenge, now);
        let proxy = self
            .is_pending(self.proxy_until, now)
            .then(|| from_epoch(self.proxy_until));
        full.into_iter()
            .chain([refused, paused, proxy])
            .flatten()
            .max()
    }

    /// A game against another bot has begun; `sought` if we had challenged him of our own accord. Whether it was not
    /// counted yet.
    pub fn count_bot_game(
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

    /// A game against Lichess's own engine has begun. Whether it was not counted yet.
    pub fn count_ai_game(&mut self, id: &GameId, now: SystemTime) -> bool {
        let new = self.mark_counted(id);
        if new {
            self.charge(Limit::AiGames, 1, now);
        }
        new
    }

    /// An arena is about to be joined, and counted, unless Lichess would refuse it: until when.
    ///
    /// # Errors
    /// When it has to wait, with the time of the next try.
    pub fn enter_arena(&mut self, entry: ArenaEntry, now: SystemTime) -> Result<(), SystemTime> {
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
            let most = all - reserved;
            let full = self.used(limit, now) >= most;
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

    /// Lichess says that we join too many arenas, more than we have counted, and not for how long.
    pub fn on_too_many_arenas(&mut self, now: SystemTime) {
        let hour = Limit::ArenasHour;
        self.mark_exhausted(hour, hour.window(), now);
    }

    /// Games of our own seeking in the window that is open.
    pub fn matchmaking_games(&self, now: SystemTime) -> u32 {
        let used = self.window(Limit::BotGames, now);
        let ours = used.filter(|used| used.since == self.matchmaking.window);
        ours.map_or(0, |_| self.matchmaking.games)
    }

    /// When the last game of our own seeking began in the window that is open, and whether it was the second of a pair.
    pub fn last_matchmaking_game(&self, now: SystemTime) -> Option<(SystemTime, bool)> {
        // Whatever the file says, no game has begun later than now.
        let last = from_epoch(self.matchmaking.last.min(clock::epoch_seconds(now)));
        (self.matchmaking_games(now) > 0).then_some((last, self.matchmaking.pair))
    }

    /// Which kinds of request pause, and for how much longer, as the client has it. Whether there is news in that.
    pub fn set_pauses(
        &mut self,
        pauses: impl IntoIterator<Item = (Kind, Duration)>,
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

    /// For how much longer everything pauses because of a proxy, as the client has it.
    pub fn set_proxy_pause(&mut self, wait: Option<Duration>, now: SystemTime) {
        self.proxy_until = wait.map_or(0, |wait| clock::epoch_seconds(now) + wait.as_secs() + 1);
    }

    /// What pauses still, and for how long.
    pub fn pauses(&self, now: SystemTime) -> Vec<(Kind, Duration)> {
        let left = |kind: Kind| {
            let until = self.pause_until(kind, now)?;
            Some((kind, until.duration_since(now).ok()?))
        };
        Kind::ALL.into_iter().filter_map(left).collect()
    }

    /// Until when requests of this kind pause, if they do.
    pub fn pause_until(&self, kind: Kind, now: SystemTime) -> Option<SystemTime> {
        let until = *self.pauses.get(&kind.to_string())?;
        self.is_pending(until, now).then(|| from_epoch(until))
    }

    /// Whether this is to come, and not of a clock that was wrong: no server gets us to wait longer than two days.
    fn is_pending(&self, until: u64, now: SystemTime) -> bool {
        let now = clock::epoch_seconds(now);
        now < until && until - now <= 2 * DAY
    }

    fn window(&self, limit: Limit, now: SystemTime) -> Option<Window> {
        let used = *self.windows.get(limit.key())?;
        // One from the future is of a clock that was wrong; a small step back of the clock is no harm.
        (clock::epoch_seconds(now).abs_diff(used.since) < limit.seconds()).then_some(used)
    }

    /// Whether this game is a new one.
    fn mark_counted(&mut self, id: &GameId) -> bool {
        if self.counted_games.iter().any(|seen| seen == id.as_str()) {
            return false;
        }
        if self.counted_games.len() == MAX_COUNTED_GAMES {
            self.counted_games.pop_front();
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
