//! Arena organizer: starts arenas, pairs players, scores games and ends arenas.

use super::pairing::{Candidate, Wave, pair};
use super::scoring::{Outcome, PlayedGame, performance};
use super::waiting_users::wave_length;
use super::{Arena, ArenaStatus, Pairing, Player, WaitingUsers};
use crate::arena::ArenaOptions;
use crate::options::NewUser;
use crate::referee::Status;
use crate::round::{COLORS, Round, Setup, Source};
use crate::site::id::{ArenaId, GameId, UserId};
use crate::site::state::{Notice, SiteState};
use crate::site::team::TeamId;
use crate::site::time::SimTime;
use knightwatch_chess::Color;

/// Interval of pairing, in seconds. Arenas of medium size are paired every 2 seconds, large ones every second.
const ORGANIZE_INTERVAL_SECONDS: i64 = 15;
const MEDIUM_PLAYERS: usize = 50;
const LARGE_PLAYERS: usize = 1_000;
/// In arenas with fewer players, pairing does not wait if most of them are waiting.
const SMALL_PLAYERS: usize = 30;
/// Duration of the opening phase after the start, in seconds.
const OPENING_SECONDS: i64 = 15;

impl SiteState {
    /// Creates an arena.
    ///
    /// # Errors
    /// Invalid options, a duplicate id, or an unknown team.
    pub(crate) fn add_arena(
        &mut self,
        options: &ArenaOptions,
        now: SimTime,
    ) -> Result<ArenaId, String> {
        let config = options.validate()?;
        let id = match &options.id {
            None => loop {
                let id = ArenaId::random(&mut self.rng);
                if self.arenas.get(id).is_none() {
                    break id;
                }
            },
            Some(text) => ArenaId::parse(text).ok_or_else(|| {
                format!("`{text}` is not an arena id: expected 8 letters and digits")
            })?,
        };
        if self.arenas.get(id).is_some() {
            return Err(format!("arena {id} already exists"));
        }
        for team in config.conditions.team.iter().chain(&config.team_battle) {
            if !self.teams.contains_key(team) {
                return Err(format!("no team `{team}`; create it first"));
            }
        }
        let created_by = options.created_by.as_ref().map(|name| {
            self.add_user(NewUser::human(name), now);
            UserId::of(name)
        });
        self.arenas.insert(Arena {
            id,
            created_by,
            config,
            status: ArenaStatus::Created,
            starts_at: now + options.starts_in,
            players: Default::default(),
            waiting: WaitingUsers::default(),
            running: Default::default(),
            games: Vec::new(),
            totals: Default::default(),
            paired_once: false,
        });
        for user in self.builtin_players.keys() {
            self.notify(user, Notice::Arena(id));
        }
        Ok(id)
    }

    /// Starts and organizes all arenas that are due.
    pub(crate) fn tick_arenas(&mut self, now: SimTime) {
        let second = now.0.div_euclid(1_000);
        let last = std::mem::replace(&mut self.arenas.second, second);
        // Simulated time can jump, so intervals are counted since the last run.
        let every = |seconds: i64| second.div_euclid(seconds) != last.div_euclid(seconds);
        for id in self.arenas.order.clone() {
            let Some(arena) = self.arenas.get_mut(id) else {
                continue;
            };
            if arena.status == ArenaStatus::Created && now >= arena.starts_at {
                arena.status = ArenaStatus::Started;
            }
            let players = arena.players.len();
            let due = every(ORGANIZE_INTERVAL_SECONDS)
                || (every(2) && players >= MEDIUM_PLAYERS)
                || players >= LARGE_PLAYERS;
            if arena.status == ArenaStatus::Started && due {
                self.organize(id, now);
            }
        }
    }

    fn organize(&mut self, id: ArenaId, now: SimTime) {
        let Some(arena) = self.arenas.get_mut(id) else {
            return;
        };
        if arena.seconds_to_finish(now) == 0 {
            self.finish_arena(id);
            return;
        }
        for [white, black] in arena.next_pairs(&mut self.rng, now) {
            self.start_pairing(id, [white, black], now);
        }
    }

