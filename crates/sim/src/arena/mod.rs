//! Arena tournaments: waiting players are paired again and again until the time is up.
//!
//! Scoring, pairing, the waiting list and pauses are pure. [`arenas::Arenas`] is the subsystem of the site.

pub(crate) mod arenas;
pub(crate) mod entry;
pub(crate) mod options;
mod organizer;
mod pairing;
mod pause;
mod scoring;
mod waiting_users;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use knightwatch_util::keys;

use crate::site::users::Rating;
use crate::site::{ArenaId, GameId, Perf, SimTime, TeamId, UserId};

pub(crate) use scoring::Sheet;

use options::ArenaConfig;
use pairing::Colors;
use waiting_users::WaitingUsers;

keys! {
    /// Status of an arena, with the keys and ids of lila.
    pub(crate) enum ArenaStatus {
        Created = "created",
        Started = "started",
        Finished = "finished",
    }
}

impl ArenaStatus {
    pub(crate) fn id(self) -> u8 {
        match self {
            Self::Created => 10,
            Self::Started => 20,
            Self::Finished => 30,
        }
    }
}

/// A running game of an arena.
#[derive(Clone, Debug)]
pub(crate) struct Pairing {
    /// White and Black.
    pub users: [UserId; 2],
    pub berserk: [bool; 2],
}

/// Totals over all games of an arena.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub games: usize,
    pub moves: usize,
    pub wins: [usize; 2],
    pub draws: usize,
    pub berserks: usize,
}

pub(crate) struct Arena {
    pub id: ArenaId,
    pub created_by: Option<UserId>,
    pub config: ArenaConfig,
    pub status: ArenaStatus,
    pub starts_at: SimTime,
    pub players: BTreeMap<UserId, Player>,
    waiting: WaitingUsers,
    pub running: BTreeMap<GameId, Pairing>,
    /// Finished games, oldest first.
    games: Vec<GameId>,
    pub totals: Totals,
    paired_once: bool,
}

/// A participant of an arena.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    pub user: UserId,
    bot: bool,
    pub team: Option<TeamId>,
    pub withdrawn: bool,
    pub rating: i32,
    pub provisional: bool,
    pub sheet: Sheet,
    pub performance: Option<i32>,
    colors: Colors,
    last_opponent: Option<UserId>,
    /// Order of joining; breaks ties.
    number: usize,
}

impl Player {
    fn new(user: UserId, bot: bool, rating: &Rating, number: usize) -> Self {
        Self {
            user,
            bot,
            team: None,
            withdrawn: false,
            rating: rating.value(),
            provisional: rating.is_provisional(),
            sheet: Sheet::default(),
            performance: None,
            colors: Colors::default(),
            last_opponent: None,
            number,
        }
    }

    /// Sort key of the ranking: points, then performance or rating, then order of joining.
    fn rank_key(&self) -> (Reverse<(u32, i32)>, usize) {
        let strength = self.performance.unwrap_or(self.rating);
        (Reverse((self.sheet.total(), strength)), self.number)
    }
}

impl Arena {
    pub(crate) fn new(
        id: ArenaId,
        created_by: Option<UserId>,
        config: ArenaConfig,
        starts_at: SimTime,
    ) -> Self {
        Self {
            id,
            created_by,
            config,
            status: ArenaStatus::Created,
            starts_at,
            players: BTreeMap::new(),
            waiting: WaitingUsers::default(),
            running: BTreeMap::new(),
            games: Vec::new(),
            totals: Totals::default(),
            paired_once: false,
        }
    }

    pub(crate) fn perf(&self) -> Perf {
        Perf::of(self.config.variant, self.config.speed())
    }

    pub(crate) fn finishes_at(&self) -> SimTime {
        self.starts_at + Duration::from_secs(u64::from(self.config.minutes) * 60)
    }

    fn seconds_until(moment: SimTime, now: SimTime) -> i64 {
        (moment.0.div_euclid(1_000) - now.0.div_euclid(1_000)).max(0)
    }

    pub(crate) fn seconds_to_start(&self, now: SimTime) -> i64 {
        Self::seconds_until(self.starts_at, now)
    }

    pub(crate) fn seconds_to_finish(&self, now: SimTime) -> i64 {
        Self::seconds_until(self.finishes_at(), now)
    }

    /// Returns whether pairing has stopped: half of the clock limit before the end, but 30 to 120 seconds.
    pub(crate) fn pairings_closed(&self, now: SimTime) -> bool {
        let margin = (i64::from(self.config.limit) / 2).clamp(30, 120);
        self.seconds_to_finish(now) < margin
    }

    pub(crate) fn player(&self, user: &UserId) -> Option<&Player> {
        self.players.get(user)
    }

    fn active_players(&self) -> usize {
        self.players
            .values()
            .filter(|player| !player.withdrawn)
            .count()
    }

    fn is_playing(&self, user: &UserId) -> bool {
        self.game_of(user).is_some()
    }

    pub(crate) fn game_of(&self, user: &UserId) -> Option<GameId> {
        self.running
            .iter()
            .find(|(_, pairing)| pairing.users.contains(user))
            .map(|(id, _)| *id)
    }

    /// Best first.
    pub(crate) fn ranking(&self) -> Vec<&Player> {
        let mut players: Vec<&Player> = self.players.values().collect();
        players.sort_by_key(|player| player.rank_key());
        players
    }

    /// Rank of a player, from 0.
    pub(crate) fn rank(&self, user: &UserId) -> Option<usize> {
        self.ranking()
            .iter()
            .position(|player| player.user == *user)
    }

    /// All games: finished ones in order, then running ones.
    pub(crate) fn all_games(&self) -> Vec<GameId> {
        self.games
            .iter()
            .chain(self.running.keys())
            .copied()
            .collect()
    }

    /// Returns whether the arena is restricted to this team, or a battle in which the team takes part.
    pub(crate) fn is_for_team(&self, team: &TeamId) -> bool {
        self.config.conditions.team.as_ref() == Some(team) || self.config.team_battle.contains(team)
    }
}
