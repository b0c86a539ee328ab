//! Organization of one arena: waves of pairings, scores of games, the end.

use knightwatch_chess::Color;

use super::pairing::{Candidate, Wave, pair};
use super::scoring::{Outcome, PlayedGame, performance};
use super::waiting_users::{WaitingUsers, wave_length};
use super::{Arena, ArenaStatus, Pairing, Player};
use crate::round::setup::{Setup, Source};
use crate::round::{COLORS, Round};
use crate::site::{GameId, SimTime, TeamId, UserId};

/// In arenas with fewer players, pairing does not wait if most of them are waiting.
const SMALL_PLAYERS: usize = 30;
/// Duration of the opening phase after the start, in seconds.
const OPENING_SECONDS: i64 = 15;

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

    /// Starts a pairing of these two players as this game. Returns the options of the game.
    pub(super) fn start_pairing(&mut self, game: GameId, users: [UserId; 2]) -> Setup {
        self.paired_once = true;
        for (user, other) in [(&users[0], &users[1]), (&users[1], &users[0])] {
            self.waiting.remove(user);
            if let Some(player) = self.players.get_mut(user) {
                player.last_opponent = Some(other.clone());
            }
        }
        let pairing = Pairing {
            users: users.clone(),
            berserk: [false; 2],
        };
        self.running.insert(game, pairing);
        let config = &self.config;
        Setup {
            id: game,
            users,
            source: Source::Arena {
                id: self.id,
                bots: config.conditions.bots,
                berserkable: config.berserkable,
            },
            variant: config.game_variant(),
            start: config.start.clone(),
            time_control: config.time_control(),
            rated: config.rated,
            rules: Vec::new(),
        }
    }

    /// Ends the arena. Running games no longer count.
    pub(super) fn finish(&mut self) {
        self.status = ArenaStatus::Finished;
        self.running.clear();
        self.waiting = WaitingUsers::default();
        for player in self.players.values_mut() {
            player.withdrawn = false;
        }
    }

    /// The pairs to start now, White first.
    pub(super) fn next_pairs(&mut self, rng: &mut fastrand::Rng, now: SimTime) -> Vec<[UserId; 2]> {
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
        let majority_waits = self.players.len() < SMALL_PLAYERS && active * 2 <= waiting * 3;
        let wave_length = wave_length(self.config.estimate());
        let ready =
            !self.paired_once || self.waiting.is_wave_complete(wave_length, now) || majority_waits;
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
    pub(super) fn score_game(
        &mut self,
        round: &Round,
        pairing: &Pairing,
        ratings: [(i32, bool); 2],
    ) {
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