    fn start_pairing(&mut self, id: ArenaId, users: [UserId; 2], now: SimTime) {
        let game = self.new_id();
        let Some(arena) = self.arenas.get_mut(id) else {
            return;
        };
        arena.paired_once = true;
        for (user, other) in [(&users[0], &users[1]), (&users[1], &users[0])] {
            arena.waiting.remove(user);
            if let Some(player) = arena.players.get_mut(user) {
                player.last_opponent = Some(other.clone());
            }
        }
        let pairing = Pairing {
            users: users.clone(),
            berserk: [false; 2],
        };
        arena.running.insert(game, pairing);
        let config = &arena.config;
        let setup = Setup {
            id: game,
            users,
            source: Source::Arena {
                id,
                bots: config.conditions.bots,
                berserkable: config.berserkable,
            },
            variant: config.game_variant(),
            start: config.start.clone(),
            time_control: config.time_control(),
            rated: config.rated,
            rules: Vec::new(),
        };
        self.start_round(setup, now);
    }

    /// Scores a finished arena game, unless the arena is over or the game was aborted.
    pub(crate) fn arena_game_over(&mut self, id: ArenaId, round: &Round) {
        let key = round.perf().key;
        let ratings = COLORS.map(|color| {
            let rating = self.user(&round.side(color).user).rating(key);
            (rating.value(), rating.is_provisional())
        });
        let Some(arena) = self.arenas.get_mut(id) else {
            return;
        };
        let Some(pairing) = arena.running.remove(&round.id) else {
            return;
        };
        if round.referee.status() == Status::Aborted {
            return;
        }
        arena.games.push(round.id);
        arena.score_game(round, &pairing, ratings);
        if round.referee.status() == Status::NoStart
            && let Some(winner) = round.referee.winner()
        {
            self.withdraw_non_mover(id, &pairing.users[(!winner).index()]);
        }
    }

    /// Withdraws a player who did not make their first move; they may rejoin immediately.
    fn withdraw_non_mover(&mut self, id: ArenaId, user: &UserId) {
        if let Some(arena) = self.arenas.get_mut(id) {
            arena.withdraw(user);
        }
        self.notify(user, Notice::Arena(id));
    }

    /// Ends an arena. Running games no longer count; an arena without games is removed.
    fn finish_arena(&mut self, id: ArenaId) {
        let Some(arena) = self.arenas.get_mut(id) else {
            return;
        };
        if arena.games.is_empty() && arena.running.is_empty() {
            self.arenas.remove(id);
            return;
        }
        arena.status = ArenaStatus::Finished;
        arena.running.clear();
        arena.waiting = WaitingUsers::default();
        for player in arena.players.values_mut() {
            player.withdrawn = false;
        }
        self.arenas.drop_oldest_finished();
    }

    /// Withdraws a user who left a team from its arenas.
    pub(crate) fn leave_arenas_of(&mut self, team: &TeamId, user: &UserId) {
        for arena in self.arenas.all.values_mut() {
            if arena.config.conditions.team.as_ref() == Some(team) {
                arena.withdraw(user);
            }
        }
    }

    /// Withdraws a user from all arenas, as when the account becomes a bot.
    pub(crate) fn leave_all_arenas(&mut self, user: &UserId) {
        for arena in self.arenas.all.values_mut() {
            arena.withdraw(user);
        }
    }

    /// Goes berserk in a game; `false` if rejected: for bots, a second time, after both have moved, and in games without
    /// berserk.
    pub(crate) fn berserk(&mut self, me: &UserId, game: GameId, now: SimTime) -> bool {
        let found = self.rounds.get(&game).and_then(|round| {
            let Source::Arena {
                id,
                berserkable: true,
                ..
            } = round.source
            else {
                return None;
            };
            Some((id, round.color_of(me)?))
        });
        let Some((id, color)) = found.filter(|_| !self.user(me).bot) else {
            return false;
        };
        let is_accepted = self
            .with_referee(game, |referee| referee.berserk(color, now), now)
            .is_ok();
        if is_accepted
            && let Some(arena) = self.arenas.get_mut(id)
            && let Some(pairing) = arena.running.get_mut(&game)
        {
            pairing.berserk[color.index()] = true;
        }
        is_accepted
    }
}

