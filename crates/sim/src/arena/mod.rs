//! Arena tournaments: waiting players are paired again and again until the time is up.
//!
//! Scoring, pairing, the waiting list and pauses are pure. Joining, organizing and the JSON views are methods of the
//! [`SiteState`](crate::site::state::SiteState): who gets in, what the organizer does every few seconds, what is shown.

mod form;
mod join;
mod options;
mod organizer;
mod pairing;
mod pause;
mod scoring;
mod view;
mod waiting_users;
mod wire;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::site::id::{ArenaId, GameId, UserId};
use crate::site::team::TeamId;
use crate::site::time::SimTime;
use crate::site::users::Rating;
use crate::site::variant::Perf;

pub use options::ArenaOptions;

pub(super) use form::arena_form;
pub(super) use join::JoinRequest;
pub(super) use options::names;

use options::ArenaConfig;
use pairing::Colors;
use pause::Pauses;
use scoring::Sheet;
use waiting_users::WaitingUsers;

/// Finished arenas that are kept; the oldest are dropped first.
const MAX_FINISHED_ARENAS: usize = 100;

/// The arenas of a site.
#[derive(Default)]
pub(super) struct Arenas {
    all: HashMap<ArenaId, Arena>,
    /// Oldest first.
    order: Vec<ArenaId>,
    pauses: Pauses,
    /// Simulated second in which the organizer last ran.
    second: i64,
}

impl Arenas {
    pub(crate) fn get(&self, id: ArenaId) -> Option<&Arena> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ArenaId) -> Option<&mut Arena> {
        self.all.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arena> {
        self.order.iter().filter_map(|id| self.all.get(id))
    }

    fn insert(&mut self, arena: Arena) {
        self.order.push(arena.id);
        self.all.insert(arena.id, arena);
    }

    fn drop_oldest_finished(&mut self) {
        let finished = |arena: &&Arena| arena.status == ArenaStatus::Finished;
        let oldest = self.iter().find(finished).map(|arena| arena.id);
        if self.iter().filter(finished).count() > MAX_FINISHED_ARENAS
            && let Some(oldest) = oldest
        {
            self.remove(oldest);
        }
    }

    fn remove(&mut self, id: ArenaId) {
        self.all.remove(&id);
        self.order.retain(|other| *other != id);
    }
}

/// Status of an arena, with the ids of lila.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArenaStatus {
    Created,
    Started,
    Finished,
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
struct Pairing {
    /// White and Black.
    users: [UserId; 2],
    berserk: [bool; 2],
}

/// Totals over all games of an arena.
#[derive(Clone, Debug, Default)]
struct Totals {
    games: usize,
    moves: usize,
    wins: [usize; 2],
    draws: usize,
    berserks: usize,
}

pub(super) struct Arena {
    pub id: ArenaId,
    pub created_by: Option<UserId>,
    pub config: ArenaConfig,
    pub status: ArenaStatus,
    pub starts_at: SimTime,
    players: BTreeMap<UserId, Player>,
    waiting: WaitingUsers,
    running: BTreeMap<GameId, Pairing>,
    /// Finished games, oldest first.
    games: Vec<GameId>,
    totals: Totals,
    paired_once: bool,
}

/// A participant of an arena.
#[derive(Clone, Debug)]
pub(super) struct Player {
    pub user: UserId,
    bot: bool,
    team: Option<TeamId>,
    pub withdrawn: bool,
    rating: i32,
    provisional: bool,
    sheet: Sheet,
    performance: Option<i32>,
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

    /// Whether pairing has stopped: half of the clock limit before the end, but 30 to 120 seconds.
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

    fn game_of(&self, user: &UserId) -> Option<GameId> {
        self.running
            .iter()
            .find(|(_, pairing)| pairing.users.contains(user))
            .map(|(id, _)| *id)
    }

    /// Best first.
    fn ranking(&self) -> Vec<&Player> {
        let mut players: Vec<&Player> = self.players.values().collect();
        players.sort_by_key(|player| player.rank_key());
        players
    }

    /// Rank of a player, from 0.
    fn rank(&self, user: &UserId) -> Option<usize> {
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

    /// Whether the arena is restricted to this team, or a battle in which the team takes part.
    pub(crate) fn is_for_team(&self, team: &TeamId) -> bool {
        self.config.conditions.team.as_ref() == Some(team) || self.config.team_battle.contains(team)
    }
}
