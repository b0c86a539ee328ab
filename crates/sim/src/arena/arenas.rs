//! The arenas of a site: joining, leaving, pairing and scoring.

use std::collections::HashMap;

use crate::arena::entry::JoinRequest;
use crate::arena::options::ArenaOptions;
use crate::arena::pause::Pauses;
use crate::arena::{Arena, ArenaStatus, Player};
use crate::referee::Status;
use crate::round::Round;
use crate::round::setup::Setup;
use crate::site::limits::ARENA_FIRST_JOINS;
use crate::site::{
    ApiError, ArenaId, Effect, GameId, Limits, Notice, SimTime, TeamId, Teams, User, UserId,
};
use knightwatch_chess::Color;

/// Finished arenas that are kept; the oldest are dropped first.
const MAX_FINISHED_ARENAS: usize = 100;
/// Players who withdraw while ranked above this must wait before they may rejoin.
const LEADER_RANKS: usize = 7;
/// Interval of pairing, in seconds. Arenas of medium size are paired every 2 seconds, large ones every second.
const ORGANIZE_INTERVAL_SECONDS: i64 = 15;
const MEDIUM_PLAYERS: usize = 50;
const LARGE_PLAYERS: usize = 1_000;

/// All arenas.
#[derive(Default)]
pub(crate) struct Arenas {
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

    /// Finds the arena named in a request.
    pub(crate) fn find(&self, id: ArenaId) -> Result<&Arena, ApiError> {
        self.get(id).ok_or_else(ApiError::not_found)
    }

    fn find_mut(&mut self, id: ArenaId) -> Result<&mut Arena, ApiError> {
        self.all.get_mut(&id).ok_or_else(ApiError::not_found)
    }