impl Arena {
    /// Withdraws a player; before the start they are removed.
    pub(super) fn withdraw(&mut self, user: &UserId) {
        self.waiting.remove(user);
        match self.status {
            ArenaStatus::Created => {
                self.players.remove(user);
            }
            ArenaStatus::Started => {
                if let Some(player) = self.players.get_mut(user) {
                    player.withdrawn = true;
                }
            }
            ArenaStatus::Finished => {}
        }
    }

    /// The pairs to start now, White first.
    fn next_pairs(&mut self, rng: &mut fastrand::Rng, now: SimTime) -> Vec<[UserId; 2]> {
        let active = self.active_players();
        if self.players.len() < 2
            || self.pairings_closed(now)
            || (self.players.len() < SMALL_PLAYERS && active < 2)
        {
            return Vec::new();
        }
        self.enqueue_idle_bots(now);
        self.waiting.update(now);
        let waiting = self.waiting.len();
        let most_wait = self.players.len() < SMALL_PLAYERS && active * 2 <= waiting * 3;
        let wave_length = wave_length(self.config.estimate());
        let ready =
            !self.paired_once || self.waiting.is_wave_complete(wave_length, now) || most_wait;
        if waiting < 2 || !ready {
            return Vec::new();
        }
        let wave = Wave {
            opening: (now.0 - self.starts_at.0) / 1_000 < OPENING_SECONDS,
            only_two: self.players.len() < SMALL_PLAYERS && active == 2,
        };
        let pairs = self.pair_users(&self.waiting.even(), wave, rng);
        if pairs.is_empty() && waiting % 2 == 1 {
            return self.pair_users(&self.waiting.all(), wave, rng);
        }
        pairs
    }

    /// Adds all idle bots to the waiting list, even if they are offline, as Lichess does in arenas that admit bots.
    fn enqueue_idle_bots(&mut self, now: SimTime) {
        if !self.config.conditions.bots {
            return;
        }
        let idle: Vec<UserId> = self
            .players
            .values()
            .filter(|player| player.bot && !player.withdrawn && !self.is_playing(&player.user))
            .map(|player| player.user.clone())
            .collect();
        for user in idle {
            self.waiting.add(user, now);
        }
    }

    fn pair_users(
        &self,
        users: &[UserId],
        wave: Wave,
        rng: &mut fastrand::Rng,
    ) -> Vec<[UserId; 2]> {
        let candidates: Vec<Candidate> = self
            .ranking()
            .into_iter()
            .enumerate()
            .filter(|(_, player)| users.contains(&player.user) && !player.withdrawn)
            .map(|(rank, player)| player.candidate(rank, wave.opening))
            .collect();
        pair(&candidates, wave, || rng.bool())
            .into_iter()
            .map(|two| two.map(|at| candidates[at].user.clone()))
            .collect()
    }

    /// Scores a game for both players.
    fn score_game(&mut self, round: &Round, pairing: &Pairing, ratings: [(i32, bool); 2]) {
        let plies = round.referee.plies();
        let winner = round.referee.winner();
        let totals = &mut self.totals;
        totals.games += 1;
        totals.moves += plies;
        totals.berserks += pairing.berserk.iter().filter(|berserk| **berserk).count();
        match winner {
            Some(winner) => totals.wins[winner.index()] += 1,
            None => totals.draws += 1,
        }
        for color in COLORS {
            let outcome = match winner {
                None => Outcome::Draw,
                Some(winner) if winner == color => Outcome::Win,
                Some(_) => Outcome::Loss,
            };
            let Some(player) = self.players.get_mut(&pairing.users[color.index()]) else {
                continue;
            };
            let played = PlayedGame {
                outcome,
                plies,
                berserk: pairing.berserk[color.index()],
            };
            player.sheet.add(played, self.config.streakable);
            player.performance = Some(performance(
                player.performance,
                player.sheet.games(),
                round.side(!color).rating,
                outcome,
            ));
            if round.rated {
                (player.rating, player.provisional) = ratings[color.index()];
            }
            player.colors.add(color == Color::White);
        }
    }
}

impl Player {
    fn candidate(&self, rank: usize, opening: bool) -> Candidate {
        Candidate {
            user: self.user.clone(),
            rank,
            rating: self.rating,
            colors: self.colors,
            last_opponent: self.last_opponent.clone().filter(|_| !opening),
            team: self.team.as_ref().map(TeamId::to_string),
        }
    }
}
