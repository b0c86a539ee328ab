//! Task of a built-in player: answers challenges, sends its own, plays its games.
//!
//! It uses the same operations as the HTTP handlers, and receives notices instead of streams.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::sim::{NewPlayer, Sim};
use crate::site::{GameId, Notice, UserId};

use super::PlayerOptions;
use super::challenger::Challenger;
use super::game_task::GameTask;

/// A built-in player with its account and mailbox.
pub(crate) struct BuiltinPlayer {
    me: UserId,
    options: Arc<PlayerOptions>,
    notices: mpsc::UnboundedReceiver<Notice>,
    rng: fastrand::Rng,
    challenger: Option<Challenger>,
    /// Running games, each with the signal that its state changed.
    games: HashMap<GameId, Arc<Notify>>,
    answered: usize,
}

impl BuiltinPlayer {
    pub(crate) fn new(player: NewPlayer, seed: u64) -> Self {
        let NewPlayer {
            options,
            notices,
            created_at,
        } = player;
        let me = UserId::of(&options.name);
        let mut rng = fastrand::Rng::with_seed(seed ^ name_hash(&options.name));
        let plan = options.challenges.clone();
        Self {
            challenger: plan.map(|plan| Challenger::new(me.clone(), plan, rng.fork(), created_at)),
            me,
            options: Arc::new(options),
            notices,
            rng,
            games: HashMap::new(),
            answered: 0,
        }
    }

    /// Plays until dropped.
    pub(crate) async fn run(mut self, sim: Sim) {
        let mut tasks = JoinSet::new();
        loop {
            let wakeup = self.challenger.as_ref().and_then(Challenger::next_wakeup);
            let timer = async {
                match wakeup {
                    Some(moment) => {
                        sim.time().sleep_until(moment).await;
                        sim.wait_until_up().await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                notice = self.notices.recv() => match notice {
                    Some(notice) => {
                        sim.wait_until_up().await;
                        self.on_notice(&sim, notice, &mut tasks);
                    }
                    None => return,
                },
                Some(done) = tasks.join_next() => match done {
                    Ok(id) => {
                        self.games.remove(&id);
                        self.challenger.iter_mut().for_each(|challenger| challenger.on_game_over(id));
                    }
                    Err(error) => tracing::error!("{}: a game task panicked: {error}", self.me),
                },
                () = timer => self.challenger.iter_mut().for_each(|challenger| challenger.run(&sim)),
            }
        }
    }

    fn on_notice(&mut self, sim: &Sim, notice: Notice, tasks: &mut JoinSet<GameId>) {
        match notice {
            Notice::Challenged(id) => self.answer_challenge(sim, id),
            Notice::ChallengeEnded(id) => {
                if let Some(challenger) = &mut self.challenger {
                    challenger.on_challenge_ended(id, sim.time().now());
                }
            }
            Notice::Game(id) => match self.games.get(&id) {
                Some(changed) => changed.notify_one(),
                None => self.start_game(sim, id, tasks),
            },
            Notice::Seek(id) => {
                if self.options.answers_seeks {
                    let now = sim.time().now();
                    sim.state().join_seek(&self.me, id, now);
                }
            }
            Notice::Arena(id) => {
                if self.options.joins_arenas {
                    let now = sim.time().now();
                    sim.state().join_as_builtin(&self.me, id, now);
                }
            }
        }
    }

    fn answer_challenge(&mut self, sim: &Sim, id: GameId) {
        let now = sim.time().now();
        let reasons = &self.options.behavior.decline_reasons;
        let reason = reasons.get(self.answered % reasons.len().max(1)).copied();
        let mut state = sim.state();
        let answered = match reason {
            None => state.accept(&self.me, id, None, now),
            Some(reason) => state.decline(&self.me, id, reason, now),
        };
        // Otherwise it was already canceled.
        if answered.is_ok() {
            self.answered += 1;
        }
    }

    fn start_game(&mut self, sim: &Sim, id: GameId, tasks: &mut JoinSet<GameId>) {
        let color = {
            let state = sim.state();
            let round = state.rounds.get(id);
            round
                .filter(|round| round.referee.is_running())
                .and_then(|round| round.color_of(&self.me))
        };
        let Some(color) = color else {
            // The game ended before this player got to it.
            self.challenger
                .iter_mut()
                .for_each(|challenger| challenger.on_game_over(id));
            return;
        };
        if let Some(challenger) = &mut self.challenger {
            challenger.on_game_start(id);
        }
        let player = (self.me.clone(), self.options.clone());
        let task = GameTask::new(sim.clone(), player, (id, color), self.rng.u64(..));
        self.games.insert(id, task.changed.clone());
        tasks.spawn(task.run());
    }
}

/// FNV-1a: the same hash of a name on every machine and in every version.
fn name_hash(name: &str) -> u64 {
    name.to_lowercase()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