    /// All arenas, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arena> {
        self.order.iter().filter_map(|id| self.all.get(id))
    }

    /// Creates an arena.
    ///
    /// # Errors
    /// Invalid options, a duplicate id, or an unknown team.
    pub(crate) fn add(
        &mut self,
        options: &ArenaOptions,
        teams: &Teams,
        rng: &mut fastrand::Rng,
        now: SimTime,
    ) -> Result<ArenaId, String> {
        let config = options.validate()?;
        let id = match &options.id {
            None => loop {
                let id = ArenaId::random(rng);
                if !self.all.contains_key(&id) {
                    break id;
                }
            },
            Some(text) => ArenaId::parse(text).ok_or_else(|| {
                format!("`{text}` is not an arena id: expected 8 letters and digits")
            })?,
        };
        if self.all.contains_key(&id) {
            return Err(format!("arena {id} already exists"));
        }
        for team in config.conditions.team.iter().chain(&config.team_battle) {
            if teams.get(team).is_none() {
                return Err(format!("no team `{team}`; create it first"));
            }
        }
        let created_by = options.created_by.as_deref().map(UserId::of);
        let starts_at = now + options.starts_in;
        self.order.push(id);
        self.all
            .insert(id, Arena::new(id, created_by, config, starts_at));
        Ok(id)
    }

    fn remove(&mut self, id: ArenaId) {
        self.all.remove(&id);
        self.order.retain(|other| *other != id);
    }

    /// Joins an arena, or rejoins it. `restriction` is the message for an unmet entry condition.
    ///
    /// # Errors
    /// An unknown or finished arena, an exceeded limit, or an unmet condition.
    pub(crate) fn join(
        &mut self,
        user: &User,
        id: ArenaId,
        entry: &JoinRequest,
        (teams, limits, restriction): (&Teams, &mut Limits, &str),
        now: SimTime,
    ) -> Result<(), ApiError> {
        let me = &user.id;
        let arena = self.find(id)?;
        if arena.status == ArenaStatus::Finished {
            return Err(ApiError::bad_request("This tournament no longer exists"));
        }
        if arena.player(me).is_none() && !user.always_online {
            let cost = if arena.created_by.is_some() { 2 } else { 1 };
            limits
                .charge_all(&ARENA_FIRST_JOINS, me.as_str(), cost, now)
                .map_err(|_| ApiError::bad_request("You are joining too many tournaments"))?;
        }
        let is_paused = self.pause_left(arena, me, now).is_some();
        let team = arena.check_entry(user, entry, teams, (is_paused, restriction))?;
        let rating = user.rating(arena.perf().key);
        let mut player = Player::new(me.clone(), user.bot, rating, arena.players.len());
        player.team = team;
        let arena = self.find_mut(id)?;
        arena
            .players
            .entry(me.clone())
            .and_modify(|player| player.withdrawn = false)
            .or_insert(player);
        if entry.pair_me_asap && !arena.is_playing(me) {
            arena.waiting.add(me.clone(), now);
        }
        Ok(())
    }

    /// Seconds for which a user who has paused must wait.
    pub(crate) fn pause_left(&self, arena: &Arena, me: &UserId, now: SimTime) -> Option<i64> {
        self.pauses.seconds_left(me, arena.config.estimate(), now)
    }

    /// Withdraws a user at their own request. For leaders this counts as a pause.
    ///
    /// # Errors
    /// An unknown arena.
    pub(crate) fn leave(&mut self, me: &UserId, id: ArenaId, now: SimTime) -> Result<(), ApiError> {
        let arena = self.find_mut(id)?;
        let is_leader = arena.status == ArenaStatus::Started
            && arena.rank(me).is_some_and(|rank| rank < LEADER_RANKS);
        arena.withdraw(me);
        if is_leader {
            self.pauses.add(me, now);
        }
        Ok(())
    }

    /// Withdraws a user who left a team from its arenas.
    pub(crate) fn leave_those_of(&mut self, team: &TeamId, user: &UserId) {
        for arena in self.all.values_mut() {
            if arena.config.conditions.team.as_ref() == Some(team) {
                arena.withdraw(user);
            }
        }
    }

    /// Withdraws a user from all arenas, as when the account becomes a bot.
    pub(crate) fn leave_all(&mut self, user: &UserId) {
        self.all.values_mut().for_each(|arena| arena.withdraw(user));
    }

    /// Starts the arenas that are due. Returns those in which players are paired now.
    pub(crate) fn due(&mut self, now: SimTime) -> Vec<ArenaId> {
        let second = now.0.div_euclid(1_000);
        let last = std::mem::replace(&mut self.second, second);
        // Simulated time can jump, so intervals are counted since the last run.
        let every = |seconds: i64| second.div_euclid(seconds) != last.div_euclid(seconds);
        let mut due = Vec::new();
        for id in &self.order {
            let Some(arena) = self.all.get_mut(id) else {
                continue;
            };
            if arena.status == ArenaStatus::Created && now >= arena.starts_at {
                arena.status = ArenaStatus::Started;
            }
            let players = arena.players.len();
            let is_due = every(ORGANIZE_INTERVAL_SECONDS)
                || (every(2) && players >= MEDIUM_PLAYERS)
                || players >= LARGE_PLAYERS;
            if arena.status == ArenaStatus::Started && is_due {
                due.push(*id);
            }
        }
        due
    }

    /// Pairs the waiting players of an arena, or ends it. An arena without games is removed.
    pub(crate) fn organize(
        &mut self,
        id: ArenaId,
        rng: &mut fastrand::Rng,
        now: SimTime,
    ) -> Vec<Effect> {
        let Some(arena) = self.all.get_mut(&id) else {
            return Vec::new();
        };
        if arena.seconds_to_finish(now) > 0 {
            let pairs = arena.next_pairs(rng, now).into_iter();
            return pairs.map(|users| Effect::Pair(id, users)).collect();
        }
        if arena.all_games().is_empty() {
            self.remove(id);
            return Vec::new();
        }
        arena.finish();
        let finished = |arena: &&Arena| arena.status == ArenaStatus::Finished;
        let oldest = self.iter().find(finished).map(|arena| arena.id);
        if self.iter().filter(finished).count() > MAX_FINISHED_ARENAS
            && let Some(oldest) = oldest
        {
            self.remove(oldest);
        }
        Vec::new()
    }

    /// Starts a pairing as the game with this id. Returns the options of the game.
    pub(crate) fn start_pairing(
        &mut self,
        id: ArenaId,
        users: [UserId; 2],
        game: GameId,
    ) -> Option<Setup> {
        Some(self.all.get_mut(&id)?.start_pairing(game, users))
    }

    /// Scores a finished game, unless the arena is over or the game was aborted. A player who did not make their first
    /// move is withdrawn; they may rejoin immediately. `ratings`: those after the game, and whether they are provisional.
    pub(crate) fn on_game_over(
        &mut self,
        id: ArenaId,
        round: &Round,
        ratings: [(i32, bool); 2],
    ) -> Vec<Effect> {
        let status = round.referee.status();
        let arena = self.all.get_mut(&id);
        let Some((arena, pairing)) = arena.and_then(|arena| {
            arena
                .running
                .remove(&round.id)
                .map(|pairing| (arena, pairing))
        }) else {
            return Vec::new();
        };
        if status == Status::Aborted {
            return Vec::new();
        }
        arena.games.push(round.id);
        arena.score_game(round, &pairing, ratings);
        match round.referee.winner() {
            Some(winner) if status == Status::NoStart => {
                let loser = &pairing.users[(!winner).index()];
                arena.withdraw(loser);
                vec![Effect::Notify(loser.clone(), Notice::Arena(id))]
            }
            _ => Vec::new(),
        }
    }

    /// Notes that a player went berserk.
    pub(crate) fn on_berserk(&mut self, id: ArenaId, game: GameId, color: Color) {
        let arena = self.all.get_mut(&id);
        if let Some(pairing) = arena.and_then(|arena| arena.running.get_mut(&game)) {
            pairing.berserk[color.index()] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::options::NewUser;
    use crate::quirks::Limiter;
    use crate::site::users::Users;
    use crate::time_control::TimeControl;

    fn at(seconds: u64) -> SimTime {
        SimTime(0) + Duration::from_secs(seconds)
    }

    struct Site {
        arenas: Arenas,
        arena: ArenaId,
        users: Users,
        rng: fastrand::Rng,
    }

    impl Site {
        /// Creates an arena for bots that starts after a minute and lasts ten.
        fn new() -> Self {
            let mut arenas = Arenas::default();
            let mut rng = fastrand::Rng::with_seed(1);
            let options = ArenaOptions::for_bots("Friday", TimeControl::clock(60, 0), 10);
            let arena = arenas.add(&options, &Teams::default(), &mut rng, at(0));
            Self {
                arena: arena.unwrap(),
                arenas,
                users: Users::default(),
                rng,
            }
        }

        fn join(&mut self, user: NewUser, now: SimTime) -> Result<(), ApiError> {
            let id = UserId::of(&user.name);
            self.users.add(user, now);
            let entry = JoinRequest {
                pair_me_asap: true,
                ..JoinRequest::default()
            };
            let mut limits = Limits::new(true, Limiter::Fixed, None);
            let services = (&Teams::default(), &mut limits, "restricted");
            self.arenas
                .join(self.users.get(&id), self.arena, &entry, services, now)
        }

        /// Runs the organizer; returns the pairs.
        fn tick(&mut self, now: SimTime) -> Vec<[UserId; 2]> {
            let due = self.arenas.due(now);
            let effects = due
                .into_iter()
                .flat_map(|id| self.arenas.organize(id, &mut self.rng, now));
            effects
                .map(|effect| match effect {
                    Effect::Pair(_, users) => users,
                    _ => panic!("only pairings"),
                })
                .collect()
        }
    }

    #[test]
    fn arena_pairs_after_its_start_and_ends() {
        let mut site = Site::new();
        for name in ["Anna", "Bob"] {
            site.join(NewUser::bot(name), at(1)).unwrap();
        }
        assert!(site.tick(at(59)).is_empty());
        let pairs = site.tick(at(60));
        assert_eq!(pairs.len(), 1);
        let game = GameId::parse("abcdefgh").unwrap();
        let setup = site
            .arenas
            .start_pairing(site.arena, pairs[0].clone(), game)
            .unwrap();
        assert_eq!(setup.users, pairs[0]);
        assert!(site.tick(at(75)).is_empty(), "both are playing");
        let arena = site.arenas.get(site.arena).unwrap();
        assert_eq!(arena.all_games(), [game]);
        assert!(site.tick(at(660)).is_empty());
        let arena = site.arenas.get(site.arena).unwrap();
        assert_eq!(arena.status, ArenaStatus::Finished);
        assert!(site.join(NewUser::bot("Carl"), at(661)).is_err());
    }

    #[test]
    fn arena_without_games_is_removed() {
        let mut site = Site::new();
        site.tick(at(60));
        site.tick(at(660));
        assert!(site.arenas.get(site.arena).is_none());
        assert_eq!(site.arenas.iter().count(), 0);
    }

    #[test]
    fn leader_who_leaves_must_pause() {
        let mut site = Site::new();
        site.join(NewUser::bot("Anna"), at(1)).unwrap();
        site.tick(at(60));
        let anna = UserId::of("Anna");
        site.arenas.leave(&anna, site.arena, at(61)).unwrap();
        assert!(site.join(NewUser::bot("Anna"), at(62)).is_err());
        assert!(site.join(NewUser::bot("Anna"), at(72)).is_ok());
    }
}
